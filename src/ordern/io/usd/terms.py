"""Limits, drives, springs, dampers and armatures of joints.

USD measures angles in degrees. A drive pulls its joint to a target with a spring and a damper; here they are those of
the joint. Armature and friction are extensions of PhysX, Newton and MuJoCo, which have names of their own.
"""

from __future__ import annotations

import math
from typing import Any

from ...joints import Closure, Fixed, Spherical
from ...model.parts import TERMS
from ..remarks import Remarks
from .stage import Stage, number, schemas

__all__ = ["terms_of"]

_DEGREE = math.radians(1.0)
_HUGE = 1e30
"""Limits beyond this are infinite: in single precision, files have 3.4e38 for them."""


def terms_of(
    stage: Stage, prim: Any, type: Closure, freedoms: tuple[str, ...], remarks: Remarks
) -> tuple[dict[str, Any], bool]:
    """Return the terms of a joint as arguments of the builder, and whether it has a drive.

    `freedoms` are those of its coordinates; a joint whose coordinates are no angles and distances has no terms.
    """
    plain = str(prim.GetTypeName()) in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint")
    each, driven = [], False
    for freedom in freedoms:
        angular = freedom.startswith("rot")
        token = ("angular" if angular else "linear") if plain else freedom
        limit = f"limit:{token}:physics"
        names = ("physics:lowerLimit", "physics:upperLimit") if plain else (f"{limit}:low", f"{limit}:high")
        found = _Freedom(stage, prim, angular)
        found.limits(*names, remarks)
        driven = found.drive(token, remarks) or driven
        found.extensions()
        each.append(found.terms)
    if not freedoms and not isinstance(type, Fixed):
        drives = [x for x in schemas(prim) if x.startswith("PhysicsDriveAPI")]
        if drives:
            remarks.add("drives of joints without single angles, which are not read", repr(prim.GetName()), stage.path)
        return _of_ball(stage, prim) if isinstance(type, Spherical) else {}, bool(drives)
    keys = dict.fromkeys(key for terms in each for key in terms)
    return {key: [terms.get(key, TERMS[key]) for terms in each] for key in keys}, driven


def _of_ball(stage: Stage, prim: Any) -> dict[str, Any]:
    """Return the terms of a ball joint that are the same in all directions."""
    found = _Freedom(stage, prim, True)
    found.extensions()
    return {key: found.terms[key] for key in ("armature", "damping", "friction") if key in found.terms}


class _Freedom:
    """The terms of one freedom of a joint, in SI units."""

    def __init__(self, stage: Stage, prim: Any, angular: bool) -> None:
        self.stage, self.prim, self.angular = stage, prim, angular
        self.terms: dict[str, float] = {}
        self.position = _DEGREE if angular else stage.length
        """Radians or metres per unit of position."""
        self.inertia = stage.weight * (stage.length**2 if angular else 1.0)
        self.force = stage.weight * stage.length * (stage.length if angular else 1.0)

    def limits(self, lower: str, upper: str, remarks: Remarks) -> None:
        low, high = (number(self.prim, key, end) for key, end in ((lower, -math.inf), (upper, math.inf)))
        low, high = (
            x if x is not None and abs(x) < _HUGE else math.copysign(math.inf, s) for x, s in ((low, -1), (high, 1))
        )
        if low > high:
            name = repr(str(self.prim.GetName()))
            remarks.add("without limits, because the lower one is above the upper one", name, self.stage.path)
        elif math.isfinite(low) or math.isfinite(high):
            self.terms |= {"lower": low * self.position, "upper": high * self.position}

    def drive(self, token: str, remarks: Remarks) -> bool:
        """Read a drive; return whether there is one."""
        if not self.prim.HasAPI(self.stage.UsdPhysics.DriveAPI, token):
            return False
        base, name = f"drive:{token}:physics", repr(str(self.prim.GetName()))
        if str(self.prim.GetAttribute(f"{base}:type").Get() or "force") == "acceleration":
            remarks.add("without spring and damper, because its drive sets accelerations", name, self.stage.path)
            return True
        most = number(self.prim, f"{base}:maxForce", math.inf)
        if most is not None and most < _HUGE:
            self.terms["effort_limit"] = most * self.force
        k, d = (number(self.prim, f"{base}:{key}", 0.0) or 0.0 for key in ("stiffness", "damping"))
        unit = self.force / self.position if self.angular else self.stage.weight
        self.spring(k * unit, (number(self.prim, f"{base}:targetPosition", 0.0) or 0.0) * self.position)
        self.add("damping", d * unit)
        if number(self.prim, f"{base}:targetVelocity", 0.0):
            remarks.add("drives whose target velocity is not read", name, self.stage.path)
        return True

    def extensions(self) -> None:
        """Read what PhysX, Newton and MuJoCo add; of several names for one quantity the first counts."""
        get = self.first
        self.add("armature", (get("physxJoint:armature", "newton:armature", "mjc:armature") or 0.0) * self.inertia)
        speed = get("physxJoint:maxJointVelocity", "newton:velocityLimit")
        if speed is not None and 0.0 < speed < _HUGE:
            self.terms["velocity_limit"] = speed * self.position
        effort = get("newton:effortLimit", "urdf:limit:effort")
        if effort is not None and 0.0 < effort < _HUGE:
            self.terms.setdefault("effort_limit", effort * self.force)
        unit = self.force / self.position if self.angular else self.stage.weight
        damping, plain = get("newton:damping"), get("mjc:damping")
        self.add("damping", damping * unit if damping is not None else (plain or 0.0) * self.inertia)
        self.add("friction", (get("newton:friction", "mjc:frictionloss") or 0.0) * self.force)
        self.spring((get("mjc:stiffness") or 0.0) * self.inertia, (get("mjc:springref") or 0.0) * self.position)

    def first(self, *names: str) -> float | None:
        return next((x for x in (number(self.prim, name) for name in names) if x is not None), None)

    def add(self, key: str, x: float) -> None:
        if x:
            self.terms[key] = self.terms.get(key, 0.0) + x

    def spring(self, stiffness: float, rest: float) -> None:
        """Add a spring to those that are there: they are one with a rest position between theirs."""
        if stiffness:
            k, at = self.terms.get("stiffness", 0.0), self.terms.get("rest", 0.0)
            self.terms |= {"stiffness": k + stiffness, "rest": (k * at + stiffness * rest) / (k + stiffness)}
