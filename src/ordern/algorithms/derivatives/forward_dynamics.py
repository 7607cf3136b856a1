"""The derivatives of forward dynamics by position, velocity and joint forces: -M^-1 dID/dq, -M^-1 dID/dqd, and M^-1.

    M = U D U^T,        qdd = -M^-1 (b - tau),        b = ID(q, qd, 0)
    dID/dq and dID/dqd at this qdd, see `inverse_dynamics`
    for each column x of them, and of the negative unit matrix:
    inward    x_i -= U_ik x_k                                for each freedom i above k
    outward   y_k  = -x_k / D_k - sum of U_ik y_i            over the freedoms i above k

Columns do not depend on each other (`tree.each_column`): short robots get straight-line code for all of them, others a
loop over the columns of each limb. Cost: order n d^2, where d is the depth of the tree.

Reference: Carpentier and Mansard 2018, Analytical derivatives of rigid body dynamics algorithms, sec. III; Featherstone
2008, sec. 6.5, for the factors.
"""

from __future__ import annotations

from ...graph import Scalar
from ...model import Base, Bodies, Field, Freedom, Index, Joints, Output, Tree
from ...spatial import Force, Freedoms
from ..elimination import factorise
from ..method_limits import no_fluid
from ..registry import algorithm
from .absolute import Absolute, absolute, forces, mass_matrix
from .inverse_dynamics import partials

__all__ = ["common_frame"]


@algorithm(
    "forward_dynamics_derivatives",
    "common-frame",
    paper="Carpentier-Mansard 2018; Singh-Russell-Wensing 2022",
    equations="C-M sec. III; IDSVA",
    order="n d^2",
    regroup=True,
    refuses=no_fluid,
)
def common_frame(tree: Tree, q: Joints, qd: Joints, tau: Joints, external: Bodies, v0: Base, a0: Base) -> Output:
    """Return dqdd/dq, dqdd/dqd and M^-1 for position q, velocity qd, joint forces tau and external forces."""
    found, M = tree.output("matrices"), tree.output("symmetric")
    tree.clear(found)
    dq, dqd, inverse = (found.part(k, "matrix") for k in range(3))
    bodies = absolute(tree, q, qd, v0)
    composites = mass_matrix(tree, bodies, M)
    solver = _Solver(tree, M)
    _, f = forces(tree, bodies, q, qd, None, external, v0, a0)
    qdd = _Accelerations(solver.solved(_excess(tree, bodies, q, qd, tau, f)))
    moved = forces(tree, bodies, q, qd, qdd, external, v0, a0)
    partials(tree, bodies, composites, moved, (q, qd, qdd), (dq, dqd))
    for c in tree.each_column():
        solver.solve(_Column(dq, c), _Column(dqd, c))
    for c in tree.each_column():
        solver.invert(inverse, c)
    return found


class _Accelerations:
    """Accelerations of all joints, mimic joints included."""

    def __init__(self, qdd: Output) -> None:
        self._qdd = qdd

    def __getitem__(self, i: Index) -> Freedoms:
        return i.coordinates("v", self._qdd[i])


class _Column:
    """One column of a matrix, by row."""

    def __init__(self, matrix: Output, c: Freedom) -> None:
        self._matrix, self._c = matrix, c

    def __getitem__(self, k: Freedom) -> Scalar:
        return self._matrix[k, self._c]

    def __setitem__(self, k: Freedom, x: Scalar) -> None:
        self._matrix[k, self._c] = x


def _excess(tree: Tree, bodies: Absolute, q: Joints, qd: Joints, tau: Joints, f: Field[Force]) -> Output:
    """Return the joint forces that keep all accelerations zero, less tau; f are the forces on the bodies."""
    found = tree.output("f")
    for i, p in tree.inward():
        found[i] = bodies.S[i].T @ f[i] + i.gyration(q[i], qd[i]) - tau[i]
        f[p] += f[i]
    return found


class _Solver:
    """Products with -M^-1, by the factors of M."""

    def __init__(self, tree: Tree, M: Output) -> None:
        """Factorise M, in its place."""
        factorise(tree, M)
        self._tree, self._U, self._over = tree, M, tree.output("v")
        for k in tree.freedoms():
            self._over[k] = -(1.0 / M[k, k])

    def solve(self, *columns: Output | _Column) -> None:
        """Put -M^-1 x in the place of each column x."""
        tree, U = self._tree, self._U
        for k in tree.freedoms_inward():
            for i in tree.elimination_path(k):
                for x in columns:
                    x[i] = x[i] - U[k, i] * x[k]
        for k in tree.freedoms():
            for x in columns:
                x[k] = x[k] * self._over[k]
            for i in tree.elimination_path(k, ordered=False):
                for x in columns:
                    x[k] = x[k] - U[k, i] * x[i]

    def solved(self, x: Output) -> Output:
        """Put -M^-1 x in the place of x; return it."""
        self.solve(x)
        return x

    def invert(self, Y: Output, c: Freedom) -> None:
        """Set column c of M^-1 up to its diagonal, and the same row."""
        tree, U, x = self._tree, self._U, self._tree.output("v")
        unit = tree.unit("f", c)
        for k in tree.freedoms(upto=c):
            x[k] = -unit[k]
        for k in tree.elimination_path(c, itself=True):
            for i in tree.elimination_path(k):
                x[i] = x[i] - U[k, i] * x[k]
        for k in tree.freedoms(upto=c):
            x[k] = x[k] * self._over[k]
            for i in tree.elimination_path(k, ordered=False):
                x[k] = x[k] - U[k, i] * x[i]
            Y[k, c] = Y[c, k] = x[k]
