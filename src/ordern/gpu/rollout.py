"""Rollouts on a device: each thread takes all steps of a trajectory, in one launch.

The kernel and its parameters are those of `ordern.compile.ptx.rollout`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arguments import AnyArray
from ..compile.pipeline import Request, request_key
from ..compile.timeloops.contact import certifies
from ..forking import COMPILING
from ..model import Model, core_size
from .batches import Pieces, Rows
from .code import Loaded, cached_binary
from .device import Device

__all__ = ["LOADS", "STORED", "DeviceLoop"]

LOADS = ("tau", "external", "goal")
"""The arguments that may have a row for each step."""
STORED = ("q", "v", "pushes", "certificate")
"""What is stored of each trajectory; impulses and certificates are of robots with contacts."""
_MOST = 256 << 20
"""Bytes of a piece: a trajectory has more numbers than a state, and a device needs as many threads."""
Step = Callable[[Any, Any, Any], tuple[Any, Any]]


class DeviceLoop:
    """Fixed steps of many trajectories, as code on a device."""

    def __init__(
        self, model: Model, requests: Mapping[str, Request], step: Step, kind: Sequence[Any], dtype: np.dtype[Any],
        device: Device,
    ) -> None:  # fmt: skip
        """Load the loop around a `step` with the kernels `requests`; `kind` says what the requests do not."""
        self.device, self.dtype = device, dtype
        self.certifies = certifies(model, requests)
        """True if steps report impulses and a certificate."""
        self._pushes = 0 if model.contacts is None else core_size(model, "contact_impulses")
        self.doing = f"rollout of {model.name!r} on {device.name} (device {device.number})"
        parts = [[name, request_key(request, dtype.name, None)] for name, request in sorted(requests.items())]
        key = None if any(part is None for _, part in parts) else ["rollout", list(kind), parts]
        with COMPILING:
            binary = cached_binary(
                key, model.name, "rollout", device,
                lambda: rollout_ptx(model, requests, step, dtype.name, device.architecture),
            )  # fmt: skip
            self.loaded = Loaded(binary, device, self.doing)

    def launch(self, words: Mapping[str, int], stream: int) -> None:
        """Put the loop into a stream, with its parameters by name; the device must be current."""
        from ..compile.ptx.rollout import ROLLOUT_PARAMETERS

        blocks = -(-words["n"] // self.loaded.binary.states)
        self.loaded.start([words.get(name, 0) for name in ROLLOUT_PARAMETERS], blocks, stream)

    def run(self, arrays: Mapping[str, AnyArray], tables: Mapping[str, AnyArray], steps: int, every: int) -> None:
        """Compute all trajectories of arrays of this machine, in pieces whose copies and computations overlap.

        `arrays` has the starts, "numbers" and "parameters", with contacts "surfaces" and "limits", and the results
        (count, rows, n); `tables` has the loads of each trajectory, (count, rows, n), whose strides are 0 along what is
        the same for all.
        """
        count, touches = len(arrays["q_out"]), self.certifies
        starts = ("q0", "v0", "parameters", *(("pushes0", "surfaces") if touches else ()))
        given = {name: arrays[name] for name in starts} | {"numbers": arrays["numbers"][None]}
        given |= {"limits": arrays["limits"][None]} if touches else {}
        given |= {name: _table(tables[name]) for name in LOADS if name in tables}
        rows = {name: _rows(x, count) for name, x in given.items() if x.shape[-1]}
        timed = {f"{name}_step": given[name].shape[-1] for name in LOADS if name in rows and given[name].shape[1] > 1}
        stored = STORED if touches else STORED[:2]
        outs = {name: arrays[f"{name}_out"] for name in stored if arrays[f"{name}_out"].shape[-1]}
        flat = {name: _flat(x) for name, x in outs.items()}
        fixed = {**timed, "steps": steps, "every": every} | {f"{name}_row": x.shape[-1] for name, x in outs.items()}

        def launch(places: list[tuple[int, int]], trajectories: int, stream: int, room: int) -> None:
            words = {**fixed, "n": trajectories}
            for name, (address, stride) in zip((*rows, *(f"{x}_out" for x in outs)), places, strict=True):
                words[name] = address
                words[name.removesuffix("_out") + "_stride"] = stride
            if "pushes" in outs:  # the impulses of stops are behind those of contacts
                behind = self._pushes * self.dtype.itemsize
                ends = ("_out", "_stride", "_row", "0", "0_stride")
                words |= {f"stops{x}": words[f"pushes{x}"] + behind * (x in ("0", "_out")) for x in ends}
            self.launch(words, stream)

        Pieces(self.device, self.doing, list(rows.values()), list(flat.values()), launch, most=_MOST).go()
        for name, x in outs.items():
            if flat[name].base is not x and not np.shares_memory(flat[name], x):
                x[...] = flat[name].reshape(x.shape)


def rollout_ptx(model: Model, requests: Mapping[str, Request], step: Step, dtype: str, architecture: str) -> Any:
    """Return the `PtxCode` of a loop; the modules that trace and write code are imported only now."""
    from ..compile.ptx.rollout import ptx_rollout

    return ptx_rollout(model, requests, step, dtype, architecture)


def _table(x: AnyArray) -> AnyArray:
    """Return a table over time without what is repeated along trajectories or steps."""
    one = x if x.strides[0] else x[:1]
    return one if x.strides[1] else one[:, :1]


def _rows(x: AnyArray, count: int) -> Rows:
    """Return the numbers of trajectories, a row for each or one for all."""
    if len(x) > 1 and not x.strides[0]:
        x = x[:1]
    flat = x.reshape(len(x), -1)
    return Rows(flat, flat.shape[1:], (count,))


def _flat(x: AnyArray) -> AnyArray:
    """Return memory for a result with a row for each trajectory: that of the result, if it has no gaps."""
    return x.reshape(len(x), -1) if x.flags.c_contiguous else np.empty((len(x), x[0].size), x.dtype)
