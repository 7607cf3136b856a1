"""`Robot.contact_forces`: the contact and motor forces of a motion, by least squares within friction cones.

    minimise  |(M a + c - J^T f)_u|^2 + e |f|^2    over f in the friction cones,    tau = M a + c - J^T f

u are the freedoms without motors, whose joint forces must be zero, and c the bias forces. For a robot that floats this
is the balance of its trunk: six equations, and more unknowns as soon as three feet stand. The small weight e chooses
the least forces among those that balance equally well. The problem is convex, and the method of multipliers (ADMM)
solves it for all states at once: one inverse for each state, then projections onto the cones.

Reference: S. Boyd et al., Distributed optimization and statistical learning via the alternating direction method of
multipliers, 2011, sec. 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array, array, unmasked, whole_number
from ..errors import ArgumentError
from ..kernel.arguments import broadcast_named
from ..model import Frame
from ..model.checks import require_closed_forms
from ..simulate.contact_record import ContactSettings, surfaces

if TYPE_CHECKING:
    from ..model.contacts import Contacts
    from ..robot import Robot

__all__ = ["ContactForces", "contact_forces", "contact_rows", "on_ground_only", "standing", "without_motors"]

_LEAST = 1e-8
"""e, relative to the mean of the diagonal of the equations."""
_TOUCHING = 1e-3
"""Contacts with a larger gap, in m, carry no force."""


class ContactForces(NamedTuple):
    """Forces that cause a motion."""

    forces: Array
    """Contact forces in N, (..., contacts, 3): two directions along the ground, then its normal."""
    tau: Array
    """Joint forces (..., nv); those of freedoms without motors are what is left of their balance."""
    residual: Array
    """The largest force in N or N m that a freedom without a motor would need, (...); zero for a possible motion."""
    gap: Array
    """The distances of the contacts from the ground in m, (..., contacts)."""


def contact_forces(
    robot: Robot, q: Any, v: Any, a: Any, friction: Any, height: Any, touching: Any, iterations: int
) -> ContactForces:
    """See `Robot.contact_forces`."""
    contacts = on_ground_only(robot, "contact_forces")
    rounds = whole_number(iterations, "contact_forces: `iterations`", 1)
    q = array(q, (..., robot.nq), "contact_forces: q")
    v = np.zeros(robot.nv) if v is None else array(v, (..., robot.nv), "contact_forces: v")
    a = np.zeros(robot.nv) if a is None else array(a, (..., robot.nv), "contact_forces: a")
    shapes = {"q": q.shape[:-1], "v": v.shape[:-1], "a": a.shape[:-1]}
    batch = broadcast_named("contact_forces: the batch shapes", shapes)
    count = len(contacts.pairs)
    named = "contact_forces: friction", "contact_forces: height"
    surface = surfaces(robot, batch, ContactSettings(friction, height), named).reshape((-1, count, 3))
    surface = surface.reshape((*batch, count, 3)) if len(surface) > 1 else surface[0]
    J, gap = contact_rows(robot, q, surface[..., 2])
    wanted = robot.inverse_dynamics(q, v, a)
    mu = np.broadcast_to(surface[..., 0], (*batch, count))
    stands = standing(touching, gap, (*batch, count), "contact_forces")
    mu = np.where(stands, mu, 0.0)
    J = np.broadcast_to(J, (*batch, 3 * count, robot.nv)) * np.repeat(np.asarray(stands, float), 3, axis=-1)[..., None]
    free = without_motors(robot)
    f = _in_cones(J[..., free], np.broadcast_to(wanted, (*batch, robot.nv))[..., free], mu, rounds)
    tau = wanted - (f[..., None, :] @ J)[..., 0, :]
    residual = np.abs(tau[..., free]).max(axis=-1, initial=0.0)
    forces = f.reshape((*batch, count, 3)) * stands[..., None]
    return ContactForces(forces, tau, residual, np.broadcast_to(gap, (*batch, count)))


def on_ground_only(robot: Robot, what: str) -> Contacts:
    """Return the contacts of a robot; raise unless all of them are with the ground."""
    contacts = robot.contacts
    require_closed_forms(robot, what)
    if contacts is None or contacts.ground is None or any(c.second is not None for c in contacts.pairs):
        raise ArgumentError(
            f"{what}: {robot.name!r} must have contacts with the ground, and no others: "
            "robot.with_contacts(on.Ground(...), points=[...])"
        )
    if contacts.ground.uneven or any(c.first.kind == "rim" for c in contacts.pairs):
        raise ArgumentError(
            f"{what}: {robot.name!r} has a ground of steps or heights, or cylinders; it takes points and "
            "spheres on a plane: robot.with_contacts(on.Ground(...), points=[...])"
        )
    if robot.nc:
        raise ArgumentError(f"{what}: {robot.name!r} has loops or couplings, whose forces this function does not know")
    return contacts


def without_motors(robot: Robot) -> NDArray[np.int64]:
    """Return the freedoms that have no motor."""
    motors = np.zeros(robot.nv, bool)
    for name in robot.actuated:
        motors[robot.joint(name).v] = True
    return np.flatnonzero(~motors).astype(np.int64)


def standing(touching: Any, gap: Array, shape: tuple[int, ...], what: str) -> NDArray[np.bool_]:
    """Return which contacts carry forces: those given, or those within a millimetre of the ground."""
    if touching is None:
        return np.broadcast_to(gap <= _TOUCHING, shape)
    try:
        found = np.asarray(unmasked(touching, f"{what}: touching"))
        if found.dtype != bool:
            raise ValueError
        return np.broadcast_to(found, shape)
    except ValueError as e:
        if isinstance(e, ArgumentError):
            raise
        raise ArgumentError(
            f"{what}: touching must be True or False for each contact, of shape {shape}, not {touching!r}"
        ) from None


def contact_rows(robot: Robot, q: Array, height: Array) -> tuple[Array, Array]:
    """Return the rows J (..., 3 contacts, nv) of all contacts along the axes of the ground, and their gaps."""
    assert robot.contacts is not None and robot.contacts.ground is not None
    E = np.array(robot.contacts.ground.axes)
    solids = [c.first for c in robot.contacts.pairs]
    frames = [Frame(f"contact {k}", s.body, s.placement) for k, s in enumerate(solids)]
    radii = np.array([s.size[0] for s in solids])
    moving = robot.jacobians(q, frames, "world")
    centres = robot.poses(q, frames)[..., :3, 3]
    lever = -radii[:, None] * E[2]  # from the centre of a sphere to its lowest point
    x, y, z = lever.T
    turn = np.zeros((len(solids), 3, 3))  # w x lever = turn w
    turn[:, 0, 1], turn[:, 0, 2], turn[:, 1, 2] = z, -y, x
    turn -= np.swapaxes(turn, -1, -2)
    linear = moving[..., 3:, :] + turn @ moving[..., :3, :]
    J = E @ linear
    return J.reshape((*J.shape[:-3], 3 * len(solids), robot.nv)), centres @ E[2] - height - radii


def _in_cones(A: Array, b: Array, mu: Array, rounds: int) -> Array:
    """Return f in cones with the least |A^T f - b|^2 + e |f|^2: A is (..., 3 contacts, m), b (..., m)."""
    n = A.shape[-2]
    scale = np.maximum(np.einsum("...ij,...ij->...", A, A) / max(1, n), 1e-30)[..., None]
    H = A @ np.swapaxes(A, -1, -2) + (_LEAST * scale)[..., None] * np.eye(n)
    g, rho = (A @ b[..., None])[..., 0], 0.1 * scale
    inverse = np.linalg.inv(H + rho[..., None] * np.eye(n))
    z, u = np.zeros_like(g), np.zeros_like(g)
    for _ in range(rounds):
        x = (inverse @ (g + rho * (z - u))[..., None])[..., 0]
        z = _projected(x + u, mu)
        u = u + x - z
    return z


def _projected(x: Array, mu: Array) -> Array:
    """Return the nearest point of the friction cone of each contact."""
    p = x.reshape((*x.shape[:-1], x.shape[-1] // 3, 3))
    radius = np.linalg.norm(p[..., :2], axis=-1)
    n = (p[..., 2] + mu * radius) / (1.0 + mu * mu)
    inside, below = radius <= mu * p[..., 2], mu * radius <= -p[..., 2]
    along = np.where(radius > 0.0, mu * n / np.where(radius > 0.0, radius, 1.0), 0.0)
    cone = np.concatenate([p[..., :2] * along[..., None], n[..., None]], axis=-1)
    found = np.where(inside[..., None], p, np.where(below[..., None], 0.0, cone))
    return found.reshape(x.shape)
