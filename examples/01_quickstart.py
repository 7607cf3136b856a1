"""Ten lines: a robot from a file, and its dynamics for one state and for a thousand."""

from pathlib import Path

import numpy as np

import ordern as on

np.set_printoptions(precision=4, suppress=True)
robot = on.load(Path(__file__).parent / "robots" / "puma560.urdf")
q = np.array([0, np.pi / 4, np.pi, 0, np.pi / 4, 0])
v, tau = np.zeros(robot.nv), np.zeros(robot.nv)

print(robot)
print("accelerations if let go ", robot.forward_dynamics(q, v, tau))
print("forces that hold it     ", robot.gravity_force(q))
print("diagonal of mass matrix ", robot.mass_matrix(q).diagonal())
print("position of the flange  ", robot.pose(q, "flange")[:3, 3])
print("rank of its Jacobian    ", np.linalg.matrix_rank(robot.jacobian(q, "flange")))

many = robot.random(rng=0, shape=(1000,))
print("a thousand states at once", robot.forward_dynamics(many, v, tau).shape)
