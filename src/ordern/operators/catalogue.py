"""The named operators of a state: the spaces between which each acts, and its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from ..errors import ArgumentError, unknown_name
from ..model import BASE, Frame
from ..rotations import skew
from .sources import Array, Blocks, Entry, Source, Sweep, inverse
from .spaces import Space
from .state import State, rigid

__all__ = ["Catalogue"]

Make = Callable[[], Iterable[Array]]


class Catalogue:
    """The operators of one state, by name. Their blocks are computed when one is first applied."""

    def __init__(self, state: State, tips: tuple[Frame, ...]) -> None:
        self.state, self.tips = state, tips
        freedoms = tuple(s.shape[1] for s in state.S)
        six = (6,) * len(freedoms)
        v = Space("joint velocities", "joint forces", freedoms)
        m = Space("motions of the bodies", "forces on the bodies", six)
        before = Space("motions of the parents at the joints", "forces on the parents at the joints", six)
        base = Space("a motion of the base", "a force on the base", (6,))
        ends = Space("motions of the tips", "forces at the tips", (6,) * len(tips))
        barred = Space("motions that joints forbid", "constraint forces", tuple(6 - k for k in freedoms))
        diagonal, step, s = self._diagonal, self._step, state
        self._table: dict[str, Callable[[], Source]] = {
            "H": partial(diagonal, m.T, v.T, lambda: [x.T for x in s.S]),
            "X": partial(diagonal, before, m, lambda: s.X, invertible=True),
            "M": partial(diagonal, m, m.T, lambda: s.M, symmetric=True),
            "R": partial(diagonal, m, m.T, lambda: s.R, symmetric=True),
            "P": partial(diagonal, m, m.T, lambda: s.articulated.P, symmetric=True),
            "A": partial(diagonal, v, v.T, lambda: [np.diag(x) for x in s.armature], symmetric=True),
            "D": partial(diagonal, v, v.T, lambda: s.articulated.D, symmetric=True),
            "D^-1": partial(diagonal, v.T, v, lambda: s.articulated.D_inverse, symmetric=True),
            "G": partial(diagonal, v.T, m.T, lambda: s.articulated.G),
            "L": partial(diagonal, v.T, before.T, lambda: _gains(s)),
            "tau": partial(diagonal, m.T, m.T, lambda: _tau(s)),
            "tau_bar": partial(diagonal, m.T, m.T, lambda: [np.eye(6, dtype=t.dtype) - t for t in _tau(s)]),
            "T_J": partial(diagonal, barred.T, m.T, lambda: [_complement(x) for x in s.S]),
            "S": partial(step, before.T, m.T, lambda: [np.eye(6, dtype=s.X.dtype) for _ in s.parent]),
            "E_phi": partial(step, m.T, m.T, lambda: [x.T for x in s.X]),
            "K": partial(step, v.T, m.T, lambda: _gains(s)),
            "E_psi": partial(step, m.T, m.T, lambda: [x.T - x.T @ t for x, t in zip(s.X, _tau(s), strict=True)]),
            "phi": lambda: Sweep(self._steps("E_phi")),
            "phi~": lambda: Sweep(self._steps("E_phi"), strict=True),
            "psi": lambda: Sweep(self._steps("E_psi")),
            "psi~": lambda: Sweep(self._steps("E_psi"), strict=True),
            "E": lambda: Blocks(base, m, self._root_entries, "local"),
            "B": lambda: Blocks(ends.T, m.T, self._tip_entries, "local"),
        }
        self._made: dict[str, Source] = {}

    def find(self, name: str) -> Source:
        """Return the operator of this name."""
        if name not in self._made:
            self._made[name] = self._new(name)
        return self._made[name]

    def _new(self, name: str) -> Source:
        made = self._table.get(name)
        if made is not None:
            return made()
        if name.endswith("^-1"):
            source = self.find(name[:-3])
            if isinstance(source, Blocks) and source.invertible:
                return source.inverted(name[:-3])
        raise unknown_name("operator", name, self._table)

    def _steps(self, name: str) -> Blocks:
        source = self.find(name)
        assert isinstance(source, Blocks)
        return source

    def _diagonal(
        self, domain: Space, codomain: Space, make: Make, *, symmetric: bool = False, invertible: bool = False
    ) -> Blocks:
        """Return one block for each body."""

        def entries() -> Iterable[Entry]:
            return ((k, k, block) for k, block in enumerate(make()))

        invertible = invertible or symmetric
        return Blocks(domain, codomain, entries, "memoryless", symmetric=symmetric, invertible=invertible)

    def _step(self, domain: Space, codomain: Space, make: Make) -> Blocks:
        """Return an operator with one block from each body to its parent, unless that is the base."""
        parent = self.state.parent

        def entries() -> Iterable[Entry]:
            return ((parent[k], k, block) for k, block in enumerate(make()) if parent[k] >= 0)

        return Blocks(domain, codomain, entries, "causal")

    def _root_entries(self) -> Iterable[Entry]:
        return [(i, 0, self.state.X[i]) for i, p in enumerate(self.state.parent) if p < 0]

    def _tip_entries(self) -> Iterable[Entry]:
        """Yield the block of each tip's frame relative to the coordinates of its body."""
        for k, frame in enumerate(self.tips):
            if frame.body == BASE:
                raise ArgumentError(f"operators: a tip is on a body, but frame {frame.name!r} is fixed to the base")
            R, p = frame.placement.R.astype(self.state.X.dtype), frame.placement.p
            X = rigid(R.T, -R.T @ skew(p))
            yield frame.body, k, (X @ self.state.from_coordinates[frame.body]).T


def _gains(s: State) -> list[Array]:
    """Return X_i^T G_i, the gain at the parent."""
    return [x.T @ g for x, g in zip(s.X, s.articulated.G, strict=True)]


def _tau(s: State) -> list[Array]:
    return [g @ x.T for g, x in zip(s.articulated.G, s.S, strict=True)]


def _complement(S: Array) -> Array:
    """Return an orthonormal basis of the forces that do no work along the columns of S."""
    nv = S.shape[1]
    if not nv:
        return np.eye(6, dtype=S.dtype)
    T: Array = np.linalg.qr(S.astype(np.float64), mode="complete")[0][:, nv:].astype(S.dtype)
    T = T - S @ (inverse(S.T @ S) @ (S.T @ T))  # in the precision of S
    return T
