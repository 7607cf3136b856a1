"""Forces on a robot during a simulation: the drives' forces `tau`, and external forces on its bodies.

The force of drives may be absent, constant, a `Table` over time, a function of time and state, or a controller. No step
of an integrator passes a time at which it jumps or has a kink (`next_break`).
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, positive, real
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .exchange import read_only
from .integrators.integrator import StepFailedError
from .run.endings import Ending
from .run.fingerprint import recognizable
from .run.saved import Saved

if TYPE_CHECKING:
    from ..compile.timeloops.law_program import Law
    from ..control.tracking import Tracking
    from ..robot import Robot

__all__ = ["Applied", "External", "Function", "Table", "Tabled", "applied", "called", "require_signature"]

TimeFunction = Callable[[float, Array, Array], Any]


@explained_methods
@dataclass(frozen=True, eq=False)
class Table:
    """Values at given times: linear in between, or held from each time to the next (`hold=True`).

    Before the first time the first value holds, after the last one the last.

    >>> import ordern as on
    >>> on.Table([0.0, 1.0], [[0.0], [2.0]])(0.25)
    array([0.5])
    """

    t: Array
    values: Array
    hold: bool = False

    def __init__(self, t: ArrayLike, values: ArrayLike, hold: bool = False) -> None:
        times, rows = _numbers("Table: the times", t), _numbers("Table: the values", values)
        if times.ndim != 1 or not times.size:
            raise ArgumentError(f"Table: the times must be a list of numbers, not an array of shape {times.shape}")
        if rows.shape[:1] != times.shape:
            raise ArgumentError(
                f"Table: {times.size} times, but values of shape {rows.shape}: give a row for each time"
            )
        for name, x in (("times", times), ("values", rows)):
            if not np.isfinite(x).all():
                k = int(np.argwhere(~np.isfinite(x))[0][0])
                raise ArgumentError(f"Table: the {name} must be finite; row {k} is {x[k]}")
        bad = np.flatnonzero(np.diff(times) <= 0.0)
        if bad.size:
            k = int(bad[0])
            raise ArgumentError(f"Table: times must increase; after {times[k]:g} (row {k}) comes {times[k + 1]:g}")
        for x in (times, rows):
            x.flags.writeable = False
        object.__setattr__(self, "t", times)
        object.__setattr__(self, "values", rows)
        object.__setattr__(self, "hold", bool(hold))

    def __call__(self, t: float) -> Array:
        """Return the value at a time."""
        return self.within(self.piece(t), t)

    def piece(self, t: float) -> int:
        """Return the number of the piece that contains this time, or begins at it; -1 before the first."""
        return int(np.searchsorted(self.t, t, side="right")) - 1

    def next_break(self, t: float) -> float:
        """Return the first time of the table after t; infinity if there is none."""
        k = self.piece(t) + 1
        return float(self.t[k]) if k < len(self.t) else math.inf

    def within(self, piece: int, t: float) -> Array:
        """Return the value at a time of a piece; at its end, the value before a jump."""
        if self._is_constant(piece):
            return np.array(self.values[max(piece, 0)])
        t0, t1 = self.t[piece], self.t[piece + 1]
        s = (t - t0) / (t1 - t0)
        return np.asarray((1.0 - s) * self.values[piece] + s * self.values[piece + 1])

    def line(self, piece: int) -> tuple[Array, Array, float]:
        """Return (value, slant, since) of a piece, in which the values are value + (t - since) slant."""
        value, since = self.values[max(piece, 0)], float(self.t[max(piece, 0)])
        if self._is_constant(piece):
            return value, np.zeros(value.shape), since
        return value, (self.values[piece + 1] - value) / (self.t[piece + 1] - since), since

    def _is_constant(self, piece: int) -> bool:
        return piece < 0 or self.hold or piece >= len(self.t) - 1


class Applied(Saved):
    """Joint forces of the drives. This class is for robots without drives; its subclasses are for all other forces."""

    kind = "none"
    longest: float | None = None
    """The time between two breaks, if it is always the same."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self._zero = np.zeros(robot.nv)

    def enter(self, t: float, q: Array, v: Array) -> None:
        """Begin a piece between two breaks at this state."""

    def next_break(self, t: float) -> float:
        """Return the first time after t at which the force may jump or have a kink; infinity if there is none."""
        return math.inf

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the force at a time within the current piece."""
        return self._zero

    def over(self, t: Array, q: Array, v: Array) -> Array:
        """Return the forces at the times of a motion within the current piece, (N, nv)."""
        return np.tile(self(0.0, v[0], v[0]), (len(t), 1)) if len(t) else np.zeros(v.shape)

    @property
    def key(self) -> str:
        """Identify the forces in a checkpoint."""
        return self.kind

    def law(self) -> Law | None:
        """Return the control law, if compiled code can compute it."""
        return None

    def tracking(self) -> Tracking | None:
        """Return the desired motion of a controller; None for other forces."""
        return None

    def return_to(self, t: float, tau: Array) -> None:
        """Go back to a time after the last piece began at which the forces were tau."""


class Constant(Applied):
    """The same force at all times."""

    kind = "constant"

    def __init__(self, robot: Robot, tau: Array) -> None:
        super().__init__(robot)
        self._zero = _checked(robot, "tau", tau)

    @property
    def value(self) -> Array:
        """The joint forces, (nv,)."""
        return self._zero

    @property
    def key(self) -> str:
        """Identify the forces by their numbers."""
        return f"constant {_digest(self._zero)}"


class Tabled(Applied):
    """Forces from a table."""

    kind = "table"

    def __init__(self, robot: Robot, table: Table) -> None:
        super().__init__(robot)
        if table.values.shape[1:] != (robot.nv,):
            raise ArgumentError(
                f"tau: the table has values of shape {table.values.shape}; for {robot.name!r} each row has {robot.nv} "
                "numbers (joint forces: nv)"
            )
        self.table, self._piece = table, -1

    def enter(self, t: float, q: Array, v: Array) -> None:
        """Begin the piece of the table that begins at t."""
        self._piece = self.table.piece(t)

    def next_break(self, t: float) -> float:
        """Return the next time of the table."""
        return self.table.next_break(t)

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the value of the current piece of the table."""
        return self.table.within(self._piece, t)

    def over(self, t: Array, q: Array, v: Array) -> Array:
        """Return the values of the current piece of the table."""
        return np.array([self.table.within(self._piece, float(x)) for x in t]).reshape(v.shape)

    @property
    def key(self) -> str:
        """Identify the table by its numbers."""
        return f"table {_digest(self.table.t, self.table.values)} {self.table.hold}"


