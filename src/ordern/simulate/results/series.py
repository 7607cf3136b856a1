"""The names of a robot's coordinates, and of the series of a motion."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError, unknown_name
from ...joints import Composite, Cylindrical, Free, Joint, Planar, RollingDisc, Spherical
from ...model import Connection, Model
from ...records import dataclass

if TYPE_CHECKING:
    from .result import Result

__all__ = [
    "DERIVED",
    "LOOPS_CLOSED",
    "LOOP_FORCE",
    "STORED",
    "JointSeries",
    "columns",
    "joint_series",
    "labels",
    "names",
    "reserved",
    "series",
]

Array = NDArray[np.float64]

_TURN, _PLACE = ("qw", "qx", "qy", "qz"), ("x", "y", "z")
_SPIN, _SPEED = ("wx", "wy", "wz"), ("vx", "vy", "vz")
_COORDINATES: dict[type[Joint], tuple[tuple[str, ...], tuple[str, ...]]] = {
    Cylindrical: (("angle", "distance"), ("angle", "distance")),
    Planar: (("angle", "x", "y"), ("angle", "x", "y")),
    Spherical: (_TURN, _SPIN),
    Free: ((*_TURN, *_PLACE), (*_SPIN, *_SPEED)),
    RollingDisc: (("heading", "lean", "roll", "x", "y"), _SPIN),
}
"""The names of positions and velocities of joints with several; for other types they are numbered."""

STORED = ("q", "v", "a", "tau", "work", "dissipated")
"""The series of a run, besides the time."""
LOOP_FORCE, LOOPS_CLOSED = "loop_force", "loops_closed"
"""Series of robots with loops: joint forces of the loops, and 1 for each closed loop, 0 for each open one."""
DERIVED = ("kinetic", "gravitational", "elastic", "potential", "energy", "momentum", "mass_centre", "central_momentum")
"""The series that are computed from the stored ones."""
_SPATIAL = tuple(f"{kind}.{axis}" for kind in ("angular", "linear") for axis in _PLACE)
_PARTS = {"momentum": _SPATIAL, "central_momentum": _SPATIAL, "mass_centre": _PLACE}
_FRAMES = {"position": _PLACE, "velocity": _SPATIAL, "pose": tuple(f"{r}{c}" for r in range(4) for c in range(4))}


def _parts(joint: Joint, which: int | bool) -> tuple[str, ...]:
    """Return the names of a joint's positions (0) or velocities (1); a single one has an empty name."""
    count = (joint.nq, joint.nv)[which]
    known = _COORDINATES.get(type(joint))
    if known is not None:
        return known[which]
    if isinstance(joint, Composite) and len(joint.parts) > 1:
        return tuple(
            ".".join(filter(None, (str(k), name)))
            for k, (part, _) in enumerate(joint.parts)
            for name in _parts(part, which)
        )
    return ("",) if count == 1 else tuple(map(str, range(count)))


