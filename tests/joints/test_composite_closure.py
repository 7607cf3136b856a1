"""Joints in series that close loops: residuals vanish where they can be, and nowhere else; coordinates are found."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any, ClassVar

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.joints import Joint, jets, row_count
from ordern.spatial import Freedoms, Motion, Pose, Subspace, Transform, Units
from tests.joints import custom
from tests.joints.composites import ALL, LOCATED, ONE, OPEN, SHARED, TWO, UNIQUE, A, P, R, S, X, Z, scaled
from tests.tolerances import COMPOSITE_LOCATED, COMPOSITE_ROUNDING

Array = Any


def composite(parts: Any) -> on.Composite:
    return on.Composite(tuple(parts))


def positions(joint: Joint, n: int) -> Array:
    free = np.full(joint.nq, np.inf)
    return joint.random(np.random.default_rng(5), (n,), -free, free)


def pose_of(joint: Joint, q: Any) -> Pose:
    return joint.transform(Freedoms(q)).child(Pose.zero())


def subspace(joint: Joint, q: Any) -> Array:
    return np.array([m.scalars for m in joint.subspace(Freedoms(q)).columns], float).reshape(-1, 6).T


def residuals(joint: Joint, pose: Pose) -> Array:
    return np.array(jets.residuals(joint, pose, 0.0), float)


def jacobian(joint: Joint, pose: Pose) -> Array:
    return np.array([w.scalars for w in jets.wrenches(joint, pose, 0.0)], float).reshape(-1, 6)


def size(joint: on.Composite) -> float:
    """How far its parts are from its frame: a unit for lengths."""
    far = max(float(np.linalg.norm(at.position)) for _, at in joint.parts)
    return max(far, 1.0) if far == 0.0 or far > 1e-3 else far


def moved(pose: Pose, twist: Any) -> Pose:
    """A pose after a screw motion along a twist in its own frame."""
    free = on.Free()
    q = free.locate(pose.rotation, pose.position)
    return pose_of(free, free.integrate(q, Freedoms(np.asarray(twist).tolist())))


def apart(one: Pose, other: Pose) -> float:
    turned = np.abs(np.array(one.rotation, float) - np.array(other.rotation, float)).max()
    shifted = np.abs(np.array(one.position, float) - np.array(other.position, float)).max()
    return float(max(turned, shifted / max(1.0, np.abs(np.array(other.position, float)).max())))


@pytest.mark.parametrize("name", ALL)
def test_residuals_vanish_where_parts_can_be_and_forbid_all_other_motions(name: str) -> None:
    joint = composite(ALL[name])
    rows, slips = row_count(joint)
    assert slips == 0
    unit = size(joint)
    lengths = np.array([1.0] * 3 + [1.0 / unit] * 3)[:, None]
    for q in positions(joint, 4):
        pose = pose_of(joint, q.tolist())
        assert np.abs(residuals(joint, pose)).max(initial=0.0) < COMPOSITE_ROUNDING * max(unit, 1.0)
        free, W = subspace(joint, q.tolist()) * lengths, jacobian(joint, pose) / lengths.T
        rank = np.linalg.matrix_rank(free, 1e-9)
        W = W / np.linalg.norm(W, axis=1, keepdims=True)
        assert rows == len(W) == 6 - rank
        assert (rank == joint.nv) == (name not in SHARED)
        assert np.linalg.matrix_rank(W, 1e-4) == rows
        assert np.abs(W @ free).max() < COMPOSITE_ROUNDING * 10.0


@pytest.mark.parametrize("name", LOCATED)
def test_coordinates_are_found(name: str) -> None:
    """Those that the parts have; or, where these can be in two postures or in several turns, some that lead there."""
    joint = composite(LOCATED[name])
    turning = list(joint.angles)
    for q in positions(joint, 8):
        wanted = pose_of(joint, q.tolist())
        found = np.array(joint.locate(wanted.rotation, wanted.position), float)
        assert apart(pose_of(joint, found.tolist()), wanted) < COMPOSITE_LOCATED
        if name not in UNIQUE or "H P" in name:
            continue
        off = found - q
        off[turning] -= 2.0 * np.pi * np.round(off[turning] / (2.0 * np.pi))
        for part, at in _quaternions(joint):
            off[at] = np.array((*part.difference(Freedoms(q[at]), Freedoms(found[at])), 0.0), float)
        assert np.abs(off).max() < COMPOSITE_LOCATED * max(1.0, np.abs(q).max())
    here = np.array(joint.locate(*_pair(pose_of(joint, list(joint.neutral())))), float)
    np.testing.assert_allclose(here, joint.neutral(), atol=1e-7)  # the root of rounding where an elbow is stretched


def _pair(pose: Pose) -> tuple[Any, Any]:
    return pose.rotation, pose.position


def _quaternions(joint: on.Composite) -> list[tuple[Joint, slice]]:
    found, start = [], 0
    for part, _ in joint.parts:
        if isinstance(part, on.Spherical):
            found.append((part, slice(start, start + 4)))
        start += part.nq
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", UNIQUE)
def test_residuals_vanish_nowhere_else(name: str) -> None:
    """From anywhere, Newton's method leads to poses without residual: all of them are poses of the joint."""
    joint = composite(UNIQUE[name])
    rng = np.random.default_rng(2)
    unit, closed = size(joint), 0
    for _ in range(5):
        pose = pose_of(joint, positions(joint, 1)[0].tolist())
        pose = moved(pose, rng.normal(size=6) * np.array([1.0] * 3 + [unit] * 3))
        scale = np.array([1.0] * 3 + [1.0 / unit] * 3)
        assert np.abs(residuals(joint, pose)).max() > 1e-3 * min(unit, 1.0)
        for _ in range(50):
            r, W = residuals(joint, pose), jacobian(joint, pose)
            if np.abs(r).max() < COMPOSITE_ROUNDING * max(unit, 1.0):
                break
            step = np.linalg.lstsq(W / scale, -r, rcond=1e-10)[0] / scale
            pose = moved(pose, step * min(1.0, 0.5 / np.abs(step * scale).max()))
        else:
            continue
        closed += 1
        W = jacobian(joint, pose)
        if np.linalg.cond(W / np.linalg.norm(W, axis=1, keepdims=True)) > 1e4:
            continue  # where shifts in different axes are parallel, the joint itself is singular
        again = pose_of(joint, list(joint.locate(pose.rotation, pose.position)))
        assert apart(again, pose) < 1e-10
    assert closed >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", LOCATED)
