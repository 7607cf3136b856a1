"""Large results go straight to memory.

An ordinary store to memory that is not at hand first fetches the line that it is about to overwrite, and what it writes
drives out what is at hand. For a result that is larger than the processor's caches both are in vain: lines that are
written as a whole, past the caches, take a third of the time. Such a line must begin at a multiple of 64 bytes, where
rows begin at any number. So a block of each row is put together in a small stage, from which whole lines leave; what is
left at both ends of a row is stored as usual.
"""

from __future__ import annotations

from collections.abc import Iterable

from .emit import TextEmitter
from .layout import Operand
from .target import Target
from .tiles import columns, loop, transpose

__all__ = ["FROM_BYTES", "stage_size", "stream_function", "streamable"]

FROM_BYTES = 8 << 20
"""Results of this size and more are streamed: beyond the caches of one core, where it pays even if the result is read
at once."""
_LINE = 64
_BLOCK = 512
"""Bytes of a row that are put together at a time."""


def streamable(operand: Operand, target: Target) -> bool:
    """Whether rows are long enough to consist of whole lines for the most part."""
    return operand.size * target.itemsize >= 2 * _BLOCK


def stage_size(target: Target) -> int:
    """Vectors of the stage: of each row the line before a block, and the block."""
    return (_LINE + _BLOCK) // target.itemsize


