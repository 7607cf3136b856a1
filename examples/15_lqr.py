"""Linear-quadratic regulators from linearised steps: a cart that balances a pole, and a five-bar linkage."""

import numpy as np

import ordern as on

DT = 0.01  # s


def gains(A: np.ndarray, B: np.ndarray, Q: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return K of u = -K x with the least sum of x'Q x + u'R u, by iteration of the Riccati equation."""
    P = Q
    for _ in range(3000):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
    return K


# The cart has a drive, the pole has none: one column of B.
slide, hinge = on.Prismatic((1, 0, 0)), on.Revolute((0, 1, 0))
cart = (
    on.Builder("cart-pole")
    .body("rail")
    .body("cart", parent="rail", joint=slide, joint_name="slide", mass=1.0)
    .body("pole", parent="cart", joint=hinge, joint_name="hinge", mass=0.1, com=(0, 0, 0.5), inertia=(0.01, 0.01, 0))
    .build()
)
A, B = cart.linearise([0.0, 0.0], dt=DT)
fastest = np.log(np.abs(np.linalg.eigvals(A)).max()) / DT
K = gains(A, B[:, :1], np.diag([10.0, 10.0, 1.0, 1.0]), np.eye(1))
slowest = -np.log(np.abs(np.linalg.eigvals(A - B[:, :1] @ K)).max()) / DT
print(f"cart-pole: falls at {fastest:.2f}/s, returns at {slowest:.2f}/s")


balance = lambda t, q, v: np.array([-K[0] @ np.concatenate([q, v]), 0.0])  # noqa: E731
fall = cart.simulate([0.0, 0.4], tau=balance, until=6.0)
print(f"after 6 s from 0.4 rad: cart {fall.q[-1, 0]:+.4f} m, pole {fall.q[-1, 1]:+.4f} rad")

# A closed mechanism with two drives and two freedoms: the state has angles and rates of the drives alone.
arm = on.load("five-bar")
q0 = on.robots.positions("five-bar")["assembled"]
hold = arm.actuation(q0, np.zeros(4), np.zeros(4)).tau
step = arm.linearise(q0, tau=hold, dt=DT, independent=arm.actuated)
own = list(step.positions)
L = gains(step.A, step.B[:, own], np.diag([50.0, 50.0, 1.0, 1.0]), np.eye(2))
start = arm.assemble(q0 + np.array([0.2, 0.0, -0.1, 0.0]), keep=arm.actuated).q


def regulate(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the forces of the drives."""
    tau = hold.copy()
    tau[own] -= L @ np.concatenate([arm.difference(q0, q)[own], v[own]])
    return tau


back = arm.simulate(start, tau=regulate, until=2.0)
there = arm.pose(back.q[[0, -1]], "tool")[:, :3, 3] - arm.pose(q0, "tool")[:3, 3]
first, last = 1e3 * np.linalg.norm(there, axis=1)
print(f"five-bar: A {step.A.shape}; the tool is off by {first:.1f} mm, after 2 s by {last:.3f} mm")
