"""Motions, states and forces from files: columns by the names of joints, as `Result.save` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array, array, real
from ..errors import ArgumentError, ModelError
from ..io.source import UnreadableError
from ..simulate.results.formats.by_name import KINDS, Table, read_table, table_of
from .values import UsageError, names_of

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.results.result import Result
    from ..view.motion import Motion

__all__ = ["Table", "differentiated", "motion", "played", "read", "saved"]


_STENCIL = 5
"""Samples of each derivative."""


def read(path: str, robot: Robot, bare: str, partial: tuple[str, ...] = (), *, timed: bool = True) -> Table:
    """Read a file: .csv or .json, by the names of its columns, or a file of `Result.save` or `numpy.savez`.

    A joint's name alone is a column of the kind `bare`; of the kinds in `partial`, joints may be missing, and are zero.
    An archive of `numpy.savez` needs times, unless it is not `timed`.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        from .json_tables import rows

        return table_of(rows(path, robot), path, robot, bare, partial)
    if suffix == ".npz" and not timed and (found := _archive(path, robot)) is not None:
        return found
    if suffix in (".npz", ".parquet"):
        m, notes = played(path, robot)
        return Table(m.t, m.q, m.v, m.a, m.tau, len(m.t), notes)
    if suffix not in (".csv", ".txt"):
        raise UsageError(f"a table is read from .csv, .json, .npz or .parquet, not from {suffix or path!r}", path)
    return read_table(path, robot, bare, partial)


def _archive(path: str, robot: Robot) -> Table | None:
    """Read arrays of one state or of several; None if the file is one of `Result.save`, or has times."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", path) from None
    except Exception as e:  # NumPy and bad zip files raise several types
        raise UnreadableError(f"this is not an archive of arrays: {e}", path) from None
    if "header" in arrays or "t" in arrays:
        return None
    series: dict[str, Array | None] = dict.fromkeys(KINDS)
    for kind in KINDS:
        if kind in arrays:
            x = np.atleast_2d(real(arrays[kind], f"{path}: {kind}"))
            series[kind] = array(x, (None, len(names_of(robot, kind))), f"{path}: {kind}")
    count = max((len(x) for x in series.values() if x is not None), default=0)
    return Table(None, series["q"], series["v"], series["a"], series["tau"], count)


def saved(path: str, robot: Robot | None, how: str) -> Result:
    """Read a motion with its robot: this one, or the one in the file. `how` is the way to give a robot, for errors."""
    from .. import load_result

    try:
        return load_result(path, robot)
    except ModelError as e:
        raise UnreadableError(str(e).removeprefix(f"{e.where}: "), e.where) from None
    except ArgumentError as e:
        raise UsageError(str(e).replace("load_result(path, robot)", how)) from None


def played(path: str, robot: Robot) -> tuple[Motion, tuple[str, ...]]:
    """Read a motion to be shown, and notes on its file."""
    from ..view.motion import read_motion

    try:
        return read_motion(robot, path)
    except UnreadableError:
        raise
    except (ModelError, ValueError) as e:
        raise UnreadableError(str(e).removeprefix(f"{path}: "), path) from None


def motion(path: str, robot: Robot) -> tuple[Array, Array, Array, Array, list[str]]:
    """Read a motion: t, q, v, a, and notes. Missing v and a are computed by differentiation, with a note."""
    table = read(path, robot, "q")
    if table.t is None or table.q is None:
        what = "a column t" if table.t is None else f"columns of positions, such as q.{(*names_of(robot, 'q'), '')[0]}"
        raise UnreadableError(f"a motion needs {what}", path)
    if table.v is not None and table.a is not None:
        return table.t, table.q, table.v, table.a, list(table.notes)
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
    return table.t, table.q, v, a if table.a is None else table.a, [*table.notes, note]


def differentiated(robot: Robot, t: Array, q: Array, v: Array | None = None) -> tuple[Array, Array]:
    """Return velocities (unless known) and accelerations of samples, by polynomials through neighbours.

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
