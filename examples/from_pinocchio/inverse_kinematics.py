"""Bring a frame to a pose: step by step with damped least squares, and by one call."""

from pathlib import Path

import numpy as np

import ordern as on
from ordern.rotations import inverse, log_pose

robot = on.load(Path(__file__).parents[1] / "robots/puma560.urdf")
frame = "flange"
target = robot.pose([0.5, 0.4, -0.6, 0.5, 0.7, 0.2], frame)

# Step by step: the error is the twist from the frame to the target, in the axes of the frame.
start = np.array([0.1, 0.8, -1.0, 0.3, 0.6, -0.2])
q, dt, damping, steps = start, 0.1, 1e-12, 0
error = log_pose(inverse(robot.pose(q, frame)) @ target)
while np.linalg.norm(error) > 1e-4 and steps < 1000:
    J = robot.jacobian(q, frame)
    v = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error)
    q = robot.integrate(q, v, dt)
    error = log_pose(inverse(robot.pose(q, frame)) @ target)
    steps += 1
print(f"{steps} steps, error {np.linalg.norm(error):.1e}, q:", q.round(4))

# In one call: it respects the limits of the joints, takes batches of targets, and says what stands in the way.
found, info = robot.inverse_kinematics(target, frame, start)
print("one call: reached", bool(info.reached), "q:", found.round(4))
