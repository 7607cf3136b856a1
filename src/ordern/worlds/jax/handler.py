"""A kernel as a function that XLA calls: its foreign function interface, written as LLVM IR.

XLA calls a handler with a frame: the addresses and dimensions of all arrays. The handler gives them to the loop over
batches of a kernel; no Python runs. The same code serves all kernels: a context has the numbers of one of them, and
each kernel has a handler of two instructions that passes its context on. The structures are those of XLA's header
`xla/ffi/api/c_api.h`.

Each input has the whole batch, or one state for all of it. Calls may come from several threads at once, so each takes a
workspace from a pool. A large batch is shared with the threads of XLA: whoever is free takes the next part, and the
caller, who takes parts as well, waits for those that others have begun. So it does not wait for threads that are busy
elsewhere, which may come late: the job that they read is freed by the last of them.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...compile.emit.builder import Builder, Value
from ...compile.run.engine import Engine, compile_object
from ...compile.run.loaded import Machine
from ...forking import COMPILING
from ...records import dataclass

__all__ = ["MOST_INPUTS", "handler"]

MOST_INPUTS = 30
"""The largest number of inputs of a handler."""
_NS_PER_OPERATION, _WORTH_A_THREAD_NS = 0.3, 5e5
"""A guess of the time of a vector operation, and the time from which another thread is worth it."""
_PARTS = 4
"""The parts of a batch for each thread."""

# the words of a context
_LOOP, _DATA, _BYTES, _INPUTS, _RANK, _LANES, _STATES, _THREADS, _MALLOC, _FREE, _YIELD, _STEPS = range(12)
_POOL, _POOL_SIZE = 12, 8
_TABLES = _POOL + _POOL_SIZE
"""The sizes of the inputs for one state come from here on, then the bytes along all dimensions."""
# the words of a job
_CONTEXT, _N, _PART, _COUNT, _NEXT, _DONE, _REFERENCES = range(7)
_POINTERS = 7
_OUTER = _POINTERS + MOST_INPUTS + 2
_JOB = _OUTER + MOST_INPUTS + 2
_MOST_STEPS = 160
# offsets in the structures of XLA
_EXTENSION, _API, _EXECUTION, _ARGUMENTS, _RESULTS = 8, 16, 24, 72, 112
_BUFFER_DATA, _BUFFER_RANK, _BUFFER_DIMS = 24, 32, 40
_FIRST_FUNCTION = 48


def handler(machine: Machine, shapes: Sequence[tuple[int, ...]], output: tuple[int, ...], threads: int | None) -> Any:
    """Return a handler of a kernel as a capsule, and what must live as long as XLA may call it.

    `shapes` are those of the inputs that the code reads, for one state. `threads` is the number of threads, or None to
    let the size of the batch decide.
    """
    entry, size = machine.entry, machine.dtype.itemsize
    strides = [_strides(shape, size) for shape in shapes]
    steps = [*(0 for _ in shapes), 0, 0, *(x for s in strides for x in s), size, *_strides(output, size)]
    ns = max(machine.code.operations * _NS_PER_OPERATION / machine.lanes, 0.1)
    words = [0] * _TABLES
    words[_LOOP], words[_DATA], words[_BYTES] = entry.loop, entry.data, entry.workspace + 64
    words[_INPUTS], words[_RANK], words[_LANES] = len(shapes), len(output), machine.lanes
    words[_STATES], words[_THREADS] = int(_WORTH_A_THREAD_NS / ns) + 1, threads or 0
    words[_MALLOC], words[_FREE], words[_YIELD] = _functions()
    words[_STEPS] = len(steps)
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in (*shapes, output)]
    context = np.array([*words, *(x * size for x in sizes), *sizes, *steps], np.int64)
    with COMPILING:
        own = Engine(compile_object(_thunk(_common().address("handler"), context.ctypes.data)), ["own"])
    return own.address("own"), (own, _common(), context, machine, entry.owner)


def _strides(shape: Sequence[int], size: int) -> list[int]:
    """Return the bytes along each dimension of an array without gaps."""
    return [size * int(np.prod(shape[k + 1 :], dtype=np.int64)) for k in range(len(shape))]


@cache
def _functions() -> tuple[int, int, int]:
    """Return the addresses of functions that allocate, free, and let other threads run, or 0 for the last one."""
    python = ctypes.pythonapi
    library: Any = python
    try:
        windows = sys.platform == "win32"
        library = vars(ctypes)["WinDLL"]("kernel32") if windows else ctypes.CDLL(None)
        other = library.SwitchToThread if windows else library.sched_yield
    except (OSError, AttributeError):
        other = None
    found = [python.PyMem_RawMalloc, python.PyMem_RawFree, other]
    malloc, free, pause = (0 if f is None else ctypes.cast(f, ctypes.c_void_p).value or 0 for f in found)
    return malloc, free, pause


@dataclass(frozen=True, slots=True)
class _Version:
    """The version of XLA's interface, and the offsets of two of its functions; 0 if they are not known."""

    major: int = 0
    minor: int = 3
    schedule: int = 0
    count_threads: int = 0


