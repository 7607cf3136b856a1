"""`Robot.contact_step`: one step with contacts, as a function of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import positive, real
from ..errors import ArgumentError
from ..kernel.elsewhere import is_elsewhere
from ..model.contacts import CERTIFICATE
from ..simulate.contact_record import ContactSettings, surfaces, surfaces_elsewhere

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ContactStep", "contact_step"]


class ContactStep(NamedTuple):
    """A state after a step with contacts, the impulses of the step, and its certificate."""

    q: Any
    """Positions (..., nq)."""
    v: Any
    """Velocities (..., nv)."""
    impulses: Any
    """Impulses of contacts in N s, (..., contacts, 3): two directions along the surface, then the normal. Behind them
    is a row of moments about these axes, in N m s, for each contact with torsional or rolling friction."""
    stops: Any
    """Impulses of limits and dry friction of joints, (..., nv), along v."""
    residual: Any
    """The largest residual of the contact law in m/s, (...)."""
    penetration: Any
    """The deepest penetration before the step in m, or violation of a joint limit after it in rad or m, (...)."""
    leveling: Any
    """How far the velocities of points that push are from those of the problem in m/s, (...): see `Certificate`."""
    work: Any
    """The work of all impulses in J, (...)."""


def contact_step(
    robot: Robot, q: Any, v: Any, tau: Any, dt: float, impulses: Any, stops: Any, friction: Any, height: Any
) -> ContactStep:
    """See `Robot.contact_step`."""
    if robot.contacts is None:
        raise ArgumentError(
            f"contact_step: {robot.name!r} has no contacts; robot.with_contacts(on.Ground(...)) adds some"
        )
    count, nq, nv = robot.contacts.blocks, robot.nq, robot.nv
    given = q, v, tau, impulses, stops, friction, height
    single = all(getattr(x, "dtype", None) == np.float32 for x in given if x is not None and not _is_one_number(x))
    arguments: tuple[Any, ...] = (
        *(q, v, np.zeros(nv) if tau is None else tau, positive(dt, "contact_step: `dt`"), np.zeros(nv)),
        *(robot.lower, robot.upper, np.zeros((count, 3)) if impulses is None else impulses),
        np.zeros(nv) if stops is None else stops,
        _surfaces(robot, friction, height),
    )
    if single:  # our own numbers do not make it double
        arguments = tuple(x if is_elsewhere([x]) else np.asarray(x, np.float32) for x in arguments)
    found = robot.kernel("contact_step")(*arguments)  # not `_ask`, whose fast path has the name of its question
    at, parts = 0, []
    for size in (nq, nv, 3 * count, nv):
        parts.append(found[..., at : at + size])
        at += size
    parts[2] = parts[2].reshape((*parts[2].shape[:-1], count, 3))
    residual, penetration, leveling, work = (found[..., at + k] for k in range(len(CERTIFICATE)))
    unknown = work - work  # NaN where the step is not finite, and zero elsewhere
    q1, v1, pushes, stopped = parts
    return ContactStep(q1, v1, pushes, stopped, residual + unknown, penetration + unknown, leveling + unknown, work)


def _is_one_number(x: Any) -> bool:
    """Return whether an argument has no dimension, so that its precision does not count."""
    return isinstance(x, (int, float)) or getattr(x, "ndim", 1) == 0


def _surfaces(robot: Robot, friction: Any, height: Any) -> Any:
    """Return the surfaces of all contacts, (..., contacts, 3), in the library of friction and height."""
    if is_elsewhere([friction, height]):
        return surfaces_elsewhere(robot, "contact_step", friction, height)
    friction, height = (
        x if x is None else real(x, f"contact_step: {name}")
        for name, x in {"friction": friction, "height": height}.items()
    )
    shapes = [x.shape[:-1] for x in (friction, height) if x is not None]
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(
            f"contact_step: friction has shape {np.shape(friction)} and height {np.shape(height)}: no broadcast"
        ) from None
    named = "contact_step: friction", "contact_step: height"
    found = surfaces(robot, batch, ContactSettings(friction, height), named)
    return found.reshape(*found.shape[:-1], -1, 3)
