"""One state per call from Python, all included, against the same call to Pinocchio."""

from __future__ import annotations

from .harness import Figures, benchmark, race, ratio
from .robots import ARGUMENTS, SOURCES, load, load_peer, random_state


@benchmark("{robot}.{question}.single", robot=SOURCES, question=ARGUMENTS, quick={"robot": ("panda", "talos")})
def single(robot: str, question: str) -> Figures:
    machine, peer = load(robot), load_peer(robot)
    state = random_state(machine, question)
    scope = {"machine": machine, **dict(zip("qvu", state, strict=False))}
    contestants = {"ours": f"machine.{question}({', '.join('qvu'[: len(state)])})"}
    if peer:
        contestants["python"], theirs = peer.call(question, state)
        scope |= theirs
    t = race(contestants, scope)
    yield "ns_per_call", 1e9 * t["ours"].min()
    if peer:
        yield "pinocchio_python.ns_per_call", 1e9 * t["python"].min()
        yield "vs_pinocchio_python", ratio(t["python"], t["ours"])
