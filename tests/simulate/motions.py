"""Motions that are known in closed form, as results."""

from __future__ import annotations

import numpy as np

import ordern as on
from ordern.simulate.results.result import Result
from ordern.simulate.run.log import Happened

Array = np.ndarray

MASS, INERTIA = 2.0, 0.3
SPIN, START, SPEED = np.array([0.4, -1.1, 0.7]), np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 3.0])
GRAVITY = np.array([0.0, 0.0, -9.81])


def ball() -> on.Robot:
    """A free body with equal inertias: it turns at a constant rate while its centre falls."""
    builder = on.Builder("ball").body("base")
    inertia = (INERTIA, INERTIA, INERTIA, 0.0, 0.0, 0.0)
    return builder.body("ball", parent="base", joint=on.Free(), mass=MASS, inertia=inertia).build()


def turned(t: Array) -> tuple[Array, Array]:
    """Quaternion (N, 4) and rotation matrix (N, 3, 3) of a turn at the rate SPIN."""
    rate = float(np.linalg.norm(SPIN))
    x, y, z = SPIN / rate
    q = np.concatenate([np.cos(rate * t / 2)[:, None], np.sin(rate * t / 2)[:, None] * (SPIN / rate)], axis=-1)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(rate * t)[:, None, None], np.cos(rate * t)[:, None, None]
    return q, np.eye(3) + s * K + (1.0 - c) * (K @ K)


def falling(t: Array, robot: on.Robot | None = None) -> Result:
    """The ball, thrown and spinning."""
    robot = robot or ball()
    quaternion, R = turned(t)
    place = START + SPEED * t[:, None] + 0.5 * GRAVITY * t[:, None] ** 2
    linear = np.einsum("nji,nj->ni", R, SPEED + GRAVITY * t[:, None])
    spin = np.broadcast_to(SPIN, linear.shape)
    rate = np.einsum("nji,j->ni", R, GRAVITY) - np.cross(spin, linear)
    a = np.concatenate([np.zeros_like(rate), rate], axis=-1)
    return Result(
        robot,
        t,
        np.concatenate([quaternion, place], axis=-1),
        np.concatenate([spin, linear], axis=-1),
        a,
        np.zeros_like(a),
    )


STIFFNESS, AMPLITUDE = 50.0, 0.2


def oscillator() -> on.Robot:
    """A mass on a spring along x, at rest at 0.1 m."""
    spring = {"stiffness": STIFFNESS, "rest": 0.1}
    builder = on.Builder("oscillator", gravity=(0.0, 0.0, 0.0)).body("base")
    return (
        builder.body("cart", mass=MASS)
        .joint("slide", on.Prismatic((1, 0, 0)), "base", "cart", **spring)
        .frame("eye", "cart", at=(0.0, 0.0, 0.5))
        .build()
    )


def swinging(t: Array, **more: object) -> Result:
    """The mass on its spring, let go."""
    w = np.sqrt(STIFFNESS / MASS)
    x, v = AMPLITUDE * np.cos(w * t), -AMPLITUDE * w * np.sin(w * t)
    made = [y[:, None] for y in (x + 0.1, v, -w * w * x)]
    return Result(oscillator(), t, *made, np.zeros((len(t), 1)), **more)  # type: ignore[arg-type]


def eventful(t: Array) -> Result:
    """The same with all that a result can have."""
    rng = np.random.default_rng(3)
    whole = swinging(t)
    moments = [0.25 * t[-1], 0.75 * t[-1]]
    events = [Happened(x, f"pass {k}", k, whole.q[k], whole.v[k]) for k, x in enumerate(moments)]
    extra = {"residual": rng.normal(size=(len(t), 2, 2)), "reading, in V": rng.normal(size=len(t))}
    work, lost = np.cumsum(rng.random(len(t))), np.cumsum(rng.random(len(t)))
    return swinging(t, work=work, dissipated=lost, events=events, extra=extra)
