"""A kernel on a GPU: the same question about the same robot, for arrays that are there, or on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import ArgumentError
from ..kernel.arguments import Arguments, external_forces
from ..kernel.compiled import Compiled
from ..kernel.runners import InPieces, Interpreted
from .arrays import Array, array
from .device import Device, find_device
from .dlpack import View
from .libraries import Library, known_library, library_of
from .program import Program

if TYPE_CHECKING:
    from ..kernel.kernel import Kernel
    from .array_programs import ArrayKernel

__all__ = ["DeviceKernel", "on_device"]


def on_device(kernel: Kernel, device: str | Device) -> DeviceKernel | ArrayKernel:
    """Return a kernel on a device; a kernel keeps those that it has made."""
    found = find_device(device)
    made: dict[Device, DeviceKernel | ArrayKernel] = kernel.__dict__.setdefault("_on_devices", {})
    if found not in made:
        made[found] = _kernel_on(kernel, found)
    return made[found]


def _kernel_on(kernel: Kernel, device: Device) -> DeviceKernel | ArrayKernel:
    """Return a kernel on a device, by the way in which it runs."""
    if isinstance(kernel.runner, InPieces):
        from .array_programs import ArrayKernel

        return ArrayKernel(kernel, device)
    return DeviceKernel(kernel, device)


class DeviceKernel:
    """One question about one robot, answered on a GPU: `kernel.on("cuda")` makes it.

    Call it with arrays on the GPU of PyTorch, CuPy, JAX, `ordern.gpu`, or any library with DLPack. All arguments have
    one data type, float32 or float64, and their batch shapes broadcast; numbers and arrays of NumPy may be among them.
    The answer is an array of the same library. The kernel runs in the current stream of PyTorch or CuPy, and nothing
    waits for it. If all arrays are of NumPy, they go to the device and come back in pieces; copies and computations
    overlap, and batches may be larger than the memory of the device.
    """

    def __init__(self, kernel: Kernel, device: Device) -> None:
        """Put a `kernel` on a `device`; one that is no single piece of code raises an error."""
        self.kernel, self.device = kernel, device
        runner = kernel.runner
        self.arguments: Arguments = runner.arguments
        self.asking = kernel.question.name
        self.is_empty = isinstance(runner, Interpreted) and kernel.request.way is None
        """True if the robot has nothing to compute: without freedoms, for one."""
        if not isinstance(runner, Compiled) and not self.is_empty:
            raise ArgumentError(_no_code(kernel))
        self.program = Program.of(runner, device)
        self._there: dict[str, Array] = {}

    def __call__(self, *given: Any, out: Any = None) -> Any:
        """Return the answer, or write it into `out`; see the class."""
        known = known_library(type(given[0])) if given and self.kernel._varied is None else None
        if known is not None:
            answer = self.program.again(known, given, out)
            if answer is not None:
                return answer
        named = self._named(given)
        library = library_of(named, self.asking)
        if library is None:
            if self.is_empty:
                found: AnyArray = self.kernel.runner(given, out, None, self.kernel._varied)
                return found
            from .batches import computed

            return computed(self, given, out)
        if self.is_empty:
            raise ArgumentError(
                f"{self.asking}: {self.kernel.model.name!r} has no freedoms: there is nothing to compute"
            )
        cores = self.arguments.shapes
        views = self.program.views(library, named, cores)
        self.arguments.require_fit(views, None)  # type: ignore[arg-type]
        numbers = self._numbers_there(views[0].dtype, library)
        by_name = dict(zip(named, views, strict=True))
        return self.program.run(library, by_name, cores, numbers, self.sets, self.arguments.output, out)

    @property
    def sets(self) -> tuple[int, ...]:
        """The batch shape of the parameters of a varied robot."""
        return () if self.kernel._varied is None else self.kernel._varied.shape

    def numbers(self, dtype: np.dtype[Any]) -> AnyArray | None:
        """Return the numbers of a varied robot that the code reads, of shape (*sets, count); None if it reads none."""
        varied, binary = self.kernel._varied, self.program.loaded(dtype).binary
        if varied is None or binary.numbers == ():
            return None
        code: Any = binary  # it has the fields of `Code` that decide what is read
        return varied.numbers(self.kernel.request, code, dtype)

    def _numbers_there(self, dtype: np.dtype[Any], library: Library) -> View | None:
        """Return the numbers of a varied robot on the device, for a kernel in the stream of a library."""
        if self.kernel._varied is None:
            return None
        if dtype.name not in self._there:
            numbers = self.numbers(dtype)
            if numbers is None:
                return None
            self._there[dtype.name] = array(numbers, dtype, self.device)
        if library.stream(self.device) != self.device.stream.handle:
            self._there[dtype.name].share()  # the robot may be gone before its kernel has run
        return self._there[dtype.name].view()

    def _named(self, given: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments by name; forces by names of bodies become an array."""
        ports = self.arguments.ports
        if len(given) != len(ports):
            names = ", ".join(p.name for p in ports)
            raise ArgumentError(f"{self.asking} takes {len(ports)} arguments ({names}), not {len(given)}")
        model = self.kernel.model
        return {
            p.name: external_forces(model, x) if p.kind == "bodies" else x for p, x in zip(ports, given, strict=True)
        }

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
