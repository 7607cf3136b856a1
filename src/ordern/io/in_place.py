"""Writing the numbers of a robot into the file that it came from: all else in the file stays as it is.

Inertias, damping, friction, armature and, in URDF, the placements of joints are changed where they differ from those of
the file. A body may be several links of the file, fixed to each other. Then the heaviest of them takes the change, and
the others keep their numbers; if that would need an inertia that no link can have, the others get a smaller part of
theirs. At the end the new document is read again, and compared with the robot.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError, ModelError
from ..model import BASE, Body, Connection, Model, Placement
from ..model.checks import require_one_set
from ..records import dataclass
from ..rotations import quaternion_from_matrix
from .source import Source, open_source
from .writing import Losses, replacing
from .xml_edit import EditedXml, Tag
from .xml_text import number, numbers, rpy

__all__ = ["own_file", "write_in_place"]

Array = Any
_SAME = 1e-12
"""Numbers that differ by less than this part of their size count as equal."""
_READ_BACK = 1e-9
_PARTS = (1.0, 0.5, 0.25, 0.1, 0.01, 0.0)
"""The parts of their inertias that lighter links of a body keep: the first with which the heaviest one is possible."""
_KEYS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_TERMS = {"urdf": {"damping": "damping", "friction": "friction"},
          "mjcf": {"damping": "damping", "friction": "frictionloss", "armature": "armature"}}  # fmt: skip
"""The attributes of a joint's terms; URDF has none for armature."""


def write_in_place(model: Model, path: str | os.PathLike[str], *, lossy: bool = False) -> list[str]:
    """Write the robot's own file with other numbers, and return remarks on what was done.

    See `Robot.save`.
    """
    home, format = own_file(model, path)
    target = Path(path)
    data = open_source(home).data
    assert isinstance(data, bytes)
    work = _Work(model, _read(home, data), EditedXml(data, str(home)), format, str(home), [])
    losses = Losses(format.upper(), lossy)
    if home.resolve().parent != target.resolve().parent:
        near = [x.file for x in model.shapes if x.file and "://" not in x.file and not os.path.isabs(x.file)]
        if near and not lossy:
            raise ModelError(
                f"{home.name} names meshes by paths from its own folder, which in place stay as they are; write the "
                f"new file into {home.resolve().parent}, or give lossy=True to leave it without meshes",
                str(path),
            )
    done = work.changed(losses)
    losses.check()
    with replacing(target) as file:
        file.write(done)
    return [*work.notes, *(f"left out: {x}" for x in losses.summary)]


def own_file(model: Model, path: str | os.PathLike[str]) -> tuple[Path, str]:
    """Return the file that a robot came from, and its format; raise if its numbers cannot be changed, for this path."""
    require_one_set(model, "save in place")
    home, target = Path(model.source), Path(path)
    format = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}.get(home.suffix.lower(), "")
    if not format or not home.is_file():
        raise ArgumentError(
            f"{model.name!r} has no file of its own whose numbers could be changed in place (source "
            f"{model.source or 'none'!r}); expected one that was loaded from a .urdf, .xml or .mjcf file"
        )
    if target.suffix.lower() != home.suffix.lower():
        raise ArgumentError(
            f"{path}: in place, the new file has the format of {home.name}: its name ends in {home.suffix}"
        )
    return home, format


def _read(home: Path, data: bytes) -> Model:
    """Return the robot of a document, all links apart."""
    from . import _of_document

    return _of_document(Source(str(home), data, home.suffix.lower()), (), None).build(merge=False)


