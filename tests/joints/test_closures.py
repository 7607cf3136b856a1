"""What closes loops: residuals vanish exactly on the motions left free, with independent rows; jets are exact."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.graph import Jet
from ordern.joints import Closure, Joint, jets, row_count
from ordern.spatial import Freedoms, Motion, Pose
from tests.tolerances import LOOP_CLOSED, ROUNDING

JOINTS: list[Joint] = [
    on.Fixed(),
    on.Revolute((1, 2, 3)),
    on.Continuous((0, 1, 0)),
    on.Prismatic((1, 0, 1)),
    on.Helical((0, 1, 2), 0.3),
    on.Helical((0, 0, 1), -0.02),
    on.Helical((0, 0, 1), 0.0),
    on.Cylindrical((1, 1, 0)),
    on.Planar((1, 2, 0)),
    on.Spherical(),
    on.Universal((0, 0, 1), (0, 1, 0)),
    on.Free(),
    on.RollingDisc(0.3),
    on.Composite(((on.Revolute((0, 1, 1)), (0.1, 0.2, 0.3)),)),
    on.Composite(((on.RollingDisc(0.3), ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3))),)),
]
OTHERS: list[Closure] = [
    on.Distance(0.4),
    on.PointOnLine((1, 2, 1)),
    on.PointOnPlane((1, 1, 2)),
    on.KnifeEdge((1, 0, 2)),
    on.RollingBall(0.3, (0, 1, 1)),
    on.Driven(on.Revolute((1, 2, 2)), (0.1, 0.2, 0.3), 0.4, 2.0, 0.1),
    on.Driven(on.Prismatic((1, 2, 2)), (0.1, -0.2)),
    on.Driven(on.Helical((1, 0, 0), 0.1), (0.1, -0.2)),
]


def named(x: object) -> str:
    return type(x).__name__


def pose_of(joint: Joint, q: Any) -> Pose:
    return joint.transform(Freedoms(q)).child(Pose.zero())


def positions(joint: Joint, n: int = 20) -> np.ndarray:
    free = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(5), (n,), -free, free)


def W_of(closure: Closure, pose: Pose, t: float = 0.0) -> np.ndarray:
    rows = [w.scalars for w in jets.wrenches(closure, pose, t)]
    return np.array(rows, float).reshape(-1, 6)


@pytest.mark.parametrize("joint", JOINTS, ids=named)
def test_residuals_vanish_on_a_joints_motions_with_independent_rows_that_forbid_all_others(joint: Joint) -> None:
    for q in positions(joint):
        pose = pose_of(joint, q.tolist())
        holonomic, slips = row_count(joint)
        found = np.array(jets.residuals(joint, pose, 0.0), float)
        assert found.shape == (holonomic + slips,)
        assert np.abs(found).max(initial=0.0) < LOOP_CLOSED
        W = W_of(joint, pose)
        S = np.array([m.scalars for m in joint.subspace(Freedoms(q.tolist())).columns], float).reshape(-1, 6).T
        assert W.shape == (6 - joint.nv, 6)
        assert np.linalg.matrix_rank(W, 1e-6) == 6 - joint.nv
        assert np.abs(W @ S).max(initial=0.0) < LOOP_CLOSED


@pytest.mark.parametrize("joint", JOINTS, ids=named)
def test_coordinates_are_found_again(joint: Joint) -> None:
    for q in positions(joint):
        wanted = pose_of(joint, q.tolist())
        again = pose_of(joint, list(joint.locate(wanted.rotation, wanted.position)))
        np.testing.assert_allclose(again.rotation, wanted.rotation, atol=LOOP_CLOSED)
        np.testing.assert_allclose(again.position, wanted.position, atol=LOOP_CLOSED)


def test_a_screw_keeps_its_turns() -> None:
    joint = on.Helical((0, 0, 1), 0.02)
    for q in (-20.0, 0.3, 51.0):
        pose = pose_of(joint, [q])
        assert joint.locate(pose.rotation, pose.position)[0] == pytest.approx(q, rel=1e-12)
        assert np.abs(jets.residuals(joint, pose, 0.0)).max() < LOOP_CLOSED
    pose = pose_of(joint, [0.3])
    moved = Pose(pose.rotation, (0.0, 0.0, pose.position[2] + 0.004))
    assert jets.residuals(joint, moved, 0.0)[4] == pytest.approx(0.004, rel=1e-9)
    turned = Pose(pose.rotation, (0.0, 0.0, pose.position[2] + 0.02))  # closed again, a turn on
    assert np.abs(jets.residuals(joint, turned, 0.0)).max() < LOOP_CLOSED


def test_half_a_turn_is_not_closed() -> None:
    x, y, z = np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0]), np.diag([-1.0, -1.0, 1.0])
    for R in (x, y, z):
        pose = Pose(tuple(map(tuple, R.tolist())), (0.0, 0.0, 0.0))
        assert np.linalg.norm(np.array(jets.residuals(on.Fixed(), pose, 0.0), float)) == pytest.approx(2.0)
        hinge = np.linalg.norm(np.array(jets.residuals(on.Revolute(), pose, 0.0), float))
        assert hinge == pytest.approx(0.0 if R is z else 2.0)
    near = pose_of(on.Revolute(), [np.pi - 1e-5])
    assert np.linalg.norm(np.array(jets.residuals(on.Fixed(), near, 0.0), float)) == pytest.approx(2.0)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.6, 0.0, 0.8), (0.36, 0.48, -0.8)])
def test_rotations_are_measured_by_twice_the_sine_of_half_the_angle(axis: tuple[float, ...]) -> None:
    for angle in (1e-9, 0.1, 1.0, 3.0):
        half = np.sin(0.5 * angle) * np.array(axis)
        pose = pose_of(on.Spherical(), [np.cos(0.5 * angle), *half.tolist()])
        rows = np.array(jets.residuals(on.Fixed(), pose, 0.0), float)[:3]
        np.testing.assert_allclose(rows, 2.0 * half, rtol=1e-12, atol=ROUNDING)


@pytest.mark.parametrize("closure", [*JOINTS, *OTHERS], ids=named)
def test_jets_are_derivatives_along_a_motion(closure: Closure) -> None:
    """Against 50-digit central differences along a screw motion whose velocity changes linearly."""
    rng = np.random.default_rng(11)
    with mpmath.workdps(50):
        q = [mpmath.mpf(float(x)) for x in (0.9, 0.1, -0.3, 0.2, 0.4, -0.2, 0.5)]
        norm = mpmath.sqrt(sum(x * x for x in q[:4]))
        q = [*(x / norm for x in q[:4]), *q[4:]]
        v, a = ([mpmath.mpf(float(x)) for x in rng.normal(size=6)] for _ in range(2))
        V, A, t = Motion.of(tuple(v)), Motion.of(tuple(a)), mpmath.mpf("0.7")

        def at(s: Any) -> tuple[Pose, Motion]:
            # the velocity is v + a s; to second order that is the screw v + a s / 2 for the time s
            moved = on.Free().integrate(Freedoms(q), Freedoms((x + y * s / 2) * s for x, y in zip(v, a, strict=True)))
            return pose_of(on.Free(), list(moved)), Motion.of(tuple(x + y * s for x, y in zip(v, a, strict=True)))

        h = mpmath.mpf(10) ** -12
        (pose, _), (up, fast), (down, slow) = at(mpmath.mpf(0)), at(h), at(-h)
        n = row_count(closure)[0]
        r0, r1, r2 = (jets.residuals(closure, p, t + s) for p, s in ((down, -h), (pose, 0), (up, h)))
        rates, bias = jets.rates(closure, pose, V, t), jets.bias(closure, pose, V, A, t)
        for k in range(n):
            assert abs((r2[k] - r0[k]) / (2 * h) - rates[k]) < 1e-18
            assert abs((r2[k] - 2 * r1[k] + r0[k]) / h**2 - bias[k]) < 1e-10
        slip = [closure.slip(p.rotation, p.position, w) for p, w in ((down, slow), (up, fast))]
        for k, (low, high) in enumerate(zip(*slip, strict=True)):
            assert abs((high - low) / (2 * h) - bias[n + k]) < 1e-10
        rows = jets.wrenches(closure, pose, t)
        still = jets.rates(closure, pose, Motion.zero(), t)
        for k, w in enumerate(rows):
            assert abs(w.dot(V) + still[k] - rates[k]) < 1e-30


def test_second_derivatives_by_nested_jets() -> None:
    x = Jet(Jet(0.3, 1.0), Jet(1.0, 0.0))
    y = x * x * x
    assert (y.rate.rate, y.rate.value) == (pytest.approx(1.8), pytest.approx(0.27))


def test_what_cannot_close_a_loop_says_so() -> None:
    three = on.Composite((on.Revolute(), (on.Revolute((1, 0, 0)), (0, 0, 0.1)), (on.Revolute((0, 1, 0)), (0.2, 0, 0))))
    with pytest.raises(on.ModelError, match=r"a Composite of 3 joints \(.*\) cannot close a loop"):
        row_count(three)
    with pytest.raises(on.ModelError, match=r"length of a Distance must be positive.*use Spherical"):
        on.Distance(0.0)
    with pytest.raises(on.ModelError, match="must be a joint with one freedom"):
        on.Driven(on.Spherical())
    with pytest.raises(on.ModelError, match="finite"):
        on.Driven(on.Revolute(), (np.inf,))
    with pytest.raises(on.ModelError, match="radius of a RollingBall"):
        on.RollingBall(-1.0)
