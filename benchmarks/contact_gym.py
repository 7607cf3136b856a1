"""Gymnasium's Hopper, Walker and Ant under random forces: `rollout` with contacts against MuJoCo's, one core.

Both load Gymnasium's file, with contacts between the shapes and the ground alone, and take semi-implicit steps of the
length in the file (4 ms for the Ant). MuJoCo runs with the contacts of the file, and with the stiffest ones that it
recommends. `ours_feet` has contacts at the feet alone. `deepest` is the deepest penetration of all states, in m, and
`depth_99` that of 99 % of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import ordern as on

from .contact_race import peer_run, raced, stiffest
from .harness import Array, Figures, benchmark
from .mujoco_peer import mujoco

BATCH, STEPS = 256, 250
FILES = {"hopper": ("hopper.xml", 2e-3), "walker": ("walker2d_v5.xml", 2e-3), "ant": ("ant.xml", 4e-3)}


def grounded(path: Path, dt: float) -> Any:
    """Return MuJoCo's model of a file in which shapes touch the ground alone."""
    model = mujoco.MjModel.from_xml_path(str(path))
    plane = model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)
    model.geom_contype[:], model.geom_conaffinity[:] = np.where(plane, 2, 0), np.where(plane, 0, 2)
    model.opt.timestep, model.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_EULER
    return model


def depths(robot: on.Robot, q: Array) -> Array:
    """Return the deepest penetration of each state."""
    poses, found = robot.poses(q), np.zeros(q.shape[:-1])
    for contact in robot.contacts.pairs:
        P, solid = poses[..., contact.first.body, :, :], contact.first
        height = P[..., 2, :3] @ np.array(solid.placement.position) + P[..., 2, 3]
        found = np.maximum(found, solid.size[0] - height)
    return found


def _feet(robot: on.Robot) -> list[str]:
    """Return the bodies that carry no others: feet, and the lower legs of the Ant."""
    parents = {joint.parent for joint in robot.joints}
    return [body.name for k, body in enumerate(robot.bodies) if k not in parents]


@benchmark("{robot}.contacts.gymnasium.{batch}x{steps}", robot=tuple(FILES), batch=(BATCH,), steps=(STEPS,))
def random_forces(robot: str, batch: int, steps: int) -> Figures:
    import gymnasium

    name, dt = FILES[robot]
    path = Path(gymnasium.__file__).parent / "envs/mujoco/assets" / name
    machine = on.load(path).with_contacts(sweeps=20)
    model, rng = grounded(path, dt), np.random.default_rng(0)
    q = on.convert(machine, model).from_peer(model.qpos0.copy(), np.zeros(model.nv))[0]
    lower, upper = (np.where(np.isfinite(x), x, 0.0) for x in (machine.lower, machine.upper))
    limited = np.isfinite(machine.lower) & np.isfinite(machine.upper)
    q = np.where(limited, np.clip(q, lower + 0.05, upper - 0.05), q)
    q0 = np.tile(q, (batch, 1))
    v0 = 0.1 * rng.standard_normal((batch, machine.nv))
    control = rng.uniform(-0.3, 0.3, (batch, steps, model.nu))
    tau = np.zeros((batch, steps, machine.nv))
    for k in range(model.nu):
        joint = machine.joint(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, model.actuator_trnid[k, 0]))
        tau[..., joint.v.start] = model.actuator_gear[k, 0] * control[..., k]
    feet = on.load(path).with_contacts(machine.contacts.ground, bodies=_feet(machine), sweeps=20)
    ours = {
        "ours": lambda: machine.rollout(q0, v0, tau, dt=dt, threads=1),
        "ours_feet": lambda: feet.rollout(q0, v0, tau, dt=dt, threads=1),
    }
    models = {"mujoco": model, "mujoco_stiff": stiffest(model)}
    peers = {name: peer_run(machine, x, q0, v0, steps, control) for name, x in models.items()}
    yield from raced(ours, peers, batch * steps)
    found = {"ours": ours["ours"]().q[:, 1:]}
    for name, run in peers.items():
        states = np.asarray(run()[0])[..., 1 : 1 + model.nq]
        found[name] = on.convert(machine, model).from_peer(states, np.zeros((*states.shape[:-1], model.nv)))[0]
    for name, states in found.items():
        depth = depths(machine, states)
        yield f"{name}.deepest", float(np.nanmax(depth))
        yield f"{name}.depth_99", float(np.nanpercentile(depth, 99))
