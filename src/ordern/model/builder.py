"""Building a model: its parts by name, in any order; checked and put in order at the end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from ..arguments import choice
from ..declared import explained_methods
from ..errors import ModelError, unknown_name
from ..joints import Continuous, Fixed, Free, Joint, Revolute, joint_placement
from .actuators import Actuator, on_joints
from .attaching import attach_body, attach_model
from .builder_loops import GraphBuilder
from .checks import Numbers, inertia_numbers, located, name_of, numbers, require_one_set, some, vector
from .contact_terms import ContactRules, ContactTerms, field_heights
from .drafts import JointDraft, Layout, joint_draft, merged, model_joints
from .fluid import Drag, EllipsoidDrag, added_numbers, displaced_numbers, drags_of
from .frame_places import with_bodies
from .model import Model
from .motors import chosen, names_of
from .parts import BASE, SHAPES, TERMS, Body, Coupling, Frame, Link, ModelJoint, Note, Placement, Shape, placement
from .positions import NamedPosition, kept, named_position
from .spanning import require_bodies

__all__ = ["ModelBuilder"]

B = TypeVar("B", bound="ModelBuilder")


@explained_methods
class ModelBuilder(GraphBuilder):
    """Collects bodies, joints, frames, shapes and loops; `build()` makes the model.

    A frame may stand in the place of the body that it is fixed to: as a parent, as an end of a loop, as the place of a
    shape or of another frame; places are then in the frame. The one body that is no joint's child is the root: it is
    fixed to the ground, or floats with `build(floating=True)`. `actuated` are the names of the joints that have motors;
    `joint` can mark each of them, too.
    `current` is the velocity of a fluid around the bodies, for their drag.
    """

    def __init__(
        self,
        name: str = "robot",
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        actuated: Iterable[str] | None = None,
        current: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        super().__init__()
        self.name = str(name)
        self.gravity = vector(gravity, 3, "gravity")
        self.current = vector(current, 3, "current")
        """The velocity of the fluid around the bodies."""
        self.source = ""
        self.actuated = None if actuated is None else names_of(actuated, self.name)
        """The names of the joints that have motors; None if they were not given."""
        self.grounded = ""
        """The reason why the root cannot float; empty if it can."""
        self._links: dict[str, Body] = {}
        self._joints: dict[str, JointDraft] = {}
        self._frames: dict[str, tuple[str, Placement, str]] = {}
        self._frame_order: dict[str, int] = {}
        """The places of frames in the model that the builder began with; new frames come after them."""
        self._parent_joint: dict[str, str] = {}
        self._shapes: list[tuple[str, Shape, str]] = []
        self.contact_rules: ContactRules | None = None
        """Which shapes touch each other, if the description says it."""
        self._notes: list[Note] = []
        self._actuators: list[Actuator] = []
        self._positions: list[NamedPosition] = []
        self._merged: dict[str, tuple[Link, ...]] = {}
        """The links of bodies that were merged before, by the names of the bodies."""
        self._base_names: dict[str, str] = {}
        """The name of the base in the model, where it differs from that here: a body may have the name of the base."""

    @classmethod
    def of(cls: type[B], model: Model) -> B:
        """Return a builder with the parts of a model, to be changed and built again."""
        require_one_set(model, "builder")
        builder = cls(model.name, model.gravity, current=model.current)
        builder.source, builder.actuated = model.source, model.motors
        names = {BASE: model.base, **{k: body.name for k, body in enumerate(model.bodies)}}
        while list(names.values()).count(names[BASE]) > 1:  # a robot that floats, whose root is called "world"
            names[BASE] += "_"
            builder._base_names = {names[BASE]: model.base}
        if model.ground is None:
            builder.body(names[BASE])
        else:
            builder._add_link(replace(model.ground, name=names[BASE]))
        for k, (body, c) in enumerate(zip(model.bodies, model.joints, strict=True)):
            builder._add_link(body)
            mimic = (model.joints[c.mimic.joint].name, c.mimic.ratio, c.mimic.offset) if c.mimic else None
            terms = {term: getattr(c, term) for term in TERMS}
            builder.joint(
                c.name, c.type, names[c.parent], names[k], at=c.placement, mimic=mimic, where=c.where, **terms
            )
        builder._frame_order = {f.name: k for k, f in enumerate(model.frames)}
        for f in model.frames:
            if f.name not in builder._links and (f.name, f.body) != ("world", BASE):
                builder.frame(f.name, names[f.body], f.placement)
        for loop in model.loops:
            builder._loops[loop.name] = (loop, names[loop.parent], names[loop.child])
        for x in model.couplings:
            other = None if x.other == BASE else model.joints[x.other].name
            builder.couple(x.name, model.joints[x.joint].name, other, x.coefficients, x.where, x.active)
        builder._shapes = [(names[shape.body], shape, "") for shape in model.shapes]
        builder.contact_rules = model.contact_rules
        builder._notes = list(model.notes)
        builder._actuators = list(model.actuators)
        builder._positions = list(model.named_positions)
        for link in model.links:
            builder._merged[names[link.body]] = (*builder._merged.get(names[link.body], ()), link)
        return builder

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the bodies so far."""
        return tuple(self._links)

    @property
    def joints(self) -> tuple[str, ...]:
        """The names of the joints so far, joints of a graph included."""
        return (*self._joints, *self._edges)

    def freedoms(self, joint: str) -> int:
        """Return the number of freedoms of a joint of the tree."""
        return self._known_joint(joint).type.nv

    def _known_joint(self, name: str) -> JointDraft:
        return self._joints[choice("joint", name, self._joints, self.name)]

    def lock(self: B, joint: str, q: Numbers = None) -> B:
        """Fix a joint at a position, which is neutral unless given; joints that follow it are fixed with it."""
        found = self._known_joint(joint)
        at = found.type.neutral() if q is None else numbers(q, found.type.nq, 0.0, f"joint {joint!r}: its position")
        used = next((name for name, (_, one, other) in self._couplings.items() if joint in (one, other)), None)
        if used is not None:
            raise ModelError(f"joint {joint!r} cannot be fixed: the coupling {used!r} binds it to another", found.where)
        here = found.placement @ joint_placement(found.type, at)
        self._joints[joint] = joint_draft(joint, Fixed(), found.parent, found.child, at=here, where=found.where)
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
        added_inertia: ArrayLike | None = None,
        displaced: tuple[float, ArrayLike] | None = None,
        drag: Drag | EllipsoidDrag | Iterable[Drag | EllipsoidDrag] | None = None,
        where: str = "",
        **limits: Any,
    ) -> B:
        """Add a body and, if a parent is given, the joint that carries it.

        `mass` is in kg, `com` the centre of mass (3,) in the body's frame. `inertia` is about the centre of mass in the
        body's axes: 3 principal values, 6 values (xx, yy, zz, xy, xz, yz) or a 3x3 matrix. `joint` is the type of the
        joint, `joint_name` its name (by default that of the body with `_joint`), and `at` its place in the parent's
        frame: a position, a pair (xyz, rpy), a 4x4 matrix or a `Placement`. Further keywords, `limits`, are those of
        the method `joint`.

        In a fluid, `added_inertia` is a symmetric 6x6 matrix about the origin of the body's frame, angular rows first
        (or its 21 upper numbers); `displaced` is the mass of the displaced fluid and the centre of its volume (3,);
        `drag` is one `Drag` or `EllipsoidDrag`, or several.
        """
        what = f"body {name!r}"
        with located(where):
            if name_of(name, "body") in self._links:
                raise ModelError(f"{what} exists already; every body needs a name of its own")
            x, y, z = vector(com, 3, f"{what}: com")
            fluid = added_numbers(added_inertia, what), displaced_numbers(displaced, what), drags_of(drag, what)
            body = Body(name, mass, (x, y, z), inertia_numbers(inertia, what), where, *fluid)
            if (parent is None) != (joint is None):
                raise ModelError(f"{what}: give both `parent` and `joint`, or neither")
            if parent is None and (limits or joint_name is not None):
                raise ModelError(f"{what}: {', '.join(limits) or 'joint_name'} needs `parent` and `joint`")
        self._links[name] = body
        if parent is not None and joint is not None:
            try:
                self.joint(joint_name or f"{name}_joint", joint, parent, name, at=at, where=where, **limits)
            except BaseException:
                del self._links[name]
                raise
        return self

    def _add_link(self, body: Body) -> None:
        """Add a body of a model as it is."""
        self.body(body.name, where=body.where)
        self._links[body.name] = body

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
        actuated: bool | None = None,
        where: str = "",
    ) -> B:
        """Connect two bodies. Limits and coefficients are one number, or one for each coordinate.

        `type` is the motion between `parent` and `child`, such as Revolute((0, 1, 0)), and `at` the place of the joint
        in the parent's frame. `lower` and `upper` limit the position, `velocity_limit` and `effort_limit` velocity and
        force. `armature` is the inertia that a drive adds to its joint; it is part of the dynamics. `damping`,
        `friction` and the spring (`stiffness`, and the position `rest` at which it exerts no force) define the robot's
        `passive_force`; `tau` is the total force on a joint. With `mimic`, the name of another joint or (name, ratio,
        offset), the joint has no coordinate of its own: its position is ratio times that joint's, plus offset.
        `actuated` says whether the joint has a motor. Once it is True for one joint, joints without this argument have
        no motor; see `Model.actuated`.
        """
        terms = {
            **{"lower": lower, "upper": upper, "velocity_limit": velocity_limit, "effort_limit": effort_limit},
            **{"damping": damping, "friction": friction, "armature": armature, "stiffness": stiffness, "rest": rest},
        }
        with located(where):
            self._require_new(name, "joint")
            draft = joint_draft(name, type, parent, child, at=at, mimic=mimic, actuated=actuated, where=where, **terms)
            if child in self._parent_joint:
                raise ModelError(
                    f"joint {name!r}: joint {self._parent_joint[child]!r} carries body {child!r} already; "
                    "a body has one parent, and a joint that closes a loop is added with `loop`"
                )
        self._joints[name], self._parent_joint[child] = draft, name
        return self

    def rotor(
        self: B,
        joint: str,
        ratio: float,
        *,
        mass: float,
        inertia: ArrayLike,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        axis: Sequence[float] | None = None,
        on: str | None = None,
        at: Placement | ArrayLike | None = None,
        name: str | None = None,
        where: str = "",
    ) -> B:
        """Add the rotor of a joint's motor as a body of its own, which turns `ratio` times as fast as the joint.

        Its gyroscopic forces are then exact; an `armature` has the inertia ratio^2 J about the joint alone. `mass`,
        `com` and `inertia` are those of a body. The rotor turns about `axis` on the body `on`, at the place `at`; by
        default about the joint's axis, on its parent, at its place. Its name is that of the joint with `_rotor`, unless
        given. Joint forces act on the output side of the gear. Leave the rotor out of the joint's armature, and its
        mass out of the body that carries it.
        """
        with located(where):
            led = self._known_joint(joint)
            if axis is None:
                axis = getattr(led.type, "axis", None)
                if not isinstance(led.type, Revolute | Continuous) or axis is None:
                    raise ModelError(f"the rotor of joint {joint!r}: give its `axis`; the joint is not a hinge")
            name = f"{joint}_rotor" if name is None else name
            x, y, z = vector(axis, 3, f"the rotor of joint {joint!r}: axis")
        return self.body(
            name,
            mass=mass,
            com=com,
            inertia=inertia,
            parent=led.parent if on is None else on,
            joint=Continuous((x, y, z)),
            at=led.placement if at is None else at,
            mimic=(joint, ratio, 0.0),
            where=where,
        )

    def set_terms(self: B, joint: str, **terms: Any) -> B:
        """Change limits or coefficients of a joint: `terms` are keywords of the method `joint`, such as damping."""
        draft = self._known_joint(joint)
        with located(draft.where):
            changed = joint_draft(
                joint, draft.type, draft.parent, draft.child, at=draft.placement, **{**draft.limits, **terms}
            )
        self._joints[joint] = replace(draft, limits=changed.limits)
        return self

    def frame(self: B, name: str, body: str, at: Placement | ArrayLike = (0.0, 0.0, 0.0), where: str = "") -> B:
        """Name a frame that is fixed to a body, at the place `at` in the body's frame."""
        with located(where):
            if name_of(name, "frame") in self._frames:
                raise ModelError(f"frame {name!r} exists already")
            self._frames[name] = (body, placement(at, f"frame {name!r}"), where)
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
        friction: float | None = None,
        contact: ContactTerms | None = None,
        heights: ArrayLike = (),
        where: str = "",
    ) -> B:
        """Add a shape to a body, at `at` in its frame; `Shape` explains `kind`, `size`, `file`, `role` and others.

        `friction` and `contact` are those of the surface of a collision shape. `heights` (rows along x, columns along
        y) are those of a height field, of the kind "hfield".
        """
        what = f"a shape of body {body!r}"
        with located(where):
            choice("kind of shape", kind, SHAPES, what)
            choice("role", role, ("visual", "collision"), what)
            lengths = vector(size or (1.0, 1.0, 1.0)[: SHAPES[kind]], SHAPES[kind], f"{what}: size of a {kind}")
            rgba = None if color is None else vector(color, 4, f"{what}: color")
            at = placement(at, what)
            (mu,) = (None,) if friction is None else numbers(friction, 1, 0.0, f"{what}: friction")
            rows = field_heights(heights, kind, what)
            if contact is not None and not isinstance(contact, ContactTerms):
                raise ModelError(f"{what}: contact must be ContactTerms or None, not {contact!r}")
        tint = None if rgba is None else (rgba[0], rgba[1], rgba[2], rgba[3])
        self._shapes.append(
            (body, Shape(BASE, kind, lengths, at, file, role, tint, name, mu, contact, "", rows), where)
        )
        return self

    def attach(
        self: B,
        other: Model | ModelBuilder | Body | str,
        to: str,
        *,
        at: Placement | ArrayLike = (0.0, 0.0, 0.0),
        joint: Joint | None = None,
        joint_name: str | None = None,
        prefix: str | None = None,
        **terms: Any,
    ) -> B:
        """Add another robot, or a body, at the place `at` in the frame of a body or frame `to`.

        `other` is a robot or builder, a `Body`, or the name of a new body, with the `mass`, `com` and `inertia` of the
        method `body` among the `terms`. A `joint` connects its root; it is fixed unless given, and has the name
        `joint_name`, or that of the root with `_joint`. A floating robot no longer floats. The `prefix` precedes all
        names of another robot's parts; by default it is the robot's name and a slash. Further keywords are those of the
        method `joint`. Gravity is that of this builder.
        """
        if isinstance(other, (Body, str)):
            if prefix is not None:
                raise ModelError("attach: a prefix is for the parts of a robot; a single body has the name you give it")
            attach_body(self, other, to, joint, joint_name, at, terms)
        elif isinstance(other, (Model, ModelBuilder)):
            attach_model(self, other, to, joint, joint_name, at, prefix, terms)
        else:
            raise ModelError(
                f"attach: give a robot, a builder, a Body or the name of a new body, not a {type(other).__name__}"
            )
        return self

    def actuator(
        self: B,
        name: str,
        kind: str = "motor",
        joints: str | Sequence[str] = (),
        gear: Sequence[Numbers] = (),
        *,
        force_limits: Sequence[float] = (-math.inf, math.inf),
        control_limits: Sequence[float] = (-math.inf, math.inf),
        through: str = "",
        where: str = "",
    ) -> B:
        """Describe an actuator of some joints; `Actuator` explains the arguments. Gears are 1 unless given.

        This only adds to `Model.actuators`. The joints that have motors are those of the argument `actuated` of the
        builder and of `joint`.
        """
        on = (joints,) if isinstance(joints, str) else tuple(joints)
        freedoms = (self._joints[name].type.nv if name in self._joints else 1 for name in on)
        rows = tuple(gear) if gear else tuple((1.0,) * n for n in freedoms)
        limits = tuple(force_limits), tuple(control_limits)
        self._actuators.append(Actuator(name, kind, on, rows, *limits, through, where))  # type: ignore[arg-type]
        return self

    def position(self: B, name: str, joints: Mapping[str, Any], where: str = "") -> B:
        """Give a position a name: `joints` has the positions of some joints, and the others are neutral.

        It is an entry of `Robot.positions`.
        """
        self._positions.append(named_position(name, joints, where))
        return self

    def note(self: B, message: str, where: str = "", suggestion: str = "", *, quiet: bool = False) -> B:
        """Keep a remark of a loader on something that it noticed. `Model.notes` has all remarks.

        A `quiet` remark is about parts that do not change the motion; the warning of `load` leaves it out.
        """
        self._notes.append(Note(message, where, suggestion, quiet))
        return self

    def build(self, *, floating: bool | Joint = False, merge: bool = True, snap: float = 1e-11) -> Model:
        """Build the model: check the parts, order them from the root outward, and merge bodies behind fixed joints.

        `floating` gives the root a free joint, or the joint that it is (Planar(), Spherical() ...). `merge=False` keeps
        fixed joints as joints without freedom.
        """
        if (placed := with_bodies(self)) is not self:
            return ModelBuilder.build(placed, floating=floating, merge=merge, snap=snap)
        if self._edges:
            return ModelBuilder.build(self._spanned(), floating=floating, merge=merge, snap=snap)
        if floating and self.grounded:
            raise ModelError(self.grounded, self.source)
        root, order = self._ordered()
        layout = Layout(self._links, root)
        if floating:
            layout.carry(self._root_joint(root, floating), BASE, Placement())
        for joint in order:
            layout.add(joint, merge)
        shapes = []
        for body, shape, where in self._shapes:
            index, at = layout.on_body(body, shape.placement, "a shape", where)
            shapes.append(replace(shape, body=index, placement=at, link=shape.link or body))
        joints = tuple(model_joints(layout.joints, {x for _, *ends in self._couplings.values() for x in ends if x}))
        couplings, loops = tuple(self._coupled(joints)), tuple(self._looped(layout.on_body))
        freedoms = {c.name: c.type.nv for c in joints} | {loop.name: loop.nv for loop in loops}
        return Model(
            name=self.name,
            bodies=tuple(map(merged, layout.parts)),
            joints=joints,
            frames=self._placed_frames(layout),
            gravity=(self.gravity[0], self.gravity[1], self.gravity[2]),
            current=(self.current[0], self.current[1], self.current[2]),
            base="world" if floating else self._base_names.get(root, root),
            snap=snap,
            loops=loops,
            couplings=couplings,
            shapes=tuple(shapes),
            notes=tuple(sorted(self._notes, key=lambda note: note.quiet)),
            source=self.source,
            motors=self._motors(joints, couplings, not isinstance(floating, (bool, Free))),
            actuators=on_joints(self._actuators, freedoms, self._joints),
            named_positions=kept(self._positions, joints, self._joints),
            ground=_with_mass(layout.ground),
            links=layout.links(self._merged, self._hosts()),
            contact_rules=self.contact_rules,
        )

    def _occupy(self, link: str) -> None:
        """Note that something is fixed to a link that was merged, or to the frame of its joint."""
        for host, links in self._merged.items():
            self._merged[host] = tuple(replace(x, bare=x.bare and link not in (x.name, x.joint)) for x in links)

    def _hosts(self) -> set[str]:
        """Return the names of the bodies that carry joints, frames, shapes or ends of loops."""
        loops = (end for _, *ends in self._loops.values() for end in ends)
        frames, shapes = (host for host, _, _ in self._frames.values()), (host for host, _, _ in self._shapes)
        return {*(joint.parent for joint in self._joints.values()), *frames, *shapes, *loops}

    def _root_joint(self, root: str, floating: bool | Joint) -> JointDraft:
        """Return the joint by which the root floats."""
        name = "root_joint"
        if self.unused(name) != name:
            name = self.unused(f"{root}_root_joint")
        return joint_draft(name, Free() if floating is True else floating, "", root)  # type: ignore[arg-type]

    def _placed_frames(self, layout: Layout) -> tuple[Frame, ...]:
        """Return the frames of all given bodies, the named frames, the frames of merged joints, and the world."""
        placed = {body: at for body, at in layout.placed.items() if body not in self._base_names}
        frames = {body: Frame(body, index, at) for body, (index, at) in placed.items()}
        for name, (body, at, where) in self._frames.items():
            index, here = layout.on_body(body, at, f"frame {name!r}", where)
            if name in frames:
                raise ModelError(f"frame {name!r} has the name of a body", where)
            frames[name] = Frame(name, index, here)
        for f in (*layout.frames, Frame("world", BASE)):
            frames.setdefault(f.name, f)
        last = len(self._frame_order)
        return tuple(sorted(frames.values(), key=lambda f: self._frame_order.get(f.name, last)))

    def _motors(
        self, joints: tuple[ModelJoint, ...], couplings: tuple[Coupling, ...], loose: bool
    ) -> tuple[str, ...] | None:
        """Return the joints with motors; None if they were not given. With `loose`, the first joint is the root's."""
        said = {c.name: c.actuated for c in self._joints.values() if c.actuated is not None}
        given = None if self.actuated is None else names_of(self.actuated, self.name)
        for name in given or ():
            if name not in self._joints and all(c.name != name for c in joints):
                loop = f"{name!r} closes a loop: let another joint close it" if name in self._loops else ""
                known = unknown_name("actuated joint", name, (c.name for c in joints), self.name, loop)
                raise ModelError(str(known), self.source)
        return chosen(given, said, joints, couplings, loose)

    def _ordered(self) -> tuple[str, list[JointDraft]]:
        """Return the root, and the joints with parents before children, each subtree in one piece."""
        if not self._links:
            raise ModelError(f"{self.name!r} has no bodies", self.source)
        for joint in self._joints.values():
            require_bodies(joint, self._links)
        roots = [name for name in self._links if name not in self._parent_joint]
        if len(roots) > 1:
            raise ModelError(
                f"{self.name!r} has {len(roots)} bodies that no joint carries ({some(roots)}): connect all but one",
                self._links[roots[1]].where or self.source,
            )
        below: dict[str, list[JointDraft]] = {}
        for joint in self._joints.values():
            below.setdefault(joint.parent, []).append(joint)
        order: list[JointDraft] = []
        stack = [j for root in roots for j in reversed(below.get(root, []))]
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(below.get(joint.child, [])))
        if len(order) < len(self._joints):
            reached = {j.child for j in order}
            lost = [j for j in self._joints.values() if j.child not in reached]
            raise ModelError(
                f"the joints {some([j.name for j in lost])} form a cycle: following the parents of body "
                f"{lost[0].child!r} leads back to it and never to the root",
                lost[0].where,
            )
        return roots[0], order


def _with_mass(parts: list[tuple[Body, Placement]]) -> Body | None:
    """Return bodies that are fixed to each other as one; None if they have no mass, no inertia and no fluid."""
    found = merged(parts) if parts else None
    if found is None:
        return None
    given = (found.mass, *found.inertia, found.added_inertia, found.displaced, found.drags)
    return found if any(given) else None
