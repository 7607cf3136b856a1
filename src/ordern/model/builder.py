"""Building a model: its parts by name, in any order; checked and put in order at the end."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError, UnknownNameError, unknown_name
from ..joints import Closure, Fixed, Free, Joint, joint_placement
from .model import Model
from .parts import (
    BASE,
    SHAPES,
    Body,
    Connection,
    Coupling,
    Frame,
    Loop,
    Mimic,
    Note,
    Placement,
    Shape,
    placement,
)
from .spanning import Edge, carrying, span

__all__ = ["ModelBuilder"]

Array = NDArray[np.float64]
Numbers = float | Sequence[float] | None
B = TypeVar("B", bound="ModelBuilder")


@dataclass(frozen=True, slots=True)
class _Link:
    name: str
    mass: float
    com: Array
    inertia: Array
    where: str


@dataclass(frozen=True, slots=True)
class _Joint:
    name: str
    type: Joint
    parent: str
    child: str
    placement: Placement
    limits: dict[str, tuple[float, ...]]
    mimic: tuple[str, float, float] | None
    where: str


class ModelBuilder:
    """Collects bodies, joints, frames, shapes and loops; `build()` makes the model.

    The one body that is no joint's child is the root: it is fixed to the ground, or floats with
    `build(floating=True)`.
    """

    def __init__(self, name: str = "robot", gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = str(name)
        self.gravity = _vector(gravity, 3, "gravity")
        self.source = ""
        self.grounded = ""
        """Why the root cannot float, if it cannot."""
        self._links: dict[str, _Link] = {}
        self._joints: dict[str, _Joint] = {}
        self._frames: dict[str, tuple[str, Placement, str]] = {}
        self._parent_joint: dict[str, str] = {}
        self._loops: dict[str, tuple[Loop, str, str]] = {}
        self._edges: dict[str, Edge] = {}
        self._couplings: dict[str, tuple[str, str | None, tuple[float, ...], str]] = {}
        self._shapes: list[tuple[str, Shape, str]] = []
        self._notes: list[Note] = []

    @classmethod
    def of(cls: type[B], model: Model) -> B:
        """A builder with the parts of a model, to be changed and built again."""
        builder = cls(model.name, model.gravity)
        builder.source = model.source
        names = {BASE: model.base, **{k: body.name for k, body in enumerate(model.bodies)}}
        builder.body(model.base)
        for k, (body, c) in enumerate(zip(model.bodies, model.joints, strict=True)):
            builder.body(body.name, mass=body.mass, com=body.com, inertia=body.inertia, where=body.where)
            mimic = (model.joints[c.mimic.joint].name, c.mimic.ratio, c.mimic.offset) if c.mimic else None
            terms = {term: getattr(c, term) for term in _TERMS}
            builder.joint(
                c.name, c.type, names[c.parent], names[k], at=c.placement, mimic=mimic, where=c.where, **terms
            )
        for f in model.frames:
            if f.name not in builder._links and (f.name, f.body) != ("world", BASE):
                builder.frame(f.name, names[f.body], f.placement)
        for loop in model.loops:
            builder._loops[loop.name] = (loop, names[loop.parent], names[loop.child])
        for x in model.couplings:
            other = None if x.other == BASE else model.joints[x.other].name
            builder.couple(x.name, model.joints[x.joint].name, other, x.coefficients, x.where)
        builder._shapes = [(names[shape.body], shape, "") for shape in model.shapes]
        builder._notes = list(model.notes)
        return builder

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the bodies so far."""
        return tuple(self._links)

    def lock(self: B, joint: str, q: Numbers = None) -> B:
        """Fix a joint at a position, which is neutral unless given; joints that follow it are fixed with it."""
        if joint not in self._joints:
            raise unknown_name("joint", joint, self._joints, self.name)
        found = self._joints[joint]
        at = found.type.neutral() if q is None else _numbers(q, found.type.nq, 0.0, f"joint {joint!r}: its position")
        used = next((name for name, (one, other, _, _) in self._couplings.items() if joint in (one, other)), None)
        if used is not None:
            raise ModelError(f"joint {joint!r} cannot be fixed: the coupling {used!r} binds it to another", found.where)
        here = found.placement @ joint_placement(found.type, at)
        none = ModelBuilder().joint(joint, Fixed(), found.parent, found.child)._joints[joint]
        self._joints[joint] = replace(none, placement=here, where=found.where)
        for name, follower in list(self._joints.items()):
            if follower.mimic and follower.mimic[0] == joint:
                _, ratio, offset = follower.mimic
                self.lock(name, ratio * at[0] + offset)
        return self

    def body(
        self: B,
        name: str,
        *,
        mass: float = 0.0,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        parent: str | None = None,
        joint: Joint | None = None,
        joint_name: str | None = None,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        where: str = "",
        **limits: Any,
    ) -> B:
        """Add a body and, if a parent is given, the joint that carries it.

        `inertia` is about the centre of mass in the body's axes: 3 principal values, 6 values
        (xx, yy, zz, xy, xz, yz) or a 3x3 matrix. `at` places the joint in the parent's frame: a position, a pair
        (xyz, rpy), a 4x4 matrix or a `Placement`. Further keywords are those of `joint`.
        """
        what = f"body {name!r}"
        try:
            if _name(name, "body") in self._links:
                raise ModelError(f"{what} exists already; every body needs a name of its own")
            (m,) = _numbers(mass, 1, 0.0, f"{what}: mass")
            c, I = np.array(_vector(com, 3, f"{what}: com")), _inertia(inertia, what)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        if math.isinf(m) or m < 0.0:
            raise ModelError(f"{what} has mass {m:g}; a mass is a finite number, not below zero", where)
        if (parent is None) != (joint is None):
            raise ModelError(f"{what}: give both `parent` and `joint`, or neither", where)
        if parent is None and (limits or joint_name is not None):
            raise ModelError(f"{what}: {', '.join(limits) or 'joint_name'} needs `parent` and `joint`", where)
        self._links[name] = _Link(name, m, c, I, where)
        if parent is not None and joint is not None:
            try:
                self.joint(joint_name or f"{name}_joint", joint, parent, name, at=at, where=where, **limits)
            except BaseException:
                del self._links[name]
                raise
        return self

    def joint(
        self: B,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        lower: Numbers = None,
        upper: Numbers = None,
        velocity_limit: Numbers = None,
        effort_limit: Numbers = None,
        damping: Numbers = None,
        friction: Numbers = None,
        armature: Numbers = None,
        stiffness: Numbers = None,
        rest: Numbers = None,
        mimic: str | tuple[str, float, float] | None = None,
        where: str = "",
    ) -> B:
        """Connect two bodies. Limits and coefficients are one number, or one for each coordinate.

        `armature` is the inertia that a drive adds to its joint; it is part of the dynamics. `damping`, `friction` and
        the spring (`stiffness`, and the position `rest` in which it is slack) make the robot's `passive_force`; the
        forces in `tau` are what acts on the joint in total. With `mimic`, the name of another joint or (name, ratio,
        offset), the joint has no coordinate of its own: its position is ratio times that joint's, plus offset.
        """
        what = f"joint {name!r}"
        if name in self._joints:
            raise ModelError(f"{what} exists already; every joint needs a name of its own", where)
        if not isinstance(type, Joint):
            raise ModelError(f"{what}: its type must be a joint such as Revolute(axis), not {type!r}", where)
        if child in self._parent_joint:
            raise ModelError(
                f"{what}: body {child!r} is carried by joint {self._parent_joint[child]!r} already; "
                "a body has one parent, and what closes a loop is added with `loop`",
                where,
            )
        given = {
            "lower": (lower, type.nq, -math.inf),
            "upper": (upper, type.nq, math.inf),
            "velocity_limit": (velocity_limit, type.nv, math.inf),
            "effort_limit": (effort_limit, type.nv, math.inf),
            "damping": (damping, type.nv, 0.0),
            "friction": (friction, type.nv, 0.0),
            "armature": (armature, type.nv, 0.0),
            "stiffness": (stiffness, type.nv, 0.0),
        }
        try:
            _name(name, "joint")
            limits = {k: _numbers(x, n, default, f"{what}: {k}") for k, (x, n, default) in given.items()}
            neutral = type.neutral()
            if len(neutral) != type.nq:
                kind = type.__class__.__name__
                raise ModelError(
                    f"{what}: its class {kind} has nq = {type.nq}, but `neutral` gives {len(neutral)} numbers"
                )
            limits["rest"] = neutral if rest is None else _numbers(rest, type.nq, 0.0, f"{what}: rest")
            if any(map(math.isinf, limits["rest"])):
                raise ModelError(f"{what}: rest must be finite, not {rest!r}")
            where_to = placement(at, what)
            follows = _mimic(mimic, type, what)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        for low, high in zip(limits["lower"], limits["upper"], strict=True):
            if low > high:
                raise ModelError(f"{what}: its lower limit {low:g} is above its upper limit {high:g}", where)
        for term in ("armature", "damping", "friction", "stiffness"):
            if any(x < 0.0 or math.isinf(x) for x in limits[term]):
                raise ModelError(f"{what}: {term} must be finite and not below zero", where)
        self._joints[name] = _Joint(name, type, parent, child, where_to, limits, follows, where)
        self._parent_joint[child] = name
        return self

    def connect(
        self: B,
        name: str,
        type: Joint,
        parent: str,
        child: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        child_at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        closes: bool | None = None,
        where: str = "",
        **terms: Any,
    ) -> B:
        """Connect two bodies by a joint of a graph: `build` chooses whether it carries one of them or closes a loop.

        `at` places the joint on the parent, `child_at` on the child. With `closes=True` it closes a loop, with
        `closes=False` it does not. The first body is the root. Joints with drives, limits and springs are kept in the
        tree where that is possible; one that has to carry its parent keeps its coordinates. Further keywords are those
        of `joint`; see `ordern.model.spanning` for the rules.
        """
        what = f"joint {name!r}"
        try:
            if _name(name, "joint") in self._joints or name in self._edges or name in self._loops:
                raise ModelError(f"{what} exists already; every joint needs a name of its own")
            if closes is not None and not isinstance(closes, (bool, np.bool_)):
                raise ModelError(f"{what}: closes must be True, False or None, not {closes!r}")
            ModelBuilder().joint(name, type, "parent", "child", **terms)  # refuses what is wrong
            if any(x < 0.0 for x in _numbers(terms.get("velocity_limit"), type.nv, math.inf, what)):
                raise ModelError(f"{what}: velocity_limit must not be below zero, but is {terms['velocity_limit']!r}")
            here, there = placement(at, what), placement(child_at, what)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        except TypeError as e:
            raise ModelError(f"{what}: {e}", where) from None
        self._edges[name] = Edge(
            name, type, parent, child, here, there, terms, None if closes is None else bool(closes), where
        )
        return self

    def _spanned(self: B) -> B:
        """The builder with its graph as a tree and loops."""
        built = copy.copy(self)
        for part in ("_joints", "_parent_joint", "_loops"):
            setattr(built, part, dict(getattr(self, part)))
        built._edges = {}
        carried = {child: self._joints[name].parent for child, name in self._parent_joint.items()}
        root = next((name for name in self._links if name not in carried), None)
        if root is None:
            return built  # there is nothing, or a ring: `_ordered` says what is wrong
        found = span(root, carried, self._edges, self._links)
        for name, backwards in found.carry.items():
            edge = self._edges[name]
            joint, at = carrying(edge, backwards)
            ends = (edge.child, edge.parent) if backwards else (edge.parent, edge.child)
            built.joint(name, joint, *ends, at=at, where=edge.where, **edge.terms)
        for name in found.loops:
            edge = self._edges[name]
            terms = {key: x for key, x in edge.terms.items() if key not in ("armature", "mimic")}
            ends = (edge.parent, edge.child)
            built.loop(name, edge.type, *ends, at=edge.at, child_at=edge.child_at, where=edge.where, **terms)
        return built

    def frame(self: B, name: str, body: str, at: Placement | ArrayLike = (0.0, 0.0, 0.0), where: str = "") -> B:
        """Name a frame that is fixed to a body."""
        try:
            if _name(name, "frame") in self._frames:
                raise ModelError(f"frame {name!r} exists already")
            self._frames[name] = (body, placement(at, f"frame {name!r}"), where)
        except ModelError as e:
            raise ModelError(str(e), where) from None
        return self

    def loop(
        self: B,
        name: str,
        type: Closure,
        parent: str,
        child: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        child_at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        lower: Numbers = None,
        upper: Numbers = None,
        velocity_limit: Numbers = None,
        effort_limit: Numbers = None,
        damping: Numbers = None,
        friction: Numbers = None,
        stiffness: Numbers = None,
        rest: Numbers = None,
        active: bool = True,
        where: str = "",
    ) -> B:
        """Close a loop: a joint between two bodies that the tree connects already, or another `Closure`.

        `at` places the joint on the parent, `child_at` on the child; `type` is the motion that it leaves free, such as
        Revolute((0, 1, 0)), or what it asks instead, such as Distance(0.3). Its axis is in the axes of `child_at`. A
        joint may have dampers, springs, friction and limits as one of the tree, along its own coordinates: those of the
        child's frame relative to the parent's.
        """
        what = f"loop {name!r}"
        terms = {
            **{"lower": lower, "upper": upper, "velocity_limit": velocity_limit, "effort_limit": effort_limit},
            **{"damping": damping, "friction": friction, "stiffness": stiffness, "rest": rest},
        }
        try:
            if _name(name, "loop") in self._loops:
                raise ModelError(f"{what} exists already; every loop needs a name of its own")
            if name in self._couplings:
                raise ModelError(f"{what} has the name of a coupling; every constraint needs a name of its own")
            if not isinstance(type, Closure):
                raise ModelError(f"{what}: its type must be a joint such as Spherical(), not {type!r}")
            here, there = placement(at, what), placement(child_at, what)
            given: dict[str, Any] = {term: x for term, x in terms.items() if x is not None}
            if given and not isinstance(type, Joint):
                raise ModelError(f"{what}: {', '.join(given)} needs a joint; a {_class(type)} has no coordinates")
            loop = Loop(name, type, BASE, here, BASE, there, "", active, **given)
            for low, high in zip(loop.lower, loop.upper, strict=True):
                if low > high:
                    raise ModelError(f"{what}: its lower limit {low:g} is above its upper limit {high:g}")
            if parent == child:
                raise ModelError(f"{what} joins body {parent!r} with itself; a loop is between two bodies")
        except ModelError as e:
            raise ModelError(str(e), where) from None
        self._loops[name] = (replace(loop, where=where), parent, child)
        return self

    def couple(
        self: B, name: str, joint: str, other: str | None, coefficients: Sequence[float] = (0.0, 1.0), where: str = ""
    ) -> B:
        """Bind the coordinate of one joint to that of another by a polynomial, as a constraint like that of a loop."""
        try:
            if _name(name, "coupling") in self._couplings:
                raise ModelError(f"coupling {name!r} exists already")
            if name in self._loops:
                raise ModelError(f"coupling {name!r} has the name of a loop; every constraint needs a name of its own")
            numbers = _vector(coefficients, len(coefficients), f"coupling {name!r}: its coefficients")
        except (ModelError, TypeError) as e:
            raise ModelError(str(e), where) from None
        self._couplings[name] = (joint, other, numbers, where)
        return self

    def shape(
        self: B,
        body: str,
        kind: str,
        size: Sequence[float] = (),
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        file: str = "",
        role: str = "visual",
        color: Sequence[float] | None = None,
        name: str = "",
        where: str = "",
    ) -> B:
        """What a body looks like, or collides with; see `Shape`."""
        what = f"a shape of body {body!r}"
        try:
            if kind not in SHAPES:
                raise unknown_name("kind of shape", kind, SHAPES, what)
            if role not in ("visual", "collision"):
                raise unknown_name("role", role, ("visual", "collision"), what)
            numbers = _vector(size or (1.0, 1.0, 1.0)[: SHAPES[kind]], SHAPES[kind], f"{what}: size of a {kind}")
            rgba = None if color is None else _vector(color, 4, f"{what}: color")
            at = placement(at, what)
        except (ModelError, UnknownNameError) as e:
            raise ModelError(str(e), where) from None
        tint = None if rgba is None else (rgba[0], rgba[1], rgba[2], rgba[3])
        self._shapes.append((body, Shape(BASE, kind, numbers, at, file, role, tint, name), where))
        return self

    def note(self: B, message: str, where: str = "", suggestion: str = "") -> B:
        """Keep a remark of a loader: what it noticed and went on from. `Model.notes` has them all."""
        self._notes.append(Note(message, where, suggestion))
        return self

    def build(self, *, floating: bool | Joint = False, merge: bool = True, snap: float = 1e-11) -> Model:
        """The model: checked, in order from the root outward, bodies behind fixed joints merged into their parents.

        `floating` gives the root a free joint, or the joint that it is (Planar(), Spherical() ...). `merge=False` keeps
        fixed joints as joints without freedom.
        """
        if self._edges:
            return ModelBuilder.build(self._spanned(), floating=floating, merge=merge, snap=snap)
        root, order = self._ordered()
        placed: dict[str, tuple[int, Placement]] = {}
        masses: list[list[tuple[_Link, Placement]]] = []
        bodies: list[str] = []
        connections: list[tuple[_Joint, int, Placement]] = []
        neutral = Placement()

        def new_body(link: str, joint: _Joint, parent: int, at: Placement) -> None:
            placed[link] = (len(bodies), neutral)
            masses.append([(self._links[link], neutral)])
            bodies.append(link)
            connections.append((joint, parent, at))

        placed[root] = (BASE, neutral)
        if floating and self.grounded:
            raise ModelError(self.grounded, self.source)
        if floating:
            name = "root_joint" if "root_joint" not in self._joints else f"{root}_root_joint"
            base = ModelBuilder().joint(name, Free() if floating is True else floating, "", root)
            new_body(root, base._joints[name], BASE, Placement())
        extra: list[Frame] = []
        for joint in order:
            parent, at = placed[joint.parent]
            here = joint.placement if at is neutral else at @ joint.placement
            if merge and isinstance(joint.type, Fixed):
                placed[joint.child] = (parent, here)
                if parent != BASE:
                    masses[parent].append((self._links[joint.child], here))
                extra.append(Frame(joint.name, parent, here))
            else:
                new_body(joint.child, joint, parent, here)

        frames = {link: Frame(link, body, at) for link, (body, at) in placed.items()}
        for name, (link, at, where) in self._frames.items():
            if link not in placed:
                raise ModelError(str(unknown_name("body", link, self._links, f"frame {name!r}")), where)
            if name in frames:
                raise ModelError(f"frame {name!r} has the name of a body", where)
            body, outer = placed[link]
            frames[name] = Frame(name, body, outer @ at)

        def on_body(link: str, at: Placement, what: str, where: str) -> tuple[int, Placement]:
            if link not in placed:
                raise ModelError(str(unknown_name("body", link, self._links, what)), where)
            body, outer = placed[link]
            return body, outer @ at

        loops = []
        for name, (loop, parent_link, child_link) in self._loops.items():
            (one, here), (other, there) = (
                on_body(x, at, f"loop {name!r}", loop.where)
                for x, at in ((parent_link, loop.parent_placement), (child_link, loop.child_placement))
            )
            loops.append(replace(loop, parent=one, parent_placement=here, child=other, child_placement=there))
        shapes = []
        for link, shape, where in self._shapes:
            body, at = on_body(link, shape.placement, "a shape", where)
            shapes.append(replace(shape, body=body, placement=at))
        joints = tuple(_connections(connections))
        for f in (*extra, Frame("world", BASE)):
            frames.setdefault(f.name, f)
        return Model(
            name=self.name,
            bodies=tuple(_merged(name, parts) for name, parts in zip(bodies, masses, strict=True)),
            joints=joints,
            frames=tuple(frames.values()),
            gravity=(self.gravity[0], self.gravity[1], self.gravity[2]),
            base="world" if floating else root,
            snap=float(snap),
            loops=tuple(loops),
            couplings=tuple(self._coupled(joints)),
            shapes=tuple(shapes),
            notes=tuple(self._notes),
            source=self.source,
        )

    def _coupled(self, joints: tuple[Connection, ...]) -> Iterable[Coupling]:
        index = {c.name: k for k, c in enumerate(joints)}
        for name, (joint, other, coefficients, where) in self._couplings.items():
            found = [BASE, BASE]
            for k, wanted in enumerate((joint, other)):
                if wanted is None:
                    continue
                if wanted not in index:
                    known = unknown_name("joint", wanted, index, f"coupling {name!r}")
                    raise ModelError(str(known), where)
                found[k] = index[wanted]
                if joints[found[k]].type.nv != 1:
                    raise ModelError(f"coupling {name!r}: joint {wanted!r} has more than one coordinate", where)
            yield Coupling(name, found[0], found[1], coefficients, where)

    def _ordered(self) -> tuple[str, list[_Joint]]:
        """The root, and the joints with parents before children, each subtree in one piece."""
        if not self._links:
            raise ModelError(f"{self.name!r} has no bodies", self.source)
        for joint in self._joints.values():
            for role, link in (("parent", joint.parent), ("child", joint.child)):
                if link not in self._links:
                    known = unknown_name("body", link, self._links)
                    raise ModelError(f"joint {joint.name!r} has as its {role} an {known}", joint.where)
        roots = [name for name in self._links if name not in self._parent_joint]
        if len(roots) > 1:
            raise ModelError(
                f"{self.name!r} has {len(roots)} bodies that no joint carries ({_some(roots)}): connect all but one",
                self._links[roots[1]].where or self.source,
            )
        below: dict[str, list[_Joint]] = {}
        for joint in self._joints.values():
            below.setdefault(joint.parent, []).append(joint)
        order: list[_Joint] = []
        stack = [j for root in roots for j in reversed(below.get(root, []))]
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(below.get(joint.child, [])))
        if len(order) < len(self._joints):
            reached = {j.child for j in order}
            lost = [j for j in self._joints.values() if j.child not in reached]
            raise ModelError(
                f"the joints {_some([j.name for j in lost])} form a cycle: following the parents of body "
                f"{lost[0].child!r} leads back to it and never to the root",
                lost[0].where,
            )
        return roots[0], order