def test_what_is_closed_but_not_reached_is_told(name: str) -> None:
    """There is slack in all poses of the joint; and in poses without residual, exactly where coordinates lead there."""
    joint = composite(LOCATED[name])
    for q in positions(joint, 20):
        assert min(joint.reach_margin(*_pair(pose_of(joint, q.tolist()))), default=1.0) > -1e-12
    rng, unit = np.random.default_rng(8), size(joint)
    scale, missed = np.array([1.0] * 3 + [unit] * 3), 0
    for k in range(24 if name in BOUNDED else 0):
        pose = moved(pose_of(joint, positions(joint, 24)[k].tolist()), rng.normal(size=6) * scale / (1 + k % 4))
        for _ in range(50):
            r = residuals(joint, pose)
            if np.abs(r).max() < COMPOSITE_ROUNDING:
                break
            pose = moved(pose, np.linalg.lstsq(jacobian(joint, pose) * scale, -r, rcond=1e-10)[0] * scale)
        found = list(joint.locate(*_pair(pose)))
        assert np.isfinite(np.array(found, float)).all()
        off = apart(pose_of(joint, found), pose) > 1e-8
        assert off == (min(joint.reach_margin(*_pair(pose))) < 0.0)
        missed += off
    assert (missed > 0) == (name in BOUNDED) == bool(joint.reach_margin(*_pair(pose_of(joint, list(joint.neutral())))))


