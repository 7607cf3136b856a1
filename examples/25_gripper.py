"""A gripper closes on a box, lifts it and holds it; 64 of them, on boxes of different friction.

Contacts are between the fingers and the box, and between the box and the ground. A box slips where friction is below
what its weight needs, which is known: m (g + a) / (2 F) for two fingers that press with the force F.
"""

import numpy as np

import ordern as on

SIDE, MASS, GRIP = 0.06, 0.5, 10.0  # of the box, m and kg; the force of each finger, N

builder = on.Builder("gripper").body("world")
builder.body("hand", parent="world", joint=on.Prismatic((0, 0, 1)), joint_name="lift", mass=1.0)
builder.shape("hand", "box", (0.05, 0.2, 0.02), at=(0, 0, 0.09))
for name, side in (("left", 1.0), ("right", -1.0)):
    at, inward = (0, 0.08 * side, 0), on.Prismatic((0, -side, 0))
    builder.body(name, parent="hand", joint=inward, joint_name=name, at=at, mass=0.2)
    builder.shape(name, "box", (0.02, 0.02, 0.09), at=(0, 0.01 * side, 0.045))
    for role in ("visual", "collision"):
        builder.shape(name, "sphere", (0.012,), role=role)  # the tip
inertia = MASS * SIDE**2 / 6.0
builder.body("box", parent="world", joint=on.Free(), joint_name="box", mass=MASS, inertia=(inertia,) * 3)
for role in ("visual", "collision"):
    builder.shape("box", "box", (SIDE,) * 3, role=role, color=(0.9, 0.6, 0.2, 1.0))
robot = builder.build()
pairs = [("left", "box"), ("right", "box")]
gripper = robot.with_contacts(on.Ground(0.6), bodies=["box"], pairs=pairs, limits=False, sweeps=60)
print(gripper)

# The lift follows a height; each finger presses with a constant force, and a damper makes it gentle.
dt, steps, up, duration = 1e-3, 1500, 0.15, 0.6
start = robot.neutral()
box = robot.joint("box").q
start[robot.joint("lift").q], start[box.stop - 1] = SIDE / 2 + 0.01, SIDE / 2  # above the centre: the box hangs
x = np.clip((dt * np.arange(steps) - 0.5) / duration, 0.0, 1.0)
target = np.tile(start, (steps, 1))
target[:, robot.joint("lift").q] += up * (10 * x**3 - 15 * x**4 + 6 * x**5)[:, None]
kp, kd, tau = np.zeros(robot.nv), np.zeros(robot.nv), np.zeros(robot.nv)
lift, fingers = robot.joint("lift").v, [robot.joint(name).v.start for name in ("left", "right")]
kp[lift], kd[lift], tau[lift] = 2e4, 4e2, 9.81 * (robot.mass - MASS)
tau[fingers], kd[fingers] = GRIP, 50.0

count = 64
friction = np.tile(np.linspace(0.05, 1.0, count)[:, None], (1, len(gripper.contacts.pairs)))
states = np.tile(start, (count, 1)), np.zeros((count, robot.nv))
run = gripper.rollout(*states, tau, steps, dt, every=10, feedback=(kp, kd, target[None]), contact_friction=friction)
height = run.q[:, -1, box][:, 6] - SIDE / 2
held = height > 0.99 * up
most = 10 / 3**0.5 * up / duration**2  # the largest acceleration of the lift
print(f"{held.sum()} of {count} boxes are lifted by {height[held].mean():.4f} m; {(height < 0.001).sum()} stay", end="")
print(f", {(~held & (height > 0.001)).sum()} slip on the way")
print(f"friction needed: {friction[held, 0].min():.2f}; to hold {MASS * 9.81 / (2 * GRIP):.2f}", end="")
print(f", to lift {MASS * (9.81 + most) / (2 * GRIP):.2f}")
print(run.certificate)
gripper.view(run.q[-1, -1], motion=run[-1], save="gripper.png", size=(480, 360))
