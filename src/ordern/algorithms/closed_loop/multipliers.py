"""Forward dynamics of closed loops, multipliers first, in one piece of straight-line code.

With qdd0 the accelerations of the tree without its loops, and K, k as in `constraints`,

    inward    w_i = K_i^T - S_i^T p_i,               p_p += X_i^T (p_i + G_i w_i)
              L  += w_i^T D_i^-1 w_i                 which is K M^-1 K^T
              L lambda = -(K qdd0 + k)                                                 (21)
    outward   a' = X_i a_p,    qdd_i = qdd0_i + D_i^-1 w_i lambda - G_i^T a',    a_i = a' + S_i (qdd_i - qdd0_i)

where p, w have a column for each constraint, and K_i are the columns of K for joint i. A constraint that depends on
earlier constraints leaves a pivot of L that is zero up to rounding. If it is below `drop` times its diagonal, the
constraint is left out, and its multiplier is zero. The last number of the result is the smallest relative pivot that
was kept. Where it is small, dependence cannot be decided, and the result is not valid; `reduced` solves such states. It
is negative where loops are open, or opened by the velocities: see `misfit`. Cost: order n n_c^2 + n_c^3; the w of a
joint whose branch is in no loop is zero and costs nothing.

Reference: Featherstone and Orin 2000, sec. 3.4, eq. (21), method 2; M^-1 = (1 - H psi K)* D^-1 (1 - H psi K), Jain
1991, Lemma 6.4, whose right factor takes K^T to w.
Differs: K is the paper's L, and -k its c.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...graph import Scalar, where_less
from ...model import Input, Joints, Model, Number, Output, Tree
from ...spatial import Factor, Freedoms
from ...spatial.linear import dot
from ..binding import Binding
from ..factors.articulated import articulated
from ..forward_dynamics.articulated_body import articulated_body
from ..method_limits import no_couplings
from ..registry import algorithm
from .constraints import loop_bias, loop_jacobian
from .misfit import excess

__all__ = ["DROP", "MOST_OPERATIONS", "constrained", "factor_without_dependent", "operations", "too_long"]

Rows = Sequence[Sequence[Scalar]]

DROP = 1e-13
"""Relative pivots below this are rounding: L has 1e-15 of that, which elimination makes some tens of times as large. A
pivot is the square of a singular value, so this is 3e-7 of those, about the tolerance of `rank`."""

MOST_OPERATIONS = 60_000
"""Beyond this, straight-line code takes long to compile; then `reduced` does it by pieces."""


def operations(model: Model) -> float:
    """Estimate the number of operations, from above."""
    n, nv, nc = len(model.bodies), model.nv, model.nc
    return n * (300.0 + 60.0 * nc) + 0.5 * nv * nc**2 + nc**3 / 6.0


def too_long(model: Model) -> str:
    """Return the reason why a robot is too large for the method; empty if it is not."""
    follows = no_couplings(model)
    if follows:
        return follows
    if operations(model) > MOST_OPERATIONS:
        return f"it is one piece of straight-line code, too long for {len(model.bodies)} bodies, {model.nc} constraints"
    return ""


by_multipliers = partial(
    algorithm, name="multipliers", equations="(21)", order="n n_c^2 + n_c^3", sweeps=False, refuses=too_long
)
"""Declare a function as the method "multipliers" of a question about robots with loops."""


@by_multipliers("closed_dynamics", paper="Featherstone-Orin 2000")
def multipliers(tree: Tree, q: Joints, qd: Joints, *inputs: Input) -> Freedoms:
    """Return accelerations, multipliers and the smallest relative pivot that was kept, negative in an open state."""
    *forces, t, correction, drop = inputs
    qdd0 = articulated_body(tree, q, qd, *forces)
    k = loop_bias(tree, q, qd, t)
    off = excess(tree, q, qd, t)
    c = [-(x + y) for x, y in zip(k, correction[tree.base], strict=True)]
    qdd, force, least = constrained(tree, q, qdd0, c, t, drop[tree.base] if drop.given else DROP)
    return Freedoms((*qdd.scalars, *force, where_less(off, 0.0, least, -least)))


def constrained(
    tree: Tree, q: Joints, qdd0: Output, c: Sequence[Scalar], t: Number, drop: Scalar
) -> tuple[Output, Freedoms, Scalar]:
    """Correct accelerations qdd0 of the tree by forces K^T lambda, so that K a = c.

    Return them, lambda, and the smallest relative pivot that was kept.
    """
    m, nv = tree.model.nc, tree.model.nv
    K = loop_jacobian(tree, q, t).scalars
    rows = [K[nv * r : nv * r + nv] for r in range(m)]
    e = Freedoms(dot(row, qdd0.scalars) - c[r] for r, row in enumerate(rows))

    joints = tree.model.joints
    columns = lambda i: tuple(Freedoms(row[joints[i.key].v]) for row in rows)  # noqa: E731
    bound = Binding.of(tree, articulated(tree, q).gains, m, columns)
    factor, least = factor_without_dependent(bound.rows, drop, rows)
    force = -factor.solve(e)
    return bound.corrected(qdd0, force), force, least


def factor_without_dependent(A: Rows, drop: Scalar, K: Rows) -> tuple[Factor, Scalar]:
    """Return the factors of A = K M^-1 K^T without rows that depend on earlier rows, and the smallest pivot left.

    Only the lower half of A is read. Rows of K that are empty (as in `rank`) are left out, too.
    """
    sizes = [dot(row, row) for row in K]
    largest: Scalar = 1e-12
    for size in sizes:
        largest = where_less(largest, size, size, largest)
    least: Scalar = 1.0

    def over(i: int, d: Scalar) -> Scalar:
        """Return the inverse of a pivot, or zero to leave out its row."""
        nonlocal least
        bound = where_less(1e-4 * drop * largest, sizes[i], drop * A[i][i], 1e300)
        pivot = where_less(bound, d, d, 1.0)
        relative = where_less(bound, d, pivot / where_less(0.0, A[i][i], A[i][i], 1.0), 1.0)
        least = where_less(relative, least, relative, least)
        return where_less(bound, d, 1.0 / pivot, 0.0)

    factor = Factor.of(A, over)
    return factor, least
