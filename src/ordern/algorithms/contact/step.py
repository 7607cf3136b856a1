"""A step of semi-implicit Euler with rigid contacts, Coulomb friction and stops of joints.

    free motion   v_f = v + h a,    a = (M + h d)^-1 (tau - bias)           (`articulated_sweeps`; d is the damping)
    contacts      sigma = J v_f + c + G p,    G = J (M + h d)^-1 J^T        (`binding`: w^T D^-1 w)
                  p in the friction cones, by block Gauss-Seidel (`problem`), contact after contact
    end           v' = v_f + (M + h d)^-1 J^T p,    q' = q + h v'           (`Joint.euler_step`)

c takes the gap phi into account: contacts may close it, phi / h, and part of a penetration is pushed apart, at most
at the speed `fastest_push`. A contact that approaches in the step and has restitution e gets c = e times its normal
velocity before. Points of one body on the ground are one `plate`, with six rows; so has a contact with torsional or
rolling friction. Stops of joints are rows with one unknown, at the nearer of the two limits. The damping of the
joints, and `drag` in addition, is implicit. Loops and mimic joints are eliminated from the problem, and closed again
after the step: see `ties`.

The certificate tells how exact the step is: the largest `natural_residual` in m/s (stops: rad/s or m/s), the largest
penetration, and the work of all impulses: p times the mean of the velocities before and after the step. Where the
sweeps have not converged, impulses are scaled down such that their work is not positive but for the pushing apart.

Reference: J. J. Moreau 1988; Jourdan, Alart and Jean 1998; Jain 1991, Lemma 6.4, for w. Cost: order n m^2 for m rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import Scalar, where_less
from ...model import Field, Index, Joints, Number, Output, Tree, Values
from ...model.contacts import Contacts
from ...spatial import Force, Forces, Freedoms, Motion
from ..binding import Binding
from ..configuration.step import joint_by_joint
from ..field_types import Loads, cleared
from ..forward_dynamics.articulated_body import articulated_sweeps
from ..kinematics.pose import path_poses
from ..method_limits import no_loops_with_couplings
from ..registry import Port, algorithm, question
from .cone import larger, smaller
from .geometry import Touch, plate, touch, with_moments
from .plate import Point
from .problem import Problem, Row
from .ties import Ties

__all__ = ["gauss_seidel", "stop_speed"]

_PORTS = (
    *(Port("q", "q"), Port("v", "v"), Port("tau", "f"), Port("dt", "scalar"), Port("drag", "f")),
    *(Port("lower", "q"), Port("upper", "q"), Port("impulses", "contact_impulses"), Port("stops", "v")),
    Port("surfaces", "surfaces"),
)
question("contact_step", _PORTS, "contact_step", "gauss-seidel", needs_inertia=True, loops=True, contacts=True)

_SLOW = 0.01
"""Contacts that approach more slowly than this, in m/s, do not bounce: they would never come to rest."""


@algorithm(
    "contact_step",
    "gauss-seidel",
    paper="Jourdan, Alart and Jean 1998",
    equations="block Gauss-Seidel on G = J M^-1 J^T",
    order="n m^2",
    regroup=True,
    sweeps=False,
    repeats=True,
    refuses=no_loops_with_couplings,
)
def gauss_seidel(
    tree: Tree, q: Joints, qd: Joints, tau: Joints, dt: Number, drag: Joints, lower: Joints, upper: Joints,
    impulses: Values[Freedoms], stops: Joints, surfaces: Values[Freedoms],
) -> tuple[Any, ...]:  # fmt: skip
    """Return positions, velocities, impulses of contacts and of stops after a step, and its certificate."""
    h, base = dt[tree.base], tree.base
    contacts = tree.model.contacts or Contacts(None, ())
    still, unloaded = tree.zeros("motion"), tree.zeros("bodies")
    gains, qdd = articulated_sweeps(tree, q, qd, tau, unloaded, still, still, lambda i: (i.damping + drag[i]) * h)
    v = tree.own()
    for i, _ in tree.outward():
        v[i] = qd[i] + (qdd[i] + i.joint.turning_rate(qd[i])) * h
    rows = _contact_rows(tree, contacts, q, (gains[0], gains[1]), (v, qd), h, surfaces[base])
    rows += _stop_rows(tree, contacts, q, (v, qd), h, (lower, upper))
    p = [*impulses[base], *(stops[tree.index(k)][0] for k in contacts.limited)]
    m, ties = sum(len(row.free) for row in rows), Ties.of(tree, q)
    columns = _columns(tree, gains[0], gains[1], rows)
    bound = Binding.of(tree, gains, m + len(ties), lambda i: (*columns(i), *ties.columns(i)))
    tied = ties.eliminated(bound, m, v)
    few = 1 if ties.loops else 2  # the dynamics of loops cost more than Newton's method on two points
    problem = Problem(tied.G, tied.freed(rows), contacts.smooth, contacts.settled, few)
    p, certificate = problem.certified(tree.root(lambda: problem.solved(tree, p, contacts.sweeps), problem.law))
    moved = bound.corrected(v, tied.forces(problem.impulses(p))) if p or len(ties) else v

    def stepped(i: Index) -> tuple[Freedoms, Freedoms]:
        a = (moved[i] - qd[i]) * (1.0 / h) - i.joint.turning_rate(qd[i])
        return i.joint.euler_step(q[i], qd[i], a, h)

    q1 = joint_by_joint(tree, "q", lambda i: stepped(i)[0])
    v1 = joint_by_joint(tree, "v", lambda i: stepped(i)[1])
    q1, v1, gap, rate = tied.closed(q1, v1)
    residual, depth, work = certificate
    m = 3 * contacts.blocks
    found = (larger(residual, rate), larger(depth, gap), work)
    return (q1, v1, tuple(p[:m]), _by_joint(tree, contacts.limited, p[m:]), found)


def _contact_rows(
    tree: Tree, contacts: Contacts, q: Joints, moved: tuple[Any, Any], velocities: tuple[Joints, Joints], h: Scalar,
    surfaces: Sequence[Scalar],
) -> list[Row]:  # fmt: skip
    """Return the rows of all contacts at position q, with velocities after the free motion and before it."""
    P = path_poses(tree, q, None)
    after, before = (_body_velocities(tree, *moved, v) for v in velocities)
    touches = [touch(tree, P, c, contacts.ground, surfaces[3 * k + 2]) for k, c in enumerate(contacts.pairs)]
    found = []
    for members in _plates(contacts):
        at, levers = touches[members[0]], [(0.0, 0.0)]
        if len(members) > 1:
            at, levers = plate([touches[k] for k in members])
        elif members[0] in contacts.turning:
            at = with_moments(at)
        free, start = _along(at, after), _along(at, before)
        points = []
        for k, lever in zip(members, levers, strict=True):
            mu, e, _ = surfaces[3 * k : 3 * k + 3]
            gap = touches[k].gap
            bias = _bias(contacts, gap, h)
            if contacts.bounces:
                v = Point(3 * k, bias, gap, mu, lever).moved(start)[2]
                bounce = where_less(gap + h * v, 0.0, where_less(v, -_SLOW, e * v, bias), bias)
                bias = where_less(0.0, e, bounce, bias)
            c = contacts.pairs[k]
            point = Point(3 * k, bias, gap, mu, lever, contacts.moment_of(k), c.torsional, c.rolling)
            points.append(point)
        found.append(Row(free, start, tuple(points), at.loads))
    return found


def _plates(contacts: Contacts) -> list[list[int]]:
    """Return the contacts of each row: those of one body with a plane are together."""
    found: dict[Any, list[int]] = {}
    flat = contacts.ground is not None and not contacts.ground.uneven
    for k, contact in enumerate(contacts.pairs):
        level = flat and contact.second is None
        found.setdefault(("body", contact.first.body) if level else ("pair", k), []).append(k)
    return list(found.values())


def _stop_rows(
    tree: Tree, contacts: Contacts, q: Joints, velocities: tuple[Joints, Joints], h: Scalar,
    limits: tuple[Joints, Joints],
) -> list[Row]:  # fmt: skip
    """Return a row for each joint with limits: at the nearer one."""
    found = []
    for at, k in enumerate(contacts.limited, 3 * contacts.blocks):
        i = tree.index(k)
        side, gap = _nearer(q[i][0], limits[0][i][0], limits[1][i][0])
        free, before = ((side * v[i][0],) for v in velocities)
        found.append(Row(free, before, (Point(at, _bias(contacts, gap, h), gap, 0.0),), joint=k, side=side))
    return found


def _nearer(q: Scalar, lower: Scalar, upper: Scalar) -> tuple[Scalar, Scalar]:
    """Return the side of the nearer limit, 1 for the lower one, and the distance from it."""
    above, below = q - lower, upper - q
    return where_less(above, below, 1.0, -1.0), smaller(above, below)


def stop_speed(contacts: Contacts, q: Scalar, lower: Scalar, upper: Scalar, h: Scalar, after: Scalar) -> Scalar:
    """Return the speed by which a joint is slower than its stop allows: not below zero if it needs no impulse."""
    side, gap = _nearer(q, lower, upper)
    return side * after + _bias(contacts, gap, h)


def _bias(contacts: Contacts, gap: Scalar, h: Scalar) -> Scalar:
    """Return the bias of a normal: a gap may close in the step, and part of a penetration is pushed apart."""
    rate = gap * (1.0 / h)
    return where_less(gap, 0.0, larger(contacts.push * rate, -contacts.fastest_push), rate)


def _body_velocities(tree: Tree, X: Values[Any], S: Values[Any], v: Joints) -> Field[Motion]:
    V = tree.field(Motion)
    for i, p in tree.outward():
        V[i] = X[i] @ V[p] + S[i] @ v[i]
    return V


def _along(at: Touch, V: Field[Motion]) -> tuple[Scalar, ...]:
    """Return the velocity of a contact along its axes."""
    (body, forces), *others = at.loads
    found = tuple(f.dot(V[body]) for f in forces)
    for body, forces in others:
        found = tuple(x + f.dot(V[body]) for x, f in zip(found, forces, strict=True))
    return found


def _columns(tree: Tree, X: Values[Any], S: Values[Any], rows: Sequence[Row]) -> Any:
    """Return the function of a body with the columns of J^T at its joint."""
    m = sum(len(row.free) for row in rows)
    F, C = cleared(tree, Loads(m)), tree.own()
    at, stops = 0, {}
    for row in rows:
        n = len(row.free)
        for body, forces in row.loads:
            before, rest = (Force.zero(),) * at, (Force.zero(),) * (m - at - n)
            F[body] += Forces((*before, *forces, *rest))
        if row.joint >= 0:
            stops[row.joint] = (at, row.side)
        at += n
    for i, p in tree.inward():
        columns = [S[i].T @ f for f in F[i].columns]
        if i.key in stops:
            at, side = stops[i.key]
            columns[at] = columns[at] + Freedoms((side,))
        C[i] = tuple(columns)
        F[p] += X[i].T @ F[i]
    return lambda i: C[i]


def _by_joint(tree: Tree, limited: Sequence[int], p: Sequence[Scalar]) -> Output:
    """Return the impulses of stops as numbers for all freedoms."""
    known = dict(zip(limited, p, strict=True))
    return joint_by_joint(
        tree, "v", lambda i: Freedoms((known[i.key],)) if i.key in known else Freedoms((0.0,) * i.joint.nv)
    )
