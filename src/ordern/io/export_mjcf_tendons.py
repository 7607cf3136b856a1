"""Writing rotors that several joints turn as MJCF: fixed tendons with an armature, as `mjcf.tendons` reads them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..joints import Continuous, Revolute
from ..model import BASE, Connection, Model, Placement
from ..model.parts import inward
from ..records import dataclass
from .writing import Losses
from .xml_text import Node, extra_frames, fresh, number

__all__ = ["TendonRotor", "add_tendons", "tendon_rotors"]


@dataclass(frozen=True, slots=True)
class TendonRotor:
    """A chain of bodies on the ground that mimic joints turn about one axis, of which only the last has inertia."""

    bodies: tuple[int, ...]
    coefficients: dict[int, float]
    """The ratios of the joints that turn it, by their index."""
    inertia: float
    """The moment of inertia about the axis."""


def tendon_rotors(model: Model) -> list[TendonRotor]:
    """Return the rotors that only add a constant to the mass matrix: a fixed tendon with an armature does the same."""
    busy = {frame.body for frame in extra_frames(model)} | {shape.body for shape in model.shapes}
    busy |= {body for loop in model.loops for body in (loop.parent, loop.child)}
    busy |= {x for coupling in model.couplings for x in (coupling.joint, coupling.other)}
    driven = {joint for actuator in model.actuators for joint in actuator.joints}
    busy |= {k for k, c in enumerate(model.joints) if c.name in driven or _limited(c)}
    children: dict[int, list[int]] = {}
    for k, c in enumerate(model.joints):
        children.setdefault(c.parent, []).append(k)
    return [found for start in children.get(BASE, ()) for found in _rotor(model, start, children, busy)]


def _limited(c: Connection) -> bool:
    return any(map(math.isfinite, (*c.lower, *c.upper, *c.velocity_limit, *c.effort_limit)))


def _rotor(model: Model, start: int, children: dict[int, list[int]], busy: set[int]) -> Iterator[TendonRotor]:
    """Yield the rotor that begins with a body on the ground, if that is one."""
    chain, coefficients = [start], dict[int, float]()
    while len(below := children.get(chain[-1], [])) == 1:
        chain.append(below[0])
    for k in chain:
        c, body, type = model.joints[k], model.bodies[k], model.joints[k].type
        plain = body.mass == 0.0 and not body.drags and not any(body.added_inertia)
        plain &= k not in busy and (k == chain[-1] or not any(body.inertia))
        turns = isinstance(type, (Revolute, Continuous)) and type.axis == (0.0, 0.0, 1.0)
        resists = any(any(getattr(c, term)) for term in ("damping", "friction", "stiffness", "armature"))
        if not plain or not turns or c.mimic is None or resists or (k != start and c.placement != Placement()):
            return
        coefficients[c.mimic.joint] = coefficients.get(c.mimic.joint, 0.0) + c.mimic.ratio
    inertia = model.bodies[chain[-1]].inertia[2]
    if not children.get(chain[-1]) and inertia > 0.0:
        yield TendonRotor(tuple(chain), coefficients, inertia)


def add_tendons(section: Node, model: Model, rotors: list[TendonRotor], names: dict[int, str], losses: Losses) -> None:
    """Add a fixed tendon for each rotor. `names` has the names of joints, by index."""
    taken = {tendon.attributes["name"] or "" for tendon in section.children}
    for rotor in rotors:
        taken.add(name := fresh(model.bodies[rotor.bodies[-1]].name.removesuffix("_rotor"), taken))
        tendon = section.add("fixed", name=name, armature=number(rotor.inertia))
        for k, c in rotor.coefficients.items():
            tendon.add("joint", joint=names[k], coef=number(c))
        deepest = max(rotor.coefficients)
        if not set(rotor.coefficients) <= set(inward(model.joints, deepest)):
            losses.notes.append(
                f"tendon {name!r} has joints of several branches; MuJoCo leaves the inertia between branches out"
            )
