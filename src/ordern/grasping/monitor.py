"""One-sided contacts: whether they hold, and if not, what happens and by how much.

With the tip's force on the object in the surface's axes (n the normal into the object): F_n must be positive
("part"), |F_t| at most friction F_n ("slip"), |N_n| at most spin F_n ("spin"), and the pressure's centre in the
area of contact, |N_y| <= a_x F_n and |N_x| <= a_y F_n ("tip"). A margin is what is left of each; a contact holds while
all are positive.

Reference: Rodriguez and Kreutz 1988, Part II, appendix A: no slipping is assumed, and "during a simulation this
assumption must be continually verified".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..records import dataclass
from ..simulate.run.log import Happened
from .as_one_robot import to_whole
from .contacts import Parted
from .state import GraspState

if TYPE_CHECKING:
    from .mechanism import Grasp

__all__ = ["KINDS", "Breach", "breach", "breaches", "margins"]

Array = NDArray[Any]

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
    """By how much the force or moment is beyond what the contact can take, in N or N m: at this time, or the most while
    it is held on."""
    impulse: bool = False
    """Whether it is the impulse of an impact that it cannot take, in N s or N m s."""

    def __str__(self) -> str:
        unit = f"{_UNITS[self.kind]} s in an impact" if self.impulse else _UNITS[self.kind]
        return f"t = {self.time:.9g} s: {self.name}, by {self.by:.4g} {unit}"


def breach(
    grasp: Grasp, contact: int, kind: int, time: float, by: float, q: Array, v: Array, impulse: bool = False
) -> Breach:
    """The event of a contact that fails, in a state of the whole robot."""
    arm, name = grasp.arm_of(contact).name, grasp.contacts[contact].name
    what = f"contact {name!r} of arm {arm!r} {_WOULD[KINDS[kind]]}"
    return Breach(time, what, -1, q, v, arm, name, KINDS[kind], by, impulse)


def margins(grasp: Grasp, state: GraspState, forces: Array) -> Array:
    """Return the margins before a contact fails, (..., l, 5) in the order of KINDS; infinite where nothing can fail."""
    found = np.full((*forces.shape[:-1], len(KINDS)), np.inf)
    back = np.swapaxes(state.axes, -1, -2)
    for i, c in enumerate(grasp.contacts):
        if c.surface is None or isinstance(c, Parted):
            continue
        T = c.surface.axes.T @ back[..., i, :, :]
        N, F = ((T @ forces[..., i, part, None])[..., 0] for part in (slice(0, 3), slice(3, 6)))
        normal = F[..., 2]
        limits = (c.surface.spin, c.surface.area[0], c.surface.area[1])
        found[..., i, 0] = normal
        found[..., i, 1] = c.surface.friction * normal - np.hypot(F[..., 0], F[..., 1])
        for kind, (limit, component) in enumerate(zip(limits, (2, 1, 0), strict=True), start=2):
            if np.isfinite(limit):
                found[..., i, kind] = limit * normal - np.abs(N[..., component])
    return found


def breaches(grasp: Grasp, state: GraspState, forces: Array, t: float) -> tuple[Breach, ...]:
    """All contacts that do not hold, in one state; what parts is not said to slip besides."""
    left = margins(grasp, state, forces)
    found = []
    for i in range(len(grasp.contacts)):
        kinds = np.flatnonzero(left[i] < 0.0)
        for kind in kinds[:1] if kinds.size and kinds[0] == 0 else kinds:
            found.append(breach(grasp, i, int(kind), float(t), float(-left[i, kind]), *to_whole(state)))
    return tuple(found)
