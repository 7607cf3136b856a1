"""4096 hoppers with randomised friction: a trunk on one springy leg, which hops forward by Raibert's three laws.

In flight the hip swings the foot to where it balances the speed; on the ground the hip keeps the trunk level, and the
leg pushes while it lengthens. One Python function drives all hoppers, 250 times a second; the steps are compiled.
"""

import sys
import time

import numpy as np

import ordern as on

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
LENGTH, SPRING, THRUST, SPEED = 0.5, 3000.0, 50.0, 0.8  # m, N/m, N, m/s

builder = on.Builder("hopper").body("world")
builder.body("x", parent="world", joint=on.Prismatic((1, 0, 0)), joint_name="x")
builder.body("z", parent="x", joint=on.Prismatic((0, 0, 1)), joint_name="z")
about = on.Revolute((0, 1, 0))
builder.body("trunk", parent="z", joint=about, joint_name="pitch", mass=8.0, inertia=(0.3, 0.4, 0.3))
builder.body("leg", parent="trunk", joint=about, joint_name="hip", mass=0.5, com=(0, 0, -0.2), inertia=(0.01,) * 3)
builder.body("shin", parent="leg", joint=on.Prismatic((0, 0, -1)), joint_name="length", at=(0, 0, -LENGTH), mass=0.2)
builder.frame("foot", "shin")
robot = builder.build().with_actuated(["hip", "length"])
hopper = robot.with_contacts(on.Ground(), points=["foot", ("trunk", 0.1)])


def raibert(q, v):
    """Return joint forces (COUNT, 5) for states x, z, pitch, hip, length of all hoppers."""
    (_, z, pitch, hip, stretch), (dx, _, turning, swinging, stretching) = q.T, v.T
    leg = pitch + hip
    stands = z - (LENGTH + stretch) * np.cos(leg) < 2e-3
    ahead = 0.08 * dx + 0.06 * (dx - SPEED)  # half the way of a stance, and a correction
    wanted, level = -np.arcsin(np.clip(ahead / LENGTH, -0.5, 0.5)), 80.0 * pitch + 8.0 * turning
    tau = np.zeros_like(v)
    tau[:, 3] = np.where(stands, level, 60.0 * (wanted - leg) - 3.0 * (turning + swinging))
    tau[:, 4] = np.where(stands & (stretching > 0.0), THRUST, 0.0)
    return tau


rng = np.random.default_rng(0)
friction = rng.uniform(0.05, 1.0, (COUNT, 1))
q = np.tile([0.0, 0.6, 0.0, 0.0, 0.0], (COUNT, 1))
kp, kd = np.array([0.0, 0, 0, 0, SPRING]), np.array([0.0, 0, 0, 0, 8.0])  # the spring of the leg, at rest at length 0
settings = {"feedback": (kp, kd, np.zeros(5)), "policy": raibert, "hold": 2, "contact_friction": friction}
start = time.perf_counter()
run = hopper.rollout(q, np.zeros((COUNT, 5)), steps=2000, dt=2e-3, every=10, **settings)
print(f"{2000 * COUNT / (time.perf_counter() - start) / 1e6:.1f} million steps a second", file=sys.stderr)

hops = (run.q[:, :, 1].min(axis=1) > 0.3) & (np.abs(run.q[:, :, 2]).max(axis=1) < 0.7) & ~run.diverged
print(f"{hops.sum()} of {COUNT} hop for four seconds")
for low, high in ((0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 1.0)):
    some = (friction[:, 0] >= low) & (friction[:, 0] < high)
    fast = (run.q[:, -1, 0] - run.q[:, 100, 0])[some & hops] / 2.0
    mean = f", at {fast.mean():.2f} m/s" if len(fast) else ""
    print(f"friction {low:.2f} to {high:.2f}: {hops[some].mean():.0%} hop{mean}")
print(run.certificate)
hopper.view(run.q[0, -3], motion=run[0], save="hopper.png", size=(480, 360))
