"""Contacts: 1024 quadruped robots stand on ground of different friction, and are pushed to the side.

Each robot holds its legs by a spring and a damper in every motor. A push of a tenth of a second acts on the trunk. The
example prints how many are still standing, what slipped, and how exact the contact forces are.
"""

import numpy as np

import ordern as on

robot = on.load("quadruped")
stand = np.array(on.robots.positions("quadruped")["stand"])
feet = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
walker = robot.with_contacts(on.Ground(), points=feet)
print(walker)

count, dt, steps = 1024, 2e-3, 750
rng = np.random.default_rng(0)
friction = rng.uniform(0.1, 1.0, (count, 1))  # one number for all feet of a robot
force = rng.uniform(0.0, 150.0, count)

push = np.zeros((count, steps, len(robot.bodies), 6))
during = slice(int(0.5 / dt), int(0.6 / dt))
push[:, during, robot.frame("trunk").body, 4] = force[:, None]

kp, kd = np.full(robot.nv, 300.0), np.full(robot.nv, 8.0)
kp[:6] = kd[:6] = 0.0  # no motors on the trunk
run = walker.rollout(
    np.tile(stand, (count, 1)),
    np.zeros((count, robot.nv)),
    steps=steps,
    dt=dt,
    every=25,
    feedback=(kp, kd, stand),
    external=push,
    contact_friction=friction,
)

height = run.q[:, -1, 6]
standing = height > 0.8 * stand[6]
moved = np.linalg.norm(run.q[:, -1, 4:6], axis=-1)
slipped = standing & (moved > 0.05)
print(f"{standing.sum()} of {count} robots stand, {slipped.sum()} of them slipped by more than 5 cm")
for low, high in ((0.1, 0.4), (0.4, 0.7), (0.7, 1.0)):
    some = standing & (friction[:, 0] >= low) & (friction[:, 0] < high)
    print(f"friction {low:.1f} to {high:.1f}: moved by {100 * moved[some].mean():5.2f} cm on average")
worst = run.certificate.residual.max()
print(f"largest residual {worst:.1e} m/s, {run.uncertified.sum()} states not certified")
assert standing.sum() > 0.5 * count
