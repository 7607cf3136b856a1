"""Arguments for random calls: good values by the names of parameters, and values of every wrong kind."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import ordern as on

__all__ = ["HOSTILE", "UserError", "bent", "shown"]


class UserError(Exception):
    """What a function of the user's raises; it must come out as it is."""


def _raises(*_: Any, **__: Any) -> Any:
    raise UserError


class _Odd:
    """An object of a class that no function knows."""

    def __repr__(self) -> str:
        return "_Odd()"


def _read_only() -> Any:
    a = np.zeros(2)
    a.flags.writeable = False
    return a


def _circular() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


_BELOW: Any = 0.5
for _ in range(70):
    _BELOW = [_BELOW]

HOSTILE: tuple[Any, ...] = (
    *(None, True, False, ..., NotImplemented, 0, 1, -1, 2, 3, 7, 2**62, 2**63, -(2**63), 10**30, 10**400),
    *(0.0, -0.0, -1.0, 0.5, 1e-300, 1e308, float("nan"), float("inf"), -float("inf"), 1j, complex("nan")),
    *("", "x", "nan", "1", "lower", "base", "world", "é", "\0", "a" * 3000, "../x", "/", "\udc80", b"lower", b""),
    *(
        Fraction(1, 3),
        np.float32(1.0),
        np.float64("nan"),
        np.int64(1),
        np.bool_(True),
        np.longdouble(1),
        np.str_("lower"),
    ),
    *(np.datetime64("2020-01-01"), np.timedelta64(1, "s"), datetime.timedelta(1), datetime.date(2020, 1, 1)),
    *((), [], {}, set(), frozenset({1}), range(3), slice(None), iter(()), [[]], [[], []], [()], ((),), {"": {}}),
    *([1, 2], [0.0, 1.0], (1, 2, 3), [1, [2]], [[1, 2], [3]], [1, None], [None], ["x"], ["lower"], [1, "x"], [1j, 2]),
    *([0.1] * 6, [0.1] * 7, [[0.1, 0.2]], [[0.1, 0.2]] * 3, [float("nan"), 0.0], [10**400, 0], ["1", "2"], "12"),
    *({"x": 1}, {"lower": 1}, {"lower": [1, 2, 3]}, {"lower": None}, {1: 2}, {None: None}, {("a",): 1}, {"elbow": "x"}),
    *(np.zeros(0), np.zeros((0, 2)), np.zeros((2, 0)), np.zeros(()), np.zeros(1), np.zeros(2), np.zeros(3), np.ones(6)),
    *(np.zeros((2, 2)), np.zeros((3, 2)), np.zeros((1, 1, 2)), np.eye(3), np.eye(4), np.eye(6), np.zeros((2, 3, 4))),
    *(np.full(2, np.nan), np.full(2, np.inf), np.full(2, 1e308), np.zeros(2, complex), np.zeros(2, np.float16)),
    *(np.zeros(2, bool), np.zeros(2, np.uint8), np.zeros(2, np.float32), np.zeros(2, np.longdouble), np.zeros(2)[::-1]),
    *(np.array(["a", "b"]), np.array([b"a"]), np.array([None, 1], object), np.array([1, "x"], object)),
    *(np.array([[1], [2, 3]], object), np.array([_Odd()], object), np.zeros(2, "M8[s]"), np.zeros(2, "m8[s]")),
    *(np.zeros(2, [("a", "f8")]), np.ma.array([0.1, 0.2], mask=[True, False]), np.ma.masked, np.ma.array([1.0, 2.0])),
    *(_read_only(), np.broadcast_to(0.0, (20_000, 2)), np.broadcast_to(0.0, (1,) * 30), _circular(), _BELOW),
    *(_Odd(), _Odd, object(), int, str, np, on, abs, len, dict.fromkeys("ab"), Path("x"), UserError(), type(None)),
    *(lambda: None, lambda *a: None, lambda *a: "x", lambda *a: [0.0] * 2, lambda *a: np.nan, _raises),
    *(np.random.default_rng(0), memoryview(b"12"), bytearray(b"12"), (x for x in (1, 2))),
    *(
        on.Revolute,
        on.Revolute(),
        on.Fixed(),
        on.Free(),
        on.Ground(),
        on.Placement(),
        on.Frame("f", 0),
        on.Frame("f", 99),
    ),
    *(on.Frame("f", -5), on.Body("b", 1.0, (0.0, 0.0, 0.0), (1.0,) * 6), on.Mimic(0), on.Distance(1.0), on.Builder()),
)
"""Values that are wrong for most parameters."""


