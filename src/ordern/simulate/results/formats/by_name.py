"""Tables whose columns are named after joints: finds the coordinate of each column.

A column is "t" (or "time"), "q.<joint>", "v.<joint>", "a.<joint>" or "tau.<joint>", as `Result.save` writes them. A
joint's name alone stands for the kind that the reader expects. The order of columns does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from ....arguments import Array
from ....errors import close_names, unknown_name
from ....io.remarks import some
from ....io.source import UnreadableError
from ....records import dataclass
from ..series import DERIVED, STORED, labels
from .header import parsed
from .rows import Rows, read_file

if TYPE_CHECKING:
    from ....model import Model

__all__ = ["KINDS", "Places", "Table", "missing_columns", "places", "read_table", "table_of"]


KINDS = ("q", "v", "a", "tau")


@dataclass(frozen=True, eq=False)
class Table:
    """The contents of a file: times (N,), and rows for each kind, or None."""

    t: Array | None
    q: Array | None
    v: Array | None
    a: Array | None
    tau: Array | None
    count: int
    notes: tuple[str, ...] = ()
    """Columns that were not read, and why; for the user."""
    names: tuple[str, ...] = ()
    """The names of all columns; empty if the file has no names."""


@dataclass(frozen=True, slots=True)
class Places:
    """The column of the time, and of each coordinate of each kind."""

    t: int | None
    kinds: dict[str, dict[int, int]]
    """The column of each coordinate, by kind and number."""
    rest: tuple[str, ...] = ()
    """Columns that belong to no coordinate."""
    followers: dict[str, str] = field(default_factory=dict)
    """Columns of joints that follow others, and those others."""
    wrong: tuple[str, ...] = ()
    """Columns whose names look like a misspelt coordinate, each with the reason."""


def read_table(path: str, robot: Model, bare: str = "q", partial: Iterable[str] = ()) -> Table:
    """Read a CSV file by the names of its columns. A joint's name alone is a column of the kind `bare`.

    Of the kinds in `partial`, joints may be missing, and are zero. Columns without names are taken in the order of the
    robot, if their count leaves no doubt: the time, then all of `bare`; or of q and v, or of q, v and a. A column that
    is spelled almost like a coordinate is an error; others that belong to none are in the notes.
    """
    return table_of(read_file(path), path, robot, bare, partial)


def table_of(rows: Rows, path: str, robot: Model, bare: str = "q", partial: Iterable[str] = ()) -> Table:
    """Find the coordinates of rows that were read from a file; see `read_table`."""
    if not len(rows.values):
        raise UnreadableError("the file has no rows of numbers", path)
    names = rows.names or _assumed(rows.values.shape[1], path, robot, bare)
    known: Sequence[str] = (*STORED, *DERIVED)
    if rows.about:
        about = parsed(rows.about)
        known = (*known, *(name for name, _ in about["extra"]))
    found = places(names, robot, bare, path, known)
    if found.wrong:
        raise UnreadableError(found.wrong[0], path)
    t = None if found.t is None else rows.values[:, found.t]
    if t is not None and (bad := ~np.isfinite(t) | (np.diff(t, prepend=-np.inf) < 0.0)).any():
        k = int(np.argmax(bad))
        raise UnreadableError(
            f"the time {t[k]:g} is not finite, or before that of the last row", f"{path}:{rows.lines[k]}"
        )
    loose = tuple(partial)
    series = {kind: _gathered(kind, found, rows, path, robot, kind in loose) for kind in KINDS}
    return Table(t, **series, count=len(rows.values), notes=_notes(found, path, known), names=rows.names)


def places(names: Sequence[str], robot: Model, bare: str, where: str, known: Sequence[str] = ()) -> Places:
    """Find the coordinate of each column by its name; UnreadableError where one is there twice.

    Columns in `known`, or of parts of them such as `momentum.0`, are never taken for misspelled coordinates.
    """
    own = dict(zip(KINDS, (labels(robot)[kind != "q"] for kind in KINDS), strict=True))
    index = {kind: {name: k for k, name in enumerate(own[kind])} for kind in KINDS}
    follows = {c.name: robot.joints[c.mimic.joint].name for c in robot.joints if c.mimic is not None}
    time = next((k for k, name in enumerate(names) if name.strip() in ("t", "time")), None)
    kinds: dict[str, dict[int, int]] = {kind: {} for kind in KINDS}
    followers: dict[str, str] = {}
    rest, wrong = [], []

    def placed(name: str, k: int) -> bool:
        kind, _, label = name.partition(".")
        if label not in index.get(kind, ()):
            kind, label = bare, name
        if label not in index[kind]:
            return False
        if index[kind][label] in kinds[kind]:
            raise UnreadableError(f"the column {name!r} is there twice", where)
        kinds[kind][index[kind][label]] = k
        return True

    for k, name in enumerate(names):
        if k == time or placed(name, k) or (name != name.strip() and placed(name.strip(), k)):
            continue
        kind, dot, label = name.strip().partition(".")
        if not (dot and kind in KINDS):
            kind, label = bare, name.strip()
            if label not in follows:
                rest.append(name)
                continue
        if label in follows:
            followers[name] = follows[label]
        else:
            wrong.append(f"column {name!r}: {_unknown(label, own[kind], robot)}")
    left = [x for j, x in enumerate(own[bare]) if j not in kinds[bare]]
    for name in rest:
        if not _told(name, known) and (any(x.startswith(f"{name}.") for x in left) or close_names(name, tuple(left))):
            wrong.append(f"column {name!r}: {_unknown(name, own[bare], robot)}")
    return Places(time, kinds, tuple(rest), followers, tuple(wrong))


def _told(name: str, known: Sequence[str]) -> bool:
    return name in known or name.partition(".")[0] in known


def missing_columns(kind: str, found: Places, robot: Model) -> list[str]:
    """Return the names of the missing columns of a kind."""
    names = labels(robot)[kind != "q"]
    return [f"{kind}.{name}" for k, name in enumerate(names) if k not in found.kinds[kind]]


def _unknown(label: str, names: tuple[str, ...], robot: Model) -> str:
    own = [x for x in names if x.startswith(f"{label}.")]
    if own:
        return f"joint {label!r} has several coordinates, each with a column of its own: {', '.join(own)}"
    return str(unknown_name("joint", label, names, robot.name))


def _notes(found: Places, path: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return a note for columns that belong to no coordinate, and one for columns of mimic joints."""
    left = [name for name in found.rest if not _told(name, known)]
    followers = [f"{name} (it follows {leader})" for name, leader in found.followers.items()]
    return tuple(f"{path}: not read: {some(names, 8)}" for names in (left, followers) if names)


