"""The units of a robot's coordinates, and of the series of a motion."""

from __future__ import annotations

from .. import joints
from ..joints import Joint
from .model import Model

__all__ = ["coordinate_units", "unit_of"]

_KINDS: dict[type[Joint], tuple[str, str]] = {
    **dict.fromkeys((joints.Revolute, joints.Continuous, joints.Helical), ("a", "a")),
    joints.Prismatic: ("l", "l"),
    joints.Cylindrical: ("al", "al"),
    joints.Universal: ("aa", "aa"),
    joints.Planar: ("all", "all"),
    joints.Spherical: ("qqqq", "aaa"),
    joints.Free: ("qqqqlll", "aaalll"),
    joints.RollingDisc: ("aaall", "aaa"),
}
"""The kinds of positions and of velocities, by joint type: an angle, a length, or a part of a quaternion."""

_UNITS = {
    "q": {"a": "rad", "l": "m", "q": "quaternion"},
    "v": {"a": "rad/s", "l": "m/s"},
    "a": {"a": "rad/s²", "l": "m/s²"},
    "tau": {"a": "N m", "l": "N"},
}
_SERIES = {
    **dict.fromkeys(("kinetic", "gravitational", "elastic", "potential", "energy", "work", "dissipated"), "J"),
    "mass_centre": "m",
    "position": "m",
}


def _kinds(joint: Joint, which: int) -> str:
    if isinstance(joint, joints.Composite):
        return "".join(_kinds(part, which) for part, _ in joint.parts)
    return _KINDS.get(type(joint), ("?" * joint.nq, "?" * joint.nv))[which]


def coordinate_units(robot: Model, series: str) -> tuple[str, ...]:
    """Return the units of the columns of q, v, a or tau, or of a reference or error of q or v.

    They are empty for joint types of your own.

    >>> import ordern as on
    >>> coordinate_units(on.load("stanford-arm"), "tau")
    ('N m', 'N m', 'N', 'N m', 'N m', 'N m')
    """
    units = _UNITS[series.partition("_")[0]]
    positions = series in ("q", "q_reference")  # the error of a position is a velocity that corrects it in a second
    return tuple(units.get(kind, "") for c in robot.independent for kind in _kinds(c.type, not positions))


def unit_of(series: str) -> str:
    """Return the unit of a series that does not belong to joints: "J" for energies, "m" for positions."""
    kind, _, rest = series.partition(".")
    if kind in ("momentum", "central_momentum") and rest:
        return "N m s" if rest.startswith("angular") else "N s"
    if kind == "pose_error" and rest:
        return "rad" if rest.startswith("angular") else "m"
    if kind == "velocity" and rest:
        part = rest.split(".")[-2:][0]
        return {"angular": "rad/s", "linear": "m/s"}.get(part, "")
    return _SERIES.get(kind, "")
