"""Where the object is, how forces are shared, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.grasping.systems import arm, moving, system
from tests.tolerances import DIFFERENCED, GRASPED, SHARED

C = on.contacts


def box() -> on.Grasp:
    """Four fingers around a box, each with one joint: two across x, two across y."""
    finger = (
        on.Builder("finger").body("base").body("tip", parent="base", joint=on.Prismatic((0, 0, 1)), mass=0.5).build()
    )
    sides = [
        ((0.2, 0, 0), (0, -np.pi / 2, 0)),
        ((-0.2, 0, 0), (0, np.pi / 2, 0)),
        ((0, 0.1, 0), (np.pi / 2, 0, 0)),
        ((0, -0.1, 0), (-np.pi / 2, 0, 0)),
    ]
    return on.grasp([finger] * 4, (1.0, (0, 0, 0), (0.01, 0.01, 0.01)), C.Point(surface=C.Surface(0.4)), bases=sides)


def test_pose_and_velocity_follow_from_the_tips() -> None:
    grasp, q = system("rigid")
    state = moving(grasp, q)
    assert np.abs(grasp.object_pose(state.q) - state.pose).max() < GRASPED
    assert np.abs(grasp.object_velocity(state.q, state.v) - state.velocity).max() < GRASPED
    # the pose moves with this velocity: differences of fourth order along a motion that fits
    h, total = 1e-4, np.zeros((4, 4))
    for k, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
        later = [a.robot.integrate(x, v, k * h) for a, x, v in zip(grasp.arms, state.q, state.v, strict=True)]
        total += weight * grasp.object_pose(later) / (12.0 * h)
    w, u = state.velocity[:3], state.velocity[3:]
    assert np.abs(total[:3, 3] - u).max() < DIFFERENCED * 100.0
    spin = total[:3, :3] @ state.pose[:3, :3].T
    assert np.abs([spin[2, 1] - w[0], spin[0, 2] - w[1], spin[1, 0] - w[2]]).max() < DIFFERENCED * 100.0


def test_pose_from_points() -> None:
    grasp, q = system("points")
    assert np.abs(grasp.object_pose(q) - grasp.stands.matrix).max() < GRASPED


@pytest.mark.slow
def test_contact_parameters() -> None:
    grasp, q = system("mixed")
    state = moving(grasp, q)
    assert [w.shape for w in state.rates] == [(0,), (1,), (3,)]
    # the object turns against the tip about the hinge's axis only
    spin = state.axes[1].T @ (state.velocity[:3] - state.tip_velocities[1, :3])
    assert np.abs(spin - np.array([0.6, 0.0, 0.8]) * state.rates[1]).max() < GRASPED
    assert np.abs(state.attitudes[0] - np.eye(3)).max() < GRASPED
    assert np.abs(state.attitudes[2] @ state.attitudes[2].T - np.eye(3)).max() < GRASPED


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rigid", "mixed", "fingers"])
def test_projection_undoes_a_disturbance(name: str) -> None:
    grasp, q = system(name)
    rng = np.random.default_rng(1)
    pushed = [x + 1e-3 * rng.normal(size=x.shape) for x in q]
    state = grasp.project(pushed, rng.normal(size=grasp.nv), grasp.stands.matrix, rng.normal(size=6))
    assert np.abs(state.residual).max() < 1e-12
    assert max(np.abs(r).max() for r in state.velocity_residual) < GRASPED
    again = grasp.project(state.q, state.v, state.pose, state.velocity)
    assert np.abs(np.concatenate(again.v) - np.concatenate(state.v)).max() < GRASPED


def test_forces_are_shared() -> None:
    grasp = box()
    wrench = np.array([0.1, -0.05, 0.2, 1.0, 2.0, -9.81])
    shared = grasp.distribute(wrench, pose=np.eye(4))
    f = shared.forces
    total = np.concatenate([(f[:, :3] + np.cross(grasp.places, f[:, 3:])).sum(0), f[:, 3:].sum(0)])
    assert np.abs(total - wrench).max() < SHARED
    assert shared.residual < SHARED
    assert shared.internal == 12 - 6
    assert np.abs(f[:, :3]).max() < SHARED  # points take no moments
    # no other forces with this sum are smaller: what is left is across all ways to squeeze
    basis = grasp.internal_basis(pose=np.eye(4))
    assert basis.shape == (6, 4, 6)
    assert np.abs(np.einsum("kij,ij->k", basis, f)).max() < SHARED
    assert np.abs(np.einsum("kij,lij->kl", basis, basis) - np.eye(6)).max() < SHARED


def test_squeezing_by_hand() -> None:
    """Closed form: 5 N from the left, 3 N from the right: 4 N squeeze, the rest pushes."""
    grasp = box()
    f = np.zeros((4, 6))
    f[0, 3], f[1, 3] = -3.0, 5.0
    inside = grasp.internal_forces(f, pose=np.eye(4))
    moving = f - inside
    total = moving[:, 3:].sum(0)
    assert np.abs(total - [2.0, 0.0, 0.0]).max() < SHARED
    assert np.abs(moving[:, 3] - 0.5).max() < SHARED  # all four share what pushes
    assert abs(inside[1, 3] - inside[0, 3] - 8.0) < SHARED


def test_weights_shift_the_load() -> None:
    grasp = box()
    load = np.array([0, 0, 0, 0, 0, 10.0])
    even = grasp.distribute(load, pose=np.eye(4)).forces[:, 5]
    assert np.abs(even - 2.5).max() < SHARED
    # the pair across x counts nine times: closed form of the least of 9 (a^2 + a^2) + b^2 + b^2 with 2a + 2b = 10
    heavy = grasp.distribute(load, pose=np.eye(4), weights=[9, 9, 1, 1]).forces[:, 5]
    assert np.abs(heavy - [0.5, 0.5, 4.5, 4.5]).max() < SHARED
    each = grasp.distribute(load, pose=np.eye(4), weights=np.array([[1, 1, 1, 9, 1, 1]] * 2 + [[1] * 6] * 2)).forces[
        :, 5
    ]
    assert np.abs(each - heavy).max() < SHARED


def test_joint_forces_hold_what_is_distributed() -> None:
    """At rest, with the joint forces of the shared weight, nothing accelerates."""
    grasp, q = system("rigid")
    R, c = grasp.stands.R, np.array(grasp.object.com)
    weight = 2.0 * grasp.gravity
    wrench = -np.concatenate([np.cross(R @ c, weight), weight])
    shared = grasp.distribute(wrench, q)
    tau = grasp.joint_forces(q, shared.forces)
    motion = grasp.forward_dynamics(q, np.zeros(grasp.nv), tau)
    assert np.abs(np.concatenate(motion.accelerations)).max() < GRASPED
    assert np.abs(motion.forces - shared.forces).max() < GRASPED * 100.0


def test_margins_by_hand() -> None:
    grasp = box()
    f = np.zeros((4, 6))
    f[0, 3], f[1, 3] = -5.0, 5.0
    f[0, 5] = f[1, 5] = 2.5  # 2.5 N up by friction of at most 0.4 times 5 N
    f[2, 4] = 0.3  # the finger at y = 0.1 pulls
    found = {(b.contact, b.kind): b.by for b in grasp.monitor(f, pose=np.eye(4), t=2.0)}
    assert set(found) == {("finger-1", "slip"), ("finger-2", "slip"), ("finger-3", "part")}
    assert found["finger-1", "slip"] == pytest.approx(0.5)
    assert found["finger-3", "part"] == pytest.approx(0.3)
    foot = C.Rigid(surface=C.Surface(0.5, spin=0.1, area=(0.1, 0.05)))
    leg = on.grasp([arm(7)], None, foot)
    up = np.concatenate([leg.turns[0] @ [0.6, 0.0, 1.5], leg.turns[0] @ [0.0, 3.0, 10.0]])[None]
    kinds = {b.kind: b.by for b in leg.monitor(up, pose=np.eye(4))}
    assert kinds == {"spin": pytest.approx(0.5), "tip": pytest.approx(0.1)}
    assert "would tip over, by 0.1 N m" in str(leg.monitor(up, pose=np.eye(4))[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"arms": []}, "list of robots"),
        ({"arms": [arm(7), "puma560"]}, "arm 'arm.*' must be a robot"),
        ({"arms": [(arm(7), "elbow")]}, r"arm 'random-47': unknown frame 'elbow'"),
        ({"arms": [(arm(7), "body0")]}, "'body0' is on its base"),
        ({"object": (0.0, (0, 0, 0), (1, 1, 1))}, "mass and an inertia above zero"),
        ({"object": (1.0, (0, 0, 0))}, "must be a Body"),
        ({"contacts": [C.Rigid(), C.Rigid()]}, "2 contacts for 1 tips"),
        ({"contacts": ["rigid"]}, r"contact 1 must be Rigid\(\)"),
        ({"bases": [(0, 0, 0), (0, 0, 0)]}, "2 bases for 1 arms"),
        ({"gravity": (0, 0)}, "gravity has shape \\(2,\\); expected"),
        ({"pose": (1, 2)}, "pose"),
        ({"q": [[0.0] * 6]}, "arm 'random-47' has shape .*must be 7"),
    ],
)
def test_what_cannot_be_a_grasp(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"arms": [(arm(7), "tool")], "object": (1.0, (0, 0, 0), (1, 1, 1))}
    with pytest.raises(on.ArgumentError, match=words):
        on.grasp(**(given | change))


def test_what_cannot_be_asked() -> None:
    grasp, q = system("fingers")
    v = np.zeros(grasp.nv)
    with pytest.raises(on.UnknownNameError, match="rccfd2"):
        grasp.forward_dynamics(q, v, v, "rccfd9", pose=np.eye(4))
    with pytest.raises(on.UnknownNameError, match="by-arms"):
        grasp.forward_dynamics(q, v, v, solver="woodbury", pose=np.eye(4))
    with pytest.raises(on.ArgumentError, match="`tau` must be a list of 3 arrays"):
        grasp.forward_dynamics(q, v, v[:-1], pose=np.eye(4))
    with pytest.raises(on.ArgumentError, match="batch shapes"):
        grasp.forward_dynamics(q, np.zeros((3, grasp.nv)), v, pose=np.broadcast_to(np.eye(4), (2, 4, 4)))
    two = on.grasp([(arm(7), "tool")] * 2, (1.0, (0, 0, 0), (1, 1, 1)), C.Point(), bases=[(0, 0, 0), (1, 0, 0)])
    with pytest.raises(on.ArgumentError, match=r"random-47-1 \(point\).*give its `pose`"):
        two.forward_dynamics(np.zeros(two.nq), np.zeros(two.nv), np.zeros(two.nv))
    with pytest.raises(on.ArgumentError, match="give its `velocity`"):
        two.forward_dynamics(np.zeros(two.nq), np.zeros(two.nv), np.zeros(two.nv), pose=np.eye(4))
    with pytest.raises(on.ArgumentError, match=r"stays .* away"):
        grasp.project(q, pose=on.Placement.xyz_rpy((50.0, 0, 0)).matrix)
    with pytest.raises(on.ArgumentError, match="above zero, one for each of the 3 contacts"):
        grasp.distribute(np.zeros(6), pose=np.eye(4), weights=[1, 2])
    with pytest.raises(on.UnknownNameError, match="contact 'left'"):
        grasp.released("left")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda g, q, v: g.forward_dynamics([q[0] * np.nan, *q[1:]], v, v), r"`q` of arm 'random-47-1' must be finite"),
        (lambda g, q, v: g.forward_dynamics(q, v, np.zeros((2, g.nv)) + np.zeros((3, 1, 1)), pose="x"), "pose"),
        (lambda g, q, v: g.forward_dynamics(q, np.zeros((3, g.nv)), np.zeros((2, g.nv))), r"shapes \[\(2,\), \(3,\)\]"),
        (lambda g, q, v: g.forward_dynamics(q, v, v, pose=np.ones((4, 4))), "upper left 3x3 block must be a rotation"),
        (lambda g, q, v: g.forward_dynamics(q, v, v, pose=np.full((4, 4), np.nan)), "`pose` must be finite"),
        (lambda g, q, v: g.forward_dynamics(q, v, v, rcond=-1.0), "rcond must be a number from 0 to 1, not -1"),
        (lambda g, q, v: g.monitor(np.zeros((4, 3, 6)), q), r"one state, not for forces \(4, 3, 6\)"),
        (lambda g, q, v: g.simulate(q, tau=lambda t, q, v: v), r"`tau` must be a function f\(t, state\)"),
        (lambda g, q, v: g.simulate(q, wrench=lambda t: 0.0), r"`wrench` must be a function f\(t, state\)"),
        (lambda g, q, v: g.simulate(q, project="no"), "project must be True or False"),
        (lambda g, q, v: on.grasp(arm(7), None), "arms must be a list of robots"),
        (lambda g, q, v: on.grasp(None, None), "arms must be a list of robots"),
        (lambda g, q, v: on.grasp([arm(7)], None, bases=3), "bases must be a list"),
        (lambda g, q, v: C.Surface("rough"), "friction must be a number not below zero, not 'rough'"),
        (lambda g, q, v: C.Surface(0.5, area="wide"), "area must be two numbers"),
    ],
)
def test_mistakes_are_named(ask: Any, words: str) -> None:
    grasp, q = system("rigid")
    with pytest.raises(on.ArgumentError, match=words):
        ask(grasp, q, np.zeros(grasp.nv))


def test_different_gravities_are_refused() -> None:
    one = on.load("puma560")
    other = (
        on.Builder("light", gravity=(0, 0, -1.6))
        .body("a")
        .body("b", parent="a", joint=on.Prismatic((0, 0, 1)), mass=1.0)
        .build()
    )
    with pytest.raises(on.ArgumentError, match="different gravities"):
        on.grasp([one, other], None)


def test_the_area_of_a_contact_that_looks_down_has_its_sides_along_x_and_y() -> None:
    """A moment about y is pressure along x: within 0.1 m, and across it within 0.2."""
    for normal in ((0, 0, 1), (0, 0, -1)):
        surface = C.Surface(normal=normal, area=(0.1, 0.2))
        np.testing.assert_array_equal(np.abs(surface.axes), np.eye(3))
        assert np.linalg.det(surface.axes) == 1.0
