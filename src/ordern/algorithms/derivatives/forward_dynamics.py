"""The derivatives of forward dynamics by position, velocity and joint forces: -M^-1 dID/dq, -M^-1 dID/dqd, and M^-1.

    M = U D U^T,        V = U^-T,        qdd = -M^-1 (b - tau),        b = ID(q, qd, 0)
    dID/dq and dID/dqd at this qdd, see `inverse_dynamics`
    for each column x of them, with -M^-1 = -V D^-1 V^T:
    inward    z_i  = -(x_i + sum of V_ki x_k) / D_i        over the freedoms k that i carries
    outward   y_k  = z_k + sum of V_ki z_i                 over the freedoms i above k
    and for each column of M^-1 the same, where z is a row of V times D^-1

V has its entries in the places of U^T. Products with it have no chains of operations that wait for each other, as the
solutions with U have, and where z is zero, in limbs beside that of the column, they cost nothing.

A free joint at the base moves the whole robot as one: M psi' and M phi' are parts of its columns, so that psi' and phi'
are parts of the answer, without a solution. Exactly zero is therefore the change of all other accelerations with the
pose of a robot, and with its linear velocity.
Columns do not depend on each other (`tree.each_column`): short robots get straight-line code for all of them, others a
loop over the columns of each limb. Cost: order n d^2, where d is the depth of the tree.

Reference: Carpentier and Mansard 2018, Analytical derivatives of rigid body dynamics algorithms, sec. III; Featherstone
2008, sec. 6.5, for the factors.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph import Scalar
from ...model import Base, Bodies, Field, Freedom, Index, Joints, Output, Tree
from ...spatial import Force, Freedoms
from ..elimination import factorise, invert_factor
from ..method_limits import no_fluid
from ..registry import algorithm
from .absolute import Absolute, absolute, forces, mass_matrix
from .inverse_dynamics import partials

__all__ = ["Accelerations", "common_frame"]


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
    bodies = absolute(tree, q, qd, external, v0)
    composites = mass_matrix(tree, bodies, M)
    solver = _Solver(tree, M)
    _, f = forces(tree, bodies, q, qd, None, v0, a0)
    qdd = Accelerations(solver.solved(_excess(tree, bodies, q, qd, tau, f)))
    moved = forces(tree, bodies, q, qd, qdd, v0, a0)
    free = tree.output("matrix"), tree.output("matrix")
    for E in free:
        tree.clear(E)
    partials(tree, bodies, composites, moved, (q, qd, qdd), (dq, dqd), free)
    for c in tree.each_column():
        solver.solve((_Column(dq, c), _Column(dqd, c)), [_Column(E, c) for E in free])
    for c in tree.each_column():
        solver.invert(inverse, c)
    return found


class Accelerations:
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
    """Products with -M^-1 = -V D^-1 V^T, where M = U D U^T and V = U^-T: V_ki is zero unless i is above k, V_kk one."""

    def __init__(self, tree: Tree, M: Output) -> None:
        """Factorise M, in its place."""
        factorise(tree, M)
        invert_factor(tree, M)
        self._tree, self._V = tree, tree.output("matrix")
        self._over, self._minus = tree.output("v"), tree.output("v")
        tree.clear(self._V)
        for k in tree.freedoms():
            self._over[k] = 1.0 / M[k, k]
            self._minus[k] = -self._over[k]
            self._V[k, k] = 1.0
            for i in tree.elimination_path(k):
                self._V[k, i] = M[k, i]

    def solve(self, columns: Sequence[Output | _Column], less: Sequence[_Column] = ()) -> None:
        """Put -M^-1 x in the place of each column x; subtract columns that are known."""
        tree, V = self._tree, self._V
        scratch = [(x, tree.output("v")) for x in columns]
        for k in tree.freedoms():
            for x, z in scratch:
                z[k] = x[k]
        for k in tree.freedoms_inward():
            for i in tree.elimination_path(k):
                for x, z in scratch:
                    z[i] = z[i] + V[k, i] * x[k]
        for k in tree.freedoms():
            for x, z in scratch:
                x[k] = z[k] = z[k] * self._minus[k]
            for (x, _), e in zip(scratch, less, strict=False):
                x[k] = x[k] - e[k]
            for i in tree.elimination_path(k):
                for x, z in scratch:
                    x[k] = x[k] + V[k, i] * z[i]

    def solved(self, x: Output) -> Output:
        """Put -M^-1 x in the place of x; return it."""
        self.solve([x])
        return x

    def invert(self, Y: Output, c: Freedom) -> None:
        """Set column c of M^-1 up to its diagonal, and the same row."""
        tree, V, z = self._tree, self._V, self._tree.output("v")
        for k in tree.freedoms(upto=c):
            z[k] = 0.0
        for i in tree.elimination_path(c, itself=True):
            z[i] = V[c, i] * self._over[i]
        for k in tree.freedoms(upto=c):
            y = tree.register(z[k])
            for i in tree.elimination_path(k):
                y.value = y.value + V[k, i] * z[i]
            Y[k, c] = Y[c, k] = y.value
