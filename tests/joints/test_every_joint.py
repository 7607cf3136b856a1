"""What every type of joint must keep, ours and users' alike."""

from __future__ import annotations

import math
import pickle
from dataclasses import fields, is_dataclass

import mpmath
import numpy as np
import pytest

import ordern as on
from ordern.graph import Graph
from ordern.spatial import Chain, Columns, Freedoms, Transform, Units
from tests.graph.evaluation import evaluate, forward
from tests.joints.poses import (
    MOVING,
    ROTATING,
    SEEDS,
    along,
    as_float,
    digits,
    exponential,
    hat,
    pose,
    rate,
    sample,
)
from tests.random_models import ALL_JOINTS
from tests.tolerances import EXACT, ROUNDING, assert_close

every_joint = pytest.mark.parametrize("type", ALL_JOINTS, ids=lambda t: t.__name__)
every_moving_joint = pytest.mark.parametrize("type", MOVING, ids=lambda t: t.__name__)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def _same_position(type: type[on.Joint], a: Freedoms, b: Freedoms, tolerance: float) -> None:
    """Equal numbers, but for the sign of a quaternion, and for full turns of a continuous joint."""
    x, y = as_float(a), as_float(b)
    if type is on.Continuous:
        x = y + np.remainder(x - y + np.pi, 2.0 * np.pi) - np.pi
    if type in ROTATING and x[:4] @ y[:4] < 0.0:
        x[:4] *= -1.0
    assert_close(x, y, tolerance)


@every_joint
def test_neutral_is_where_the_frames_meet(type) -> None:
    joint, _, _ = sample(type, 0)
    neutral = joint.neutral()
    assert len(neutral) == joint.nq
    assert all(isinstance(x, float) for x in neutral)
    assert_close(as_float(pose(joint.transform(Freedoms(neutral)))), np.eye(4), EXACT)


@every_joint
@every_seed
def test_transform_is_rigid(type, seed) -> None:
    joint, q, _ = sample(type, seed)
    X = joint.transform(q)
    assert isinstance(X, Transform | Chain)
    R = as_float(pose(X))[:3, :3]
    assert_close(R @ R.T, np.eye(3), ROUNDING)
    assert np.linalg.det(R) > 0


@every_moving_joint
@every_seed
def test_the_subspace_is_the_velocity_of_the_transform(type, seed) -> None:
    joint, q, v = sample(type, seed)
    with mpmath.workdps(60):
        q, v = digits(q), digits(v)
        moving = along(joint, q, v)
        T = pose(joint.transform(moving(mpmath.mpf(0))))
        dT = rate(lambda t: pose(joint.transform(moving(t))))
        R = T[:3, :3]
        body = np.zeros((4, 4), object)
        body[:3, :3], body[:3, 3] = R.T @ dT[:3, :3], R.T @ dT[:3, 3]
        assert_close(as_float(body), as_float(hat(joint.subspace(q) @ v)), ROUNDING)


@every_moving_joint
@every_seed
def test_each_freedom_is_a_column(type, seed) -> None:
    joint, q, _ = sample(type, seed)
    S = joint.subspace(q)
    assert len(S.columns) == joint.nv
    for k, column in enumerate(S.columns):
        unit = Freedoms(1.0 if j == k else 0.0 for j in range(joint.nv))
        assert as_float((S @ unit).scalars).tolist() == as_float(column.scalars).tolist()


@every_moving_joint
@every_seed
def test_the_bias_is_the_rate_of_the_subspace(type, seed) -> None:
    joint, q, v = sample(type, seed)
    with mpmath.workdps(60):
        q, v = digits(q), digits(v)
        moving = along(joint, q, v)
        found = joint.bias(q, v).scalars
        wanted = rate(lambda t: (joint.subspace(moving(t)) @ v).scalars)
        assert_close(as_float(found), as_float(wanted), ROUNDING)


