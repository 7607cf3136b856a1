"""Batches of 4096 states on one core, against Pinocchio's C++ without any Python in between.

Pinocchio has no batched crba. Its C++ time is estimated: that of the call from Python less that of dIntegrate, a call
that converts the same arguments and returns a matrix of the same size, but hardly computes. Beside a C++ program on
four robots the estimate was 9 to 42 % too long, in our favour: the Python function also mirrors the half that crba
fills. On a busy machine it is off by more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Figures, benchmark, difference, race, ratio
from .peer import Peer, pin
from .robots import ARGUMENTS, SOURCES, load, load_peer, random_state

N = 4096
TYPES = {f"batch{N}": "float64", f"batch{N}.float32": "float32"}
AGREEMENT = {"float64": 1e-9, "float32": 1e-1}
"""Relative; loose, because tests check answers: here a mistake in the benchmark itself is to be noticed."""


@benchmark(
    "{robot}.{question}.{batch}",
    robot=SOURCES,
    question=ARGUMENTS,
    batch=TYPES,
    quick={"robot": ("panda", "talos"), "batch": (f"batch{N}",)},
)
def batch(robot: str, question: str, batch: str) -> Figures:
    machine, peer = load(robot), load_peer(robot)
    state = random_state(machine, question, N)
    ask = getattr(machine, question)
    mine = tuple(a.astype(TYPES[batch]) for a in state)
    answer = ask(*mine)
    out = np.empty_like(answer)
    contestants: dict[str, Any] = {
        "ours": lambda: ask(*mine, threads=1),
        "ours_out": lambda: ask(*mine, threads=1, out=out),
    }
    if question == "mass_matrix":
        contestants["fill"] = lambda: out.fill(0)
    scope: dict[str, Any] = {}
    if peer:
        theirs, expected = _peer(peer, question, state, scope)
        contestants |= theirs
        error = difference(answer[: len(expected)], expected, expected.ndim - 1)
        assert error < AGREEMENT[TYPES[batch]], f"differs from Pinocchio by {error:.1e}"
    t = race(contestants, scope)
    yield "ns_per_state", 1e9 * t["ours"].min() / N
    if question == "mass_matrix":
        yield "fill_ns_per_state", 1e9 * t["fill"].min() / N
    if not peer:
        yield "out.ns_per_state", 1e9 * t["ours_out"].min() / N
        return
    if question == "mass_matrix":
        name, best, cpp = "pinocchio_cpp_estimate", t["python"].min() - t["overhead"].min(), t["python"] - t["overhead"]
    else:
        name, best, cpp = "pinocchio_cpp", t["cpp"].min() / N, t["cpp"] / N
    yield f"{name}.ns_per_state", 1e9 * best
    yield f"vs_{name}", ratio(cpp, t["ours"] / N)
    yield "out.ns_per_state", 1e9 * t["ours_out"].min() / N
    yield f"out.vs_{name}", ratio(cpp, t["ours_out"] / N)


def _peer(peer: Peer, question: str, state: tuple[Any, ...], scope: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Pinocchio's contestants, and its answers to the first states."""
    if question != "mass_matrix":
        call, expected = peer.batch(question, state)
        return {"cpp": call}, expected
    q = state[0]
    statement, names = peer.call(question, (q[0],))
    scope |= names | {"v": np.zeros(peer.model.nv), "first": pin.ArgumentPosition.ARG1}
    contestants = {"python": statement, "overhead": "pin.dIntegrate(model, x0, v, first)"}
    return contestants, np.array([peer.mass_matrix(x) for x in q[:16]])
