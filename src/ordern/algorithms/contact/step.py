"""A step of semi-implicit Euler with rigid contacts, Coulomb friction, limits and dry friction of joints.

    free motion   v_f = v + h a,    a = (M + h d)^-1 (tau - bias)           (`articulated_sweeps`; d is the damping)
    contacts      sigma = J v_f + c + G p,    G = J (M + h d)^-1 J^T        (`rows`: w^T D^-1 w)
                  p in the friction cones, by block Gauss-Seidel (`problem`), contact after contact
    end           v' = v_f + (M + h d)^-1 J^T p,    q' = q + h v'           (`Joint.euler_step`)

c takes the gap phi into account: contacts may close it, phi / h, and part of a penetration is pushed apart, at most at
the speed `fastest_push`. A contact that approaches in the step and has restitution e gets c = e times its normal
velocity before, as far as this adds no energy: see `restitution`. Points of one body on the ground, and those of two
boxes or of a capsule and a box, are one `plate` with six rows; so has a contact with torsional or rolling friction.
Limits and dry friction of a joint are one row with one unknown: see `stops`. Contacts and limits that are too far to be
reached in the step are left out: see `candidates`. The damping of the joints, and `drag` in addition, is implicit, and
so is the gyroscopic torque of free and ball joints (`gyroscopic_step`). `servo` are the joint forces of feedback, whose
damping is `drag`, within the limits `effort`: see `servos`. Loops and mimic joints are eliminated from the problem, and
closed again after the step: see `ties`.

The certificate tells how exact the step is: the largest `natural_residual` in m/s (joints: rad/s or m/s), the largest
penetration at its start, by whole solids, or violation of a joint limit at its end, the largest difference of
velocities of true points from those of a plate (leveling), and the work of all impulses: p times the mean of the
velocities before and after the step. Where the sweeps have not converged, impulses are scaled down such that their work
is not positive but for the pushing apart.

Reference: J. J. Moreau 1988; Jourdan, Alart and Jean 1998; Jain 1991, Lemma 6.4, for w. Cost: order n m^2 for m rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import Scalar, where_less
from ...model import Index, Input, Joints, Number, Output, Tree, Values
from ...model.contacts import Contacts
from ...spatial import Freedoms
from ..configuration.step import joint_by_joint
from ..kinematics.pose import path_poses
from ..method_limits import no_loops_with_couplings
from ..registry import Port, algorithm, question
from .candidates import Candidates
from .cone import larger
from .problem import Problem
from .restitution import Measures, at_rest, blended
from .servos import damped_sweeps, driven
from .stops import JointRow, joint_rows, violation
from .ties import Ties

__all__ = ["gauss_seidel"]

_PORTS = (
    *(Port("q", "q"), Port("v", "v"), Port("tau", "f"), Port("dt", "scalar"), Port("drag", "f")),
    *(Port("lower", "q"), Port("upper", "q"), Port("impulses", "contact_impulses"), Port("stops", "v")),
    *(Port("surfaces", "surfaces"), Port("servo", "f", optional=True), Port("effort", "f", optional=True)),
)
question("contact_step", _PORTS, "contact_step", "gauss-seidel", needs_inertia=True, loops=True, contacts=True)


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
    impulses: Values[Freedoms], stops: Joints, surfaces: Values[Freedoms], servo: Input, effort: Input,
) -> tuple[Any, ...]:  # fmt: skip
    """Return positions, velocities, impulses of contacts and of joints after a step, and its certificate."""
    h, base = dt[tree.base], tree.base
    contacts = tree.model.contacts or Contacts(None, ())
    if servo.given:
        tau, drag = driven(tree, (q, qd, tau), h, drag, servo, effort)
    gains, qdd = damped_sweeps(tree, q, qd, tau, h, drag)
    v = tree.own()
    for i, _ in tree.outward():
        v[i] = qd[i] + (qdd[i] + i.joint.turning_rate(qd[i])) * h
    tied = Ties.of(tree, q).eliminated(gains, v)
    found = Candidates(tree, contacts, gains, tied, h)
    found.add_contacts(path_poses(tree, q, None), (v, qd), surfaces[base])
    joints = list(joint_rows(tree, contacts.limited))
    found.add_joints(joints, q, (v, qd), (lower, upper))
    problem = found.problem()
    p = [*impulses[base], *(stops[row.body][row.freedom] for row in joints)]
    p, s, (residual, leveling, work) = problem.certified(*_solved(tree, problem, p, contacts))
    moved = found.moved(v, p, s)
    residual = found.missed(problem.flags, moved, residual)

    def stepped(i: Index) -> tuple[Freedoms, Freedoms]:
        a = (moved[i] - qd[i]) * (1.0 / h) - i.joint.turning_rate(qd[i])
        return i.joint.euler_step(q[i], qd[i], a, h)

    q1 = joint_by_joint(tree, "q", lambda i: stepped(i)[0])
    v1 = joint_by_joint(tree, "v", lambda i: stepped(i)[1])
    q1, v1, gap, rate = tied.closed(q1, v1)
    m = 3 * contacts.blocks
    depth = larger(found.depth, violation(tree, joints, q1, (lower, upper)))
    certificate = (larger(residual, rate), larger(depth, gap), leveling, work)
    return (q1, v1, tuple(p[:m]), _by_joint(tree, joints, p[m:]), certificate)


def _solved(
    tree: Tree, problem: Problem, start: Sequence[Scalar], contacts: Contacts
) -> tuple[Sequence[Scalar], Sequence[Scalar], Measures]:
    """Return impulses, channels and their measures; where restitution would add energy, only a part of it is kept."""
    p, s = _root(tree, problem, start, contacts.sweeps)
    found = problem.measured(p, s)
    if not contacts.bounces:
        return p, s, found
    adds = where_less(0.5, found.bounces, where_less(0.0, found.work, 1.0, 0.0), 0.0)
    if tree.differentiating is None:
        rest = at_rest(problem, adds)
        still = _root(tree, rest, p, contacts.sweeps, s, adds)
    else:  # the second solution has derivatives, too: it is one in all states, and does not begin from the first
        rest = at_rest(problem, 1.0)
        still = _root(tree, rest, start, contacts.sweeps)
    numbers = tree.when(adds, lambda: blended((p, s, found), rest, still), [*p, *s, *found])
    n, m = len(p), len(p) + len(s)
    return numbers[:n], numbers[n:m], Measures(*numbers[m:])


def _root(
    tree: Tree, problem: Problem, start: Sequence[Scalar], sweeps: int, channels: Sequence[Scalar] | None = None,
    first: Scalar = 1.0,
) -> tuple[Sequence[Scalar], Sequence[Scalar]]:  # fmt: skip
    """Return impulses and channels; derivatives are those of the law."""
    found: list[Sequence[Scalar]] = []

    def solve() -> Sequence[Scalar]:
        found.extend(problem.solved(start, sweeps, channels, first))
        return found[0]

    p = tree.root(solve, problem.law)
    return p, found[1] if tree.differentiating is None else problem.channels(p)


def _by_joint(tree: Tree, rows: Sequence[JointRow], p: Sequence[Scalar]) -> Output:
    """Return the impulses of joints as numbers for all freedoms."""
    known = {(row.body.key, row.freedom): x for row, x in zip(rows, p, strict=True)}
    return joint_by_joint(tree, "v", lambda i: Freedoms(known.get((i.key, d), 0.0) for d in range(i.joint.nv)))