def test_some_joint_has_a_bias() -> None:
    """Else the test before would say little."""
    biases = [joint.bias(q, v).scalars for joint, q, v in (sample(type, 0) for type in MOVING)]
    assert any(any(bias) for bias in biases)


@every_moving_joint
@pytest.mark.parametrize("size", [1e-12, 1e-3, 0.00999, 0.01001, 0.0999, 0.1001, 1.0, 3.0, 30.0])
def test_integrate_is_the_exponential_of_a_constant_velocity(type, size) -> None:
    """The sizes lie on both sides of where series take over."""
    joint, q, v = sample(type, 1)
    if any(joint.bias(q, v).scalars):
        return  # its velocity does not stay the same in the child's frame; see the test of halves
    length = math.sqrt(sum(x * x for x in v[:3]))
    v = v * (size / length)
    got = pose(joint.transform(joint.integrate(q, v)))
    with mpmath.workdps(50):
        moved = exponential(hat(joint.subspace(digits(q)) @ digits(v)))
        assert_close(got, as_float(pose(joint.transform(digits(q))) @ moved), EXACT * 20)


@every_moving_joint
@every_seed
def test_two_halves_are_a_whole(type, seed) -> None:
    joint, q, v = sample(type, seed)
    half = joint.integrate(joint.integrate(q, v * 0.5), v * 0.5)
    _same_position(type, half, joint.integrate(q, v), EXACT * 20)


@every_moving_joint
def test_no_velocity_is_no_motion(type) -> None:
    joint, q, v = sample(type, 0)
    _same_position(type, joint.integrate(q, v * 0.0), q, EXACT)
    assert_close(as_float(joint.difference(q, q)), np.zeros(joint.nv), EXACT)


@every_moving_joint
@pytest.mark.parametrize(
    "size", [1e-300, 1e-20, 1e-8, 1e-3, 0.00999, 0.01001, 0.0999, 0.1001, 1.0, 3.0, 3.1415, 3.14159265]
)
def test_difference_undoes_integrate(type, size) -> None:
    joint, q, v = sample(type, 2)
    length = math.sqrt(sum(x * x for x in v[:3]))
    v = v * (size / length)
    found = joint.difference(q, joint.integrate(q, v))
    # near half a turn the way back is not well defined: a quaternion's rounding is all that tells the sides apart
    assert_close(as_float(found), as_float(v), EXACT * 100)


@every_moving_joint
def test_tiny_velocities_are_kept_relative_to_their_size(type) -> None:
    """From the neutral position nothing is added to them."""
    joint, _, v = sample(type, 2)
    neutral = Freedoms(joint.neutral())
    v = v * 1e-30
    found = as_float(joint.difference(neutral, joint.integrate(neutral, v)))
    assert_close(found * 1e30, as_float(v) * 1e30, ROUNDING)


@every_moving_joint
@every_seed
def test_integrate_undoes_difference(type, seed) -> None:
    joint, q0, _ = sample(type, seed)
    free = np.full(joint.nq, np.inf)
    q1 = Freedoms(joint.random(np.random.default_rng(seed + 100), (), -free, free).tolist())
    _same_position(type, joint.integrate(q0, joint.difference(q0, q1)), q1, EXACT * 20)


@every_moving_joint
def test_derivatives_at_rest(type) -> None:
    """Where series take over, both sides of each branch must have finite derivatives: NaN times zero is NaN."""
    joint, q, _ = sample(type, 0)
    graph = Graph(type.__name__)
    v = Freedoms(graph.leaf(k) for k in range(joint.nv))
    q1 = joint.integrate(q, v)
    roots = [graph.lift(x) for x in (*q1, *joint.difference(q, q1))]
    for k in range(joint.nv):
        rates = evaluate([graph.lift(x) for x in forward(roots, {v[k]: 1.0})], dict.fromkeys(range(joint.nv), 0.0))
        with mpmath.workdps(60):
            wanted = rate(
                lambda t, k=k: joint.integrate(digits(q), Freedoms(t if j == k else 0 for j in range(joint.nv)))
            )
        assert_close(rates[: joint.nq], as_float(wanted), ROUNDING)
        assert_close(rates[joint.nq :], np.eye(joint.nv)[k], ROUNDING)


