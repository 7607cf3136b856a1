"""The code of a request on a device, run on arrays that are there: where they are, how they broadcast, launches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..compile.pipeline import Request
from ..errors import ArgumentError
from ..forking import COMPILING
from ..kernel.arguments import broadcast_named
from ..kernel.runners import Runner
from ..records import dataclass
from .code import Loaded, binary_of
from .device import Device
from .dlpack import View
from .libraries import Library, is_here

__all__ = ["Program", "launches", "operated", "viewed"]

Shape = tuple[int, ...]


_MOST_CALLS = 64
"""Kinds of calls that a program remembers."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A kind of calls: all but the addresses of its arrays."""

    loaded: Loaded
    shape: Shape
    dtype: np.dtype[Any]
    states: int
    steps: tuple[int, ...]
    sizes: tuple[int, ...]
    """Bytes from the first to the last number of each argument and, last, of the answer."""
    out: Any
    """The key of an array for the answer."""


class Program:
    """The code of a request on a device, for each data type; all robots of one structure share it."""

    def __init__(self, request: Request, device: Device) -> None:
        self.request, self.device = request, device
        self.asking = request.question.name
        self._loaded: dict[str, Loaded] = {}
        self._calls: dict[Any, _Call] = {}

    @classmethod
    def of(cls, runner: Runner, device: Device) -> Program:
        """Return the program of a runner, which keeps it."""
        known: dict[Device, Program] = runner.__dict__.setdefault("_on_devices", {})
        if device not in known:
            known[device] = cls(runner.request, device)
        return known[device]

    @property
    def doing(self) -> str:
        """The words for errors of the driver."""
        return f"{self.asking} of {self.request.model.name!r} on {self.device.name} (device {self.device.number})"

    def loaded(self, dtype: np.dtype[Any]) -> Loaded:
        """Return the code for a data type, on the device."""
        found = self._loaded.get(dtype.name)
        if found is None:
            with COMPILING:
                found = self._loaded.get(dtype.name)
                if found is None:
                    binary = binary_of(self.request, dtype.name, self.device)
                    found = self._loaded[dtype.name] = Loaded(binary, self.device, self.doing)
        return found

    def views(self, library: Library, given: Mapping[str, Any], cores: Iterable[Shape]) -> list[View]:
        """Return where the arguments are, all of one data type; arrays and numbers of this machine are copied."""
        return viewed(library, self.device, self.asking, given, map(len, cores))

    def again(self, library: Library, given: Sequence[Any], out: Any) -> Any:
        """Return the answer of a call like an earlier one, whose checks hold again; None for another call.

        A call with a million states takes some tens of microseconds on the device, as long as all checks take here.
        """
        kind, key = type(given[0]), library.key
        call = self._calls.get((kind, *[key(x) if type(x) is kind else None for x in given]))
        if call is None:
            return None
        places = [library.address(x) for x in given]
        answer = library.empty(call.shape, call.dtype, self.device) if out is None else out
        if out is not None:
            if type(out) is not kind or key(out) != call.out:
                return None
            begin = library.address(out)
            if any(a < begin + call.sizes[-1] and begin < a + n for a, n in zip(places, call.sizes, strict=False)):
                return None
        places.append(library.address(answer))
        with self.device:
            call.loaded.launch(list(zip(places, call.steps, strict=True)), call.states, library.stream(self.device))
        return answer

    def _remember(self, library: Library, views: Sequence[View], answer: Any, call: _Call) -> None:
        """Keep what is known about a call whose arguments are all arrays of one library."""
        kind, arrays = type(answer), [v.owner for v in views]
        keys = [library.key(x) if type(x) is kind else None for x in arrays]
        if None not in keys and len(self._calls) < _MOST_CALLS:
            self._calls.setdefault((kind, *keys), call)

    def run(
        self, library: Library, views: Mapping[str, View], cores: Sequence[Shape], numbers: View | None, sets: Shape,
        output: Shape, out: Any,
    ) -> Any:  # fmt: skip
        """Put the kernel into the stream of a library, for arguments, and the numbers of a varied robot and its sets.

        `cores` and `output` are the shapes of arguments and answer for one state.
        """
        dtype = next(iter(views.values())).dtype
        batches = {n: v.shape[: v.ndim - len(c)] for (n, v), c in zip(views.items(), cores, strict=True)}
        batch = broadcast_named(f"{self.asking}: the batch shapes of the arguments", {**batches, "parameters": sets})
        shape, given = (*batch, *output), list(views.values())
        answer = library.empty(shape, dtype, self.device) if out is None else out
        into = self._out(library, answer, shape, dtype, given, len(output))
        operands, ranks = [*given, into], [*map(len, cores), len(output)]
        if numbers is not None:
            operands.insert(-1, numbers)
            ranks.insert(-1, 1)
        strides = [_spread(v.shape[: v.ndim - n], v.strides, len(batch)) for v, n in zip(operands, ranks, strict=True)]
        loaded, stream = self.loaded(dtype), library.stream(self.device)
        length, steps, offsets = launches(batch, strides)
        size = loaded.workspace(length, dtype.itemsize)
        offsets = list(offsets)
        if len(offsets) == 1 and not size and numbers is None and _is_packed(into, into.ndim):
            sizes = [_span(v)[1] - _span(v)[0] for v in operands]
            call = _Call(loaded, shape, dtype, length, tuple(steps), tuple(sizes), library.key(answer))
            self._remember(library, given, answer, call)
        workspace = library.empty((-(-size // dtype.itemsize),), dtype, self.device) if size else None
        room = 0 if workspace is None else library.view(workspace, self.device, self.asking, "workspace").address
        with self.device:
            for offset in offsets:
                places = [v.address + k * dtype.itemsize for v, k in zip(operands, offset, strict=True)]
                loaded.launch(list(zip(places, steps, strict=True)), length, stream, room)
        return library.done(given, answer, self.device)

    def _out(
        self, library: Library, out: Any, shape: Shape, dtype: np.dtype[Any], given: Sequence[View], rank: int
    ) -> View:
        """Return where the answer goes, if it fits there."""
        view = library.view(out, self.device, self.asking, "out")
        if view.shape != shape or view.dtype != dtype:
            raise ArgumentError(
                f"{self.asking}: `out` has shape {view.shape} and {view.dtype}, but the result has {shape} and {dtype}"
            )
        if view.read_only or library.number(out) != self.device.number or not _is_packed(view, rank):
            raise ArgumentError(
                f"{self.asking}: `out` must be on the device, writable, and the numbers of a state next to each other"
            )
        if any(n > 1 and step == 0 for n, step in zip(view.shape, view.strides, strict=True)):
            raise ArgumentError(f"{self.asking}: several numbers of `out` are one in memory; give an array of its own")
        begin, end = _span(view)
        if any(begin < _span(v)[1] and _span(v)[0] < end for v in given):
            raise ArgumentError(f"{self.asking}: `out` overlaps an argument; on a GPU, they must be apart")
        return view


def viewed(library: Library, device: Device, asking: str, given: Mapping[str, Any], ranks: Iterable[int]) -> list[View]:
    """Return where arguments are, all of one data type; arrays and numbers of this machine are copied to the device.

    `ranks` are the numbers of their last dimensions that must have no gaps.
    """
    found = {
        name: _view(library, device, asking, name, x, rank)
        for (name, x), rank in zip(given.items(), ranks, strict=True)
        if not is_here(x)
    }
    dtype = next(iter(found.values())).dtype
    if any(v.dtype != dtype for v in found.values()):
        kinds = ", ".join(f"{name} {v.dtype}" for name, v in found.items())
        raise ArgumentError(f"{asking}: on a GPU, all arguments have one data type; these have {kinds}")
    for name in given.keys() - found.keys():
        copy = library.copied(given[name], dtype, device)
        found[name] = library.view(copy, device, asking, name)
    return [found[name] for name in given]


def _view(library: Library, device: Device, asking: str, name: str, x: Any, rank: int) -> View:
    """Return where an argument is, if it is on the device and its rows have no gaps."""
    if getattr(x, "is_cuda", True) is False:
        raise ArgumentError(f"{asking}: argument {name!r} is not on a GPU; copy it there with `x.cuda()`")
    number = library.number(x)
    if number != device.number:
        raise ArgumentError(
            f"{asking}: argument {name!r} is on device {number}, and this kernel on device {device.number}; use "
            f'`kernel.on("cuda:{number}")`'
        )
    view = library.view(x, device, asking, name)
    if not _is_packed(view, rank):
        view = library.view(library.packed(x, asking, name), device, asking, name)
    return view


def operated(operator: Any, library: Library, given: Sequence[Any], out: Any = None) -> Any:
    """Return the answer of an operator of `ordern.worlds` for arrays of one library on one device.

    It runs in the current stream of the library, and nothing waits for it.
    """
    device = library.device(given[0])
    known: Program | None = operator.runner.__dict__.get("_on_devices", {}).get(device)
    answer = None if known is None or operator.numbers is not None else known.again(library, given, out)
    if answer is not None:
        return answer
    if not operator.is_compiled:
        raise ArgumentError(
            f"{operator.name} of {operator.request.model.name!r} by the method {operator.request.algorithm.name!r} "
            "does not run on a GPU, because it is not one piece of code"
        )
    program = Program.of(operator.runner, device)
    named = dict(zip(operator.names, given, strict=True))
    cores = [x.shape for x in operator.inputs]
    if operator.numbers is None:
        views = program.views(library, named, cores)
        return program.run(library, dict(zip(named, views, strict=True)), cores, None, (), operator.output, out)
    *first, last = program.views(library, named, cores)
    sets = last.shape[:-1]
    places = program.loaded(last.dtype).binary.numbers
    read: View | None = last
    if places is not None and len(places) < operator.numbers.count:
        chosen = given[-1][..., list(places)]
        read = program.views(library, {"numbers": chosen}, [(len(places),)])[0] if places else None
    ports = list(named)[:-1]
    return program.run(library, dict(zip(ports, first, strict=True)), cores[:-1], read, sets, operator.output, out)


def _is_packed(view: View, rank: int) -> bool:
    """Return True if the last dimensions have no gaps; the stride of a dimension of length 1 does not matter."""
    step = 1
    for n, s in zip(reversed(view.shape[view.ndim - rank :]), reversed(view.strides), strict=False):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def _span(view: View) -> tuple[int, int]:
    """Return the first address of an array, and the one after its last."""
    if 0 in view.shape:
        return 0, 0
    ends = [(n - 1) * s for n, s in zip(view.shape, view.strides, strict=True)]
    low, high = sum(x for x in ends if x < 0), sum(x for x in ends if x > 0)
    return view.address + low * view.dtype.itemsize, view.address + (high + 1) * view.dtype.itemsize


def _spread(batch: Shape, strides: Shape, dimensions: int) -> list[int]:
    """Return the strides along all dimensions of the common batch: 0 where an array has one row for all."""
    own = [0 if n == 1 else s for n, s in zip(batch, strides, strict=False)]
    return [0] * (dimensions - len(own)) + own


def launches(batch: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[int, list[int], Any]:
    """Return how to cover a batch: states of a launch, the stride of each operand, and the offsets of all launches.

    Dimensions that are one in memory, for every operand, are joined. The longest is that of the launches, and there is
    a launch for each index of the others.
    """
    sizes: list[int] = []
    steps: list[list[int]] = []
    for n, some in zip(batch, zip(*strides, strict=True), strict=True):
        if n == 1:
            continue
        if sizes and all(a == b * n for a, b in zip(steps[-1], some, strict=True)):
            sizes[-1], steps[-1] = sizes[-1] * n, list(some)
        else:
            sizes.append(n)
            steps.append(list(some))
    if not sizes:
        return math.prod(batch), [0] * len(strides), [[0] * len(strides)]
    longest = max(range(len(sizes)), key=sizes.__getitem__)
    others = [k for k in range(len(sizes)) if k != longest]

    def offsets() -> Any:
        for index in itertools.product(*(range(sizes[k]) for k in others)):
            yield [sum(i * steps[k][x] for i, k in zip(index, others, strict=True)) for x in range(len(strides))]

    return sizes[longest], steps[longest], offsets()
