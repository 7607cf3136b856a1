"""Constraint equations of loops and couplings: residuals, their rates, the constraint Jacobian and its bias.

    r(q, t) = 0,    dr/dt = K v + (rates by time alone),    d2r/dt2 = K a + k

The rows of the active loops come first, in the order of the model, then one row for each coupling. A loop has its
residuals first, then its conditions on velocities alone (rolling), which are zero in r and K v in dr/dt.

Row c of a loop is a function of its relative pose. Jets give its rate as the power of a wrench w_c on the child and of
the opposite wrench on the parent; so its row of K is

    inward    K_c,i = S_i^T w_c,i,    w_c,p += X_i^T w_c,i        from the two bodies to the loop's top

and k is the second derivative along the motion without joint accelerations. Cost: order n nc for K, n for the others.

Reference: Featherstone and Orin 2000, sec. 3.3, eqs. (16)-(18), where K is L and -k is c.
Differs: the paper's constraints are on velocities, a row for each constraint force; here they are residuals, so that
positions can be corrected too.
"""

from __future__ import annotations

from typing import Any

from ...graph import Jet, Scalar
from ...joints.jets import bias, rate_of, rates, residuals, wrenches
from ...model import BASE, Coupling, Index, Joints, Number, Output, Tree, Values
from ...spatial import Freedoms, Real
from ...spatial.linear import matvec
from ..field_types import cleared
from ..registry import algorithm
from .loads import LoopLoads
from .relative import Ends

__all__ = [
    "coupled_coordinates",
    "coupled_residual",
    "loop_bias",
    "loop_jacobian",
    "loop_rate",
    "loop_residual",
    "loop_wrenches",
    "number_of",
    "slopes",
]

_PAPER = "Featherstone-Orin 2000"


@algorithm("loop_residual", "outward", paper=_PAPER, equations="sec. 3.3")
def loop_residual(tree: Tree, q: Joints, t: Number) -> Freedoms:
    """Return the residual of each constraint, in metres or radians (2 sin(angle / 2) for larger angles)."""
    x, ends = coupled_coordinates(tree, q), Ends(tree, q)
    found: list[Scalar] = []
    for loop in tree.model.loop_table.loops:
        found += residuals(loop.type, ends.relative(loop).pose, t[tree.base])
    found += [
        coupled_residual(c, *(number_of(x, k) for k in (c.joint, c.other))) for c in tree.model.loop_table.couplings
    ]
    return Freedoms(found)


@algorithm("loop_rate", "outward", paper=_PAPER, equations="(16)")
def loop_rate(tree: Tree, q: Joints, qd: Joints, t: Number) -> Freedoms:
    """Return the rate of each residual; a row on velocities only has the value that should vanish."""
    x, v, ends = coupled_coordinates(tree, q), coupled_coordinates(tree, qd), Ends(tree, q, qd)
    found: list[Scalar] = []
    for loop in tree.model.loop_table.loops:
        at = ends.relative(loop)
        found += rates(loop.type, at.pose, at.V, t[tree.base])
    for c in tree.model.loop_table.couplings:
        found.append(rate_of(coupled_residual(c, *(Jet(number_of(x, k), number_of(v, k)) for k in (c.joint, c.other)))))
    return Freedoms(found)


@algorithm("loop_bias", "outward", paper=_PAPER, equations="(18)")
def loop_bias(tree: Tree, q: Joints, qd: Joints, t: Number) -> Freedoms:
    """Return d2r/dt2 of each residual (d/dt of conditions on velocities) without joint accelerations."""
    x, v, ends = coupled_coordinates(tree, q), coupled_coordinates(tree, qd), Ends(tree, q, qd)
    found: list[Scalar] = []
    for loop in tree.model.loop_table.loops:
        at = ends.relative(loop)
        found += bias(loop.type, at.pose, at.V, at.A, t[tree.base])
    for c in tree.model.loop_table.couplings:
        one, other = (Jet(Jet(number_of(x, k), number_of(v, k)), Jet(number_of(v, k), 0.0)) for k in (c.joint, c.other))
        found.append(rate_of(rate_of(coupled_residual(c, one, other))))
    return Freedoms(found)


@algorithm("loop_wrenches", "outward", paper=_PAPER, equations="(16)")
def loop_wrenches(tree: Tree, q: Joints, t: Number) -> Freedoms:
    """Return, for each row, the (moment, force) of a unit multiplier on the loop's child, in the frame on the child."""
    ends = Ends(tree, q)
    found: list[Scalar] = []
    for loop in tree.model.loop_table.loops:
        x, y, z = (tuple(row) for row in loop.type.working_frame().tolist())
        for w in wrenches(loop.type, ends.relative(loop).pose, t[tree.base]):
            found += [*matvec((x, y, z), w.angular), *matvec((x, y, z), w.linear)]
    return Freedoms((*found, *((0.0,) * (6 * len(tree.model.loop_table.couplings)))))


@algorithm("loop_jacobian", "inward", paper=_PAPER, equations="(16)", order="n n_c")
def loop_jacobian(tree: Tree, q: Joints, t: Number) -> Output:
    """Return the matrix K with d(residual)/dt = K v, of shape (nc, nv); conditions on velocities are K v = 0."""
    table = tree.model.loop_table
    K = tree.output("row_columns")
    x, ends = coupled_coordinates(tree, q), Ends(tree, q)
    loads = LoopLoads(tree, [loop.rows.stop - loop.rows.start for loop in table.loops])
    parts = [cleared(tree, Real) for _ in table.couplings]

    for number, loop in enumerate(table.loops):
        at = ends.relative(loop)
        loads.put(number, at, wrenches(loop.type, at.pose, t[tree.base]))
    for c, part in zip(table.couplings, parts, strict=True):
        for k, rate in slopes(c, x).items():
            part[Index(k)] = rate

    for i, p in tree.inward():
        S, nv = i.subspace(q[i]), i.kind.joint.nv
        rows: list[Any] = [S.T @ f for f in loads.passing(i, p, i.transform(q[i]))]
        rows += [(part[i],) if nv == 1 else (0.0,) * nv for part in parts]
        K[i] = [tuple(row[k] for row in rows) for k in range(nv)]
    return K


def coupled_coordinates(tree: Tree, q: Joints) -> Values[Scalar]:
    """Return the numbers of joints with one freedom, positions or velocities, where there are couplings."""
    x = tree.field(Real)
    for i, _ in tree.outward() if tree.model.loop_table.couplings else ():
        x[i] = q[i][0] if (i.kind.joint.nq, i.kind.joint.nv) == (1, 1) else 0.0
    return x


def slopes(c: Coupling, x: Values[Scalar]) -> dict[int, Scalar]:
    """Return the derivative of a coupling's residual by the coordinate of each of its joints, at coordinates x."""
    found: dict[int, Scalar] = {}
    for k in {c.joint, c.other} - {BASE}:
        moving = (Jet(number_of(x, j), 1.0 if j == k else 0.0) for j in (c.joint, c.other))
        found[k] = rate_of(coupled_residual(c, *moving))
    return found


def number_of(x: Values[Scalar], joint: int) -> Scalar:
    """Return the number of a joint of a coupling; zero if there is no such joint."""
    return 0.0 if joint == BASE else x[Index(joint)]


def coupled_residual(c: Coupling, q: Scalar, other: Scalar) -> Scalar:
    """Return the residual of a coupling."""
    total: Scalar = 0.0
    for number in reversed(c.coefficients if c.other != BASE else c.coefficients[:1]):
        total = total * other + number
    return q - total
