"""The elements and attributes of SDF that are read."""

from __future__ import annotations

from ...model import SHAPES
from ..grammar import Grammar

__all__ = ["GRAMMAR"]

_AXIS = "xyz limit dynamics mimic use_parent_model_frame"
_KNOWN = {
    "sdf": "world model",
    "world": "model include frame joint gravity",
    "include": "uri name pose static placement_frame",
    "model": "model include link joint frame pose static",
    "frame": "pose",
    "link": "pose inertial visual collision gravity enable_gravity kinematic",
    "inertial": "pose mass inertia",
    "inertia": "ixx iyy izz ixy ixz iyz",
    "visual": "pose geometry material",
    "collision": "pose geometry",
    "geometry": f"empty {' '.join(SHAPES)}",
    "joint": "pose parent child axis axis2 thread_pitch screw_thread_pitch gearbox_ratio gearbox_reference_body",
    "axis": _AXIS,
    "axis2": _AXIS,
    "limit": "lower upper effort velocity",
    "dynamics": "damping friction spring_reference spring_stiffness",
    "mimic": "multiplier offset reference",
}
"""The children of each element that are read."""

_ATTRIBUTES = {
    "sdf": "version",
    "model": "name canonical_link placement_frame",
    "include": "merge placement_frame",
    "frame": "name attached_to",
    "link": "name",
    "joint": "name type",
    "inertial": "auto",
    "pose": "relative_to rotation_format degrees frame",
    "xyz": "expressed_in",
    "mimic": "joint axis",
}
"""The attributes that are read."""

GRAMMAR = Grammar(_KNOWN, _ATTRIBUTES, ("model", "include", "link", "joint", "frame", "visual", "collision"))