def _assumed(width: int, path: str, robot: Model, bare: str) -> tuple[str, ...]:
    """Return names for columns without names: the time, then all coordinates, of one kind or of several."""
    own = {kind: [f"{kind}.{name}" for name in labels(robot)[kind != "q"]] for kind in KINDS}
    for order in [(bare,)] if bare != "q" else [("q",), ("q", "v"), ("q", "v", "a")]:
        names = ("t", *(name for kind in order for name in own[kind]))
        if len(names) == width:
            return names
    raise UnreadableError(
        f"the columns have no names, and {width} of them are not t and those of {robot.name!r}; expected a first line "
        f"such as {','.join(['t', *own[bare]])[:80]}",
        path,
    )


def _gathered(kind: str, found: Places, rows: Rows, path: str, robot: Model, partial: bool) -> Array | None:
    """Return the rows of one kind, in the order of the robot."""
    names, own = labels(robot)[kind != "q"], found.kinds[kind]
    if not own and names:
        return None
    lacking = missing_columns(kind, found, robot)
    if lacking and not partial:
        rest = [*found.rest, *found.followers]
        others = f"; columns that belong to no coordinate: {some(rest, 6)}" if rest else ""
        raise UnreadableError(f"there are columns of {kind}, but none for {some(lacking, 6)}{others}", path)
    x = np.zeros((len(rows.values), len(names)))
    x[:, list(own)] = rows.values[:, list(own.values())]
    if np.isnan(x).all() and x.size:  # a motion without this kind is written like this
        return None
    bad = ~np.isfinite(x)
    if bad.any():
        row, k = (int(i) for i in np.argwhere(bad)[0])
        raise UnreadableError(f"{kind}.{names[k]} is {x[row, k]}, which is not finite", f"{path}:{rows.lines[row]}")
    return x
