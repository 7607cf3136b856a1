"""Accelerations and multipliers of closed loops as implicit functions: how they change with the equations of motion.

With M a - K^T lambda = f and K a = c, changes of the equations by (c1, c2) change the solution by

    M da - K^T dlambda = c1,    K da = c2

Where rows of K depend on each other, they are replaced by orthonormal rows V that forbid the same (see `rank`),
K = diag(s) U diag(sigma) V:

    [ M  V^T ] [  da ]   [  c1  ]
    [ V   0  ] [ -mu ] = [ C c2 ],    C = diag(1 / sigma) U^T diag(1 / s),    dlambda = D mu + Z Z^T dK y

D mu are the shortest multipliers with the joint forces V^T mu. The last term turns the multipliers of least norm
together with the range of K: Z spans the rest, Z^T K = 0, and lambda = K y. It holds as long as the rank stays the
same. The matrix is symmetric, so that gradients need the solution of the same equations for weights of da and dlambda.

It is solved in the motions N that loops allow, V N = 0: bodies may be massless, as in `null_space`. Where all rows are
far from dependent, the compiled function `closed_solve` solves the equations as they are.

Reference: Featherstone and Orin 2000, eqs. (20), (22); Griewank and Walther 2008, sec. 15.1, for implicit functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.closed_loop.rank import TOLERANCE, decide, groups
from ..algorithms.closed_loop.reduced import SMALLEST_PIVOT
from ..errors import SingularError
from ..records import dataclass
from .consistent import whose
from .dynamics import compiles, massive, usual_method
from .kernels import Array, asking

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ImplicitMotion", "refuse_singular"]

_CHANGES = 1e-6
"""The rate of a dependent row along motions that loops allow, as a part of the rates of all rows, above which the rank
changes. Positions that are closed to 1e-10 leave about 1e-9."""


_KEEP = -1.0
"""No row is left out, however small its pivot: so the smallest pivot tells of all rows."""
_EMPTY = 1e-6
"""Rows that are smaller than this part of the largest may be empty."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The states with one rank r: their numbers in the batch, and the matrices of the text above."""

    which: Array
    M: Array
    V: Array
    """(m, r, nv)"""
    N: Array
    """(m, nv, nv - r)"""
    C: Array
    """(m, r, nc)"""
    D: Array
    """(m, nc, r)"""
    Z: Array
    """(m, nc, nc - r)"""

    def solve(self, b1: Array, b2: Array) -> tuple[Array, Array]:
        """Return the solution x1, x2 of M x1 + V^T x2 = b1, V x1 = b2, for several columns."""
        Vt, Nt = np.swapaxes(self.V, -1, -2), np.swapaxes(self.N, -1, -2)
        x1 = Vt @ b2
        if self.N.shape[-1]:
            x1 = x1 + self.N @ np.linalg.solve(Nt @ self.M @ self.N, Nt @ (b1 - self.M @ x1))
        return x1, self.V @ (b1 - self.M @ x1)


