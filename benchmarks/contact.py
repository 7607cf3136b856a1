"""Robots that fall onto their feet and stand: `rollout` with contacts against MuJoCo's rollout, one core.

MuJoCo gets the same robot as MJCF text, with a plane and spheres at the feet, and its default, soft contacts. Both
begin at the same states, with the same springs in the joints, and store all states; ours also stores impulses and
certificates. The motions differ: MuJoCo's feet sink in and bounce.
`residual_99` is the residual of the contact law, in m/s, at 99 % of the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on

from .harness import Figures, benchmark, settings, wall_clock
from .mujoco_peer import mujoco
from .robots import FOLDER

BATCH, STEPS, DT, RADIUS = 256, 500, 2e-3, 0.02
FRICTION = 0.8
FEET = {
    "quadruped": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "solo12": ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
}
FILES = {"anymal": "anymal_b_simple_description/robots/anymal.urdf", "solo12": "solo_description/robots/solo12.urdf"}
STIFFNESS = {"quadruped": (300.0, 5.0), "anymal": (200.0, 5.0), "solo12": (8.0, 0.2)}


def standing(name: str) -> tuple[on.Robot, np.ndarray]:
    """Return a robot with springs and dampers in its legs, and a position above the ground."""
    robot = on.load("quadruped") if name == "quadruped" else on.load(FOLDER / FILES[name], floating=True)
    stiffness, damping = STIFFNESS[name]
    q = np.array(on.robots.positions("quadruped")["stand"]) if name == "quadruped" else robot.neutral()
    if name != "quadruped":
        for joint in robot.independent[1:]:
            bent = {"HFE": 0.8, "KFE": -1.6}.get(joint.name[-3:], 0.0)
            q[joint.q] = bent if "F" in joint.name[:2] or name == "solo12" else -bent
    builder = robot.builder()
    for joint in robot.independent[1:]:
        builder.set_terms(joint.name, stiffness=stiffness, damping=damping, rest=float(q[joint.q][0]))
    q[6] += RADIUS + 0.06 - min(robot.pose(q, foot)[2, 3] for foot in FEET[name])
    return builder.build(), q


def mujoco_model(robot: on.Robot, feet: tuple[str, ...]) -> Any:
    """Return MuJoCo's model with a plane and spheres at the feet."""
    spec = mujoco.MjSpec.from_string(robot.to_mjcf(lossy=True))
    shared = {"friction": [FRICTION, 0.0, 0.0], "condim": 3}
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], contype=2, conaffinity=0, **shared)
    for name in feet:
        frame = robot.frame(name)
        body = spec.body(robot.bodies[frame.body].name)
        at = {"pos": list(frame.placement.position), "size": [RADIUS, 0, 0], "mass": 0.0}
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, contype=0, conaffinity=2, **at, **shared)
    model = spec.compile()
    model.opt.timestep = DT
    return model


@benchmark("{robot}.contacts.{batch}x{steps}", robot=tuple(FEET), batch=(BATCH,), steps=(STEPS,))
def falls(robot: str, batch: int, steps: int) -> Figures:
    from mujoco import rollout as mujoco_rollout

    machine, q = standing(robot)
    rng = np.random.default_rng(0)
    q0 = machine.integrate(q, 0.02 * rng.standard_normal((batch, machine.nv)))
    v0 = 0.1 * rng.standard_normal((batch, machine.nv))
    ground = on.Ground(FRICTION)
    points = dict.fromkeys(FEET[robot], RADIUS)
    ours = {
        "sweeps_5": machine.with_contacts(ground, points=points, limits=False, sweeps=5),
        "sweeps_10": machine.with_contacts(ground, points=points, limits=False, sweeps=10),
        "limits": machine.with_contacts(ground, points=points, limits=True, sweeps=10),
    }
    model = mujoco_model(machine, FEET[robot])
    convert = on.convert(machine, model)
    there = np.concatenate([np.zeros((batch, 1)), *convert.to_peer(q0, v0)], axis=1)
    data = [mujoco.MjData(model)]
    contestants: dict[str, Any] = {
        name: lambda x=x: x.rollout(q0, v0, steps=steps, dt=DT, threads=1) for name, x in ours.items()
    }
    single = [x.astype(np.float32) for x in (q0, v0)]
    contestants["float32"] = lambda: ours["sweeps_5"].rollout(*single, steps=steps, dt=DT, threads=1)
    contestants["mujoco"] = lambda: mujoco_rollout.rollout(model, data, there, nstep=steps)
    runs = {name: run() for name, run in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(2 if settings.quick else 4):
        for name, run in contestants.items():
            started = wall_clock()
            run()
            times[name].append(wall_clock() - started)
    t = {name: np.array(x) for name, x in times.items()}
    total = batch * steps
    for name in (*ours, "float32"):
        run = runs[name]
        yield f"{name}.us_per_step", 1e6 * t[name].min() / total
        yield f"{name}.residual_99", float(np.percentile(run.certificate.residual, 99))
        yield f"{name}.uncertified", int(run.uncertified.sum())
        yield f"{name}.vs_mujoco", float(np.median(t["mujoco"] / t[name]))
    yield "mujoco.us_per_step", 1e6 * t["mujoco"].min() / total
