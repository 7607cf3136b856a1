"""Maximal coordinates: every body by itself, every joint, of the tree or of a loop, a constraint; dense least squares.

Nothing of the library's closures, loop questions or solvers is used: a joint forbids what is orthogonal to its motion
subspace, which for loops is written down here by hand. Only poses, velocities and Jacobians of the tree are asked for.

Unknown are the rates V' of all bodies' twists, in their own frames, and the constraint forces mu:

    I V' + V x* I V = gravity + drives + C^T mu,      C V' = c

A joint with motion subspace S and its complement T: V_r = V_c - X V_p = S qd, so T^T V_r' = T^T S' qd, where
V_r' = V_c' - X V_p' + V_r x X V_p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ordern as on
from ordern.model import BASE, Frame

Array = NDArray[np.float64]


def cross(x: Any) -> Array:
    """The matrix of the vector product by x."""
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def motion_cross(V: Array) -> Array:
    """ad_V: the matrix of the cross product of motions."""
    w, u = cross(V[:3]), cross(V[3:])
    return np.block([[w, np.zeros((3, 3))], [u, w]])


def adjoint(T: Array) -> Array:
    """Takes twists in the frame A to twists in the frame B, where T is the pose of A in B."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [cross(p) @ R, R]])


def spatial_inertia(body: on.Body) -> Array:
    """About the body frame's origin."""
    c = cross(body.com)
    I = body.inertia_matrix - body.mass * c @ c
    return np.block([[I, body.mass * c], [-body.mass * c, body.mass * np.eye(3)]])


@dataclass
class Oracle:
    """The answer."""

    a: Array
    loop_wrenches: dict[str, Array]
    """On the child of each loop, in its frame there."""
    joint_wrenches: Array
    """Of each joint of the tree on its body, in the body's frame."""
    rank: int
    """Of all constraints, less those of the tree."""


def loop_subspace(loop: on.Loop, T: Array, V: Array) -> tuple[Array, Array]:
    """S (6, n) of a loop's joint in the child's frame at the relative pose T, and S' qd there."""
    kind, z3 = type(loop.type), np.zeros(3)
    if kind is on.Fixed:
        return np.zeros((6, 0)), np.zeros(6)
    if kind is on.Spherical:
        return np.eye(6)[:, :3], np.zeros(6)
    axis = np.asarray(loop.type.axis)
    if kind is on.Revolute:
        return np.r_[axis, z3][:, None], np.zeros(6)
    if kind is on.Prismatic:
        return np.r_[z3, axis][:, None], np.zeros(6)
    if kind is on.Helical:
        return np.r_[axis, loop.type.pitch / (2.0 * np.pi) * axis][:, None], np.zeros(6)
    if kind is on.Cylindrical:
        return np.array([np.r_[axis, z3], np.r_[z3, axis]]).T, np.zeros(6)
    if kind is on.Planar:
        one, two = np.linalg.svd(axis[None])[2][1:]
        return np.array([np.r_[axis, z3], np.r_[z3, one], np.r_[z3, two]]).T, np.zeros(6)
    assert kind is on.Universal
    second = np.asarray(loop.type.axis2)
    first = T[:3, :3].T @ axis
    S = np.array([np.r_[first, z3], np.r_[second, z3]]).T
    rates = np.linalg.lstsq(S, V, rcond=None)[0]
    return S, np.r_[-np.cross(rates[1] * second, first) * rates[0], z3]


def complement(S: Array) -> Array:
    """An orthonormal basis of what is orthogonal to S."""
    return np.linalg.svd(S.T, full_matrices=True)[2][S.shape[1] :].T if S.shape[1] else np.eye(6)


def _ask(tree: on.Robot, question: str, body: int, *arguments: Array, **settings: str) -> Any:
    """What the tree says of a body's frame; without compiling a function for each."""
    return tree.kernel(question, way="interpreted", frame=Frame("", body), **settings)(*arguments)


