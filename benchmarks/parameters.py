"""Robots with an inertia for each state, beside the robot whose numbers are folded into its code. All on one thread.

Answers are written to memory that is used again. A rollout reads the numbers of each motion once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .harness import Figures, benchmark, race, ratio, settings
from .robots import ARGUMENTS, load, random_state

N, DT = 4096, 1e-3
ASKED = {"panda7": 1.5, "talos": 1.8}


@benchmark("{robot}.{question}.varied", robot=ASKED, question=ARGUMENTS)
def answers(robot: str, question: str) -> Figures:
    folded = load(robot)
    state = random_state(folded, question, N)
    out = np.zeros_like(getattr(folded, question)(*state))
    t = _raced(folded, N, question, *state, out=out)
    for name, times in t.items():
        yield f"{name}.ns_per_state", 1e9 * times.min() / N
    yield "per_folded", ratio(t["varied"], t["folded"]), f"at most {ASKED[robot]}"


@benchmark("{robot}.rollout.varied", robot=ASKED)
def rollouts(robot: str) -> Figures:
    folded, size, steps = load(robot), 256, 20 if settings.quick else 100
    t = _raced(folded, size, "rollout", *random_state(folded, "forward_dynamics", size), steps=steps, dt=DT)
    for name, times in t.items():
        yield f"{name}.ns_per_step", 1e9 * times.min() / (size * steps)
    yield "per_folded", ratio(t["varied"], t["folded"]), "at most 1.2"


def _raced(folded: Any, count: int, question: str, *given: Any, **more: Any) -> dict[str, Any]:
    """Return the times of a function of many robots, and of one whose numbers are folded."""
    many = folded.randomise(0, (count,), mass=0.1, com=0.01)
    machines = {"varied": many, "folded": folded}
    return race({name: partial(getattr(x, question), *given, **more, threads=1) for name, x in machines.items()})
