"""Compliant contacts: forces of springs and dampers between surfaces that overlap, as functions of the state.

With the depth d = max(-gap, 0), the normal velocity u_N (positive where the surfaces part) and the velocity u_T along
the surface, the contact force is

    f_N = K d^(3/2) max(1 - c u_N, 0)                          (Hunt and Crossley)
    f_T = -mu f_N u_T / sqrt(u_T . u_T + s^2)                  (Coulomb friction, smoothed below the slip speed s)

It is never adhesive, has a continuous first derivative where surfaces touch and part, and takes energy whenever they
move. The exponent is that of Hertz for round surfaces. `contact_motion` returns (u_T, u_N, gap) alone; its derivatives
by v are the Jacobian of the contacts. Cost: order n, and a path to the base for each contact.

Reference: K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import Scalar, sqrt
from ...model import Joints, Tree, Values
from ...model.contacts import Contacts
from ...spatial import Force, Freedoms, Motion
from ..kinematics.pose import path_poses
from ..kinematics.velocity import path_velocities
from ..registry import Port, algorithm, question
from .cone import larger
from .geometry import Touch, touches

__all__ = ["contact_motion", "hunt_crossley"]

_STATE = (Port("q", "q"), Port("v", "v"), Port("surfaces", "surfaces"))
question("contact_motion", _STATE, "contact_motion", "outward", contacts=True)
question(
    "compliant_contact", (*_STATE, Port("softness", "softness")), "compliant_contact", "hunt-crossley", contacts=True
)

_TINY = 1e-30
"""Added below a square root, whose derivative at zero is not finite."""


@algorithm("contact_motion", "outward", equations="J v", sweeps=False)
def contact_motion(tree: Tree, q: Joints, qd: Joints, surfaces: Values[Freedoms]) -> tuple[Scalar, ...]:
    """Return for each contact its velocity, two numbers along the surface and one across, and its gap."""
    found = _moving(tree, q, qd, surfaces[tree.base])
    return tuple(x for at, u in found for x in (*u, at.gap))


@algorithm(
    "compliant_contact",
    "hunt-crossley",
    paper="Hunt and Crossley 1975",
    equations="K d^(3/2) (1 - c u)",
    order="n",
    sweeps=False,
)
def hunt_crossley(
    tree: Tree, q: Joints, qd: Joints, surfaces: Values[Freedoms], softness: Values[Freedoms]
) -> tuple[Any, ...]:
    """Return the joint forces of all contacts, the force of each, and its velocity and gap."""
    found = _moving(tree, q, qd, surfaces[tree.base])
    f, tau, forces = tree.field(Force), tree.output("f"), []
    loads: dict[Any, Force] = {}
    for k, (at, u) in enumerate(found):
        force = _force(surfaces[tree.base][3 * k], softness[tree.base][3 * k : 3 * k + 3], u, at.gap)
        forces.append(force)
        for body, units in at.loads:
            total = loads.get(body.key, Force.zero())
            for unit, x in zip(units, force, strict=True):
                total = total + unit * x
            loads[body.key] = total
    for i, _ in tree.outward():
        f[i] = loads.get(i.key, Force.zero())
    for i, p in tree.inward():
        tau[i] = i.subspace(q[i]).T @ f[i]
        f[p] += i.transform(q[i]).T @ f[i]
    return tau, tuple(x for force in forces for x in force), tuple(x for at, u in found for x in (*u, at.gap))


def _moving(
    tree: Tree, q: Joints, qd: Joints, surfaces: Sequence[Scalar]
) -> list[tuple[Touch, tuple[Scalar, Scalar, Scalar]]]:
    """Return all contacts and their velocities."""
    contacts = tree.model.contacts or Contacts(None, ())
    P, V = path_poses(tree, q, None), path_velocities(tree, q, qd, None, Motion.zero())
    found = []
    for at in touches(tree, P, contacts, surfaces[2::3]):
        x: Scalar = 0.0
        y: Scalar = 0.0
        n: Scalar = 0.0
        for body, (ex, ey, en) in at.loads:
            x, y, n = x + ex.dot(V[body]), y + ey.dot(V[body]), n + en.dot(V[body])
        found.append((at, (x, y, n)))
    return found


def _force(
    mu: Scalar, softness: Sequence[Scalar], u: tuple[Scalar, Scalar, Scalar], gap: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the force of one contact along its axes."""
    K, c, s = softness
    d = larger(0.0 - gap, 0.0)
    normal = K * d * sqrt(d + _TINY) * larger(1.0 - c * u[2], 0.0)
    k = mu * normal / sqrt(u[0] * u[0] + u[1] * u[1] + s * s)
    return 0.0 - k * u[0], 0.0 - k * u[1], normal