@lru_cache(maxsize=64)
def labels(robot: Model) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the entries of q, and of v, a and tau: the joint's name, and the part's if it has several.

    >>> import ordern as on
    >>> labels(on.load("puma560"))[0][:2]
    ('waist', 'shoulder')
    """
    made = []
    for which in (0, 1):
        used: dict[str, None] = {}
        for c in robot.independent:
            for part in _parts(c.type, which):
                name = free = f"{c.name}.{part}" if part else c.name
                k = 1
                while free in used:  # a joint may be called as a part of another one
                    k += 1
                    free = f"{name}_{k}"
                used[free] = None
        made.append(tuple(used))
    return made[0], made[1]


def _labels(result: Result, name: str) -> tuple[str, ...]:
    """Return the names of the columns of a series; empty for a single column."""
    if name in ("q", "v", "a", "tau"):
        return labels(result.robot)[name != "q"]
    if name in _PARTS:
        return _PARTS[name]
    kind, _, of = name.partition(".")
    if kind in _FRAMES:
        return _FRAMES[kind]
    if kind in ("q", "v", "a", "tau"):
        loop = _loop(result.robot, of)
        return _parts(result.robot.joint(of).type if loop is None else loop, kind != "q")
    return ()


def _loop(robot: Model, name: str) -> Joint | None:
    """Return the joint of a loop, if a loop of this name has a joint with coordinates."""
    return next((x.type for x in robot.loops if x.name == name and x.nq and isinstance(x.type, Joint)), None)


def names(result: Result) -> tuple[str, ...]:
    """Return the names that `series` takes, besides frames: stored columns, and whole series."""
    stored = ["t"]
    for name in ("q", "v", "a", "tau"):
        stored += [f"{name}.{label}" for label in _labels(result, name)]
    stored += [f"{name}.{x.name}" for name in ("q", "v") for x in result.robot.loops if x.nq]
    stored += [name for name in ("work", "dissipated") if getattr(result, name) is not None]
    return (*stored, *result.extra, *DERIVED)


def reserved(name: object) -> bool:
    """Return whether a name is taken by another series, or may be, so that no further series can have it."""
    if not isinstance(name, str) or not name:
        return True
    kind = name.partition(".")[0]
    return kind == "t" or kind in STORED or kind in DERIVED or kind in _FRAMES


def series(result: Result, name: str) -> Array:
    """Return the series of this name, (N,) or (N, k)."""
    if name == "t" or name in STORED or name in DERIVED:
        found: Array | None = getattr(result, name)
        if found is None:
            raise ArgumentError(f"this motion has no {name}: it was not made by a simulation that counts it")
        return found
    if name in result.extra:
        return result.extra[name]
    kind, _, rest = str(name).partition(".")
    if kind in ("q", "v", "a", "tau") and rest:
        own = _labels(result, kind)
        if rest in own:
            return _column(getattr(result, kind), own.index(rest))
        if any(c.name == rest for c in result.robot.joints):
            return _squeezed(joint_series(result, rest), kind)
        if kind in ("q", "v"):
            found = _of_loop(result, kind, rest)
            if found is not None:
                return found
    elif kind in _PARTS and rest in _PARTS[kind]:
        return _column(getattr(result, kind), _PARTS[kind].index(rest))
    elif kind in _FRAMES and rest:
        return _of_frame(result, kind, rest)
    raise unknown_name("series", name, names(result), f"the motion of {result.robot.name!r}", _hint(result, kind, rest))


def _hint(result: Result, kind: str, rest: str) -> str:
    """Return a hint for the name of a loop: the series that it has."""
    name = rest or kind
    if _loop(result.robot, name) is not None:
        return (
            f"{name!r} closes a loop: 'q.{name}' and 'v.{name}' are its coordinates, `result.loop_forces({name!r})` "
            "what it bears"
        )
    if any(x.name == name for x in result.robot.constraints):
        return f"{name!r} has no coordinates; `result.loop_forces({name!r})` is what it bears"
    return ""


def _of_loop(result: Result, kind: str, rest: str) -> Array | None:
    """Return positions or velocities of a joint that closes a loop, `q.pin`, or one of several, `q.pin.angle`."""
    for x in result.robot.loops:
        joint = _loop(result.robot, x.name)
        if joint is None or not (rest == x.name or rest.startswith(f"{x.name}.")):
            continue
        parts, part = _parts(joint, kind != "q"), rest[len(x.name) + 1 :]
        if not part:
            found = result._cut(x.name, kind)
            return _column(found, 0) if joint.nq == joint.nv == 1 else found
        if part in parts:
            return _column(result._cut(x.name, kind), parts.index(part))
    return None


def _of_frame(result: Result, kind: str, rest: str) -> Array:
    """Return `position.tool`, or a part of it, `position.tool.x`; names of frames may have dots."""
    whole: Any = getattr(result, kind)
    if any(f.name == rest for f in result.robot.frames):
        return np.asarray(whole(rest))
    parts = _FRAMES[kind]
    for k, part in enumerate(parts):
        frame = rest.removesuffix(f".{part}")
        if frame != rest and any(f.name == frame for f in result.robot.frames):
            return _column(np.asarray(whole(frame)).reshape(len(result), len(parts)), k)
    return np.asarray(whole(rest))  # which says that there is no such frame


def _column(array: Array, k: int) -> Array:
    return array[:, k]


def columns(result: Result, which: tuple[str, ...] | None = None) -> dict[str, Array]:
    """Return series as columns of numbers, by name: the series in `which`, or all stored ones."""
    if which is None:
        which = tuple(n for n in STORED if getattr(result, n) is not None) + tuple(result.extra)
    found: dict[str, Array] = {}
    for name in which:
        values = series(result, name)
        new = {name: values}
        if values.ndim > 1:
            flat = values.reshape(len(values), math.prod(values.shape[1:]))
            own = _labels(result, name) or tuple(map(str, range(flat.shape[1])))
            new = {f"{name}.{label}": flat[:, k] for k, label in enumerate(own)}
        for twice in found.keys() & new.keys():
            raise ArgumentError(f"two series have a column {twice!r}")
        found |= new
    return found


@dataclass(frozen=True, eq=False, repr=False)
class JointSeries:
    """The motion of one joint. Each series is (N,) for a joint with one coordinate, else (N, k)."""

    name: str
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array | None
    """None for a mimic joint, whose force is part of the force of the joint that it follows."""

    def __repr__(self) -> str:
        return f"<JointSeries {self.name!r}: {len(self.t)} samples of t, q, v, a, tau>"


def joint_series(result: Result, name: str) -> JointSeries:
    """Return the series of one joint, also of a mimic joint."""
    c: Connection = result.robot.joint(name)
    q, v, a = result.q[:, c.q], result.v[:, c.v], result.a[:, c.v]
    tau: Array | None = result.tau[:, c.v]
    if c.mimic is not None:
        ratio, tau = c.mimic.ratio, None
        q, v, a = ratio * q + c.mimic.offset, ratio * v, ratio * a
    if c.type.nq == c.type.nv == 1:
        q, v, a = q[:, 0], v[:, 0], a[:, 0]
        tau = None if tau is None else tau[:, 0]
    return JointSeries(name, result.t, q, v, a, tau)


def _squeezed(joint: JointSeries, kind: str) -> Array:
    found: Array | None = getattr(joint, kind)
    if found is None:
        raise ArgumentError(f"joint {joint.name!r} follows another; what drives it is in the force of that one")
    return found