def stream_function(target: Target, placed: bool) -> str:
    """IR text of @stream_rows, which does as @store_rows does; n is at least a block, and rows are aligned to numbers.

    The stage is not on the stack, where some systems give a page at a time.
    After it, and before anybody else may read, there must be a fence.
    """
    size, lanes, element = target.itemsize, target.lanes, target.element
    shift = size.bit_length() - 1
    line, block = _LINE // size, _BLOCK // size
    width = stage_size(target)  # of one row, in numbers
    return "\n".join(
        [
            _copy_function(target),
            "define internal void @stream_rows(ptr %lanes, ptr %tile, ptr %stage, i64 %n) #0 {",
            "entry:",
            "  br label %block",
            "block:",
            "  %k = phi i64 [ 0, %entry ], [ %end, %row_end ]",
            f"  %end = add i64 %k, {block}",
            f"  %passed = shl i64 %k, {shift}",
            "  %first = icmp eq i64 %k, 0",
            "  br label %turn",
            "turn:",
            "  %s = phi i64 [ 0, %block ], [ %s_next, %turn ]",
            "  %ks = add i64 %k, %s",
            f"  %s_at = add i64 %s, {line}",
            f"  %to = getelementptr {element}, ptr %stage, i64 %s_at",
            *_turned(target, width, placed),
            f"  %s_next = add i64 %s, {lanes}",
            f"  %s_more = icmp ult i64 %s_next, {block}",
            "  br i1 %s_more, label %turn, label %row",
            "row:",
            "  %j = phi i64 [ 0, %turn ], [ %j_next, %row_sent ]",
            *_row_and_stage("j", width * size),
            "  %far = add i64 %passed, %skip_j",
            f"  %before = sub i64 %far, {_LINE}",
            "  %lines = getelementptr i8, ptr %row_j, i64 %before",
            "  %source = getelementptr i8, ptr %stage_j, i64 %skip_j",
            "  br i1 %first, label %head, label %next",
            "head:",
            f"  %fresh = getelementptr i8, ptr %stage_j, i64 {_LINE}",
            f"  %heads = lshr i64 %skip_j, {shift}",
            "  call void @copy_numbers(ptr %row_j, ptr %fresh, i64 %heads)",
            "  br label %row_sent",
            "next:",
            *_lines(target, "%lines", "%source", [0]),
            "  br label %row_sent",
            "row_sent:",
            *_lines(target, "%lines", "%source", range(1, _BLOCK // _LINE), "more"),
            *_carry(target),
            "  %j_next = add i64 %j, 1",
            f"  %j_more = icmp ult i64 %j_next, {lanes}",
            "  br i1 %j_more, label %row, label %row_end",
            "row_end:",
            f"  %end_next = add i64 %end, {block}",
            "  %k_more = icmp ule i64 %end_next, %n",
            "  br i1 %k_more, label %block, label %tail",
            "tail:",
            "  %i = phi i64 [ 0, %row_end ], [ %i_next, %tail ]",
            *_row_and_stage("i", width * size),
            f"  %gone = shl i64 %end, {shift}",
            f"  %tail_bytes = sub i64 {_LINE}, %skip_i",
            "  %sent = sub i64 %gone, %tail_bytes",
            "  %tail_to = getelementptr i8, ptr %row_i, i64 %sent",
            "  %tail_from = getelementptr i8, ptr %stage_i, i64 %skip_i",
            f"  %tails = lshr i64 %tail_bytes, {shift}",
            "  call void @copy_numbers(ptr %tail_to, ptr %tail_from, i64 %tails)",
            "  %i_next = add i64 %i, 1",
            f"  %i_more = icmp ult i64 %i_next, {lanes}",
            "  br i1 %i_more, label %tail, label %remainder",
            "remainder:",
            "  call void @store_rows(ptr %lanes, ptr %tile, i64 %end, i64 %n)",
            "  ret void",
            "}",
            "!64 = !{i32 1}",
        ]
    )


def _turned(target: Target, width: int, placed: bool) -> list[str]:
    """Transpose vectors of the tile, from %ks on, into the rows' stages, at %to."""
    e = TextEmitter(target)
    vectors = [e.load(at, 0) for at in columns(e, "%ks", target.lanes, placed)]
    for lane, column in enumerate(transpose(e, vectors)):
        e.store(column, e.value(f"getelementptr {target.element}, ptr %to, i64 {lane * width}"), 0)
    return e.lines


def _row_and_stage(j: str, stage_bytes: int) -> list[str]:
    """Of lane j: %row_j and %stage_j, and the bytes from the row's start to the first line in it, %skip_j."""
    return [
        f"  %slot_{j} = getelementptr ptr, ptr %lanes, i64 %{j}",
        f"  %row_{j} = load ptr, ptr %slot_{j}",
        f"  %address_{j} = ptrtoint ptr %row_{j} to i64",
        f"  %less_{j} = sub i64 0, %address_{j}",
        f"  %skip_{j} = and i64 %less_{j}, {_LINE - 1}",
        f"  %at_{j} = mul i64 %{j}, {stage_bytes}",
        f"  %stage_{j} = getelementptr i8, ptr %stage, i64 %at_{j}",
    ]


def _lines(target: Target, to: str, source: str, which: Iterable[int], tag: str = "") -> list[str]:
    """Send lines past the caches."""
    step = target.lanes * target.itemsize
    text = []
    for at in (_LINE * k + part for k in which for part in range(0, _LINE, step)):
        text += [
            f"  %from{tag}{at} = getelementptr i8, ptr {source}, i64 {at}",
            f"  %line{tag}{at} = load {target.vector}, ptr %from{tag}{at}, align {target.itemsize}",
            f"  %to{tag}{at} = getelementptr i8, ptr {to}, i64 {at}",
            f"  store {target.vector} %line{tag}{at}, ptr %to{tag}{at}, align {step}, !nontemporal !64",
        ]
    return text


def _carry(target: Target) -> list[str]:
    """The last line of a row's stage becomes its first."""
    step = target.lanes * target.itemsize
    text = []
    for at in range(0, _LINE, step):
        text += [
            f"  %old{at} = getelementptr i8, ptr %stage_j, i64 {_BLOCK + at}",
            f"  %kept{at} = load {target.vector}, ptr %old{at}, align {step}",
            f"  %new{at} = getelementptr i8, ptr %stage_j, i64 {at}",
            f"  store {target.vector} %kept{at}, ptr %new{at}, align {step}",
        ]
    return text


def _copy_function(target: Target) -> str:
    """IR text of @copy_numbers: less than a line of them, one by one."""
    e = TextEmitter(target)
    e.line(f"%p = getelementptr {target.element}, ptr %from, i64 %k")
    e.line(f"%x = load {target.element}, ptr %p, align {target.itemsize}")
    e.line(f"%to_k = getelementptr {target.element}, ptr %to, i64 %k")
    e.line(f"store {target.element} %x, ptr %to_k, align {target.itemsize}")
    return loop("@copy_numbers", "ptr %to, ptr %from, i64 %n", e, step=1)
