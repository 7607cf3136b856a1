"""Design by gradient: counterweights that spare the motors of an arm, by derivatives of the torques by inertias."""

import numpy as np

import ordern as on

rod = {"mass": 2.0, "com": (0.0, 0.0, 0.25), "inertia": (0.04, 0.04, 0.001)}
arm = (
    on.Builder("arm")
    .body("base")
    .body("upper", parent="base", joint=on.Revolute((0, 1, 0)), joint_name="shoulder", **rod)
    .body("lower", parent="upper", joint=on.Revolute((0, 1, 0)), joint_name="elbow", at=(0, 0, 0.5), **rod)
    .body("tool", parent="lower", joint=on.Fixed(), at=(0, 0, 0.5), mass=1.0)
    .body("weight 1", parent="upper", joint=on.Fixed(), at=(0, 0, -0.3), mass=1.0)
    .body("weight 2", parent="lower", joint=on.Fixed(), at=(0, 0, -0.3), mass=1.0)
    .build()
)
weights = ("weight 1", "weight 2")

# the cycle of work: the arm reaches out and back. Weights balance it, but they have to be moved as well
phase = np.linspace(0.0, 2.0 * np.pi, 200, endpoint=False)[:, None]
middle, reach, rate = np.array([0.8, 0.9]), np.array([0.5, -0.6]), np.pi
q = middle + reach * np.sin(phase)
v, a = reach * rate * np.cos(phase), -reach * rate**2 * np.sin(phase)


def with_weights(*m):
    """Return the arm with these masses; other masses do not compile again."""
    return arm.vary(mass=dict(zip(weights, m, strict=True)))


# the inertia of a body is linear in the masses that are fixed to it: its change for each kilogram
none = with_weights(0.0, 0.0).parameters.inertia
per_kilogram = [with_weights(*m).parameters.inertia - none for m in ((1.0, 0.0), (0.0, 1.0))]


def cost(m):
    """Return the mean square of the torques, and its gradient by the masses of the weights."""
    robot = with_weights(*m)
    tau = robot.inverse_dynamics(q, v, a)
    g = robot.vjp("inverse_dynamics", (q, v, a), 2.0 * tau / len(q), wrt="inertia").inertia.sum(axis=0)
    return (tau**2).sum() / len(q), np.array([(g * x).sum() for x in per_kilogram])


m, step = np.zeros(2), 1e-3
value, gradient = cost(m)
print(f"without weights: torques of {np.sqrt(value):.2f} N m, root mean square")
while np.abs(gradient).max() > 1e-8:  # steps of Barzilai and Borwein: the last change tells how far to go
    new = m - step * gradient
    value, after = cost(new)
    step = (new - m) @ (new - m) / ((new - m) @ (after - gradient))
    m, gradient = new, after
    print(f"{m[0]:6.3f} and {m[1]:6.3f} kg: {np.sqrt(value):6.3f} N m")

# torques are linear in the masses, so least squares has the answer, too
base, *others = (with_weights(*m).inverse_dynamics(q, v, a).ravel() for m in ((0, 0), (1, 0), (0, 1)))
best = np.linalg.lstsq(np.transpose([x - base for x in others]), -base, rcond=None)[0]
print(f"least squares: {best[0]:.3f} and {best[1]:.3f} kg")