_TERMS = (
    *("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction", "armature"),
    *("stiffness", "rest"),
)


def _connections(found: list[tuple[_Joint, int, Placement]]) -> Iterable[Connection]:
    """The joints with their places in q and v. One that follows another has the places of that one."""
    q = v = 0
    starts: list[tuple[int, int]] = []
    for joint, _, _ in found:
        starts.append((q, v))
        if joint.mimic is None:
            q, v = q + joint.type.nq, v + joint.type.nv
    index = {joint.name: k for k, (joint, _, _) in enumerate(found)}
    for k, (joint, parent, at) in enumerate(found):
        mimic = _followed(joint, [j for j, _, _ in found], index) if joint.mimic else None
        q_start, v_start = starts[k if mimic is None else mimic.joint]
        yield Connection(
            joint.name, joint.type, parent, at, q_start, v_start, **joint.limits, mimic=mimic, where=joint.where
        )


def _followed(joint: _Joint, joints: list[_Joint], index: dict[str, int]) -> Mimic:
    """The joint that is followed in the end, where one that is followed follows another."""
    ratio, offset, name, seen = 1.0, 0.0, joint.name, {joint.name}
    while (follows := joints[index[name]].mimic) is not None:
        name = follows[0]
        if name in seen:
            raise ModelError(f"joint {joint.name!r} follows itself, by way of {name!r}", joint.where)
        if name not in index:
            known = unknown_name("joint", name, [j.name for j in joints if j.type.nv == 1])
            raise ModelError(f"joint {joint.name!r} follows an {known}", joint.where)
        seen.add(name)
        ratio, offset = ratio * follows[1], offset + ratio * follows[2]
    if joints[index[name]].type.nv != 1 or joints[index[name]].type.nq != 1:
        raise ModelError(f"joint {joint.name!r} follows {name!r}, which has not one coordinate", joint.where)
    return Mimic(index[name], ratio, offset)


