"""Gradients of the dynamics of chains of many links, which are compiled as loops: first call, time, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on

from .chains import built, cache_off
from .harness import Figures, benchmark, processor_clock, race, ratio
from .robots import random_state

SIZES = (100, 1000, 10_000, 100_000)
INPUTS = {"forward_dynamics": "q v tau", "inverse_dynamics": "q v a"}


@benchmark(
    "chain{n}.{question}.gradient",
    n=SIZES,
    question=INPUTS,
    quick={"n": SIZES[1:2], "question": ("forward_dynamics",)},
)
def gradients(n: int, question: str) -> Figures:
    robot = on.Robot.of(built(n)[0])  # it has computed nothing yet
    size = 64 if n <= 10_000 else 8
    state = random_state(robot, question, size)
    weights = np.random.default_rng(1).normal(size=(size, robot.nv))
    kernel = robot.kernel(f"vjp {question} by {INPUTS[question]}")
    start = processor_clock()
    with cache_off():
        kernel(*(x[0] for x in state), weights[0])
    yield "first_call_s", processor_clock() - start
    yield "numbers_per_joint", kernel.code.workspace / n
    contestants: dict[str, Any] = {
        "gradient": lambda: robot.vjp(question, state, weights, threads=1),
        "answer": lambda: getattr(robot, question)(*state, threads=1),
    }
    t = race(contestants)
    yield f"batch{size}.ns_per_joint", 1e9 * t["gradient"].min() / n / size
    asked = f"at most {2.3 if n <= 1000 else 3}"
    yield f"batch{size}.per_answer", ratio(t["gradient"], t["answer"]), asked
