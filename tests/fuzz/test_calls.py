"""Random calls of the public functions: only errors of ordern come out, and `TypeError`s that are clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.fuzz.calls import fuzz, is_clear
from tests.fuzz.subjects import TARGETS, Target

SLOW = ("varied.", "ball.", "four_bar.", "grasp.", "second.", "derivatives.", "operators.", "result.to_")
"""Functions of these compile much, or import large packages; the quick run leaves them out."""


def findings(runs: int, seed: int, skip: Sequence[str] = ()) -> dict[str, tuple[int, str]]:
    seen = fuzz(runs, seed, skip=skip)
    assert seen.runs == runs
    assert seen.results > runs // 20, "hardly any call is good: nothing behind the first check is reached"
    return seen.found


def test_random_calls() -> None:
    assert findings(2_000, seed=1, skip=SLOW) == {}


@pytest.mark.campaign
def test_many_random_calls(campaign: Callable[[int, int], int]) -> None:
    assert findings(campaign(100_000, 1_000_000), seed=2) == {}


def test_every_method_of_a_robot_is_called() -> None:
    called = {t.label.partition(".")[2] for t in TARGETS() if t.label.startswith("arm.")}
    assert {"forward_dynamics", "rollout", "simulate", "identify", "vary", "random", "with_contacts"} <= called
    assert len(called) > 90


def target(label: str) -> Target:
    return next(t for t in TARGETS() if t.label == label)


def test_what_is_clear() -> None:
    """Python's words about a call are, and the library's about an argument; NumPy's are not."""
    pose = target("arm.pose")
    with pytest.raises(TypeError) as missing:
        pose.call([0.0, 0.0])
    with pytest.raises(TypeError) as unhashable:
        {}[np.zeros(2)]  # type: ignore[index]
    assert is_clear(missing.value, pose)
    assert not is_clear(unhashable.value, pose)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda r: r.lock(np.zeros(2)), r"lock: joints must be text, not array\(\[0., 0.\]\)"),
        (lambda r: r.actuation([0, 0], [0, 0], [0, 0], [["shoulder"]]), "actuation: actuated must be a sequence"),
        (lambda r: r.mass_matrix([0, 0], device=np.zeros(2)), "mass_matrix: `device` must be"),
        (lambda r: r.derivatives.mass_matrix([0, 0], method=np.zeros(2)), "unknown method"),
        (lambda r: r.random(shape=10**18), "random: the result does not fit into memory"),
        (lambda r: r.random([[1], [2, 3]]), "random: rng must be"),
        (lambda r: on.load_result([1.0]), "load_result: path must be text or a path, not"),
        (lambda r: on.rotations.skew(1.0), r"skew: the shapes do not fit: x \(\)"),
        (lambda r: on.rotations.about([0, 0, 1], "x"), "about: angle must be an array of numbers, not 'x'"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(call: Callable[[on.Robot], object], said: str) -> None:
    with pytest.raises(on.OrdernError, match=said):
        call(on.load("double-pendulum"))


def test_errors_of_a_users_own_functions_come_out_as_they_are() -> None:
    arm = on.load("double-pendulum")

    def policy(q: object, v: object) -> float:
        return len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match=r"object of type 'int' has no len\(\)"):
        arm.rollout([0, 0], [0, 0], steps=1, policy=policy)


def test_a_list_that_contains_itself() -> None:
    """As a seed it crashed the interpreter, in NumPy's generators; elsewhere it was a RecursionError."""
    arm = on.load("double-pendulum")
    own: list[Any] = []
    own.append(own)
    with pytest.raises(on.ArgumentError, match="rng must be"):
        arm.random(own)
    with pytest.raises(on.ArgumentError):
        arm.derivatives.actuation(own)
    with pytest.raises(on.ArgumentError, match="more than 64 dimensions"):
        arm.mass_matrix(own)
