"""Writing MJCF, the format of MuJoCo; see docs/formats/export.md.

Bodies are nested, frames become sites, and joints of several freedoms become several joints of one body. Numbers are
written so that they are read back exactly; rotations become quaternions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..conversion.peers import mujoco_parts
from ..errors import ModelError
from ..joints import Closure, Continuous, Cylindrical, Fixed, Free, Joint, Prismatic, Revolute, Spherical, Universal
from ..model import BASE, Body, Connection, EllipsoidDrag, Loop, Model, Placement, Shape
from ..records import dataclass
from ..rotations import matrix_from_quaternion
from .export_mjcf_actuators import add_actuators
from .export_mjcf_contact import add_contact, contact_attributes
from .export_mjcf_fluid import fluid_around
from .export_mjcf_keyframes import Written, add_keyframes
from .export_mjcf_tendons import add_tendons, tendon_rotors
from .mjcf.mesh import mesh_vertices
from .writing import Losses, described
from .xml_text import Node, bound, check_name, extra_frames, fresh, number, numbers, quaternion

__all__ = ["describe", "to_mjcf"]

_HERE = Placement()
_TINY = 2e-14
"""MuJoCo requires masses above 1e-15 kg and moments of inertia above about 1e-14 kg m^2, where joints move them."""
_MOST = 6
"""The freedoms that one body may have in MuJoCo."""
_DEEPEST = 490
"""The XML parser in MuJoCo reads 500 levels."""
_KINDS: dict[type[Joint], str] = {
    Revolute: "hinge",
    Continuous: "hinge",
    Prismatic: "slide",
    Spherical: "ball",
    Free: "free",
}
_SCALAR = (Revolute, Continuous, Prismatic, Universal, Cylindrical)
"""Joints that are hinges and slides in MuJoCo."""
_TERMS = {"damping": "damping", "friction": "frictionloss", "armature": "armature", "stiffness": "stiffness"}
"""The coefficients of joints, and their attributes."""
_CLOSINGS: dict[type[Closure], str] = {Spherical: "connect", Fixed: "weld"}
_MESHES = (".stl", ".obj", ".msh")
_SHAPES: dict[str, Callable[[tuple[float, ...]], tuple[float, ...]]] = {
    "box": lambda s: (s[0] / 2, s[1] / 2, s[2] / 2),
    "sphere": lambda s: s,
    "cylinder": lambda s: (s[0], s[1] / 2),
    "capsule": lambda s: (s[0], s[1] / 2),
    "ellipsoid": lambda s: s,
    "plane": lambda s: (0.0, 0.0, 1.0),
}
"""MuJoCo's sizes are halves; a plane without sides has no end."""


@dataclass(frozen=True, slots=True)
class _Part(Written):
    """A joint of MuJoCo, with its slices in the coordinates of the joint that it belongs to."""

    axis: tuple[float, ...] | None
    position: tuple[float, ...]
    v: slice

    def seen_from(self, at: Placement) -> _Part:
        """Return the same joint, in the axes of a frame that is placed at `at` in its own."""
        R = at.R.T
        axis = None if self.axis is None else tuple((R @ np.array(self.axis)).tolist())
        return replace(self, axis=axis, position=tuple((R @ (np.array(self.position) - at.p)).tolist()))


def to_mjcf(model: Model, *, lossy: bool = False) -> str:
    """Return the text of an MJCF document from which the same robot is loaded.

    Parts of the dynamics that the format cannot express (a spring of a free joint, most loops ...) raise an error that
    lists them all. With `lossy`, they are left out and listed in a comment, as looks and velocity limits always are. A
    joint without a type in the format is an error.
    """
    return described(model, ".xml", lossy=lossy)[0]


def describe(model: Model, losses: Losses) -> Node:
    """Return the root element of a model's document; parts that it leaves out are added to `losses`."""
    return _Writer(model, losses).root