def _array(x: Any, r: Random) -> Any:
    """Return numbers with another shape, another type, or a number that is not finite."""
    try:
        a = np.array(x)
    except (ValueError, TypeError):
        return x
    kind = r.randrange(16)
    if kind < 4 and a.size and a.dtype.kind in "iuf":
        a = a.astype(float)
        a.flat[r.randrange(a.size)] = (np.nan, np.inf, -1.0, 1e300)[kind]
        return a
    shapes: tuple[Callable[[], Any], ...] = (
        lambda: a[..., :-1],
        lambda: a[None],
        a.ravel,
        lambda: np.stack([a, a, a]),
        lambda: np.broadcast_to(a, (3, 2, *a.shape)),
        lambda: a.T[..., None],
        lambda: a.astype(("f2", "f4", "g", "c16", "U8", "O", "i4", "?", "S3")[r.randrange(9)]),
        lambda: np.ma.array(a, mask=True),
        a.tolist,
        lambda: [a.tolist(), [0.0]],
        lambda: (a, 1.0),
        lambda: a[:0],
    )
    try:
        return shapes[kind - 4]()
    except (IndexError, ValueError, TypeError, RuntimeError):  # what NumPy cannot convert stays as it is
        return a


def bent(x: Any, r: Random, depth: int = 0) -> Any:
    """Return a value like a good one with something wrong in it."""
    if r.random() < 0.3 or depth > 2:
        return r.choice(HOSTILE)
    if isinstance(x, str):
        return r.choice(
            (
                x[:-1],
                x + "x",
                x.upper(),
                x.encode("utf-8", "replace"),
                [x],
                {x: 1.0},
                np.array(x),
                np.array([x]),
                (x, x),
            )
        )
    if isinstance(x, (bool, int, float)) and abs(x) < 2**63:
        return r.choice(
            (-x, x * 10**18, 0, x + 0.5, str(x), [x], np.array([x]), complex(x), None, np.nan, Fraction(1, 3))
        )
    if isinstance(x, np.ndarray):
        return _array(x, r)
    if isinstance(x, Mapping) and x:
        key = r.choice(list(x))
        made = dict(x)
        if r.random() < 0.5:
            made[key] = bent(made[key], r, depth + 1)
        else:
            made[r.choice(("x", "", 1, None, ("a", 2), b"x"))] = made.pop(key)
        return made
    if isinstance(x, (list, tuple)) and x and type(x) in (list, tuple):
        if r.random() < 0.25:
            return _array(x, r) if isinstance(x[0], (int, float)) else x[0]
        items = list(x)
        at = r.randrange(len(items))
        if r.random() < 0.7:
            items[at] = bent(items[at], r, depth + 1)
        else:
            items[at : at + 1] = r.choice(([], [items[at]] * 2))
        return type(x)(items)
    return r.choice(HOSTILE)


def shown(x: Any) -> str:
    """Return an argument in a few characters."""
    try:
        text = f"array{x.shape}:{x.dtype}" if isinstance(x, np.ndarray) and x.size > 9 else repr(x)
    except Exception as e:
        text = f"<{type(x).__name__} whose repr raises {type(e).__name__}>"
    return text if len(text) <= 90 else f"{text[:90]}..."
