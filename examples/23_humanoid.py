"""Whole-body control: a humanoid stands on eight points of its feet, is pushed, and goes on standing.

In each control step a quadratic program chooses accelerations, motor forces and contact forces, which stay in their
friction cones. It needs clarabel: pip install ordern[whole-body].
"""

import sys

import numpy as np

import ordern as on

try:
    import clarabel  # noqa: F401
except ImportError:
    sys.exit("this example needs clarabel: pip install ordern[whole-body]")

robot = on.load("humanoid")
stand = on.robots.positions("humanoid")["stand"]
soles = [f"{side}_sole_{k}" for side in "lr" for k in (1, 2, 3, 4)]
walker = robot.with_contacts(on.Ground(friction=0.7), points=soles)
middle = np.mean([robot.pose(stand, sole)[:3, 3] for sole in soles], axis=0)
goal = np.array([*middle[:2], robot.com(stand)[2]])  # the centre of mass is above the middle of the feet

tasks = [
    on.tasks.CentreOfMass(goal, stiffness=40.0),
    on.tasks.Rotation("trunk", np.eye(3), stiffness=60.0, weight=0.3),
    on.tasks.Posture(stand, stiffness=60.0, weight=0.01),
]
print(walker)


def pushed(push, seconds=1.6, dt=1e-3, hold=5):
    """Return the motion after a push of a tenth of a second on the trunk, and its largest contact residual."""
    q, v, impulses, motion, worst = stand, np.zeros(robot.nv), None, [], 0.0
    for k in range(round(seconds / dt / hold)):
        found = walker.whole_body(q, v, tasks, touching=[True] * 8)
        if found.status != "solved":
            print(f"at {k * hold * dt:.3f} s: {found.status}")
            break
        force = {"trunk": [0.0, 0.0, 0.0, *push]} if 0.3 <= k * hold * dt < 0.4 else None
        run = walker.rollout(q, v, found.tau, hold, dt, every=hold, external=force, contact_impulses=impulses)
        q, v, impulses = run.q[-1], run.v[-1], run.contact_impulses[-1]
        motion.append(q)
        worst = max(worst, float(run.certificate.residual.max()))
    return np.array(motion), worst


for push in ([100.0, 0.0, 0.0], [0.0, 100.0, 0.0], [200.0, 0.0, 0.0]):
    q, worst = pushed(push)
    away = np.linalg.norm(robot.com(q)[:, :2] - goal[:2], axis=1)
    does = "stands" if q[-1, 6] > 0.9 * stand[6] and away[-1] < 0.02 else "falls"
    print(f"pushed by {push} N: {does}; centre of mass off by up to {100 * away.max():.1f} cm", end="")
    print(f", {100 * away[-1]:.1f} cm at the end; residual up to {worst:.0e} m/s")

robot.view(q[np.argmax(away > 0.1)], save="humanoid.png", size=(480, 480))
print("humanoid.png written: on its way down")
