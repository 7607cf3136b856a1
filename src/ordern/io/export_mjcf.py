"""Writing MJCF, the format of MuJoCo; see docs/formats/export.md.

Bodies are nested, frames become sites, and joints of several freedoms become several joints of one body. Numbers are
written so that they are read back exactly; rotations become quaternions.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..errors import ModelError
from ..joints import (
    Closure,
    Composite,
    Continuous,
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from ..model import BASE, Body, Connection, Model, Placement, Shape
from ..records import dataclass
from ..rotations import matrix_from_quaternion
from .writing import (
    Losses,
    Node,
    bound,
    check_name,
    document,
    extra_frames,
    fresh,
    number,
    numbers,
    quaternion,
    shapes_by_body,
)

__all__ = ["mjcf_of", "to_mjcf"]

_HERE = Placement()
_TINY = 2e-14
"""MuJoCo wants masses above 1e-15 kg, and moments of inertia above 1e-14 kg m^2 or so, wherever a joint moves them."""
_MOST = 6
"""The freedoms that one body may have in MuJoCo."""
_DEEPEST = 490
"""The XML parser in MuJoCo reads 500 levels."""
_SCALAR = (Revolute, Continuous, Prismatic, Universal, Cylindrical)
"""Joints that are hinges and slides in MuJoCo."""
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
class _Part:
    """A joint of MuJoCo, with its slices in the coordinates of the joint that it belongs to."""

    kind: str
    axis: tuple[float, ...] | None
    position: tuple[float, ...]
    q: slice
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
    return mjcf_of(model, lossy=lossy)[0]


def mjcf_of(model: Model, *, lossy: bool = False) -> tuple[str, Losses]:
    """Return the text of `to_mjcf`, and the parts that it leaves out."""
    losses = Losses("MJCF", lossy)
    root = Node("mujoco", {"model": model.name or "robot"})
    compiler = root.add("compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    root.add("option", gravity=numbers(model.gravity))
    assets, world, equalities = root.add("asset"), root.add("worldbody"), root.add("equality")

    nodes, names = _tree(model, world, losses)
    bodies = [BASE, *range(len(model.bodies))]
    if any("balance" in what for what in losses.lost):
        compiler.attributes["balanceinertia"] = "true"
    sites = _Sites(model, nodes)
    _equalities(model, equalities, names, sites, losses)
    shapes, meshes, taken = shapes_by_body(model), dict[tuple[str, tuple[float, ...]], str](), set[str]()
    for k in bodies:
        for shape in shapes[k]:
            _geom(nodes[k], k, shape, model, assets, meshes, taken, losses)
    _motors(model, root.add("actuator"), names, losses)
    losses.check()
    root.children = [n for n in root.children if n is world or n.children or n.attributes]
    return document(root, losses.comments), losses


def _tree(model: Model, world: Node, losses: Losses) -> tuple[dict[int, Node], dict[int, list[str]]]:
    """Add the elements of the bodies, one in the other; return them, and the names of the joints of each."""
    nodes, depth = {BASE: world}, {BASE: 0}
    taken = {c.name for c in model.joints}
    names: dict[int, list[str]] = {}
    skipped = _between_joints(model)
    carried: list[tuple[str, _Part, Connection]] = []
    start = _HERE
    for k, (c, body) in enumerate(zip(model.joints, model.bodies, strict=True)):
        check_name(body.name, "body", body.where)
        check_name(c.name, "joint", c.where)
        if body.name == "world":
            raise ModelError("a body has the name 'world', which in MJCF is the ground's; give it another", body.where)
        parts = list(_parts(c, c.type))
        if c.type.nv > _MOST:
            raise _refused(c, f"with {c.type.nv} freedoms")
        names[k] = [c.name] if len(parts) == 1 else [fresh(f"{c.name}_{n + 1}", taken) for n in range(len(parts))]
        taken.update(names[k])
        carried = [(name, part.seen_from(c.placement), of) for name, part, of in carried]
        carried += [(name, part, c) for name, part in zip(names[k], parts, strict=True)]
        start = start @ c.placement @ _start(c)
        if k in skipped:
            nodes[k], depth[k] = nodes[c.parent], depth[c.parent]
            losses.remark("frame, which lies between two joints of one body there,", f"body {body.name!r}")
            continue
        depth[k] = depth[c.parent] + 1
        if depth[k] > _DEEPEST:
            raise ModelError(
                f"body {body.name!r} has {depth[k] - 1} bodies between it and the ground; MJCF nests bodies, and "
                f"MuJoCo reads {_DEEPEST} in a row",
                body.where,
            )
        nodes[k] = node = nodes[c.parent].add("body", name=body.name, **_place(start))
        for name, part, of in carried:
            _joint(node, name, part, of, losses)
        _inertial(node, body, bool(carried), losses)
        if not parts:
            losses.remark("name", f"fixed joint {c.name!r}")
        carried, start = [], _HERE
    return nodes, names


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


def _parts(c: Connection, joint: Joint, at: Placement = _HERE, q: int = 0, v: int = 0) -> Iterator[_Part]:
    """Yield the MuJoCo joints of a joint, from the parent to the child."""
    place = (at.position, slice(q, q + joint.nq), slice(v, v + joint.nv))
    kind = type(joint)
    if kind in (Revolute, Continuous, Prismatic):
        yield _Part("slide" if kind is Prismatic else "hinge", _axis(at, joint.axis), *place)  # type: ignore[attr-defined]
    elif isinstance(joint, Universal) and kind is Universal:
        turned = joint.turn()
        for n, axis in enumerate((turned[:, 2], turned[:, 0])):
            yield _Part("hinge", _axis(at, axis), at.position, slice(q + n, q + n + 1), slice(v + n, v + n + 1))
    elif isinstance(joint, Cylindrical) and kind is Cylindrical:
        for n, type_ in enumerate(("hinge", "slide")):
            yield _Part(type_, _axis(at, joint.axis), at.position, slice(q + n, q + n + 1), slice(v + n, v + n + 1))
    elif isinstance(joint, Composite) and kind is Composite:
        for k, (part, there) in enumerate(joint.parts):
            if type(part) is Free or (type(part) is Spherical and (k < len(joint.parts) - 1 or not at == _HERE)):
                raise _refused(c, f"with a {type(part).__name__} that is not its last part")
            yield from _parts(c, part, at @ there, q, v)
            q, v = q + part.nq, v + part.nv
    elif kind is Spherical:
        if not np.allclose(at.R, np.eye(3), rtol=0.0, atol=1e-15):
            raise _refused(c, "with a Spherical that is turned")
        yield _Part("ball", None, *place)
    elif kind is Free and c.parent == BASE:
        yield _Part("free", None, *place)
    elif kind is Free:
        raise _refused(c, "that does not start from the ground; write it as three prismatic joints and a Spherical")
    elif kind is not Fixed:
        raise _refused(c, "")


def _refused(c: Connection, more: str) -> ModelError:
    return ModelError(
        f"joint {c.name!r} is a {type(c.type).__name__}{' ' if more else ''}{more}, which MJCF has no type for", c.where
    )


def _axis(at: Placement, axis: object) -> tuple[float, ...]:
    return tuple((at.R @ np.asarray(axis, float)).tolist())


def _joint(node: Node, name: str, part: _Part, c: Connection, losses: Losses) -> None:
    what = f"joint {c.name!r}"
    scalar = part.kind in ("hinge", "slide")
    given: dict[str, str | None] = {"name": name, "type": part.kind}
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
    # MuJoCo's free joints have their linear velocity in the world's axes: only what is the same in all axes can be said
    allowed = {"damping", "armature"} if part.kind == "free" else {"damping", "frictionloss", "armature", "stiffness"}
    terms = {"damping": c.damping, "frictionloss": c.friction, "armature": c.armature, "stiffness": c.stiffness}
    for key, term in terms.items():
        x = term[part.v]
        if not any(x):
            continue
        at_rest = scalar or key != "stiffness" or c.rest[part.q] == (1.0, 0.0, 0.0, 0.0)
        if key in allowed and len(set(x)) == 1 and at_rest:
            given[key] = number(x[0])
            if key == "stiffness" and scalar:
                given["springref"] = numbers(c.rest[part.q])
        else:
            losses.add({"frictionloss": "friction", "stiffness": "spring"}.get(key, key), what, c.where)
    if part.kind == "free" and c.placement != _HERE:
        losses.add("placement (MuJoCo's coordinates are from the world)", what, c.where)
    node.add("joint", **given)


def _inertial(node: Node, body: Body, moves: bool, losses: Losses) -> None:
    """Add mass and inertia. A body without them, in all or some directions, gets amounts below rounding."""
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
        losses.add("balance (no body has inertias with A + B < C; MuJoCo makes them equal)", what, body.where)
    elif slack < least:
        I = I + (least - slack) * np.eye(3)
    six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    mass = max(body.mass, _TINY)
    if mass != body.mass:
        losses.notes.append(f"{what} has no mass; MuJoCo wants some")
    node.add("inertial", pos=numbers(body.com), mass=number(mass), fullinertia=numbers(six))


class _Sites:
    """The frames of a model as sites, and further sites on demand."""

    def __init__(self, model: Model, nodes: dict[int, Node]) -> None:
        self.nodes = nodes
        self.names: set[str] = set()
        self.found: dict[tuple[int, Placement], str] = {}
        for frame in extra_frames(model):
            check_name(frame.name, "frame", model.source)
            self._add(frame.name, frame.body, frame.placement)

    def _add(self, name: str, body: int, at: Placement) -> None:
        self.names.add(name)
        self.found.setdefault((body, at), name)
        self.nodes[body].add("site", name=name, **_place(at))

    def at(self, body: int, at: Placement, name: str) -> str:
        """Return the name of a site in this place; add one, with this name or one like it, if there is none."""
        if (body, at) not in self.found:
            self._add(fresh(name, self.names), body, at)
        return self.found[body, at]


_CLOSING: dict[type[Closure], str] = {Spherical: "connect", Fixed: "weld"}


def _equalities(model: Model, equalities: Node, names: dict[int, list[str]], sites: _Sites, losses: Losses) -> None:
    """Add what MuJoCo treats as constraints: loops, couplings, and mimic joints."""
    taken: set[str] = set()

    def add(tag: str, wanted: str, *, active: bool = True, **attributes: str | None) -> None:
        taken.add(name := fresh(wanted, taken))
        equalities.add(tag, name=name, **attributes, active=None if active else "false")

    for loop in model.loops:
        tag = _CLOSING.get(type(loop.type))
        if tag is None:
            losses.add(f"closing by a {type(loop.type).__name__} (only Spherical and Fixed)", f"loop {loop.name!r}")
            continue
        check_name(loop.name, "loop", loop.where)
        one = sites.at(loop.parent, loop.parent_placement, f"{loop.name}_1")
        other = sites.at(loop.child, loop.child_placement, f"{loop.name}_2")
        for term in ("damping", "friction", "stiffness"):
            if any(getattr(loop, term)):
                losses.add(term, f"loop {loop.name!r}", loop.where)
        add(tag, loop.name, site1=one, site2=other, active=loop.active)
    for coupling in model.couplings:
        polynomial = coupling.coefficients
        if len(polynomial) > 5:
            losses.add("terms above the fourth power", f"coupling {coupling.name!r}", coupling.where)
            continue
        check_name(coupling.name, "coupling", coupling.where)
        (one,), other_one = names[coupling.joint], names[coupling.other][0] if coupling.other != BASE else None
        coefficients = numbers((*polynomial, *(0.0,) * (5 - len(polynomial))))
        add("joint", coupling.name, joint1=one, joint2=other_one, polycoef=coefficients, active=coupling.active)
    for k, c in enumerate(model.joints):
        if c.mimic is not None:
            followed = names[c.mimic.joint][0]
            polynomial = (c.mimic.offset, c.mimic.ratio, 0.0, 0.0, 0.0)
            add("joint", c.name, joint1=names[k][0], joint2=followed, polycoef=numbers(polynomial))
            losses.notes.append(
                f"joint {c.name!r} follows {followed!r} by a constraint, which in MuJoCo gives way a little"
            )


def _motors(model: Model, actuators: Node, names: dict[int, list[str]], losses: Losses) -> None:
    """Add a motor for each freedom of the joints that have motors; its gear selects the freedom."""
    if model.motors == () and model.joints:
        losses.remark("the statement that no joint has a motor", "the robot")
    for k, c in enumerate(model.joints):
        if c.name not in (model.motors or ()):
            continue
        for name, part in zip(names[k], _parts(c, c.type), strict=True):
            n = part.v.stop - part.v.start
            for i in range(n):
                gear = None if n == 1 else " ".join("1" if j == i else "0" for j in range(n))
                actuators.add("motor", joint=name, gear=gear)


def _geom(
    node: Node,
    body: int,
    shape: Shape,
    model: Model,
    assets: Node,
    meshes: dict[tuple[str, tuple[float, ...]], str],
    taken: set[str],
    losses: Losses,
) -> None:
    of = f"body {model.bodies[body].name!r}" if body != BASE else f"base {model.base!r}"
    given: dict[str, str | None] = {}
    if shape.kind == "mesh":
        file = shape.file.removeprefix("file://")
        scheme, is_address, _ = file.partition("://")
        if is_address:
            losses.remark(f"the mesh {shape.file!r} (only paths of files; MuJoCo does not know {scheme}://)", of)
            return
        if os.path.splitext(file)[1].lower() not in _MESHES:
            losses.remark(f"the mesh {shape.file!r} (only files that end in {', '.join(_MESHES)})", of)
            return
        key = (file, shape.size)
        if key not in meshes:
            stem = os.path.splitext(os.path.basename(file))[0]
            meshes[key] = fresh(stem, set(meshes.values()))
            assets.add("mesh", name=meshes[key], file=file, scale=numbers(shape.size))
        given["mesh"] = meshes[key]
    elif shape.kind == "plane" and _moves(model, body):
        losses.remark("the plane (only the ground has one)", of)
        return
    else:
        given["size"] = numbers(_SHAPES[shape.kind](shape.size))
    if shape.name:
        taken.add(name := fresh(shape.name, taken))
        given = {"name": name, **given}
    look = {"contype": "0", "conaffinity": "0", "group": "2"} if shape.role == "visual" else {"group": "3"}
    color = None if shape.color is None else numbers(shape.color)
    node.add("geom", **given, type=shape.kind, **_place(shape.placement), rgba=color, **look)


def _moves(model: Model, body: int) -> bool:
    while body != BASE:
        if model.joints[body].type.nv:
            return True
        body = model.joints[body].parent
    return False


def _place(at: Placement) -> dict[str, str | None]:
    return {"pos": numbers(at.position) if any(at.position) else None, "quat": quaternion(at)}
