"""A kernel on a GPU: the same question about the same robot, for arrays that are there, or on this machine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile.pipeline import Request
from ..errors import ArgumentError
from ..forking import COMPILING
from ..kernel.arguments import Arguments, broadcast_named
from ..kernel.compiled import Compiled
from ..kernel.runners import Interpreted
from .arrays import array
from .code import Loaded, binary_of
from .device import Device, find_device
from .dlpack import View
from .libraries import Library, library_of

if TYPE_CHECKING:
    from ..kernel.kernel import Kernel

__all__ = ["DeviceKernel", "on_device"]


def on_device(kernel: Kernel, device: str | Device) -> DeviceKernel:
    """Return a kernel on a device; a kernel keeps those that it has made."""
    found = find_device(device)
    made: dict[Device, DeviceKernel] = kernel.__dict__.setdefault("_on_devices", {})
    if found not in made:
        made[found] = DeviceKernel(kernel, found)
    return made[found]


class DeviceKernel:
    """One question about one robot, answered on a GPU: `kernel.on("cuda")` makes it.

    Call it with arrays on the GPU of PyTorch, CuPy, JAX, `ordern.gpu`, or any library with DLPack. All arguments have
    one data type, float32 or float64, and their batch shapes broadcast. The answer is an array of the same library. The
    kernel runs in the current stream of PyTorch or CuPy, and nothing waits for it. Arrays of NumPy go to the device and
    come back in pieces; copies and computations overlap, and batches may be larger than the memory of the device.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.kernel, self.device = kernel, device
        runner = kernel._runner
        self.arguments: Arguments = runner.arguments
        self.request: Request = kernel.request
        self.asking = kernel.question.name
        self.empty = isinstance(runner, Interpreted) and kernel.request.way is None
        """True if the robot has nothing to compute: without freedoms, for one."""
        if not isinstance(runner, Compiled) and not self.empty:
            raise ArgumentError(_no_code(kernel))
        self._loaded: dict[tuple[Device, str], Loaded] = runner.__dict__.setdefault("_on_devices", {})
        self._numbers: dict[str, Any] = {}

    def __call__(self, *given: Any, out: Any = None) -> Any:
        """Return the answer, or write it into `out`; see the class."""
        named = self._named(given)
        library = library_of(named, self.asking)
        if library is None:
            if self.empty:
                found: AnyArray = self.kernel(*given, out=out)
                return found
            from .batches import computed

            return computed(self, given, out)
        if self.empty:
            raise ArgumentError(
                f"{self.asking}: {self.kernel.model.name!r} has no freedoms: there is nothing to compute"
            )
        return self._run(library, named, out)

    def loaded(self, dtype: np.dtype[Any]) -> Loaded:
        """Return the code for a data type, on the device."""
        key = self.device, dtype.name
        found = self._loaded.get(key)
        if found is None:
            with COMPILING:
                found = self._loaded.get(key)
                if found is None:
                    binary = binary_of(self.request, dtype.name, self.device)
                    found = self._loaded[key] = Loaded(binary, self.device, self.doing)
        return found

    @property
    def doing(self) -> str:
        """The words for errors of the driver."""
        return f"{self.asking} of {self.request.model.name!r} on {self.device.name} (device {self.device.number})"

    @property
    def sets(self) -> tuple[int, ...]:
        """The batch shape of the parameters of a varied robot."""
        return () if self.kernel._varied is None else self.kernel._varied.shape

    def numbers(self, dtype: np.dtype[Any]) -> AnyArray | None:
        """Return the numbers of a varied robot that the code reads, of shape (*sets, count); None if it reads none."""
        varied, binary = self.kernel._varied, self.loaded(dtype).binary
        if varied is None or binary.numbers == ():
            return None
        code: Any = binary  # it has the fields of `Code` that decide what is read
        return varied.numbers(self.request, code, dtype)

    def _named(self, given: Sequence[Any]) -> dict[str, Any]:
        ports = self.arguments.ports
        if len(given) != len(ports):
            names = ", ".join(p.name for p in ports)
            raise ArgumentError(f"{self.asking} takes {len(ports)} arguments ({names}), not {len(given)}")
        return dict(zip((p.name for p in ports), given, strict=True))

    def _run(self, library: Library, named: dict[str, Any], out: Any) -> Any:
        """Put the kernel into the stream of a library, for arrays on the device."""
        views = [self._view(library, name, x, core) for (name, x), core in zip(
            named.items(), self.arguments.shapes, strict=True)]  # fmt: skip
        dtype = views[0].dtype
        if any(v.dtype != dtype for v in views):
            kinds = ", ".join(f"{name} {v.dtype}" for name, v in zip(named, views, strict=True))
            raise ArgumentError(f"{self.asking}: on a GPU, all arguments have one data type; these have {kinds}")
        self.arguments.require_fit(views, None)  # type: ignore[arg-type]
        cores: list[tuple[int, ...]] = list(self.arguments.shapes)
        batches = {n: v.shape[: len(v.shape) - len(c)] for n, v, c in zip(named, views, cores, strict=True)}
        batch = broadcast_named(f"{self.asking}: the batch shapes", {**batches, "parameters": self.sets})
        loaded, numbers = self.loaded(dtype), self._numbers_there(dtype)
        answer = library.empty((*batch, *self.arguments.output), dtype, self.device) if out is None else out
        into = self._out(library, answer, (*batch, *self.arguments.output), dtype, views)
        operands, sizes = [*views, *numbers, into], [*cores, *[(1,)] * len(numbers), self.arguments.output]
        strides = [
            _spread(v.shape[: len(v.shape) - len(c)], v.strides, len(batch))
            for v, c in zip(operands, sizes, strict=True)
        ]
        stream = library.stream(self.device)
        with self.device:
            length, steps, offsets = launches(batch, strides)
            size = loaded.workspace(length, dtype.itemsize)
            workspace = library.empty((-(-size // dtype.itemsize),), dtype, self.device) if size else None
            room = 0 if workspace is None else library.view(workspace, self.device, self.asking, "workspace").address
            for offset in offsets:
                places = [v.address + k * dtype.itemsize for v, k in zip(operands, offset, strict=True)]
                loaded.launch(list(zip(places, steps, strict=True)), length, stream, room)
        return library.done(views, answer, self.device)

    def _view(self, library: Library, name: str, x: Any, core: tuple[int, ...]) -> View:
        """Return where an argument is, if it is on this device and its rows have no gaps."""
        if getattr(x, "is_cuda", True) is False:
            raise ArgumentError(f"{self.asking}: argument {name!r} is not on a GPU; copy it there with `x.cuda()`")
        number = library.number(x)
        if number != self.device.number:
            raise ArgumentError(
                f"{self.asking}: argument {name!r} is on device {number}, and this kernel on device "
                f'{self.device.number}; use `kernel.on("cuda:{number}")`'
            )
        view = library.view(x, self.device, self.asking, name)
        if not _is_packed(view, len(core)):
            view = library.view(library.packed(x, self.asking, name), self.device, self.asking, name)
        return view

    def _out(self, library: Library, out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], views: list[View]) -> View:
        """Return where the answer goes, if it fits there."""
        view = library.view(out, self.device, self.asking, "out")
        if view.shape != shape or view.dtype != dtype:
            raise ArgumentError(
                f"{self.asking}: `out` has shape {view.shape} and {view.dtype}, but the result has {shape} and {dtype}"
            )
        if (
            view.read_only
            or library.number(out) != self.device.number
            or not _is_packed(view, len(self.arguments.output))
        ):
            raise ArgumentError(
                f"{self.asking}: `out` must be on the device, writable, and the numbers of a state next to each other"
            )
        begin, end = _span(view)
        if any(begin < _span(v)[1] and _span(v)[0] < end for v in views):
            raise ArgumentError(f"{self.asking}: `out` overlaps an argument; on a GPU, they must be apart")
        return view

    def _numbers_there(self, dtype: np.dtype[Any]) -> list[View]:
        """Return the numbers of a varied robot on the device."""
        if dtype.name not in self._numbers:
            numbers = self.numbers(dtype)
            self._numbers[dtype.name] = None if numbers is None else array(numbers, dtype, self.device)
        found = self._numbers[dtype.name]
        return [] if found is None else [found.view()]

    def __repr__(self) -> str:
        return f"<{self.kernel!r} on {self.device!r}>"


def _no_code(kernel: Kernel) -> str:
    """Return the message for a kernel that is not one piece of code."""
    able = kernel.question.default
    hint = f"; the method {able!r} does" if kernel.algorithm.name != able else ""
    return (
        f"{kernel.question.name} of {kernel.model.name!r} by the method {kernel.algorithm.name!r} does not run on a "
        f"GPU, because it is not one piece of code{hint}"
    )


def _is_packed(view: View, core: int) -> bool:
    """Return True if the last dimensions have no gaps; sizes of 1 have no stride."""
    step = 1
    for n, s in zip(reversed(view.shape[len(view.shape) - core :]), reversed(view.strides), strict=False):
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


def _spread(batch: tuple[int, ...], strides: tuple[int, ...], dimensions: int) -> list[int]:
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
