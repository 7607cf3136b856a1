"""One joint and another way to write it: a composite and its parts in series, a screw, a cross, a plane."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_state
from tests.tolerances import INVERSION, ROUNDING, assert_close

BODY = {"mass": 1.3, "com": (0.1, -0.2, 0.3), "inertia": (0.5, 0.6, 0.7, 0.01, 0.02, -0.03)}
AT = ((0.3, 0.1, -0.2), (0.2, -0.4, 0.6))


def one(joint: on.Joint) -> on.Robot:
    return on.Builder("one").body("base").body("body", parent="base", joint=joint, at=AT, **BODY).build()


def series(*joints: tuple[on.Joint, object]) -> on.Robot:
    """Massless bodies between joints that are placed in the last body's frame at the neutral position."""
    builder = on.Builder("series").body("base")
    before, parent = on.Placement(), "base"
    for k, (joint, at) in enumerate(joints):
        here = on.Placement.xyz_rpy(*at)
        step = on.Placement.xyz_rpy(*AT) @ here if k == 0 else before.inverse @ here
        builder.body(f"part{k}", parent=parent, joint=joint, at=step)
        before, parent = here, f"part{k}"
    return builder.body("body", parent=parent, joint=on.Fixed(), at=before.inverse, **BODY).build()


ZERO = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
SHIFTED = ((0.1, 0.2, -0.3), (0.5, -0.1, 0.2))
PAIRS = {
    "cylindrical": (on.Cylindrical((1, 2, 0)), ((on.Revolute((1, 2, 0)), ZERO), (on.Prismatic((1, 2, 0)), ZERO))),
    "universal": (
        on.Universal((0, 1, 0), (0, 0, 1)),
        ((on.Revolute((0, 1, 0)), ZERO), (on.Revolute((0, 0, 1)), ZERO)),
    ),
    "composite": (
        on.Composite(
            (
                (on.Revolute((1, 0, 0)), SHIFTED),
                on.Prismatic((0, 1, 1)),
                (on.Helical((0, 0, 1), 0.3), ((0.2, 0, 0), (0, 0, 0))),
            )
        ),
        (
            (on.Revolute((1, 0, 0)), SHIFTED),
            (on.Prismatic((0, 1, 1)), ZERO),
            (on.Helical((0, 0, 1), 0.3), ((0.2, 0, 0), (0, 0, 0))),
        ),
    ),
    "composite of composites": (
        on.Composite(((on.Composite(((on.Revolute(), SHIFTED), on.Universal())), SHIFTED), on.Revolute((0, 1, 0)))),
        None,
    ),
}
INNER = on.Placement.xyz_rpy(*SHIFTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, (_, parts) in PAIRS.items() if parts])
def test_a_joint_is_its_parts_in_series(name: str) -> None:
    joint, parts = PAIRS[name]
    whole, apart = one(joint), series(*parts)
    q, v, a = random_state(whole, 3, (5,))
    assert whole.nv == apart.nv
    assert_close(whole.pose(q, "body"), apart.pose(q, "body"), ROUNDING)
    assert_close(whole.mass_matrix(q), apart.mass_matrix(q), ROUNDING)
    assert_close(whole.inverse_dynamics(q, v, a), apart.inverse_dynamics(q, v, a), ROUNDING)
    assert_close(whole.jacobian(q, "body"), apart.jacobian(q, "body"), ROUNDING)
    M, bias = apart.mass_matrix(q), apart.bias_force(q, v)
    expected = np.linalg.solve(M, (a - bias)[..., None])[..., 0]
    for way in ("interpreted", "unrolled", "rolled"):
        assert_close(whole.kernel("forward_dynamics", way=way)(q, v, a), expected, INVERSION)


def test_composites_nest() -> None:
    nested, _ = PAIRS["composite of composites"]
    at = INNER @ INNER
    flat = on.Composite(
        (
            (on.Revolute(), (at.matrix)),
            (on.Universal(), INNER),
            on.Revolute((0, 1, 0)),
        )
    )
    whole, apart = one(nested), one(flat)
    q, v, a = random_state(whole, 4, (5,))
    assert_close(whole.inverse_dynamics(q, v, a), apart.inverse_dynamics(q, v, a), ROUNDING)


def test_a_screw_of_no_pitch_is_a_hinge() -> None:
    screw, hinge = one(on.Helical((1, 1, 0), 0.0)), one(on.Revolute((1, 1, 0)))
    q, v, a = random_state(hinge, 5, (5,))
    assert_close(screw.inverse_dynamics(q, v, a), hinge.inverse_dynamics(q, v, a), ROUNDING)


def test_a_full_turn_of_a_screw_is_its_pitch() -> None:
    robot = on.Builder("s").body("b").body("n", parent="b", joint=on.Helical((0, 1, 0), 0.25)).build()
    assert_close(robot.pose([2 * np.pi], "n")[:3, 3], [0.0, 0.25, 0.0], ROUNDING)


def test_a_plane_is_two_slides_and_a_hinge() -> None:
    """Its velocities are in the turned axes, those of the slides in fixed ones."""
    plane = one(on.Planar((0, 0, 1)))
    apart = series((on.Prismatic((1, 0, 0)), ZERO), (on.Prismatic((0, 1, 0)), ZERO), (on.Revolute((0, 0, 1)), ZERO))
    q, v, _ = random_state(plane, 6)
    (angle, x, y), (w, *u) = q, v
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    q2, v2 = np.array([x, y, angle]), np.array([*(turn @ u), w])
    assert_close(plane.pose(q, "body"), apart.pose(q2, "body"), ROUNDING)
    assert_close(plane.velocity(q, v, "body"), apart.velocity(q2, v2, "body"), ROUNDING)
    assert_close(plane.kinetic_energy(q, v), apart.kinetic_energy(q2, v2), ROUNDING)
    tau = plane.gravity_force(q)
    tau2 = apart.gravity_force(q2)
    assert_close(tau, [tau2[2], *(turn.T @ tau2[:2])], ROUNDING)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: on.Universal((1, 0, 0), (1, 1, 0)), "must be perpendicular"),
        (lambda: on.Helical((0, 0, 0)), "must have a direction"),
        (lambda: on.Helical((0, 0, 1), float("nan")), "pitch must be a finite number"),
        (lambda: on.Composite(()), "at least one part"),
        (lambda: on.Composite((3,)), "a part of a Composite is a joint or a pair"),
        (lambda: on.Composite(((on.Revolute(), "x"),)), "cannot read 'x' as a placement"),
        (lambda: on.Planar((0, 0, 10**400)), "three numbers"),
    ],
)
def test_joints_that_are_none(make, message: str) -> None:
    with pytest.raises(on.ModelError, match=message):
        make()
