"""Methods that work on arrays of all bodies, on a GPU: a chain of a million links in one call.

Such a method, as `kalman-scan`, is recorded once for a robot as a program on tables (`compile/arrays`). Each of its
steps is a kernel, whose threads are the bodies, or pairs of bodies, of all states. The launches of a program are put
together as one graph of the driver, because a scan has hundreds of short steps.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile.arrays.launches import constants_of, launches
from ..compile.arrays.program import Apply, Copy, Program
from ..compile.arrays.recorded import record
from ..compile.pipeline import piece_key
from ..compile.ptx.array_kernels import Shape, array_code
from ..errors import ArgumentError, GpuError, TraceError
from ..forking import COMPILING
from ..kernel.arguments import DOUBLE, SINGLE, Arguments, broadcast_named, stored
from .code import Loaded, cached_binary
from .device import Device, Event, Stream, release, when_gone
from .libraries import is_here
from .memory import Block

if TYPE_CHECKING:
    from ..kernel.kernel import Kernel

__all__ = ["ArrayKernel"]

_THREAD_LOCAL = 1
"""The mode of a capture in which other threads may use the driver."""


class ArrayKernel:
    """One question about one robot by a method on arrays of all bodies, answered on a GPU for arrays of NumPy."""

    def __init__(self, kernel: Kernel, device: Device) -> None:
        self.kernel, self.device = kernel, device
        self.arguments: Arguments = kernel.runner.arguments
        self.asking = kernel.question.name
        if kernel.is_varied:
            raise ArgumentError(
                f"{self.asking} by the method {kernel.algorithm.name!r} does not run on a GPU with parameters that vary"
            )
        self._programs: dict[str, Program] = {}
        self._runs: dict[tuple[str, int], _Run] = {}
        self._codes: dict[Any, Loaded] = {}

    def __call__(self, *given: Any, out: AnyArray | None = None) -> AnyArray:
        """Return the answer for arrays of NumPy."""
        a = self.arguments
        if not all(map(is_here, given)):
            raise ArgumentError(
                f"{self.asking} by the method {self.kernel.algorithm.name!r} takes NumPy arrays, and copies them to "
                "the GPU; the default method takes arrays that are there"
            )
        arrays, dtype = a.checked(given, out, None)
        if dtype is not SINGLE and dtype is not DOUBLE:
            raise ArgumentError(
                f"{self.asking}: a GPU computes with float32 and float64, not with {dtype}; leave the device out"
            )
        a.require_fit(arrays, None)
        shapes = dict(zip((p.name for p in a.ports), a.batches(arrays), strict=True))
        batch = broadcast_named(f"{self.asking}: the batch shapes", shapes)
        states = math.prod(batch)
        if not states:
            found = np.zeros((*batch, *a.output), dtype)
        else:
            flat = [
                np.broadcast_to(x, (*batch, *core)).reshape(states, -1).astype(dtype, copy=False)
                for x, core in zip(arrays, a.shapes, strict=True)
            ]
            found = self.run(dtype.name, states).answer(flat).reshape(*batch, *a.output)
        return stored(self.asking, found, out) if out is not None or found.ndim else found[()]

    def run(self, dtype: str, states: int) -> _Run:
        """Return the launches for so many states; the last ones that were used are kept."""
        key = dtype, states
        with COMPILING:
            if key not in self._runs:
                self._runs.clear()  # their memory is large
                self._runs[key] = _Run(self, self._program(dtype), dtype, states)
            return self._runs[key]

    def _program(self, dtype: str) -> Program:
        if dtype not in self._programs:
            try:
                self._programs[dtype] = record(self.kernel.request, dtype)
            except TraceError as e:
                raise ArgumentError(
                    f"{self.asking} of {self.kernel.model.name!r} by the method {self.kernel.algorithm.name!r} does "
                    f"not run on a GPU: {e}"
                ) from e
        return self._programs[dtype]

    def code(self, step: Apply | Copy, shape: Shape, dtype: str) -> Loaded:
        """Return the code of a step on the device."""
        about = ("copy", ()) if isinstance(step, Copy) else (step.piece, step.cores)
        key = about, shape, dtype
        if key not in self._codes:
            model, device = self.kernel.request.model, self.device
            name = "copy" if isinstance(step, Copy) else str(step.piece.key)
            known = ["copy"] if isinstance(step, Copy) else piece_key(model, step.piece, step.cores, dtype)
            stated = None if known is None else [*known, dtype, shape.columns, shape.listed, shape.several]
            binary = cached_binary(
                stated, model.name, name, device, lambda: array_code(step, shape, dtype, device.architecture)
            )
            self._codes[key] = Loaded(binary, device, f"{self.asking} of {model.name!r}")
        return self._codes[key]


class _Run:
    """A program with its memory on a device, for so many states."""

    def __init__(self, kernel: ArrayKernel, program: Program, dtype: str, states: int) -> None:
        self.kernel, self.program, self.states, self.dtype = kernel, program, states, np.dtype(dtype)
        device, self._doing = kernel.device, f"{kernel.asking} of {kernel.kernel.model.name!r}"
        self._memory = Block(device, program.places()[1] * states * self.dtype.itemsize, self._doing)
        self._constants = [_uploaded(device, x, self._doing) for x in constants_of(program, dtype)]
        addresses = [x.address for x in self._constants]
        steps, self._address = launches(program, self.dtype.itemsize, states, self._memory.address, addresses)
        self._steps = [(kernel.code(x.step, x.shape, dtype), x) for x in steps]
        self._graph = self._captured()
        self._lock = threading.Lock()  # all calls share the memory

    def _captured(self) -> int:
        """Return all launches as one graph of the driver.

        They are recorded in a stream of their own: what other threads put into that of the device is not for the graph.
        """
        with self.kernel.device as d:
            stream, graph, made = Stream(d), ctypes.c_void_p(), ctypes.c_void_p()
            d.driver.call("cuStreamBeginCapture_v2", stream.handle, _THREAD_LOCAL, doing=self._doing)
            try:
                self._put(stream.handle)
            finally:
                code = d.driver.code("cuStreamEndCapture", stream.handle, ctypes.byref(graph))
            if code:
                raise GpuError(d.driver.words(code, "cuStreamEndCapture", self._doing), code)
            d.driver.call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, 0, doing=self._doing)
            d.driver.call("cuGraphDestroy", graph)
            when_gone(self, release, d, "cuGraphExecDestroy", made.value)
        return made.value or 0

    def _put(self, stream: int) -> None:
        """Put all launches into a stream."""
        for loaded, launch in self._steps:
            loaded.start(launch.parameters, -(-launch.elements // loaded.binary.block), stream)

    def answer(self, given: Sequence[AnyArray]) -> AnyArray:
        """Return the result (states, numbers) for arguments (states, numbers)."""
        columns = [np.ascontiguousarray(x.T) for x in given]
        found = np.empty((self.program.result.rows, self.states), self.dtype)
        with self._lock, self.kernel.device as d:
            stream = d.stream.handle
            for table, x in zip(self.program.inputs, columns, strict=True):
                d.driver.call("cuMemcpyHtoDAsync_v2", self._address(table.number), x.ctypes.data, x.nbytes, stream)
            d.driver.call("cuGraphLaunch", self._graph, stream, doing=self._doing)
            place = self._address(self.program.result.number)
            d.driver.call("cuMemcpyDtoHAsync_v2", found.ctypes.data, place, found.nbytes, stream)
            d.driver.call("cuStreamSynchronize", stream, doing=self._doing)
        return np.asarray(found.T)

    def seconds(self, repeats: int = 10) -> float:
        """Return the time of the device alone, for the arguments of the last answer."""
        begin, end = Event(self.kernel.device, timed=True), Event(self.kernel.device, timed=True)
        with self.kernel.device as d:
            stream = d.stream.handle
            begin.record(stream)
            for _ in range(repeats):
                d.driver.call("cuGraphLaunch", self._graph, stream, doing=self._doing)
            end.record(stream)
            end.wait(self._doing)
        return end.seconds_since(begin) / repeats

    @property
    def launched(self) -> int:
        """The number of kernels."""
        return len(self._steps)


def _uploaded(device: Device, x: AnyArray, doing: str) -> Block:
    """Return an array in the memory of a device."""
    block = Block(device, x.nbytes, doing)
    with device as d:
        stream = d.stream.handle
        d.driver.call("cuMemcpyHtoDAsync_v2", block.address, x.ctypes.data, x.nbytes, stream)
        d.driver.call("cuStreamSynchronize", stream, doing=doing)
    return block
