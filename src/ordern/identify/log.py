"""Logs of measured motions: read by the names of joints, filtered in both directions, and differentiated.

Positions are filtered by a Butterworth filter that runs forward and backward, so that no phase is shifted, and are then
differentiated by central differences of eighth order: at a tenth of the sampling rate these are off by 2e-4 of the
derivative, and by 1e-9 at a hundredth. Forces are not filtered: `identify(..., average=n)` takes means of forces and
regressor alike, which a filter of the forces alone would make inconsistent where friction changes sign.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, choice, positive, real
from ..errors import ArgumentError, ModelError
from ..io.source import MissingFileError, UnreadableError
from ..records import dataclass
from ..simulate.results.formats.by_name import KINDS, Table, read_table, table_of
from ..simulate.results.formats.rows import Rows
from ..simulate.results.tables import library

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Log", "read_log"]

_FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""The weights of a central difference of eighth order."""
_JITTER = 1e-3
"""Times that differ from equal steps by less than this part of a step count as equal."""
_SETTLED = 4.0
"""The ends of a filtered signal are cut by so many periods of its cutoff frequency."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log:
    """Samples of a measured motion."""

    robot: Robot
    """The robot that was measured."""
    t: Array
    """(N,): the times in s."""
    q: Array
    """(N, nq): the positions."""
    v: Array | None = None
    """(N, nv): the velocities; None if they were not measured, or not computed yet."""
    a: Array | None = None
    """(N, nv): the accelerations; None likewise."""
    tau: Array | None = None
    """(N, nv): the forces of the drives; None if they were not measured."""

    def __len__(self) -> int:
        return len(self.t)

    @property
    def rate(self) -> float:
        """The number of samples per second."""
        return float((len(self.t) - 1) / (self.t[-1] - self.t[0]))

    @property
    def motion(self) -> tuple[Array, Array, Array, Array]:
        """The arguments (q, v, a, tau) of `identify`."""
        if self.v is None or self.a is None or self.tau is None:
            missing = [x for x in ("v", "a", "tau") if getattr(self, x) is None]
            raise ArgumentError(
                f"the log of {self.robot.name!r} has no {' and no '.join(missing)}; `log.filtered(cutoff)` computes "
                "velocities and accelerations, forces have to be measured"
            )
        return self.q, self.v, self.a, self.tau

    def filtered(self, cutoff: float, order: int = 4) -> Log:
        """Return the log with filtered positions, and velocities and accelerations from them; forces stay as they are.

        `cutoff` is the frequency in Hz above which positions are noise: some ten times the fastest frequency of the
        motion is a good choice, for a filter changes what is near its cutoff. `order` is that of the Butterworth
        filter, which runs forward and backward. Uneven times are resampled to equal steps first. The ends, where the
        filter has not settled, are cut off. Needs SciPy: `pip install 'ordern[identify]'`.
        """
        even = self._even()
        rate = even.rate
        if not positive(cutoff, "cutoff") < 0.5 * rate:
            raise ArgumentError(
                f"filtered: the cutoff of {cutoff:g} Hz must be below half of the {rate:.4g} samples per second"
            )
        self._require_no_gap(cutoff)
        if order not in range(1, 11):
            raise ArgumentError(f"filtered: the order is a whole number from 1 to 10, not {order!r}")
        ends = int(np.ceil(_SETTLED * rate / cutoff)) + 8
        if len(even) < 3 * ends:
            raise ArgumentError(
                f"filtered: {len(even)} samples are too few for a cutoff of {cutoff:g} Hz, which needs {3 * ends}"
            )
        signal = library("scipy.signal", "filtering a log", "identify")
        sections = signal.butter(int(order), cutoff, fs=rate, output="sos")
        q = np.asarray(signal.sosfiltfilt(sections, even.q, axis=0))
        v = _derivative(q, rate)
        found = replace(even, q=q, v=v, a=_derivative(v, rate))
        return found.cut(ends, len(even) - ends)

    def cut(self, start: int, stop: int) -> Log:
        """Return the samples from `start` up to `stop`."""
        if not len(self.t[start:stop]):
            raise ArgumentError(f"cut: the log has {len(self)} samples, and none from {start} up to {stop}")
        kept = {x: getattr(self, x)[start:stop] for x in ("t", "q", "v", "a", "tau") if getattr(self, x) is not None}
        return replace(self, **kept)

    def _even(self) -> Log:
        """Return the log with equal steps of time; raise if its positions are not plain numbers."""
        for c in self.robot.joints:
            if c.type.nq != c.type.nv:
                raise ArgumentError(
                    f"filtered: the positions of joint {c.name!r} are not plain numbers ({type(c.type).__name__}); "
                    "filter its motion yourself, and give v and a in the log"
                )
        if len(self.t) < 2:
            raise ArgumentError("filtered: the log has fewer than two samples")
        still = np.flatnonzero(np.diff(self.t) <= 0.0)
        if len(still):
            raise ArgumentError(
                "filtered: the times of a log must grow from sample to sample, but samples "
                f"{still[0]} and {still[0] + 1} are both at t = {self.t[still[0]]:g} s; remove one of them"
            )
        steps = np.linspace(self.t[0], self.t[-1], len(self.t))
        if np.abs(steps - self.t).max() <= _JITTER * (steps[1] - steps[0]):
            return self
        spline = library("scipy.interpolate", "resampling a log", "identify").CubicSpline
        changed = {x: spline(self.t, getattr(self, x))(steps) for x in ("q", "tau") if getattr(self, x) is not None}
        return replace(self, t=steps, **changed)

    def _require_no_gap(self, cutoff: float) -> None:
        """Raise if samples are missing for longer than half a period of the cutoff: the motion there is unknown."""
        steps = np.diff(self.t)
        k = int(np.argmax(steps))
        if 2.0 * cutoff * steps[k] >= 1.0:
            raise ArgumentError(
                f"filtered: no samples for {steps[k]:.4g} s after t = {self.t[k]:g} s (samples {k} and {k + 1}), which "
                f"hides motions of up to {cutoff:g} Hz; filter both parts by themselves (`log.cut(start, stop)`), or "
                "choose a lower cutoff if the gap is short"
            )

    def __repr__(self) -> str:
        has = ", ".join(x for x in KINDS if getattr(self, x) is not None)
        return f"<Log of {self.robot.name!r}: {len(self)} samples in {self.t[-1] - self.t[0]:.4g} s, {has}>"


def _derivative(x: Array, rate: float) -> Array:
    """Return the derivative of samples (N, ...) by central differences; the first and last four are wrong."""
    found = np.zeros_like(x)
    for k, weight in enumerate(_FIRST):
        found[4:-4] += weight * x[k : len(x) - 8 + k]
    return found * rate


def read_log(
    robot: Robot,
    source: str | os.PathLike[str] | Mapping[str, ArrayLike],
    force_scale: Mapping[str, float] | ArrayLike = 1.0,
) -> Log:
    """See `Robot.read_log`."""
    table = _table(robot, source)
    if table.t is None or table.q is None:
        missing = "time, in a column 't'" if table.t is None else "positions, in columns 'q.<joint>'"
        raise ModelError(f"the log of {robot.name!r} has no {missing}")
    scales = _scales(robot, force_scale)
    tau = None if table.tau is None else table.tau * scales
    return Log(robot, table.t, table.q, table.v, table.a, tau)


def _table(robot: Robot, source: Any) -> Table:
    """Return the columns of a source."""
    if isinstance(source, Mapping):
        return _from_arrays(robot, source, "the arrays")
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError(f"read_log: give a file, or a dictionary of arrays, not {type(source).__name__}")
    path = os.fspath(source)
    if path.endswith((".npz", ".parquet")) and not os.path.exists(path):
        raise MissingFileError(f"there is no file {path!r}", path)
    if path.endswith(".npz"):
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return _from_arrays(robot, dict(arrays), path)
        except (OSError, BadZipFile) as e:
            raise UnreadableError(f"the file cannot be read: {e}", path) from None
    if path.endswith(".parquet"):
        table = library("pyarrow.parquet", "a Parquet file").read_table(path)
        return _from_arrays(robot, {name: table.column(name).to_numpy() for name in table.column_names}, path)
    if path.endswith(".csv"):
        return _named(read_table(path, robot), path)
    raise ModelError(f"read_log reads .csv, .parquet and .npz files, and arrays by name; not {path!r}")


def _named(table: Table, path: str) -> Table:
    """Return a table; raise if its columns have no names, for torques would be taken for velocities."""
    if not table.names:
        raise UnreadableError(
            "the columns have no names; a log needs a first line such as t,q.<joint>,...,tau.<joint>,... that does not "
            "begin with #",
            path,
        )
    return table


def _from_arrays(robot: Robot, arrays: Mapping[str, ArrayLike], where: str) -> Table:
    """Return a table from arrays: whole ones become columns in the order of the robot."""
    from ..simulate.results.series import labels

    columns: dict[str, Array] = {}
    for name, x in arrays.items():
        given = real(x, name)
        if given.ndim == 1:
            columns[name] = given
            continue
        own = labels(robot)[choice("array of a log", name, KINDS) != "q"]
        if given.ndim != 2 or given.shape[1] != len(own):
            raise ArgumentError(f"read_log: {name} has shape {given.shape}; expected (N, {len(own)})")
        columns |= {f"{name}.{label}": given[:, k] for k, label in enumerate(own)}
    lengths = {name: len(x) for name, x in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ArgumentError(f"read_log: the arrays have different numbers of samples: {lengths}")
    values = np.stack(list(columns.values()), axis=1)
    return table_of(Rows(tuple(columns), values, tuple(range(len(values)))), where, robot)


def _scales(robot: Robot, given: Mapping[str, float] | ArrayLike) -> Array:
    """Return the factor of each joint force."""
    if not isinstance(given, Mapping):
        factors = real(given, "force_scale", ())
        if factors.shape not in ((), (robot.nv,)):
            raise ArgumentError(
                f"read_log: force_scale has shape {factors.shape}; expected one number, {robot.nv} numbers, or a "
                "dictionary by the names of joints"
            )
        return np.broadcast_to(factors, (robot.nv,))
    found = np.ones(robot.nv)
    for name, x in given.items():
        choice("joint", name, [c.name for c in robot.joints if not c.mimic], robot.name)
        found[robot.joint(name).v] = array(x, (), f"force_scale of {name!r}")
    return found
