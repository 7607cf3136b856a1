"""Your own URDF file: load it, check it, and compute its dynamics for one state and for a thousand.

Give the name of a file: python 01_own_urdf.py my_robot.urdf. Without one, the PUMA 560 beside this program is used.
"""

import sys
from pathlib import Path

import numpy as np

import ordern as on

np.set_printoptions(precision=4, suppress=True)
file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "robots" / "puma560.urdf"
robot = on.load(file)  # MJCF and SDF files work too

# The tree of bodies, and anything suspicious about masses, inertias and limits, each with its line in the file. (The
# published inertias of the PUMA 560 are incomplete: two of its bodies are reported.)
print(robot.summary())
print(robot.check())

# A state is q (positions) and v (velocities). `joint` says where the numbers of a joint are.
q = robot.random(rng=0)
v, tau = np.zeros(robot.nv), np.zeros(robot.nv)
last = robot.joints[-1]
print(f"q has {robot.nq} numbers, v has {robot.nv}; joint {last.name!r} has q[{last.q.start}]")

print("accelerations without motor torques", robot.forward_dynamics(q, v, tau))
print("torques that hold the robot still  ", robot.gravity_force(q))
print("diagonal of the mass matrix        ", robot.mass_matrix(q).diagonal())

# Every link of the file is a frame.
tip = robot.bodies[-1].name
print(f"position of {tip!r}", robot.pose(q, tip)[:3, 3])
print("rank of its Jacobian", np.linalg.matrix_rank(robot.jacobian(q, tip)))

# The same functions take any number of states at once.
many = robot.random(rng=1, shape=(1000,))
print("a thousand states at once", robot.forward_dynamics(many, v, tau).shape)
