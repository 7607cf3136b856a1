"""Bases: other joints than a free one, and a base that is moved."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from tests.random_models import random_robot, random_state
from tests.tolerances import INVERSION, ROUNDING, assert_close


@pytest.mark.slow
@pytest.mark.parametrize("way", ["interpreted", "unrolled", "rolled"])
@pytest.mark.parametrize("seed", range(3))
def test_a_base_that_is_moved_is_a_free_one_with_that_motion(seed: int, way: str) -> None:
    """The free base's own rows aside: what is asked of the joints above it is the same."""
    moved, free = random_robot(seed, 6), random_robot(seed, 6, floating=True)
    rng = np.random.default_rng(seed)
    q, v, a = random_state(moved, seed, (4,))
    v0, a0 = rng.normal(size=(2, 4, 6))
    # the base's frame meets the world's; a free joint's acceleration is that of its body-axes velocity
    still = np.tile([1.0, 0, 0, 0, 0, 0, 0], (4, 1))
    own = np.concatenate([a0[:, :3], a0[:, 3:] - np.cross(v0[:, :3], v0[:, 3:])], axis=1)
    Q, V, A = (np.concatenate(x, axis=1) for x in ((still, q), (v0, v), (own, a)))
    motion = ("base_velocity", "base_acceleration")

    def ask(question: str, *given: np.ndarray, present: tuple[str, ...] = motion, **options: str) -> np.ndarray:
        return moved.kernel(question, present=present, way=way, **options)(*given)

    def of_free(question: str, *given: np.ndarray, **options: str) -> np.ndarray:
        return free.kernel(question, way="interpreted", **options)(*given)

    tau = of_free("inverse_dynamics", Q, V, A)[:, 6:]
    assert_close(ask("inverse_dynamics", q, v, a, v0, a0), tau, ROUNDING)
    assert_close(ask("forward_dynamics", q, v, tau, v0, a0), a, INVERSION)
    rest = np.concatenate([own, 0 * a], axis=1)
    assert_close(ask("bias_force", q, v, v0, a0), of_free("inverse_dynamics", Q, V, rest)[:, 6:], ROUNDING)
    for axes in ("frame", "world"):
        assert_close(
            ask("velocity", q, v, v0, present=motion[:1], frame="tool", axes=axes),
            of_free("velocity", Q, V, frame="tool", axes=axes),
            ROUNDING,
        )
        for kind in ("classical", "spatial"):
            assert_close(
                ask("acceleration", q, v, a, v0, a0, frame="tool", axes=axes, kind=kind),
                of_free("acceleration", Q, V, A, frame="tool", axes=axes, kind=kind),
                ROUNDING,
            )
    base = moved.kinetic_energy(q, v, base_velocity=v0)
    I = of_free("mass_matrix", Q)
    expected = 0.5 * np.einsum("ni,nij,nj->n", V, I, V)
    own_energy = 0.5 * np.einsum("ni,ij,nj->n", v0, _base_inertia(seed), v0)  # the base itself is not counted
    assert_close(base, expected - own_energy, ROUNDING)


def _base_inertia(seed: int) -> np.ndarray:
    """The free robot's mass matrix if only its base had mass."""
    body = random_robot(seed, 6, floating=True).bodies[0]
    lone = on.Builder().body("b", mass=body.mass, com=body.com, inertia=body.inertia).build(floating=True)
    return lone.mass_matrix(lone.neutral())


def test_base_motion_through_the_robot() -> None:
    robot = random_robot(1, 3)
    q, v, a = random_state(robot, 1)
    lift = [0, 0, 0, *(-np.array(robot.gravity))]
    assert_close(
        robot.inverse_dynamics(q, v, a, base_acceleration=lift, external={"tool": np.ones(6)})
        - robot.inverse_dynamics(q, v, a, external={"tool": np.ones(6)}),
        robot.gravity_force(q),
        ROUNDING,
    )


def test_a_method_that_takes_no_base_motion() -> None:
    @on.algorithm("gravity_force", "nothing")
    def nothing(tree, q):
        out = tree.output("f")
        for i, _ in tree.outward():
            out[i] = q[i] * 0.0
        return out

    @on.algorithm("bias_force", "plain")
    def plain(tree, q, qd):
        return nothing(tree, q)

    robot = random_robot(1, 3, (on.Revolute,))
    assert not robot.bias_force(*random_state(robot, 1)[:2], method="plain").any()
    with pytest.raises(on.ArgumentError, match="bias_force by the method 'plain' takes no 'external'"):
        robot.bias_force(*random_state(robot, 1)[:2], method="plain", external={"tool": np.zeros(6)})


@pytest.mark.parametrize("base", [on.Planar(), on.Spherical(), on.Revolute((0, 0, 1)), on.Composite((on.Prismatic(),))])
def test_bases_of_any_type(base: on.Joint) -> None:
    builder = on.Builder().body("base", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    builder.body("arm", parent="base", joint=on.Revolute((1, 0, 0)), mass=1.0, com=(0, 0.5, 0))
    robot = builder.build(floating=base)
    assert robot.nv == base.nv + 1
    assert robot.joints[0].name == "root_joint"
    q, v, a = random_state(robot, 0)
    assert_close(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a)), a, INVERSION)


def test_a_base_that_is_no_joint() -> None:
    with pytest.raises(on.ModelError, match="its type must be a joint"):
        on.Builder().body("base").build(floating="planar")
