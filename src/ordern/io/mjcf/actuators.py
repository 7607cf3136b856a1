"""Actuators: the joints that they drive, their gears and limits, and the armature and damping that they add.

Gains and dynamics of actuators are not read.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from ...errors import unknown_name
from ...model import ModelBuilder
from ...records import dataclass
from ..attributes import keyword, vector
from ..xml import Element
from .bodies import joint_kind
from .document import ACTUATORS
from .nodes import Part, Source
from .scale import ONE
from .tendons import Tendon
from .tree import Tree, unique

__all__ = ["Drive", "add_motors", "drives_of", "read_actuators"]

_ADVICE = "give `actuated` to say otherwise"
_TARGETS = ("tendon", "site", "cranksite", "slidersite", "body")
"""The attributes that name what an actuator acts on, if it is no joint."""
_NO_LIMITS = (-math.inf, math.inf)
_OF_FORCE, _OF_POSITION = ("motor", "general"), ("position", "velocity")
"""Kinds of actuators whose controls are forces, and positions or velocities."""
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Drive:
    """An actuator of a document, for one replica of what it acts on."""

    name: str
    tag: str
    coefficients: dict[str, float]
    """The joints that it acts on: one, or those of a fixed tendon with their coefficients."""
    gear: tuple[float, ...]
    """The direction in which it pushes, six numbers."""
    added: dict[str, float]
    """The armature and damping that it adds to its joint, or the armature that it adds to its tendon."""
    tendon: str
    """The tendon that it acts on, if any."""
    through: str
    """The tendon, site or body that it acts on; empty if that is a joint."""
    force_limits: tuple[float, float]
    control_limits: tuple[float, float]
    where: str


def read_actuators(tree: Tree, tendons: Sequence[Tendon]) -> list[Drive]:
    """Return the actuators of a document, and of those that are attached."""
    joints = {part.name: part for body in tree.bodies for part in body.joints}
    coefficients = {tendon.name: tendon.coefficients for tendon in tendons if tendon.name}
    found: list[Drive] = []
    taken: set[str] = set()
    for source in tree.sources:
        for element in source.document.section("actuator") if source.whole else ():
            known = element.tag in ACTUATORS
            e = source.document.resolved(element, tag="actuator") if known else element
            found.extend(_drives(e, source, joints, coefficients, taken))
    return found


def _drives(
    e: Element, source: Source, joints: Mapping[str, Part], tendons: dict[str, dict[str, float]], taken: set[str]
) -> Iterator[Drive]:
    """Yield an actuator, once for each replica of what it acts on."""
    has = e.attributes
    joint = has.get("joint", has.get("jointinparent", ""))
    kind = next((key for key in _TARGETS if has.get(key)), "")
    target = joint or has.get(kind, "")
    what = f"actuator {has['name']!r}" if has.get("name") else f"<{e.tag}> of {target!r}"
    gear = vector(e, "gear", range(1, 7), what, (1.0,))
    given = {key: vector(e, key, range(1, 4), what, (0.0,)) for key in ("armature", "damping") if e.tag in ACTUATORS}
    added = {key: gear[0] * gear[0] * x[0] for key, x in given.items() if x[0]}
    for key in list(added) if not joint else ():
        if kind != "tendon" or key != "armature":
            del added[key]
            source.document.unread.add(f"{key} of <{e.tag}> on other things than joints")
    limits = (_range(e, "force", what), _range(e, "ctrl", what))
    names = _joints_of(joint, e, source, joints) if joint else source.names(kind, target)
    for name in names:
        suffix = name[len(source.prefix) + len(target) :]
        own = f"{source.prefix}{has['name']}{suffix}" if has.get("name") else f"{name}_{e.tag}"
        on, through = {name: 1.0}, ""
        if not joint:
            on, through = tendons.get(name, {}) if kind == "tendon" else {}, f"{kind} {name!r}".strip()
        six = (*gear, *(0.0,) * (6 - len(gear)))
        own_terms, bounds = added, limits
        for part in (joints[name] for name in on if joints[name].scale != ONE):
            own_terms, bounds = _scaled(part, added, limits, e, what, through)
        tendon = name if kind == "tendon" and not joint else ""
        yield Drive(unique(own, taken), e.tag, on, six, own_terms, tendon, through, *bounds, e.where)


def _scaled(
    part: Part, added: dict[str, float], limits: tuple[Pair, Pair], e: Element, what: str, through: str
) -> tuple[dict[str, float], tuple[Pair, Pair]]:
    """Return terms and limits of an actuator, scaled as the frames around its joint say."""
    kind, scale = joint_kind(part.element, f"joint {part.name!r}"), part.scale
    if through or e.tag not in (*_OF_FORCE, *_OF_POSITION) or kind == "free":
        why = f"{what} acts on joint {part.name!r}, which is in a <frame> with a scale; this is not read"
        raise e.error(f"{why}: load the file in MuJoCo, which scales it, and save it")
    force, control = limits
    effort = scale.of_term("effort_limit", kind)
    length = scale.of_term("rest", kind) if e.tag in _OF_POSITION else 1.0
    terms = {term: x * scale.of_term(term, kind) for term, x in added.items()}
    return terms, ((effort * force[0], effort * force[1]), (length * control[0], length * control[1]))


def _range(e: Element, word: str, what: str) -> tuple[float, float]:
    """Return the limits of force or control, if they apply."""
    low, high = vector(e, f"{word}range", 2, what, (0.0, 0.0))
    switch = keyword(e, f"{word}limited", ("false", "true", "auto"), "auto", what)
    return (low, high) if low < high and switch != "false" else _NO_LIMITS


def drives_of(drives: Sequence[Drive]) -> dict[str, dict[str, float]]:
    """Return the armature, damping and limits of force that joints have by their actuators, through the gears."""
    found: dict[str, dict[str, float]] = {}
    for drive in drives:
        for joint in drive.coefficients if not drive.through else ():
            here = found.setdefault(joint, {})
            for key, more in drive.added.items():
                here[key] = here.get(key, 0.0) + more
    efforts: dict[str, float] = {}
    for drive in drives:
        for joint in drive.coefficients if not drive.through else ():
            most = max(map(abs, drive.force_limits))
            efforts[joint] = efforts.get(joint, 0.0) + (abs(drive.gear[0]) * most if drive.gear[0] else 0.0)
    for joint, effort in efforts.items():
        if 0.0 < effort < math.inf:
            found.setdefault(joint, {})["effort_limit"] = effort
    return found


def add_motors(builder: ModelBuilder, drives: Sequence[Drive]) -> None:
    """Add the actuators to the builder, and set its actuated joints, if actuators act on any directly.

    An actuator of a ball or a free joint pushes along one direction, its gear. Such a joint counts as actuated if its
    actuators push along all of its freedoms. A <damper> only brakes, and an <orientation> drives all freedoms.
    """
    gears: dict[str, list[tuple[float, ...]]] = {}
    for drive in drives:
        rows = [[c * x for x in _directed(drive.gear, builder.freedoms(j))] for j, c in drive.coefficients.items()]
        builder.actuator(
            drive.name,
            drive.tag,
            tuple(drive.coefficients),
            rows,
            force_limits=drive.force_limits,
            control_limits=drive.control_limits,
            through=drive.through,
            where=drive.where,
        )
        for joint in drive.coefficients if drive.tag != "damper" and not drive.through else ():
            gears.setdefault(joint, []).append(drive.gear)
    if not gears:
        return
    whole = {joint for drive in drives if drive.tag == "orientation" for joint in drive.coefficients}
    driven: list[str] = []
    for name, directions in gears.items():
        nv = builder.freedoms(name)
        rank = np.linalg.matrix_rank(np.array(directions)[:, :nv])
        if rank == nv or name in whole:
            driven.append(name)
        elif rank:
            few = f"push along {rank} of its {nv} freedoms, so that it does not count as actuated"
            builder.note(f"the actuators of joint {name!r} {few}", builder.source, _ADVICE)
    builder.actuated = tuple(driven)
    others = sum(bool(drive.through) for drive in drives)
    if others:
        builder.note(
            f"{others} actuator{'s act' if others > 1 else ' acts'} on other things than joints (tendons, sites, "
            "bodies); joints that only these move do not count as actuated",
            builder.source,
            _ADVICE,
            quiet=True,
        )


def _directed(gear: tuple[float, ...], freedoms: int) -> tuple[float, ...]:
    """Return the gear of each freedom of a joint. Of a free joint, MuJoCo has the linear ones first."""
    return (*gear[3:], *gear[:3]) if freedoms == 6 else gear[:freedoms]


def _joints_of(name: str, element: Element, source: Source, joints: Collection[str]) -> list[str]:
    """Return the joints of a name: one, or one in each replica; none if it is not part of what is attached."""
    found = source.names("joint", name, joints)
    missing = [full for full in found if full not in joints]
    if missing and not source.prefix:
        raise element.error(str(unknown_name("joint", missing[0], joints, f"<{element.tag}>")))
    return [full for full in found if full in joints]
