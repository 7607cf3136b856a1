"""Numbers on the command line: lists by order or by name, from the text or from a file."""

from __future__ import annotations

import argparse
import math
import re
from typing import TYPE_CHECKING

from ..errors import ArgumentError, unknown_name
from ..io.remarks import some

if TYPE_CHECKING:
    from ..arguments import Array
    from ..robot import Robot

__all__ = ["LIST", "LIST_HELP", "UsageError", "count", "gain", "named", "names_of", "positive", "start", "vector"]

LIST = "LIST"
"""Lists of numbers in the help."""
LIST_HELP = """\
LIST is a number for each coordinate (0,0.5,-1), or names with values (elbow=0.5,wrist=30deg; the others are neutral or
zero), or for positions the name of one of the robot (ready). @FILE reads it from a file: text, or .json; or a row
of a table (.csv, .json, .npz, .parquet): @fall.npz:last, :first, or its number from 0. @- reads standard input."""


class UsageError(ArgumentError):
    """A wrong argument of a command."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.where = where


def positive(text: str) -> float:
    """Return a positive number, for argparse."""
    x = _float(text)
    if not 0.0 < x < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} must be a positive number")
    return x


def count(text: str) -> int:
    """Return a whole number above 0, for argparse; 1e6 is one."""
    x = _float(text)
    if not (1 <= x < 2**53 and x == int(x)):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number above 0")
    return int(x)


def names_of(robot: Robot, kind: str) -> tuple[str, ...]:
    """Return the names of positions ("q") or of velocities, accelerations and forces ("v", "a", "tau")."""
    from ..simulate.results.series import labels

    return labels(robot)[kind != "q"]


def vector(text: str | None, robot: Robot, kind: str, option: str, source: str = "") -> Array:
    """Return the number for each coordinate, from the value of an option.

    A list has one number for each. Names with values leave the others at the neutral position, or zero. `@file` reads
    either from a file, or a row of a table. A position may be the name of one of a bundled robot (`source`). Angles may
    be in degrees: "30deg".
    """
    import numpy as np

    usual = robot.neutral() if kind == "q" else np.zeros(robot.nv)
    if text is None:
        return usual
    from .lists import from_table
    from .lists import items as items_of

    names = names_of(robot, kind)
    row = from_table(text, robot, kind, option)
    if row is not None:
        return _on_the_manifold(row, robot, option) if kind == "q" else row
    items = items_of(text, option)
    if kind == "q" and len(items) == 1 and re.fullmatch(r"[A-Za-z][^=]*", items[0][0]):
        return named(items[0][0], robot, source)
    pairs = [item.partition("=") for item, _ in items]
    if any(equals for _, equals, _ in pairs):
        x = usual.copy()
        for (name, equals, value), (item, where) in zip(pairs, items, strict=True):
            if not equals:
                raise UsageError(f"{option}: {item!r} has no name, but others do; expected NAME=X", where)
            x[_index(name, names, robot, option, where)] = _number(value, option, where)
    else:
        x = np.array([_number(item, option, where) for item, where in items])
        if len(x) != len(names):
            why = f"{option} has {len(x)} numbers, {robot.name!r} needs {len(names)}: {some(names, 12)}"
            raise UsageError(why, text[1:] if text.startswith("@") else "")
    return _on_the_manifold(x, robot, option) if kind == "q" else x


def start(text: str | None, robot: Robot, option: str, source: str) -> Array:
    """Return a position; without a text, the neutral one, or with loops the closed one next to it."""
    if text is not None or not robot.nc:
        return vector(text, robot, "q", option, source)
    from ..simulate.constraints.start import assembled

    return assembled(robot)


def gain(text: str, robot: Robot, option: str) -> float | Array:
    """Return one number for all, or numbers as for a vector; coordinates that are not named get zero."""
    x = _float(text)
    return vector(text, robot, "v", option) if math.isnan(x) else x


def named(name: str, robot: Robot, source: str) -> Array:
    """Return a position by its name: "neutral", or a position of the bundled robot `source`."""
    from ..robots import known, positions

    found = {"neutral": robot.neutral()} | robot.positions | (positions(source) if known(source) else {})
    found = {key: q for key, q in found.items() if len(q) == robot.nq}
    if name not in found:
        raise UsageError(str(unknown_name("position", name, found, robot.name)))
    return found[name]


def _number(text: str, option: str, where: str) -> float:
    x = _float(text.removesuffix("deg"))
    if not math.isfinite(x):
        raise UsageError(f"{option}: {text!r} is not a finite number", where)
    return math.radians(x) if text.endswith("deg") else x


def _float(text: str) -> float:
    """Return a number; NaN for other texts."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _index(name: str, names: tuple[str, ...], robot: Robot, option: str, where: str) -> int:
    if name in names:
        return names.index(name)
    joint = next((c for c in robot.joints if c.name == name), None)
    why = str(unknown_name("joint", name, names, robot.name))
    if joint is not None and joint.mimic is not None:
        why = f"joint {name!r} follows {robot.joints[joint.mimic.joint].name!r}; give that one"
    elif joint is not None:
        own = [x for x in names if x.startswith(f"{name}.")]
        why = f"joint {name!r} has several coordinates: {', '.join(own)}" if own else f"joint {name!r} does not move"
    raise UsageError(f"{option}: {why}", where)


def _on_the_manifold(x: Array, robot: Robot, option: str) -> Array:
    """Return a position with unit quaternions."""
    import numpy as np

    if robot.nq == robot.nv:
        return x
    with np.errstate(all="ignore"):
        q = np.asarray(robot.normalize(x))
    if not np.isfinite(q).all():
        raise UsageError(f"{option}: a quaternion must not be zero")
    return q
