"""Gradients and sensitivities of rollouts, beside the rollout itself, and beside MuJoCo's derivatives of a step.

MuJoCo gets the same robot as MJCF text, without contacts and other constraints. `mjd_transitionFD` has the matrices
of one step, by differences; a gradient in MuJoCo takes them for every step of the motion. All on one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on

from .harness import Figures, benchmark, race, ratio, settings
from .mujoco_peer import mujoco, mujoco_model
from .robots import without_passive

BATCH, STEPS, DT = 64, 1000, 1e-3
METHODS = ("semi-implicit-euler", "rk4")


@benchmark(
    "{robot}.rollout_gradient.{method}", robot=("panda7", "anymal_b"), method=METHODS, quick={"robot": ("panda7",)}
)
def gradients(robot: str, method: str) -> Figures:
    machine, _ = without_passive(robot)
    rng = np.random.default_rng(0)
    steps = 100 if settings.quick else STEPS
    q0, v0 = machine.random(rng, (BATCH,)), np.zeros((BATCH, machine.nv))
    tau = np.repeat((machine.gravity_force(q0) + 0.02 * rng.uniform(-1, 1, v0.shape))[:, None], steps, axis=1)
    run = machine.rollout(q0, v0, tau, dt=DT, method=method, threads=1)
    weights = rng.normal(size=run.v.shape)
    contestants: dict[str, Any] = {
        "rollout": lambda: machine.rollout(q0, v0, tau, dt=DT, method=method, threads=1),
        "vjp": lambda: run.vjp(weights, weights, threads=1),
        "jvp": lambda: run.jvp(tau=tau, threads=1),
    }
    compared = mujoco and method == "semi-implicit-euler"  # it has no derivatives of its rk4
    if compared:
        contestants["transition"] = _transition(machine, q0[0])
    t = race(contestants)
    for name in ("rollout", "vjp", "jvp"):
        yield f"{name}.ns_per_step", 1e9 * t[name].min() / (BATCH * steps)
    yield "vjp.per_rollout", ratio(t["vjp"], t["rollout"]), "at most 4"
    yield "jvp.per_rollout", ratio(t["jvp"], t["rollout"])
    if compared:
        yield "mujoco_transition.ns_per_step", 1e9 * t["transition"].min()
        yield "vjp.vs_mujoco_transition", ratio(t["transition"], t["vjp"] / (BATCH * steps)), "at least 50"


def _transition(robot: Any, q: Any) -> Any:
    """Return a call of MuJoCo's derivatives of one step."""
    model = mujoco_model(robot, DT)
    data = mujoco.MjData(model)
    data.qpos[:] = on.convert(robot, model).to_peer(q)
    n = 2 * model.nv + model.na
    A, B = np.zeros((n, n)), np.zeros((n, model.nu)) if model.nu else None
    return lambda: mujoco.mjd_transitionFD(model, data, 1e-6, 1, A, B, None, None)
