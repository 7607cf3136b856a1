"""A robot with fewer joints: some are fixed at a position, and their links become parts of others."""

from pathlib import Path

import numpy as np

import ordern as on

robot = on.load(Path(__file__).parents[1] / "robots/puma560.urdf")
print(f"{robot.name}: {robot.nv} freedoms")

# Fix the three joints of the wrist, one of them bent.
fixed = {"wrist_roll": 0.2, "wrist_pitch": -0.4, "flange_roll": 0.0}
arm = robot.lock(at=fixed)
print(f"without its wrist: {arm.nv} freedoms, joints {[joint.name for joint in arm.joints]}")

# The frames of all links are still there, and the dynamics are those of the whole robot.
q = np.array([0.3, 0.7, -0.5])
whole = np.concatenate([q, list(fixed.values())])
print("same pose of the flange:", np.allclose(arm.pose(q, "flange"), robot.pose(whole, "flange")))
print("same torques:", np.allclose(arm.gravity_force(q), robot.gravity_force(whole)[:3]))
torques = arm.inverse_dynamics(q, np.ones(3), np.zeros(3))
print("torques of a motion:", torques.round(4))

# To keep joints instead of fixing them, name the others.
kept = ["waist", "shoulder", "elbow"]
same = robot.lock(*(joint.name for joint in robot.joints if joint.name not in kept))
print("the wrist straight:", [joint.name for joint in same.joints])