class _Writer:
    """A document that is being written."""

    def __init__(self, model: Model, losses: Losses) -> None:
        self.model, self.losses = model, losses
        self.root = root = Node("mujoco", {"model": model.name or "robot"})
        compiler = root.add("compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        option = root.add("option", gravity=numbers(model.gravity))
        self.fluid = fluid_around(model)
        if self.fluid is not None:
            wind = numbers(model.current) if any(model.current) else None
            option.attributes |= {"density": number(self.fluid.density), "wind": wind}
            option.attributes["viscosity"] = number(self.fluid.viscosity)
        self.assets, world, self.equalities = root.add("asset"), root.add("worldbody"), root.add("equality")
        self.nodes = {BASE: world}
        """The elements of the bodies."""
        self.moving: set[int] = set()
        """The bodies that joints move."""
        self.joint_names = {c.name for c in model.joints}
        self.equality_names: set[str] = set()
        self.geom_names: set[str] = set()
        self.solids: dict[tuple[str, str], str] = {}
        """The names of geoms that collide, by their links and names."""
        self.site_names: set[str] = set()
        self.sites: dict[tuple[int, Placement], str] = {}
        self.mesh_names: dict[tuple[str, tuple[float, ...]], str] = {}
        self.flat_meshes: set[str | None] = set()
        self.parts = {k: self._split(c) for k, c in enumerate(model.joints)}
        """The MuJoCo joints of each joint."""
        rotors = tendon_rotors(model)
        self.turned = {k for rotor in rotors for k in rotor.bodies}
        """The bodies that are written as tendons."""
        self._bodies()
        if any("balance" in what for what in losses.lost):
            compiler.attributes["balanceinertia"] = "true"
        for frame in extra_frames(model):
            check_name(frame.name, "frame", model.source)
            self._site(frame.name, frame.body, frame.placement)
        losses.add_fluid(model, drag=self.fluid is None)
        for loop in model.loops:
            self._loop(loop)
        self._couplings()
        for n in sorted(range(len(model.shapes)), key=lambda n: model.shapes[n].body):
            self._geom(model.shapes[n], self.fluid.ellipsoids.get(n) if self.fluid else None)
        names = {body.name: body.name for k, body in enumerate(model.bodies) if k in self.nodes}
        names |= {frame.name: "world" for frame in model.frames if frame.body == BASE and frame.name not in names}
        add_contact(root, model, self.solids, names, losses)
        parts = {c.name: [(p.name, p.v.stop - p.v.start) for p in self.parts[k]] for k, c in enumerate(model.joints)}
        tendons = add_actuators(root, model, parts, losses)
        add_tendons(
            tendons, model, rotors, {k: parts[c.name][0][0] for k, c in enumerate(model.joints) if c.type.nv}, losses
        )
        add_keyframes(root, model, world, [part for found in self.parts.values() for part in found])
        root.children = [n for n in root.children if n is world or n.children or n.attributes]

    def _split(self, c: Connection) -> list[_Part]:
        """Return the MuJoCo joints of a joint, from the parent to the child."""
        split = [(joint, at) for joint, at in mujoco_parts(c.type) if type(joint) is not Fixed]
        if c.type.nv > _MOST:
            raise _refused(c, f" with {c.type.nv} freedoms")
        q, v, found = 0, 0, []
        for n, (joint, at) in enumerate(split, 1):
            kind = _KINDS.get(type(joint), "")
            if not kind:
                raise _refused(c)
            if joint is not c.type and (kind == "free" or (kind == "ball" and n < len(split))):
                raise _refused(c, f" with a {type(joint).__name__} that is not its last part")
            if kind == "free" and c.parent != BASE:
                why = "that does not start from the ground; write it as three prismatic joints and a Spherical"
                raise _refused(c, f" {why}")
            if kind == "ball" and not np.allclose(at.R, np.eye(3), rtol=0.0, atol=1e-15):
                raise _refused(c, " with a Spherical that is turned")
            axis = tuple((at.R @ np.array(joint.axis)).tolist()) if isinstance(joint, (Revolute, Prismatic)) else None
            name = c.name if len(split) == 1 else fresh(f"{c.name}_{n}", self.joint_names)
            slices = slice(q, q + joint.nq), slice(v, v + joint.nv)
            found.append(_Part(name, kind, slices[0], c, axis, at.position, slices[1]))
            q, v = q + joint.nq, v + joint.nv
        self.joint_names.update(part.name for part in found)
        return found

    def _bodies(self) -> None:
        """Add the elements of the bodies, one in the other."""
        skipped, depth = _between_joints(self.model), {BASE: 0}
        carried: list[_Part] = []
        start = _HERE
        for k, (c, body) in enumerate(zip(self.model.joints, self.model.bodies, strict=True)):
            if k in self.turned:
                continue
            check_name(body.name, "body", body.where)
            check_name(c.name, "joint", c.where)
            if body.name == "world":
                why = "a body has the name 'world', which in MJCF is the ground's; give it another"
                raise ModelError(why, body.where)
            carried = [*(part.seen_from(c.placement) for part in carried), *self.parts[k]]
            start = start @ c.placement @ _start(c)
            if c.type.nv or c.parent in self.moving:
                self.moving.add(k)
            if k in skipped:
                self.nodes[k], depth[k] = self.nodes[c.parent], depth[c.parent]
                self.losses.remark("frame, which lies between two joints of one body there,", f"body {body.name!r}")
                continue
            depth[k] = depth[c.parent] + 1
            if depth[k] > _DEEPEST:
                raise ModelError(
                    f"body {body.name!r} has {depth[k] - 1} bodies between it and the ground; MJCF nests bodies, and "
                    f"MuJoCo reads {_DEEPEST} in a row",
                    body.where,
                )
            self.nodes[k] = node = self.nodes[c.parent].add("body", name=body.name, **_place(start))
            for part in carried:
                self._joint(node, part)
            self._inertial(node, body, bool(carried), self.fluid.frames.get(k) if self.fluid else None)
            if not self.parts[k]:
                self.losses.remark("name", f"fixed joint {c.name!r}")
            carried, start = [], _HERE

    def _joint(self, node: Node, part: _Part) -> None:
        c, losses = part.of, self.losses
        what, scalar = f"joint {c.name!r}", part.kind in ("hinge", "slide")
        given: dict[str, str | None] = {"name": part.name, "type": part.kind}
        if any(part.position):
            given["pos"] = numbers(part.position)
        if part.axis is not None:
            given["axis"] = numbers(part.axis)
        lower, upper, effort = c.lower[part.q], c.upper[part.q], c.effort_limit[part.v]
        if any(map(math.isfinite, (*lower, *upper))):
            if scalar and lower < upper:
                given["range"] = numbers(map(bound, (*lower, *upper)))
            else:
                losses.add("limits", what, c.where)
        if any(map(math.isfinite, effort)):
            if scalar:
                given["actuatorfrcrange"] = numbers((-effort[0], effort[0]))
            else:
                losses.add("effort limit", what, c.where)
        if any(map(math.isfinite, c.velocity_limit[part.v])):
            losses.remark("velocity limit", what)
        for term, attribute in _TERMS.items():
            x = getattr(c, term)[part.v]
            # The linear velocities of MuJoCo's free joints are in the world's axes: terms must be the same in all axes.
            allowed = part.kind != "free" or term in ("damping", "armature")
            at_rest = scalar or term != "stiffness" or c.rest[part.q] == (1.0, 0.0, 0.0, 0.0)
            if any(x) and allowed and at_rest and len(set(x)) == 1:
                given[attribute] = number(x[0])
                if term == "stiffness" and scalar:
                    given["springref"] = numbers(c.rest[part.q])
            elif any(x):
                losses.add("spring" if term == "stiffness" else term, what, c.where)
        if part.kind == "free" and c.placement != _HERE:
            losses.add("placement (MuJoCo's coordinates are from the world)", what, c.where)
        node.add("joint", **given)

    def _inertial(self, node: Node, body: Body, moves: bool, along: Placement | None) -> None:
        """Add mass and inertia. A body without them, in all or some directions, gets amounts below rounding.

        If its drag is that of its inertia, this is diagonal in the frame `along`, and written so.
        """
        if not moves and not body.mass and not any(body.inertia):
            return
        what = f"body {body.name!r}"
        I = body.inertia_matrix
        a, b, c = np.linalg.eigvalsh(I).tolist()
        least = _TINY * max(1.0, c)
        slack = min(a, a + b - c)
        if a < -least:
            raise ModelError(f"{what} has a moment of inertia below zero ({a:g}), which MuJoCo refuses", body.where)
        if slack < -least:
            why = "balance (no body has inertias with A + B < C; MuJoCo makes them equal)"
            self.losses.add(why, what, body.where)
            I = I + max(0.0, least - a) * np.eye(3)  # MuJoCo wants positive moments before it makes them equal
        elif slack < least:
            I = I + (least - slack) * np.eye(3)
        six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        mass = max(body.mass, _TINY)
        if mass != body.mass:
            self.losses.notes.append(f"{what} has no mass; MuJoCo requires some")
        form = {"pos": numbers(body.com), "mass": number(mass)}
        if along is None:
            node.add("inertial", **form, fullinertia=numbers(six))
        else:
            moments = np.diag(along.R.T @ I @ along.R).tolist()
            node.add("inertial", **form, quat=quaternion(along), diaginertia=numbers(moments))

    def _site(self, wanted: str, body: int, at: Placement) -> str:
        """Add a site with this name, or one like it; return the name."""
        self.site_names.add(name := fresh(wanted, self.site_names))
        self.sites.setdefault((body, at), name)
        self.nodes[body].add("site", name=name, **_place(at))
        return name

    def _end(self, body: int, at: Placement, name: str) -> str:
        """Return the name of the site in this place; add a site if necessary."""
        return self.sites.get((body, at)) or self._site(name, body, at)

    def _loop(self, loop: Loop) -> None:
        what, closing = f"loop {loop.name!r}", type(loop.type)
        if closing not in _CLOSINGS:
            self.losses.add(f"closing by a {closing.__name__} (only Spherical and Fixed)", what)
            return
        check_name(loop.name, "loop", loop.where)
        one = self._end(loop.parent, loop.parent_placement, f"{loop.name}_1")
        other = self._end(loop.child, loop.child_placement, f"{loop.name}_2")
        for term in ("damping", "friction", "stiffness"):
            if any(getattr(loop, term)):
                self.losses.add(term, what, loop.where)
        self._equality(_CLOSINGS[closing], loop.name, loop.active, site1=one, site2=other)

    def _couplings(self) -> None:
        """Add couplings, and mimic joints as couplings."""
        for coupling in self.model.couplings:
            if len(coupling.coefficients) > 5:
                self.losses.add("terms above the fourth power", f"coupling {coupling.name!r}", coupling.where)
                continue
            check_name(coupling.name, "coupling", coupling.where)
            other = self.parts[coupling.other][0].name if coupling.other != BASE else None
            self._coupling(coupling.name, coupling.joint, other, coupling.coefficients, coupling.active)
        for k, c in enumerate(self.model.joints):
            if c.mimic is not None and k not in self.turned:
                leader = self.parts[c.mimic.joint][0].name
                self._coupling(c.name, k, leader, (c.mimic.offset, c.mimic.ratio))
                note = f"joint {c.name!r} follows {leader!r} by a constraint, which in MuJoCo gives way a little"
                self.losses.notes.append(note)

    def _coupling(
        self, name: str, joint: int, other: str | None, coefficients: tuple[float, ...], active: bool = True
    ) -> None:
        polynomial = numbers((*coefficients, *(0.0,) * (5 - len(coefficients))))
        self._equality("joint", name, active, joint1=self.parts[joint][0].name, joint2=other, polycoef=polynomial)

    def _equality(self, tag: str, wanted: str, active: bool, **attributes: str | None) -> None:
        self.equality_names.add(name := fresh(wanted, self.equality_names))
        self.equalities.add(tag, name=name, **attributes, active=None if active else "false")

    def _geom(self, shape: Shape, drag: EllipsoidDrag | None) -> None:
        model, body = self.model, shape.body
        of = f"body {model.bodies[body].name!r}" if body != BASE else f"base {model.base!r}"
        mesh = self._mesh(shape, of) if shape.kind == "mesh" else None
        if shape.kind == "hfield":
            self._field(shape)
            return
        if shape.kind == "plane" and body in self.moving:
            self.losses.remark("the plane (only the ground has one)", of)
            return
        if shape.kind == "mesh" and mesh is None:
            return
        if shape.kind not in ("mesh", "plane") and min(shape.size) <= 0.0:
            self.losses.remark(f"the {shape.kind} without size", of)
            return
        form = {"mesh": mesh} if mesh else {"size": numbers(_SHAPES[shape.kind](shape.size))}
        name = fresh(shape.name, self.geom_names) if shape.name else None
        if name:
            self.geom_names.add(name)
        seen = shape.role == "visual"
        if mesh in self.flat_meshes and not seen:
            self.losses.remark(f"contacts of the flat mesh {shape.file!r}, which is only shown,", of)
            seen = True
        look = {"contype": "0", "conaffinity": "0", "group": "2"} if seen else {"group": "3"}
        if not seen:
            look |= contact_attributes(shape.friction, shape.contact)
            self.solids[shape.link, shape.name] = name or ""
        color = None if shape.color is None else numbers(shape.color)
        place, flow = _place(shape.placement), dict[str, str]()
        if drag is not None:
            five = (drag.blunt, drag.slender, drag.angular, drag.kutta, drag.magnus)
            flow = {"fluidshape": "ellipsoid", "fluidcoef": numbers(five)}
        self.nodes[body].add("geom", name=name, **form, type=shape.kind, **place, rgba=color, **look, **flow)

    def _field(self, shape: Shape) -> None:
        """Add a height field: an asset, and a geom that is lifted by its lowest elevation."""
        heights = np.array(shape.heights)
        low, top = float(heights.min()), float(np.ptp(heights)) or 1.0
        name = fresh(shape.name or "hfield", self.geom_names)
        self.geom_names.add(name)
        self.solids[shape.link, shape.name] = name
        size = numbers((shape.size[0] / 2, shape.size[1] / 2, top, 1.0))
        columns, rows = heights.shape
        text = numbers((heights.T[::-1] - low).ravel().tolist())
        self.assets.add("hfield", name=name, nrow=str(rows), ncol=str(columns), size=size, elevation=text)
        place = _place(shape.placement @ Placement(position=(0.0, 0.0, low)))
        look = {"group": "3", **contact_attributes(shape.friction, shape.contact)}
        self.nodes[shape.body].add("geom", name=name, type="hfield", hfield=name, **place, **look)

    def _mesh(self, shape: Shape, of: str) -> str | None:
        """Return the name of a mesh asset; None if MuJoCo cannot read its file."""
        file = shape.file.removeprefix("file://")
        scheme, is_address, _ = file.partition("://")
        stem, suffix = os.path.splitext(os.path.basename(file))
        if is_address or suffix.lower() not in _MESHES:
            why = f"only paths of files; MuJoCo does not know {scheme}://"
            if not is_address:
                why = f"only files that end in {', '.join(_MESHES)}"
            self.losses.remark(f"the mesh {shape.file!r} ({why})", of)
            return None
        key = (file, shape.size)
        if key not in self.mesh_names:
            extent = self._extent(file, shape.size)
            if extent < 2:
                self.losses.remark(f"the mesh {shape.file!r} (fewer than four points, or all on a line)", of)
                return None
            self.mesh_names[key] = name = fresh(stem, set(self.mesh_names.values()))
            self.flat_meshes |= {name} if extent == 2 else set()
            shell = "shell" if extent == 2 else None
            self.assets.add("mesh", name=name, file=file, scale=numbers(shape.size), inertia=shell)
        return self.mesh_names[key]

    def _extent(self, file: str, scale: tuple[float, ...]) -> int:
        """Return the dimensions of a mesh: 2 if it is flat, which MuJoCo takes for shells only; 3 if unknown."""
        points = mesh_vertices(self.losses.folder / file)
        if points is None or not np.isfinite(points).all() or not len(points):
            return 3
        from_first = np.unique((points - points[0]) * scale, axis=0)
        if len(from_first) < 4:  # MuJoCo wants four points
            return 1
        return int(np.linalg.matrix_rank(from_first, tol=1e-9 * np.abs(from_first).max()))


def _start(c: Connection) -> Placement:
    """Return the start of a free body: in MJCF, its placement, which is also its position in `qpos0`."""
    if type(c.type) is not Free:
        return _HERE
    turn = np.array(c.rest[:4])
    return Placement.of(matrix_from_quaternion(turn) if turn.any() else np.eye(3), c.rest[4:])


def _between_joints(model: Model) -> set[int]:
    """Return the bodies that only connect two joints: in MJCF, one body has both joints.

    Such a body has no mass, one child, nothing fixed to it, and slides or turns.
    """
    children: dict[int, list[int]] = {}
    for k, c in enumerate(model.joints):
        children.setdefault(c.parent, []).append(k)
    busy = {frame.body for frame in extra_frames(model)} | {shape.body for shape in model.shapes}
    busy |= {body for loop in model.loops for body in (loop.parent, loop.child)}
    freedoms: dict[int, int] = {}
    for k, (c, body) in enumerate(zip(model.joints, model.bodies, strict=True)):
        below = children.get(k, [])
        if k in busy or body.mass or any(body.inertia) or len(below) != 1 or type(c.type) not in _SCALAR:
            continue
        together = freedoms.get(c.parent, 0) + c.type.nv
        if together + model.joints[below[0]].type.nv <= _MOST:
            freedoms[k] = together
    return set(freedoms)


def _refused(c: Connection, more: str = "") -> ModelError:
    return ModelError(f"joint {c.name!r} is a {type(c.type).__name__}{more}, which MJCF has no type for", c.where)


def _place(at: Placement) -> dict[str, str | None]:
    return {"pos": numbers(at.position) if any(at.position) else None, "quat": quaternion(at)}
