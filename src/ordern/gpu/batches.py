"""Batches of NumPy arrays on a GPU, in pieces whose copies and computations overlap.

Each piece goes through a slot: it is copied into pinned memory, from there to the device, computed, copied back to
pinned memory, and from there to the result. There are some slots, each with a thread and a stream: while the device
works on one, this machine fills and empties the others. So a batch may be larger than the memory of the device.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
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

__all__ = ["Pieces", "Rows", "computed"]

_MOST, _LEAST = 32 << 20, 1 << 20
"""Bytes of a piece: more gains nothing, and with less the device waits for this machine."""
_PIECES = 4
"""Into at least so many pieces a batch is cut, if they are not too small."""
_ALIGNED = 256
_SLOTS = 4
"""Pieces that are under way at a time: each has a thread, since one thread copies slower than the device."""


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
            self._flat = x.reshape(math.prod(own), *core)

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
        loaded = kernel.program.loaded(dtype)

        def launch(places: list[tuple[int, int]], states: int, stream: int, room: int) -> None:
            loaded.launch(places, states, stream, room)

        flat = result.reshape(-1, math.prod(a.output))
        Pieces(
            kernel.device, kernel.program.doing, rows, [flat], launch, lambda n: loaded.workspace(n, dtype.itemsize)
        ).go()
    if direct:
        return result
    return stored(asking, result, out) if out is not None or result.ndim else result[()]


Launch = Callable[[list[tuple[int, int]], int, int, int], None]
"""A function of the address and stride of each argument and result, the number of states, a stream and a workspace."""


class Pieces:
    """One call: rows of arguments, arrays of results, and the places of all of them in the memory of a slot."""

    def __init__(
        self, device: Device, doing: str, rows: Sequence[Rows], results: Sequence[AnyArray], launch: Launch,
        workspace: Callable[[int], int] | None = None, most: int = 0,
    ) -> None:  # fmt: skip
        """Prepare pieces of at most so many bytes; results have two dimensions, the first of them that of states."""
        self.device, self.doing, self.rows, self.results, self.launch = device, doing, rows, results, launch
        self.dtype, self.count = results[0].dtype, len(results[0])
        self._workspace = workspace
        self.widths = [x.shape[1] for x in results]
        per_state = max(1, self.dtype.itemsize * (sum(self.widths) + sum(r.count for r in rows if not r.one)))
        total = per_state * self.count
        self.states = max(1, min(self.count, max(_LEAST, min(most or _MOST, total // _PIECES)) // per_state))
        self._slots: _Slots = device.once("slots", lambda: _Slots(device))

    def _places(self) -> tuple[list[int], int, int]:
        """Return the offsets of the arguments and results in a slot; the end; and the bytes of the workspace."""
        offsets, end = [], 0
        counts = [r.count * (1 if r.one else self.states) for r in self.rows] + [n * self.states for n in self.widths]
        for count in counts:
            offsets.append(end)
            end += -(-count * self.dtype.itemsize // _ALIGNED) * _ALIGNED
        return offsets, end, 0 if self._workspace is None else self._workspace(self.states)

    def go(self) -> None:
        """Compute all pieces; if the memory of the device does not suffice, try smaller ones."""
        slots = [self._slots.take()]
        try:
            while True:
                wanted = min(_SLOTS, max(2, cores()), -(-self.count // self.states))
                slots += [self._slots.take() for _ in range(wanted - len(slots))]
                try:
                    offsets, end, workspace = self._places()
                    for slot in slots:
                        slot.grow(end, end + workspace, self.doing)
                    break
                except GpuError as e:
                    if e.code != OUT_OF_MEMORY or self.states == 1 or end < _LEAST // 64:
                        raise
                    self.states = max(1, self.states // 2)
            free = list(slots)

            def piece(start: int) -> None:
                slot, stop = free.pop(), min(start + self.states, self.count)
                self._begin(slot, (start, stop), offsets, end, workspace)
                self._collect(slot, (start, stop), offsets, end, workspace)
                free.append(slot)

            shared_out(piece, range(0, self.count, self.states), len(slots))
        finally:
            for slot in slots:
                with suppress(GpuError):  # copies into its memory may be under way, after an error or an interrupt
                    slot.stream.synchronise()
                self._slots.give(slot)

    def _begin(self, slot: _Slot, piece: tuple[int, int], offsets: list[int], end: int, workspace: int) -> None:
        """Fill a slot, and put its copies and its kernel into its stream."""
        pinned, block = slot.grow(end, end + workspace, self.doing)
        (start, stop), stream, inputs = piece, slot.stream.handle, len(self.rows)
        for rows, offset in zip(self.rows, offsets, strict=False):
            into = pinned.array(offset, (1 if rows.one else stop - start, rows.count), self.dtype)
            rows.fill(into, start, stop)
        strides = [0 if r.one else r.count for r in self.rows] + self.widths
        places = [(block.address + k, stride) for k, stride in zip(offsets, strides, strict=True)]
        room = block.address + end if workspace else 0
        with slot.device as d:
            call, doing = d.driver.call, self.doing
            if offsets[inputs]:
                call("cuMemcpyHtoDAsync_v2", block.address, pinned.address, offsets[inputs], stream, doing=doing)
            self.launch(places, stop - start, stream, room)
            for at, width in zip(offsets[inputs:], self.widths, strict=True):
                size = (stop - start) * width * self.dtype.itemsize
                call("cuMemcpyDtoHAsync_v2", pinned.address + at, block.address + at, size, stream, doing=doing)
        slot.ready.record(stream)

    def _collect(self, slot: _Slot, piece: tuple[int, int], offsets: list[int], end: int, workspace: int) -> None:
        """Wait for a slot, and copy its part of the results."""
        slot.ready.wait(self.doing)
        pinned, _ = slot.grow(end, end + workspace, self.doing)
        start, stop = piece
        for result, at in zip(self.results, offsets[len(self.rows) :], strict=True):
            width = result.shape[1]
            found = pinned.array(at, (stop - start, width), self.dtype)
            np.copyto(result[start:stop], found)
