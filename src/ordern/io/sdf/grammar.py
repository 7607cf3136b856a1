"""The elements and attributes of SDF that are read."""

from __future__ import annotations

from ...model import SHAPES
from ..grammar import Grammar

__all__ = ["FLUID_AXES", "GRAMMAR"]

FLUID_AXES = "xyzpqr"
"""The rows of a <fluid_added_mass>: three linear ones, then three angular ones."""

_AXIS = "xyz limit dynamics mimic use_parent_model_frame"
_KNOWN = {
    "sdf": ("world model", "version"),
    "world": ("model include frame joint gravity", ""),
    "include": ("uri name pose static placement_frame", "merge placement_frame"),
    "model": ("model include link joint frame pose static", "name canonical_link placement_frame"),
    "frame": ("pose", "name attached_to"),
    "link": ("pose inertial visual collision gravity enable_gravity kinematic", "name"),
    "inertial": ("pose mass inertia density fluid_added_mass", "auto"),
    "fluid_added_mass": (" ".join(a + b for k, a in enumerate(FLUID_AXES) for b in FLUID_AXES[k:]), ""),
    "inertia": ("ixx iyy izz ixy ixz iyz", ""),
    "visual": ("pose geometry material", ""),
    "collision": ("pose geometry density surface", ""),
    "surface": ("friction contact bounce", ""),
    "friction": ("ode torsional", ""),
    "torsional": ("coefficient use_patch_radius patch_radius", ""),
    "contact": ("ode", ""),
    "ode": ("mu mu2 kp kd", ""),
    "bounce": ("restitution_coefficient", ""),
    "geometry": (f"empty {' '.join(SHAPES)}", ""),
    "joint": (
        "pose parent child axis axis2 thread_pitch screw_thread_pitch gearbox_ratio gearbox_reference_body "
        "drake:rotor_inertia drake:gear_ratio",
        "name type",
    ),
    "axis": (_AXIS, ""),
    "axis2": (_AXIS, ""),
    "xyz": ("", "expressed_in"),
    "limit": ("lower upper effort velocity", ""),
    "dynamics": ("damping friction spring_reference spring_stiffness", ""),
    "mimic": ("multiplier offset reference", "joint axis"),
    "pose": ("", "relative_to rotation_format degrees frame"),
}
"""The children and the attributes that are read, by element."""

GRAMMAR = Grammar(_KNOWN, ("model", "include", "link", "joint", "frame", "visual", "collision"))
