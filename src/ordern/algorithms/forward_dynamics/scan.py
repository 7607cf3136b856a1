"""Shared parts of algorithms of logarithmic depth: all bodies as arrays, and scans along paths of the tree.

A sequence of steps s_k = e_k(s_{k-1}) need not be taken one after the other if two steps can be made into one: then
neighbours are combined pair by pair, the sequence of half the length is treated in the same way, and the states in
between take one more step. All pairs of a level are independent of each other, so that n steps have a depth of 2 log2 n
combinations, and about 2 n of them are done in all (Brent and Kung 1982, Blelloch 1990).

Here the pairs of a level are the leading axis of NumPy arrays, of numbers or, when a graph is traced, of nodes: one
call of `combine` is one level. The function of each pair is a piece, which is compiled for long robots. A tree is split
into paths; each starts on an earlier one, to which it passes the result of its own scan at its root. The way from the
base to a tip meets at most log2 n paths, because each body is continued by the child that carries most (Sleator and
Tarjan's heavy paths).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from ...model import Index, Input, Output, Piece, RowAnswer, Tree, packed, piece
from ...model.tables import INERTIA, Kind
from ...records import dataclass
from ...spatial import ArticulatedInertia, Factor, Force, Freedoms, Inertia, Motion, Spin, eliminate, leaves
from ..composed import Array
from ..registry import algorithm

__all__ = [
    "Array",
    "Arrays",
    "BodyArrays",
    "Group",
    "affine",
    "declare",
    "factor",
    "freedoms",
    "inverse",
    "moved",
    "scan",
    "solution",
    "symmetric",
    "times",
    "transpose",
]

Arrays = tuple[Array, ...]
_UNITS = tuple(Motion.of(tuple(1.0 if k == axis else 0.0 for k in range(6))) for axis in range(6))


def scan(
    combine: Piece, act: Piece, elements: Arrays, start: Arrays, run: Callable[..., Arrays] = lambda p, *x: p(*x)
) -> Arrays:
    """Return the states after each element: act(e_1, start), act(e_2, act(e_1, start)) ...

    Elements and states are tuples of arrays along whose first axis they are counted; `combine(e_1, e_2)` is the
    element that acts as e_1 and then e_2 do. `run` runs both.
    """
    n = len(elements[0])
    if n == 0:
        return tuple(s[:0] for s in start)
    if n == 1:
        return run(act, elements, start)
    pairs = run(combine, tuple(x[: n - 1 : 2] for x in elements), tuple(x[1::2] for x in elements))
    odd = scan(combine, act, pairs, start, run)
    before = tuple(np.concatenate((s, o))[: (n + 1) // 2] for s, o in zip(start, odd, strict=True))
    even = run(act, tuple(x[::2] for x in elements), before)
    found = tuple(np.empty_like(s, shape=(n, *s.shape[1:])) for s in even)
    for x, e, o in zip(found, even, odd, strict=True):
        x[::2], x[1::2] = e, o
    return found


@piece(2, 1, 2, 1)
def affine(one: Arrays, other: Arrays) -> Arrays:
    """Return the maps x -> A x + b, one after the other."""
    (A1, b1), (A2, b2) = one, other
    return A2 @ A1, times(A2, b1) + b2


@piece(2, 1, 1)
def moved(one: Arrays, x: Arrays) -> Arrays:
    """Return the map x -> A x + b."""
    return (times(one[0], x[0]) + one[1],)


def times(A: Array, x: Array) -> Array:
    """Return matrices by vectors."""
    return np.asarray((A @ x[..., None])[..., 0])


def transpose(A: Array) -> Array:
    """Transpose the last two axes."""
    return np.swapaxes(A, -1, -2)


def symmetric(A: Array) -> Array:
    """Return the matrix with the upper half of A: symmetric to the last bit, as in theory."""
    upper = np.tri(A.shape[-1], dtype=bool).T
    return np.where(upper, A, transpose(A))


def inverse(A: Array) -> Array:
    """Return the inverses of symmetric positive definite matrices, of which the upper halves are read."""
    n = A.shape[-1]
    A = A.copy()
    for k in range(n):
        row = np.concatenate((A[..., :k, k], A[..., k, k:]), axis=-1)
        d = 1.0 / row[..., k : k + 1]
        scaled = row * d
        A = A - row[..., :, None] * scaled[..., None, :]
        A[..., :k, k] = scaled[..., :k]
        A[..., k, k:] = scaled[..., k:]
        A[..., k, k] = -d[..., 0]
    return symmetric(-A)


@dataclass(frozen=True, slots=True)
class Group:
    """Bodies whose formulas are evaluated at once: all bodies of a kind, or a single body.

    Numbers of their rows that differ between them are an input of their pieces, the others are constants.
    """

    number: int
    index: Index
    bodies: Any
    numbers: tuple[float | None, ...] = ()
    rows: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def kind(self) -> Kind:
        """The common properties of the bodies."""
        return self.index.kind

    def of(self, rows: Array) -> Index:
        """Return the bodies as one, with these for the numbers that differ between them."""
        if not self.numbers:
            return self.index
        varying = iter(_parts(rows))
        numbers = [next(varying) if x is None else x for x in self.numbers]
        return Index(None, self.index.kind, numbers.__getitem__)


class BodyArrays:
    """The data of all bodies for forward dynamics, as arrays whose first axis is the body; row -1 is the base.

    The axes of the batch follow, then the axes of matrices and vectors. All joints have as many freedoms as the joint
    with most; freedoms that a joint lacks are zeros. Where scalars are NumPy's numbers, all bodies of a kind form a
    group whose formulas are evaluated at once; where they are nodes of a graph, or others, each body is a group.
    """

    def __init__(self, tree: Tree, q: Input, qd: Input, tau: Input, external: Input, v0: Input, a0: Input) -> None:
        """Gather and compute them; angular velocities by a scan along each path."""
        self.tree, self.parent = tree, tree.model.tables.parent
        self.paths = _paths(self.parent.tolist())
        self._find_shape(q, qd, tau, external, v0, a0)
        self.ports = q, qd, tau, external
        self._find_groups()
        n, nv = self.count, max((1, *(kind.joint.nv for kind in tree.model.tables.kinds)))
        self._given = [[self._of(x, group) for x in self.ports] for group in self.groups]
        # X takes motions from the parent to the body, S has the motions of the joint, M is the inertia
        shapes = (6, 6), (6, nv), (6, 6), (6,), (6,), (nv,), (6,), (3,), (10,)
        self.X, self.S, M, vJ, bias, self.tau, load, origin, inertia = self.by_group(self._joints, 4, *shapes)
        self.M = np.concatenate((M, self.zeros(1, 6, 6)))
        self.p = self.zeros(n + 1, 6)  # the force at zero acceleration
        self.a, self.qdd = self.zeros(n + 1, 6), self.zeros(n, nv)  # to be found; so far the base's
        w = self.w = self.zeros(n + 1, 3)  # angular velocity
        self.a[-1] = packed((tree.base_acceleration + a0[tree.base]).scalars, 6)
        w[-1] = packed(v0[tree.base].angular, 3)
        self.outward(self.X[..., :3, :3], vJ[..., :3], w)
        # c is the acceleration by velocities alone, with the parent and the joint at rest
        self.c, self.p[:-1] = tree.run(_by_velocity, self.X, w[:-1], w[self.parent], vJ, bias, origin, inertia, load)

    def outward(self, A: Array, b: Array, x: Array) -> None:
        """Fill in x_i = A_i x_p + b_i for all bodies, by a scan along each path; the base's x is known."""
        for path in self.paths:
            out = path[::-1]
            (x[out],) = scan(affine, moved, (A[out], b[out]), (x[self.parent[out[:1]]],), self.tree.run)

    @cached_property
    def count(self) -> int:
        """The number of bodies."""
        return len(self.parent)

    @cached_property
    def index(self) -> list[Index]:
        """The bodies."""
        return [i for i, _ in self.tree.outward()]

    def zeros(self, *shape: int) -> Array:
        """Return an array for so many bodies, of these shapes."""
        shape = shape[0], *self._batch, *shape[1:]
        return np.full(shape, 0.0, self.dtype) if self.tree.zero_array is None else self.tree.zero_array(shape)

    def eye(self, n: int) -> Array:
        """Return n unit matrices."""
        found = self.zeros(n, 6, 6)
        found[:] = np.eye(6)
        return found

    def release(self, IA: Array, bodies: Array) -> tuple[Array, Array, Array]:
        """Let the joints of these bodies give way: G = IA S D^-1, D^-1 for D = S^T IA S + armature, and IA - G D G^T.

        IA has a row for each of the bodies.
        """
        n, nv = len(bodies), self.S.shape[-1]
        if self._one_group and self.groups[0].kind.joint.nv == nv:
            group, places = self.groups[0], self._place[bodies]
            rows, q = (x[places] if len(x) > 1 else x for x in (group.rows, self._given[0][0]))
            parts = self.tree.run(self._released(group), rows, q, IA)
            shapes = (6, nv), (nv, nv), (6, 6)
            if all(x.shape == (n, *self._batch, *shape) for x, shape in zip(parts, shapes, strict=True)):
                G, Di, Ia = parts
                return G, Di, Ia
        G, Di, Ia = self.zeros(n, 6, nv), self.zeros(n, nv, nv), self.zeros(n, 6, 6)
        for number in np.unique(self._group[bodies]):
            group, inside = self.groups[number], self._inside(bodies, number)
            m, rows, q = group.index.kind.joint.nv, group.rows, self._given[number][0]
            if self._numbers:
                places = self._place[bodies[inside]]
                rows, q = (x[places] if len(x) > 1 else x for x in (rows, q))
            found = self.tree.run(self._released(group), rows, q, IA[inside])
            G[inside, ..., :m], Di[inside, ..., :m, :m], Ia[inside] = found
        return G, Di, Ia

    def by_group(self, make: Callable[[Group], Piece], inputs: int, *shapes: tuple[int, ...]) -> tuple[Array, ...]:
        """Run a piece for each group, on its rows and its first inputs: q, qd, tau, external.

        Return the results of all bodies, padded by zeros.
        """
        if self._one_group:
            parts = self.tree.run(make(self.groups[0]), self.groups[0].rows, *self._given[0][:inputs])
            if all(x.shape == (self.count, *self._batch, *shape) for x, shape in zip(parts, shapes, strict=True)):
                return parts
        found = tuple(self.zeros(self.count, *shape) for shape in shapes)
        for group, given in zip(self.groups, self._given, strict=True):
            parts = self.tree.run(make(group), group.rows, *given[:inputs])
            for x, part, shape in zip(found, parts, shapes, strict=True):
                where = (group.bodies, ..., *(slice(size) for size in part.shape[part.ndim - len(shape) :]))
                x[where] = part
        return found

    @cached_property
    def regular(self) -> Array:
        """True for bodies with a fixed, well-conditioned inertia: a mass, and no tiny inertia about any axis."""
        m, x, y, z, *second = self.tree.model.tables.rows[:, INERTIA].T
        h, I = np.stack((x, y, z), 1), np.stack(second, 1)[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
        about_centre = m[:, None, None] * I - (
            (h * h).sum(1)[:, None, None] * np.eye(3) - h[:, :, None] * h[:, None, :]
        )
        least, _, most = np.linalg.eigvalsh(about_centre).T
        found, variation = np.asarray((m > 0.0) & (least > 1e-6 * most)), self.tree.model.variation
        return found if variation is None else found & ~variation.by_joint("inertia")

    def answer(self) -> Output | RowAnswer:
        """Return the accelerations of the joints, once they are in `qdd`."""
        if self._numbers:
            return RowAnswer(self._flat_accelerations())
        found = self.tree.output("v")
        for k, i in enumerate(self.index):
            found[i] = Freedoms(self.qdd[k][..., r][()] for r in range(i.kind.joint.nv))
        return found

    def wrenches(self, f: Array) -> Output:
        """Return the wrenches f through joints, without borrowed inertia, for which `a` must have the accelerations."""
        found = self.tree.output("wrenches")
        for k, i in enumerate(self.index):
            wrench, borrowed = Force.of(_parts(f[k])), i.borrowed
            if borrowed is not None:
                gyroscopic = Spin(_parts(self.w[k])).gyroscopic(borrowed)
                wrench = wrench - borrowed @ Motion.of(_parts(self.a[k])) - gyroscopic
            found[i] = wrench
        return found

    def _flat_accelerations(self) -> Array:
        """Return the accelerations of the joints, with a row for each freedom of the robot."""
        model = self.tree.model
        found = self.zeros(model.nv)
        for group in self.groups:
            if not group.kind.follows:  # otherwise the joint that it follows has the coordinates
                for k in range(group.kind.joint.nv):
                    found[model.tables.v_start[group.bodies] + k] = self.qdd[group.bodies, ..., k]
        return found

    def _find_shape(self, *given: Input) -> None:
        """Find the shape of the batch and the kind of scalars."""
        arrays = [x.scalars for x in given if x.given]
        self._numbers = all(hasattr(x, "rows") for x in arrays)
        if self._numbers:
            batches, kinds = [x.batch for x in arrays], [x.dtype for x in arrays]
        else:  # from a body that has coordinates
            i = next((i for i in self.index if i.kind.joint.nv), self.index[0])
            scalars = [x for value in given for x in leaves(value[i]) if type(x) is not float]
            batches = [getattr(x, "shape", ()) for x in scalars]
            kinds = [getattr(x, "dtype", np.dtype(object)) for x in scalars]
        self._batch = np.broadcast_shapes(*batches)
        self.dtype = np.result_type(np.float32, *kinds) if kinds else np.dtype(float)

    def _find_groups(self) -> None:
        kind = self.tree.model.tables.kind
        self._group = np.array(kind if self._numbers else range(self.count), int)
        self._place = np.zeros(self.count, int)
        self.groups: list[Group] = []
        for number in range(int(self._group.max()) + 1):
            where = np.flatnonzero(self._group == number)
            self._place[where] = range(len(where))
            self.groups.append(
                self._together(number, where) if self._numbers else Group(number, self.index[number], number)
            )

    def _together(self, number: int, bodies: Array) -> Group:
        """Return the bodies of one kind as a group."""
        rows = self.tree.number_rows(bodies)
        alike = (rows == rows[0]).all(axis=0)
        numbers = tuple(x if same else None for x, same in zip(rows[0].tolist(), alike, strict=True))
        varying = rows[:, ~alike].astype(self.dtype).reshape(len(bodies), *(1 for _ in self._batch), -1)
        return Group(number, self.tree.index(int(bodies[0])), bodies, numbers, varying)

    @property
    def _one_group(self) -> bool:
        """True if one formula serves all bodies, more than one: then its results need not be put together."""
        return self._numbers and len(self.groups) == 1 and self.count > 1

    def _inside(self, bodies: Array, number: int) -> Any:
        """Return the places of the bodies of a group among some bodies."""
        inside = np.flatnonzero(self._group[bodies] == number)
        return inside if self._numbers else int(inside[0])

    def _of(self, given: Input, group: Group) -> Array:
        """Return the numbers of an argument for the bodies of a group."""
        if self._numbers:
            found: Array = given.rows(group.bodies)
            missing = (1,) * (len(self._batch) + 2 - found.ndim)
            return found.reshape(len(found), *missing, *found.shape[1:]) if missing else found
        scalars = given.numbers(group.index)
        return packed(scalars, len(scalars))

    def position(self, i: Index, q: Array) -> Freedoms:
        """Return the coordinates of a joint from their numbers in the argument."""
        found: Freedoms = self.ports[0].part(i, freedoms(q))
        return found

    def _joints(self, group: Group) -> Piece:
        """Return the piece that evaluates the joints of a group."""
        ports = self.ports

        def joints(rows: Array, *given: Array) -> Arrays:
            i = group.of(rows)
            values = (port.part(i, freedoms(x)) for port, x in zip(ports, given, strict=True))
            position, velocity, tau, external = values
            X, S, nv = i.transform(position), i.subspace(position), group.kind.joint.nv
            force = tau - i.gyration(position, velocity)
            return (
                transpose(packed([x for unit in _UNITS for x in (X @ unit).scalars], 6, 6)),
                transpose(packed([x for column in S.columns for x in column.scalars], nv, 6)),
                packed([x for row in i.inertia.articulated().rows() for x in row], 6, 6),
                packed((S @ velocity).scalars, 6),
                packed(i.bias(position, velocity).scalars, 6),
                packed(force, nv),
                packed(external.scalars, 6),
                packed(X.origin, 3),
                packed(leaves(i.inertia), 10),
            )

        return Piece(joints, (1, 1, 1, 1, 1), ("joints", group.number, tuple(x.given for x in ports)))

    def _released(self, group: Group) -> Piece:
        """Return the piece that lets the joints of a group give way."""

        def released(rows: Array, q: Array, IA: Array) -> Arrays:
            i = group.of(rows)
            upper = {(r, c): IA[..., r, c][()] for r in range(6) for c in range(r, 6)}
            S = i.subspace(self.position(i, q))
            G, D, left = eliminate(ArticulatedInertia.of_upper(upper), S, i.armature)
            nv = len(G.columns)
            units = (tuple(1.0 if r == k else 0.0 for r in range(nv)) for k in range(nv))
            return (
                transpose(packed([x for column in G.columns for x in column.scalars], nv, 6)),
                packed([x for unit in units for x in D.solve(unit)], nv, nv),
                packed([x for row in left.rows() for x in row], 6, 6),
            )

        return Piece(released, (1, 1, 2), ("released", group.number))


Solve = Callable[[BodyArrays, Array | None], None]


def declare(name: str, **about: Any) -> Callable[[Solve], Solve]:
    """Declare a method of forward dynamics and of constraint forces by one function.

    `solve(bodies, wrenches)` finds the accelerations, and fills in the wrenches through the joints if it gets an array.
    """

    def declared(solve: Solve) -> Solve:
        @algorithm("forward_dynamics", name, sweeps=False, borrows=True, **about)
        def accelerations(tree: Tree, *inputs: Input) -> Output | RowAnswer:
            if not tree.model.nv:
                return tree.output("v")
            k = BodyArrays(tree, *inputs)
            solve(k, None)
            return k.answer()

        @algorithm("constraint_forces", name, sweeps=False, borrows=True, **about)
        def wrenches(tree: Tree, *inputs: Input) -> Output:
            if not tree.model.bodies:
                return tree.output("wrenches")
            k = BodyArrays(tree, *inputs)
            f = k.zeros(len(k.index), 6)
            solve(k, f)
            return k.wrenches(f)

        return solve

    return declared


def freedoms(x: Array) -> Freedoms:
    """Return the numbers along the last axis."""
    return Freedoms(_parts(x))


@piece(2, 1)
def solution(A: Array, x: Array) -> Arrays:
    """Solve symmetric positive definite systems."""
    return (packed(factor(A).solve(freedoms(x)), x.shape[-1]),)


def factor(A: Array) -> Factor:
    """Return symmetric positive definite matrices, factorised."""
    n = A.shape[-1]
    return Factor.of(tuple(tuple(A[..., r, c][()] for c in range(n)) for r in range(n)))


@piece(2, 1, 1, 1, 1, 1, 1, 1)
def _by_velocity(
    X: Array, w: Array, carrier: Array, vJ: Array, bias: Array, origin: Array, inertia: Array, load: Array
) -> Arrays:
    """Return accelerations c, and forces p at zero acceleration."""
    spin, relative = Spin(_parts(w)), Motion(_parts(vJ[..., :3]), _parts(vJ[..., 3:]))
    turning = packed((0.0, 0.0, 0.0, *Spin(_parts(carrier)).centripetal(_parts(origin))), 6)
    c = times(X, turning) + packed(spin.coriolis(relative).scalars, 6) + bias
    body = Inertia(inertia[..., 0][()], _parts(inertia[..., 1:4]), _parts(inertia[..., 4:]))
    return c, packed(spin.gyroscopic(body).scalars, 6) - load


def _parts(x: Array) -> Any:
    """Return a tuple of scalars, from the last axis."""
    return tuple(x[..., k][()] for k in range(x.shape[-1]))


def _paths(parent: list[int]) -> list[Array]:
    """Return the tree as paths, each from tip to root; a path comes before the paths that it carries."""
    n = len(parent)
    size, heavy = [1] * n, [-1] * n
    for k in reversed(range(n)):
        p = parent[k]
        if p >= 0:
            size[p] += size[k]
            if heavy[p] < 0 or size[k] > size[heavy[p]]:
                heavy[p] = k
    paths = []
    for k in range(n):
        if parent[k] < 0 or heavy[parent[k]] != k:
            path = [k]
            while heavy[path[-1]] >= 0:
                path.append(heavy[path[-1]])
            paths.append(np.array(path[::-1]))
    return paths
