"""A driver without a GPU: its device memory is memory of this machine, and its kernels run as ordinary code.

It is as lazy as a device may be: what is put into a stream happens only when somebody waits for it, or for an event
after it. So a missing wait shows as numbers that are not there: fresh memory is full of NaN. An address outside of what
was allocated is an error, as on a device.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ordern.compile.pipeline import Request, load
from ordern.compile.ptx.array_kernels import written
from ordern.compile.ptx.entry import NAME
from ordern.compile.ptx.rollout import ROLLOUT_PARAMETERS
from ordern.compile.ptx.step import contact_sizes
from ordern.compile.run.engine import Engine, compile_object
from ordern.compile.timeloops.code import ROLLOUT_WORDS, LoadedLoop
from ordern.compile.timeloops.contact import certifies
from ordern.compile.timeloops.fixed import compile_rollout
from ordern.compile.timeloops.machine import Kernels
from ordern.model.contacts import CERTIFICATE

OK, INVALID, NO_MEMORY, NO_DEVICE, BAD_PTX, ILLEGAL, CAPTURING = 0, 1, 2, 100, 218, 700, 900
ERRORS = {
    INVALID: b"CUDA_ERROR_INVALID_VALUE",
    NO_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY",
    NO_DEVICE: b"CUDA_ERROR_NO_DEVICE",
    BAD_PTX: b"CUDA_ERROR_INVALID_PTX",
    ILLEGAL: b"CUDA_ERROR_ILLEGAL_ADDRESS",
    719: b"CUDA_ERROR_LAUNCH_FAILED",
}
PROPERTIES = {1: 1024, 13: 1_980_000, 16: 4, 36: 3_201_000, 37: 6144, 39: 2048, 75: 9, 76: 0, 97: 232_448}
PROGRAMS: dict[str, tuple[Any, str, Any]] = {}
"""Requests by the digest of their PTX, so that a binary of the cache finds its own."""


def stand_in_ptx(request: Request, dtype: str, architecture: str) -> Any:
    """Return what the compiler would, but for the text, which is only a name here."""
    code = load(request, dtype).code
    asked = [request.question.name, request.algorithm.name, request.model.digest, dtype, request.options]
    text = f"// {architecture} {asked!r} {sorted(request.present)}"
    rolled = code.way == "rolled"
    found = SimpleNamespace(
        text=text, entry="ordern_kernel", block=128, states=128, way=code.way, operations=code.operations,
        shared_bytes=65536 if rolled else 0, workspace=3 if rolled else 0, tables=b"tables" if rolled else b"",
        numbers=code.numbers,
    )  # fmt: skip
    PROGRAMS[hashlib.sha256(text.encode()).hexdigest()] = request, dtype, found
    return found


def stand_in_rollout(model: Any, requests: Any, step: Any, dtype: str, architecture: str) -> Any:
    """Return what the compiler would for a time loop, whose text is only a name here."""
    kernels = Kernels(requests, dtype, None)
    code = compile_rollout(model, kernels, step)
    text = f"// rollout {len(PROGRAMS)} {architecture} {model.digest} {dtype}"
    found = SimpleNamespace(
        text=text, entry="ordern_kernel", block=64, states=64, way="unrolled", operations=code.operations,
        shared_bytes=0, workspace=0, tables=b"", numbers=None,
    )  # fmt: skip
    loop = Loop(LoadedLoop(code, requests, dtype, "rollout", ROLLOUT_WORDS), dtype)
    if certifies(model, requests):
        loop.touching = contact_sizes(model)
    elif "contact" in requests:
        loop.limits = 2 * model.nq
    PROGRAMS[hashlib.sha256(text.encode()).hexdigest()] = loop, dtype, found
    return found


def stand_in_array(step: Any, shape: Any, dtype: str, architecture: str) -> Any:
    """Return what the compiler would for a step of a program on arrays, whose text is only a name here."""
    ir, block, _ = written(step, shape, dtype, architecture, on_device=False)
    text = f"// array {architecture} {hashlib.sha256(ir.encode()).hexdigest()}"
    found = SimpleNamespace(
        text=text, entry=NAME, block=block, states=block, way="unrolled", operations=0, shared_bytes=0, workspace=0,
        tables=b"", numbers=None,
    )  # fmt: skip
    PROGRAMS[hashlib.sha256(text.encode()).hexdigest()] = Elements(ir, len(shape.columns)), dtype, found
    return found


class Elements:
    """A step of a program on arrays, run thread by thread."""

    def __init__(self, ir: str, tables: int) -> None:
        self.engine, self.count = Engine(compile_object(ir), [NAME]), 6 * tables + 7

    def run(self, parameters: list[int], blocks: int, block: int) -> None:
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * (len(parameters) + 4))(self.engine.address(NAME))
        for element in range(blocks * block):
            function(*parameters, element % block, element // block, 0, 0)


class Loop:
    """A time loop of this machine, which takes the parameters of one on a device."""

    def __init__(self, loaded: LoadedLoop, dtype: str) -> None:
        self.loaded, self.dtype, self.size = loaded, dtype, np.dtype(dtype).itemsize
        self.touching: tuple[int, int] | None = None
        """The impulses of contacts, and of contacts and stops, if there are contacts."""
        self.limits = 0
        """The numbers of limits that steps of this machine read although they have no rows for them."""

    def _numbers(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        """Return numbers in memory, so many apart."""
        length = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
        raw: Any = (ctypes.c_ubyte * (length * self.size)).from_address(address)
        steps = [s * self.size for s in strides]
        return np.lib.stride_tricks.as_strided(np.frombuffer(raw, self.dtype), shape, steps)

    def run(self, words: dict[str, int]) -> None:
        """Take all steps; impulses of stops, which have arrays of their own on a device, are behind the others here."""
        if self.touching is None:
            rows = 1 + words["steps"] // words["every"]
            size = len(CERTIFICATE)
            unused = np.zeros((words["n"], rows, size), self.dtype), np.zeros(self.limits, self.dtype)
            own = {"certificate_out": unused[0].ctypes.data, "certificate_stride": rows * size}
            own["certificate_row"] = size
            own |= {"limits": unused[1].ctypes.data, "pushes0": unused[0].ctypes.data}
            return self._run({**words, **own, "pushes_out": unused[0].ctypes.data} if self.limits else words)
        first, both = self.touching
        n, rows = words["n"], 1 + words["steps"] // words["every"]
        # a device stores the certificate of the start; here, arrays begin with zeros
        first_row = self._numbers(words["certificate_out"], (n, len(CERTIFICATE)), (words["certificate_stride"], 1))
        first_row[...] = 0.0
        parts = [("pushes", slice(0, first)), ("stops", slice(first, both))]
        parts = [(name, part) for name, part in parts if part.stop > part.start]
        start, kept = np.empty((n, both), self.dtype), np.empty((n, rows, both), self.dtype)
        for name, part in parts:
            shape = n, part.stop - part.start
            start[:, part] = self._numbers(words[f"{name}0"], shape, (words[f"{name}0_stride"], 1))
        own = {"pushes0": start.ctypes.data, "pushes0_stride": both, "pushes_out": kept.ctypes.data}
        self._run({**words, **own, "pushes_stride": rows * both, "pushes_row": both})
        for name, part in parts:
            strides = words[f"{name}_stride"], words[f"{name}_row"], 1
            self._numbers(words[f"{name}_out"], (n, rows, part.stop - part.start), strides)[...] = kept[..., part]

    def _run(self, words: dict[str, int]) -> None:
        far = ("_stride", "_row", "_step")
        found = {name: x * self.size if name.endswith(far) else x for name, x in words.items()}
        found |= {"first": 0, "end": words["n"], "last": words["n"] - 1}
        workspace = self.loaded.workspace()
        found |= {"workspace": workspace.ctypes.data, "datas": self.loaded.datas.ctypes.data}
        found = {name: x for name, x in found.items() if name in ROLLOUT_WORDS}
        self.loaded.run(dict.fromkeys(ROLLOUT_WORDS, 0) | found)


class StandIn:
    """The functions of the driver, on memory of this machine."""

    def __init__(self, memory: int = 1 << 30, devices: int = 2, version: int = 12040) -> None:
        self.memory, self.devices, self.version = memory, devices, version
        self.blocks: dict[int, Any] = {}
        self.pinned: dict[int, Any] = {}
        self.streams: dict[int, deque[Callable[[], int]]] = {0: deque(), 1: deque()}
        self.events: dict[int, int] = {}
        self.marks: dict[int, tuple[int, object]] = {}
        self.reached: set[object] = set()
        self.clock: dict[int, int] = {}
        self.modules: dict[int, str] = {}
        self.links: dict[int, Any] = {}
        self.captures: dict[int, list[Callable[[], int]]] = {}
        self.graphs: dict[int, list[Callable[[], int]]] = {}
        self.contexts: dict[int, list[int]] = {}
        self.launched: list[tuple[int, int]] = []
        """The number of states and the stream of each launch."""
        self.compiled = 0
        self.fail: dict[str, int] = {}
        """Errors that functions return, by their names."""
        self._next, self._lock = 1000, threading.RLock()

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if not name.startswith("cu"):
            return found
        if name in self.fail:
            return lambda *given: self.fail[name]

        def locked(*given: Any) -> Any:
            with self._lock:
                return found(*given)

        return locked

    def _new(self) -> int:
        self._next += 1
        return self._next

    def used(self) -> int:
        return sum(len(b) for b in self.blocks.values())

    def current(self) -> list[int]:
        return self.contexts.setdefault(threading.get_ident(), [])

    def cuInit(self, flags: int) -> int:
        return OK if self.devices else NO_DEVICE

    def cuDriverGetVersion(self, out: Any) -> int:
        out._obj.value = self.version
        return OK

    def cuGetErrorName(self, code: int, out: Any) -> int:
        out._obj.value = ERRORS.get(code)
        return OK

    def cuDeviceGetCount(self, out: Any) -> int:
        out._obj.value = self.devices
        return OK

    def cuDeviceGet(self, out: Any, number: int) -> int:
        out._obj.value = number
        return OK

    def cuDeviceGetName(self, text: Any, size: int, device: int) -> int:
        text.value = b"Stand-in"
        return OK

    def cuDeviceGetAttribute(self, out: Any, attribute: int, device: int) -> int:
        out._obj.value = PROPERTIES[attribute]
        return OK

    def cuDeviceTotalMem_v2(self, out: Any, device: int) -> int:
        out._obj.value = self.memory
        return OK

    def cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> int:
        out._obj.value = 500 + device
        return OK

    def cuCtxPushCurrent_v2(self, context: int) -> int:
        self.current().append(context)
        return OK

    def cuCtxPopCurrent_v2(self, out: Any) -> int:
        out._obj.value = self.current().pop()
        return OK

    def cuMemGetInfo_v2(self, free: Any, total: Any) -> int:
        free._obj.value, total._obj.value = self.memory - self.used(), self.memory
        return OK

    def cuMemAlloc_v2(self, out: Any, size: int) -> int:
        assert self.current(), "no context is current"
        if self.used() + size > self.memory:
            return NO_MEMORY
        block = (ctypes.c_ubyte * size)()
        ctypes.memset(block, 0xFF, size)  # NaN
        self.blocks[ctypes.addressof(block)] = block
        out._obj.value = ctypes.addressof(block)
        return OK

    def cuMemFree_v2(self, address: int) -> int:
        for stream in list(self.streams):  # the driver waits for all work
            self._run(stream)
        return OK if self.blocks.pop(address, None) is not None else INVALID

    def cuMemHostAlloc(self, out: Any, size: int, flags: int) -> int:
        block = (ctypes.c_ubyte * size)()
        self.pinned[ctypes.addressof(block)] = block
        out._obj.value = ctypes.addressof(block)
        return OK

    def cuMemFreeHost(self, address: int) -> int:
        return OK if self.pinned.pop(address, None) is not None else INVALID

    def _on_device(self, address: int, size: int) -> bool:
        return any(a <= address and address + size <= a + len(b) for a, b in self.blocks.items())

    def _put(self, stream: int, work: Callable[[], int]) -> int:
        assert self.current(), "no context is current"
        (self.captures[stream] if stream in self.captures else self.streams[stream or 0]).append(work)
        return OK

    def _copy(self, to: int, source: Any, size: int, stream: int, on_device: int) -> int:
        if not self._on_device(on_device, size):
            return ILLEGAL

        def work() -> int:
            ctypes.memmove(to, source, size)
            return OK

        return self._put(stream, work)

    def cuMemcpyHtoDAsync_v2(self, to: int, source: Any, size: int, stream: int) -> int:
        address = _address(source)
        if not any(a <= address < a + len(b) for a, b in self.pinned.items()):
            return self._copy(to, ctypes.string_at(address, size), size, stream, to)  # copied before it returns
        return self._copy(to, address, size, stream, to)

    def cuMemcpyDtoHAsync_v2(self, to: Any, source: int, size: int, stream: int) -> int:
        return self._copy(_address(to), source, size, stream, source)

    def cuStreamCreate(self, out: Any, flags: int) -> int:
        out._obj.value = self._new()
        self.streams[out._obj.value] = deque()
        return OK

    def cuStreamDestroy_v2(self, stream: int) -> int:
        self._run(stream)
        return OK if self.streams.pop(stream, None) is not None else INVALID

    def _run(self, stream: int, until: object = None) -> int:
        """Do what is in a stream, up to a mark."""
        queue, code = self.streams[stream or 0], OK
        while queue and (until is None or until not in self.reached):
            code = queue.popleft()() or code
        return code

    def cuStreamSynchronize(self, stream: int) -> int:
        return CAPTURING if stream in self.captures else self._run(stream)

    def cuStreamBeginCapture_v2(self, stream: int, mode: int) -> int:
        self.captures[stream] = []
        return OK

    def cuStreamEndCapture(self, stream: int, out: Any) -> int:
        out._obj.value = self._new()
        self.graphs[out._obj.value] = self.captures.pop(stream)
        return OK

    def cuGraphInstantiateWithFlags(self, out: Any, graph: Any, flags: int) -> int:
        out._obj.value = self._new()
        self.graphs[out._obj.value] = self.graphs[graph.value]
        return OK

    def cuGraphDestroy(self, graph: Any) -> int:
        return OK if self.graphs.pop(graph.value, None) is not None else INVALID

    def cuGraphExecDestroy(self, graph: int) -> int:
        return OK if self.graphs.pop(graph, None) is not None else INVALID

    def cuGraphLaunch(self, graph: int, stream: int) -> int:
        works = self.graphs[graph]
        return self._put(stream, lambda: max([work() for work in works], default=OK))

    def cuEventCreate(self, out: Any, flags: int) -> int:
        out._obj.value = self._new()
        self.events[out._obj.value] = flags
        return OK

    def cuEventDestroy_v2(self, event: int) -> int:
        self.events.pop(event, None)
        return OK

    def cuEventRecord(self, event: int, stream: int) -> int:
        self.clock[event] = 50 * len(self.launched)  # a kernel takes 50 ms
        mark = object()
        self.marks[event] = stream or 0, mark

        def work() -> int:
            self.reached.add(mark)
            return OK

        return self._put(stream, work)

    def cuEventSynchronize(self, event: int) -> int:
        stream, mark = self.marks[event]
        return OK if mark in self.reached else self._run(stream, mark)

    def cuEventQuery(self, event: int) -> int:
        return OK if self.marks[event][1] in self.reached else 600

    def cuEventElapsedTime(self, out: Any, begin: int, end: int) -> int:
        out._obj.value = float(self.clock[end] - self.clock[begin])
        return OK

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> int:
        other, mark = self.marks[event]
        return self._put(stream, lambda: OK if mark in self.reached else self._run(other, mark))

    def cuLinkCreate_v2(self, count: int, options: Any, values: Any, out: Any) -> int:
        out._obj.value = self._new()
        self.links[out._obj.value] = SimpleNamespace(log=values[2], binary=None)
        return OK

    def cuLinkAddData_v2(self, state: Any, kind: int, source: Any, size: int, *more: Any) -> int:
        text, link = source.value.decode(), self.links[state.value]
        if not text.startswith("//"):
            ctypes.memmove(link.log, b"ptxas: line 1: syntax error\0", 28)
            return BAD_PTX
        self.compiled += 1
        content = b"\x7fELF" + hashlib.sha256(text.encode()).hexdigest().encode()
        link.binary = ctypes.create_string_buffer(content, len(content))
        return OK

    def cuLinkComplete(self, state: Any, out: Any, size: Any) -> int:
        binary = self.links[state.value].binary
        out._obj.value, size._obj.value = ctypes.addressof(binary), len(binary)
        return OK

    def cuLinkDestroy(self, state: Any) -> int:
        del self.links[state.value]
        return OK

    def cuModuleLoadData(self, out: Any, source: Any) -> int:
        content = source.raw
        if not content.startswith(b"\x7fELF"):
            return 200
        out._obj.value = self._new()
        self.modules[out._obj.value] = content[4:].decode()
        return OK

    def cuModuleUnload(self, module: int) -> int:
        return OK if self.modules.pop(module, None) else INVALID

    def cuModuleGetFunction(self, out: Any, module: int, name: bytes) -> int:
        out._obj.value = module
        return OK

    def cuFuncGetAttribute(self, out: Any, attribute: int, function: int) -> int:
        out._obj.value = {3: 0, 4: 128}[attribute]
        return OK

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> int:
        return OK if value <= PROPERTIES[97] else INVALID

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, out: Any, function: int, block: int, shared: int) -> int:
        out._obj.value = 2
        return OK

    def cuLaunchKernel(self, function: int, *given: Any) -> int:
        blocks, threads, stream, parameters = given[0], given[3], given[7], given[8]
        request, dtype, code = PROGRAMS[self.modules[function]]
        if threads != code.block:
            return INVALID
        if isinstance(request, Elements):
            words = [ctypes.c_int64.from_address(parameters[k]).value for k in range(request.count)]
            return self._put(stream, lambda: request.run(words, blocks, threads) or OK)
        if isinstance(request, Loop):
            return self._roll(request, blocks * code.states, stream, parameters)
        varied = request.model.variation is not None and code.numbers != ()
        count = len(request.ports) + varied
        numbers = [ctypes.c_int64.from_address(parameters[k]).value for k in range(2 * count + 5)]
        self.launched.append((numbers[-1], stream or 0))
        shapes = [request.shape(p.kind) for p in request.ports]
        if varied:
            shapes.append((request.varied(code.way) if code.numbers is None else len(code.numbers),))
        shapes.append(request.shape(request.question.output))
        return self._put(stream, lambda: self._computed(request, dtype, code, shapes, numbers, blocks))

    def _roll(self, loop: Loop, most: int, stream: int, parameters: Any) -> int:
        words = {name: ctypes.c_int64.from_address(parameters[k]).value for k, name in enumerate(ROLLOUT_PARAMETERS)}
        self.launched.append((words["n"], stream or 0))

        def work() -> int:
            stored = "qv" if loop.touching is None else ("q", "v", "certificate")
            if loop.touching is not None and loop.touching[1]:
                stored = (*stored, "pushes")
            for name in stored:
                length = (words["n"] - 1) * words[f"{name}_stride"] + words[f"{name}_row"]
                if not self._on_device(words[f"{name}_out"], length * loop.size) or most < words["n"]:
                    return ILLEGAL
            loop.run(words)
            return OK

        return self._put(stream, work)

    def _computed(self, request: Request, dtype: str, code: Any, shapes: Any, numbers: list[int], blocks: int) -> int:
        """Do the work of a kernel, if every address is valid and the blocks suffice."""
        workspace, tables, states = numbers[-3:]
        size, rows = np.dtype(dtype).itemsize, []
        for k, shape in enumerate(shapes):
            address, stride = numbers[2 * k], numbers[2 * k + 1] * size
            length = (states - 1) * stride + int(np.prod(shape)) * size
            if not self._on_device(address, length):
                return ILLEGAL
            raw: Any = (ctypes.c_ubyte * length).from_address(address)
            steps = [size * int(np.prod(shape[j + 1 :])) for j in range(len(shape))]
            flat = np.frombuffer(raw, dtype)
            rows.append(np.lib.stride_tricks.as_strided(flat, (states, *shape), (stride, *steps)))
        if code.workspace and not self._on_device(workspace, blocks * code.states * code.workspace * size):
            return ILLEGAL
        if code.tables and ctypes.string_at(tables, len(code.tables)) != code.tables:
            return ILLEGAL
        if not code.workspace and blocks * code.states < states:
            return ILLEGAL
        load(request, dtype).run(rows[:-1], rows[-1])
        return OK


def _address(x: Any) -> int:
    if isinstance(x, int):
        return x
    return int(x.value or 0) if isinstance(x, ctypes.c_void_p) else ctypes.addressof(x)
