"""The numbers of a varied robot as its code reads them, computed from their values once for each robot.

The code of one structure serves many robots; each robot has a `Bound` with the arrays that it gives to the code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import AnyArray, Array
from ..compile.pipeline import Code, Request
from ..errors import ModelError
from ..graph import Scalar
from ..model import BASE, Model
from ..model.inertia_numbers import spatial
from ..model.tables import INERTIA
from ..model.variation import structure_of
from ..model.varied_rows import varied_rows
from ..spatial import Freedoms

__all__ = ["Bound", "bound"]

_SOLID = 1e-9
"""The least minors of inertias about mass centres, relative to those about the origins, that are surely positive."""
_NO_RANK = 1e-14
"""An inertia along a freedom below this part of the largest counts as zero."""


def bound(model: Model) -> Bound | None:
    """Return the numbers of a varied robot; None if all numbers are fixed. They are computed once."""
    if model.variation is None:
        return None
    found: Bound | None = model.__dict__.get("_bound")
    if found is None:
        found = model.__dict__["_bound"] = Bound(model)
    return found


class Bound:
    """The numbers of one varied robot."""

    def __init__(self, model: Model) -> None:
        assert model.variation is not None and model.variation.values is not None
        self.structure = structure_of(model)
        self.values: Array = model.variation.values
        """(*leading, count): the numbers that vary, as users know them."""
        self.shape = self.values.shape[:-1]
        self._arrays: dict[Any, AnyArray] = {}
        self._has_inertia = False

    def numbers(self, request: Request, code: Code, dtype: np.dtype[Any]) -> AnyArray:
        """Return the array (*leading, numbers) that a piece of code reads."""
        if request.reads_values:
            return self.values[..., list(code.numbers or range(self.values.shape[-1]))].astype(dtype)
        return self.form(code.way, code.way != "rolled" and request.algorithm.regroup, code.numbers, dtype)

    def form(self, way: str, regroup: bool, places: tuple[int, ...] | None, dtype: np.dtype[Any]) -> AnyArray:
        """Return the array (*leading, numbers) of a form: of all its numbers, or of those at some places."""
        rolled = way == "rolled"
        key = (rolled, regroup, places, dtype)
        found = self._arrays.get(key)
        if found is None:
            rows = varied_rows(self.structure, regroup)
            places = tuple(range(len(rows.nodes))) if places is None else places
            found = self._evaluated(regroup, rows.wide if rolled else [rows.nodes[k] for k in places]).astype(dtype)
            found.flags.writeable = False
            self._arrays[key] = found
        return found

    def _evaluated(self, regroup: bool, scalars: list[Scalar]) -> Array:
        """Return an array (*leading, n) of n scalars of the rows."""
        return varied_rows(self.structure, regroup).arrays(scalars, self.values)

    def require_inertia(self) -> None:
        """Raise an error that names the first set of numbers in which a joint meets no inertia.

        Numbers of other array libraries are not checked: they may not be known yet. Answers are NaN then.
        """
        if type(self.values) is not np.ndarray:
            return
        if self._has_inertia or self._are_solid():
            self._has_inertia = True
            return
        model, t = self.structure, self.structure.tables
        rows, batch = varied_rows(model).rows, self.shape
        terms = [row[INERTIA] + row[t.kinds[t.kind[k]].term(0)] for k, row in enumerate(rows)]
        flat = self._evaluated(False, [x for some in terms for x in some])
        moved: list[Any] = [bool(b.added_inertia) for b in model.bodies]
        leaf, stop = [True] * len(rows), flat.shape[-1]
        for k in reversed(range(len(rows))):
            start = stop - len(terms[k])
            own, c, stop = flat[..., start:stop], model.joints[k], start
            inertia, armature = own[..., :10], own[..., 10:]
            moved[k] = moved[k] | (inertia[..., 0] != 0.0) | (inertia[..., 4:] != 0.0).any(axis=-1)
            if c.parent != BASE:
                moved[c.parent] = moved[c.parent] | moved[k]
            if c.type.nv:
                regular = np.broadcast_to(moved[k] | (armature != 0.0).any(axis=-1), batch)
                if leaf[k] and t.kinds[t.kind[k]].fluid is None:
                    regular = regular & self._meets_inertia(k, inertia, armature)
                if not regular.all():
                    raise ModelError(self._singular(k, tuple(np.argwhere(~regular)[0].tolist())), model.source)
            if c.parent != BASE:
                leaf[c.parent] = False
        self._has_inertia = True

    def _are_solid(self) -> bool:
        """Return True if all bodies of all sets resist any motion: a quick test that almost all robots pass."""
        rows = varied_rows(self.structure).rows
        flat = self._evaluated(False, [x for row in rows for x in row[INERTIA]])
        m, x, y, z, xx, xy, xz, yy, yz, zz = np.moveaxis(flat.reshape(*self.shape, len(rows), 10), -1, 0)
        size = np.maximum(np.maximum(xx, yy), zz)
        with np.errstate(all="ignore"):  # about the centre of mass, as a part of the size about the origin
            xx, yy, zz = ((a - (b * b + c * c) / m) / size for a, b, c in ((xx, y, z), (yy, x, z), (zz, x, y)))
            xy, xz, yz = ((a + b * c / m) / size for a, b, c in ((xy, x, y), (xz, x, z), (yz, y, z)))
            minor = xx * yy - xy * xy
            whole = minor * zz - xx * yz * yz - yy * xz * xz + 2.0 * xy * xz * yz
            solid = (m > 0.0) & (xx > _SOLID) & (minor > _SOLID) & (whole > _SOLID)
        return bool(solid.all())

    def _meets_inertia(self, k: int, inertia: Array, armature: Array) -> Any:
        """Return for each set True if the joint of a body that carries no other has a regular inertia."""
        joint = self.structure.joints[k].type
        S = np.array([m.scalars for m in joint.subspace(Freedoms(joint.neutral())).columns], float)
        I = spatial(inertia)
        D = S @ I @ S.T + armature[..., None] * np.eye(joint.nv)
        size = (np.abs(S) @ np.abs(I) @ np.abs(S.T)).max(axis=(-2, -1)) + np.abs(armature).max(axis=-1)
        return np.abs(np.linalg.eigvalsh(D)).min(axis=-1) > _NO_RANK * size

    def _singular(self, k: int, index: tuple[int, ...]) -> str:
        """Return the message for a set of numbers in which joint k meets no inertia."""
        joint, body = self.structure.joints[k].name, self.structure.bodies[k].name
        where = f"set {index} of the parameters" if index else "these parameters"
        return (
            f"{where}: joint {joint!r} of {self.structure.name!r} meets no inertia (body {body!r} and all that it "
            "carries have none along its freedoms), so its acceleration is not defined: give the body a mass and an "
            "inertia, or the joint an armature"
        )
