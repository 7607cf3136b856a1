"""Code on a device: PTX compiled by the driver, kept in the cache on disk, loaded, and launched.

The driver takes a fifth of a second to compile the code of a small arm, and seconds for a humanoid. So the result goes
into the cache of machine code, under everything that it depends on: the request, the generation of the GPU, and the
version of the driver. With an entry there, nothing is traced.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..compile.pipeline import Request, request_key
from ..compile.run import cache
from ..errors import CompileError
from ..records import dataclass
from .device import Device, release, when_gone
from .library import FUNCTION_ATTRIBUTES
from .memory import Block

if TYPE_CHECKING:
    from ..compile.ptx import PtxCode

__all__ = ["Binary", "Loaded", "binary_of", "cached_binary", "linked"]

_PTX = 1
"""The driver's number for inputs that are PTX."""
_INFO_LOG, _INFO_SIZE, _ERROR_LOG, _ERROR_SIZE = 3, 4, 5, 6
_LOG_BYTES = 8192
_WITHOUT_ASKING = 48 * 1024
"""Bytes of shared memory that a kernel gets without asking for more."""


@dataclass(frozen=True, slots=True)
class Binary:
    """Code for one generation of GPUs, and the numbers that are needed to launch it: see `compile.ptx.PtxCode`."""

    object: bytes
    entry: str
    block: int
    states: int
    way: str
    operations: int
    shared_bytes: int
    workspace: int
    tables: bytes
    numbers: tuple[int, ...] | None


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40


def _is_places(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(_is_count(x) for x in value))


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "entry": lambda x: isinstance(x, str) and x.isidentifier(),
    "block": lambda x: _is_count(x) and 0 < x <= 1024,
    "states": lambda x: _is_count(x) and x > 0,
    "way": ("unrolled", "rolled").__contains__,
    "operations": _is_count,
    "shared_bytes": _is_count,
    "workspace": _is_count,
    "numbers": _is_places,
    "table_bytes": _is_count,
}
"""The fields of an entry of the cache, each with the test that a stored value must pass."""


def binary_of(request: Request, dtype: str, device: Device) -> Binary:
    """Return the code of a request for a device, from the cache or compiled now."""

    key = request_key(request, dtype, None)
    about = request.model.name, request.question.name
    return cached_binary(key, *about, device, lambda: ptx_of(request, dtype, device.architecture))


def ptx_of(request: Request, dtype: str, architecture: str) -> PtxCode:
    """Return a `PtxCode`; the modules that trace and write code are imported only now."""
    from ..compile.ptx import ptx_code

    return ptx_code(request, dtype, architecture)


def cached_binary(
    key: list[Any] | None, robot: str, question: str, device: Device, made: Callable[[], PtxCode]
) -> Binary:
    """Return the code of a key for a device, from the cache; or `made` gives a `PtxCode`, which the driver compiles."""
    name = None if key is None else cache.cache_key(["GPU", device.capability, device.driver.version, key])
    found = None if name is None else cache.read(name, _FIELDS)
    if found is not None:
        meta, content = found
        length = meta["table_bytes"]
        stored = {word: meta[word] for word in _FIELDS if word not in ("numbers", "table_bytes")}
        numbers = None if meta["numbers"] is None else tuple(meta["numbers"])
        cut = len(content) - length
        return Binary(object=content[:cut], tables=content[cut:], numbers=numbers, **stored)
    code = made()
    same = {word: getattr(code, word) for word in Binary.__slots__ if word != "object"}
    binary = Binary(object=linked(code.text, device, f"{question} of {robot!r}"), **same)
    if name is not None:
        meta = {word: getattr(binary, word) for word in _FIELDS if word != "table_bytes"}
        about = {"robot": robot, "question": question, "table_bytes": len(binary.tables)}
        cache.write(name, {**meta, **about}, binary.object + binary.tables)
    return binary


