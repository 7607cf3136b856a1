"""One-sided contacts: the limits of their forces, and contacts that fail.

The tip's force F and moment N on the object are in the surface's axes, with n the normal into the object. F_n must be
positive (otherwise "part"), |F_t| at most friction F_n ("slip"), |N_n| at most spin F_n ("spin"), and the centre of
pressure in the area of contact, |N_y| <= a_x F_n and |N_x| <= a_y F_n ("tip"). A margin is the distance to each limit;
a contact holds while all margins are positive.

Reference: Rodriguez and Kreutz 1988, Part II, appendix A: no slipping is assumed, and "during a simulation this
assumption must be continually verified".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..records import dataclass
from ..rotations import rotate
from ..simulate.run.log import Happened
from .as_one_robot import to_whole
from .contacts import Parted
from .products import transposed
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["KINDS", "Breach", "breach", "breaches", "margins"]

KINDS = ("part", "slip", "spin", "tip", "tip")
_WOULD = {"part": "would part", "slip": "would slip", "spin": "would spin", "tip": "would tip over"}
_UNITS = {"part": "N", "slip": "N", "spin": "N m", "tip": "N m"}


@dataclass(frozen=True, slots=True, eq=False)
class Breach(Happened):
    """A one-sided contact that does not hold."""

    arm: str
    contact: str
    kind: str
    """"part", "slip", "spin" or "tip"."""
    by: float
    """The excess of the force or moment over its limit, in N or N m: at this time, or the largest while the contact is
    held on."""
    impulse: bool = False
    """True if the contact cannot take the impulse of an impact; `by` is then in N s or N m s."""

    def __str__(self) -> str:
        unit = f"{_UNITS[self.kind]} s in an impact" if self.impulse else _UNITS[self.kind]
        return f"t = {self.time:.9g} s: {self.name}, by {self.by:.4g} {unit}"


def breach(
    grasp: Grasp, contact: int, kind: int, time: float, by: float, q: Array, v: Array, impulse: bool = False
) -> Breach:
    """Return the event of a contact that fails, in a state of the whole robot."""
    arm, name = grasp.arm_of(contact).name, grasp.contacts[contact].name
    what = f"contact {name!r} of arm {arm!r} {_WOULD[KINDS[kind]]}"
    return Breach(time, what, -1, q, v, arm, name, KINDS[kind], by, impulse)


def margins(state: GraspState, forces: Array) -> Array:
    """Return the margins of contacts, (..., l, 5) in the order of KINDS; infinite for a contact that cannot fail."""
    found = np.full((*forces.shape[:-1], len(KINDS)), np.inf)
    back = transposed(state.axes)
    for i, c in enumerate(state.grasp.contacts):
        if c.surface is None or isinstance(c, Parted):
            continue
        local = rotate(c.surface.axes.T @ back[..., i, :, :], forces[..., i, :])
        N, F = local[..., :3], local[..., 3:]
        normal = F[..., 2]
        limits = (c.surface.spin, c.surface.area[0], c.surface.area[1])
        found[..., i, 0] = normal
        found[..., i, 1] = c.surface.friction * normal - np.hypot(F[..., 0], F[..., 1])
        for kind, (limit, component) in enumerate(zip(limits, (2, 1, 0), strict=True), start=2):
            if np.isfinite(limit):
                found[..., i, kind] = limit * normal - np.abs(N[..., component])
    return found


def breaches(state: GraspState, forces: Array, t: float) -> tuple[Breach, ...]:
    """Return all contacts that do not hold in one state. A contact that parts is not reported to slip as well."""
    left = margins(state, forces)
    found = []
    for i in range(len(state.grasp.contacts)):
        kinds = np.flatnonzero(left[i] < 0.0)
        for kind in kinds[:1] if kinds.size and kinds[0] == 0 else kinds:
            found.append(breach(state.grasp, i, int(kind), float(t), float(-left[i, kind]), *to_whole(state)))
    return tuple(found)
