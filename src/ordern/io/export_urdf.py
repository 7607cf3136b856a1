"""Writing URDF: trees of revolute, prismatic, planar, floating and fixed joints; see docs/formats/export.md.

Numbers are written so that they are read back exactly; rotations become roll, pitch and yaw, which give the same matrix
to the last digit or two. Frames become links without mass, behind fixed joints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import zip_longest

from ..errors import ModelError
from ..joints import Planar, Prismatic, Revolute
from ..model import BASE, Body, Connection, Frame, Model, Placement, Shape
from ..model.contact_terms import ContactTerms, friction_of
from .urdf import AXIAL_JOINTS, OTHER_JOINTS
from .writing import Losses, described
from .xml_text import Node, bound, check_name, extra_frames, fresh, number, numbers, rpy

__all__ = ["describe", "to_urdf"]

_TYPES = {type: kind for kind, type in (AXIAL_JOINTS | OTHER_JOINTS).items() if kind != "spherical"}
"""The kinds of joints, by type; `spherical` is read, but not part of the format."""
_SHAPES: dict[str, Callable[[Shape], dict[str, str]]] = {
    "box": lambda s: {"size": numbers(s.size)},
    "sphere": lambda s: {"radius": number(s.size[0])},
    "cylinder": lambda s: {"radius": number(s.size[0]), "length": number(s.size[1])},
    "mesh": lambda s: {"filename": s.file, "scale": numbers(s.size)},
}

_INSTEAD = {
    "Spherical": "three revolute joints, or MJCF",
    "Universal": "two revolute joints, or MJCF",
    "Cylindrical": "a revolute and a prismatic joint, or MJCF",
    "Composite": "its parts as joints of their own, or MJCF",
}
"""Replacements for joint types that URDF does not have; between the joints are bodies without mass."""

_GRAVITY = (0.0, 0.0, -9.81)
"""The gravity that readers of URDF assume: the format does not store it."""


def to_urdf(model: Model, *, lossy: bool = False) -> str:
    """Return the text of a URDF document from which the same robot is loaded.

    Parts of the dynamics that the format cannot express (armatures, springs, loops, another gravity ...) raise an error
    that lists them all. With `lossy`, they are left out and listed in a comment, as unknown shapes always are. A joint
    without a type in the format is an error.
    """
    return described(model, ".urdf", lossy=lossy)[0]


def describe(model: Model, losses: Losses) -> Node:
    """Return the root element of a model's document; parts that it leaves out are added to `losses`."""
    root = Node("robot", {"name": model.name or "robot"})
    frames = [f for f in extra_frames(model) if not (f.name == model.base and f.body == BASE)]
    taken = {*(body.name for body in model.bodies), *(f.name for f in frames)}
    base = fresh(model.base, taken)
    links = {BASE: base, **{k: body.name for k, body in enumerate(model.bodies)}}
    shapes: dict[int, list[Shape]] = {k: [] for k in links}
    for shape in model.shapes:
        shapes[shape.body].append(shape)
    for k, name in links.items():
        body = model.bodies[k] if k != BASE else model.ground
        check_name(name, "body", body.where if body else model.source)
        _link(root, name, body, shapes[k], losses)
    for k, c in enumerate(model.joints):
        _joint(root, c, links[c.parent], links[k], model, losses)
    for frame, name in _fixed_joints(model, frames, taken | {base}):
        check_name(frame.name, "frame", model.source)
        root.add("link", name=frame.name)
        _connection(root, name, "fixed", frame.placement, links[frame.body], frame.name)
    _transmissions(root, model, losses)
    if model.gravity != _GRAVITY:
        losses.add(f"gravity {numbers(model.gravity)} (readers take 0 0 -9.81)", "the robot", model.source)
    losses.add_fluid(model)
    losses.add_positions(model)
    for loop in model.loops:
        losses.add("closing", f"loop {loop.name!r}", loop.where)
    for coupling in model.couplings:
        losses.add("constraint", f"coupling {coupling.name!r}", coupling.where)
    return root


def _link(root: Node, name: str, body: Body | None, shapes: list[Shape], losses: Losses) -> None:
    link = root.add("link", name=name)
    if body is not None and (body.mass or any(body.inertia)):
        inertial = link.add("inertial")
        _origin(inertial, Placement(position=body.com))
        inertial.add("mass", value=number(body.mass))
        keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        inertial.add("inertia", **{key: number(x) for key, x in zip(keys, body.inertia, strict=True)})
    for shape in shapes:
        if shape.kind not in _SHAPES:
            losses.remark(f"the {shape.kind}", f"link {name!r}")
            continue
        element = link.add(shape.role, name=shape.name or None)
        _origin(element, shape.placement)
        element.add("geometry").add(shape.kind, **_SHAPES[shape.kind](shape))
        if shape.color is not None and shape.role == "visual":
            element.add("material", name=f"rgba {numbers(shape.color)}").add("color", rgba=numbers(shape.color))
    _surface(root, name, [shape for shape in shapes if shape.role == "collision"], losses)


