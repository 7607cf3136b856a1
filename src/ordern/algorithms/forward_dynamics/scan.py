"""What algorithms of logarithmic depth have in common: all bodies as arrays, and scans along paths of the tree.

A sequence of steps s_k = e_k(s_{k-1}) need not be taken one after the other if two steps can be made into one: then
neighbours are combined pair by pair, the sequence of half the length is treated likewise, and what lies between its
states takes one step more. All pairs of a level are independent of each other, so that n steps have a depth of
2 log2 n combinations, and about 2 n of them are done in all (Brent and Kung 1982, Blelloch 1990).

Here the pairs of a level are the leading axis of NumPy arrays, of numbers or, when a graph is traced, of nodes: one
call of `combine` is one level. A tree is a number of paths; each hangs on an earlier one, and passes on from tip to
base what its own scan gives at its root. Along every path to a tip one meets at most log2 n of them, because each body
is continued by the child that carries most (Sleator and Tarjan's heavy paths).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...model import Index, Tree
from ...model.tables import INERTIA
from ...spatial import ArticulatedInertia, Freedoms, Inertia, Motion, Spin, Subspace, eliminate, leaves, rebuild

__all__ = ["Bodies", "affine", "inverse", "moved", "scan", "symmetric", "times", "transpose"]

Array = NDArray[Any]
Values = tuple[Array, ...]
_UNITS = tuple(Motion.of(tuple(1.0 if k == axis else 0.0 for k in range(6))) for axis in range(6))


def scan(combine: Callable[..., Values], act: Callable[..., Values], elements: Values, start: Values) -> Values:
    """The states after each element: act(e_1, start), act(e_2, act(e_1, start)) ...

    Elements and states are tuples of arrays along whose first axis they are counted; `combine(e_1, e_2)` is the
    element that acts as e_1 and then e_2 do.
    """
    n = len(elements[0])
    if n == 0:
        return tuple(s[:0] for s in start)
    if n == 1:
        return act(elements, start)
    pairs = combine(tuple(x[: n - 1 : 2] for x in elements), tuple(x[1::2] for x in elements))
    odd = scan(combine, act, pairs, start)
    before = tuple(np.concatenate((s, o))[: (n + 1) // 2] for s, o in zip(start, odd, strict=True))
    even = act(tuple(x[::2] for x in elements), before)
    found = tuple(np.empty((n, *s.shape[1:]), s.dtype) for s in even)
    for x, e, o in zip(found, even, odd, strict=True):
        x[::2], x[1::2] = e, o
    return found


def affine(one: Values, other: Values) -> Values:
    """The maps x -> A x + b, one after the other."""
    (A1, b1), (A2, b2) = one, other
    return A2 @ A1, times(A2, b1) + b2


def moved(one: Values, x: Values) -> Values:
    """The map x -> A x + b."""
    return (times(one[0], x[0]) + one[1],)


def times(A: Array, x: Array) -> Array:
    """Matrices by vectors."""
    return np.asarray((A @ x[..., None])[..., 0])


def transpose(A: Array) -> Array:
    """Of the last two axes."""
    return np.swapaxes(A, -1, -2)


def symmetric(A: Array) -> Array:
    """The matrix with the upper half of A: what is symmetric by theory is so to the last bit."""
    upper = np.tri(A.shape[-1], dtype=bool).T
    return np.where(upper, A, transpose(A))


def inverse(A: Array) -> Array:
    """The inverses of symmetric positive definite matrices, of which the upper halves are read."""
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


class Bodies:
    """What forward dynamics needs of every body, as arrays whose first axis is the body; row -1 is the base.

    Further axes are the batch's, the last ones those of matrices and vectors. All joints have the freedoms of the one
    that has most; those that a joint lacks are zeros. Where scalars are numbers, bodies of one kind are one group whose
    formulas are evaluated at once; where they are nodes of a graph, or numbers of another kind, each body is a group.
    """

    def __init__(self, tree: Tree, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> None:
        """Gather and compute them; angular velocities by a scan along each path."""
        self.tree, self.parent = tree, tree.model.tables.parent
        self.index = [i for i, _ in tree.outward()]
        self.paths = _paths(self.parent.tolist())
        self._find_shape(q, qd, tau, external, v0, a0)
        self._find_groups()
        n, nv = len(self.index), max((1, *(i.kind.joint.nv for i in self.index)))
        self.X = self.zeros(n, 6, 6)  # takes motions from the parent to the body
        self.S = self.zeros(n, 6, nv)  # motions that the joint lets through
        self.M = self.zeros(n + 1, 6, 6)  # inertia
        self.p = self.zeros(n + 1, 6)  # force at zero acceleration
        self.c = self.zeros(n, 6)  # acceleration by velocities alone, with the parent and the joint at rest
        self.a = self.zeros(n + 1, 6)  # acceleration, to be found; so far the base's
        self.tau, self.qdd = self.zeros(n, nv), self.zeros(n, nv)
        vJ, bias, load, w = self.zeros(n, 6), self.zeros(n, 6), self.zeros(n, 6), self.zeros(n + 1, 3)
        origin, inertia = self.zeros(n, 3), self.zeros(n, 10)

        for number, (i, where) in enumerate(self._groups):
            position, velocity = self._of(q, number), self._of(qd, number)
            X, S = i.transform(position), i.subspace(position)
            self._joints.append((S, i.armature))
            for k, unit in enumerate(_UNITS):
                _put(self.X[..., k], where, (X @ unit).scalars)
            for k, column in enumerate(S.columns):
                _put(self.S[..., k], where, column.scalars)
            for k, row in enumerate(i.inertia.articulated().rows()):
                _put(self.M[..., k], where, row)
            _put(vJ, where, (S @ velocity).scalars)
            _put(bias, where, i.bias(position, velocity).scalars)
            _put(self.tau, where, self._of(tau, number))
            _put(load, where, self._of(external, number).scalars)
            _put(origin, where, X.origin)
            _put(inertia, where, leaves(i.inertia))
        _put(self.a, -1, (tree.base_acceleration + a0[tree.base]).scalars)
        _put(w, -1, v0[tree.base].angular)

        for path in self.paths:
            out = path[::-1]
            turns = (self.X[out, ..., :3, :3], vJ[out, ..., :3])
            (w[out],) = scan(affine, moved, turns, (w[self.parent[out[:1]]],))
        spin, carrier = Spin(_parts(w[:-1])), Spin(_parts(w[self.parent]))
        _put(self.c[..., 3:], slice(None), carrier.centripetal(_parts(origin)))
        relative = Motion(_parts(vJ[..., :3]), _parts(vJ[..., 3:]))
        self.c = times(self.X, self.c) + _six(spin.coriolis(relative), self.c) + bias
        body = Inertia(inertia[..., 0], _parts(inertia[..., 1:4]), _parts(inertia[..., 4:]))
        self.p[:-1] = _six(spin.gyroscopic(body), self.c) - load

    def zeros(self, *shape: int) -> Array:
        """An array for so many bodies, of these shapes."""
        return np.full((shape[0], *self._batch, *shape[1:]), 0.0, self._dtype)

    def eye(self, n: int) -> Array:
        """So many unit matrices."""
        return self.zeros(n, 6, 6) + np.eye(6).astype(self._dtype)

    def release(self, IA: Array, bodies: Array) -> tuple[Array, Array, Array]:
        """Let the joints of these bodies give way: G = IA S D^-1, D^-1 for D = S^T IA S + armature, and IA - G D G^T.

        IA has a row for each of the bodies.
        """
        n, nv = len(bodies), self.S.shape[-1]
        G, Di, Ia = self.zeros(n, 6, nv), self.zeros(n, nv, nv), self.zeros(n, 6, 6)
        for number in np.unique(self._group[bodies]):
            inside: Any = np.flatnonzero(self._group[bodies] == number)
            S, armature = self._joints[number]
            if self._numbers:
                S, armature = (_taken(x, self._place[bodies[inside]]) for x in (S, armature))
            else:
                inside = int(inside[0])
            chosen = IA[inside]
            upper = {(r, c): chosen[..., r, c][()] for r in range(6) for c in range(r, 6)}
            g, d, left = eliminate(ArticulatedInertia.of_upper(upper), S, armature)
            for k, column in enumerate(g.columns):
                _put(G[..., k], inside, column.scalars)
                unit = tuple(1.0 if r == k else 0.0 for r in range(len(g.columns)))
                _put(Di[..., k], inside, d.solve(unit))
            for k, row in enumerate(left.rows()):
                _put(Ia[..., k], inside, row)
        return G, Di, Ia

    @cached_property
    def regular(self) -> Array:
        """Which bodies have an inertia that can be inverted well: it has mass, and none about any axis is tiny."""
        m, x, y, z, *second = self.tree.model.tables.rows[:, INERTIA].T
        h, I = np.stack((x, y, z), 1), np.stack(second, 1)[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
        about_centre = m[:, None, None] * I - (
            (h * h).sum(1)[:, None, None] * np.eye(3) - h[:, :, None] * h[:, None, :]
        )
        least, _, most = np.linalg.eigvalsh(about_centre).T
        return np.asarray((m > 0.0) & (least > 1e-6 * most))

    def answer(self) -> Any:
        """The accelerations of the joints, once they are in `qdd`."""
        found = self.tree.output("v")
        for k, i in enumerate(self.index):
            found[i] = Freedoms(self.qdd[k][..., r][()] for r in range(i.kind.joint.nv))
        return found

    def _find_shape(self, *given: Any) -> None:
        """The batch, and the kind of scalars: a body that has coordinates tells for all."""
        i = next((i for i in self.index if i.kind.joint.nv), self.index[0])
        scalars = [x for value in given for x in leaves(value[i]) if type(x) is not float]
        self._batch = np.broadcast_shapes(*(getattr(x, "shape", ()) for x in scalars))
        kinds = {getattr(x, "dtype", np.dtype(object)) for x in scalars}
        self._dtype = np.result_type(np.float32, *kinds) if kinds else np.dtype(float)
        self._numbers = self._dtype.kind == "f"

    def _find_groups(self) -> None:
        kind = self.tree.model.tables.kind
        self._group = np.array(kind if self._numbers else range(len(self.index)), int)
        self._place = np.zeros(len(self.index), int)
        self._groups: list[tuple[Index, Any]] = []
        self._joints: list[tuple[Subspace, Freedoms]] = []
        for number in range(int(self._group.max()) + 1):
            where = np.flatnonzero(self._group == number)
            self._place[where] = range(len(where))
            self._groups.append((self._together(where), where) if self._numbers else (self.index[number], number))

    def _together(self, bodies: Array) -> Index:
        """Bodies of one kind as one: its numbers are arrays with an entry for each, unless they are all the same."""
        rows = [self.index[k].row(slice(None)) for k in bodies]
        table = np.array(rows, self._dtype)
        alike = (table == table[0]).all(axis=0)
        shape = (-1, *(1 for _ in self._batch))
        numbers = [x if same else c.reshape(shape) for x, same, c in zip(rows[0], alike, table.T, strict=True)]
        return Index(None, self.index[bodies[0]].kind, numbers.__getitem__)

    def _of(self, given: Any, number: int) -> Any:
        """An input of the bodies of a group."""
        where = self._groups[number][1]
        if not self._numbers:
            return given[self.index[where]]
        values = [given[self.index[k]] for k in where]
        rows = values if isinstance(values[0], Freedoms) else [value.scalars for value in values]
        return rebuild(values[0], map(self._column, zip(*rows, strict=True)))

    def _column(self, scalars: Sequence[Any]) -> Array:
        """Scalars of several bodies as one."""
        column = np.array(scalars, self._dtype)
        missing = (1,) * (len(self._batch) + 1 - column.ndim)
        return column.reshape(len(column), *missing, *column.shape[1:])


def _put(array: Array, where: Any, scalars: Sequence[Any]) -> None:
    """Store scalars, each of which is a number or has one for each body and state, along the last axis."""
    for k, x in enumerate(scalars):
        array[where, ..., k] = x


def _taken(value: Any, places: Array) -> Any:
    """The same for some of the bodies of a group."""
    return rebuild(value, iter([x[places] if getattr(x, "ndim", 0) and len(x) > 1 else x for x in leaves(value)]))


def _parts(x: Array) -> Any:
    """A tuple of scalars, from the last axis."""
    return tuple(np.moveaxis(x, -1, 0))


def _six(x: Any, like: Array) -> Array:
    found = np.empty_like(like)
    _put(found, slice(None), x.scalars)
    return found


def _paths(parent: list[int]) -> list[Array]:
    """The tree as paths, from tip to root each; those come first that carry others."""
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
