"""Threads that load robots, ask them and drop them, for some seconds.

Run as a program. Usage: python -m tests.memory.churn KIND THREADS SECONDS, where KIND is "drop" or "finalise".
"""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import numpy as np

import ordern as on

NAMES = ("stanford-arm", "puma560", "double-pendulum", "four-bar")


class Asker:
    """An object in a cycle with a robot, that asks it once more when it dies, and keeps some robots alive."""

    pool: list[on.Robot] = []  # noqa: RUF012

    def __init__(self, robot: on.Robot, state: Any, expected: Any, wrong: list[str]) -> None:
        self.robot, self.state, self.expected, self.wrong = robot, state, expected, wrong
        self.itself = self
        robot.__dict__["_asker"] = self

    def __del__(self) -> None:
        if not np.array_equal(self.robot.forward_dynamics(*self.state), self.expected):
            self.wrong.append(self.robot.name)
        self.pool.append(self.robot)
        del self.pool[:-3]


def main(kind: str, threads: int, seconds: float) -> None:
    known = {}
    for name in NAMES:
        robot = on.load(name)
        q = robot.assemble().q if robot.nc else np.full(robot.nq, 0.3)
        state = (q, np.zeros(robot.nv), np.ones(robot.nv))
        known[name] = (state, robot.forward_dynamics(*state))
    end, wrong, counts = time.monotonic() + seconds, [], [0] * threads

    def work(k: int) -> None:
        rng = random.Random(k)
        while time.monotonic() < end and not wrong:
            name = rng.choice(NAMES)
            robot, (state, expected) = on.load(name), known[name]
            if not all(np.array_equal(robot.forward_dynamics(*state), expected) for _ in range(3)):
                wrong.append(name)
            if kind == "finalise":
                Asker(robot, state, expected, wrong)
            counts[k] += 1

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    if wrong:
        sys.exit(f"wrong answers of {wrong}")
    print(f"{threads} threads, {seconds:g} s, {kind}: {sum(counts)} robots, all answers right")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
