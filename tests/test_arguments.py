"""Checks of arguments: what passes, and the words of each error."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import arguments as ar
from ordern.errors import ArgumentError, unknown_name


def test_arrays() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert ar.real(x, "x") is x
    assert ar.array(x, (..., 3), "x") is ar.array(x, (2, None), "x") is ar.array(x, (..., 2, 3), "x") is x
    assert ar.array([1, Fraction(1, 2), True], (3,), "x").tolist() == [1.0, 0.5, 1.0]
    assert ar.array(2, (), "x") == 2.0
    assert np.isinf(ar.array([np.inf], (1,), "x", nonfinite=True)).all()
    assert ar.broadcast_shapes("f", (2, 1), (3,)) == (2, 3)


def test_numbers() -> None:
    for x in (1, 1.0, np.float32(1.0), np.array(1.0), Fraction(1), Decimal(1)):
        assert ar.positive(x, "x") == 1.0
    assert ar.positive(0, "x", zero=True) == 0.0
    for x in (True, "1", None, 1j, np.complex64(1), [1.0], 10**400, np.nan):
        assert np.isnan(ar.real_number(x))


def test_objects_that_are_no_numbers() -> None:
    mask = np.ma.array([1.0, 2.0], mask=[False, True])
    for x in (["1"], [b"1"], [1j], [np.complex64(1)], [np.timedelta64(1, "s")], [None]):
        with pytest.raises(ArgumentError, match="x must be an array of numbers"):
            ar.real(np.array(x, object), "x")
    for y in (mask, [mask, mask], ([np.ma.masked, 0.0],)):
        with pytest.raises(ArgumentError, match="x: some entries are masked"):
            ar.real(y, "x")
    assert ar.real(np.ma.array([1.0, 2.0]), "x").tolist() == [1.0, 2.0]


def test_names_and_poses() -> None:
    assert ar.choice("law", "linear", ("linear", "cubic")) == "linear"
    T = np.tile(np.eye(4), (2, 1, 1))
    assert ar.pose(T, "T", batch=True) is T


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"q must be real numbers, not complex ones \(complex128\)", lambda: ar.real([1j], "q")),
        (r"q must be an array of numbers, not \['a'\]", lambda: ar.real(["a"], "q")),
        (r"q must be an array of numbers, not \[\[1\], \[1, 2\]\]", lambda: ar.real([[1], [1, 2]], "q")),
        (r"q must be an array of numbers, not \{", lambda: ar.real({"a": 1}, "q")),
        (r"q must be numbers of shape \(3,\), not 'home'", lambda: ar.array("home", (3,), "q")),
        (r"q must be a number, not 'home'", lambda: ar.array("home", (), "q")),
        (r"q has shape \(2,\); its last dimension must be 3", lambda: ar.array([1, 2], (..., 3), "q")),
        (r"q has shape \(2,\); expected \(any, 3\)", lambda: ar.array([1, 2], (None, 3), "q")),
        (r"q has shape \(2,\); expected \(3,\)", lambda: ar.array([1, 2], (3,), "q")),
        (r"q has shape \(\); expected \(\.\.\., 4, 4\)", lambda: ar.array(1, (..., 4, 4), "q")),
        (r"q must be finite; entry 1, 0 is nan", lambda: ar.array([[1.0], [np.nan]], (2, 1), "q")),
        (r"q must be finite; it is inf", lambda: ar.array(np.inf, (), "q")),
        (r"h must be a finite number above zero, not 0", lambda: ar.positive(0, "h")),
        (r"h must be a finite number not below zero, not -1", lambda: ar.positive(-1, "h", zero=True)),
        (r"h must be a finite number above zero, not 'x'", lambda: ar.positive("x", "h")),
        (r"T is not a pose: .* \(it is off by 3\)", lambda: ar.pose(np.diag([2.0, 1, 1, 1]), "T")),
        (r"T is not a pose: .* reflects \(its determinant is -1", lambda: ar.pose(np.diag([-1.0, 1, 1, 1]), "T")),
        (r"x must be a number, not None", lambda: ar.real(None, "x", ())),
        (r"x must be numbers of shape \(2,\), not \[1.0, None\]", lambda: ar.real([1.0, None], "x", (2,))),
        (r"T is not a pose", lambda: ar.pose(np.diag([1.0, 1, 1, 2]), "T")),
        (r"f: the batch shapes \[\(2,\), \(3,\)\] do not fit", lambda: ar.broadcast_shapes("f", (2,), (3,))),
    ],
)
def test_errors(message: str, call: Any) -> None:
    with pytest.raises(on.ArgumentError, match=message):
        call()


def test_unknown_choices() -> None:
    for part, whole in (("ee", "ee_link"), ("OF_A", "link_of_arm"), ("x", "")):
        error = str(unknown_name("frame", part, ["link_of_arm", "ee_link", "base_ee", "x-and-y"]))
        assert (f"Did you mean {whole!r}?" in error) if whole else ("Did you mean" not in error)
    with pytest.raises(on.UnknownNameError, match=r"unknown law 'liner' in f. Did you mean 'linear'\?"):
        ar.choice("law", "liner", ("linear", "cubic"), "f")
    with pytest.raises(on.UnknownNameError, match=r"unknown law 3"):
        ar.choice("law", 3, ("linear",))
