"""Logs of measured motions: read by the names of joints, filtered in both directions, and differentiated.

Positions are filtered by a Butterworth filter that runs forward and backward, so that no phase is shifted, and are then
differentiated by central differences of eighth order: at a tenth of the sampling rate these are off by 2e-4 of the
derivative, and by 1e-9 at a hundredth. Forces are not filtered: `identify(..., average=n)` takes means of forces and
regressor alike, which a filter of the forces alone would make inconsistent where friction changes sign.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, array, choice, positive, real
from ..declared import explained_methods
from ..errors import ArgumentError, ModelError
from ..io.remarks import some
from ..io.source import MissingFileError, UnreadableError, require_regular, unreadable
from ..memory import machine_memory
from ..records import dataclass
from ..simulate.results.formats.by_name import KINDS, Table, read_table, table_of
from ..simulate.results.formats.rows import Rows
from ..simulate.results.tables import library
from .recordings import RECORDINGS, columns_of_recording

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Log", "read_log"]

_HDF5 = (".h5", ".hdf5")

_FIRST = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
"""The weights of a central difference of eighth order."""
_JITTER = 1e-3
"""Times that differ from equal steps by less than this part of a step count as equal."""
_SETTLED = 4.0
"""The ends of a filtered signal are cut by so many periods of its cutoff frequency."""


@explained_methods
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
    notes: tuple[str, ...] = ()
    """Notes on columns that were left out, and on changes of the samples."""

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

    def without_outliers(self, window: int = 11, limit: float = 8.0) -> Log:
        """Return the log with single wrong samples of positions and forces replaced by medians of their neighbours.

        A sample is wrong if it is further from the median of the `window` samples around it than `limit` times the
        usual distance: 1.48 times the median distance in this window, or a typical one of all windows where that is
        larger (Hampel's identifier). `notes` says how many there were.
        """
        if window not in range(3, 1000, 2):
            raise ArgumentError(f"without_outliers: window is an odd number of samples from 3 to 999, not {window!r}")
        positive(limit, "limit")
        self._require_plain("without_outliers")
        if len(self) < window:
            raise ArgumentError(f"without_outliers: {len(self)} samples are fewer than the window of {window}")
        changed: dict[str, Any] = {}
        notes = list(self.notes)
        for kind in ("q", "tau"):
            x = getattr(self, kind)
            if x is None:
                continue
            middle, spread = (np.stack(y, axis=1) for y in zip(*(_medians(y, window) for y in x.T), strict=True))
            usual = 1.4826 * np.maximum(spread, np.median(spread, axis=0))
            wrong = np.abs(x - middle) > limit * usual + 1e-9 * np.abs(x).max(initial=0.0)
            changed[kind] = np.where(wrong, middle, x)
            if wrong.any():
                notes.append(
                    f"{int(wrong.sum())} outliers of {kind} in {int(wrong.any(axis=1).sum())} samples replaced"
                )
        return replace(self, **changed, notes=tuple(notes))

    def resampled(self, rate: float) -> Log:
        """Return positions and forces at `rate` samples per second, by cubic splines; without v and a.

        A lower rate than that of the log keeps what is above half of it, as wrong lower frequencies: filter first.
        """
        self._require_plain("resampled")
        self._require_growing("resampled")
        count = int(np.floor((self.t[-1] - self.t[0]) * positive(rate, "rate") * (1.0 + 1e-12))) + 1
        if count < 2:
            raise ArgumentError(f"resampled: {rate:g} samples per second leave fewer than two")
        return self._at(self.t[0] + np.arange(count) / rate)

    @property
    def cutoff(self) -> float:
        """A cutoff for `filtered`, in Hz: ten times the frequency below which 99.9 % of the squared positions are.

        The squares are those of changes from a straight line between the ends. It is at most a fifth of the rate.
        """
        even = self._even()
        line = np.linspace(0.0, 1.0, len(even))[:, None]
        swing = even.q - even.q[0] - line * (even.q[-1] - even.q[0])
        power = np.cumsum(np.abs(np.fft.rfft(swing, axis=0)) ** 2, axis=0)
        size = power[-1]
        low = np.argmax(power >= 0.999 * size, axis=0)[size > 0.0]
        highest = float(np.fft.rfftfreq(len(even), 1.0 / even.rate)[max(low, default=1)])
        return min(10.0 * highest, 0.2 * even.rate)

    def filtered(self, cutoff: float | None = None, order: int = 4) -> Log:
        """Return the log with filtered positions, and velocities and accelerations from them; forces stay as they are.

        `cutoff` is the frequency in Hz above which positions are noise: some ten times the fastest frequency of the
        motion is a good choice, for a filter changes what is near its cutoff; `log.cutoff` unless given. `order` is
        that of the Butterworth filter, which runs forward and backward. Uneven times are resampled to equal steps
        first. The ends, where the filter has not settled, are cut off. Needs SciPy: `pip install 'ordern[identify]'`.
        """
        self._require_plain("filtered")
        self._require_growing("filtered")
        rate = self.rate
        cutoff = self.cutoff if cutoff is None else cutoff
        if not positive(cutoff, "cutoff") < 0.5 * rate:
            raise ArgumentError(
                f"filtered: the cutoff of {cutoff:g} Hz must be below half of the {rate:.4g} samples per second"
            )
        self._require_no_gap(cutoff)
        if order not in range(1, 11):
            raise ArgumentError(f"filtered: the order is a whole number from 1 to 10, not {order!r}")
        ends = int(np.ceil(_SETTLED * rate / cutoff)) + 8
        if len(self) < 3 * ends:
            raise ArgumentError(
                f"filtered: {len(self)} samples are too few for a cutoff of {cutoff:g} Hz, which needs {3 * ends}"
            )
        signal, even = library("scipy.signal", "filtering a log", "identify"), self._even()
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

    def _require_plain(self, what: str) -> None:
        """Raise if the positions are not plain numbers."""
        for c in self.robot.joints:
            if c.type.nq != c.type.nv:
                raise ArgumentError(
                    f"{what}: the positions of joint {c.name!r} are not plain numbers ({type(c.type).__name__}); "
                    "filter its motion yourself, and give v and a in the log"
                )

    def _require_growing(self, what: str) -> None:
        """Raise if times do not grow."""
        if len(self.t) < 2:
            raise ArgumentError(f"{what}: the log has fewer than two samples")
        still = np.flatnonzero(np.diff(self.t) <= 0.0)
        if len(still):
            raise ArgumentError(
                f"{what}: the times of a log must grow from sample to sample, but samples "
                f"{still[0]} and {still[0] + 1} are both at t = {self.t[still[0]]:g} s; remove one of them"
            )

    def _even(self) -> Log:
        """Return the log with equal steps of time; raise if its positions are not plain numbers."""
        self._require_plain("filtered")
        self._require_growing("filtered")
        steps = np.linspace(self.t[0], self.t[-1], len(self.t))
        return self if np.abs(steps - self.t).max() <= _JITTER * (steps[1] - steps[0]) else self._at(steps)

    def _at(self, times: Array) -> Log:
        """Return positions and forces at other times."""
        spline = library("scipy.interpolate", "resampling a log", "identify").CubicSpline
        changed = {x: spline(self.t, getattr(self, x))(times) for x in ("q", "tau") if getattr(self, x) is not None}
        return replace(self, t=times, v=None, a=None, **changed)

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


def _medians(x: Array, window: int) -> tuple[Array, Array]:
    """Return the median of so many samples around each one, and their median distance from it."""
    wide = np.pad(x, window // 2, mode="reflect", reflect_type="odd")  # which goes on with a slope
    around = np.lib.stride_tricks.sliding_window_view(wide, window)
    middle = np.median(around, axis=1)
    return middle, np.median(np.abs(around - middle[:, None]), axis=1)


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
    topics: str | Sequence[str] | None = None,
) -> Log:
    """See `Robot.read_log`."""
    table = _table(robot, source, (topics,) if isinstance(topics, str) else topics)
    if table.t is None or table.q is None:
        missing = "time, in a column 't'" if table.t is None else "positions, in columns 'q.<joint>'"
        raise ModelError(f"the log of {robot.name!r} has no {missing}")
    scales = _scales(robot, force_scale)
    tau = None if table.tau is None else table.tau * scales
    return Log(robot, table.t, table.q, table.v, table.a, tau, table.notes)


def _table(robot: Robot, source: Any, topics: Sequence[str] | None) -> Table:
    """Return the columns of a source."""
    if isinstance(source, Mapping):
        return _from_arrays(robot, source, "the arrays")
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentError(f"read_log: give a file, or a dictionary of arrays, not {type(source).__name__}")
    path = os.fspath(source)
    folder = os.path.isdir(path)
    if not folder and path.endswith((".npz", ".parquet", *_HDF5, *RECORDINGS)) and not os.path.exists(path):
        raise MissingFileError(f"there is no file {path!r}", path)
    if not folder:
        require_regular(path)
    if folder or path.endswith(RECORDINGS):
        columns, others = _own(robot, columns_of_recording(path, topics))
        found = _from_arrays(robot, columns, path)
        return replace(found, notes=(*found.notes, f"{path}: not read: {some(others, 8)}")) if others else found
    if topics is not None:
        raise ArgumentError(f"read_log: only recordings (.mcap, .db3, folders of them) have topics, not {path!r}")
    if path.endswith(_HDF5):
        return _from_arrays(robot, _hdf5(path), path)
    if path.endswith(".npz"):
        with unreadable(path), open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            given = dict(arrays)
        return _from_arrays(robot, given, path)
    if path.endswith(".parquet"):
        parquet = library("pyarrow.parquet", "a Parquet file")
        with unreadable(path):
            about = parquet.read_metadata(path)
            _require_memory(8 * about.num_rows * about.num_columns, path)
            table = parquet.read_table(path)
            given = {name: table.column(name).to_numpy() for name in table.column_names}
        return _from_arrays(robot, given, path)
    if path.endswith(".csv"):
        return _named(read_table(path, robot), path)
    raise ModelError(
        "read_log reads .csv, .parquet, .npz, .h5, .mcap and .db3 files, folders of ROS 2 bags, and arrays by name; "
        f"not {path!r}" + ("; convert bags of ROS 1 to ROS 2 first" if path.endswith(".bag") else "")
    )


def _own(robot: Robot, columns: dict[str, Array]) -> tuple[dict[str, Array], list[str]]:
    """Return the columns of the robot's joints, and the names of other joints, which recordings may have, too."""
    from ..simulate.results.series import labels

    known = {*labels(robot)[0], *labels(robot)[1], *(c.name for c in robot.joints)}
    others = {x.partition(".")[2]: None for x in columns if x != "t" and x.partition(".")[2] not in known}
    return {x: y for x, y in columns.items() if x.partition(".")[2] not in others}, list(others)


def _hdf5(path: str) -> dict[str, Array]:
    """Return the arrays of an HDF5 file; those in groups are named "group.name"."""
    h5py = library("h5py", "an HDF5 file", "hdf5")
    found: dict[str, Array] = {}

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            _require_memory(item.nbytes, path)
            found[name.replace("/", ".")] = item[()]

    with unreadable(path), h5py.File(path, "r") as file:
        file.visititems(add)
    return found


def _require_memory(size: int, path: str) -> None:
    """Raise if the numbers of a file do not fit into memory; a damaged file may claim to have any number of them."""
    if size > machine_memory():
        raise UnreadableError(
            f"the file claims to hold {size / 1e9:.3g} GB, more than the memory of this machine", path
        )


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