BOUNDED = (
    *("R R R, any through a point", "R U, a ball", "R R R, planar", "R R P, planar", "R P R, planar", "P R R, planar"),
    *("R R R P, all shifts", "P R S", "R R S, parallel", "U S"),
)
"""They reach only some of the poses that they have no residual against."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_jets_are_derivatives_along_a_motion(name: str) -> None:
    """Against 50-digit central differences along a screw motion whose velocity changes linearly."""
    joint = composite(ALL[name])
    rng = np.random.default_rng(11)
    free = on.Free()
    with mpmath.workdps(50):
        start = [mpmath.mpf(x) for x in rng.normal(size=4)]
        norm = mpmath.sqrt(sum(x * x for x in start))
        q = [*(x / norm for x in start), *(mpmath.mpf(x) for x in rng.normal(size=3) * size(joint))]
        v, a = ([mpmath.mpf(x) for x in rng.normal(size=6)] for _ in range(2))
        h, t = mpmath.mpf(10) ** -12, mpmath.mpf(0)

        def at(s: Any) -> Pose:
            moving = free.integrate(Freedoms(q), Freedoms((x + y * s / 2) * s for x, y in zip(v, a, strict=True)))
            return pose_of(free, list(moving))

        low, here, high = (jets.residuals(joint, at(s), t) for s in (-h, t, h))
        V, W = Motion.of(tuple(v)), Motion.of(tuple(a))
        rates, bias = jets.rates(joint, at(t), V, t), jets.bias(joint, at(t), V, W, t)
        for x, y, z, rate, second in zip(low, here, high, rates, bias, strict=True):
            largest = 1 + abs(rate) + abs(second) + abs(y)
            assert abs((z - x) / (2 * h) - rate) < 1e-15 * largest
            assert abs((z - 2 * y + x) / h**2 - second) < 1e-8 * largest


@pytest.mark.parametrize("name", SHARED)
def test_a_motion_that_two_parts_have_in_common_has_no_coordinates(name: str) -> None:
    joint = composite(SHARED[name])
    pose = pose_of(joint, list(joint.neutral()))
    with pytest.raises(on.ModelError, match=r"have a motion in common.*no springs, dampers, limits or drives"):
        joint.locate(pose.rotation, pose.position)


def test_closures_of_groups_are_those_of_single_joints() -> None:
    pairs = [
        (on.Composite((R(Z), P(Z))), on.Cylindrical(Z)),
        (on.Composite((P(X), R(Z), P((0, 1, 0)))), on.Planar(Z)),
        (on.Composite((R(Z), R((0, 1, 0)), R(X))), on.Spherical()),
        (on.Composite((R(Z), R(X))), on.Universal(Z, X)),
        (on.Composite((S(ONE), S(TWO))), on.Distance(float(np.linalg.norm(np.subtract(ONE, TWO))))),
    ]
    rng = np.random.default_rng(0)
    for several, single in pairs:
        for _ in range(5):
            Q = several.working_frame()
            pose = moved(Pose.zero(), rng.normal(size=6))  # in the axes of the child
            R0, p0 = np.array(pose.rotation), np.array(pose.position)
            if isinstance(single, on.Distance):  # between the two centres
                p1 = R0 @ np.array(TWO) + p0 - np.array(ONE)
                rows = single.closure(IDENTITY, tuple(p1.tolist()))
            else:
                T = single.working_frame()
                rows = single.closure(_rows(T.T @ R0 @ T), tuple((T.T @ p0).tolist()))
            found = np.array(several.closure(_rows(Q.T @ R0 @ Q), tuple((Q.T @ p0).tolist())), float)
            assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(np.array(rows, float)), rel=1e-12)


IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _rows(M: Array) -> Any:
    return tuple(map(tuple, M.tolist()))


@pytest.mark.parametrize("name", OPEN)
def test_what_has_no_closed_form_says_so(name: str) -> None:
    joint = composite(OPEN[name])
    kinds = ", ".join(type(part).__name__ for part, _ in joint.parts)
    said = rf"a Composite of {len(joint.parts)} joints \({kinds}\) cannot close a loop.*Let another joint.*put bodies"
    with pytest.raises(on.ModelError, match=said):
        row_count(joint)
    with pytest.raises(on.ModelError, match="cannot close a loop"):
        joint.locate(IDENTITY, (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Skate(Joint):
    """Turns, and moves ahead: constant motions whose bracket is none of them."""

    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def transform(self, q: Freedoms) -> Transform:
        return on.Cylindrical().transform(q)

    def subspace(self, q: Freedoms) -> Subspace:
        return Units((2, 3))


def test_joints_of_ones_own_are_parts_where_their_motions_make_a_group() -> None:
    own = on.Composite((custom.Cylindrical(), (custom.Helical(A, 0.05), ONE)))
    known = on.Composite((on.Cylindrical(), (on.Helical(A, 0.1 * np.pi), ONE)))
    rng = np.random.default_rng(1)
    for _ in range(5):
        pose = moved(Pose.zero(), rng.normal(size=6))
        np.testing.assert_allclose(residuals(own, pose), residuals(known, pose), atol=1e-14)
    with pytest.raises(on.ModelError, match="its part 2, Universal: its motions change with its position"):
        row_count(on.Composite((on.Revolute(), custom.Universal())))
    with pytest.raises(on.ModelError, match="its part 1, RollingDisc: its motions change with its position"):
        row_count(on.Composite((on.RollingDisc(0.2), on.Prismatic())))
    with pytest.raises(on.ModelError, match="its part 1, Skate: its motions do not form a group: 2 of them generate 3"):
        row_count(on.Composite((Skate(), on.Prismatic())))


def test_parts_that_do_not_move_leave_a_weld() -> None:
    weld = on.Composite((on.Fixed(), (on.Fixed(), ONE)))
    rng = np.random.default_rng(4)
    for _ in range(3):
        pose = moved(Pose.zero(), rng.normal(size=6))
        np.testing.assert_allclose(residuals(weld, pose), residuals(on.Fixed(), pose), atol=1e-15)
    assert weld.locate(IDENTITY, (0.0, 0.0, 0.0)) == ()


def test_angles_of_parts_are_angles() -> None:
    joint = on.Composite((S(ONE), R(A), P(X), on.Universal()))
    assert joint.angles == (4, 6, 7)
    assert on.Composite((R(Z),)).angles == (0,)


def test_it_can_be_pickled_after_use() -> None:
    joint = composite(LOCATED["R R R, wrist"])
    pose = pose_of(joint, [0.1, 0.2, 0.3])
    before = joint.locate(*_pair(pose)), joint.closure(*_pair(pose))
    again = pickle.loads(pickle.dumps(joint))
    assert again == joint and hash(again) == hash(joint)
    assert (again.locate(*_pair(pose)), again.closure(*_pair(pose))) == before


def test_axes_that_nearly_meet_are_not_taken_to_meet() -> None:
    """A tenth of a millimetre is no rounding; and what is rounding does not depend on the unit."""
    for unit in (1e-6, 1.0, 1e6):
        off = (ONE[0], ONE[1], ONE[2] + 1e-4)
        wrist = on.Composite((R(Z, scaled(ONE, unit)), R(A, scaled(ONE, unit)), R(X, scaled(off, unit))))
        with pytest.raises(on.ModelError, match="cannot close a loop"):
            row_count(wrist)
        near = tuple((np.array(ONE) * (1.0 + 1e-12)).tolist())
        wrist = on.Composite((R(Z, scaled(ONE, unit)), R(A, scaled(ONE, unit)), R(X, scaled(near, unit))))
        assert row_count(wrist) == (3, 0)
