"""Kernels on GPUs as functions that XLA calls: the handler of `handler.py`, with a launch in the place of a loop.

The handler reads the addresses and dimensions of all arrays from XLA's frame, asks XLA for its stream, and launches the
kernel there, by the driver's own function. No Python runs, and nothing waits. The code is loaded on every GPU of the
machine; the handler finds the one that XLA has made current. A kernel with a workspace gets it as a second result.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

import jax
import numpy as np

from ...compile.emit.builder import Builder, Value
from ...compile.pipeline import request_key
from ...compile.run.cache import cache_key
from ...compile.run.engine import Engine, compile_object
from ...errors import ArgumentError, GpuError
from ...forking import COMPILING
from ...gpu.code import Loaded
from ...gpu.device import devices
from ...gpu.program import Program
from ..operators import Operator
from .handler import (
    _API,
    _BUFFER_DATA,
    _EXECUTION,
    _FIRST_FUNCTION,
    _INPUTS,
    _JOB,
    _OUTER,
    _POINTERS,
    _RANK,
    _RESULTS,
    _TABLES,
    MOST_INPUTS,
    _call_api,
    _describe,
    _tell_version,
    _version,
)

__all__ = ["cuda_handler", "cuda_loaded", "cuda_target"]

_LAUNCH, _GET_DEVICE, _BLOCK, _STATES, _SHARED, _MOST_BLOCKS, _SCRATCH = range(5, 12)
"""The words of a context beside those that `handler` knows: functions of the driver, and the sizes of a launch."""
_FUNCTIONS, _DEVICE_TABLES, _MOST_DEVICES = 12, 28, 16
"""The handles of the kernel, and the addresses of its tables, on each device."""
_ERROR_CREATE, _STREAM_GET = _FIRST_FUNCTION, _FIRST_FUNCTION + 32
_INTERNAL = 13
"""XLA's number for errors that are not the caller's."""
_MESSAGES = {
    "failed": "the NVIDIA driver refused to launch a kernel of ordern",
    "other": "with JAX, ordern runs on the first 16 GPUs of a machine, if they are of one generation with the first",
}

_known: dict[str, Any] = {}


def cuda_loaded(operator: Operator, dtype: str) -> Loaded:
    """Return the code of an operator on the first GPU."""
    found = devices()
    if not found:
        raise GpuError("JAX has a GPU, and the NVIDIA driver tells ordern of none; check CUDA_VISIBLE_DEVICES")
    return Program.of(operator.runner, found[0]).loaded(np.dtype(dtype))


def cuda_target(operator: Operator, dtype: str) -> str:
    """Return the name of the handler of an operator for CUDA, which is registered on first use."""
    names: dict[str, str] = operator.__dict__.setdefault("_jax_cuda_targets", {})
    if dtype not in names:
        with COMPILING:
            names[dtype] = _registered(operator, dtype)
    return names[dtype]


def _registered(operator: Operator, dtype: str) -> str:
    key = request_key(operator.request, dtype, None)
    digest = f"in_this_process_{len(_known)}" if key is None else cache_key(key)[:32]
    words = re.sub(r"[^a-z0-9]+", "_", operator.name[:60]).strip("_")
    name = f"ordern_cuda_{words}_{dtype}_{digest}"
    if name not in _known:
        address, kept = cuda_handler(operator, dtype)
        function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address)
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(function), platform="CUDA")
        _known[name] = kept
    return name


def cuda_handler(operator: Operator, dtype: str) -> tuple[int, Any]:
    """Return the address of a handler of an operator, and what must live as long as XLA may call it."""
    kind = np.dtype(dtype)
    loaded = [Program.of(operator.runner, device).loaded(kind) for device in devices() if device.number < _MOST_DEVICES]
    binary, driver = loaded[0].binary, loaded[0].device.driver
    shapes = [x.shape for x in operator.inputs]
    if operator.numbers is not None:
        places = binary.numbers
        shapes[-1:] = [] if places == () else [(operator.numbers.count if places is None else len(places),)]
    if len(shapes) > MOST_INPUTS:
        raise ArgumentError(f"{operator.name}: it has {len(shapes)} inputs; JAX takes at most {MOST_INPUTS}")
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in (*shapes, operator.output)]
    words = [0] * (_DEVICE_TABLES + _MOST_DEVICES)
    words[_INPUTS], words[_RANK] = len(shapes), len(operator.output)
    words[_LAUNCH], words[_GET_DEVICE] = driver.address("cuLaunchKernel"), driver.address("cuCtxGetDevice")
    words[_BLOCK], words[_STATES], words[_SHARED] = binary.block, binary.states, binary.shared_bytes
    words[_MOST_BLOCKS], words[_SCRATCH] = loaded[0].most_blocks, int(binary.workspace > 0)
    for x in loaded:
        if _launch_sizes(x) != _launch_sizes(loaded[0]):
            continue  # code of another generation, of which the handler says so
        k = x.device.number
        words[_FUNCTIONS + k], words[_DEVICE_TABLES + k] = x.function, x.tables_address
    beyond = np.array(words, np.int64)
    context = np.array([*words[:_TABLES], *sizes, *sizes], np.int64)  # as `_describe` reads it; strides are in numbers
    with COMPILING:
        text = _thunk_with(_common().address("handler"), context.ctypes.data, beyond.ctypes.data)
        own = Engine(compile_object(text), ["own"])
    return own.address("own"), (own, _common(), context, beyond, loaded)


def _launch_sizes(loaded: Loaded) -> tuple[Any, ...]:
    """Return everything about code that a launch depends on."""
    b = loaded.binary
    return b.block, b.states, b.shared_bytes, b.workspace, b.numbers


def _thunk_with(common: int, context: int, beyond: int) -> str:
    """Return the IR text of the handler of one kernel, which passes both of its contexts on."""
    arguments = f"ptr %frame, ptr inttoptr (i64 {context} to ptr), ptr inttoptr (i64 {beyond} to ptr)"
    call = f"call ptr inttoptr (i64 {common} to ptr)({arguments})"
    return f"define ptr @own(ptr %frame) {{\n  %found = tail {call}\n  ret ptr %found\n}}"


@cache
def _common() -> Engine:
    """Return the code that all handlers share."""
    messages = [_constant(name, text.encode()) for name, text in _MESSAGES.items()]
    return Engine(compile_object("\n".join(["attributes #0 = { nounwind }", *messages, _handler()])), ["handler"])


def _constant(name: str, text: bytes) -> str:
    letters = "".join(f"\\{byte:02X}" for byte in text)
    return f'@{name} = private constant [{len(text) + 1} x i8] c"{letters}\\00"'


def _handler() -> str:
    """Return the IR text of @handler(frame, context, words)."""
    e = Builder(("ptr %frame", "ptr %context", "ptr %words"))
    frame, context, words = e.arguments
    _tell_version(e, frame, _version())
    job = e.alloca(f"[{_JOB} x i64]")
    n = _describe(e, frame, context, job)
    with e.if_(n < 1):
        e.ret(e.null)
    inputs = context.load("i64", _INPUTS)
    device = e.alloca("i64")
    device.store(e.const(0))
    e.call(words.load("ptr", _GET_DEVICE), device, result="i32")
    number = device.load("i32").to("zext", "i64")
    with e.if_(number > _MOST_DEVICES - 1):
        e.ret(_error(e, frame, "other"))
    with e.if_(words.at(_FUNCTIONS, "i64").load("i64", number).equals(0)):
        e.ret(_error(e, frame, "other"))
    values, places = e.alloca(f"[{2 * MOST_INPUTS + 8} x i64]"), e.alloca(f"[{2 * MOST_INPUTS + 8} x ptr]")
    _write_values(e, frame, words, job, inputs, number, n, values)
    with e.counted(inputs * 2 + 5) as k:
        places.store(values.at(k, "i64"), k)
    stream = _stream(e, frame)
    states, most = words.load("i64", _STATES), words.load("i64", _MOST_BLOCKS)
    blocks = e.typed("i64", f"udiv i64 {n + states - 1}, {states}")
    limited = (most < blocks).select(most, blocks)
    blocks = most.equals(0).select(blocks, limited)
    one = e.const(1, "i32")
    size = [blocks.to("trunc", "i32"), one, one, words.load("i64", _BLOCK).to("trunc", "i32"), one, one]
    shared = words.load("i64", _SHARED).to("trunc", "i32")
    function = words.at(_FUNCTIONS, "i64").load("ptr", number)
    code = e.call(words.load("ptr", _LAUNCH), function, *size, shared, stream, places, e.null, result="i32")
    with e.if_(code.differs(0)):
        e.ret(_error(e, frame, "failed"))
    e.ret(e.null)
    return e.text("@handler", "ptr", internal=False)


def _error(e: Builder, frame: Value, message: str) -> Value:
    """Return an error of XLA with a message."""
    given = [e.const(32), e.null, e.const(f"@{message}", "ptr"), e.const(_INTERNAL)]
    return _call_api(e, frame.at(_API).load("ptr"), _ERROR_CREATE, given)


def _write_values(
    e: Builder, frame: Value, words: Value, job: Value, inputs: Value, number: Value, n: Value, values: Value
) -> None:
    """Write the parameters of the kernel: address and stride of each array, workspace, tables, number of states."""
    pointers, outer = job.at(_POINTERS, "i64"), job.at(_OUTER, "i64")
    with e.if_(inputs > 0), e.counted(inputs) as k:
        values.store(pointers.load("i64", k), k * 2)
        values.store(outer.load("i64", k), k * 2 + 1)
    values.store(pointers.load("i64", inputs + 1), inputs * 2)
    values.store(outer.load("i64", inputs + 1), inputs * 2 + 1)
    values.store(e.const(0), inputs * 2 + 2)
    with e.if_(words.load("i64", _SCRATCH) > 0):
        scratch = frame.at(_RESULTS).load("ptr").load("ptr", 1)
        values.store(scratch.at(_BUFFER_DATA).load("i64"), inputs * 2 + 2)
    values.store(words.at(_DEVICE_TABLES, "i64").load("i64", number), inputs * 2 + 3)
    values.store(n, inputs * 2 + 4)


def _stream(e: Builder, frame: Value) -> Value:
    """Return the stream of XLA."""
    structure = e.alloca("[4 x i64]")
    for k, x in enumerate((e.const(32), e.null, frame.at(_EXECUTION).load("ptr"), e.null)):
        structure.store(x, k)
    e.call(frame.at(_API).load("ptr").at(_STREAM_GET).load("ptr"), structure, result="ptr")
    return structure.load("ptr", 3)
