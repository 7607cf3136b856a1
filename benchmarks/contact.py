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

from .contact_race import peer_run, raced, touching_model
from .harness import Array, Figures, benchmark
from .robots import FOLDER

BATCH, STEPS, DT, RADIUS = 256, 500, 2e-3, 0.02
FRICTION = 0.8
FEET = {
    "quadruped": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
    "anymal": ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
    "solo12": ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
    "go2": ("FL_foot", "FR_foot", "RL_foot", "RR_foot"),
    "g1": (),
}
FLAT = ("left_ankle_roll_link", "right_ankle_roll_link")
"""The feet of the G1, with four spheres each."""
FILES = {
    "anymal": "anymal_b_simple_description/robots/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
}
STIFFNESS = {
    "quadruped": (300.0, 5.0),
    "anymal": (200.0, 5.0),
    "solo12": (8.0, 0.2),
    "go2": (60.0, 2.0),
    "g1": (100.0, 4.0),
}
BENT = {
    "HFE": 0.8,
    "KFE": -1.6,
    "thigh_joint": 0.8,
    "calf_joint": -1.6,
    "hip_pitch_joint": -0.3,
    "knee_joint": 0.6,
    "ankle_pitch_joint": -0.3,
}


def contacts(robot: on.Robot, name: str, **settings: Any) -> on.Robot:
    """Return a robot with contacts at its feet."""
    at = {"points": dict.fromkeys(FEET[name], RADIUS)} if FEET[name] else {"bodies": FLAT}
    return robot.with_contacts(on.Ground(FRICTION), **at, **settings)


def standing(name: str) -> tuple[on.Robot, Array]:
    """Return a robot with springs and dampers in its legs, and a position above the ground."""
    robot = on.load("quadruped") if name == "quadruped" else on.load(FOLDER / FILES[name], floating=True)
    stiffness, damping = STIFFNESS[name]
    q = np.array(on.robots.positions("quadruped")["stand"]) if name == "quadruped" else robot.neutral()
    if name != "quadruped":
        for joint in robot.independent[1:]:
            bent = next((angle for end, angle in BENT.items() if joint.name.endswith(end)), 0.0)
            q[joint.q] = -bent if name == "anymal" and "F" not in joint.name[:2] else bent
    builder = robot.builder()
    for joint in robot.independent[1:]:
        builder.set_terms(joint.name, stiffness=stiffness, damping=damping, rest=float(q[joint.q][0]))
    built = builder.build()
    solids = [c.first for c in contacts(built, name).contacts.pairs]
    q[6] += 0.06 - min(built.pose(q, on.Frame("foot", s.body, s.placement))[2, 3] - s.size[0] for s in solids)
    return built, q


@benchmark("{robot}.contacts.{batch}x{steps}", robot=tuple(FEET), batch=(BATCH,), steps=(STEPS,))
def falls(robot: str, batch: int, steps: int) -> Figures:
    machine, q = standing(robot)
    rng = np.random.default_rng(0)
    q0 = machine.integrate(q, 0.02 * rng.standard_normal((batch, machine.nv)))
    v0 = 0.1 * rng.standard_normal((batch, machine.nv))
    ours = {
        "sweeps_5": contacts(machine, robot, limits=False, sweeps=5),
        "sweeps_10": contacts(machine, robot, limits=False, sweeps=10),
        "limits": contacts(machine, robot, limits=True, sweeps=10),
    }
    runs: dict[str, Any] = {
        name: lambda x=x: x.rollout(q0, v0, steps=steps, dt=DT, threads=1) for name, x in ours.items()
    }
    single = [x.astype(np.float32) for x in (q0, v0)]
    runs["float32"] = lambda: ours["sweeps_5"].rollout(*single, steps=steps, dt=DT, threads=1)
    model = touching_model(ours["limits"], DT, FRICTION)
    yield from raced(runs, {"mujoco": peer_run(machine, model, q0, v0, steps)}, batch * steps)
