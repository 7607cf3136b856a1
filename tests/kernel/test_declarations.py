"""Methods of robots that are declared: what they say is what they do."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import find
from ordern.kernel.declarations import answers, delegated
from ordern.simulate.options import SimulationOptions

DECLARED = {name: f for name, f in inspect.getmembers(on.Robot, inspect.isfunction) if hasattr(f, "declared")}
DELEGATED = sorted(name for name, f in DECLARED.items() if hasattr(f, "target"))
ANSWERS = sorted(DECLARED.keys() - set(DELEGATED))


def test_most_methods_are_declared() -> None:
    assert len(ANSWERS) >= 30 and {"inverse_dynamics", "pose", "loop_residual"} <= set(ANSWERS)
    assert len(DELEGATED) >= 12 and {"simulate", "closed_dynamics", "save"} <= set(DELEGATED)


@pytest.mark.parametrize("name", ANSWERS)
def test_parameters_are_those_of_the_question(name: str) -> None:
    question = find(name)[0]
    declared = inspect.signature(DECLARED[name]).parameters
    parameters = list(declared)[1:]
    by_name = {x for x in parameters if declared[x].kind is inspect.Parameter.KEYWORD_ONLY}  # these have a default
    required = [p.name for p in question.inputs if not p.optional and p.name not in by_name]
    assert parameters[: len(required)] == required
    assert all(declared[x].default is not inspect.Parameter.empty for x in by_name)
    expected = {p.name for p in question.inputs} | {*question.options, "threads", "out", "device"}
    assert set(parameters) - {"method"} == expected


@pytest.mark.parametrize("name", DELEGATED)
def test_functions_take_what_their_methods_declare(name: str) -> None:
    module, function = DECLARED[name].target
    target = inspect.signature(getattr(import_module(f"ordern.{module}"), function))
    declared = list(inspect.signature(DECLARED[name]).parameters)[1:]
    if name == "simulate":  # whose keywords are the fields of a record
        declared = [x for x in declared if x not in SimulationOptions.__slots__]
    assert set(declared) - {"device"} <= set(list(target.parameters)[1:])


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_declarations_have_types_and_words_and_no_body(name: str) -> None:
    declared = DECLARED[name].__wrapped__
    assert inspect.getdoc(DECLARED[name]) == inspect.getdoc(declared)
    assert DECLARED[name].__qualname__ == declared.__qualname__
    assert "return" in declared.__annotations__
    assert set(declared.__code__.co_names) == set()


def test_settings_by_position_and_by_name_are_the_same() -> None:
    robot, q, v = on.load("puma560"), np.full(6, 0.3), np.full(6, 0.2)
    expected = robot.kernel("velocity", frame="flange", axes="world")(q, v)
    calls: list[Any] = [
        lambda: robot.velocity(q, v, "flange", "world"),
        lambda: robot.velocity(q, v, "flange", axes="world"),
        lambda: robot.velocity(q, v, axes="world", frame="flange"),
        lambda: robot.velocity(q, v=v, axes="world", frame=robot.frame("flange")),
        lambda: robot.velocity(q, v, "flange", "world", threads=1),
        lambda: robot.velocity(q, v, "flange", "world", base_velocity=np.zeros(6)),
    ]
    for _ in range(3):
        for call in calls:
            np.testing.assert_allclose(call(), expected, rtol=1e-14, atol=1e-15)
    assert not np.allclose(robot.velocity(q, v, "flange"), expected)


def test_calls_that_lack_an_argument_fail_before_and_after_the_first_good_one() -> None:
    robot, q = on.load("puma560"), np.full(6, 0.3)
    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'v'"):
            robot.momentum(q)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'frame'"):
            robot.pose(q)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="multiple values for argument 'q'"):
            robot.pose(q, "flange", q=q)  # type: ignore[misc]
        with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
            robot.pose(q, "flange", axis="world")  # type: ignore[call-arg]
        robot.momentum(q, q)
        robot.pose(q, "flange")


def test_robots_that_share_kernels_have_fast_functions_of_their_own() -> None:
    robot, q = on.load("four-bar"), np.full(3, 0.3)
    robot.gravity_force(q)
    for other in (robot.with_actuated(["drive"]), robot.opened()):
        other.gravity_force(q)
        assert other.kernel("gravity_force").runner is robot.kernel("gravity_force").runner
        assert other.kernel("gravity_force").model.nc == other.nc
        assert inspect.isbuiltin(robot.gravity_force) and inspect.isbuiltin(other.gravity_force)
        assert other.gravity_force.__self__ is other
    robot.loop_residual(q)
    assert robot.with_actuated(["drive"]).kernel("loop_residual") is robot.kernel("loop_residual")
    assert robot.opened().nc == 0 and robot.opened().kernel("loop_residual") is not robot.kernel("loop_residual")


def test_a_class_outside_the_library_keeps_its_method_with_loops() -> None:
    class Doubled(on.Robot):
        def forward_dynamics(self, *given: Any, **named: Any) -> Any:
            return 2.0 * super().forward_dynamics(*given, **named)

    plain = on.load("four-bar")
    robot, q, zero = Doubled.of(plain), plain.assemble().q, np.zeros(3)
    for _ in range(3):
        np.testing.assert_array_equal(
            robot.forward_dynamics(q, zero, zero), 2.0 * plain.forward_dynamics(q, zero, zero)
        )


def test_declaring_for_an_unknown_question_fails() -> None:
    def unheard(self: Any, q: Any) -> Any: ...

    with pytest.raises(on.UnknownNameError, match="unknown question 'unheard'"):
        answers(unheard)
    assert delegated("errors")(unheard).target == ("errors", "unheard")  # type: ignore[attr-defined]