def maximal(robot: on.Robot, q: Array, v: Array, tau: Array) -> Oracle:
    """Accelerations, and what joints and loops transmit."""
    tree = robot.opened()
    n = len(tree.bodies)
    P = [_ask(tree, "pose", k, q) for k in range(n)]
    V = [_ask(tree, "velocity", k, q, v, axes="frame") for k in range(n)]
    M, f = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
    for k, body in enumerate(tree.bodies):
        I, here = spatial_inertia(body), slice(6 * k, 6 * k + 6)
        M[here, here] = I
        pull = body.mass * P[k][:3, :3].T @ np.asarray(tree.gravity)
        f[here] = motion_cross(V[k]).T @ I @ V[k] + np.r_[np.cross(body.com, pull), pull]
    rows: list[Array] = []
    sides: list[float] = []

    def between(parent: int, child: int, at: Array, there: Array) -> tuple[Array, Array, Array]:
        """G (6, 6 n) and g with V_r' = G V' + g, and V_r, of a frame on the child relative to one on the parent."""
        G = np.zeros((6, 6 * n))
        up = np.eye(4) if parent == BASE else P[parent]
        down = np.eye(4) if child == BASE else P[child]
        Xp = adjoint(np.linalg.inv(down @ there) @ up)
        Xc = adjoint(np.linalg.inv(there))
        Vp = np.zeros(6) if parent == BASE else V[parent]
        Vr = (np.zeros(6) if child == BASE else Xc @ V[child]) - Xp @ Vp
        if parent != BASE:
            G[:, 6 * parent : 6 * parent + 6] = -Xp
        if child != BASE:
            G[:, 6 * child : 6 * child + 6] += Xc
        return G, motion_cross(Vr) @ (Xp @ Vp), Vr

    joints = []
    for k, c in enumerate(tree.joints):
        S = _ask(tree, "jacobian", k, q, axes="frame")[:, c.v]
        G, g, _ = between(c.parent, k, np.eye(4), np.eye(4))
        Tk = complement(S)
        f += G.T @ (np.linalg.pinv(S).T @ tau[c.v])
        joints.append((c, S, G, g, Tk, slice(len(sides), len(sides) + Tk.shape[1])))
        rows += list(Tk.T @ G)
        sides += list(-Tk.T @ g)
    own = len(sides)
    loops = []
    for loop in robot.loops:
        at, there = (homogeneous(x) for x in (loop.parent_placement, loop.child_placement))
        G, g, Vr = between(loop.parent, loop.child, at, there)
        up = np.eye(4) if loop.parent == BASE else P[loop.parent]
        down = np.eye(4) if loop.child == BASE else P[loop.child]
        T = np.linalg.inv(up @ at) @ down @ there
        if isinstance(loop.type, on.Distance):
            # d2/dt2 |p|^2 / 2 = 0 with p' = R u, p'' = R (u' + w x u)
            p = T[:3, :3].T @ T[:3, 3]
            Tk = np.r_[np.zeros(3), p / np.linalg.norm(p)][:, None]
            moving = np.r_[np.zeros(3), np.cross(Vr[:3], Vr[3:])]
            side = -Tk.T @ (g + moving) - Vr[3:] @ Vr[3:] / np.linalg.norm(p)
        else:
            S, bias = loop_subspace(loop, T, Vr)
            Tk = complement(S)
            side = Tk.T @ (bias - g)
        loops.append((loop.name, Tk, slice(len(sides), len(sides) + Tk.shape[1])))
        rows += list(Tk.T @ G)
        sides += list(side)
    C, c = np.array(rows), np.array(sides)
    scale = np.abs(M).max()
    A = np.block([[M, -C.T * scale], [C * scale, np.zeros((len(c), len(c)))]])
    x = np.linalg.lstsq(A, np.r_[f, c * scale], rcond=1e-10)[0]
    rates, mu = x[: 6 * n], x[6 * n :] * scale
    a, transmitted = np.zeros(tree.nv), np.zeros((n, 6))
    for k, (joint, S, G, g, Tk, where) in enumerate(joints):
        a[joint.v] = np.linalg.pinv(S) @ (G @ rates + g)
        transmitted[k] = Tk @ mu[where] + np.linalg.pinv(S).T @ tau[joint.v]
    rank = np.linalg.matrix_rank(C, 1e-9 * np.linalg.norm(C, 2)) - own
    return Oracle(a, {name: Tk @ mu[where] for name, Tk, where in loops}, transmitted, int(rank))


def homogeneous(x: on.Placement) -> Array:
    """A placement as a matrix."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = x.R, x.p
    return T
