"""Motions, states and forces from files: columns by the names of joints, as `Result.save` writes them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, ModelError, unknown_name
from ..io.source import UnreadableError
from ..records import dataclass
from .values import UsageError, names_of

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.result import Result
    from ..view.motion import Motion

__all__ = ["Table", "differentiated", "motion", "played", "read", "saved"]

Array = NDArray[np.float64]

_KINDS = ("q", "v", "a", "tau")
_STENCIL = 5
"""Samples that a derivative is taken from."""


@dataclass(frozen=True, eq=False)
class Table:
    """What a file has: times (N,), and rows for each kind; None where it has none."""

    t: Array | None
    q: Array | None
    v: Array | None
    a: Array | None
    tau: Array | None
    count: int
    notes: tuple[str, ...] = ()


def read(path: str, robot: Robot, bare: str, partial: tuple[str, ...] = ()) -> Table:
    """Read a file: .csv, or what `Result.save` or `numpy.savez` wrote. Columns `bare` of a prefix are of that kind.

    A CSV file has columns "t", "q.<joint>", "v.<joint>", "a.<joint>", "tau.<joint>"; of the kinds in `partial`, joints
    may be missing, and are zero.
    """
    suffix = Path(path).suffix.lower()
    if suffix in (".npz", ".parquet"):
        return _archive(path, robot)
    if suffix not in (".csv", ".txt"):
        raise UsageError(f"a table is read from .csv, .npz or .parquet, not from {suffix or path!r}", path)
    return _table(*_text(path), path, robot, bare, partial)


def saved(path: str, robot: Robot | None, how: str) -> Result:
    """A motion with its robot: that in the file, or this one. Where it is needed, the error says `how` to give it."""
    from .. import load_result

    try:
        return load_result(path, robot)
    except ModelError as e:
        raise UnreadableError(str(e).removeprefix(f"{e.where}: "), e.where) from None
    except ArgumentError as e:
        raise UsageError(str(e).replace("load_result(path, robot)", how)) from None


def played(path: str, robot: Robot) -> Motion:
    """A motion to be shown; of a CSV file that is none, line and column are told."""
    from ..view.motion import read_motion

    if Path(path).suffix.lower() == ".csv":
        _text(path)
    try:
        return read_motion(robot, path)
    except UnreadableError:
        raise
    except (ModelError, ValueError) as e:
        raise UnreadableError(str(e).removeprefix(f"{path}: "), path) from None


def _archive(path: str, robot: Robot) -> Table:
    m = played(path, robot)
    return Table(m.t, m.q, m.v, m.a, m.tau, len(m.t))


def _text(path: str) -> tuple[list[str], list[int], Array]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            return _rows(file, path)
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", path) from None
    except UnicodeDecodeError:
        raise UnreadableError("this is no text in UTF-8", path) from None


def _rows(file: TextIO, path: str) -> tuple[list[str], list[int], Array]:
    """The names of the columns, and for each row its line and its numbers."""
    reader = csv.reader(file)
    head: list[str] = []
    lines: list[int] = []
    rows: list[list[float]] = []
    try:
        for row in reader:
            if not row or row[0].startswith("#") or not any(cell.strip() for cell in row):
                continue
            if not head:
                head = [cell.strip() for cell in row]
                if not any(map(_numeric, head)):
                    continue
                head = [""] * len(row)
            where = f"{path}:{reader.line_num}"
            if len(row) != len(head):
                raise UnreadableError(f"the line has {len(row)} columns, those before {len(head)}", where)
            bad = next((k for k, cell in enumerate(row) if not _numeric(cell)), None)
            if bad is not None:
                raise UnreadableError(f"{row[bad][:40]!r}, in the column {head[bad] or bad + 1!r}, is no number", where)
            rows.append([float(cell) for cell in row])
            lines.append(reader.line_num)
    except csv.Error as e:
        raise UnreadableError(f"this is no CSV text: {e}", f"{path}:{reader.line_num}") from None
    if not rows:
        raise UnreadableError("the file has no rows of numbers", path)
    return head, lines, np.array(rows)


def _numeric(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _table(
    head: list[str], lines: list[int], values: Array, path: str, robot: Robot, bare: str, partial: tuple[str, ...]
) -> Table:
    if not head[0]:
        head = _assumed(len(head), path, robot, bare)
    at = next((k for k, name in enumerate(head) if name in ("t", "time")), None)
    columns: dict[str, dict[int, int]] = {kind: {} for kind in _KINDS}
    ignored = []
    for k, name in enumerate(head):
        if k == at:
            continue
        kind, dot, label = name.partition(".")
        if not (dot and kind in _KINDS):
            kind, label = bare, name
        names = names_of(robot, kind)
        if label in names:
            if names.index(label) in columns[kind]:
                raise UnreadableError(f"the column {name!r} is there twice", path)
            columns[kind][names.index(label)] = k
        elif label != name:
            raise UnreadableError(f"column {name!r}: {unknown_name('joint', label, names, robot.name)}", path)
        else:
            ignored.append(name)
    t = None if at is None else values[:, at]
    if t is not None and (bad := ~np.isfinite(t) | (np.diff(t, prepend=-np.inf) < 0.0)).any():
        line = lines[int(np.argmax(bad))]
        raise UnreadableError(
            f"the time {t[np.argmax(bad)]:g} is not finite, or before that of the last row", f"{path}:{line}"
        )
    found = {kind: _gathered(kind, columns[kind], lines, values, path, robot, kind in partial) for kind in _KINDS}
    notes = (f"{path}: not read: {', '.join(ignored[:8])}{', ...' if ignored[8:] else ''}",) if ignored else ()
    return Table(t, **found, count=len(values), notes=tuple(n for n in notes if set(ignored) - {"work", "dissipated"}))


def _assumed(width: int, path: str, robot: Robot, bare: str) -> list[str]:
    """Names for columns without: the time, then all joints, of one kind or of several."""
    own = {kind: [f"{kind}.{name}" for name in names_of(robot, kind)] for kind in _KINDS}
    orders = [(bare,)] if bare != "q" else [("q",), ("q", "v"), ("q", "v", "a")]
    for order in orders:
        names = ["t", *(name for kind in order for name in own[kind])]
        if len(names) == width:
            return names
    raise UnreadableError(
        f"the columns have no names, and {width} of them are not t and those of {robot.name!r}; expected a first line "
        f"such as {','.join(['t', *own[bare]])[:80]}",
        path,
    )


def _gathered(
    kind: str, places: dict[int, int], lines: list[int], values: Array, path: str, robot: Robot, partial: bool
) -> Array | None:
    """The rows of one kind, in the order of the robot."""
    names = names_of(robot, kind)
    if not places and names:
        return None
    missing = [name for k, name in enumerate(names) if k not in places]
    if missing and not partial:
        raise UnreadableError(
            f"there are columns of {kind}, but none for {', '.join(f'{kind}.{x}' for x in missing[:6])}", path
        )
    x = np.zeros((len(values), len(names)))
    for k, column in places.items():
        x[:, k] = values[:, column]
    if np.isnan(x).all() and x.size:  # how a motion is written of which this is not known
        return None
    bad = ~np.isfinite(x)
    if bad.any():
        row, k = (int(i) for i in np.argwhere(bad)[0])
        raise UnreadableError(f"{kind}.{names[k]} is {x[row, k]}, which is not finite", f"{path}:{lines[row]}")
    return x


def motion(path: str, robot: Robot) -> Table:
    """A motion with t, q, v and a; what is missing of v and a is found by differentiation, with a note."""
    table = read(path, robot, "q")
    if table.t is None or table.q is None:
        what = "a column t" if table.t is None else f"columns of positions, such as q.{(*names_of(robot, 'q'), '')[0]}"
        raise UnreadableError(f"a motion needs {what}", path)
    if table.v is not None and table.a is not None:
        return table
    again = np.flatnonzero(np.diff(table.t) <= 0.0)
    if again.size:
        raise UnreadableError(
            f"t = {table.t[again[0]]:g} is there twice: to differentiate, times must increase; or give v and a", path
        )
    if table.count < 3:
        raise UnreadableError(f"to differentiate, three rows are needed, not {table.count}; or give v and a", path)
    v, a = differentiated(robot, table.t, table.q, table.v)
    missing = "velocities and accelerations were" if table.v is None else "accelerations were"
    note = f"{path}: {missing} found by differentiation, from {min(_STENCIL, table.count)} samples each"
    return replace(table, v=v, a=a if table.a is None else table.a, notes=(*table.notes, note))


def differentiated(robot: Robot, t: Array, q: Array, v: Array | None = None) -> tuple[Array, Array]:
    """Velocities (unless known) and accelerations from samples, by polynomials through some neighbours of each.

    The polynomials are in the exponential chart about the sample itself, where the first two derivatives of the
    coordinates are the velocity and its derivative, for rotations too.
    """
    from ..control.spaces import Configurations

    Configurations(robot).known()
    n = len(t)
    width = min(_STENCIL, n)
    start = np.clip(np.arange(n) - width // 2, 0, n - width)
    near = start[:, None] + np.arange(width)
    h = (t[near[:, -1]] - t[near[:, 0]])[:, None]
    powers = ((t[near] - t[:, None]) / h)[..., None] ** np.arange(width)
    x = robot.difference(q[:, None], q[near]) if v is None else v[near]
    c = np.linalg.solve(powers, x)
    return (c[:, 1] / h, 2.0 * c[:, 2] / h**2) if v is None else (v, c[:, 1] / h)
