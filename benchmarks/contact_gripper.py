"""A Panda lifts a box by one or two pads on each finger: `rollout` against MuJoCo's, one core.

The second finger follows the first: a mimic joint here, a soft equality in MuJoCo. Springs in the joints close the
fingers and raise the arm. Starts differ in the places of arm and box. MuJoCo gets spheres at the pads, a box, and
spheres at the corners of the box, with its default contacts.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ordern as on

from .contact_race import peer_run, raced, touching_model
from .harness import Array, Figures, benchmark
from .robots import FOLDER

BATCH, STEPS, DT = 256, 500, 2e-3
SIDES, MASS, FRICTION = (0.04, 0.05, 0.08), 0.3, 0.8
CORNERS = tuple(f"corner {k}" for k in range(4))
FINGERS = ("panda_leftfinger", "panda_rightfinger")
PAD, _OPEN = 0.004, 0.002


def holding(pads: int) -> tuple[on.Robot, Array]:
    """Return the arm with a free box between its fingers, and a position with the box on the ground."""
    text = (FOLDER / "panda_description/urdf/panda.urdf").read_text()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "panda.urdf"
        file.write_text(re.sub(r"<collision>.*?</collision>|<visual>.*?</visual>", "", text, flags=re.DOTALL))
        arm = on.load(file)
    builder = arm.builder()
    for finger, side in zip(FINGERS, (1.0, -1.0), strict=True):
        for x in (-0.006, 0.006) if pads == 2 else (0.0,):
            builder.shape(finger, "sphere", (PAD,), role="collision", at=(x, side * PAD, 0.045))
    x, y, z = SIDES
    inertia = tuple(MASS / 12.0 * s for s in (y * y + z * z, x * x + z * z, x * x + y * y))
    builder.body("box", mass=MASS, inertia=inertia)
    builder.shape("box", "box", SIDES, role="collision")
    builder.joint("box joint", on.Free(), arm.base, "box")
    for k, (a, b) in enumerate(product((-0.5, 0.5), repeat=2)):
        builder.frame(f"corner {k}", "box", (a * x, b * y, 0.5 * z))  # the box is upside down
    bent = (0.0, 0.6, 0.0, -2.2, 0.0, 2.8, 0.785)
    raised = (0.0, 0.55, 0.0, -2.2, 0.0, 2.75, 0.785)
    for k, angle in enumerate(raised, 1):
        builder.set_terms(f"panda_joint{k}", stiffness=2000.0, damping=60.0, rest=angle)
    builder.set_terms("panda_finger_joint1", stiffness=2000.0, damping=20.0, rest=0.0)
    robot = builder.build()
    q = robot.neutral()
    for k, angle in enumerate(bent, 1):
        q[robot.joint(f"panda_joint{k}").q] = angle
    q[robot.joint("panda_finger_joint1").q] = 0.5 * SIDES[1] + _OPEN
    hand = robot.pose(q, "panda_leftfinger") @ np.array([0.0, -0.5 * SIDES[1] - _OPEN, 0.045, 1.0])
    turn = on.rotations.quaternion_from_matrix(robot.pose(q, "panda_leftfinger")[:3, :3])
    q[robot.joint("box joint").q] = [*turn, *hand[:3]]
    return robot, q


@benchmark("panda-gripper.contacts.pads_{pads}.{batch}x{steps}", pads=(1, 2), batch=(BATCH,), steps=(STEPS,))
def lifts(pads: int, batch: int, steps: int) -> Figures:
    robot, q = holding(pads)
    rng = np.random.default_rng(0)
    off = 5e-4 * rng.standard_normal((batch, robot.nv))
    off[:, robot.joint("panda_finger_joint1").v] = 0.0
    q0, v0 = robot.integrate(q, off), np.zeros((batch, robot.nv))
    height = float(robot.pose(q, "box")[2, 3]) - 0.5 * SIDES[2]
    ground, pairs = on.Ground(FRICTION, height=height - 0.003), [(finger, "box") for finger in FINGERS]
    ours: dict[str, Any] = {}
    for name, sweeps, limits in (("sweeps_6", 6, False), ("sweeps_10", 10, False), ("limits", 10, True)):
        x = robot.with_contacts(ground, points=CORNERS, pairs=pairs, friction=FRICTION, limits=limits, sweeps=sweeps)
        ours[name] = lambda x=x: x.rollout(q0, v0, steps=steps, dt=DT, threads=1)
    model = touching_model(x, DT, FRICTION)
    yield from raced(ours, {"mujoco": peer_run(robot, model, q0, v0, steps)}, batch * steps)