def _mimic(given: Any, type: Joint, what: str) -> tuple[str, float, float] | None:
    if given is None:
        return None
    try:
        name, ratio, offset = (given, 1.0, 0.0) if isinstance(given, str) else given
        ratio, offset = float(ratio), float(offset)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what}: mimic is the name of a joint or (name, ratio, offset), not {given!r}") from None
    if not (math.isfinite(ratio) and math.isfinite(offset)):
        raise ModelError(f"{what}: ratio and offset of mimic must be finite")
    if type.nq != 1 or type.nv != 1:
        raise ModelError(f"{what} has not one coordinate and cannot follow {name!r}")
    return str(name), ratio, offset


def _merged(name: str, parts: list[tuple[_Link, Placement]]) -> Body:
    """One body from several that are fixed to each other."""
    link = parts[0][0]
    m, c, I = link.mass, link.com, link.inertia
    if len(parts) > 1:
        with np.errstate(all="ignore"):
            coms = [at.R @ part.com + at.p for part, at in parts]
            m = sum(part.mass for part, _ in parts)
            c = sum((part.mass * x for (part, _), x in zip(parts, coms, strict=True)), np.zeros(3))
            c = c / m if m else c
            I = np.zeros((3, 3))
            for (part, at), x in zip(parts, coms, strict=True):
                d = x - c
                I = I + at.R @ part.inertia @ at.R.T + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        if not math.isfinite(m + c.sum() + I.sum()):
            raise ModelError(f"body {name!r} and what is fixed to it have no finite mass and inertia", link.where)
    x, y, z = c.tolist()
    six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return Body(name, m, (x, y, z), tuple(float(a) for a in six), link.where)


