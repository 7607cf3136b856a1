"""Checks of the robot as a whole: mass matrix, gravity, size, names, loops, couplings, notes of the loader."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array
from ..model import BASE, Body, Connection
from ..model.poses import body_poses
from ..rotations import inverse
from .kinematics import gap, mass_matrix
from .report import Finding, Severity
from .subject import Subject
from .table import robot_check

__all__: list[str] = []

Which = NDArray[np.bool_]
_LARGE = 300
"""The mass matrix is checked up to this number of velocities, since its size grows with the square."""
_POSITIONS = 3


@robot_check
def mass_matrix_regular(s: Subject) -> Iterator[Finding]:
    """Find a mass matrix that is singular, so that accelerations are not defined, or nearly singular."""
    m = s.model
    if not 0 < m.nv <= _LARGE:
        return
    worst, weak = 0.0, np.zeros(m.nv)
    for q in m.random(0, _POSITIONS):
        M = mass_matrix(m, q)
        if not np.isfinite(M).all():
            continue
        scale = np.sqrt(np.diagonal(M).clip(0.0))
        null = _null(M, scale)
        if null is not None:
            names = _joints(s, null)
            effect = "so forward dynamics is not defined"
            if m.nc:
                effect = "unless loops do; forward dynamics is then by the method 'null-space' or 'kkt'"
            why = f"{_named(names)} can accelerate without any force: nothing with mass or inertia resists, {effect}"
            advice = "give the bodies that they carry mass and inertia, give the joints an armature, or fix them"
            severity: Severity = "warning" if m.nc else "error"
            yield Finding(severity, "mass-matrix-singular", names[0], why, advice, _where(s, names))
            return
        values, vectors = np.linalg.eigh(M)
        if values[0] > 0.0 and values[-1] / values[0] > worst:
            worst, weak = values[-1] / values[0], vectors[:, 0]
    if worst > 1e8:
        names = _joints(s, np.abs(weak) > 0.3)
        why = (
            f"the mass matrix has the condition number {worst:.2g}: the motion of {_named(names)} has very little "
            "inertia, compared with the rest; accelerations lose as many digits, and simulation needs small steps"
        )
        advice = "check the units of the masses and inertias there, or give the joints the armature of their drives"
        yield Finding("warning", "mass-matrix-ill-conditioned", "".join(names[:1]), why, advice, _where(s, names))


@robot_check
def loop_open(s: Subject) -> Iterator[Finding]:
    """Find loops that are not closed at the neutral position."""
    m = s.model
    if not m.loops:
        return
    where = body_poses(m, m.neutral())
    for loop in m.loops:
        one, other = (
            (np.eye(4) if body == BASE else where[body]) @ at.matrix
            for body, at in ((loop.parent, loop.parent_placement), (loop.child, loop.child_placement))
        )
        distance, angle = gap(loop.type, inverse(one) @ other)
        if distance > 1e-4 * max(s.reach, 1e-3) or angle > 1e-3:
            by = f"{distance:.3g} m and {math.degrees(angle):.3g} degrees"
            why = f"loop {loop.name!r} is open at the neutral position, by {by}"
            advice = "fine if it closes at another position: find that before simulating; else check both placements"
            yield Finding("warning", "loop-open", loop.name, why, advice, loop.where)


@robot_check
def coupling_open(s: Subject) -> Iterator[Finding]:
    """Find couplings that are not satisfied at the neutral position."""
    for c in s.model.couplings:
        if not c.active:
            continue
        value = c.coefficients[0] if c.coefficients else 0.0  # at the neutral position the other coordinate is zero
        if abs(value) > 1e-6:
            joint = s.model.joints[c.joint].name
            why = f"coupling {c.name!r} requires joint {joint!r} at {value:.4g} in the neutral position"
            advice = "start from a position that meets it, not from `neutral()`"
            yield Finding("info", "coupling-open", c.name, why, advice, c.where)


@robot_check
def coupling_constant(s: Subject) -> Iterator[Finding]:
    """Find couplings to another joint that do not depend on it."""
    for c in s.model.couplings:
        if c.other != BASE and not any(c.coefficients[1:]):
            joint, other = (s.model.joints[k].name for k in (c.joint, c.other))
            why = f"coupling {c.name!r} binds joint {joint!r} to {other!r} by the ratio 0: it never moves"
            yield Finding("warning", "coupling-constant", c.name, why, "fix the joint", c.where)


@robot_check
def floating_world(s: Subject) -> Iterator[Finding]:
    """Find a moving body named "world", in a robot with a floating base."""
    m = s.model
    for b, c in zip(m.bodies, m.joints, strict=True):
        if c.parent == BASE and c.type.nv and b.name.casefold() == "world":
            why = f"the root {b.name!r}, which the description has as the ground, floats: joint {c.name!r} moves it"
            advice = "build it without `floating`; what is to float needs a floating joint in the description"
            yield Finding("warning", "floating-world", b.name, why, advice, b.where)


@robot_check
def gravity_unusual(s: Subject) -> Iterator[Finding]:
    """Find gravity other than that of the earth, downwards along z."""
    g = s.model.gravity
    size, usual = math.hypot(*g), "the usual gravity is (0, 0, -9.81) m/s^2"
    if size == 0.0:
        yield Finding("info", "gravity", "", "there is no gravity", usual)
    elif not 9.7 < size < 9.9:
        yield Finding("warning", "gravity", "", f"gravity is {size:.4g} m/s^2, which is not that of the earth", usual)
    elif g[2] > -0.99 * size:
        why = f"gravity is ({g[0]:.4g}, {g[1]:.4g}, {g[2]:.4g}) m/s^2, not downwards along z"
        yield Finding("info", "gravity", "", why, "fine if the robot hangs or stands on a wall")


@robot_check
def size_huge(s: Subject) -> Iterator[Finding]:
    """Find sizes that look like millimetres taken for metres."""
    lengths = [float(np.linalg.norm(c.placement.p)) for c in s.model.joints]
    longest = max(lengths, default=0.0)
    if longest > 100.0:
        c = s.model.joints[lengths.index(longest)]
        why = f"joint {c.name!r} is {longest:.4g} m from the origin of its parent"
        yield Finding("warning", "size-huge", c.name, why, "check the units: lengths are in metres", c.where)


@robot_check
def names_alike(s: Subject) -> Iterator[Finding]:
    """Find names that differ only in case, which some programs take as equal."""
    m = s.model
    kinds: tuple[tuple[str, Sequence[Body | Connection]], ...] = (("bodies", m.bodies), ("joints", m.joints))
    for kind, parts in kinds:
        seen: dict[str, str] = {}
        for x in parts:
            other = seen.setdefault(x.name.casefold(), x.name)
            if other != x.name:
                why = f"the {kind} {other!r} and {x.name!r} differ only in case"
                yield Finding("warning", "names-alike", x.name, why, "rename one of them", x.where)


@robot_check
def no_freedom(s: Subject) -> Iterator[Finding]:
    """Find robots that cannot move."""
    if s.model.nv == 0:
        yield Finding("info", "no-freedom", "", "no joint can move", "with a floating base it would: `floating=True`")


@robot_check
def notes(s: Subject) -> Iterator[Finding]:
    """Report the notes of the loader."""
    for note in s.model.notes:
        yield Finding("info", "note", "", note.message, note.suggestion, note.where)


def _null(M: Array, scale: Array) -> Which | None:
    """Return which velocities have no inertia; None if all have inertia."""
    if (scale == 0.0).any():
        return np.asarray(scale == 0.0, bool)
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    if values[0] > 1e-13:
        return None
    return np.asarray(np.abs(vectors[:, values <= 1e-13]).max(axis=1) > 0.1, bool)


def _joints(s: Subject, which: Which) -> list[str]:
    """Return the names of the joints with one of the velocities."""
    return [c.name for c in s.model.independent if c.nv and which[c.v].any()]


def _where(s: Subject, names: list[str]) -> str:
    return next((c.where for c in s.model.joints if c.name in names[:1]), "")


def _named(names: list[str]) -> str:
    listed = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    return f"{'joint' if len(names) == 1 else 'joints'} {listed}"
