"""A floating base: a four-legged robot that is not fixed to the ground, its coordinates, and forces on its feet."""

import numpy as np

import ordern as on

np.set_printoptions(precision=3, suppress=True)

LEGS = {"lf": (0.3, 0.15, 0), "rf": (0.3, -0.15, 0), "lh": (-0.3, 0.15, 0), "rh": (-0.3, -0.15, 0)}
builder = on.Builder("quadruped").body("trunk", mass=10.0, inertia=(0.1, 0.4, 0.45))
for leg, hip in LEGS.items():
    link = {"joint": on.Revolute((0, 1, 0)), "mass": 0.5, "com": (0, 0, -0.1), "inertia": (0.002, 0.002, 1e-4)}
    builder.body(f"{leg}_thigh", parent="trunk", joint_name=f"{leg}_hip", at=hip, **link)
    builder.body(f"{leg}_shin", parent=f"{leg}_thigh", joint_name=f"{leg}_knee", at=(0, 0, -0.2), **link)
    builder.frame(f"{leg}_foot", f"{leg}_shin", at=(0, 0, -0.2))
robot = builder.build(floating=True)  # for a file: on.load("robot.urdf", floating=True)

# The base has seven positions, a quaternion (w, x, y, z) and x, y, z, and six velocities, (angular, linear).
base = robot.joints[0]
print(f"nq {robot.nq}, nv {robot.nv}; joint {base.name!r} has {base.nq} positions and {base.nv} velocities")
q, still = robot.neutral(), np.zeros(robot.nv)
q[base.q] = [1, 0, 0, 0, 0, 0, 0.4]
q[robot.joint("lf_hip").q] = 0.3
print("a foot is at", robot.pose(q, "lf_foot")[:3, 3])

# Positions are moved by `integrate`, since a quaternion is not a vector. Velocities are in the axes of the trunk.
v = still.copy()
v[base.v] = [0, 0, 1.0, 0.5, 0, 0]
print("the base after 0.1 s at this velocity", robot.integrate(q, v, 0.1)[base.q])

# Nothing drives the base: without contacts, it falls.
a = robot.forward_dynamics(q, still, still)
print("linear acceleration of the base", a[base.v][3:])

# Forces (moment, force) on the feet, in their axes, carry the weight: the base needs no other force, and is balanced.
support = {f"{leg}_foot": [0, 0, 0, 0, 0, 9.81 * robot.mass / 4] for leg in LEGS}
needed = robot.inverse_dynamics(robot.neutral(), still, still, external=support)
print("force on the base that is missing", np.abs(needed[base.v]).max().round(9))

# In flight, motor torques change the pose of the trunk, but not the angular momentum about the centre of mass.
tau = still.copy()
tau[robot.joint("lf_knee").v] = 0.05
flight = robot.simulate(q, v, tau, until=0.5)
momentum = flight.central_momentum[:, :3]
change = np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0])
print(f"flight: {flight.report.steps} steps, angular momentum constant to {change:.0e}")