class ImplicitMotion:
    """The solutions a and lambda of n states with loops, and their changes."""

    def __init__(
        self, robot: Robot, q: Array, t: Array | None, tolerance: float, rank: int | None, more: Array | None = None,
        factored: bool = False,
    ) -> None:  # fmt: skip
        """Prepare the equations for positions q (n, nq); `more` are rows (n, k, nv) besides those of loops.

        With `factored`, `parts` has the matrices for all states, also where no row is nearly dependent.
        """
        self.robot, self.q, self.t, ask = robot, q, t, asking(robot)
        self.parts: list[_Part] = []
        plain = rank in (None, robot.nc) and more is None and tolerance == TOLERANCE and not factored and robot.nc > 0
        self.regular = plain and usual_method(robot) == "multipliers" and compiles(robot) and self._is_regular()
        """True if all rows are far from dependent, in all states."""
        if self.regular:
            self.rank = np.full(len(q), robot.nc)
            return
        n, nv = len(q), robot.nv
        M = ask("mass_matrix", q)
        self.K = ask("loop_jacobian", q, t=t) if robot.nc else np.zeros((n, 0, nv))
        if more is not None:
            self.K = np.concatenate([self.K, more], axis=1)
        nc = self.K.shape[1]
        found = decide(self.K, tolerance, rank)
        self.rank = found.rank
        for r, which in groups(found.rank):
            V, count = found.rows(which, r), len(which)
            N = np.linalg.qr(np.swapaxes(V, -1, -2), mode="complete")[0][:, :, r:]
            unit = np.broadcast_to(np.eye(nc), (count, nc, nc))
            scaled = np.swapaxes(found.U[which, :, :r], -1, -2) / found.scale[which][:, None, :]
            C = scaled / found.sigma[which, :r, None]
            D = np.swapaxes(C, -1, -2)
            Z = unit[:, :, r:]
            if r < nc:
                columns = [found.multipliers(which, r, np.broadcast_to(e, (count, r))) for e in np.eye(r)]
                D = np.stack(columns, axis=-1) if r else np.zeros((count, nc, 0))
                # K = diag(s) U ..., so that its range is that of diag(s) U
                Z = np.linalg.qr(found.scale[which][..., None] * found.U[which, :, :r], mode="complete")[0][:, :, r:]
            self.parts.append(_Part(which, M[which], V, N, C, D, Z))

    def _solved(self, x: Array, c: Array) -> Array:
        """Return a, lambda and the smallest pivot, (n, k, nv + nc + 1), of M a = x + K^T lambda, K a = c."""
        t = None if self.t is None else self.t[:, None]
        return np.asarray(asking(self.robot)("closed_solve", self.q[:, None], x, c, t=t, drop=_KEEP))

    def _is_regular(self) -> bool:
        """Tell whether the constraints of all states are far from dependent."""
        robot, ask = self.robot, asking(self.robot)
        sizes = np.linalg.norm(ask("loop_jacobian", self.q, t=self.t), axis=-1)
        if not (sizes > _EMPTY * sizes.max(axis=-1, keepdims=True)).all():
            return False
        none = np.zeros(robot.nv), np.zeros(robot.nc)
        return bool((ask("closed_solve", self.q, *none, t=self.t, drop=_KEEP)[..., -1] > SMALLEST_PIVOT).all())

    @property
    def redundant(self) -> bool:
        """True if constraints depend on each other in some state."""
        return any(part.Z.shape[-1] for part in self.parts)

    def changes(self, c1: Array, c2: Array, turned: Array | None) -> tuple[Array, Array]:
        """Return da (n, nv, k) and dlambda (n, nc, k) for k changes of the equations.

        `turned` is dK y (n, nc, k), needed where constraints depend on each other.
        """
        if self.regular:
            x = self._solved(np.swapaxes(c1, -1, -2), np.swapaxes(c2, -1, -2))
            both = np.swapaxes(x[..., :-1], -1, -2)
            return both[:, : self.robot.nv], both[:, self.robot.nv :]
        da, force = np.zeros_like(c1), np.zeros_like(c2)
        for p in self.parts:
            x1, x2 = massive(self.robot, lambda p=p: p.solve(c1[p.which], p.C @ c2[p.which]))  # type: ignore[misc]
            da[p.which], force[p.which] = x1, -(p.D @ x2)
            if turned is not None and p.Z.shape[-1]:
                force[p.which] += p.Z @ (np.swapaxes(p.Z, -1, -2) @ turned[p.which])
        return da, force

    def weights(self, wa: Array, wl: Array) -> tuple[Array, Array, Array]:
        """Return the weights of c1 (n, nv), c2 (n, nc) and dK y (n, nc) in the sum wa . da + wl . dlambda."""
        if self.regular:
            x = self._solved(wa[:, None], -wl[:, None])[:, 0]
            return x[:, : self.robot.nv], -x[:, self.robot.nv : -1], np.zeros_like(wl)
        w1, w2, w3 = np.zeros_like(wa), np.zeros_like(wl), np.zeros_like(wl)
        for p in self.parts:
            right = -(np.swapaxes(p.D, -1, -2) @ wl[p.which, :, None])
            x1, x2 = massive(self.robot, lambda p=p, b=right: p.solve(wa[p.which, :, None], b))  # type: ignore[misc]
            w1[p.which], w2[p.which] = x1[..., 0], (np.swapaxes(p.C, -1, -2) @ x2)[..., 0]
            if p.Z.shape[-1]:
                w3[p.which] = (p.Z @ (np.swapaxes(p.Z, -1, -2) @ wl[p.which, :, None]))[..., 0]
        return w1, w2, w3

    def within(self, force: Array) -> Array:
        """Return y (n, nv), the shortest with lambda = K y, for multipliers of least norm."""
        y = np.zeros((len(self.q), self.robot.nv))
        for p in self.parts:
            y[p.which] = (np.swapaxes(p.V, -1, -2) @ (p.C @ force[p.which, :, None]))[..., 0]
        return y


def refuse_singular(at: ImplicitMotion, who: str, batch: tuple[int, ...]) -> None:
    """Raise if the rank of the constraints changes at some state: there, accelerations have no derivatives.

    Rows that depend on others must do so along every motion that loops allow: Z^T dK N = 0. A random motion tells.
    """
    robot, rng = at.robot, np.random.default_rng(0)
    for p in at.parts:
        free = p.N.shape[-1]
        if not p.Z.shape[-1] or not free:
            continue
        along = (p.N @ rng.normal(size=(free, 1)))[..., 0]
        given = {"q": at.q[p.which]} | ({} if at.t is None else {"t": at.t[p.which]})
        dK = robot.jvp("loop_jacobian", given, {"q": along})
        rise = np.abs(np.swapaxes(p.Z, -1, -2) @ dK @ p.N).max(axis=(-1, -2))
        off = rise > _CHANGES * (np.abs(dK).max(axis=(-1, -2)) + np.abs(at.K[p.which]).max(axis=(-1, -2)))
        if off.any():
            flags = np.zeros(len(at.q), bool)
            flags[p.which[off]] = True
            shaped = flags.reshape(batch)
            index = tuple(int(k) for k in np.argwhere(shaped)[0])
            names = ", ".join(list(robot.loop_rows)[:5])
            raise SingularError(
                f"{who}: {robot.name!r} is in a singular position{whose(shaped, index)}: {int(at.rank[flags][0])} of "
                f"{robot.nc} constraints of its loops ({names}) are independent, and more are nearby, so that the "
                "accelerations have no derivatives here. Ask for them in a position beside it; "
                "robot.mobility(q) has the motions that are possible",
                rank=int(at.rank[flags][0]), index=index,
            )  # fmt: skip
