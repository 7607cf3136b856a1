"""The result of a simulation: a sampled motion, with energies, momenta and paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...arguments import Array, array
from ...declared import explained_methods
from ...errors import ArgumentError
from ...model import Frame
from ...records import dataclass
from ..integrators.dense import located
from ..run.log import Events
from . import tables
from .energy import elastic
from .interpolation import Hermite, Motion
from .joining import joined, resampled
from .series import LOOPS_CLOSED, JointSeries, joint_series, names, reserved, series
from .summary import described, described_html

if TYPE_CHECKING:
    from ...robot import Robot
    from ..motion_source import MotionSource
    from ..run.log import Happened
    from ..saltation import Saltation

__all__ = ["Result", "Sample"]


class Sample(NamedTuple):
    """One sample of a motion."""

    t: float
    q: Array
    v: Array
    a: Array
    tau: Array


@explained_methods
@dataclass(frozen=True, eq=False, repr=False)
class Result:  # noqa: PLW1641 - equality is by contents, which may be large: no dictionary should need it
    """A motion: samples of time, positions, velocities, accelerations and joint forces, and series made from them.

    Made by `robot.simulate`, by `on.load_result`, or from arrays of your own. Arrays cannot be written to. Energies,
    momenta and paths are computed on first use, all samples in one call.

    >>> import numpy as np, ordern as on
    >>> robot = on.load("double-pendulum")
    >>> t, still = np.array([0.0, 0.5, 1.0]), np.zeros((3, 2))
    >>> result = Result(robot, t, still, still, still, still)
    >>> result
    <Result of 'double-pendulum': 3 samples, t = 0 ... 1 s>
    >>> result["q." + robot.joints[0].name]
    array([0., 0., 0.])
    """

    robot: Robot
    t: Array
    """Times, (N,), not decreasing. At a jump of the state two samples have one time."""
    q: Array
    """Positions, (N, nq)."""
    v: Array
    """Velocities, (N, nv)."""
    a: Array
    """Accelerations, (N, nv)."""
    tau: Array
    """Joint forces that were applied, (N, nv): without those of springs, dampers and friction."""
    work: Array | None = None
    """Work of the applied forces since the start of the run, (N,)."""
    dissipated: Array | None = None
    """Energy lost to dampers and friction since the start of the run, (N,)."""
    events: tuple[Happened, ...] = ()
    """Events, in the order of time."""
    report: Any = None
    """The report of the run: steps, energy balance, why it stopped. Parts of a result keep the report of the run."""
    dense: Motion | None = None
    """The motion between the samples: the integrator's dense output."""
    source: ClassVar[MotionSource | None] = None
    """The arguments of the run, which the result of `simulate` itself keeps for derivatives."""
    extra: Mapping[str, Array] = field(default_factory=dict)
    """Further series by name, each with one entry for each sample, such as readings of sensors. Robots with loops have
    "loop_force", (N, nv), the forces of the loops on the joints of the tree, and if loops open or close
    "loops_closed", 1 or 0 for each loop. Runs with a controller that has a target have "q_reference" and "v_reference",
    its desired motion, and "q_error" and "v_error", desired less actual, (N, nv); control of a frame has
    "pose_reference", (N, 4, 4), and "pose_error", (N, 6)."""

    def __post_init__(self) -> None:
        robot = self.robot
        n = np.shape(self.t)[0] if np.ndim(self.t) else 0
        shapes: dict[str, tuple[int, ...]] = {"t": (n,), "q": (n, robot.nq)}
        shapes |= dict.fromkeys(("v", "a", "tau"), (n, robot.nv))
        shapes |= {name: (n,) for name in ("work", "dissipated") if getattr(self, name) is not None}
        for name, shape in shapes.items():
            object.__setattr__(self, name, _kept(getattr(self, name), name, shape))
        if not np.isfinite(self.t).all() or (np.diff(self.t) < 0.0).any():
            raise ArgumentError("the times of a motion must be finite, and never decrease")
        for name in self.extra:
            if reserved(name):
                raise ArgumentError(f"extra: {name!r} is the name of another series; choose another name")
        extra = {name: _kept(x, name, (n, *np.shape(x)[1:])) for name, x in self.extra.items()}
        object.__setattr__(self, "extra", MappingProxyType(extra))
        object.__setattr__(self, "events", Events(self.events))

    # ---- series

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all series, except those of frames: "position.<frame>", "velocity.<frame>"."""
        return names(self)

    def series(self, name: str) -> Array:
        """Return a series: "q.shoulder", "tau.base.wx", "q", "energy", "position.tool", "position.tool.z".

        (N,) for single numbers; (N, k) for a joint with several coordinates, for whole series, and for frames.
        """
        return series(self, name)

    def joint(self, name: str) -> JointSeries:
        """Return the motion of one joint: its t, q, v, a and tau."""
        return joint_series(self, name)

    @cached_property
    def kinetic(self) -> Array:
        """Kinetic energy, (N,)."""
        return _constant(self.robot.kinetic_energy(self.q, self.v))

    @cached_property
    def gravitational(self) -> Array:
        """Potential energy in the field of gravity, zero at the base's origin, (N,)."""
        return _constant(self.robot.potential_energy(self.q))

    @cached_property
    def elastic(self) -> Array:
        """Energy of the joints' springs, (N,): half of stiffness times deflection squared, for each freedom.

        Springs in joints that close loops have no energy while their loop is open.
        """
        if LOOPS_CLOSED in self.extra:
            return _constant(_loop_series().elastic(self))
        return _constant(elastic(self.robot, self.q))

    @cached_property
    def potential(self) -> Array:
        """Energy of gravity and springs, (N,)."""
        return _constant(self.gravitational + self.elastic)

    @cached_property
    def energy(self) -> Array:
        """Kinetic and potential energy, (N,)."""
        return _constant(self.kinetic + self.potential)

    @cached_property
    def momentum(self) -> Array:
        """Momentum (angular, linear) about the world's origin, in its axes, (N, 6)."""
        return _constant(self.robot.momentum(self.q, self.v))

    @cached_property
    def mass_centre(self) -> Array:
        """The position of the centre of all mass, (N, 3)."""
        return _constant(self.robot.com(self.q))

    @cached_property
    def central_momentum(self) -> Array:
        """Momentum (angular, linear) about the mass centre, in the world's axes, (N, 6)."""
        return _constant(self.robot.centroidal_momentum(self.q, self.v))

    def pose(self, frame: str | Frame) -> Array:
        """Return the homogeneous matrices of a frame in the world, (N, 4, 4)."""
        return self._of_frame("pose", frame, lambda f: self.robot.pose(self.q, f))

    def position(self, frame: str | Frame) -> Array:
        """Return the path of a frame's origin in the world, (N, 3)."""
        return self.pose(frame)[:, :3, 3]

    def velocity(self, frame: str | Frame) -> Array:
        """Return the velocity (angular, linear) of a frame's origin in the world's axes, (N, 6)."""
        return self._of_frame("velocity", frame, lambda f: self.robot.velocity(self.q, self.v, f, axes="world"))

    def _of_frame(self, what: str, frame: str | Frame, compute: Callable[[Frame], Array]) -> Array:
        key = (what, self.robot.frame(frame))
        return self._once(key, lambda: compute(key[1]))

    def _once(self, key: tuple[object, ...], compute: Callable[[], Array]) -> Array:
        """Return a series that is computed on first use."""
        if key not in self._computed:
            self._computed[key] = _constant(compute())
        return self._computed[key]

    @cached_property
    def _computed(self) -> dict[tuple[object, ...], Array]:
        return {}

    # ---- loops

    def _cut(self, name: str, kind: str) -> Array:
        """Return positions "q" or velocities "v" of a joint that closes a loop, (N, k)."""
        return self._once((name, kind), lambda: _loop_series().coordinates(self, name, kind))

    @cached_property
    def loop_residuals(self) -> Mapping[str, Array]:
        """The residuals of each loop and coupling, by name: (N, rows), in m and rad."""
        return _constants(_loop_series().residuals(self))

    @cached_property
    def loop_multipliers(self) -> Mapping[str, Array]:
        """The multipliers of each loop and coupling, by name: (N, rows). Zero while it is open."""
        return _constants(_loop_series().multipliers(self))

    def loop_forces(self, name: str) -> Array:
        """Return the constraint force of a loop on its child: (moment, force) at and in its frame there, (N, 6).

        The force of a coupling is (N,). If constraints are redundant, these are the forces of the shortest multipliers.
        """
        found: Array = _loop_series().forces(self, name)
        return found

    # ---- derivatives

    def vjp(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, *, wrt: str | Sequence[str] | None = None
    ) -> Any:
        """Return the gradient of the sum of weights times samples by the arguments of `simulate`: a named tuple.

        `q` and `v` are the weights: for a function of `result.q` and `result.v` its derivatives by them, (..., N, nv).
        Those of positions are in the tangent of `integrate`, or by the numbers of q, (..., N, nq). The result has `q0`
        (in the tangent), `v0`, `tau` and `external`, where these were given, and `until`; `wrt` names some of them.
        That of a `Table` has the shape of its values. The fields of a robot's parameters that vary are arguments, too.

        The gradient is that of the accepted steps, with their lengths held constant, and of the dense output at the
        times of `until`. Those by times are along the motion. What acts as a Python function needs a method
        `jacobian(t, q, v)` that returns the derivatives of its forces by the numbers of q, (nv, nq), and by v.

        >>> import numpy as np, ordern as on
        >>> result = on.load("double-pendulum").simulate([1.0, 0.0], tau=[0.1, 0.0], until=[0.5, 1.0])
        >>> result.vjp(q=[[0.0, 0.0], [1.0, 0.0]])._fields
        ('q0', 'v0', 'tau', 'until')
        """
        from ..motion_derivatives import motion_vjp

        return motion_vjp(self, q, v, wrt)

    def jvp(self, **tangents: ArrayLike) -> Any:
        """Return the rates (q, v) of the samples while arguments vary along tangents, each (..., N, nv).

        `tangents` are by the names of `vjp`: q0, v0, tau, external, until. Those of positions are velocities, and so
        are the rates of positions. A batch of directions gives columns: `result.jvp(q0=np.eye(robot.nv))`.
        """
        from ..motion_derivatives import motion_jvp

        return motion_jvp(self, tangents)

    # ---- parts of a motion

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.t)

    @property
    def duration(self) -> float:
        """The time from the first to the last sample."""
        return float(self.t[-1] - self.t[0]) if len(self) else 0.0

    @overload
    def __getitem__(self, which: str) -> Any: ...
    @overload
    def __getitem__(self, which: int) -> Sample: ...
    @overload
    def __getitem__(self, which: slice | NDArray[Any] | Sequence[int]) -> Result: ...
    def __getitem__(self, which: Any) -> Any:
        """`result["q.shoulder"]` is a series, `result["shoulder"]` a joint's motion, `result[3]` a sample.

        Slices `result[10:50]`, `result[::5]`, masks `result[result.t < 1]` and lists of indices give a Result.
        """
        if isinstance(which, str):
            return self.joint(which) if which in self._joints else self.series(which)
        if isinstance(which, (int, np.integer)) and not isinstance(which, (bool, np.bool_)):
            k = range(len(self))[which]  # IndexError where there is none
            return Sample(float(self.t[k]), self.q[k], self.v[k], self.a[k], self.tau[k])
        return self._part(which)

    @cached_property
    def _joints(self) -> frozenset[str]:
        return frozenset(c.name for c in self.robot.joints)

    def __iter__(self) -> Iterator[Sample]:
        """Return an iterator over the samples."""
        return (self[k] for k in range(len(self)))

    def _part(self, which: Any) -> Result:
        try:
            order = np.arange(len(self))[which]
        except (IndexError, ValueError, TypeError) as e:
            raise ArgumentError(
                f"samples are chosen by a slice, a mask of length {len(self)} or indices: {e}"
            ) from None
        if order.ndim != 1 or (np.diff(order) <= 0).any():
            raise ArgumentError("chosen samples must stay in the order of time, each once: no negative steps")
        part = self.with_arrays({name: x[which] for name, x in self.arrays()})
        t = part.t
        inside = tuple(e for e in self.events if len(t) and t[0] <= e.time <= t[-1])
        return replace(part, events=inside)

    def between(self, start: float, end: float) -> Result:
        """Return the samples from the time `start` to the time `end`, both included."""
        return self._part((self.t >= start) & (self.t <= end))

    def arrays(self) -> list[tuple[str, Array]]:
        """Return all stored series, those of `extra` by their own names."""
        stored = [(name, getattr(self, name)) for name in ("t", "q", "v", "a", "tau", "work", "dissipated")]
        return [(name, x) for name, x in (*stored, *self.extra.items()) if x is not None]

    def with_arrays(self, arrays: dict[str, Array]) -> Result:
        """Return the result with other samples."""
        extra = {name: arrays[name] for name in self.extra}
        stored: dict[str, Any] = {name: x for name, x in arrays.items() if name not in extra}
        return replace(self, **stored, extra=extra)

    def at(self, time: ArrayLike) -> tuple[Array, Array]:
        """Return position and velocity at any time of the motion, (..., nq) and (..., nv).

        They come from the integrator's dense output, of the order of its method, or without one from cubics between
        the samples. The time of a sample gives that sample; the time of a jump gives the sample after it.
        """
        at, k = located(self.t, time)
        exact = self.t[k] == at
        if exact.all():
            return self.q[k], self.v[k]
        q, v = (self.dense or self.cubics)(at)
        exact = exact[..., None]
        return np.where(exact, self.q[k], q), np.where(exact, self.v[k], v)

    @property
    def cubics(self) -> Hermite:
        """The motion between the samples by cubics, even if there is dense output."""
        return Hermite(self.robot, self.t, self.q, self.v, self.a)

    def resample(self, times: ArrayLike | None = None, *, rate: float | None = None) -> Result:
        """Return the motion at other times, or at `rate` samples per second from its start.

        Positions and velocities are those of `at`. Accelerations are rates of cubics through the velocities. Forces
        and all other series are interpolated without overshoot.
        """
        return resampled(self, times, rate)

    def then(self, other: Result, *, shift: bool = False) -> Result:
        """Return this motion followed by another one of the same robot.

        Times, work and losses of the other motion stay as they are; with `shift` they are counted from the end of this
        motion. A first sample that repeats the last one is left out.
        """
        return joined(self, other, shift)

    # ---- derivatives

    def saltation(self, event: int | Happened) -> Array:
        """Return how small changes of the state before an event change the state after it, (2 nv, 2 nv).

        The state is (q, v), with changes of q in the tangent of `integrate`. `event` is one of `events`, or its place
        there. The matrix includes the shift of the event's time. It is the identity for an event without an effect.
        Only the result that `simulate` returned knows it: not its parts, nor one that was read from a file.
        """
        known: Saltation | None = self.__dict__.get("_saltation")
        if known is None:
            raise ArgumentError(
                "saltation: only the result that robot.simulate returned knows the jumps of the run, not parts of it, "
                "joined results, or results from files"
            )
        if isinstance(event, (int, np.integer)):
            if not -len(self.events) <= event < len(self.events):
                count = len(self.events)
                raise ArgumentError(f"saltation: the run has {count} events, so there is no event {event}")
            event = self.events[int(event)]
        elif not hasattr(event, "index") or not hasattr(event, "time"):  # not a record of an event
            raise ArgumentError(f"saltation: give one of the run's `events`, or its place among them, not {event!r}")
        return known.matrix(event)

    def _with_jumps(self, events: Any, switches: Any, jumps: Any, refused: str) -> Result:
        """Return this result after a run that noted jumps."""
        from ..saltation import Saltation

        self.__dict__["_saltation"] = Saltation(self.robot, tuple(events), tuple(switches), jumps, refused)
        return self

    # ---- views, files

    def view(self, **options: Any) -> Any:
        """Show the motion in the browser, or write it to an HTML file; `options` are those of `robot.view`."""
        return self.robot.view(motion=self, **options)

    def animate(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a film of the motion, by the suffix of `path`: `result.animate("fall.gif")`, or .mp4, .webm, .webp.

        `options` are those of `ordern.view.animate`: fps, speed, size, look_from, paths, external, progress. It needs
        `pip install 'ordern[film]'`.
        """
        from importlib import import_module

        import_module("ordern.view").animate(self.robot, self, path, **options)

    def plot(self, *what: str, **options: Any) -> Any:
        """Draw the motion: `result.plot("q", "tau", "energy", joints=["elbow"], save="fall.pdf")`.

        `what` are "q", "v", "a", "tau", "energy", "momentum", "phase", "tip", "tip-3d" and names of series; `options`
        are those of `ordern.plot.motion`: joints, frames, title, width, save. It needs matplotlib.
        """
        return self.robot.plot(self, *what, **options)

    def to_pandas(self, *which: str) -> Any:
        """Return a pandas DataFrame: a row for each sample, a column for each name, the time as index.

        It has all stored series, or the series that are named: `to_pandas("q", "energy", "position.tool")`.
        """
        return tables.to_pandas(self, which)

    def to_xarray(self) -> Any:
        """Return an xarray Dataset with the dimensions time and joint (and joint_q, if positions have other names)."""
        return tables.to_xarray(self)

    def to_arrow(self, *which: str) -> Any:
        """Return an Arrow table: a column for the time and for each name; the robot is in its metadata."""
        return tables.to_arrow(self, which)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the motion to a file: .npz, .csv or .parquet, by its suffix. `on.load_result` reads it.

        The suffixes .rrd and .mcap write recordings for Rerun and Foxglove, with shapes, poses, series and events.

        Every number is kept to its last bit. The robot goes with it, unless it has joints of your own types. The file
        is whole or not written at all: one that exists is replaced in one step.
        """
        from .formats import save

        save(self, path)

    def summary(self, most: int = 40) -> str:
        """Return the motion as text: the range of each coordinate, energies, events."""
        return described(self, most)

    def __repr__(self) -> str:
        n = len(self)
        many = f"{n} sample{'' if n == 1 else 's'}"
        span = f", t = {self.t[0]:g} ... {self.t[-1]:g} s" if n else ""
        events = f", {len(self.events)} event{'s' if len(self.events) > 1 else ''}" if self.events else ""
        return f"<Result of {self.robot.name!r}: {many}{span}{events}>"

    def _repr_html_(self) -> str:
        """Return the summary as a table with small curves, for notebooks."""
        return described_html(self)

    def __eq__(self, other: object) -> bool:
        """Return whether all samples and events are the same, to the last bit; reports are not compared."""
        if not isinstance(other, Result):
            return NotImplemented
        mine, others = self.arrays(), other.arrays()
        return (
            self.robot == other.robot
            and [name for name, _ in mine] == [name for name, _ in others]
            and all(_identical(x, y) for (_, x), (_, y) in zip(mine, others, strict=True))
            and len(self.events) == len(other.events)
            and all(_same_event(x, y) for x, y in zip(self.events, other.events, strict=True))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        values = [getattr(self, f.name) for f in fields(self)]
        return type(self), (*values[:-1], dict(self.extra))


def _loop_series() -> Any:
    """Import the series of loops, which few results need."""
    from ..constraints import loop_series

    return loop_series


def _kept(x: Any, name: str, shape: tuple[int, ...]) -> Array:
    """Return an array of this shape that cannot be written to through the result."""
    return _constant(array(x, shape, f"{name} of this motion", nonfinite=True).view())


def _constant(x: Array) -> Array:
    x.flags.writeable = False
    return x


def _constants(series: dict[str, Array]) -> Mapping[str, Array]:
    return MappingProxyType({name: _constant(x) for name, x in series.items()})


def _identical(x: Array, y: Array) -> bool:
    return bool(np.array_equal(x, y, equal_nan=True) and np.array_equal(np.signbit(x), np.signbit(y)))


def _same_event(x: Happened, y: Happened) -> bool:
    return all(np.array_equal(getattr(x, f.name), getattr(y, f.name)) for f in fields(x))