@pytest.mark.parametrize("type", ROTATING, ids=lambda t: t.__name__)
class TestQuaternions:
    def test_stay_units(self, type) -> None:
        joint, q, v = sample(type, 0)
        for _ in range(500):
            q = joint.integrate(q, v)
            assert abs(sum(x * x for x in q[:4]) - 1.0) < EXACT * 4

    def test_are_made_units_again(self, type) -> None:
        joint, q, v = sample(type, 0)
        long = Freedoms((*(1.001 * x for x in q[:4]), *q[4:]))
        found = joint.integrate(long, v)
        assert abs(sum(x * x for x in found[:4]) - 1.0) < EXACT * 4

    def test_and_their_opposites_are_one_rotation(self, type) -> None:
        joint, q, v = sample(type, 1)
        opposite = Freedoms((*(-x for x in q[:4]), *q[4:]))
        assert_close(pose(joint.transform(opposite)), pose(joint.transform(q)), EXACT)
        q1 = joint.integrate(q, v)
        for a in (q, opposite):
            assert_close(as_float(joint.difference(a, q1)), as_float(joint.difference(q, q1)), EXACT * 20)

    @pytest.mark.parametrize("excess", [-1e-3, -1e-8, 1e-8, 1e-3])
    def test_the_short_way_round(self, type, excess) -> None:
        """Half a turn and a little more is half a turn and a little less the other way."""
        joint, q, v = sample(type, 1)
        axis = np.array(v[:3]) / np.linalg.norm(v[:3])
        turn = Freedoms((*((np.pi + excess) * axis).tolist(), *([0.0] * (joint.nv - 3))))
        found = as_float(joint.difference(q, joint.integrate(q, turn)))[:3]
        wanted = (np.pi + excess) * axis if excess < 0 else (excess - np.pi) * axis
        assert_close(found, wanted, EXACT * 20)

    def test_random_rotations_are_spread_evenly(self, type) -> None:
        joint, _, _ = sample(type, 0)
        free = np.full(joint.nq, np.inf)
        q = joint.random(np.random.default_rng(0), (4000,), -free, free)
        assert_close(np.linalg.norm(q[:, :4], axis=1), np.ones(4000), EXACT)
        second_moment = q[:, :4].T @ q[:, :4] / 4000
        # 1/4 on the diagonal for an even spread; 4000 samples are good to about 0.005
        assert np.abs(second_moment - np.eye(4) / 4).max() < 0.025


@every_joint
class TestRandom:
    def test_shape_and_repetition(self, type) -> None:
        joint, _, _ = sample(type, 0)
        free = np.full(joint.nq, np.inf)
        draws = [joint.random(np.random.default_rng(5), (4, 2), -free, free) for _ in range(2)]
        assert draws[0].shape == (4, 2, joint.nq)
        assert (draws[0] == draws[1]).all()

    def test_within_limits(self, type) -> None:
        joint, _, _ = sample(type, 0)
        start = 4 if type in ROTATING else 0
        for lower, upper in ((-0.5, 0.25), (2.0, 2.5), (-9.0, -8.0), (0.0, 10.0)):
            low, high = np.full(joint.nq, lower), np.full(joint.nq, upper)
            q = joint.random(np.random.default_rng(0), (50,), low, high)[:, start:]
            assert ((q >= lower) & (q <= upper)).all()
            if q.size:
                assert np.ptp(q) > 0.5 * (upper - lower)

    def test_within_a_limit_on_one_side(self, type) -> None:
        joint, _, _ = sample(type, 0)
        start = 4 if type in ROTATING else 0
        free = np.full(joint.nq, np.inf)
        for limit in (-7.0, -4.0, 0.0, 4.0, 7.0):
            bound = np.full(joint.nq, limit)
            above = joint.random(np.random.default_rng(0), (50,), bound, free)[:, start:]
            below = joint.random(np.random.default_rng(0), (50,), -free, bound)[:, start:]
            assert (above >= limit).all(), f"below the lower limit {limit}"
            assert (below <= limit).all(), f"above the upper limit {limit}"


