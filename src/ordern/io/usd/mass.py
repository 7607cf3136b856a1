"""Masses, centres of mass and inertias of bodies.

A body has its own mass, centre and inertia where it gives them. What it does not give follows from its collision
shapes: their masses, or their volumes and densities. The density of a shape is its own, that of the body, that of its
physics material, or 1000 kg/m^3, as specified.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arguments import Array
from ...model import ModelBuilder, Placement
from ..remarks import Remarks
from ..solids import NOTHING, Mass, combined
from .shapes import shape_solid
from .stage import Stage, fault_of, number, quaternion, triple

__all__ = ["add_body"]

_WATER = 1000.0
"""The density of what gives none, in kg/m^3."""


def add_body(builder: ModelBuilder, stage: Stage, prim: Any, name: str, remarks: Remarks) -> None:
    """Add a body with its mass."""
    found = _mass(stage, prim, name, remarks)
    builder.body(name, mass=found.m, com=found.com.tolist(), inertia=found.I, where=stage.path)


def _mass(stage: Stage, prim: Any, name: str, remarks: Remarks) -> Mass:
    m, density, com, I = _given(stage, prim)
    if m is not None and com is not None and I is not None:
        return Mass(m, com, I)
    frame = stage.place(prim).at
    solids, unknown = _solids(stage, prim, density)
    if unknown and (m is None or I is None):
        lacks = "mass" if m is None else "inertia"
        why = f"its {lacks} is not given, and the volume of its shape {unknown} cannot be computed"
        raise stage.error(prim, f"{why}; give physics:mass, physics:centerOfMass and physics:diagonalInertia")
    whole = combined([solid.moved(frame.inverse) for solid in solids]) if solids else NOTHING
    if not whole.m and (m is None or I is None):
        what = (
            "massless, because it has neither a mass nor a collision shape"
            if m is None
            else ("a point mass, because it has neither an inertia nor a collision shape")
        )
        remarks.add(what, repr(name), stage.path)
    mass = whole.m if m is None else m
    if I is None:
        I = whole.I * (mass / whole.m) if whole.m else np.zeros((3, 3))
    return Mass(mass, whole.com if com is None else com, I)


def _given(stage: Stage, prim: Any) -> tuple[float | None, float, Array | None, Array | None]:
    """Return mass, density, centre and inertia that a prim gives itself, in SI units; zeros stand for nothing."""
    if not prim.HasAPI(stage.UsdPhysics.MassAPI):
        return None, 0.0, None, None
    place = stage.place(prim)
    m = (number(prim, "physics:mass", 0.0) or 0.0) * stage.weight
    density = (number(prim, "physics:density", 0.0) or 0.0) * stage.weight / stage.length**3
    if m < 0.0 or density < 0.0:
        raise fault_of(prim, "its mass and density must not be below zero")
    com = triple(prim, "physics:centerOfMass", unset=True)
    six = prim.GetAttribute("newton:inertia").Get() if prim.GetAttribute("newton:inertia") else None
    unit = stage.weight * stage.length**2
    I: Array | None = None
    if six is not None and len(six) == 6:
        xx, yy, zz, xy, xz, yz = map(float, six)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) * unit
    else:
        diagonal = triple(prim, "physics:diagonalInertia")
        if diagonal is not None and diagonal.any():
            R = quaternion(prim, "physics:principalAxes", np.zeros(3)).R
            I = R @ np.diag(diagonal * unit) @ R.T
    return (m if m > 0.0 else None), density, None if com is None else com * place.scale * stage.length, I


def _solids(stage: Stage, prim: Any, density: float) -> tuple[list[Mass], str]:
    """Return the masses of the collision shapes of a body in the world, and the name of one without a volume."""
    found, unknown = [], ""
    for part in stage.below(prim):
        api = stage.UsdPhysics.CollisionAPI
        if not (part.HasAPI(api) and part.IsA(stage.UsdGeom.Gprim)):
            continue
        if api(part).GetCollisionEnabledAttr().Get() is False:
            continue
        own = _given(stage, part) if part != prim else (None, density, None, None)
        solid = shape_solid(stage, part)
        if solid is None:
            unknown = unknown or f"{part.GetTypeName()} {part.GetPath()}"
            continue
        m = solid.m * (own[1] or density or _material(stage, part) or _WATER) if own[0] is None else own[0]
        if own[3] is not None:  # about its centre, in the axes of the shape
            frame = stage.place(part).at
            com = np.zeros(3) if own[2] is None else own[2]
            found.append(Mass(m, com, own[3]).moved(Placement.of(frame.R, frame.p)))
        else:
            found.append(Mass(m, solid.com, solid.I * (m / solid.m)))
    return found, unknown


def _material(stage: Stage, prim: Any) -> float:
    """Return the density of the physics material of a shape, in kg/m^3; zero if there is none."""
    material, _ = stage.UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
    if not material or not material.GetPrim().HasAPI(stage.UsdPhysics.MaterialAPI):
        return 0.0
    return (number(material.GetPrim(), "physics:density", 0.0) or 0.0) * stage.weight / stage.length**3
