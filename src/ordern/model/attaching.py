"""Parts of one builder on a body or frame of another, with a prefix that keeps their names apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ModelError, unknown_name
from ..joints import Fixed, Free, Joint
from .checks import require_one_set
from .contact_terms import ContactRules
from .drafts import JointDraft
from .frame_places import with_bodies
from .model import Model
from .motors import is_free
from .parts import TERMS, Body, Link, Shape
from .positions import NamedPosition
from .spanning import Edge

if TYPE_CHECKING:
    from .builder import ModelBuilder

__all__ = ["attach_body", "attach_model"]

_OF_BODIES = ("mass", "com", "inertia")
_OF_JOINTS = (*TERMS, "mimic", "actuated", "added_inertia", "displaced", "drag", "where")


def attach_body(
    builder: ModelBuilder, other: Body | str, to: str, joint: Joint | None, joint_name: str | None, at: Any, terms: Any
) -> None:
    """Add a body, or the body of a name with the `mass`, `com` and `inertia` among the terms."""
    for name in terms:
        if name not in (*_OF_BODIES, *_OF_JOINTS):
            raise unknown_name("keyword", name, (*_OF_BODIES, *_OF_JOINTS), "attach")
    if isinstance(other, Body):
        given = [name for name in _OF_BODIES if name in terms]
        if given:
            raise ModelError(f"attach: body {other.name!r} has its own {given[0]}; give it there")
        fluid = {"added_inertia": other.added_inertia, "displaced": other.displaced, "drag": other.drags}
        terms = terms | fluid | {"mass": other.mass, "com": other.com, "inertia": other.inertia, "where": other.where}
        other = other.name
    builder.body(other, parent=to, joint=joint or Fixed(), joint_name=joint_name, at=at, **terms)


def attach_model(
    builder: ModelBuilder,
    other: Model | ModelBuilder,
    to: str,
    joint: Joint | None,
    joint_name: str | None,
    at: Any,
    prefix: str | None,
    terms: Any,
) -> None:
    """Add all parts of another model or builder, whose root a joint connects to the body or frame `to`."""
    if other is builder:
        raise ModelError(f"attach: {builder.name!r} cannot be attached to itself; `build` a robot, and attach that")
    for name in _OF_BODIES:
        if name in terms:
            raise ModelError(f"attach: {name} is for a single body; {other.name!r} has bodies of its own")
    if tuple(other.current) != tuple(builder.current) and any(other.current):
        raise ModelError(
            f"attach: {other.name!r} is in a current of {tuple(other.current)} m/s, and {builder.name!r} in one of "
            f"{tuple(builder.current)}: all bodies are in one fluid, whose current is that of the builder"
        )
    if isinstance(other, Model):
        require_one_set(other, "attach")
    parts, root = _parts(builder, other)
    before = f"{other.name}/" if prefix is None else str(prefix)
    mount = joint_name or f"{before}{root}_joint"
    _require_new_names(builder, parts, before, mount)
    mine, theirs = _motors(builder), _motors(parts)
    if mine is not None or theirs is not None:
        own, others = _usual(builder) if mine is None else mine, _usual(parts) if theirs is None else theirs
        actuated: tuple[str, ...] | None = (*own, *(before + name for name in others))
    else:
        actuated = None
    builder.joint(mount, joint or Fixed(), to, before + root, at=at, **terms)
    builder.actuated = actuated
    for name, body in parts._links.items():
        builder._links[before + name] = replace(body, name=before + name)
        builder._merged[before + name] = tuple(_renamed_link(x, before) for x in parts._merged.get(name, ()))
    for draft in parts._joints.values():
        new = _renamed(draft, before)
        builder._joints[new.name], builder._parent_joint[new.child] = new, new.name
    for name, (host, place, where) in parts._frames.items():
        builder._frames[before + name] = (before + host, place, where)
    for name, (loop, parent, child) in parts._loops.items():
        builder._loops[before + name] = (replace(loop, name=before + name), before + parent, before + child)
    for name, (coupling, one, second) in parts._couplings.items():
        bound = None if second is None else before + second
        builder._couplings[before + name] = (replace(coupling, name=before + name), before + one, bound)
    builder._shapes += [(before + host, _renamed_shape(x, before), where) for host, x, where in parts._shapes]
    builder.contact_rules = _joined_rules(builder.contact_rules, parts.contact_rules, before)
    builder._notes += parts._notes
    builder._positions += [
        replace(x, name=before + x.name, joints=tuple(before + joint for joint in x.joints)) for x in parts._positions
    ]
    builder._actuators += [
        replace(x, name=before + x.name, joints=tuple(before + joint for joint in x.joints)) for x in parts._actuators
    ]


def _require_new_names(builder: ModelBuilder, parts: ModelBuilder, before: str, mount: str) -> None:
    """Raise if a name of the parts, with its prefix, is taken."""
    for kind, taken, names in (
        ("body or frame", {*builder._links, *builder._frames}, [*parts._links, *parts._frames]),
        (
            "joint, loop or coupling",
            {*builder.joints, *builder._loops, *builder._couplings, mount},
            [*parts._joints, *parts._loops, *parts._couplings],
        ),
    ):
        twice = [before + name for name in names if before + name in taken]
        if twice:
            raise ModelError(
                f"attach: {builder.name!r} has a {kind} {twice[0]!r} already; give another `prefix` for the parts of "
                f"{parts.name!r}"
            )


def _renamed(draft: JointDraft, before: str) -> JointDraft:
    """Return a joint of another builder; the list of the new builder says which joints have motors."""
    mimic = draft.mimic and (before + draft.mimic[0], *draft.mimic[1:])
    parent, child = before + draft.parent, before + draft.child
    return replace(draft, name=before + draft.name, parent=parent, child=child, mimic=mimic, actuated=None)


def _renamed_link(link: Link, before: str) -> Link:
    """Return a link of another builder that was merged there."""
    joint = link.joint and before + link.joint
    return replace(link, own=replace(link.own, name=before + link.name), joint=joint)


def _renamed_shape(shape: Shape, before: str) -> Shape:
    """Return a shape of another builder, whose link may have been merged there."""
    return replace(shape, link=shape.link and before + shape.link)


def _joined_rules(own: ContactRules | None, others: ContactRules | None, before: str) -> ContactRules | None:
    """Return the rules of two descriptions, the names of links in the second with their prefix."""
    if others is None:
        return own
    first = own or ContactRules()
    excluded = tuple(tuple(before + link for link in pair) for pair in others.excluded)
    pairs = tuple(
        replace(x, first=(before + x.first[0], x.first[1]), second=(before + x.second[0], x.second[1]))
        for x in others.pairs
    )
    return ContactRules(first.excluded + excluded, first.pairs + pairs, first.neighbours or others.neighbours)


def _parts(builder: ModelBuilder, other: Model | ModelBuilder) -> tuple[ModelBuilder, str]:
    """Return a builder with the parts to add, as a tree, and the name of its root.

    A floating robot lets go of the ground: the body that floats becomes the root.
    """
    parts = with_bodies(type(builder).of(other) if isinstance(other, Model) else other)
    parts = parts._spanned() if parts._edges else parts
    root, _ = parts._ordered()
    on_ground = [draft for draft in parts._joints.values() if draft.parent == root]
    if not isinstance(other, Model) or len(on_ground) != 1 or not isinstance(on_ground[0].type, Free) or other.ground:
        return parts, root
    for name, (_, *ends) in parts._loops.items():
        if root in ends:
            raise ModelError(f"attach: the loop {name!r} of {other.name!r}, which floats, is on the ground; open it")
    (floats,) = on_ground
    del parts._links[root], parts._joints[floats.name], parts._parent_joint[floats.child]
    parts._positions = [_without(x, floats.name) for x in parts._positions]
    parts._frames = {name: place for name, place in parts._frames.items() if place[0] != root}
    parts._shapes = [shape for shape in parts._shapes if shape[0] != root]
    if parts.actuated is not None:
        parts.actuated = tuple(name for name in parts.actuated if name != floats.name)
    return parts, floats.child


def _without(position: NamedPosition, joint: str) -> NamedPosition:
    """Return a named position without that of a joint."""
    left = [(x, values) for x, values in zip(position.joints, position.values, strict=True) if x != joint]
    return replace(position, joints=tuple(x for x, _ in left), values=tuple(values for _, values in left))


def _motors(builder: ModelBuilder) -> tuple[str, ...] | None:
    """Return the joints with motors, as far as they were named; None if they were not."""
    said = {c.name: c.actuated for c in builder._joints.values() if c.actuated is not None}
    if builder.actuated is None and not said:
        return None
    listed = builder.actuated
    if listed is None:
        listed = () if any(said.values()) else _usual(builder)
    return tuple(name for name in builder.joints if said.get(name, name in listed))


def _usual(builder: ModelBuilder) -> tuple[str, ...]:
    """Return the joints that have motors unless these are named."""
    bound = {joint for coupling, joint, _ in builder._couplings.values() if coupling.active}
    follows = {c.name for c in builder._joints.values() if c.mimic}
    joints: list[JointDraft | Edge] = [*builder._joints.values(), *builder._edges.values()]
    return tuple(c.name for c in joints if c.type.nv and c.name not in bound | follows and not is_free(c.type))
