"""Derivatives of inverse and forward dynamics in batches, and gradients, against calls to Pinocchio state by state.

Pinocchio has no derivatives of batches. One call from Python is C++ but for a microsecond.
"""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import numpy as np

import ordern as on

from .harness import Figures, benchmark, processor_clock, race, ratio
from .peer import pin
from .robots import load, load_peer, random_state

N = 4096
ASKED = {
    "inverse_dynamics": {"panda7": 20, "ur5": 20, "solo12": 7, "anymal_b": 7, "talos": 7},
    "forward_dynamics": {"panda7": 20, "ur5": 35, "solo12": 11, "anymal_b": 11, "talos": 10},
}
QUESTIONS = {"inverse_dynamics": "computeRNEADerivatives", "forward_dynamics": "computeABADerivatives"}


@benchmark(
    "{robot}.{question}.derivatives",
    robot=("panda7", "ur5", "solo12", "anymal_b", "talos"),
    question=QUESTIONS,
    quick={"robot": ("panda7", "ur5")},
)
def derivatives(robot: str, question: str) -> Figures:
    """`all` are the three matrices of a batch, in memory that is used again; `function` returns them in a new array."""
    machine, peer = load(robot), load_peer(robot)
    state = random_state(machine, question, N)
    single = tuple(x[0] for x in state)
    weights = np.random.default_rng(1).normal(size=(N, machine.nv))
    ask, kernel = getattr(machine.derivatives, question), machine.kernel(f"{question}_derivatives")
    out = np.zeros((N, 3, machine.nv, machine.nv))
    contestants: dict[str, Any] = {
        "all": lambda: kernel(*state, out=out, threads=1),
        "function": lambda: ask(*state, threads=1),
        "gradient": lambda: machine.vjp(question, state, weights, threads=1),
        "answer": lambda: getattr(machine, question)(*state, threads=1),
        "single": lambda: ask(*single),
        "single_gradient": lambda: machine.vjp(question, single, weights[0]),
    }
    scope: dict[str, Any] = {}
    if peer:
        contestants["pinocchio"] = f"pin.{QUESTIONS[question]}(model, data, x0, x1, x2)"
        scope = {"pin": pin, "model": peer.model, "data": peer.data}
        scope |= {f"x{k}": x for k, x in enumerate(peer.convert(single))}
    yield "first_call_s", _first_call(machine, question, single)
    yield "operations", kernel.code.operations
    t = race(contestants, scope)
    for name in ("all", "function", "gradient", "answer"):
        yield f"{name}.ns_per_state", 1e9 * t[name].min() / N
    for name in ("single", "single_gradient"):
        yield f"{name}.ns_per_call", 1e9 * t[name].min()
    yield "gradient.per_answer", ratio(t["gradient"], t["answer"]), "at most 2.3"
    if peer:
        yield "pinocchio_python.ns_per_call", 1e9 * t["pinocchio"].min()
        yield "all.vs_pinocchio_python", ratio(t["pinocchio"], t["all"] / N), f"at least {ASKED[question][robot]}"
        one = ratio(t["pinocchio"], t["single"])
        yield "single.vs_pinocchio_python", one, f"at least {1 if robot == 'talos' else 2}"


def _first_call(machine: on.Robot, question: str, single: tuple[Any, ...]) -> float:
    """Return the seconds of a first call, without the cache."""
    with mock.patch.dict(os.environ, {"ORDERN_CACHE": "off"}):
        start = processor_clock()
        on.Kernel(machine, f"{question}_derivatives")(*single)
        return processor_clock() - start
