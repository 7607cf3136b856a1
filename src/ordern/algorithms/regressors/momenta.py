"""Regressors of the momentum and of the energies.

    outward   v_i = X_i v_p + S_i qd_i,    P_i = pose of body i
    momentum           h = sum over i of X_i0^T I_i v_i         about a frame's origin, in its axes
    kinetic energy     T = sum over i of v_i^T I_i v_i / 2 + sum over freedoms of armature qd^2 / 2
    potential energy   V = - sum over i of g . (m_i p_i + R_i h_i)

Each is a row, or six, of ten numbers for each body. Cost: order n.

Reference: Gautier and Khalil 1988, On the identification of the inertial parameters of robots, for energies.
"""

from __future__ import annotations

from ...model import Base, Field, Frame, Joints, Output, Tree
from ...spatial import Motion
from ...spatial.linear import dot, matvec, transpose
from ..kinematics.pose import path_poses
from ..method_limits import no_fluid
from ..registry import algorithm
from .columns import UNITS, drive_columns, in_body, own_axes, row_of_momentum, to_body

__all__ = ["kinetic_energy_regressor", "momentum_regressor", "potential_energy_regressor"]


@algorithm("momentum_regressor", "body-by-body", equations="X^T I v, by parameters", refuses=no_fluid)
def momentum_regressor(tree: Tree, q: Joints, qd: Joints, frame: Frame) -> Output:
    """Return the matrix H with the momentum about a frame's origin, in its axes, = H theta."""
    H = tree.output("spatial_regressor")
    tree.clear(H)
    inertia = H.columns(0, "spatial_inertia")
    v = _velocities(tree, q, qd, Motion.zero())
    P = path_poses(tree, q, None)
    f = tree.frame(frame)
    at = tree.register(f.pose(P[f.body]))
    for i, _ in tree.outward():
        Z, own = to_body(in_body(i, P[i])), own_axes(i, v[i])
        inertia[i] = [[x for t in UNITS for x in row_of_momentum(Z @ (at.value @ t), own)]]
    return H


@algorithm("kinetic_energy_regressor", "body-by-body", equations="v^T I v / 2, by parameters", refuses=no_fluid)
def kinetic_energy_regressor(tree: Tree, q: Joints, qd: Joints, v0: Base) -> Output:
    """Return the numbers y with the kinetic energy = y . theta."""
    y = tree.output("scalar_regressor")
    tree.clear(y)
    inertia, (armature, _, _) = y.columns(0, "inertia"), drive_columns(tree, y, "own")
    v = _velocities(tree, q, qd, v0[tree.base])
    for i, _ in tree.outward():
        own = own_axes(i, v[i])
        inertia[i] = [row_of_momentum(own * 0.5, own)]
        armature[i] = qd[i] * qd[i] * 0.5
    return y


@algorithm("potential_energy_regressor", "body-by-body", equations="- g . (m p + R h), by parameters", refuses=no_fluid)
def potential_energy_regressor(tree: Tree, q: Joints) -> Output:
    """Return the numbers y with the potential energy = y . theta."""
    y = tree.output("scalar_regressor")
    tree.clear(y)
    inertia = y.columns(0, "inertia")
    P = path_poses(tree, q, None)
    for i, _ in tree.outward():
        up, own = tree.base_acceleration.linear, in_body(i, P[i])
        inertia[i] = [(dot(up, own.position), *matvec(transpose(own.rotation), up), *(0.0,) * 6)]
    return y


def _velocities(tree: Tree, q: Joints, qd: Joints, base: Motion) -> Field[Motion]:
    """Return the velocities of the bodies in their working frames."""
    v = tree.field(Motion, base=base)
    for i, p in tree.outward():
        v[i] = i.transform(q[i]) @ v[p] + i.subspace(q[i]) @ qd[i]
    return v