class Function(Applied):
    """A function of (t, q, v), or a controller without a period."""

    kind = "function"

    def __init__(self, robot: Robot, function: TimeFunction) -> None:
        super().__init__(robot)
        self.function, self._breaks = function, _breaks_of(function)
        self._end = self._before_end = math.inf
        _start(function, robot)

    def enter(self, t: float, q: Array, v: Array) -> None:
        """Begin a piece; at its end, the function is called for a time just before, as it may jump there."""
        self._end = self.next_break(t)
        self._before_end = math.nextafter(self._end, -math.inf)

    def next_break(self, t: float) -> float:
        """The next of the times that a controller lists as its `breaks`."""
        k = int(np.searchsorted(self._breaks, t, side="right"))
        return float(self._breaks[k]) if k < len(self._breaks) else math.inf

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """Return the value of the function, checked."""
        return called(self.robot, self.function, t if t < self._end else self._before_end, q, v)

    def over(self, t: Array, q: Array, v: Array) -> Array:
        """Return the value of the function for each state; the library's own controllers take all at once."""
        if len(t) > 1 and self.law() is not None:
            return np.asarray(self.function(np.where(t < self._end, t, self._before_end), q, v))  # type: ignore[arg-type]
        return np.array([self(float(t[k]), q[k], v[k]) for k in range(len(t))]).reshape(v.shape)

    def law(self) -> Law | None:
        """Return the law of a controller of the library."""
        if not type(self.function).__module__.startswith("ordern.control."):
            return None
        from ..control.controllers import recorded_law

        return recorded_law(self.function, self.robot)

    def tracking(self) -> Tracking | None:
        """Return the desired motion of a controller; None for other functions."""
        if inspect.isroutine(self.function):
            return None
        from ..control.tracking import Tracking

        return Tracking(self.robot, self.function)

    @property
    def key(self) -> str:
        """Its code and the data that it uses, and the series that it adds to a result."""
        tracking = self.tracking()
        return " ".join(["function", recognizable("tau", self.function), *(tracking.shapes if tracking else ())])


