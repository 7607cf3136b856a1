"""How fast a kernel runs on a device, and what bounds it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..records import dataclass
from .arrays import array, empty
from .code import Loaded
from .device import Event
from .kernel import DeviceKernel

__all__ = ["Rate", "measured", "rated"]

_SECONDS = 0.1
"""The time of one measurement."""
_ROUNDS = 3
_CODE_CACHE = 128 << 10
"""Bytes of code that a multiprocessor reads without waiting, as measured."""
_NEAR = 0.6
"""From this part of a peak on, the peak is what bounds a kernel."""


@dataclass(frozen=True, slots=True)
class Rate:
    """The speed that a kernel reached on a device."""

    states: float
    """States per second."""
    bytes: float
    """Bytes of arguments and answers per second."""
    bandwidth_share: float
    """The part of the memory's bandwidth that this is; NaN if the bandwidth is not known."""
    operations: float
    """Arithmetic operations per second."""
    arithmetic_share: float
    """The part of the arithmetic peak that this is; NaN if the peak is not known. Sums alone reach a half."""
    registers: int
    """Registers of a thread."""
    local: int
    """Bytes of a thread's values that do not fit into registers."""
    threads: float
    """The part of all threads of a multiprocessor that are in flight."""
    code: int
    """Bytes of code."""
    bound: str
    """The resource that bounds the kernel, in words."""


def measured(kernel: DeviceKernel, states: int, dtype: str) -> Rate:
    """Measure a kernel for a batch of random states that is on the device."""
    kind, a = np.dtype(dtype), kernel.arguments
    rng, model = np.random.default_rng(0), kernel.kernel.model
    few = min(states, 4096)
    given = []
    for port, shape in zip(a.ports, a.shapes, strict=True):
        one = model.random(rng, (few,)) if port.kind == "q" else rng.uniform(-1.0, 1.0, (few, *shape))
        given.append(array(np.resize(one, (states, *shape)), kind, kernel.device))
    out = empty((states, *a.output), kind, kernel.device)
    kernel(*given, out=out)
    seconds = _seconds(kernel, given, out)
    loaded = kernel.program.loaded(kind)
    moved = kind.itemsize * (math.prod(a.output) + sum(math.prod(s) for s in a.shapes))
    return rated(loaded, kind, states / seconds, moved)


def _seconds(kernel: DeviceKernel, given: list[Any], out: Any) -> float:
    """Return the seconds of a call: the best of some rounds."""
    device, times, repeats = kernel.device, [], 1
    begin, end = Event(device, timed=True), Event(device, timed=True)
    for _ in range(_ROUNDS + 1):
        begin.record(device.stream.handle)
        for _ in range(repeats):
            kernel(*given, out=out)
        end.record(device.stream.handle)
        end.wait(kernel.program.doing)
        times.append(max(end.seconds_since(begin), 1e-9) / repeats)
        repeats = max(1, min(1000, int(_SECONDS / times[-1])))
    return min(times)


def rated(loaded: Loaded, dtype: np.dtype[Any], states: float, moved: int) -> Rate:
    """Return what code reaches that computes so many states per second, with so many bytes for each."""
    device, binary = loaded.device, loaded.binary
    peak, bandwidth = device.peak(dtype.name), device.bandwidth
    most = device.attribute("threads_per_multiprocessor")
    threads = loaded.blocks_at_once() * binary.block / most if most else math.nan
    figures: dict[str, Any] = {
        "states": states,
        "bytes": states * moved,
        "bandwidth_share": states * moved / bandwidth if bandwidth else math.nan,
        "operations": states * binary.operations,
        "arithmetic_share": states * binary.operations / peak if peak else math.nan,
        "registers": loaded.attribute("registers"),
        "local": loaded.attribute("local"),
        "threads": threads,
        "code": len(binary.object),
    }
    return Rate(**figures, bound=_bound(figures, binary.workspace > 0))


def _bound(f: dict[str, Any], loops: bool) -> str:
    """Return what bounds a kernel, in words."""
    if f["bandwidth_share"] >= _NEAR:
        return "bandwidth of the memory"
    if f["arithmetic_share"] >= _NEAR:
        return "arithmetic"
    if loops:
        return "workspace in the memory"
    if f["local"]:
        return f"registers: {f['local']} bytes a thread in memory"
    if f["code"] > _CODE_CACHE:
        return f"code: {f['code'] >> 10} kB"
    return f"latency: {100 * f['threads']:.0f} % of the threads in flight"
