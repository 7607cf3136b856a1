"""The joint torques of a motion, their parts, and the motion of given torques."""

from pathlib import Path

import numpy as np

import ordern as on

robot = on.load(Path(__file__).parents[1] / "robots/puma560.urdf")
q = robot.random(1)
v, a = np.linspace(-1.0, 1.0, robot.nv), np.linspace(3.0, -3.0, robot.nv)

# The recursive Newton-Euler algorithm: torques for joint positions, velocities and accelerations.
tau = robot.inverse_dynamics(q, v, a)
print("tau:", tau.round(4))

# The same as M a + C v + g.
M, g = robot.mass_matrix(q), robot.gravity_force(q)
coriolis = robot.coriolis_matrix(q, v) @ v
print("M a + C v + g:", np.allclose(tau, M @ a + coriolis + g))

# A force at the flange, (moment, force) in its axes, changes the torques.
push = [0.0, 0.0, 0.5, 10.0, 0.0, -5.0]
pushed = robot.inverse_dynamics(q, v, a, external={"flange": push})
print("with a push at the flange:", pushed.round(4))

# The articulated-body algorithm goes the other way.
print("back to a:", np.allclose(robot.forward_dynamics(q, v, tau), a))

# A thousand motions at once: the functions take arrays with any leading shape.
many = robot.random(2, 1000)
print("a thousand:", robot.inverse_dynamics(many, v, a).shape)
