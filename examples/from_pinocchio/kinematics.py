"""Load a URDF file, and print where all of its links are at a random position."""

from pathlib import Path

import numpy as np

import ordern as on

file = Path(__file__).parents[1] / "robots/puma560.urdf"
robot = on.load(file)
print(f"model name: {robot.name}")

# A position within the limits of the joints; the number makes it the same in each run.
q = robot.random(7)
print("q:", q.round(4))

# Every link of the file has a frame of its name. One call returns the poses of all of them, as 4x4 matrices.
links = ["base", *(body.name for body in robot.bodies)]
poses = robot.poses(q, links)
for name, pose in zip(links, poses, strict=True):
    print(f"{name:<14}", "{: .2f} {: .2f} {: .2f}".format(*pose[:3, 3]))

# Velocities and Jacobians work in the same way, for one position or for thousands.
v = np.ones(robot.nv)
velocities = robot.velocities(q, v, links, axes="world")
jacobians = robot.jacobians(q, links, axes="world")
print("velocities are J v:", np.allclose(velocities, jacobians @ v))
