"""A motion to show: times and positions, and velocities and forces if they are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, Array, array, real
from ..control.spaces import Configurations
from ..errors import ArgumentError
from ..io.source import UnreadableError
from ..records import dataclass
from ..simulate.results.series import labels

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Motion", "motion_of", "read_motion", "rest", "thinned"]

Between = Callable[[Array], tuple[Array, Array]]
_SERIES = ("t", "q", "v", "a", "tau")
_SAME = 1e-9
"""Positions that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Positions (T, nq) at times (T,) that grow; velocities and joint forces (T, nv) where they are known."""

    t: Array
    q: Array
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None
    between: Between | None = None
    """Positions and velocities at any times, if the motion has more than its samples."""
    contact_forces: Array | None = None
    """Forces of contacts along their axes, (T, contacts, 3)."""
    surfaces: Array | None = None
    """Friction, restitution and ground height of contacts, (contacts, 3)."""

    @property
    def duration(self) -> float:
        """The time from the first sample to the last."""
        return float(self.t[-1] - self.t[0])

    def at(self, robot: Robot, times: Array) -> Motion:
        """Return the motion at other times, along the shortest way between its positions."""
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, max(len(self.t) - 2, 0))
        if len(self.t) == 1:
            return replace(self.rows(k), t=times)
        part = np.clip((times - self.t[k]) / (self.t[k + 1] - self.t[k]), 0.0, 1.0)
        series = (self.v, self.a, self.tau)
        v, a, tau = (None if x is None else x[k] + part[:, None] * (x[k + 1] - x[k]) for x in series)
        if self.between is not None:
            q, v = self.between(np.clip(times, self.t[0], self.t[-1]))
        else:
            q = robot.integrate(self.q[k], Configurations(robot).difference(self.q[k], self.q[k + 1]), part)
        nearest = None if self.contact_forces is None else self.contact_forces[k + np.rint(part).astype(int)]
        return Motion(times, q, v, a, tau, None, nearest, self.surfaces)

    def rows(self, which: slice | AnyArray) -> Motion:
        """Return some samples: a slice, or indices."""
        v, a, tau = (None if x is None else x[which] for x in (self.v, self.a, self.tau))
        forces = None if self.contact_forces is None else self.contact_forces[which]
        return Motion(self.t[which], self.q[which], v, a, tau, None, forces, self.surfaces)

    def still(self, q: Array) -> Motion:
        """Return a robot at rest at a position, with the contact forces that the motion has there, if it is on it."""
        if self.contact_forces is None:
            return rest(q)
        k = int(np.argmin(np.abs(self.q - q).max(axis=1)))
        own = np.abs(self.q[k] - q).max() <= _SAME
        return replace(rest(q), contact_forces=self.contact_forces[k : k + 1] if own else None, surfaces=self.surfaces)

    def frames(self, robot: Robot, rate: float) -> Motion:
        """Return the motion at `rate` equal times per second, its last time included."""
        count = max(round(self.duration * rate), 1)
        return self.at(robot, np.linspace(self.t[0], self.t[-1], count + 1) if self.duration > 0 else self.t[:1])


def rest(q: Array) -> Motion:
    """Return the motion of a robot that rests at a position."""
    return Motion(np.zeros(1), q[None])


def motion_of(robot: Robot, motion: Any) -> Motion:
    """Return a motion from an object with `t` and `q` (a simulation's result, say), or from a pair (t, q)."""
    if isinstance(motion, Motion):
        return motion
    if isinstance(motion, (tuple, list)) and len(motion) == 2:
        given: dict[str, Any] = dict(zip(_SERIES, motion, strict=False))
    else:
        given = {name: getattr(motion, name, None) for name in _SERIES}
    if given["t"] is None or given["q"] is None:
        raise ArgumentError(
            f"motion: a {type(motion).__name__} has no times `t` and positions `q`; give the result of a simulation, "
            "or a pair (t, q) of arrays of shape (T,) and (T, nq)"
        )
    t = array(given["t"], (None,), "motion: t")
    if np.ndim(given["q"]) > 2 and np.shape(given["q"])[-2:] == (len(t), robot.nq):
        batch = np.shape(given["q"])[:-2]
        raise ArgumentError(f"motion: there are many trajectories, of shape {batch}; choose one, such as run[0]")
    if not len(t) or (np.diff(t) < 0).any():
        raise ArgumentError("motion: t must be the times of at least one position, and must not go back")
    keep = np.r_[np.diff(t) > 0, True]  # of several at one time (an event), the last counts
    series: dict[str, Any] = {}
    for name, size in (("q", robot.nq), ("v", robot.nv), ("a", robot.nv), ("tau", robot.nv)):
        x = np.zeros(0) if given.get(name) is None else real(given[name], f"motion: {name}")
        if name == "q" or (x.size and not np.isnan(x).all()):  # a series of NaN is not known
            series[name] = array(x, (len(t), size), f"motion: {name}")[keep]
    between = getattr(motion, "at", None)
    series |= _contacts(robot, motion, keep)
    return Motion(t[keep], **series, between=between if callable(between) else None)


def _contacts(robot: Robot, motion: Any, keep: AnyArray) -> dict[str, Any]:
    """Return the forces of contacts and their surfaces, if the motion has them."""
    if robot.contacts is None:
        return {}
    count = len(robot.contacts.pairs)
    try:
        forces = getattr(motion, "contact_forces", None)
    except ArgumentError:  # a rollout of the robot without contacts
        forces = None
    series = getattr(motion, "extra", {})  # of a simulation
    own: list[Any] = [series.get(f"force.{c.name}") for c in robot.contacts.pairs]
    if forces is None and all(x is not None and np.shape(x) == (len(keep), 3) for x in own):
        forces = np.stack(own, axis=1)
    if forces is None:
        return {}
    found = {"contact_forces": array(forces, (len(keep), count, 3), "motion: contact_forces")[keep]}
    surfaces = getattr(motion, "contact_surfaces", None)
    if surfaces is not None:
        found["surfaces"] = array(surfaces, (count, 3), "motion: contact_surfaces")
    return found


def read_motion(robot: Robot, path: str | os.PathLike[str]) -> tuple[Motion, tuple[str, ...]]:
    """Read a motion from a file, and notes on columns that were not read.

    A .csv file is read by the names of its columns: t, q.<joint>, v.<joint>, tau.<joint>. A .npz file contains arrays t
    and q (and v, a, tau) in the order of the robot, or was written by `Result.save`, like a .parquet file. A written
    result must be of a robot with the same coordinates.
    """
    file = Path(path)
    readers = {".npz": _read_npz, ".csv": _read_csv, ".parquet": _read_result}
    if file.suffix.lower() not in readers:
        raise ArgumentError(f"{path}: a motion is read from {', '.join(readers)}, not from {file.suffix or 'that'!r}")
    try:
        found, notes = readers[file.suffix.lower()](robot, file)
    except OSError as e:
        raise UnreadableError(f"the file cannot be read: {e.strerror or e}", str(path)) from None
    try:
        return motion_of(robot, SimpleNamespace(**found)), notes
    except ArgumentError as e:
        raise ArgumentError(f"{path}: {e}") from None


_Found = tuple[dict[str, Any], tuple[str, ...]]


def _read_npz(robot: Robot, file: Path) -> _Found:
    try:
        with file.open("rb") as data, np.load(data, allow_pickle=False) as archive:
            if "header" not in archive.files:
                return {name: _only(name, archive[name]) for name in _SERIES if name in archive.files}, ()
    except OSError:
        raise
    except Exception as e:  # NumPy and bad zip files raise several types
        raise UnreadableError(f"this is not an archive of arrays: {e}", str(file)) from None
    return _read_result(robot, file)  # which checks the names of the coordinates


def _only(name: str, x: AnyArray) -> AnyArray:
    """Return the series of the only trajectory, of a file with a batch of one."""
    return x[0] if name != "t" and x.ndim == 3 and len(x) == 1 else x


def _read_result(robot: Robot, file: Path) -> _Found:
    from ..simulate.results.formats import load_result

    result = load_result(file, robot, type(robot))
    return {name: getattr(result, name) for name in _SERIES}, ()


def _read_csv(robot: Robot, file: Path) -> _Found:
    from ..simulate.results.formats.by_name import read_table

    table = read_table(str(file), robot)
    if table.t is None or table.q is None:
        first = next(iter(labels(robot)[0]), "joint")
        what = "a column t" if table.t is None else f"columns of positions, such as q.{first}"
        there = f"; the file has {', '.join(table.names[:8])}{', ...' if table.names[8:] else ''}"
        raise UnreadableError(f"a motion needs {what}{there}", str(file))
    return {name: getattr(table, name) for name in _SERIES}, table.notes


def thinned(x: Sequence[Any] | Array, most: int) -> Array:
    """Return the indices of at most `most` rows, the first and the last among them."""
    n = len(x)
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))
