"""The equations of motion of closed loops as one function, which is zero for a motion: to be differentiated.

    tau - (what is left) = M a + C - (external forces) - K^T lambda
    0                    = K a + k + 2 alpha dr/dt + beta^2 r          (Baumgarte's terms only where they are given)

`closed_balance` returns both right sides. The accelerations a and the multipliers lambda that solve these equations for
given forces tau are implicit functions of the other arguments; their derivatives follow from those of the right sides.
The multipliers act as forces on the bodies of each loop, and K a + k are the second derivatives of the residuals along
the motion, so that K itself is not needed. Cost: order n.

Reference: Featherstone and Orin 2000, sec. 3.4, eqs. (17)-(20), where K is L; J. Baumgarte 1972 for the stabilisation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Jet, Scalar
from ...joints.jets import bias, rate_of, rates, residuals, wrenches
from ...model import BASE, Base, Bodies, Input, Joints, Number, Output, Tree
from ...spatial import Force, Forces, Freedoms
from ..field_types import Loads, cleared
from ..inverse_dynamics.newton_euler import newton_euler
from ..registry import Port, algorithm, question
from .constraints import coupled_coordinates, coupled_residual, number_of, slopes
from .loads import LoopLoads
from .relative import Ends

__all__ = ["closed_balance", "loop_body_forces"]

_q, _v, _a, _multipliers = Port("q", "q"), Port("v", "v"), Port("a", "v"), Port("multipliers", "rows")
_external, _t = Port("external", "bodies", optional=True), Port("t", "scalar", optional=True)
_v0, _a0 = Port("base_velocity", "motion", optional=True), Port("base_acceleration", "motion", optional=True)
_alpha, _beta = Port("alpha", "scalar", optional=True), Port("beta", "scalar", optional=True)
question(
    "closed_balance",
    (_q, _v, _a, _multipliers, _external, _v0, _a0, _t, _alpha, _beta),
    "balance",
    "newton-euler",
    loops=True,
)
question("loop_body_forces", (_q, _multipliers, _t), "wrenches", "outward", loops=True)


@algorithm(
    "closed_balance",
    "newton-euler",
    paper="Featherstone-Orin 2000; Jain 1991",
    equations="F-O (17)-(20); Jain (11), (14)-(17)",
    sweeps=False,
    regroup=True,
)
def closed_balance(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, force: Input, external: Bodies, v0: Base, a0: Base, t: Number,
    alpha: Input, beta: Input,
) -> Freedoms:  # fmt: skip
    """Return the joint forces that a motion needs besides the loops' forces, then the errors of its accelerations."""
    tau = newton_euler(tree, q, qd, qdd, external, v0, a0)
    carried = _joint_forces(tree, q, force[tree.base], t)
    rows = _errors(tree, q, qd, qdd, t, alpha, beta)
    return Freedoms((*(x - y for x, y in zip(tau.scalars, carried.scalars, strict=True)), *rows))


def _joint_forces(tree: Tree, q: Joints, force: Sequence[Scalar], t: Number) -> Output:
    """Return K^T lambda."""
    table, ends, out = tree.model.loop_table, Ends(tree, q), tree.output("f")
    loads = LoopLoads(tree, [1] * len(table.loops))
    for number, loop in enumerate(table.loops):
        at = ends.relative(loop)
        loads.put(number, at, (_weighted(wrenches(loop.type, at.pose, t[tree.base]), force[loop.rows]),))
    x = coupled_coordinates(tree, q)
    first = tree.model.nc - len(table.couplings)
    coupled = [
        {k: rate * force[first + number] for k, rate in slopes(c, x).items()}
        for number, c in enumerate(table.couplings)
    ]
    for i, p in tree.inward():
        total = Force.zero()
        for f in loads.passing(i, p, i.transform(q[i])):
            total = total + f
        along = i.subspace(q[i]).T @ total
        mine = [one[i.key] for one in coupled if i.key in one]
        out[i] = Freedoms((sum(mine, along[0]),)) if mine else along
    return out


def _errors(
    tree: Tree, q: Joints, qd: Joints, qdd: Joints, t: Number, alpha: Input, beta: Input
) -> list[Scalar]:  # fmt: skip
    """Return K a + k, with the terms of the stabilisation where it is given."""
    ends, now = Ends(tree, q, qd, qdd), t[tree.base]
    x, v, a = (coupled_coordinates(tree, y) for y in (q, qd, qdd))
    second: list[Scalar] = []
    first: list[Scalar] = []
    gaps: list[Scalar] = []
    for loop in tree.model.loop_table.loops:
        at = ends.relative(loop)
        second += bias(loop.type, at.pose, at.V, at.A, now)
        first += rates(loop.type, at.pose, at.V, now)
        gaps += residuals(loop.type, at.pose, now)
    for c in tree.model.loop_table.couplings:
        both = (c.joint, c.other)
        twice = (Jet(Jet(number_of(x, k), number_of(v, k)), Jet(number_of(v, k), number_of(a, k))) for k in both)
        second.append(rate_of(rate_of(coupled_residual(c, *twice))))
        first.append(rate_of(coupled_residual(c, *(Jet(number_of(x, k), number_of(v, k)) for k in both))))
        gaps.append(coupled_residual(c, *(number_of(x, k) for k in both)))
    if alpha.given:
        second = [y + 2.0 * alpha[tree.base] * z for y, z in zip(second, first, strict=True)]
    if beta.given:
        second = [y + beta[tree.base] * beta[tree.base] * z for y, z in zip(second, gaps, strict=True)]
    return second


@algorithm("loop_body_forces", "outward", paper="Featherstone-Orin 2000", equations="(16)", sweeps=False)
def loop_body_forces(tree: Tree, q: Joints, force: Input, t: Number) -> Output:
    """Return the (moment, force) of the constraints of loops on each body, in its frame; couplings have none."""
    ends, out = Ends(tree, q), tree.output("wrenches")
    loads = cleared(tree, Loads(1))
    for loop in tree.model.loop_table.loops:
        at = ends.relative(loop)
        mine = _weighted(wrenches(loop.type, at.pose, t[tree.base]), force[tree.base][loop.rows])
        for end, wrench in ((loop.child, Forces((mine,))), (loop.parent, at.X.T @ Forces((-mine,)))):
            if end.frame.body != BASE:
                frame = tree.end(end)
                loads[frame.body] += frame.placement.T @ wrench
    for i, _ in tree.outward():
        out[i] = loads[i].columns[0]
    return out


def _weighted(forces: Sequence[Force], weights: Sequence[Scalar]) -> Force:
    """Return the sum of forces times weights."""
    total = Force.zero()
    for f, x in zip(forces, weights, strict=True):
        total = total + f * x
    return total