def applied(robot: Robot, tau: Any) -> Applied:
    """Return the joint forces for an argument `tau` of the user."""
    if tau is None:
        return Applied(robot)
    if isinstance(tau, Table):
        return Tabled(robot, tau)
    if callable(tau):
        _require_force(tau)
        period = getattr(tau, "period", None)
        if period is None:
            return Function(robot, tau)
        from ..control.combined import delay_of
        from .sampled_forces import Sampled

        return Sampled(robot, tau, positive(period, f"tau: the period of {type(tau).__name__}"), delay_of(tau))
    if isinstance(tau, tuple) and len(tau) == 2 and np.ndim(tau[0]) == 1 and np.ndim(tau[1]) == 2:
        return Tabled(robot, Table(*tau))
    return Constant(robot, _numbers("tau", tau))


def _require_force(tau: Any) -> None:
    """Raise if `tau` can be called but does not return forces: a class, or a trajectory."""
    from ..control.trajectory import Trajectory

    if isinstance(tau, type):
        raise ArgumentError(f"tau is the class {tau.__name__}; make an object of it first: tau={tau.__name__}(...)")
    if isinstance(tau, Trajectory):
        raise ArgumentError(
            "tau is a trajectory, which has positions, not forces: wrap it in a controller, such as "
            "tau=on.controllers.PD(robot, trajectory, kp=..., kd=..., gravity=True) or ComputedTorque"
        )
    require_signature("tau: the function", tau)


def require_signature(what: str, function: Any) -> None:
    """Raise if the signature of a function does not allow a call with (t, q, v)."""
    if callable(getattr(function, "bind", None)):
        return  # a ready event, which makes its function for a robot
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of extension modules have no signature
        return
    try:
        signature.bind(0.0, None, None)
    except TypeError as e:
        raise ArgumentError(f"{what} is called with (t, q, v), but takes {signature}: {e}") from None


class External:
    """External forces on bodies: None, an array, a dictionary, tables of these, or a function of (t, q, v)."""

    def __init__(self, robot: Robot, given: Any) -> None:
        self.robot, self.given = robot, given
        self.absent = given is None
        self.is_function = callable(given) and not isinstance(given, Table)
        self.table: Table | None = None
        self._piece = -1
        if self.is_function:
            require_signature("external: the function", given)
            _start(given, robot)
        elif not self.absent:
            self.table = self._tabled(given)
        if not self.absent:
            from .integrators.native import kept

            kernel = robot.kernel("external_force")
            self._joint_force = kept(robot, ("fast", "external_force"), lambda: kernel.fast(kernel))

    @property
    def varies(self) -> bool:
        """True if the forces may change with time."""
        return self.is_function or (self.table is not None and len(self.table.t) > 1)

    def enter(self, t: float) -> None:
        """Begin a piece between two breaks."""
        if self.table is not None:
            self._piece = self.table.piece(t)

    def next_break(self, t: float) -> float:
        """Return the first time after t at which the forces may jump or have a kink; infinity if there is none."""
        return math.inf if self.table is None else self.table.next_break(t)

    def joint_force(self, t: float, q: Array, v: Array) -> Array:
        """Return J^T f, the joint forces that are equivalent to the external forces."""
        if self.table is not None:
            forces = self.table.within(self._piece, t)
        else:
            forces = self._bodies(self.given(t, read_only(q), read_only(v)), f"external: at t = {t:.9g} s")
        found: Array = self._joint_force(q, forces)
        return found

    def over(self, t: Array, q: Array, v: Array) -> Array:
        """Return J^T f at the times and states of a motion within the current piece, (N, nv)."""
        if self.table is None:
            found = [] if self.absent else [self.joint_force(float(t[k]), q[k], v[k]) for k in range(len(t))]
            return np.array(found).reshape(v.shape) if found else np.zeros(v.shape)
        value, slant, since = self.table.line(self._piece)
        forces: Array = self._joint_force(q, value + (t - since)[:, None, None] * slant)
        return forces

    def line(self, since: float) -> tuple[Array, Array] | None:
        """Return the forces of the current piece as a value at a time and a slant; None if they are a function."""
        if self.table is None:
            return None
        value, slant, t0 = self.table.line(self._piece)
        return value + (since - t0) * slant, slant

    def _tabled(self, given: Any) -> Table:
        """Return forces as a table over time; constant ones have one row."""
        if isinstance(given, Table):
            return Table(given.t, self._bodies(given.values, "external", given), given.hold)
        tables = [x for x in given.values() if isinstance(x, Table)] if isinstance(given, Mapping) else []
        for other in tables[1:]:
            if not np.array_equal(other.t, tables[0].t) or other.hold != tables[0].hold:
                raise ArgumentError(
                    "external: tables of several bodies must have the same times and the same `hold`; give them at "
                    "common times, or one Table with a (moment, force) for each body"
                )
        if not tables:
            return Table([0.0], self._bodies(given, "external")[None])
        rows = {name: x.values if isinstance(x, Table) else x for name, x in given.items()}
        return Table(tables[0].t, self._bodies(rows, "external", tables[0]), tables[0].hold)

    def _bodies(self, given: Any, what: str, table: Table | None = None) -> Array:
        with np.errstate(invalid="ignore"):
            forces = real(self.robot._forces(given), f"{what}: the forces")
        n, rows = len(self.robot.bodies), () if table is None else table.t.shape
        if forces.shape != (*rows, n, 6):
            raise ArgumentError(
                f"{what}: the forces have shape {forces.shape}; give {(*rows, n, 6)}, a (moment, force) for each body, "
                "or a dictionary from names of bodies or frames to six numbers"
            )
        if not np.isfinite(forces).all():
            k = tuple(np.argwhere(~np.isfinite(forces))[0][:-1].tolist())
            raise ArgumentError(f"{what}: the force on body {self.robot.bodies[k[-1]].name!r} is {forces[k]}")
        return forces

    @property
    def key(self) -> str:
        """Identify the forces in a checkpoint."""
        if self.table is None:
            return "none" if self.absent else "function " + recognizable("external", self.given)
        return f"{_digest(self.table.t, self.table.values)} {self.table.hold}"


