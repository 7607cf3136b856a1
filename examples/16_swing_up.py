"""Swing a double pendulum up by gradients: 64 guesses at once, with motors too weak to lift it."""

import numpy as np

import ordern as on

robot = on.load("double-pendulum")  # q = 0 hangs down
guesses, steps, dt, rounds = 64, 150, 0.02, 400
needed = robot.gravity_force([np.pi / 2, 0.0]).max()
limit = 0.4 * needed
print(f"to hold the arm level takes {needed:.2f} N m; the motors have {limit:.2f} N m")

# The torques of all steps, as limit * tanh(u), begin as slow random waves.
rng = np.random.default_rng(0)
u = 0.5 * np.cumsum(rng.normal(size=(guesses, steps, 2)), axis=1) / np.sqrt(steps)
rest = np.zeros((guesses, 2))
highest = robot.potential_energy([np.pi, 0.0])
half = np.full(guesses, 0.5)


def cost_and_gradient(u):
    """The energy that is missing at the end, and half of the kinetic energy; and its derivatives by u."""
    tau = limit * np.tanh(u)
    run = robot.rollout(rest, rest, tau, dt=dt, method="rk4", every=steps)  # keeps the start and the end
    q, v = run.q[:, -1], run.v[:, -1]
    cost = highest - robot.potential_energy(q) + half * robot.kinetic_energy(q, v)
    kinetic = robot.vjp("kinetic_energy", (q, v), half)
    by_q, by_v = np.zeros_like(run.v), np.zeros_like(run.v)
    by_q[:, -1], by_v[:, -1] = kinetic.q - robot.gravity_force(q), kinetic.v
    gradient = run.vjp(by_q, by_v, wrt="tau").tau
    return cost, gradient * (limit - tau**2 / limit), run


# Adam (Kingma and Ba 2015): a step along the mean gradient, over the root of the mean square.
mean, square = np.zeros_like(u), np.zeros_like(u)
for k in range(1, rounds + 1):
    cost, gradient, run = cost_and_gradient(u)
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    u -= 0.03 * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.999**k)) + 1e-8)
    if k in (1, 100, 200, 400):
        print(f"round {k:3}: cost of the best guess {cost.min():7.3f} J, of the median {np.median(cost):7.3f} J")

best = cost.argmin()
q, v = run.q[best, -1], run.v[best, -1]
height = robot.pose(q, "tip")[2, 3]
print(f"the tip ends at a height of {height:.3f} m, with {np.abs(v).max():.2f} rad/s at most")

# The same torques in an adaptive simulation, held from step to step, lead to the same end.
table = on.Table(dt * np.arange(steps), limit * np.tanh(u[best]), hold=True)
result = robot.simulate([0.0, 0.0], tau=table, until=steps * dt)
print(f"simulated: height {result.position('tip')[-1, 2]:.3f} m, {result.report.steps} steps")