def _surface(root: Node, name: str, shapes: list[Shape], losses: Losses) -> None:
    """Add the friction of a link, as Gazebo has it: one for all of its shapes."""
    found = {friction_of(s.friction, s.contact).sliding: s for s in shapes if s.friction is not None or s.contact}
    if not found:
        return
    mu = max(found)
    if len(found) > 1:
        losses.remark("friction of shapes that differ on one link (the largest is written)", f"link {name!r}")
    gazebo = root.add("gazebo", reference=name)
    terms = found[mu].contact or ContactTerms()
    numbers = {"mu1": mu, "mu2": mu, "kp": terms.stiffness, "kd": terms.damping}
    for tag, x in numbers.items():
        if x or tag.startswith("mu"):
            gazebo.add(tag).text = number(x)
    if any(s.contact is not None and s.contact.dimensions > 3 for s in shapes):
        losses.remark("torsional and rolling friction", f"link {name!r}")


def _joint(root: Node, c: Connection, parent: str, child: str, model: Model, losses: Losses) -> None:
    check_name(c.name, "joint", c.where)
    what = f"joint {c.name!r}"
    kind = _TYPES.get(type(c.type))
    if kind is None:
        own = type(c.type).__name__
        instead = f"; write it as {_INSTEAD[own]}" if own in _INSTEAD else ""
        raise ModelError(f"{what} is a {own}, which URDF has no type for{instead}", c.where)
    limited = any(map(math.isfinite, (*c.lower, *c.upper)))
    if isinstance(c.type, Revolute):
        kind = "revolute" if limited else "continuous"
    joint = _connection(root, c.name, kind, c.placement, parent, child)
    if isinstance(c.type, (Revolute, Prismatic, Planar)):
        joint.add("axis", xyz=numbers(c.type.axis))
    if c.type.nv == 1:
        _limit(joint, c, kind)
    elif limited or any(map(math.isfinite, (*c.velocity_limit, *c.effort_limit))):
        losses.add("limits", what, c.where)
    dynamics: dict[str, str | None] = {}
    for key, term in (("damping", c.damping), ("friction", c.friction)):
        if len(set(term)) == 1 and any(term):
            dynamics[key] = number(term[0])
        elif any(term):
            losses.add(f"{key} that differs between coordinates", what, c.where)
    if dynamics:
        joint.add("dynamics", **dynamics)
    if c.mimic is not None:
        followed = model.joints[c.mimic.joint].name
        joint.add("mimic", joint=followed, multiplier=number(c.mimic.ratio), offset=number(c.mimic.offset))
    for key, term in (("armature", c.armature), ("spring", c.stiffness)):
        if any(term):
            losses.add(key, what, c.where)


def _connection(root: Node, name: str, kind: str, at: Placement, parent: str, child: str) -> Node:
    joint = root.add("joint", name=name, type=kind)
    _origin(joint, at)
    joint.add("parent", link=parent)
    joint.add("child", link=child)
    return joint


def _transmissions(root: Node, model: Model, losses: Losses) -> None:
    """Add simple transmissions for the joints that have motors, with the gears of their actuators."""
    if model.motors == () and model.joints:
        losses.remark("the statement that no joint has a motor", "the robot")
    own = {x.joints[0]: x for x in reversed(model.actuators) if len(x.joints) == 1 and not x.through and any(x.gear[0])}
    driven = {c.name: model.joints[c.mimic.joint].name for c in model.joints if c.mimic and c.name in own}
    leaders = (name for name in model.motors or () if name in own or name not in driven.values())
    names = (*leaders, *driven)  # mimic joints are never among the motors
    for name in names:
        transmission = root.add("transmission", name=f"{name}_transmission")
        transmission.add("type").text = "transmission_interface/SimpleTransmission"
        interface = transmission.add("joint", name=name).add("hardwareInterface")
        interface.text = "hardware_interface/EffortJointInterface"
        motor, gear = (own[name].name, own[name].gear[0][0]) if name in own else (f"{name}_motor", 1.0)
        transmission.add("actuator", name=motor).add("mechanicalReduction").text = number(gear)
    written = {own[name].name for name in names if name in own}
    for actuator in model.actuators:
        if actuator.name not in written:
            losses.remark("the actuator", repr(actuator.name))


def _limit(joint: Node, c: Connection, kind: str) -> None:
    """Add the <limit>, which all but continuous joints must have, with all its numbers."""
    (lower,), (upper,), (velocity,), (effort,) = c.lower, c.upper, c.velocity_limit, c.effort_limit
    if kind == "continuous" and not (math.isfinite(velocity) or math.isfinite(effort)):
        return
    bounds = {} if kind == "continuous" else {"lower": lower, "upper": upper}
    given = {**bounds, "velocity": velocity, "effort": effort}
    joint.add("limit", **{key: number(bound(x)) for key, x in given.items()})


def _fixed_joints(model: Model, frames: list[Frame], taken: set[str]) -> Iterator[tuple[Frame, str]]:
    """Yield each frame that becomes a link, and the name of its joint.

    A link behind a fixed joint leaves two frames in one place, named after the link and the joint: these become a link
    and its joint again.
    """
    names = {c.name for c in model.joints}
    places: dict[tuple[int, Placement], list[Frame]] = {}
    for frame in frames:
        places.setdefault((frame.body, frame.placement), []).append(frame)
    for here in places.values():
        half = (len(here) + 1) // 2
        joints = [f for f in here[half:] if f.name not in names]
        links = here[:half] + [f for f in here[half:] if f.name in names]
        for link, joint in zip_longest(links, joints):
            name = joint.name if joint is not None else fresh(f"{link.name}_joint", names | taken)
            names.add(name)
            yield link, name


def _origin(element: Node, at: Placement) -> None:
    turn = rpy(at)
    if turn is not None or any(at.position):
        element.add("origin", xyz=numbers(at.position), rpy=turn)