@cache
def _version() -> _Version:
    """Return the version of the installed XLA: its header has it."""
    import jax

    try:
        text = (Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text(encoding="utf-8")
    except (OSError, RuntimeError):
        return _Version()
    number = dict(re.findall(r"#define XLA_FFI_API_(M\w+) (\d+)", text))
    names = re.findall(r"_XLA_FFI_API_STRUCT_FIELD\((XLA_FFI_\w+)\);", text)
    at = {name: _FIRST_FUNCTION + 8 * k for k, name in enumerate(names)}
    return _Version(
        int(number.get("MAJOR", 0)),
        int(number.get("MINOR", 3)),
        at.get("XLA_FFI_ThreadPool_Schedule", 0),
        at.get("XLA_FFI_ThreadPool_NumThreads", 0),
    )


def _thunk(common: int, context: int) -> str:
    """Return the IR text of the handler of one kernel."""
    call = f"call ptr inttoptr (i64 {common} to ptr)(ptr %frame, ptr inttoptr (i64 {context} to ptr))"
    return f"define ptr @own(ptr %frame) {{\n  %found = tail {call}\n  ret ptr %found\n}}"


@cache
def _common() -> Engine:
    """Return the code that all handlers share."""
    parts = (_take(), _give(), _part(), _worker(), _handler(_version()))
    return Engine(compile_object("\n".join(["attributes #0 = { nounwind }", *parts])), ["handler"])


def _atomic(e: Builder, operation: str, at: Value, by: int = 1) -> Value:
    """Change an integer that several threads change; return what it was."""
    return e.typed("i64", f"atomicrmw {operation} ptr {at}, i64 {by} acq_rel")


def _take() -> str:
    """Return the IR text of @take(context): a workspace out of the pool, or a new one."""
    e = Builder(("ptr %context",))
    (context,) = e.arguments
    with e.counted(_POOL_SIZE) as k:
        found = _atomic(e, "xchg", context.at(k + _POOL, "i64"), 0)
        with e.if_(found.differs(0)):
            e.ret(found)
    e.ret(e.call(context.load("ptr", _MALLOC), context.load("i64", _BYTES), result="i64"))
    return e.text("@take", "i64")


def _give() -> str:
    """Return the IR text of @give(context, workspace): put a workspace into the pool, or free it."""
    e = Builder(("ptr %context", "i64 %workspace"))
    context, workspace = e.arguments
    with e.counted(_POOL_SIZE) as k:
        slot = context.at(k + _POOL, "i64")
        pair = e.value(f"cmpxchg ptr {slot}, i64 0, i64 {workspace} acq_rel monotonic")
        with e.if_(e.typed("i1", f"extractvalue {{ i64, i1 }} {pair}, 1")):
            e.ret()
    e.call(context.load("ptr", _FREE), workspace.to("inttoptr", "ptr"))
    return e.text("@give")


def _part() -> str:
    """Return the IR text of @part(job, start, count): compute some states of a job."""
    e = Builder(("ptr %job", "i64 %start", "i64 %count"))
    job, start, count = e.arguments
    args, steps, dims = e.alloca(f"[{MOST_INPUTS + 2} x ptr]"), e.alloca(f"[{_MOST_STEPS} x i64]"), e.alloca("i64")
    context = job.load("ptr", _CONTEXT)
    inputs = context.load("i64", _INPUTS)
    template = context.at(_TABLES, "i64").at(inputs * 2 + 2, "i64")
    with e.counted(context.load("i64", _STEPS)) as k:
        steps.store(template.load("i64", k), k)
    with e.counted(inputs + 2) as k:  # the place of the workspace is set to nothing, and filled below
        outer = job.at(_OUTER, "i64").load("i64", k)
        args.store(job.at(_POINTERS, "i64").load("ptr", k).at(start * outer), k)
        steps.store(outer, k)
    raw = e.call("@take", context, result="i64")
    args.store(((raw + 63) & -64).to("inttoptr", "ptr"), inputs)
    dims.store(count)
    e.call(context.load("ptr", _LOOP), args, dims, steps, context.load("ptr", _DATA))
    e.call("@give", context, raw)
    return e.text("@part")


def _worker() -> str:
    """Return the IR text of @worker(job): compute parts while there are some, and drop the reference to the job."""
    e = Builder(("ptr %job",))
    (job,) = e.arguments
    e.call("@parts", job)
    e.call("@drop", job)
    worker = e.text("@worker")
    e = Builder(("ptr %job",))
    (job,) = e.arguments
    with e.repeat():
        k = _atomic(e, "add", job.at(_NEXT, "i64"))
        e.leave_unless(k < job.load("i64", _COUNT))
        size = job.load("i64", _PART)
        start = k * size
        left = job.load("i64", _N) - start
        e.call("@part", job, start, (left < size).select(left, size))
        _atomic(e, "add", job.at(_DONE, "i64"))
    parts = e.text("@parts")
    e = Builder(("ptr %job",))
    (job,) = e.arguments
    with e.if_(_atomic(e, "sub", job.at(_REFERENCES, "i64")).equals(1)):
        e.call(job.load("ptr", _CONTEXT).load("ptr", _FREE), job)
    return "\n".join([parts, e.text("@drop"), worker])


def _handler(version: _Version) -> str:
    """Return the IR text of @handler(frame, context)."""
    e = Builder(("ptr %frame", "ptr %context"))
    frame, context = e.arguments
    _tell_version(e, frame, version)
    job = e.alloca(f"[{_JOB} x i64]")
    job.store(context, _CONTEXT)
    n = _describe(e, frame, context, job)
    job.store(n, _N)
    wanted = e.alloca("i64")
    wanted.store(e.const(1))
    if version.schedule and version.count_threads:
        _count_threads(e, frame, context, n, wanted, version)
    threads = wanted.load("i64")
    with e.if_(threads < 2):
        e.call("@part", job, e.const(0), n)
        e.ret(e.null)
    if version.schedule:
        _share(e, frame, context, job, threads, version)
    e.ret(e.null)
    return e.text("@handler", "ptr", internal=False)


def _tell_version(e: Builder, frame: Value, version: _Version) -> None:
    """Answer the first call of a handler, which asks for the version of the interface that it was made for."""
    extension = frame.at(_EXTENSION).load("ptr")
    with e.if_(extension.differs(e.null)), e.if_(extension.at(8).load("i32").equals(1)):
        metadata = extension.at(24).load("ptr")
        for offset, kind, x in ((24, "i32", version.major), (28, "i32", version.minor), (32, "i32", 0), (40, "i64", 0)):
            metadata.at(offset).store(e.const(x, kind))
        e.ret(e.null)


def _describe(e: Builder, frame: Value, context: Value, job: Value) -> Value:
    """Write the addresses of all arrays and the bytes between their states to a job; return the number of states."""
    arguments, results = (frame.at(x).load("ptr") for x in (_ARGUMENTS, _RESULTS))
    inputs, tables = context.load("i64", _INPUTS), context.at(_TABLES, "i64")
    sizes = tables.at(inputs + 1, "i64")
    pointers, outer = job.at(_POINTERS, "i64"), job.at(_OUTER, "i64")
    result = results.load("ptr")
    batch = result.at(_BUFFER_RANK).load("i64") - context.load("i64", _RANK)
    n = _product(e, result.at(_BUFFER_DIMS).load("ptr"), batch)
    with e.counted(inputs) as k:
        buffer = arguments.load("ptr", k)
        pointers.store(buffer.at(_BUFFER_DATA).load("ptr"), k)
        numbers = _product(e, buffer.at(_BUFFER_DIMS).load("ptr"), buffer.at(_BUFFER_RANK).load("i64"))
        many = numbers.differs(sizes.load("i64", k))
        outer.store(many.select(tables.load("i64", k), 0), k)
    place = inputs + 1
    pointers.store(e.null, inputs)
    outer.store(e.const(0), inputs)
    pointers.store(result.at(_BUFFER_DATA).load("ptr"), place)
    outer.store(tables.load("i64", inputs), place)
    return n


def _product(e: Builder, dims: Value, count: Value) -> Value:
    """Return the product of the first dimensions."""
    total = e.alloca("i64")
    total.store(e.const(1))
    with e.if_(count > 0), e.counted(count) as k:
        total.store(total.load("i64") * dims.load("i64", k))
    return total.load("i64")


def _count_threads(e: Builder, frame: Value, context: Value, n: Value, wanted: Value, version: _Version) -> None:
    """Find how many threads to use: as many as are asked for, or as have enough to do."""
    asked = context.load("i64", _THREADS)
    worth = e.typed("i64", f"udiv i64 {n}, {context.load('i64', _STATES)}")
    most = asked.equals(0).select(worth, asked)
    groups = e.typed("i64", f"udiv i64 {n}, {context.load('i64', _LANES)}")
    most = (groups < most).select(groups, most)
    with e.if_(most > 1):
        api, number = frame.at(_API).load("ptr"), e.alloca("i64")
        number.store(e.const(1))
        words = [e.const(32), e.null, frame.at(_EXECUTION).load("ptr"), number]
        _call_api(e, api, version.count_threads, words)
        available = number.load("i64") + 1  # the caller may not be one of them
        wanted.store((available < most).select(available, most))


def _call_api(e: Builder, api: Value, at: int, words: Sequence[Value]) -> Value:
    """Call a function of XLA with a structure of these words; return its error."""
    structure = e.alloca(f"[{len(words)} x i64]")
    for k, x in enumerate(words):
        structure.store(x, k)
    return e.call(api.at(at).load("ptr"), structure, result="ptr")


def _share(e: Builder, frame: Value, context: Value, job: Value, threads: Value, version: _Version) -> None:
    """Share a job with the threads of XLA."""
    n, lanes = job.load("i64", _N), context.load("i64", _LANES)
    shared = e.call(context.load("ptr", _MALLOC), e.const(8 * _JOB), result="ptr")
    with e.counted(_JOB) as k:
        shared.store(job.load("i64", k), k)
    parts = threads * _PARTS
    groups = e.typed("i64", f"udiv i64 {n + lanes - 1}, {lanes}")
    per = e.typed("i64", f"udiv i64 {groups + parts - 1}, {parts}") * lanes
    count = e.typed("i64", f"udiv i64 {n + per - 1}, {per}")
    for word, x in ((_PART, per), (_COUNT, count), (_NEXT, e.const(0)), (_DONE, e.const(0)), (_REFERENCES, threads)):
        shared.store(x, word)
    api, execution = frame.at(_API).load("ptr"), frame.at(_EXECUTION).load("ptr")
    with e.counted(threads - 1):
        words = [e.const(40), e.null, execution, e.const("@worker", "ptr"), shared]
        error = _call_api(e, api, version.schedule, words)
        with e.if_(error.differs(e.null)):
            e.call("@drop", shared)  # no thread will; the error itself is lost, and the caller does the work
    e.call("@parts", shared)
    pause = context.load("ptr", _YIELD)
    with e.repeat():
        done = e.typed("i64", f"load atomic i64, ptr {shared.at(_DONE, 'i64')} acquire, align 8")
        e.leave_unless(done < count)
        with e.if_(pause.differs(e.null)):
            e.call(pause, result="i32")
    e.call("@drop", shared)
