"""A stage: its prims, units, places and attributes, in SI units and as numbers of Python."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from ...arguments import Array
from ...errors import ModelError
from ...model import Placement
from ...records import dataclass
from ..attributes import from_quaternion
from ..includes import Folder
from .layers import require_bounded

__all__ = ["Place", "Stage", "fault_of", "number", "only_target", "quaternion", "schemas", "triple"]

_SHEAR = 1e-3
"""The largest cosine between two axes of a frame that counts as a right angle."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The place of a prim in the world, in metres, and the scale of its own axes."""

    at: Placement
    scale: Array
    """How much longer a length along each axis is in the world; negative all three in a mirrored frame."""


class Stage:
    """An open file with all that it is composed of."""

    def __init__(self, path: str, root: Folder = None) -> None:
        self.path = path
        self.Usd, self.UsdGeom, self.UsdPhysics, self.UsdShade = _modules(path)
        layers = require_bounded(path, root)  # kept until they are composed
        try:
            self.stage = self.Usd.Stage.Open(path)
        except Exception as e:  # of the library's own type
            raise _fault(str(e), path) from None
        del layers
        self.cache = self.UsdGeom.XformCache()
        self.length = float(self.UsdGeom.GetStageMetersPerUnit(self.stage))
        """Metres per unit of length."""
        self.weight = float(self.UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        """Kilograms per unit of mass."""
        for what, x in (("metersPerUnit", self.length), ("kilogramsPerUnit", self.weight)):
            if not 0.0 < x < math.inf:
                raise ModelError(f"{what} of the stage must be a positive number, not {x:g}", path)

    @cached_property
    def prims(self) -> tuple[Any, ...]:
        """All active, defined and loaded prims, also those of instances, in the order of the stage."""
        predicate = self.Usd.TraverseInstanceProxies(self.Usd.PrimDefaultPredicate)
        return tuple(self.Usd.PrimRange(self.stage.GetPseudoRoot(), predicate))

    def below(self, prim: Any) -> Iterator[Any]:
        """Yield a prim and those below it, without those of other bodies."""
        predicate = self.Usd.TraverseInstanceProxies(self.Usd.PrimDefaultPredicate)
        walk = iter(self.Usd.PrimRange(prim, predicate))
        for found in walk:
            if found != prim and self.is_body(found):
                walk.PruneChildren()
            else:
                yield found

    def is_body(self, prim: Any) -> bool:
        """Return whether a prim is a rigid body that is simulated."""
        api = self.UsdPhysics.RigidBodyAPI
        return bool(prim.HasAPI(api)) and api(prim).GetRigidBodyEnabledAttr().Get() is not False

    def body_of(self, prim: Any) -> Any:
        """Return the body that a prim belongs to: itself or the nearest one above it; None for the world."""
        while prim and not prim.IsPseudoRoot():
            if self.is_body(prim):
                return prim
            prim = prim.GetParent()
        return None

    def place(self, prim: Any) -> Place:
        """Return the place of a prim in the world."""
        M = np.array(self.cache.GetLocalToWorldTransform(prim), float)  # of row vectors: rows are the axes
        scale = np.linalg.norm(M[:3, :3], axis=1)
        if not (np.isfinite(M).all() and scale.all()):
            raise self.error(prim, "its transform is not finite, or flattens it")
        R = (M[:3, :3] / scale[:, None]).T
        if np.linalg.det(R) < 0.0:
            R, scale = -R, -scale
        if np.abs(R.T @ R - np.eye(3)).max() > _SHEAR:
            raise self.error(
                prim, "its transform shears it, so that it is no rigid body; remove uneven scales above it"
            )
        u, _, v = np.linalg.svd(R)  # the nearest rotation
        return Place(Placement.of(u @ v, M[3, :3] * self.length), scale)

    def faults(self) -> list[str]:
        """Return what could not be composed, such as files that do not exist; older libraries do not tell."""
        errors = self.stage.GetCompositionErrors() if hasattr(self.stage, "GetCompositionErrors") else ()
        return [" ".join(str(error).split()) for error in errors]

    def error(self, prim: Any, message: str) -> ModelError:
        """Return an error about a prim."""
        return ModelError(f"{prim.GetPath()}: {message}", self.path)


def _fault(said: str, path: str) -> ModelError:
    """Return the error for a file that USD cannot open, with the line of a syntax error."""
    where = re.search(r": '([^'\n]+?):(\d+):(\d+): ", said)
    if where is not None:
        return ModelError(f"USD cannot open it: a syntax error in column {where[3]}", f"{where[1]}:{where[2]}")
    quoted = re.search(r" : '([^'\n]+)'", said)  # the words that follow the place in the library's own sources
    return ModelError(f"USD cannot open it: {quoted[1] if quoted else ' '.join(said.split()):.300}", path)


def schemas(prim: Any) -> tuple[str, ...]:
    """Return the names of all schemas that are applied to a prim, also of those that the library does not know."""
    return tuple(map(str, prim.GetPrimTypeInfo().GetAppliedAPISchemas()))


def number(prim: Any, name: str, default: float | None = None) -> float | None:
    """Return an attribute that is one number, by its full name; the default if it is missing. NaN is an error."""
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute else None
    if value is None:
        return default
    try:
        x = float(value)
    except (TypeError, ValueError):
        x = math.nan
    if math.isnan(x):
        raise fault_of(prim, f"{name} must be a number, not {value}")
    return x


def fault_of(prim: Any, message: str) -> ModelError:
    """Return the error of a prim."""
    return ModelError(f"{prim.GetPath()}: {message}", str(prim.GetStage().GetRootLayer().identifier))


def triple(prim: Any, name: str, unset: bool = False) -> Array | None:
    """Return an attribute of three finite numbers, by its full name; None if it is missing.

    With `unset`, three infinities also stand for a missing value, as USD writes the default of a center of mass.
    """
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute else None
    if value is None:
        return None
    x = np.array(tuple(value), float)
    if unset and np.isinf(x).all():
        return None
    if x.shape != (3,) or not np.isfinite(x).all():
        raise fault_of(prim, f"{name} must be three finite numbers, got {tuple(value)}")
    return x


def quaternion(prim: Any, name: str, position: Array) -> Placement:
    """Return the placement of a quaternion attribute and a position; a quaternion of length zero is the identity."""
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute else None
    q = (1.0, 0.0, 0.0, 0.0) if value is None else (float(value.GetReal()), *map(float, value.GetImaginary()))
    if not all(map(math.isfinite, q)):
        raise fault_of(prim, f"{name} must be four finite numbers (w, x, y, z), got {q}")
    return from_quaternion(q if any(q) else (1.0, 0.0, 0.0, 0.0), position.tolist())


def only_target(prim: Any, relation: Any) -> Any:
    """Return the path of the only target of a relationship; None if it has no target."""
    targets = relation.GetForwardedTargets() if relation else []
    if len(targets) > 1:
        listed = ", ".join(map(str, targets))
        raise fault_of(prim, f"{relation.GetName()} has {len(targets)} targets ({listed}); it must have one at most")
    return targets[0] if targets else None


def _modules(path: str) -> tuple[Any, ...]:
    try:
        return tuple(import_module(f"pxr.{name}") for name in ("Usd", "UsdGeom", "UsdPhysics", "UsdShade"))
    except ImportError as e:
        why = "USD files are read by the package usd-core, which is not installed"
        raise ModelError(f"{why} ({e}): pip install 'ordern[usd]'", path) from None
