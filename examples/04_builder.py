"""A double pendulum in a few lines, checked against the equations that textbooks give for it."""

import numpy as np

import ordern as on

L1, L2, M1, M2, G = 1.0, 0.7, 2.0, 1.5, 9.81

robot = (
    on.Builder("double pendulum", gravity=(0, 0, -G))
    .body("ceiling")
    .body("upper", parent="ceiling", joint=on.Revolute((0, 1, 0)), mass=M1, com=(0, 0, -L1))
    .body("lower", parent="upper", joint=on.Revolute((0, 1, 0)), at=(0, 0, -L1), mass=M2, com=(0, 0, -L2))
    .frame("tip", "lower", at=(0, 0, -L2))
    .build()
)
print(robot.summary())


def textbook(q, v):
    """Accelerations of two point masses on massless rods. The second angle is relative to the first."""
    (q1, q2), (v1, v2) = q, v
    c, s = np.cos(q2), np.sin(q2)
    m11 = M1 * L1**2 + M2 * (L1**2 + L2**2 + 2 * L1 * L2 * c)
    m12 = M2 * (L2**2 + L1 * L2 * c)
    M = np.array([[m11, m12], [m12, M2 * L2**2]])
    h = M2 * L1 * L2 * s
    coriolis = np.array([-h * v2 * (2 * v1 + v2), h * v1**2])
    g2 = M2 * G * L2 * np.sin(q1 + q2)
    gravity = np.array([(M1 + M2) * G * L1 * np.sin(q1) + g2, g2])
    return np.linalg.solve(M, -coriolis - gravity)


rng = np.random.default_rng(0)
worst = 0.0
for _ in range(100):
    q, v = rng.uniform(-3, 3, 2), rng.normal(size=2)
    worst = max(worst, np.abs(robot.forward_dynamics(q, v, np.zeros(2)) - textbook(q, v)).max())
print(f"largest difference from the textbook at 100 states: {worst:.1e} rad/s²")
print("tip, hanging straight down:", robot.pose(robot.neutral(), "tip")[:3, 3])
assert worst < 1e-12
