"""Move the tool of an arm to a point within a second, by iLQR in some fifty lines: `python 17_ilqr.py panda.urdf`."""

import sys

import numpy as np

import ordern as on

robot = on.load(sys.argv[1] if len(sys.argv) > 1 else "kuka-kr5")
robot = robot.lock(*(joint.name for joint in robot.joints if "finger" in joint.name))
tool, n, steps, dt = robot.bodies[-1].name, robot.nv, 100, 0.01
q0 = np.clip(np.full(n, 0.4), robot.lower + 0.2, robot.upper - 0.2)
goal, hold = robot.pose(q0, tool)[:3, 3] + [-0.2, 0.3, -0.1], robot.gravity_force(q0)
weights = by_force, by_speed, by_place, by_rest = 1e-3, 1e-2, 1e5, 100.0  # of the squares in the cost


def cost(q, v, tau):
    missed = robot.pose(q[..., -1:, :], tool)[..., :3, 3] - goal
    parts = zip(weights, (tau - hold, v[..., :-1, :], missed, v[..., -1:, :]), strict=True)
    return 0.5 * sum(w * (x**2).sum((-1, -2)) for w, x in parts)


def backward(q, v, tau):
    """Changes of the forces, and gains, that are best for linear motions and a quadratic cost around this motion."""
    A, B = robot.linearise(q[:-1], v[:-1], tau, dt=dt, method="plain-euler")  # of all steps, in one call
    J = robot.jacobian(q[-1], tool, axes="world")[3:]
    Vx = np.concatenate([by_place * J.T @ (robot.pose(q[-1], tool)[:3, 3] - goal), by_rest * v[-1]])
    Vxx, speeds = np.diag(np.repeat([0.0, by_rest], n)), np.diag(np.repeat([0.0, by_speed], n))
    Vxx[:n, :n] = by_place * J.T @ J
    found = np.zeros((steps, n, 1 + 2 * n))
    for k in reversed(range(steps)):
        Qu, Qux = by_force * (tau[k] - hold) + B[k].T @ Vx, B[k].T @ Vxx @ A[k]
        found[k] = -np.linalg.solve(by_force * np.eye(n) + B[k].T @ Vxx @ B[k], np.column_stack([Qu, Qux]))
        Vx = speeds @ [*q[k], *v[k]] + A[k].T @ Vx + Qux.T @ found[k, :, 0]
        Vxx = speeds + A[k].T @ Vxx @ A[k] + Qux.T @ found[k, :, 1:]
        Vxx = 0.5 * (Vxx + Vxx.T)  # symmetric, or roundings grow
    return found[..., 0], found[..., 1:]


def forward(q, v, tau, changes, gains):
    """The best of eight motions, whose forces are changed by less and less, with feedback."""

    def forces(t, qs, vs):
        k = round(t / dt)
        return tau[k] + 0.5 ** np.arange(8)[:, None] * changes[k] + np.hstack([qs - q[k], vs - v[k]]) @ gains[k].T

    given = {"steps": steps, "dt": dt, "policy": forces, "method": "plain-euler"}
    run = robot.rollout(np.tile(q0, (8, 1)), np.zeros((8, n)), **given)
    best = np.nanargmin(cost(run.q, run.v, run.tau[:, :-1]))
    return run.q[best], run.v[best], run.tau[best, :-1]


tau = np.tile(hold, (steps, 1))
q, v, _ = robot.rollout(q0, np.zeros(n), tau, dt=dt, method="plain-euler")
for k in range(8):
    print(f"round {k}: cost {cost(q, v, tau):9.3f}")
    q, v, tau = forward(q, v, tau, *backward(q, v, tau))
print(f"goal {goal.round(3)}, end {robot.pose(q[-1], tool)[:3, 3].round(3)}, at {np.abs(v[-1]).max():.2f} rad/s")
