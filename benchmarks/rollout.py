"""Trajectories in batches, all cores: plain Euler, against MuJoCo's rollout and a loop around Pinocchio.

MuJoCo gets the same robot as MJCF text, without contacts, limits and other constraints, and its thread pool; its Euler
is the same semi-implicit one. Pinocchio has a loop in Python around aba and integrate, on fewer trajectories and steps,
in one thread; its time is scaled to all of them. A further figure divides it by the number of cores, as if it ran on
all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern.compile import cores

from .harness import Figures, benchmark, settings, wall_clock
from .mujoco_peer import mujoco, mujoco_model
from .peer import Peer, pin
from .robots import without_passive

BATCH, STEPS, DT = 4096, 1000, 1e-3
METHOD = "plain-euler"
"""Limits and implicit damping would be other motions than those of the loop around Pinocchio."""
AGREEMENT = 1e-6
"""Relative, after a second: trajectories diverge, roundings grow. A mistake in the benchmark would show at once."""


@benchmark("{robot}.rollout.{batch}x{steps}", robot=("panda7",), batch=(BATCH,), steps=(STEPS,))
def euler(robot: str, batch: int, steps: int) -> Figures:
    machine, peer = without_passive(robot)
    rng = np.random.default_rng(0)
    q0, v0 = machine.random(rng, (batch,)), np.zeros((batch, machine.nv))
    tau = machine.gravity_force(q0) + 0.02 * rng.uniform(-1, 1, (batch, machine.nv))  # else the wrist soon spins
    found = machine.rollout(q0, v0, tau, steps=steps, dt=DT, method=METHOD)
    contestants: dict[str, Any] = {
        "ours": lambda: machine.rollout(q0, v0, tau, steps=steps, dt=DT, method=METHOD),
        "ours_every_10": lambda: machine.rollout(q0, v0, tau, steps=steps, dt=DT, method=METHOD, every=10),
        "ours_float32": lambda: machine.rollout(
            *(x.astype(np.float32) for x in (q0, v0, tau)), steps=steps, dt=DT, method=METHOD
        ),
    }
    if mujoco:
        run, last = mujoco_run(machine, q0, v0, tau, steps)
        contestants["mujoco"] = run
        error = np.abs(last() - found.q[:, -1]).max() / np.abs(found.q[:, -1]).max()
        assert error < AGREEMENT, f"differs from MuJoCo by {error:.1e}"
        yield "mujoco.difference", float(error)
    some, few = 8, 100
    if peer:
        loop = _pinocchio(peer, q0[:some], v0[:some], tau[:some], few)
        ends = loop()
        ours = machine.rollout(q0[:some], v0[:some], tau[:some], steps=few, dt=DT, method=METHOD).q[:, -1]
        error = np.abs(ends - peer.positions(ours)).max()
        assert error < AGREEMENT, f"differs from Pinocchio by {error:.1e}"
        contestants["pinocchio"] = loop
    times = {name: [] for name in contestants}
    for _ in range(2 if settings.quick else 4):
        for name, run in contestants.items():
            started = wall_clock()
            run()
            times[name].append(wall_clock() - started)
    t = {name: np.array(x) for name, x in times.items()}
    total = batch * steps
    for name in ("ours", "ours_every_10", "ours_float32"):
        suffix = name.removeprefix("ours").removeprefix("_")
        yield f"{suffix + '.' if suffix else ''}ns_per_step", 1e9 * t[name].min() / total
    if mujoco:
        yield "mujoco.ns_per_step", 1e9 * t["mujoco"].min() / total
        yield "vs_mujoco", float(np.median(t["mujoco"] / t["ours"]))
        yield "every_10.vs_mujoco", float(np.median(t["mujoco"] / t["ours_every_10"]))
    if peer:
        per_step = t["pinocchio"] / (some * few)
        yield "pinocchio_loop.ns_per_step", 1e9 * per_step.min()
        yield "vs_pinocchio_loop", float(np.median(per_step / (t["ours"] / total)))
        yield f"vs_pinocchio_loop_on_{cores()}_cores", float(np.median(per_step / cores() / (t["ours"] / total)))


def mujoco_run(robot: on.Robot, q0: Any, v0: Any, tau: Any, steps: int, threads: int | None = None) -> tuple[Any, Any]:
    """Return a call of MuJoCo's rollout on all cores, and a function that returns the last positions of its result."""
    from mujoco import rollout as mujoco_rollout

    model = mujoco_model(robot, DT)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.concatenate([np.zeros((len(q0), 1)), q0, v0], axis=1)
    assert size == initial.shape[1], "a state of MuJoCo is time, q and v"
    applied = np.ascontiguousarray(np.broadcast_to(tau[:, None], (len(tau), 1, robot.nv)))
    count = threads or cores()
    pool = mujoco_rollout.Rollout(nthread=count)
    datas = [mujoco.MjData(model) for _ in range(count)]
    control = np.repeat(applied, steps, axis=1)
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)

    def run() -> Any:
        return pool.rollout(model, datas, initial, control, control_spec=spec, nstep=steps)[0]

    return run, lambda: run()[:, -1, 1 : 1 + robot.nq]


def _pinocchio(peer: Peer, q0: Any, v0: Any, tau: Any, steps: int) -> Any:
    q, v, force = peer.convert((q0, v0, tau))
    model, data = peer.model, peer.data

    def loop() -> Any:
        ends = []
        for x, u, f in zip(q, v, force, strict=True):
            for _ in range(steps):
                u = u + DT * pin.aba(model, data, x, u, f)
                x = pin.integrate(model, x, DT * u)
            ends.append(x)
        return np.array(ends)

    return loop
