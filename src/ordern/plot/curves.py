"""The curves of a motion, with names and units, at times that are close enough to look smooth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..errors import ArgumentError
from ..model import BASE
from ..model.units import coordinate_units, unit_of
from ..records import dataclass
from ..simulate.results.series import TRACKED, columns, labels

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.results.result import Result

__all__ = ["Curve", "balance", "chosen", "curves", "ends", "smooth", "tracking"]

_POINTS = 1500
"""Samples with which a curve looks smooth on paper."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Numbers over time, with name and unit."""

    name: str
    unit: str
    values: Array
    group: str
    """The joint, or whatever else has several curves."""
    part: str
    """The name of the curve within its group."""


def smooth(result: Result) -> Result:
    """Return the motion with enough samples for a smooth curve, by its dense output; jumps stay jumps."""
    t = result.t
    if len(t) < 2 or len(t) >= _POINTS or t[0] == t[-1] or not all(np.isfinite(x).all() for _, x in result.arrays()):
        return result
    jumps = t[1:][np.diff(t) == 0.0]
    before = np.nextafter(jumps, -np.inf)
    times = np.unique(np.concatenate([np.linspace(t[0], t[-1], _POINTS), t, before[before > t[0]]]))
    return result.resample(times)


def chosen(robot: Robot, joints: str | Iterable[str] | None) -> frozenset[str] | None:
    """Return the names of the joints to draw, after a check that they exist; None for all."""
    if joints is None:
        return None
    wanted = (joints,) if isinstance(joints, str) else tuple(joints)
    return frozenset(robot.joint(name).name for name in wanted)


def curves(result: Result, name: str, joints: frozenset[str] | None = None) -> list[Curve]:
    """Return the columns of a series."""
    if name not in ("q", "v", "a", "tau") and not _of_joints(result, name):
        found = {full.removeprefix(f"{name}."): (full, x) for full, x in columns(result, (name,)).items()}
        return [Curve(short, _unit(result, full), x, short, short) for short, (full, x) in found.items()]
    units, values = coordinate_units(result.robot, name), result.series(name)
    positions = TRACKED.get(name, name) == "q"
    owner = [c.name for c in result.robot.independent for _ in range(c.type.nq if positions else c.type.nv)]
    own = labels(result.robot)[not positions]
    found_curves = [
        Curve(label, unit, values[:, k], owner[k], label.removeprefix(f"{owner[k]}."))
        for k, (label, unit) in enumerate(zip(own, units, strict=True))
        if joints is None or owner[k] in joints
    ]
    if not found_curves:
        raise ArgumentError(f"plot: there is no {name} to draw: these joints have no coordinates of their own")
    return found_curves


def tracking(result: Result, joints: frozenset[str] | None = None) -> tuple[list[Curve], list[Curve]]:
    """Return the positions, and the desired positions of a controller."""
    if not _of_joints(result, "q_reference"):
        raise ArgumentError(
            "plot: this motion has no reference; `robot.simulate` records one with a controller that has a target"
        )
    return curves(result, "q", joints), curves(result, "q_reference", joints)


def _of_joints(result: Result, name: str) -> bool:
    """Return whether a series is a reference or an error of joints, with a column for each coordinate."""
    if name not in TRACKED or name not in result.extra:
        return False
    return result.extra[name].shape[1:] == (len(labels(result.robot)[TRACKED[name] != "q"]),)


def _unit(result: Result, name: str) -> str:
    kind, _, rest = name.partition(".")
    if kind in ("q", "v", "a", "tau") or _of_joints(result, kind):
        own = labels(result.robot)[TRACKED.get(kind, kind) != "q"]
        return coordinate_units(result.robot, kind)[own.index(rest)] if rest in own else ""
    return "" if name in result.extra else unit_of(name)


def balance(result: Result) -> Array:
    """Return the energy error at the samples: the change of the energy, less work, plus losses."""
    error = result.energy - result.energy[:1]
    for sign, x in ((-1.0, result.work), (1.0, result.dissipated)):
        if x is not None:
            error = error + sign * (x - x[:1])
    return error


def ends(robot: Robot) -> list[str]:
    """Return a frame at the end of each branch: the farthest one on a body without children."""
    carrying = {c.parent for c in robot.joints}
    found = []
    for k in range(len(robot.bodies)):
        own = [f for f in robot.frames if f.body == k]
        if k not in carrying and own:
            found.append(max(own, key=lambda f: float(np.linalg.norm(f.placement.p))).name)
    return found or [f.name for f in robot.frames if f.body != BASE][-1:]
