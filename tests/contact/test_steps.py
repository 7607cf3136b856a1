"""Steps with contacts: all ways of running agree, derivatives, and geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms.contact.cone import inverse, natural_residual, regular, solved
from ordern.errors import ArgumentError
from ordern.model.contacts import CERTIFICATE
from tests.contact.robots import ball, block, floating, hopper

H = 2e-3


def walker() -> on.Robot:
    return hopper().with_contacts(on.Ground(0.5, restitution=0.2), points={"foot": 0.02}, sweeps=4)


def arguments(robot: on.Robot, count: int = 5) -> list[Any]:
    """Return the arguments of the question for states near the ground, some in contact."""
    rng = np.random.default_rng(3)
    q = robot.integrate(np.array([1, 0, 0, 0, 0, 0, 0.42, 0.2, -0.3]), 0.1 * rng.standard_normal((count, 8)))
    v, tau = rng.standard_normal((2, count, 8))
    surfaces = np.tile([0.5, 0.2, 0.0], (count, 1, 1))
    impulses, stops = np.abs(0.01 * rng.standard_normal((count, 1, 3))), np.zeros(8)
    return [q, v, tau, H, 0.1 * np.ones(8), robot.lower, robot.upper, impulses, stops, surfaces]


def test_compiled_steps_are_the_interpreted_ones() -> None:
    robot = walker()
    given = arguments(robot)
    expected = robot.kernel("contact_step", way="interpreted")(*given)
    np.testing.assert_allclose(robot.kernel("contact_step")(*given), expected, rtol=1e-11, atol=1e-11)
    assert (expected[:, 17:20] != 0.0).any()


def test_a_rollout_takes_such_steps() -> None:
    robot = walker()
    q0, v0 = arguments(robot)[:2]
    run = robot.rollout(q0, v0, steps=3, dt=H)
    q, v, impulses, stops = q0, v0, None, None
    for k in range(1, 4):
        passive = robot.passive_force(q, v)
        step = robot.contact_step(q, v, passive, H, impulses=impulses, stops=stops)
        q, v, impulses, stops = step.q, step.v, step.impulses, step.stops
        np.testing.assert_allclose(run.q[:, k], q, atol=1e-13)
        np.testing.assert_allclose(run.contact_impulses[:, k], impulses, atol=1e-13)
        np.testing.assert_allclose(run.certificate.residual[:, k], step.residual, atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["q", "v", "tau"])
def test_derivatives_are_those_of_differences(name: str) -> None:
    robot = walker()
    given, place = arguments(robot), ["q", "v", "tau"].index(name)
    rng = np.random.default_rng(1)
    along = rng.standard_normal((len(given[0]), 8))

    def moved(s: float) -> Any:
        some = list(given)
        some[place] = robot.integrate(given[0], s * along) if name == "q" else given[place] + s * along
        return robot.kernel("contact_step")(*some)

    tangents = [None] * len(given)
    tangents[place] = along
    found = robot.jvp("contact_step", given, tangents)
    e = 1e-6
    expected = (moved(e) - moved(-e)) / (2.0 * e)
    np.testing.assert_allclose(found[:, 9:20], expected[:, 9:20], rtol=1e-5, atol=1e-5)  # velocities and impulses


def test_policies_hold_their_forces_and_certificates_add_up() -> None:
    robot = walker()
    q0, v0 = arguments(robot)[:2]

    def policy(q: Any, v: Any) -> Any:
        return 0.5 * np.sin(v)

    settings = {"steps": 24, "dt": H, "policy": policy, "hold": 4}
    rough, fine = (robot.rollout(q0, v0, **settings, every=k) for k in (6, 2))
    np.testing.assert_array_equal(rough.q, fine.q[:, ::3])
    np.testing.assert_array_equal(rough.contact_impulses, fine.contact_impulses[:, ::3])
    parts = {name: getattr(fine.certificate, name)[:, 1:].reshape(5, -1, 3) for name in ("residual", "work")}
    np.testing.assert_array_equal(rough.certificate.residual[:, 1:], parts["residual"].max(-1))
    np.testing.assert_allclose(rough.certificate.work[:, 1:], parts["work"].sum(-1), atol=1e-15)


def test_the_law_of_one_contact() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        X = rng.standard_normal((3, 3))
        A = X @ X.T + 0.3 * np.eye(3)
        g, mu = rng.standard_normal(3), rng.uniform(0.0, 1.0)
        p = np.zeros(3)
        R = regular(tuple(map(tuple, A.tolist())))
        for _ in range(60):
            p = np.array(solved(R, inverse(R), mu, tuple(A @ p + g), tuple(p)))
        residual = natural_residual(float(np.trace(A)) / 3.0, mu, tuple(A @ p + g), tuple(p))
        assert residual <= 1e-9 or A[2, 2] <= mu * np.linalg.norm(A[2, :2])  # a contact that may jam


@pytest.mark.parametrize(
    ("shapes", "place", "gap"),
    [
        ((("sphere", (0.1,)), ("sphere", (0.2,))), (0.5, 0.0, 0.0), 0.2),
        ((("capsule", (0.1, 1.0)), ("sphere", (0.1,))), (0.3, 0.0, 0.4), 0.1),
        ((("capsule", (0.1, 1.0)), ("sphere", (0.1,))), (0.0, 0.0, 0.9), 0.2),
        ((("sphere", (0.1,)), ("box", (0.4, 0.4, 0.4))), (0.5, 0.0, 0.0), 0.2),
        ((("sphere", (0.1,)), ("box", (0.4, 0.4, 0.4))), (0.5, 0.6, 0.0), 0.4),
        ((("sphere", (0.1,)), ("box", (0.4, 0.4, 0.4))), (0.19, 0.0, 0.0), -0.11),
    ],
)
def test_the_gap_between_solids(shapes: Any, place: tuple[float, float, float], gap: float) -> None:
    """A step of a pair that approaches at a known speed closes the gap, and no more."""
    robot = floating(shapes).with_contacts(pairs=[("0", "1")], friction=0.0)
    q = np.array([1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, *place], float)
    found = robot.contact_step(q, np.zeros(12), dt=1.0)
    assert float(found.penetration) == pytest.approx(max(0.0, -gap), abs=1e-12)
    if gap > 0.0:
        toward = -np.array(place) / np.linalg.norm(place)
        fast = robot.contact_step(q, np.r_[np.zeros(9), 10.0 * toward], dt=1.0)
        assert fast.impulses[0, 2] > 0.0
        assert float(robot.contact_step(fast.q, np.zeros(12), dt=1.0).penetration) <= 0.2


@pytest.mark.parametrize("shapes", [(("sphere", (0.1,)),) * 2, (("capsule", (0.1, 1.0)), ("sphere", (0.1,)))])
def test_solids_with_one_center_part(shapes: Any) -> None:
    """No direction is nearest; any across the capsule is right."""
    robot = floating(shapes).with_contacts(pairs=[("0", "1")])
    found = robot.contact_step(robot.neutral(), np.zeros(12), dt=H)
    assert float(found.penetration) == pytest.approx(0.2)
    apart = found.v[9:] - found.v[3:6]
    assert np.linalg.norm(apart) == pytest.approx(1.0)  # the largest speed of pushing apart
    assert len(shapes[0][1]) == 1 or abs(apart[2]) <= 1e-12


def test_capsules_that_cross_part_across_both() -> None:
    robot = floating([("capsule", (0.1, 1.0))] * 2).with_contacts(pairs=[("0", "1")])
    q = np.array([1, 0, 0, 0, 0, 0, 0, 0.5**0.5, 0.5**0.5, 0, 0, 0, 0, 0.0])
    found = robot.contact_step(q, np.zeros(12), dt=H)
    assert float(found.penetration) == pytest.approx(0.2)
    np.testing.assert_allclose(np.abs(found.impulses[0]) > 1e-9, [False, False, True])
    apart = on.rotations.matrix_from_quaternion(q[7:11]) @ found.v[9:] - found.v[3:6]
    np.testing.assert_allclose(np.abs(apart), [1.0, 0.0, 0.0], atol=1e-9)  # at the largest speed of pushing apart


def test_steps_with_and_without_stops_in_one_batch() -> None:
    """A rollout leaves the rows of stops out where no joint needs them; a single step has them always."""
    robot = hopper().with_contacts(on.Ground(0.5), points={"foot": 0.02}, sweeps=60)
    count, rng = 13, np.random.default_rng(5)
    q0 = np.tile([1, 0, 0, 0, 0, 0, 0.5, 0.2, -0.3], (count, 1))
    q0[::3, 7:] = 1.49, -1.49
    v0 = rng.standard_normal((count, 8))
    v0[::3, 6:] = 4.0, -4.0
    run = robot.rollout(q0, v0, steps=60, dt=H)
    assert run.stop_impulses is not None
    used = (run.stop_impulses != 0.0).any(axis=(1, 2))
    assert used[::3].all() and not used.all()
    for k in (0, 1):
        np.testing.assert_array_equal(robot.rollout(q0[k], v0[k], steps=60, dt=H).q, run.q[k])
    q, v, impulses, stops = q0, v0, None, None
    for k in range(1, 61):
        step = robot.contact_step(q, v, robot.passive_force(q, v), H, impulses=impulses, stops=stops)
        exact = step.residual < 1e-9
        assert exact.mean() > 0.9
        np.testing.assert_allclose(run.v[exact, k], step.v[exact], atol=1e-6)
        q, v, impulses, stops = run.q[:, k], run.v[:, k], run.contact_impulses[:, k], run.stop_impulses[:, k]


def test_single_precision_steps_and_empty_batches() -> None:
    robot = ball().with_contacts(on.Ground(0.5), points={"ball": 0.1})
    q, v = np.array([1, 0, 0, 0, 0, 0, 0.1], np.float32), np.full(6, 0.1, np.float32)
    single, double = (robot.contact_step(q.astype(t), v.astype(t)) for t in (np.float32, float))
    assert all(x.dtype == np.float32 for x in single)
    np.testing.assert_allclose(single.v, double.v, atol=1e-5)
    none = np.zeros((0, 7)), np.zeros((0, 6))
    assert robot.rollout(*none, steps=2, dt=1e-3, contact_friction=np.zeros((0, 1))).v.shape == (0, 3, 6)
    assert robot.contact_forces(none[0]).forces.shape == (0, 1, 3)
    with pytest.raises(ArgumentError, match="contact_step: friction has shape"):
        robot.contact_step(q, v, friction=np.ones((3, 1)), height=np.ones((2, 1)))
    with pytest.raises(ArgumentError, match="contact_step: friction must not be negative"):
        robot.contact_step(q, v, friction=-1.0)


def test_arguments_that_would_be_misread_are_refused() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"steps": [0.5, 0.1]}, "pairs"),
        ({"size": (1.0, 1.0)}, "give its heights"),
        ({"centre": (1.0, 0.0)}, "give its heights"),
    ]
    for given, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            on.Ground(**given)
    with pytest.raises(ArgumentError, match="bodies must be a list"):
        ball().with_contacts(on.Ground(), bodies="ball")
    with pytest.raises(ArgumentError, match="limits must be True or False"):
        ball().with_contacts(on.Ground(), limits=["ball"])  # type: ignore[arg-type]


def test_certificates_do_not_depend_on_the_pieces_of_a_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long rollouts are computed in pieces, each of which stores its first state again."""
    robot = block().with_contacts(on.Ground(0.6))
    start = [1, 0, 0, 0, 0, 0, 0.04], np.zeros(6)  # 1 cm too deep
    whole = robot.rollout(*start, steps=20, dt=1e-4).certificate
    monkeypatch.setattr("ordern.simulate.rollout._PIECE_NS", 1)
    pieces = robot.rollout(*start, steps=20, dt=1e-4).certificate
    assert (pieces.penetration[1:] > 1e-3).all()
    for name in CERTIFICATE:
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))


def test_a_step_that_is_not_finite_has_no_certificate() -> None:
    robot = ball().with_contacts(on.Ground(0.5))
    v = np.zeros((2, 6))
    v[1, 3] = np.nan
    step = robot.contact_step([1, 0, 0, 0, 0, 0, 0.1], v, dt=H)
    assert np.isfinite(step.residual[0]) and np.isnan(step.residual[1]) and np.isnan(step.penetration[1])


def test_files_tell_that_contacts_are_left_out() -> None:
    robot = ball().with_contacts(on.Ground(0.5))
    assert "left out: contact of" in robot.to_mjcf() and "contact of" not in ball().to_mjcf()
