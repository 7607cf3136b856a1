"""Trajectories, inverse kinematics and controllers: an arm follows a line, with a load that is not in its model."""

from pathlib import Path

import numpy as np

import ordern as on

tr, co = on.trajectories, on.controllers
robot = on.load(Path(__file__).parent / "robots" / "puma560.urdf")
home = np.array([0.0, 0.8, -2.2, 0.0, 0.6, 0.0])

# A cycloidal motion between two positions (Saha 38-39), and the torques that it needs.
there = home + np.array([0.6, -0.3, 0.4, 0.5, -0.3, 0.8])
t, q, v, a = tr.cycloidal(robot, home, there, 2.0).sample(50.0)
tau = robot.inverse_dynamics(q, v, a)
print(f"cycloid: {len(t)} samples, largest torque {np.abs(tau).max():.1f} N m")

# The flange along a straight line of 0.3 m; the joints follow by inverse kinematics.
goal = robot.pose(home, "flange")
goal[:3, 3] += [0.0, 0.3, 0.0]
line = tr.tip(robot, "flange", goal, 1.5, q0=home)
print(f"line: off by {line.error[1]:.0e} m at most; {len(line.check())} limits exceeded")

# Inverse kinematics for many targets at once; the report says why a target was not reached.
targets = robot.pose(robot.random(1, 500), "flange")
_, info = robot.inverse_kinematics(targets, "flange", restarts=30)
print("inverse kinematics:", info)
far = goal.copy()
far[:3, 3] *= 3.0
print("far away:", robot.inverse_kinematics(far, "flange", q0=home)[1])

# The same arm with 200 g in its hand, which the models of the controllers do not include.
link = {"parent": "flange", "joint": on.Fixed(), "at": (0, 0, 0.1)}
loaded = robot.builder().body("load", mass=0.2, inertia=(4e-4, 4e-4, 4e-4), **link).build()
M = robot.mass_matrix(home).diagonal()  # gains in proportion to the inertia of each joint
for name, control in {
    "PD with gravity": co.PD(robot, line, 900 * M, 60 * M, gravity=True),
    "feed-forward": co.FeedForward(robot, line, 900 * M, 60 * M),
    "computed torque": co.ComputedTorque(robot, line, kp=900.0),
    "operational space": co.OperationalSpace(robot, "flange", line, kp=900.0),
}.items():
    off = []
    for arm in (robot, loaded):
        result = arm.simulate(home, None, control, until=np.linspace(0.0, 1.5, 7), rtol=1e-5, atol=1e-5)
        apart = arm.pose(result.q, "flange")[:, :3, 3] - line.path(result.t)[0][:, :3, 3]
        off.append(1e3 * np.linalg.norm(apart, axis=1).max())
    print(f"{name:<18} off the line by {off[0]:7.3f} mm, with the load {off[1]:7.3f} mm")