def called(robot: Robot, function: TimeFunction, t: float, q: Array, v: Array) -> Array:
    """Call a user's function and check that it returns joint forces."""
    answer = function(t, read_only(q), read_only(v))
    if answer is None:
        raise ArgumentError(f"tau: at t = {t:.9g} s the function returned None; give {robot.nv} numbers")
    is_plain = type(answer) is np.ndarray and answer.dtype == np.float64
    tau = answer if is_plain else real(answer, f"tau: the result of the function at t = {t:.9g} s")
    if tau.shape != (robot.nv,):
        raise ArgumentError(
            f"tau: at t = {t:.9g} s the function returned an array of shape {tau.shape}; for {robot.name!r} give "
            f"({robot.nv},) (joint forces: nv)"
        )
    if not np.isfinite(tau).all() and np.isfinite(q).all() and np.isfinite(v).all():
        k = int(np.flatnonzero(~np.isfinite(tau))[0])
        raise StepFailedError(Ending.BAD_FORCE, t, f"tau: the function returned {tau[k]} at t = {t:.9g} s", k)
    return tau.copy() if tau is answer else tau  # the function may write to its array again


def _checked(robot: Robot, what: str, tau: Array) -> Array:
    if tau.shape not in ((), (robot.nv,)):
        raise ArgumentError(
            f"{what} has shape {tau.shape}; for {robot.name!r} give ({robot.nv},) (joint forces: nv), a Table, "
            "or a function of (t, q, v)"
        )
    full = np.array(np.broadcast_to(tau, (robot.nv,)))
    if not np.isfinite(full).all():
        k = int(np.flatnonzero(~np.isfinite(full))[0])
        raise ArgumentError(f"{what} must be finite; entry {k} is {full[k]}")
    return full


def _numbers(what: str, x: Any) -> Array:
    return np.array(real(x, what))


def _breaks_of(function: Any) -> Array:
    given = getattr(function, "breaks", ())
    return np.unique(_numbers("tau: the breaks", () if callable(given) else given).ravel())


def _start(function: Any, robot: Robot) -> None:
    start = getattr(function, "start", None)
    if callable(start):
        start(robot)


def _digest(*arrays: Array) -> str:
    h = hashlib.sha256()
    for a in arrays:
        h.update(str(a.shape).encode() + np.ascontiguousarray(a).tobytes())
    return h.hexdigest()
