"""Settings and optional arguments of kernels."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import ordern as on

ROBOT = on.load("puma560")


@pytest.mark.parametrize("bad", ["wrld", None, 3, np.array([1, 2]), ["world"]])
def test_axes_are_known_ones(bad: Any) -> None:
    with pytest.raises(on.UnknownNameError, match=r"unknown axes .* in velocity"):
        ROBOT.kernel("velocity", frame="flange", axes=bad)
    with pytest.raises(on.UnknownNameError, match=r"unknown axes .* in velocity"):
        ROBOT.velocity(np.zeros(6), np.zeros(6), "flange", axes=bad)


def test_kinds_methods_ways_and_questions_are_known_ones() -> None:
    with pytest.raises(on.UnknownNameError, match="unknown kind 'clasical' in acceleration"):
        ROBOT.kernel("acceleration", frame="flange", axes="frame", kind="clasical")
    with pytest.raises(on.UnknownNameError, match="unknown method"):
        ROBOT.mass_matrix(np.zeros(6), np.zeros((6, 6)))  # type: ignore[arg-type]
    with pytest.raises(on.UnknownNameError, match=r"unknown way of running \['x'\]"):
        ROBOT.kernel("mass_matrix", way=["x"])  # type: ignore[arg-type]
    with pytest.raises(on.UnknownNameError, match=r"unknown question \[1\]"):
        ROBOT.kernel([1])  # type: ignore[arg-type]


def test_names_in_other_case_are_suggested() -> None:
    with pytest.raises(on.UnknownNameError, match=r"Did you mean 'flange'\?"):
        ROBOT.pose(np.zeros(6), "FLANGE")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'puma560'\?"):
        on.load("PUMA560")


def test_optional_arguments_are_named_in_their_order() -> None:
    """They are given by position: another order would be taken for this one."""
    right = ("base_velocity", "base_acceleration")
    kernel = ROBOT.kernel("inverse_dynamics", present=right, way="rolled")
    assert repr(kernel) == (
        "<Kernel inverse_dynamics of 'puma560' by 'newton-euler', way='rolled', "
        "present=('base_velocity', 'base_acceleration')>"
    )
    with pytest.raises(on.ArgumentError, match="but the arguments will be given as"):
        ROBOT.kernel("inverse_dynamics", present=right[::-1])
    with pytest.raises(on.ArgumentError, match="but the arguments will be given as"):
        ROBOT.kernel("inverse_dynamics", present=("base_velocity",) * 2)


def test_external_forces_that_do_not_fit() -> None:
    def pushed(external: dict[str, Any]) -> Any:
        return ROBOT.forward_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), external=external)

    with pytest.raises(on.ArgumentError, match=r"forces do not broadcast: wrist \(3,\), hand \(2,\)"):
        pushed({"wrist": np.zeros((3, 6)), "hand": np.zeros((2, 6))})
    with pytest.raises(on.ArgumentError, match="the force on 'wrist' has data type"):
        pushed({"wrist": "abc"})
    with pytest.raises(on.ArgumentError, match="the force on 'wrist' is not an array"):
        pushed({"wrist": [[1, 2], [3]]})
    assert pushed({ROBOT.base: np.zeros((7, 6))}).shape == (7, 6)  # of no effect, but a batch


def test_momentum_is_about_the_world_by_default() -> None:
    """Even if what moves has this name."""
    bodies = [on.Builder("a").body(name, mass=2.0, inertia=(1, 2, 3)).build(floating=True) for name in ("world", "x")]
    q = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5])
    v = np.arange(6.0)
    np.testing.assert_array_equal(*(robot.momentum(q, v) for robot in bodies))


def test_loops_say_that_a_robot_is_singular() -> None:
    """As straight-line code does. Two joints turn about the same axis, with nothing between them."""
    builder = on.Builder("s").body("a").body("b", parent="a", joint=on.Revolute((0, 0, 1)))
    builder.body("c", parent="b", joint=on.Revolute((0, 0, 1)), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    robot = builder.build()
    for way in ("unrolled", "rolled"):
        with pytest.raises(on.ModelError, match="meets no inertia"):
            robot.kernel("forward_dynamics", way=way)([0.1, 0.2], [0.0, 0.0], [1.0, 1.0])


def test_signatures_stay_what_they_are() -> None:
    """After the first call machine code is in the place of the method."""
    robot = on.load("puma560")
    before = inspect.signature(robot.forward_dynamics)
    robot.forward_dynamics(np.zeros(6), np.zeros(6), np.zeros(6))
    after = inspect.signature(robot.forward_dynamics)
    assert inspect.isbuiltin(robot.forward_dynamics)
    described = [[(p.name, p.kind, p.default) for p in s.parameters.values()] for s in (before, after)]
    assert described[0] == described[1]