@every_joint
class TestAsAValue:
    def test_frozen_and_hashable(self, type) -> None:
        joint, _, _ = sample(type, 0)
        assert is_dataclass(joint)
        hash(joint)
        for f in fields(joint):
            with pytest.raises(AttributeError):
                setattr(joint, f.name, None)

    def test_equal_by_its_fields(self, type) -> None:
        assert sample(type, 0)[0] == sample(type, 0)[0]
        if {f.name for f in fields(type)} - {"parts"}:
            assert sample(type, 0)[0] != sample(type, 1)[0]

    def test_pickle(self, type) -> None:
        joint, _, _ = sample(type, 0)
        assert pickle.loads(pickle.dumps(joint)) == joint

    def test_turn_is_a_rotation(self, type) -> None:
        joint, _, _ = sample(type, 0)
        Q = joint.working_frame()
        assert_close(Q @ Q.T, np.eye(3), EXACT * 4)
        assert np.linalg.det(Q) > 0
        if hasattr(joint, "axis"):
            assert_close(Q[:, 2], joint.axis, EXACT)

    def test_with_its_own_parameters_it_is_itself(self, type) -> None:
        joint, _, _ = sample(type, 0)
        again = joint.with_parameters(joint.parameters)
        assert again == joint
        assert again.kind == joint.kind
        assert all(isinstance(p, float) for p in joint.parameters)

    def test_traced_parameters_stay_in_its_formulas(self, type) -> None:
        """Joints of a kind are traced once: whatever tells them apart must be a parameter."""
        (a, q, _), (b, _, _) = sample(type, 0), sample(type, 1)
        assert a.kind == b.kind
        moved = a.with_parameters(b.parameters)
        assert_close(pose(moved.transform(q)), pose(b.transform(q)), EXACT)
        assert (moved.subspace(q) @ _ones(a)).scalars == (b.subspace(q) @ _ones(b)).scalars

    def test_traces(self, type) -> None:
        """No branch and no conversion: formulas over graph nodes work."""
        joint, q, v = sample(type, 0)
        graph = Graph(type.__name__)
        joint = joint.with_parameters(tuple(graph.leaf(("p", k)) for k in range(len(joint.parameters))))
        q = Freedoms(graph.leaf(("q", k)) for k in range(joint.nq))
        v = Freedoms(graph.leaf(("v", k)) for k in range(joint.nv))
        assert isinstance(joint.transform(q), Transform | Chain)
        assert isinstance(joint.subspace(q), Units | Columns)
        assert len(joint.bias(q, v).scalars) == 6
        assert len(joint.integrate(q, v)) == joint.nq
        assert len(joint.difference(q, q)) == joint.nv


def _ones(joint: on.Joint) -> Freedoms:
    return Freedoms([1.0] * joint.nv)


@every_moving_joint
def test_over_arrays_as_over_floats(type) -> None:
    joint, _, _ = sample(type, 0)
    rng = np.random.default_rng(0)
    free = np.full(joint.nq, np.inf)
    q, v = joint.random(rng, (5,), -free, free), rng.normal(size=(5, joint.nv)) * [[1e-5], [0.05], [0.5], [1], [4]]
    together = np.array(np.broadcast_arrays(*joint.integrate(Freedoms(q.T), Freedoms(v.T)))).T
    for k in range(5):
        single = joint.integrate(Freedoms(q[k].tolist()), Freedoms(v[k].tolist()))
        assert_close(together[k], as_float(single), EXACT * 4)
