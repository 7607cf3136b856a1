"""Arms that hold one object: how times grow with the arms and their joints, by arms and by one dense system."""

from __future__ import annotations

import numpy as np

import ordern as on

from .harness import Figures, benchmark, race, settings

ARMS = (1, 2, 4, 8, 16, 32, 64)
JOINTS = (7, 100, 1000)


def held(arms: int, joints: int) -> tuple[on.Grasp, np.ndarray, np.ndarray]:
    """Return equal chains around one object, a state and joint forces."""
    arm = on.chain(joints, seed=1)
    rng = np.random.default_rng(0)
    turns = 2.0 * np.pi * np.arange(arms) / arms
    bases = [((np.cos(x), np.sin(x), 0.0), (0.0, 0.0, float(x))) for x in turns]
    q = np.concatenate([rng.uniform(-0.5, 0.5, arm.nq) for _ in range(arms)])
    grasp = on.grasp([arm] * arms, (5.0, (0, 0, 0.1), (0.3, 0.4, 0.5)), bases=bases, q=q)
    return grasp, q, rng.normal(size=grasp.nv)


@benchmark("grasp.{arms}x{joints}", arms=ARMS, joints=JOINTS, quick={"arms": (2, 16), "joints": (7, 100)})
def grasp(arms: int, joints: int) -> Figures:
    grasp, q, tau = held(arms, joints)
    state = grasp.state(q, np.zeros(grasp.nv))
    contestants = {
        method + "." + solver: lambda method=method, solver=solver: grasp.dynamics(state, tau, method, solver=solver)
        for method, solver in (("rccfd1", "by-arms"), ("rccfd2", "by-arms"), ("rccfd3", "by-arms"), ("rccfd2", "dense"))
    }
    if grasp.nv <= (400 if settings.quick else 1000):
        contestants["direct"] = lambda: grasp.dynamics(state, tau, "direct")
    times = race(contestants)
    for name, t in times.items():
        yield f"{name}.us", 1e6 * t.min()
    yield "dense_vs_by_arms", float(np.median(times["rccfd2.dense"] / times["rccfd2.by-arms"]))


@benchmark("grasp.omega.{arms}", arms=(*ARMS, 128, 256), quick={"arms": (2, 16, 64)})
def omega(arms: int) -> Figures:
    """Solve the system of the contact forces alone, without the arms' recursions."""
    grasp, q, _ = held(arms, 7)
    known = grasp.omega(q)
    state = known.state
    r = state.rows(np.random.default_rng(1).normal(size=(arms, 6)))
    _ = state.F, known.blocks

    def by_arms() -> None:
        known.__dict__.pop("_eigen", None)
        known.solve(r)

    def dense() -> None:
        for name in ("matrix", "_spectrum"):
            known.__dict__.pop(name, None)
        known.solve_dense(r)

    times = race({"by_arms": by_arms, "dense": dense})
    for name, t in times.items():
        yield f"{name}.us", 1e6 * t.min()
