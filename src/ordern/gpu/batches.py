"""Batches of NumPy arrays on a GPU, in pieces whose copies and computations overlap.

Each piece goes through one of two slots: it is copied into pinned memory, from there to the device, computed, copied
back to pinned memory, and from there to the result. While the device works on one slot, this machine fills and empties
the other. So a batch may be larger than the memory of the device.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile import cores, shared_out
from ..errors import ArgumentError, GpuError
from ..kernel.arguments import DOUBLE, SINGLE, broadcast_named, stored
from .device import Device, Event, Stream
from .driver import OUT_OF_MEMORY
from .memory import Block, Pinned

if TYPE_CHECKING:
    from .kernel import DeviceKernel

__all__ = ["computed"]

_MOST, _LEAST = 32 << 20, 1 << 20
"""Bytes of a piece: more gains nothing, and with less the device waits for this machine."""
_PIECES = 4
"""Into at least so many pieces a batch is cut, if they are not too small."""
_ALIGNED = 256
_WORTH_A_THREAD = 1 << 20
"""Bytes of a copy within this machine that are worth another thread."""


class Rows:
    """An argument as rows, one for each state, or one for all."""

    def __init__(self, x: AnyArray, core: tuple[int, ...], batch: tuple[int, ...]) -> None:
        own = x.shape[: x.ndim - len(core)]
        self.one = math.prod(own) == 1
        """True if there is one row for all states."""
        self.count = math.prod(core)
        self._batch, self._padded = batch, (1,) * (len(batch) - len(own)) + own
        self._core, self._x = core, x.reshape(*self._padded, *core)
        self._flat: AnyArray | None = None
        if self.one:
            self._flat = self._x.reshape(1, *core)
        elif own == batch and (len(batch) == 1 or x.flags.c_contiguous):
            self._flat = x.reshape(-1, *core)

    def fill(self, into: AnyArray, start: int, stop: int) -> None:
        """Write the rows of some states."""
        if self._flat is not None:
            rows = self._flat if self.one else self._flat[start:stop]
        else:
            where = np.unravel_index(np.arange(start, stop), self._batch)
            rows = self._x[tuple(k if n != 1 else 0 for k, n in zip(where, self._padded, strict=True))]
        np.copyto(into.reshape(rows.shape), rows, casting="unsafe")


class _Slot:
    """Memory on both sides, and a stream, for one piece at a time."""

    def __init__(self, device: Device) -> None:
        self.device, self.stream, self.ready = device, Stream(device), Event(device)
        self._pinned: Pinned | None = None
        self._block: Block | None = None

    def grow(self, pinned: int, block: int, what: str) -> tuple[Pinned, Block]:
        """Return memory of at least these sizes, on this machine and on the device."""
        if self._pinned is None or self._pinned.size < pinned:
            self._pinned = None
            self._pinned = Pinned(self.device, pinned)
        if self._block is None or self._block.size < block:
            self._block = None
            self._block = Block(self.device, block, what)
        return self._pinned, self._block


class _Slots:
    """The slots of a device that no call uses at the moment."""

    def __init__(self, device: Device) -> None:
        self._device, self._free, self._lock = device, list[_Slot](), threading.Lock()

    def take(self) -> _Slot:
        with self._lock:
            if self._free:
                return self._free.pop()
        return _Slot(self._device)

    def give(self, slot: _Slot) -> None:
        with self._lock:
            self._free.append(slot)


def computed(kernel: DeviceKernel, given: Sequence[Any], out: AnyArray | None) -> AnyArray:
    """Return the answer of a kernel on a device for arrays of this machine."""
    a, asking = kernel.arguments, kernel.asking
    arrays, dtype = a.checked(given, out, None)
    if dtype is not SINGLE and dtype is not DOUBLE:
        raise ArgumentError(
            f"{asking}: a GPU computes with float32 and float64, not with {dtype}; leave the device out"
        )
    a.require_fit(arrays, None)
    names = [p.name for p in a.ports]
    shapes = dict(zip(names, a.batches(arrays), strict=True))
    batch = broadcast_named(f"{asking}: the batch shapes", {**shapes, "parameters of the robot": kernel.sets})
    shape = (*batch, *a.output)
    direct = (
        out is not None
        and out.shape == shape
        and out.dtype == dtype
        and out.flags.c_contiguous
        and not any(np.may_share_memory(out, x) for x in arrays)
    )
    result = out if direct and out is not None else np.empty(shape, dtype)
    numbers = kernel.numbers(dtype)
    rows = [Rows(x, core, batch) for x, core in zip(arrays, a.shapes, strict=True)]
    if numbers is not None:
        rows.append(Rows(numbers, numbers.shape[-1:], batch))
    if result.size:
        _Pieces(kernel, rows, result.reshape(-1, math.prod(a.output)), dtype).go()
    if direct:
        return result
    return stored(asking, result, out) if out is not None or result.ndim else result[()]


class _Pieces:
    """One call: its rows, and the places of all arguments in the memory of a slot."""

    def __init__(self, kernel: DeviceKernel, rows: list[Rows], result: AnyArray, dtype: np.dtype[Any]) -> None:
        self.kernel, self.rows, self.result, self.dtype = kernel, rows, result, dtype
        self.loaded = kernel.program.loaded(dtype)
        self.count, self.width = result.shape
        per_state = dtype.itemsize * (self.width + sum(r.count for r in rows if not r.one))
        total = per_state * self.count
        self.states = max(1, min(self.count, max(_LEAST, min(_MOST, total // _PIECES)) // per_state))
        self._slots: _Slots = kernel.device.once("slots", lambda: _Slots(kernel.device))

    def _places(self) -> tuple[list[int], int, int]:
        """Return the offsets of the arguments and, last, of the result in a slot; the end; and the workspace."""
        offsets, end = [], 0
        for count in [r.count * (1 if r.one else self.states) for r in self.rows] + [self.width * self.states]:
            offsets.append(end)
            end += -(-count * self.dtype.itemsize // _ALIGNED) * _ALIGNED
        return offsets, end, self.loaded.workspace(self.states, self.dtype.itemsize)

    def go(self) -> None:
        """Compute all pieces; if the memory of the device does not suffice, try smaller ones."""
        slots = [self._slots.take() for _ in range(2 if self.count > self.states else 1)]
        try:
            while True:
                try:
                    offsets, end, workspace = self._places()
                    for slot in slots:
                        slot.grow(end, end + workspace, self.kernel.program.doing)
                    break
                except GpuError as e:
                    if e.code != OUT_OF_MEMORY or self.states * self.width * self.dtype.itemsize < _LEAST // 64:
                        raise
                    self.states = max(1, self.states // 2)
                    if len(slots) == 1:
                        slots.append(self._slots.take())
            self._run(slots, offsets, end, workspace)
        finally:
            for slot in slots:
                with suppress(GpuError):  # copies into its memory may be under way, after an error or an interrupt
                    slot.stream.synchronise()
                self._slots.give(slot)

    def _run(self, slots: list[_Slot], offsets: list[int], end: int, workspace: int) -> None:
        under_way: list[tuple[int, int] | None] = [None] * len(slots)
        for k, start in enumerate(range(0, self.count, self.states)):
            turn = k % len(slots)
            self._collect(slots[turn], under_way[turn], offsets, end, workspace)
            piece = under_way[turn] = start, min(start + self.states, self.count)
            self._begin(slots[turn], piece, offsets, end, workspace)
        last = -(-self.count // self.states)
        for k in range(last, last + len(slots)):
            self._collect(slots[k % len(slots)], under_way[k % len(slots)], offsets, end, workspace)

    def _begin(self, slot: _Slot, piece: tuple[int, int], offsets: list[int], end: int, workspace: int) -> None:
        """Fill a slot, and put its copies and its kernel into its stream."""
        pinned, block = slot.grow(end, end + workspace, self.kernel.program.doing)
        (start, stop), stream, size = piece, slot.stream.handle, self.dtype.itemsize
        for rows, offset in zip(self.rows, offsets, strict=False):
            into = pinned.array(offset, (1 if rows.one else stop - start, rows.count), self.dtype)
            _copied(into, rows, start, stop)
        places = [(block.address + k, 0 if r.one else r.count) for r, k in zip(self.rows, offsets, strict=False)]
        places.append((block.address + offsets[-1], self.width))
        room = block.address + end if workspace else 0
        with slot.device as d:
            call, doing = d.driver.call, self.kernel.program.doing
            if offsets[-1]:
                call("cuMemcpyHtoDAsync_v2", block.address, pinned.address, offsets[-1], stream, doing=doing)
            self.loaded.launch(places, stop - start, stream, room)
            answer, length = offsets[-1], (stop - start) * self.width * size
            call("cuMemcpyDtoHAsync_v2", pinned.address + answer, block.address + answer, length, stream, doing=doing)
        slot.ready.record(stream)

    def _collect(
        self, slot: _Slot, piece: tuple[int, int] | None, offsets: list[int], end: int, workspace: int
    ) -> None:
        """Wait for a slot, and copy its part of the result."""
        if piece is None:
            return
        slot.ready.wait(self.kernel.program.doing)
        pinned, _ = slot.grow(end, end + workspace, self.kernel.program.doing)
        start, stop = piece
        found = pinned.array(offsets[-1], (stop - start, self.width), self.dtype)
        _copied(self.result[start:stop], Rows(found, (self.width,), (stop - start,)), 0, stop - start)


def _copied(into: AnyArray, rows: Rows, start: int, stop: int) -> None:
    """Copy rows, with several threads if there are many."""
    threads = 1 if rows.one else min(cores(), into.nbytes // _WORTH_A_THREAD)
    if threads < 2:
        rows.fill(into, start, stop)
        return
    per = -(-(stop - start) // threads)
    shared_out(
        lambda k: rows.fill(into[k : k + per], start + k, min(start + k + per, stop)),
        range(0, stop - start, per),
        threads,
    )