@dataclass(slots=True)
class _Work:
    """One document on its way from the old numbers to the new ones."""

    model: Model
    old: Model
    xml: EditedXml
    format: str
    home: str
    notes: list[str]

    def changed(self, losses: Losses) -> bytes:
        """Return the changed document."""
        self._check_rest(losses)
        for k, body in enumerate(self.model.bodies):
            self._body(k, body)
        known = {c.name: c for c in self.old.joints}
        for c in self.model.joints:
            if c.name in known:
                self._joint(c, known[c.name], losses)
            elif c.type.nv and c.parent != BASE:
                raise ModelError(f"joint {c.name!r} is not in the file, which in place cannot get others", self.home)
        data = self.xml.data
        for _ in range(2):
            missed = self._missed(_read(Path(self.home), data))
            if not missed:
                return data
            data = self.xml.data
        raise ModelError(
            f"in place, the file cannot get the numbers of {', '.join(missed[:5])}: something in it beside <inertial> "
            "and <joint> decides on them, such as a <compiler> or an <actuator>; use save without in_place",
            self.home,
        )

    def _check_rest(self, losses: Losses) -> None:
        """Add what else differs from the file: gravity and springs."""
        if not np.allclose(self.model.gravity, self.old.gravity, rtol=_SAME):
            losses.add("gravity", "the robot", self.home)
        known = {c.name: c for c in self.old.joints}
        for c in self.model.joints:
            if c.name in known and not _close(c.stiffness, known[c.name].stiffness):
                losses.add("spring", f"joint {c.name!r}", c.where)

    def _members(self, k: int, of: Model) -> list[tuple[Body, Array]]:
        """Return the links of the file that body k consists of, each with its 4x4 placement in the body."""
        frames = self.model._frame_index
        return [
            (x, frames[x.name].placement.matrix) for x in of.bodies if x.name in frames and frames[x.name].body == k
        ]

    def _body(self, k: int, body: Body) -> None:
        members = self._members(k, self.old)
        wanted = _pseudo(body)
        if _close(wanted, sum((T @ _pseudo(x) @ T.T for x, T in members), np.zeros((4, 4)))):
            return
        if not members:
            raise ModelError(f"body {body.name!r} is not in the file, so that its numbers have no place", self.home)
        heaviest = max(range(len(members)), key=lambda i: (members[i][0].mass, -i))
        main, T = members[heaviest]
        rest = [x for i, x in enumerate(members) if i != heaviest]
        others = sum((T @ _pseudo(x) @ T.T for x, T in rest), np.zeros((4, 4)))
        back = np.linalg.inv(T)
        part = next((s for s in _PARTS if _possible(back @ (wanted - s * others) @ back.T)), 0.0)
        self._write(main, back @ (wanted - part * others) @ back.T)
        if part < 1.0:
            for x, _ in rest:
                if x.mass or any(x.inertia):
                    self._write(x, part * _pseudo(x))
            names = ", ".join(repr(x.name) for x, _ in rest if x.mass)
            self.notes.append(
                f"body {body.name!r} consists of several links: {names} keep {100 * part:g} % of their inertias, since "
                f"with all of them {main.name!r} would have one that no body can have"
            )

    def _write(self, link: Body, J: Array) -> None:
        """Write a pseudo-inertia of a link in its own frame."""
        tag = self._tag(link.where, ("link", "body"), link.name, f"body {link.name!r}")
        m = float(J[3, 3])
        com = J[:3, 3] / m if m > 0.0 else np.zeros(3)
        S = J[:3, :3] - m * np.outer(com, com)
        I = np.trace(S) * np.eye(3) - S
        {"urdf": self._urdf_inertial, "mjcf": self._mjcf_inertial}[self.format](tag, m, com, I)

    def _urdf_inertial(self, link: Tag, m: float, com: Array, I: Array) -> None:
        inertial = link.child("inertial")
        parts = {name: inertial.child(name) for name in ("origin", "mass", "inertia")} if inertial else {}
        if inertial is None or parts["mass"] is None or parts["inertia"] is None:
            if inertial is not None:
                raise ModelError(f"link {link.attributes['name']!r} has its mass by a <density>", self.home)
            keys = " ".join(f'{key}="{number(x)}"' for key, x in zip(_KEYS, _six(I), strict=True))
            whole = f'<origin xyz="{numbers(com)}"/><mass value="{number(m)}"/><inertia {keys}/>'
            self.xml.insert(link, f"<inertial>{whole}</inertial>")
            return
        origin = parts["origin"]
        turn = [float(x) for x in (origin.attributes.get("rpy", "0 0 0") if origin else "0 0 0").split()]
        R = Placement.xyz_rpy((0.0, 0.0, 0.0), turn).R
        if origin is not None:
            self.xml.set(origin, xyz=numbers(com))
        else:
            self.xml.insert(inertial, f'<origin xyz="{numbers(com)}"/>')
        self.xml.set(parts["mass"], value=number(m))
        six = zip(_KEYS, _six(R.T @ I @ R), strict=True)
        self.xml.set(parts["inertia"], **{key: number(x) for key, x in six})

    def _mjcf_inertial(self, body: Tag, m: float, com: Array, I: Array) -> None:
        inertial = body.child("inertial")
        for x in self.xml.root.children:
            if x.name == "compiler" and x.attributes.get("inertiafromgeom") == "true":
                self.xml.set(x, inertiafromgeom="auto")  # "true" would take the geoms, whatever <inertial> says
        if inertial is None:
            full = numbers(_six(I))
            self.xml.insert(body, f'<inertial pos="{numbers(com)}" mass="{number(m)}" fullinertia="{full}"/>')
            return
        new: dict[str, str | None] = {"pos": numbers(com), "mass": number(m)}
        if "fullinertia" in inertial.attributes:
            new |= {"fullinertia": numbers(_six(I))}
        else:
            moments, axes = np.linalg.eigh(I)
            axes[:, 0] *= np.sign(np.linalg.det(axes)) or 1.0
            new |= dict.fromkeys(("euler", "axisangle", "xyaxes", "zaxis"))
            new |= {"quat": numbers(quaternion_from_matrix(axes).tolist()), "diaginertia": numbers(moments)}
        self.xml.set(inertial, **new)

    def _joint(self, c: Connection, old: Connection, losses: Losses) -> None:
        terms, changed = _TERMS[self.format], dict[str, str]()
        for key in ("damping", "friction", "armature"):
            now, before = getattr(c, key), getattr(old, key)
            if _close(now, before):
                continue
            if key not in terms:
                losses.add(key, f"joint {c.name!r}", c.where)
            elif len(set(now)) > 1:
                losses.add(f"{key} that differs between coordinates", f"joint {c.name!r}", c.where)
            else:
                changed[terms[key]] = number(now[0])
        if changed:
            self._terms(c, changed)
        self._placement(c, old)

    def _terms(self, c: Connection, changed: dict[str, str]) -> None:
        tag = self._tag(c.where, ("joint",), c.name, f"joint {c.name!r}")
        dynamics = tag if self.format == "mjcf" else tag.child("dynamics")
        if dynamics is not None:
            self.xml.set(dynamics, **changed)
        else:
            self.xml.insert(tag, "<dynamics " + " ".join(f'{key}="{x}"' for key, x in changed.items()) + "/>")

    def _placement(self, c: Connection, old: Connection) -> None:
        """Write the placement of a joint, if it has another than in the file."""
        if c.parent != BASE and self.old.bodies[old.parent].name not in self.model._frame_index:
            return
        parent = self.old.base if old.parent == BASE else self.old.bodies[old.parent].name
        frame = self.model._frame_index.get(parent)
        inner = frame.placement if frame is not None and frame.body == c.parent else Placement()
        wanted = inner.inverse @ c.placement
        if _close(wanted.matrix, old.placement.matrix, 1e-10):
            return
        if self.format != "urdf":
            raise ModelError(
                f"joint {c.name!r} has another placement than in the file, which in place can be written to URDF only",
                self.home,
            )
        tag = self._tag(c.where, ("joint",), c.name, f"joint {c.name!r}")
        origin = tag.child("origin")
        xyz, turn = numbers(wanted.position), rpy(wanted) or "0 0 0"
        if origin is not None:
            self.xml.set(origin, xyz=xyz, rpy=turn)
        else:
            self.xml.insert(tag, f'<origin xyz="{xyz}" rpy="{turn}"/>')

    def _tag(self, where: str, names: Sequence[str], own: str, what: str) -> Tag:
        """Return the tag of a body or joint, by its line in the file."""
        file, _, line = where.rpartition(":")
        if file != self.home:
            raise ModelError(f"{what} is in {file or 'no file'}; in place, numbers of one file are changed", self.home)
        found = [x for x in self.xml.root.all() if x.name in names and str(x.line) == line]
        exact = [x for x in found if x.attributes.get("name") == own]
        if len(exact or found) != 1:
            raise ModelError(f"{what} has no tag of its own in the file, such as a copy that it makes", where)
        return (exact or found)[0]

    def _missed(self, read: Model) -> list[str]:
        """Return what the changed document does not say as the robot does; correct terms that others add to."""
        missed = []
        for k, body in enumerate(self.model.bodies):
            members = self._members(k, read)
            if not _close(_pseudo(body), sum((T @ _pseudo(x) @ T.T for x, T in members), np.zeros((4, 4))), _READ_BACK):
                missed.append(f"body {body.name!r}")
        known = {c.name: c for c in read.joints}
        for c in self.model.joints:
            for key, attribute in _TERMS[self.format].items():
                now = getattr(c, key)
                if c.name not in known or len(set(now)) > 1:
                    continue
                there = getattr(known[c.name], key)
                if not _close(now, there, _READ_BACK):
                    missed.append(f"joint {c.name!r} ({key})")
                    written = 2.0 * now[0] - there[0]  # an actuator adds to it
                    if written >= 0.0:
                        self._terms(c, {attribute: number(written)})
        return missed


def _pseudo(body: Body) -> Array:
    """Return the 4x4 pseudo-inertia of a body in its own frame."""
    I, c, m = body.inertia_matrix, np.array(body.com), body.mass
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I + m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return J


def _possible(J: Array) -> bool:
    """Return whether a body can have a pseudo-inertia."""
    m = J[3, 3]
    if m <= 0.0:
        return not J.any()
    S = J[:3, :3] - np.outer(J[:3, 3], J[:3, 3]) / m
    return bool(np.linalg.eigvalsh(S).min() >= -1e-12 * max(np.trace(S), 0.0))


def _six(I: Array) -> list[float]:
    return [float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


def _close(a: Any, b: Any, tolerance: float = _SAME) -> bool:
    x, y = np.asarray(a, float), np.asarray(b, float)
    size = max(float(np.abs(y).max(initial=0.0)), 1e-9)
    return x.shape == y.shape and bool(np.abs(x - y).max(initial=0.0) <= tolerance * size)
