"""A quadruped stands still: the forces on its feet, and the torques in its legs."""

import numpy as np

import ordern as on

np.set_printoptions(precision=3, suppress=True)
LEGS = {"lf": (0.3, 0.15, 0), "rf": (0.3, -0.15, 0), "lh": (-0.3, 0.15, 0), "rh": (-0.3, -0.15, 0)}
builder = on.Builder("quadruped").body("trunk", mass=10.0, com=(0.05, 0.01, 0), inertia=(0.1, 0.4, 0.45))
for leg, hip in LEGS.items():
    link = {"mass": 0.5, "com": (0, 0, -0.1), "inertia": (0.002, 0.002, 1e-4)}
    y, x = on.Revolute((0, 1, 0)), on.Revolute((1, 0, 0))
    builder.body(f"{leg}_hip", parent="trunk", joint=x, at=hip, mass=0.3, inertia=(1e-3, 1e-3, 1e-3))
    builder.body(f"{leg}_thigh", parent=f"{leg}_hip", joint=y, **link)
    builder.body(f"{leg}_shin", parent=f"{leg}_thigh", joint=y, at=(0, 0, -0.2), **link)
    builder.frame(f"{leg}_foot", f"{leg}_shin", at=(0, 0, -0.2))
robot = builder.build(floating=True)

# It stands with bent knees.
feet, base = [f"{leg}_foot" for leg in LEGS], robot.joint("root_joint")
q = robot.neutral()
q[base.q] = [1, 0, 0, 0, 0, 0, 0.35]
for leg in LEGS:
    q[robot.joint(f"{leg}_thigh_joint").q], q[robot.joint(f"{leg}_shin_joint").q] = 0.5, -1.0

# Nothing drives the trunk: the forces on the feet must carry it. J^T f has the same rows there as the forces of
# gravity, 6 equations for 12 numbers; of all solutions, take the smallest.
g = robot.gravity_force(q)
J = robot.jacobians(q, feet, axes="world")[:, 3:].reshape(12, robot.nv)
forces = np.linalg.lstsq(J[:, base.v].T, g[base.v], rcond=None)[0].reshape(4, 3)
print("forces on the feet, in the world's axes:\n", forces, sep="")
print("their sum and the weight:", forces.sum(axis=0), 9.81 * robot.mass)

# With these forces, in the frames of the feet, the trunk needs no force; the other torques are those of the motors.
turns = robot.poses(q, feet)[:, :3, :3]
external = {foot: [0, 0, 0, *(R.T @ f)] for foot, R, f in zip(feet, turns, forces, strict=True)}
tau = robot.static_torque(q, external)
print("left for the trunk:", np.abs(tau[base.v]).max() < 1e-9)
print("torques of one leg:", tau[robot.joint("lf_hip_joint").v.start :][:3])
