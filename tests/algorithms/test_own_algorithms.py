"""Algorithms from outside the library, on robots with joints that follow others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import registry
from ordern.spatial import ArticulatedInertia, Force, Motion, Spin, eliminate
from tests.random_models import random_robot, random_state
from tests.tolerances import METHODS, ROUNDING, assert_close

FOLLOWING = random_robot(5, 5, (on.Revolute,), mimic=True)
PLAIN = random_robot(5, 5, (on.Revolute,))


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """Remove the methods that a test declares."""
    registry.import_all()  # else methods that are imported during a test would be removed, too
    before = dict(registry._ALGORITHMS)
    yield
    registry._ALGORITHMS.clear()
    registry._ALGORITHMS.update(before)


def plain_articulated_body(tree: Any, q: Any, qd: Any, tau: Any) -> Any:
    """The textbook's recursion, which knows nothing of joints that follow others."""
    w, a = tree.field(Spin), tree.field(Motion, base=tree.base_acceleration)
    P, z = tree.field(ArticulatedInertia), tree.field(Force)
    X, S, r, c, G, D, u = (tree.own() for _ in range(7))
    qdd = tree.output("v")
    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        w[i] = X[i] @ w[p] + vJ
        r[i] = X[i].centripetal(w[p])
        c[i] = w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        P[i], z[i] = i.inertia.articulated(), w[i].gyroscopic(i.inertia)
    for i, p in tree.inward():
        G[i], D[i], Pa = eliminate(P[i], S[i], i.armature)
        u[i] = tau[i] - S[i].T @ z[i]
        P[p] += X[i].T @ Pa @ X[i]
        z[p] += X[i].T @ (z[i] + Pa @ c[i] + G[i] @ u[i]) + X[i].T @ Pa @ X[i] @ r[i]
    for i, p in tree.outward():
        a_ = X[i] @ (a[p] + r[i]) + c[i]
        x = D[i].solve(u[i]) - G[i].T @ a_
        a[i] = a_ + S[i] @ x
        if not i.kind.follows:
            qdd[i] = x
    return qdd


@pytest.mark.slow
def test_a_recursion_that_does_not_know_them_is_refused() -> None:
    assert any(c.mimic for c in FOLLOWING.joints)
    on.algorithm("forward_dynamics", "textbook")(plain_articulated_body)
    q, v, tau = random_state(PLAIN, 1, (2,))
    assert_close(PLAIN.forward_dynamics(q, v, tau, method="textbook"), PLAIN.forward_dynamics(q, v, tau), METHODS)
    q, v, tau = random_state(FOLLOWING, 1, (2,))
    follower = next(c.name for c in FOLLOWING.joints if c.mimic)
    with pytest.raises(on.ArgumentError, match=f"'textbook'.*such as '{follower}'.*couplings=True"):
        FOLLOWING.forward_dynamics(q, v, tau, method="textbook")
    on.algorithm("forward_dynamics", "textbook, declared", couplings=True)(plain_articulated_body)
    wrong = FOLLOWING.forward_dynamics(q, v, tau, method="textbook, declared")
    assert np.abs(wrong - FOLLOWING.forward_dynamics(q, v, tau)).max() > 1e-2  # hence the question


def test_one_that_declares_them_is_asked() -> None:
    @on.algorithm("kinetic_energy", "own", couplings=True, refuses=lambda model: "" if model.nv > 1 else "too small")
    def own(tree: Any, q: Any, qd: Any) -> Any:
        return registry.find("kinetic_energy")[1].function(tree, q, qd, tree.zeros("motion"))

    q, v, _ = random_state(FOLLOWING, 1)
    found = FOLLOWING.kernel("kinetic_energy", "own")(q, v)
    assert_close(found, FOLLOWING.kinetic_energy(q, v), ROUNDING)
    with pytest.raises(on.ArgumentError, match="too small"):
        on.load("double-pendulum").lock("elbow").kernel("kinetic_energy", "own")


def test_its_own_reasons_count_besides() -> None:
    on.algorithm("forward_dynamics", "for nothing", refuses=lambda model: "it is for no robot")(plain_articulated_body)
    with pytest.raises(on.ArgumentError, match="it is for no robot"):
        PLAIN.kernel("forward_dynamics", "for nothing")
    with pytest.raises(on.ArgumentError, match="joints that follow others"):
        FOLLOWING.kernel("forward_dynamics", "for nothing")