def linked(text: str, device: Device, doing: str) -> bytes:
    """Return the binary that the driver makes of PTX; an error has the messages of its compiler."""
    logs = ctypes.create_string_buffer(_LOG_BYTES), ctypes.create_string_buffer(_LOG_BYTES)
    options = (ctypes.c_int * 4)(_INFO_LOG, _INFO_SIZE, _ERROR_LOG, _ERROR_SIZE)
    places = (ctypes.addressof(logs[0]), _LOG_BYTES, ctypes.addressof(logs[1]), _LOG_BYTES)
    values = (ctypes.c_void_p * 4)(*places)
    source = ctypes.create_string_buffer(text.encode())  # with the zero at its end that the driver expects
    with device as d:
        state = ctypes.c_void_p()
        d.driver.call("cuLinkCreate_v2", 4, options, values, ctypes.byref(state), doing=doing)
        try:
            content, size = ctypes.c_void_p(), ctypes.c_size_t()
            given = (state, _PTX, source, len(source), b"ordern", 0, None, None)
            step = "cuLinkAddData_v2"
            code = d.driver.code(step, *given)
            if not code:
                step = "cuLinkComplete"
                code = d.driver.code(step, state, ctypes.byref(content), ctypes.byref(size))
            if code:
                said = logs[1].value.decode(errors="replace").strip()
                raise CompileError(f"{d.driver.words(code, step, doing)}{': ' if said else ''}{said}")
            return ctypes.string_at(content.value or 0, size.value)  # the driver frees its own copy below
        finally:
            d.driver.code("cuLinkDestroy", state)


class Loaded:
    """Code in the memory of a device, with its tables."""

    def __init__(self, binary: Binary, device: Device, doing: str) -> None:
        self.binary, self.device, self.doing = binary, device, doing
        with device as d:
            source = ctypes.create_string_buffer(binary.object, len(binary.object))
            module = d.driver.handle("cuModuleLoadData", source)
            when_gone(self, release, device, "cuModuleUnload", module)
            self.function = d.driver.handle("cuModuleGetFunction", module, binary.entry.encode())
            if binary.shared_bytes > _WITHOUT_ASKING:
                number = FUNCTION_ATTRIBUTES["dynamic_shared"]
                d.driver.call("cuFuncSetAttribute", self.function, number, binary.shared_bytes, doing=doing)
            self._tables = None
            if binary.tables:
                self._tables = Block(device, len(binary.tables), doing)
                text = ctypes.create_string_buffer(binary.tables, len(binary.tables))
                stream = d.stream.handle
                d.driver.call("cuMemcpyHtoDAsync_v2", self._tables.address, text, len(binary.tables), stream)
                d.driver.call("cuStreamSynchronize", stream)
        self.most_blocks = self._at_once() if binary.workspace else 0
        """The most blocks of a launch, which divide all states among them; 0 if there is a block for each group."""

    def attribute(self, name: str) -> int:
        """Return a property of the loaded code: its "registers" or bytes of "local" memory a thread."""
        with self.device as d:
            return d.driver.integer("cuFuncGetAttribute", FUNCTION_ATTRIBUTES[name], self.function)

    def blocks_at_once(self) -> int:
        """Return how many blocks a multiprocessor runs at once."""
        with self.device as d:
            given = (self.function, self.binary.block, self.binary.shared_bytes)
            return d.driver.integer("cuOccupancyMaxActiveBlocksPerMultiprocessor", *given)

    def _at_once(self) -> int:
        return max(1, self.blocks_at_once()) * max(1, self.device.attribute("multiprocessors"))

    @property
    def tables_address(self) -> int:
        """The address of the tables; 0 if there are none."""
        return self._tables.address if self._tables is not None else 0

    def workspace(self, states: int, itemsize: int) -> int:
        """Return the bytes of workspace that a launch for so many states needs."""
        b = self.binary
        return self._grid(states) * b.states * b.workspace * itemsize if b.workspace else 0

    def _grid(self, states: int) -> int:
        blocks = -(-states // self.binary.states)
        return min(blocks, self.most_blocks) if self.most_blocks else blocks

    def launch(
        self, rows: Sequence[tuple[int, int]], states: int, stream: int, workspace: int = 0, more: Sequence[int] = ()
    ) -> None:
        """Put the kernel into a stream.

        `rows` has the address and the stride of each argument and, last, of the result; `more` are further numbers that
        come before the number of states. The device must be current.
        """
        if not states:
            return
        given = [x for row in rows for x in row] + [workspace, self.tables_address, *more, states]
        self.start(given, self._grid(states), stream)

    def start(self, given: Sequence[int], blocks: int, stream: int) -> None:
        """Put the kernel into a stream, with its parameters as integers of 64 bits."""
        numbers = (ctypes.c_int64 * len(given))(*given)
        first = ctypes.addressof(numbers)
        parameters = (ctypes.c_void_p * len(given))(*range(first, first + 8 * len(given), 8))
        b, size = self.binary, (blocks, 1, 1, self.binary.block, 1, 1)
        name = "cuLaunchKernel"
        self.device.driver.call(name, self.function, *size, b.shared_bytes, stream, parameters, None, doing=self.doing)
