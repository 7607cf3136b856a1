"""Robots that cannot move: nothing but fixed joints, or nothing but the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.compile.asking import CORE
from tests.kernel.arm import CALLS

STATUES: dict[str, on.Robot] = {
    "ground": on.Builder("ground").body("ground").frame("tool", "ground", at=(1, 2, 3)).build(),
    "merged": on.Builder("merged")
    .body("ground")
    .body("column", parent="ground", joint=on.Fixed(), at=(0, 0, 1), mass=2.0)
    .frame("tool", "column", at=(1, 2, 2))
    .build(),
    "kept": on.Builder("kept")
    .body("ground")
    .body("column", parent="ground", joint=on.Fixed(), at=(0, 0, 1), mass=2.0, com=(0, 0, 0.5))
    .frame("tool", "column", at=(1, 2, 2))
    .build(merge=False),
}


@pytest.fixture(params=STATUES)
def statue(request: pytest.FixtureRequest) -> on.Robot:
    return STATUES[request.param]


def given(robot: on.Robot, kinds: tuple[str, ...], shape: tuple[int, ...], dtype: Any) -> list[np.ndarray]:
    n = len(robot.bodies)
    cores = {"dt": (), "external": (n, 6)}
    return [np.ones((*shape, *cores.get(kind, (0,))), dtype) for kind in kinds]


@pytest.mark.parametrize(("kinds", "call"), CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,)])
def test_every_function(statue: on.Robot, kinds: Any, call: Any, shape: tuple[int, ...], dtype: Any) -> None:
    assert statue.nv == statue.nq == 0
    for threads in (None, 2):
        answer = np.asarray(call(statue, *given(statue, kinds, shape, dtype), threads=threads))
        assert answer.dtype == dtype
        assert answer.shape[: len(shape)] == shape
        tail = answer.shape[len(shape) :]
        if tail == (4, 4):
            expected = np.eye(4)
            expected[:3, 3] = (1, 2, 3)
            assert (answer == expected).all()
        elif tail == ():
            weight = 2.0 * 9.81 * 1.5 if statue.name == "kept" and kinds == ("q",) else 0.0
            assert np.allclose(answer, weight)
        elif tail == (6,):
            assert (answer == 0.0).all()
        else:
            assert tail in ((0,), (0, 0), (6, 0))


def test_every_question_is_asked() -> None:
    assert {name.split(",")[0] for name in CALLS} == CORE


def test_broadcasting(statue: on.Robot) -> None:
    answer = statue.velocity(np.empty((3, 1, 0)), np.empty((4, 0)), "tool")
    assert answer.shape == (3, 4, 6)


def test_out(statue: on.Robot) -> None:
    out = np.full((3, 4, 4), np.nan)
    assert statue.pose(np.empty((3, 0)), "tool", out=out) is out
    assert (out[:, :3, 3] == (1, 2, 3)).all()


def test_wrong_shapes(statue: on.Robot) -> None:
    with pytest.raises(on.ArgumentError, match=rf"argument 'q' has shape \(1,\); for '{statue.name}' .* must be"):
        statue.pose([1.0], "tool")
    with pytest.raises(on.ArgumentError, match="do not broadcast"):
        statue.kinetic_energy(np.empty((3, 0)), np.empty((4, 0)))
    with pytest.raises(on.ArgumentError, match="complex128"):
        statue.pose(np.empty(0, complex), "tool")


def test_states(statue: on.Robot) -> None:
    assert statue.neutral().shape == (0,)
    assert statue.random(0, (2, 3)).shape == (2, 3, 0)
    assert statue.integrate([], []).shape == (0,)


@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics"])
@pytest.mark.parametrize("shape", [(), (4,)])
def test_derivatives(statue: on.Robot, question: str, shape: tuple[int, ...]) -> None:
    state = [np.zeros((*shape, 0))] * 3
    assert [x.shape for x in getattr(statue.derivatives, question)(*state)] == [(*shape, 0, 0)] * 3
    assert getattr(statue.derivatives, question)(*state, wrt="gravity").gravity.shape == (*shape, 0, 3)
    assert [x.shape for x in statue.vjp(question, state, np.zeros(0))] == [(*shape, 0)] * 3
    assert [x.shape for x in statue.hessian(question, state, np.zeros(0))] == [(*shape, 0, 0)] * 6
    assert [x.shape for x in getattr(statue.second_derivatives, question)(*state)] == [(*shape, 0, 0, 0)] * 6
