"""The units of a robot's coordinates, and of the series of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..joints import (
    Composite,
    Continuous,
    Cylindrical,
    Free,
    Helical,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    RollingDisc,
    Spherical,
    Universal,
)

if TYPE_CHECKING:
    from ..model import Model

__all__ = ["coordinate_units", "unit_of"]

_TURN, _SHIFT, _PURE, _UNKNOWN = "turn", "shift", "pure", ""
_KINDS: dict[type[Joint], tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys((Revolute, Continuous, Helical), ((_TURN,), (_TURN,))),
    Prismatic: ((_SHIFT,), (_SHIFT,)),
    Cylindrical: ((_TURN, _SHIFT), (_TURN, _SHIFT)),
    Universal: ((_TURN,) * 2, (_TURN,) * 2),
    Planar: ((_TURN, _SHIFT, _SHIFT), (_TURN, _SHIFT, _SHIFT)),
    Spherical: ((_PURE,) * 4, (_TURN,) * 3),
    Free: ((_PURE,) * 4 + (_SHIFT,) * 3, (_TURN,) * 3 + (_SHIFT,) * 3),
    RollingDisc: ((_TURN,) * 3 + (_SHIFT,) * 2, (_TURN,) * 3),
}
"""The kinds of positions and of velocities, by joint type: angles, lengths, or parts of a quaternion."""

_UNITS = {
    "q": {_TURN: "rad", _SHIFT: "m", _PURE: "quaternion"},
    "v": {_TURN: "rad/s", _SHIFT: "m/s"},
    "a": {_TURN: "rad/s²", _SHIFT: "m/s²"},
    "tau": {_TURN: "N m", _SHIFT: "N"},
}
_SERIES = {
    **dict.fromkeys(("kinetic", "gravitational", "elastic", "potential", "energy", "work", "dissipated"), "J"),
    "mass_centre": "m",
    "position": "m",
}


def _kinds(joint: Joint, which: int) -> tuple[str, ...]:
    if isinstance(joint, Composite):
        return tuple(kind for part, _ in joint.parts for kind in _kinds(part, which))
    known = _KINDS.get(type(joint))
    return known[which] if known else (_UNKNOWN,) * (joint.nq, joint.nv)[which]


def coordinate_units(robot: Model, series: str) -> tuple[str, ...]:
    """Return the units of the columns of q, v, a or tau; empty for joint types of your own.

    >>> import ordern as on
    >>> coordinate_units(on.load("stanford-arm"), "tau")
    ('N m', 'N m', 'N', 'N m', 'N m', 'N m')
    """
    units = _UNITS[series]
    return tuple(units.get(kind, "") for c in robot.independent for kind in _kinds(c.type, series != "q"))


def unit_of(series: str) -> str:
    """Return the unit of a series that does not belong to joints: "J" for energies, "m" for positions."""
    kind, _, rest = series.partition(".")
    if kind in ("momentum", "central_momentum") and rest:
        return "N m s" if rest.startswith("angular") else "N s"
    if kind == "velocity" and rest:
        part = rest.split(".")[-2:][0]
        return {"angular": "rad/s", "linear": "m/s"}.get(part, "")
    return _SERIES.get(kind, "")
