"""Measure the gain of a second thread, and check that the default never makes small batches slower."""

from __future__ import annotations

from .harness import Figures, benchmark, race, ratio, wall_clock
from .robots import load, random_state


@benchmark(
    "{robot}.forward_dynamics.batch{n}.threads",
    robot=("panda", "talos"),
    n=(1, 64, 1024, 4096, 65536),
    quick={"robot": ("panda",), "n": (64, 4096)},
)
def threads(robot: str, n: int) -> Figures:
    machine = load(robot)
    state = random_state(machine, "forward_dynamics", n)
    scope = {"f": machine.forward_dynamics, "q": state[0], "v": state[1], "tau": state[2]}
    t = race({str(k): f"f(q, v, tau, threads={k})" for k in (1, 2, None)}, scope, wall_clock)
    for k in ("1", "2"):
        yield f"{k}.ns_per_state", 1e9 * t[k].min() / n
    yield "default.ns_per_state", 1e9 * t["None"].min() / n
    yield "2.vs_1", ratio(t["1"], t["2"])
    yield "default.vs_1", ratio(t["1"], t["None"])