def _vector(x: Any, n: int, what: str) -> tuple[float, ...]:
    try:
        a = tuple([float(v) for v in x])
    except (TypeError, ValueError, OverflowError):
        a = ()
    if len(a) != n or not all(map(math.isfinite, a)):
        raise ModelError(f"{what} must be {n} finite numbers, not {x!r}")
    return a


def _inertia(x: Any, what: str) -> Array:
    """A symmetric matrix from 3 principal values, 6 values or 9."""
    try:
        a = np.array(x, float)
    except (TypeError, ValueError, OverflowError):
        a = np.array(np.nan)
    if a.shape == (3,):
        a = np.diag(a)
    elif a.shape == (6,):
        xx, yy, zz, xy, xz, yz = a
        a = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    good = a.shape == (3, 3) and bool(np.isfinite(a).all())
    if good:
        size = abs(a).max()
        good = all(abs(a[r, c] - a[c, r]) <= 1e-9 * size for r, c in ((0, 1), (0, 2), (1, 2)))
    if not good:
        raise ModelError(
            f"{what}: inertia must be 3 principal values, 6 values (xx, yy, zz, xy, xz, yz) or a symmetric 3x3 "
            f"matrix, all finite, not {x!r}"
        )
    return a


def _numbers(x: Numbers, n: int, default: float, what: str) -> tuple[float, ...]:
    if x is None:
        return (default,) * n
    try:
        a = tuple([float(v) for v in x]) if np.ndim(x) else (float(x),) * n  # type: ignore[union-attr,arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be one number or {n}, not {x!r}") from None
    if len(a) != n:
        raise ModelError(f"{what} must be one number or {n}, not {len(a)}")
    if any(map(math.isnan, a)):
        raise ModelError(f"{what} is not a number")
    return a


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise ModelError(f"a {what}'s name must be a non-empty string, not {name!r}")
    return name


def _class(x: object) -> str:
    return type(x).__name__


def _some(names: list[str]) -> str:
    return ", ".join(repr(n) for n in names[:5]) + (", ..." if len(names) > 5 else "")
