"""Parameters that joint forces cannot tell apart, from the tree alone: the rules of Gautier and Khalil.

A *silent* change of theta changes no joint force, in any motion. The rules give a basis of such changes:

* inertia that acts alike on both sides of a joint (`Joint.shiftable_inertia`) is added to a body and taken from its
  parent; the base takes any amount;
* a body that turns about one direction u only, relative to the ground, shows its moment of inertia about u and its
  first moments across u. All other moments are silent; the first moments across u are, too, if the origin of the body
  stays where it is and gravity is along u. A body that never turns shows its mass only;
* the armature of a hinge acts as the moment of its body about the axis, if all bodies before it turn about one
  direction across the axis, or not at all; that of a slide acts as mass, if gravity and all slides before it are across
  its axis and nothing turns; those of the turns of a ball or free joint act as the moments of its body, if nothing
  before it turns.

Special geometry may make more parameters silent, for example joints with parallel axes far from the base, or joints
that follow others. The regressor of random motions finds these; see `base`.

Reference: Gautier and Khalil 1990, Direct calculation of minimum set of inertial parameters of serial robots.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arguments import Array
from ..joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ..model import BASE, Model
from ..model.base_parameters import in_parent, is_own
from ..model.inertia_numbers import inertia_of
from ..model.tables import PLACEMENT, TURN
from ..records import dataclass

__all__ = ["silent_changes"]

_ALIGNED = 1e-9
"""The sine or cosine of an angle below which two directions count as parallel, or as perpendicular."""
_ROW_ORDER = (0, 1, 2, 3, 4, 7, 9, 5, 6, 8)
"""The places of m, mx, my, mz, xx, yy, zz, xy, xz, yz among the numbers of a row, with moments xx xy xz yy yz zz."""
_Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class _Turning:
    """How a body can turn relative to the ground, as far as the rules need it."""

    about: Array | None
    """The only direction about which it turns, in its working axes; None if there are several, zeros if it never
    turns."""
    still: bool
    """True if its origin stays where it is."""
    slides: tuple[Array, ...]
    """The directions of the slides before it, in the axes of the base; they matter where nothing turns."""
    axes: Array
    """The rotation from the base to its working axes, where nothing turns."""


def silent_changes(model: Model) -> Array:
    """Return changes of theta (k, P) that change no joint force of a robot on a base at rest."""
    return np.array(list(_changes(model))).reshape(-1, _count(model))


def _count(model: Model) -> int:
    return 10 * len(model.bodies) + 3 * sum(c.type.nv for c in model.joints)


def _changes(model: Model) -> Iterator[Array]:
    t, found = model.tables, dict[int, _Turning]()
    gravity = np.array(model.gravity, float)
    ground = _Turning(np.zeros(3), True, (), np.eye(3))
    drive = 10 * len(model.bodies)
    for k, c in enumerate(model.joints):
        joint, parent = t.kinds[t.kind[k]].joint, int(t.parent[k])
        above = ground if parent == BASE else found[parent]
        placement = t.rows[k, PLACEMENT]
        yield from _shifted(model, k, parent, joint, placement)
        found[k] = here = _turning(joint, above, placement)
        for numbers in _unseen(here, gravity):
            yield _change(model, {k: numbers})
        for freedom, numbers in _like_armature(joint, above, here, placement, gravity):
            bodies = {k: numbers}
            if isinstance(joint, Prismatic) and parent != BASE:
                bodies[parent] = -numbers
            change = _change(model, bodies)
            change[drive + freedom] = -1.0
            yield change
        drive += c.type.nv


def _shifted(model: Model, k: int, parent: int, joint: Joint, placement: Array) -> Iterator[Array]:
    """Yield the changes that shift inertia from a body to its parent."""
    if not is_own(type(joint)):
        return
    for unit in np.eye(10).tolist():
        given = joint.shiftable_inertia(inertia_of(unit))
        if given is None or not any(numbers := (given.m, *given.h, *given.I)):
            continue
        ten = np.array(numbers, float)
        yield _change(model, {k: ten} if parent == BASE else {k: ten, parent: -in_parent(ten, placement)})


def _turning(joint: Joint, above: _Turning, placement: Array) -> _Turning:
    """Return how a body can turn, from how its parent can."""
    E, r = placement[:9].reshape(3, 3), placement[9:]
    before = None if above.about is None else E @ above.about
    still = above.still and above.about is not None and _parallel(above.about, r)
    axes = E @ above.axes
    if not is_own(type(joint)) or before is None or not isinstance(joint, (Revolute, Prismatic, Fixed)):
        return _Turning(None, False, (), axes)
    if isinstance(joint, Revolute):
        return _Turning(_Z if _parallel(before, _Z) else None, still, above.slides, axes)
    if isinstance(joint, Prismatic):
        return _Turning(before, False, (*above.slides, axes.T @ _Z), axes)
    return _Turning(before, still, above.slides, axes)


def _unseen(here: _Turning, gravity: Array) -> Iterator[Array]:
    """Yield the inertias of a body, ten numbers of a row, that its turning does not show."""
    u = here.about
    if u is None:
        return
    symmetric = [np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]]) == k for k in range(6)]
    if not u.any():
        yield from np.eye(10)[1:]
        return
    about_u = np.array([u @ S @ u for S in symmetric])
    for unit in np.eye(6):
        left = unit - (unit @ about_u) * about_u / (about_u @ about_u)
        yield np.concatenate([np.zeros(4), left])
    for unit in np.eye(3):
        along = (unit @ u) * u
        # where the origin rests, the axes of the base and of the body differ by a turn about u only
        hidden = unit if here.still and _parallel(here.axes @ gravity, u) else along
        yield np.concatenate([[0.0], hidden, np.zeros(6)])


def _like_armature(
    joint: Joint, above: _Turning, here: _Turning, placement: Array, gravity: Array
) -> Iterator[tuple[int, Array]]:
    """Yield freedoms, and the inertia of the body, ten numbers of a row, that acts as a unit of armature of each."""
    if above.about is None:
        return
    before = placement[:9].reshape(3, 3) @ above.about
    if type(joint) in (Spherical, Free) and not before.any():
        yield from ((freedom, np.eye(10)[moment]) for freedom, moment in enumerate((4, 7, 9)))
    elif isinstance(joint, Revolute) and is_own(type(joint)) and abs(before[2]) <= _ALIGNED:
        yield 0, np.eye(10)[9]
    elif isinstance(joint, Prismatic) and is_own(type(joint)) and not before.any():
        *others, own = here.slides
        if all(abs(x @ own) <= _ALIGNED * np.linalg.norm(x) for x in (*others, gravity)):
            yield 0, np.eye(10)[0]


def _parallel(x: Array, y: Array) -> bool:
    """Return True if two vectors are parallel, or one is zero."""
    return bool(np.linalg.norm(np.cross(x, y)) <= _ALIGNED * np.linalg.norm(x) * np.linalg.norm(y))


def _change(model: Model, bodies: dict[int, Array]) -> Array:
    """Return a change of theta from inertias in the working axes of bodies, ten numbers of a row each."""
    found = np.zeros(_count(model))
    for k, numbers in bodies.items():
        T = model.tables.rows[k, TURN].reshape(3, 3)  # from the body's own axes to its working axes
        back = in_parent(numbers, np.concatenate([T.ravel(), np.zeros(3)]))
        found[10 * k : 10 * k + 10] = back[list(_ROW_ORDER)]
    return found
