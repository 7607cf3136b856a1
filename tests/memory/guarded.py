"""Calls whose arguments, results and workspaces end, or begin, at a page that cannot be touched.

Run as a program: a read or write out of bounds ends it with a signal. Usage: python -m tests.memory.guarded CALLS SEED
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import ordern as on
from ordern.compile.run.loaded import Machine
from ordern.compile.timeloops.code import LoadedLoop
from ordern.screen.progress import counted
from tests.kernel.arm import make_arm

PAGE = mmap.PAGESIZE
MOST = 70
"""States in a batch."""


class Room:
    """Memory between two pages that cannot be touched."""

    def __init__(self, size: int) -> None:
        pages = -(-size // PAGE)
        self.memory = mmap.mmap(-1, (pages + 2) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for page in (start, start + (pages + 1) * PAGE):
            if protect(page, PAGE, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.bytes = np.frombuffer(self.memory, np.uint8)[PAGE : (pages + 1) * PAGE]

    def array(self, shape: tuple[int, ...], dtype: Any, at_end: bool) -> Any:
        """Return an array that touches one of the two pages."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        part = self.bytes[len(self.bytes) - size :] if at_end else self.bytes[:size]
        return part.view(dtype).reshape(shape)


def guard_workspaces() -> None:
    """Let machine code work in guarded memory, aligned as it expects and ending at a page."""

    def of_kernel(self: Machine) -> Any:
        size = -(-self._bytes // 64) * 64
        return Room(size).array((size,), np.uint8, True)[: self._bytes].view(self.dtype)

    def of_loop(self: LoadedLoop) -> Any:
        size = max(64, self.code.workspace * self.code.lanes * self.dtype.itemsize)
        return Room(size).array((-(-size // 64) * 64,), np.uint8, True)[:size]

    Machine._new_workspace = of_kernel  # type: ignore[method-assign]
    LoadedLoop.workspace = of_loop  # type: ignore[method-assign]


def calls(robot: on.Robot) -> list[tuple[Callable[..., Any], list[str], tuple[int, ...]]]:
    """Return functions, the kinds of their arguments, and the shapes of their answers."""
    n, nq = robot.nv, robot.nq
    return [
        (robot.forward_dynamics, ["q", "v", "v"], (n,)),
        (robot.inverse_dynamics, ["q", "v", "v"], (n,)),
        (robot.mass_matrix, ["q"], (n, n)),
        (robot.kinetic_energy, ["q", "v"], ()),
        (robot.gravity_force, ["q"], (n,)),
        (robot.difference, ["q", "q"], (n,)),
        (robot.position_rate, ["q", "v"], (nq,)),
    ]


def main(count: int, seed: int) -> None:
    guard_workspaces()
    rng = np.random.default_rng(seed)
    robots = [make_arm(), *map(on.load, ("puma560", "double-pendulum", "free-top", "spherical-chain-12"))]
    table = [(robot, *call) for robot in robots for call in calls(robot)]
    largest = 8 * MOST * max(max(r.nv * r.nv, 3 * r.nq) for r in robots)
    rooms = [Room(2 * largest) for _ in range(4)]
    states = {id(r): (r.random(rng, (2 * MOST,)), rng.normal(size=(2 * MOST, r.nv))) for r in robots}
    for k in counted(range(count), "guarded calls"):
        robot, function, kinds, core = table[rng.integers(len(table))]
        if k % 50 == 0:
            roll_out(robot, states[id(robot)], rooms, rng)
            continue
        dtype = (np.float64, np.float32)[rng.integers(2)]
        batch = () if rng.random() < 0.2 else (int(rng.integers(1, MOST + 1)),)
        arguments = []
        for kind, room in zip(kinds, rooms, strict=False):
            values = states[id(robot)][kind == "v"][: batch[0]] if batch else states[id(robot)][kind == "v"][0]
            step = 2 if batch and rng.random() < 0.2 else 1  # every second row of a longer array
            shape = (step * (batch[0] - 1) + 1, values.shape[-1]) if batch else values.shape
            place = room.array(shape, dtype, bool(rng.integers(2)))
            place = place[::step] if batch else place
            if batch and rng.random() < 0.2:
                place = place[::-1]
            place[...] = values
            arguments.append(place)
        if batch and rng.random() < 0.1:
            arguments[-1] = arguments[-1][0]  # broadcast
        elif not batch and rng.random() < 0.8:
            function(*arguments)
            continue
        function(*arguments, out=rooms[3].array((*batch, *core), dtype, bool(rng.integers(2))))


def roll_out(robot: on.Robot, states: tuple[Any, Any], rooms: list[Room], rng: np.random.Generator) -> None:
    batch, steps = int(rng.integers(1, MOST + 1)), int(rng.integers(1, 3))
    dtype = (np.float64, np.float32)[rng.integers(2)]
    at_end = [bool(x) for x in rng.integers(2, size=4)]
    given = []
    for values, room, end in zip(states, rooms, at_end, strict=False):
        place = room.array((batch, values.shape[-1]), dtype, end)
        place[...] = values[:batch]
        given.append(place)
    out = tuple(
        room.array((batch, steps + 1, size), dtype, end)
        for room, size, end in zip(rooms[2:], (robot.nq, robot.nv), at_end[2:], strict=True)
    )
    robot.rollout(*given, steps=steps, dt=1e-3, out=out)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
    print(f"{sys.argv[1]} guarded calls: none out of bounds")
