"""The names of a robot's coordinates, and of the series of a motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import Array
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
    "POSE_REFERENCE",
    "STORED",
    "TRACKED",
    "JointSeries",
    "columns",
    "extra_labels",
    "joint_series",
    "labels",
    "names",
    "reserved",
    "series",
]


_STATE = ("q", "v", "a", "tau")
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

STORED = (*_STATE, "work", "dissipated")
"""The series of a run, besides the time."""
LOOP_FORCE, LOOPS_CLOSED = "loop_force", "loops_closed"
"""Series of robots with loops: joint forces of the loops, and 1 for each closed loop, 0 for each open one."""
TRACKED = {"q_reference": "q", "v_reference": "v", "q_error": "v", "v_error": "v"}
"""Series of controlled robots: the desired motion, and desired less actual. Their columns have the names of q or v."""
POSE_REFERENCE = "pose_reference"
DERIVED = ("kinetic", "gravitational", "elastic", "potential", "energy", "momentum", "mass_centre", "central_momentum")
"""The series that are computed from the stored ones."""
_SPATIAL = tuple(f"{kind}.{axis}" for kind in ("angular", "linear") for axis in _PLACE)
_POSE = tuple(f"{r}{c}" for r in range(4) for c in range(4))
_PARTS = {"momentum": _SPATIAL, "central_momentum": _SPATIAL, "mass_centre": _PLACE}
_EXTRA = {POSE_REFERENCE: _POSE, "pose_error": _SPATIAL}
_FRAMES = {"position": _PLACE, "velocity": _SPATIAL, "pose": _POSE}


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
                while free in used:  # a joint may have the name of a part of another one
                    k += 1
                    free = f"{name}_{k}"
                used[free] = None
        made.append(tuple(used))
    return made[0], made[1]


def _labels(result: Result, name: str) -> tuple[str, ...]:
    """Return the names of the columns of a series; empty for a single column."""
    robot, (kind, _, of) = result.robot, name.partition(".")
    if name in result.extra:
        own = extra_labels(name, labels(robot))
        return own if math.prod(result.extra[name].shape[1:]) == len(own) else ()
    if not of:
        return labels(robot)[kind != "q"] if kind in _STATE else _PARTS.get(kind, ())
    if kind not in _STATE:
        return _FRAMES.get(kind, ())
    joint = next((c.type for c in robot.joints if c.name == of), None) or _loop(robot, of)
    return () if joint is None else _parts(joint, kind != "q")


def extra_labels(name: str, coordinates: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the columns of a further series, if it is one of the library's; else an empty tuple.

    `coordinates` are the names of positions and of velocities.
    """
    return tuple(coordinates[TRACKED[name] != "q"]) if name in TRACKED else _EXTRA.get(name, ())


def _loop(robot: Model, name: str) -> Joint | None:
    """Return the joint of a loop, if a loop of this name has a joint with coordinates."""
    return next((x.type for x in robot.loops if x.name == name and x.nq and isinstance(x.type, Joint)), None)


def names(result: Result) -> tuple[str, ...]:
    """Return the names that `series` takes, besides frames: stored columns, and whole series."""
    stored = ["t"]
    for name in _STATE:
        stored += [f"{name}.{label}" for label in _labels(result, name)]
    stored += [f"{name}.{x.name}" for name in ("q", "v") for x in result.robot.loops if x.nq]
    stored += [name for name in ("work", "dissipated") if getattr(result, name) is not None]
    return (*stored, *result.extra, *DERIVED)


def reserved(name: object) -> bool:
    """Return whether a name is, or may be, the name of another series, so that no further series can have it."""
    if not isinstance(name, str) or not name:
        return True
    kind = name.partition(".")[0]
    return kind == "t" or kind in STORED or kind in DERIVED or kind in _FRAMES


def series(result: Result, name: str) -> Array:
    """Return the series of this name, (N,) or (N, k): a whole series, or one of its columns, such as "tau.base.wx"."""
    name = str(name)
    kind, _, rest = name.partition(".")
    found = None if rest in _labels(result, kind) else _whole(result, name)
    if found is not None:
        return found
    for k in [k for k, letter in enumerate(name) if letter == "."]:  # names of joints and frames may have dots
        parts = _labels(result, name[:k])
        if name[k + 1 :] in parts:
            found = _whole(result, name[:k])
            if found is not None:
                return found.reshape(len(result), len(parts))[:, parts.index(name[k + 1 :])]
    if kind in _FRAMES and rest:
        result.robot.frame(rest)  # raises: there is no such frame
    raise unknown_name("series", name, names(result), f"the motion of {result.robot.name!r}", _hint(result, kind, rest))


def _whole(result: Result, name: str) -> Array | None:
    """Return the series of a result, of one of its joints, or of a frame; None if there is no such series."""
    found: Array | None
    if name == "t" or name in STORED or name in DERIVED:
        found = getattr(result, name)
        if found is None:
            raise ArgumentError(f"this motion has no {name}: it was not made by a simulation that counts it")
        return found
    if name in result.extra:
        return result.extra[name]
    kind, _, rest = name.partition(".")
    if kind in _FRAMES and any(f.name == rest for f in result.robot.frames):
        return np.asarray(getattr(result, kind)(rest))
    if kind in _STATE and any(c.name == rest for c in result.robot.joints):
        found = getattr(joint_series(result, rest), kind)
        if found is None:
            raise ArgumentError(f"joint {rest!r} follows another joint; the force that drives it is part of its force")
        return found
    loop = _loop(result.robot, rest) if kind in ("q", "v") else None
    if loop is None:
        return None
    found = result._cut(rest, kind)
    return found[:, 0] if loop.nq == loop.nv == 1 else found


def _hint(result: Result, kind: str, rest: str) -> str:
    """Return a hint for the name of a loop: the series that it has."""
    name = rest or kind
    if not any(x.name == name for x in result.robot.constraints):
        return ""
    force = f"`result.loop_forces({name!r})` is its constraint force"
    if _loop(result.robot, name) is None:
        return f"{name!r} has no coordinates; {force}"
    return f"{name!r} closes a loop: 'q.{name}' and 'v.{name}' are its coordinates, {force}"


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
