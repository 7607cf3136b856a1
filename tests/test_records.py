"""`records.dataclass` against the standard library's decorator: the same classes, made by both."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

import ordern as on
from ordern import records

OPTIONS = [
    {},
    {"frozen": True},
    {"frozen": True, "slots": True},
    {"slots": True},
    {"frozen": True, "eq": False},
    {"eq": False, "repr": False},
    {"frozen": True, "kw_only": True},
]


def made(decorator: Callable[..., Any], **options: Any) -> Any:
    @decorator(**options)
    class Thing:
        """Some fields."""

        a: int
        b: float = 2.0
        c: str = field(default="c", compare=False)
        d: list[int] = field(default_factory=list, repr=False)
        e: int = field(default=5, init=False)

    return Thing


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_classes_behave_as_the_standard_ones(options: dict[str, Any]) -> None:
    ours, theirs = made(records.dataclass, **options), made(dataclasses.dataclass, **options)
    if "slots" in options:
        assert ours.__slots__ == theirs.__slots__
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    mine, other = ours(a=1, b=3.0), theirs(a=1, b=3.0)
    if options.get("repr", True):
        assert repr(mine) == repr(other)
    assert dataclasses.asdict(mine) == dataclasses.asdict(other)
    assert dataclasses.replace(other, c="x") == other or not options.get("eq", True)
    assert (ours(a=1) == ours(a=1, c="x")) is (theirs(a=1) == theirs(a=1, c="x"))
    assert (ours(a=1) == ours(a=2)) is (theirs(a=1) == theirs(a=2))
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    assert dataclasses.replace(mine, b=4.0).b == 4.0
    assert mine.d is not ours(a=1).d
    assert copy.copy(mine).b == 3.0


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
def test_mistakes_are_those_of_the_standard_ones(options: dict[str, Any]) -> None:
    def missing(cls: Any) -> None:
        cls()

    def unknown(cls: Any) -> None:
        cls(a=1, z=2)

    def assign(cls: Any) -> None:
        cls(a=1).a = 2

    def add(cls: Any) -> None:
        cls(a=1).z = 2

    def remove(cls: Any) -> None:
        del cls(a=1).a

    mistakes = [missing, unknown, assign, remove]
    if not (options.get("frozen") and options.get("slots")):  # there, Python 3.11 itself stumbles
        mistakes.append(add)
    for mistake in mistakes:
        told = []
        for decorator in (records.dataclass, dataclasses.dataclass):
            try:
                mistake(made(decorator, **options))
                told.append((None, ""))
            except (AttributeError, TypeError) as e:
                told.append((type(e), str(e).replace("made.<locals>.", "")))
        assert told[0] == told[1], mistake.__name__


@records.dataclass(frozen=True, slots=True)
class Point:
    """To be pickled, and derived from."""

    x: float
    y: float = 0.0


@records.dataclass(frozen=True)
class Weighted(Point):
    """Derived by our decorator."""

    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.weight < 0.0:
            raise ValueError("weight")


@dataclasses.dataclass(frozen=True)
class Named(Weighted):
    """Derived by the standard decorator, as a user would."""

    name: str = ""


@pytest.mark.parametrize("point", [Point(1.0), Weighted(1.0, 2.0, 3.0), Named(1.0, 2.0, 3.0, "p")], ids=repr)
def test_pickled_and_hashed(point: Point) -> None:
    assert pickle.loads(pickle.dumps(point)) == point
    assert copy.deepcopy(point) == point
    assert len({point, copy.copy(point)}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2.0  # type: ignore[misc]


def test_derived_classes() -> None:
    assert [f.name for f in dataclasses.fields(Named)] == ["x", "y", "weight", "name"]
    assert Point(1.0) != Weighted(1.0)
    with pytest.raises(ValueError, match="weight"):
        Weighted(1.0, weight=-1.0)


def test_init_is_made_when_first_used() -> None:
    cls = made(records.dataclass, frozen=True)
    assert not inspect.isfunction(vars(cls)["__init__"])
    cls(1)
    assert inspect.isfunction(vars(cls)["__init__"])


def test_a_users_joint_derives_from_ours() -> None:
    @dataclasses.dataclass(frozen=True)
    class Geared(on.Revolute):
        ratio: float = 1.0

    assert Geared((0, 0, 1), ratio=2.0).ratio == 2.0
