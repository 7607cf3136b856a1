"""Robots, and the same operators as plain matrices, from their definitions.

The matrices are made from poses, Jacobians and mass properties as the robot's own functions give them, and from
textbook formulas: nothing of `ordern.operators` is in them. An identity is a text; it is evaluated with these matrices.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import Any

import numpy as np

import ordern as on
from ordern.operators import Operator, Operators, operators
from ordern.operators.expression import Leaf, One, Product, Sum, Zero
from ordern.operators.identities import parse
from tests.random_models import random_robot, random_state

Array = np.ndarray

ROBOTS: dict[str, on.Robot] = {
    "tree": random_robot(1, 8),
    "tree with armature": random_robot(2, 9, armature=True),
    "chain": random_robot(3, 6, chain=True),
    "floating tree": random_robot(4, 7, floating=True),
    "floating tree with armature": random_robot(5, 7, floating=True, armature=True),
    "fixed joints kept": random_robot(6, 10, merge=False),
    "chain of arms": random_robot(7, 6, (on.Revolute, on.Prismatic), chain=True),
}
WITH_ARMATURE = {name for name in ROBOTS if "armature" in name}
STATES = {name: random_state(robot, 1) for name, robot in ROBOTS.items()}


def ask(robot: on.Robot, question: str, *arguments: Any, **options: Any) -> Array:
    """The interpreter's answer."""
    return robot.kernel(question, way="interpreted", **options)(*arguments)


@cache
def lazy(name: str) -> Operators:
    """The operators of one of the robots."""
    q, v, _ = STATES[name]
    return operators(ROBOTS[name], q, v)


@cache
def plain(name: str) -> dict[str, Array]:
    """The matrices of all named operators of one of the robots."""
    return matrices(ROBOTS[name], STATES[name][0])


def matrices(robot: on.Robot, q: Array) -> dict[str, Array]:
    """All named operators as matrices."""
    n, nv = len(robot.bodies), robot.nv
    parent = [c.parent for c in robot.joints]
    poses = [ask(robot, "pose", q, frame=b.name) for b in robot.bodies]
    X = [motion_transform(np.eye(4) if p < 0 else poses[p], pose) for p, pose in zip(parent, poses, strict=True)]
    H, M, E_phi, S = np.zeros((nv, 6 * n)), np.zeros((6 * n,) * 2), np.zeros((6 * n,) * 2), np.zeros((6 * n,) * 2)
    X_, E = np.zeros((6 * n,) * 2), np.zeros((6 * n, 6))
    for i, (b, c) in enumerate(zip(robot.bodies, robot.joints, strict=True)):
        J = ask(robot, "jacobian", q, frame=b.name, axes="frame")
        H[c.v, six(i)] = J[:, c.v].T
        M[six(i), six(i)] = spatial_inertia(b)
        X_[six(i), six(i)] = X[i]
        if c.parent < 0:
            E[six(i)] = X[i]
        else:
            E_phi[six(c.parent), six(i)] = X[i].T
            S[six(c.parent), six(i)] = np.eye(6)
    A = np.diag([x for c in robot.joints for x in c.armature])
    one = np.eye(6 * n)
    R, P, D = np.zeros_like(M), np.zeros_like(M), np.zeros((nv, nv))
    for i in reversed(range(n)):  # (25), (40): each body adds what its children hand on
        R[six(i), six(i)] = (M + E_phi @ R @ E_phi.T)[six(i), six(i)]
        hand_on = P - P @ H.T @ np.linalg.pinv(D) @ H @ P
        P[six(i), six(i)] = (M + E_phi @ hand_on @ E_phi.T)[six(i), six(i)]
        v = robot.joints[i].v
        D[v, v] = (H @ P @ H.T + A)[v, v]
    G = P @ H.T @ np.linalg.inv(D)
    tau, tau_bar = G @ H, one - G @ H
    phi, psi = np.linalg.inv(one - E_phi), np.linalg.inv(one - E_phi @ tau_bar)
    found = {"H": H, "X": X_, "M": M, "R": R, "P": P, "A": A, "D": D, "D^-1": np.linalg.inv(D), "G": G, "E": E}
    found |= {"tau": tau, "tau_bar": tau_bar, "S": S, "L": X_.T @ G, "K": E_phi @ G}
    found |= {"E_phi": E_phi, "E_psi": E_phi @ tau_bar, "phi": phi, "psi": psi, "phi~": phi - one, "psi~": psi - one}
    return found


def evaluate(expression: Operator, leaves: dict[str, Array]) -> Array:
    """An expression's matrix by plain multiplication and addition."""
    if isinstance(expression, Leaf):
        return leaves[expression.name].T if expression.star else leaves[expression.name]
    if isinstance(expression, Product):
        return reduce(np.matmul, (evaluate(f, leaves) for f in expression.factors))
    if isinstance(expression, Sum):
        return sum(c * evaluate(t, leaves) for c, t in expression.terms)  # type: ignore[return-value]
    assert isinstance(expression, (One, Zero))
    return np.eye(*expression.shape) if isinstance(expression, One) else np.zeros(expression.shape)


def sides_of(name: str, identity: str) -> list[Array]:
    """The matrices of both sides of an identity, or of more."""
    ops = lazy(name)
    expressions = [parse(ops, side, simplify=False) for side in identity.split("=")]
    known = next(e for e in expressions if not isinstance(e, (One, Zero)))
    return [
        evaluate(e, plain(name))
        if not isinstance(e, (One, Zero))
        else np.eye(*known.shape)
        if isinstance(e, One)
        else np.zeros(known.shape)
        for e in expressions
    ]


def six(i: int) -> slice:
    """Where body i is in a stacked vector."""
    return slice(6 * i, 6 * i + 6)


def skew(r: Array) -> Array:
    x, y, z = r
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def motion_transform(a: Array, b: Array) -> Array:
    """From motions of a frame to motions of another, given their poses."""
    relative = np.linalg.inv(a) @ b
    E, r = relative[:3, :3].T, relative[:3, 3]
    return np.block([[E, np.zeros((3, 3))], [-E @ skew(r), E]])


def spatial_inertia(b: on.Body) -> Array:
    """Of a body about its frame's origin: Jain (10)."""
    m, c = b.mass, skew(np.array(b.com))
    return np.block([[b.inertia_matrix - m * c @ c, m * c], [-m * c, m * np.eye(3)]])
