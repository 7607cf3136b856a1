"""Derivatives of inverse and forward dynamics in batches, and gradients, against calls to Pinocchio state by state.

Pinocchio has no derivatives of batches. One call from Python is C++ but for a microsecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Figures, benchmark, race, ratio
from .peer import pin
from .robots import load, load_peer, random_state

N = 4096
QUESTIONS = {"inverse_dynamics": "computeRNEADerivatives", "forward_dynamics": "computeABADerivatives"}


@benchmark(
    "{robot}.{question}.derivatives",
    robot=("panda7", "ur5", "solo12", "anymal_b", "talos"),
    question=QUESTIONS,
    quick={"robot": ("panda7", "ur5")},
)
def derivatives(robot: str, question: str) -> Figures:
    machine, peer = load(robot), load_peer(robot)
    state = random_state(machine, question, N)
    weights = np.random.default_rng(1).normal(size=(N, machine.nv))
    ask = getattr(machine.derivatives, question)
    contestants: dict[str, Any] = {
        "all": lambda: ask(*state, threads=1),
        "gradient": lambda: machine.vjp(question, state, weights, threads=1),
        "answer": lambda: getattr(machine, question)(*state, threads=1),
    }
    scope: dict[str, Any] = {}
    if peer:
        single = tuple(x[0] for x in state)
        contestants["pinocchio"] = f"pin.{QUESTIONS[question]}(model, data, x0, x1, x2)"
        scope = {"pin": pin, "model": peer.model, "data": peer.data}
        scope |= {f"x{k}": x for k, x in enumerate(peer.convert(single))}
    t = race(contestants, scope)
    for name in ("all", "gradient", "answer"):
        yield f"{name}.ns_per_state", 1e9 * t[name].min() / N
    yield "gradient.per_answer", ratio(t["gradient"], t["answer"])
    if peer:
        yield "pinocchio_python.ns_per_call", 1e9 * t["pinocchio"].min()
        yield "all.vs_pinocchio_python", ratio(t["pinocchio"], t["all"] / N)
