"""Second derivatives of forward dynamics, from Hessians of inverse dynamics.

With the acceleration a(q, v, tau), its first derivatives a_x, and the row m_k of the inverse mass matrix for each of
its numbers a_k,

    H        = Hessian of m_k . ID(q, v, a) at constant m_k
    a_k,xy   = -(H_xy + H_xa a_y + (H_ya a_x)^T),        H_va = H_aa = 0,        H_x tau = 0

So a batch of Hessians, one for each k, and products with the matrices a_q, a_v and a_tau = M^-1 are enough.

Reference: Singh, Russell and Wensing 2023, On second-order derivatives of rigid-body dynamics: theory and
implementation, sec. V: from inverse to forward dynamics.
Differs: the rows of M^-1 are the weights of a Hessian, which has fewer numbers than the second derivatives of inverse
dynamics, and needs no product with M^-1 afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.derivatives.hessian import pairs_of
from ..arguments import AnyArray
from ..kernel.declarations import Threads
from ..model import BASE, Model
from .call import Call

if TYPE_CHECKING:
    from ..compile.products import Products

__all__ = ["SecondDynamics", "all_pairs", "zeros"]

_CHUNK = 2**19
"""The number of rates that are in memory at a time: about what the second cache holds."""


def all_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs of arguments, each in their order."""
    return [(x, y) for k, y in enumerate(names) for x in names[: k + 1]]


def zeros(shape: tuple[int, ...], dtype: Any) -> AnyArray:
    """Return zeros that take no memory, and that cannot be written to."""
    return np.broadcast_to(np.zeros((), dtype), shape)


class SecondDynamics:
    """The second derivatives of forward dynamics, from Hessians of inverse dynamics."""

    def __init__(self, call: Call, threads: Threads, batch: tuple[int, ...] = ()) -> None:
        """Solve for the acceleration and its first derivatives, in a batch at least of this shape."""
        self._call, self._threads, self._n = call, threads, call.robot.nv
        self._batch = np.broadcast_shapes(call.batch, batch)
        given = {name: call.flattened(name, self._batch) for name in call.given}
        state = Call(call.robot, "forward_dynamics", given, {}, call.method)
        ask = call.robot.derivatives.forward_dynamics
        self._J = ask(**given, wrt=("q", "v", "tau"), method=call.method, threads=threads)
        self._given = {name: x for name, x in given.items() if name != "tau"} | {"a": state.answered(threads)}

    def weighted(self, names: Sequence[str], weights: ArrayLike) -> list[AnyArray]:
        """Return the second derivatives of the weighted sum of accelerations by all pairs of arguments."""
        n, dtype, shape = self._n, self._call.dtype, (*self._batch, self._n, self._n)
        w = np.broadcast_to(np.asarray(weights, dtype), (*self._batch, n)).reshape(math.prod(self._batch), n)
        found = {pair: np.empty((len(w), n, n), dtype) for pair in pairs_of("forward_dynamics", names)}
        wrt = self._varied(names)
        if wrt:
            kernel, required, optional = self._inverse.kernel("hessian", wrt)
            before, after = ([self._given[x] for x in names] for names in (required, optional))
            pairs = pairs_of("inverse_dynamics", wrt)
            rows = -(self._J.tau @ w[:, :, None])[:, :, 0]
            H = kernel(*before, rows, *after, threads=self._threads).reshape(len(w), len(pairs), n, n)
            blocks = {pair: H[:, m] for m, pair in enumerate(pairs)}
            _set(found, blocks, self._J._asdict(), np.empty((len(w), n, n), dtype))
        return [found[x].reshape(shape) if x in found else zeros(shape, dtype) for x in all_pairs(names)]

    @property
    def _inverse(self) -> Call:
        return Call(self._call.robot, "inverse_dynamics", self._given, {}, None)

    def _varied(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments of inverse dynamics by whose pairs second derivatives are needed."""
        return tuple(x for x in ("q", "v", "a") if x in names or (x == "a" and "q" in names))

    def all(self, names: Sequence[str], array: Callable[..., AnyArray]) -> list[AnyArray]:
        """Return the second derivatives by all pairs of arguments, in arrays that `array` makes.

        The Hessians of some states at a time are in memory that the kernel uses again, so that it stays in a cache.
        """
        n, count, dtype = self._n, math.prod(self._batch), self._call.dtype
        found = {pair: array(pair, (count, n, n, n), dtype) for pair in pairs_of("forward_dynamics", names)}
        wrt = self._varied(names)
        if wrt:
            kernel, required, optional = self._inverse.kernel("hessian", wrt)
            pairs = pairs_of("inverse_dynamics", wrt)
            step = max(1, _CHUNK // max(1, 4 * n**3))
            from ..compile.products import Products  # the compiler is not needed before this

            more, products = np.empty((n, n, n), dtype), Products(_on_one_path(self._call.robot), dtype)
            for start in range(0, count, step):
                before, after = (
                    [self._given[x][start : start + step, None] for x in names] for names in (required, optional)
                )
                rows = -self._J.tau[start : start + step]
                H = kernel(*before, rows, *after, threads=self._threads).reshape(len(rows), n, len(pairs), n, n)
                for k, blocks in enumerate(H, start):
                    by_pair = {pair: blocks[:, m] for m, pair in enumerate(pairs)}
                    J = {x: matrices[k] for x, matrices in self._J._asdict().items()}
                    _set_rows({pair: x[k] for pair, x in found.items()}, by_pair, J, more, products)
                del H, blocks, by_pair  # their memory is used again
        shape = (*self._batch, n, n, n)
        return [found[x].reshape(shape) if x in found else zeros(shape, dtype) for x in all_pairs(names)]


def _set(
    found: dict[tuple[str, str], AnyArray], H: dict[tuple[str, str], AnyArray], J: dict[str, AnyArray], more: AnyArray
) -> None:
    """Set second derivatives of accelerations from Hessians, whose weights are negative; `more` is scratch memory."""
    for (x, y), out in found.items():
        if x == "v":
            out[...] = H["v", "v"]
            continue
        np.matmul(H["q", "a"], J[y], out=out if y == "tau" else more)
        if y == "q":
            H["q", "q"] += more
            np.add(H["q", "q"], np.swapaxes(more, -1, -2), out=out)
        elif y == "v":
            np.add(more, H["q", "v"], out=out)


def _set_rows(
    found: dict[tuple[str, str], AnyArray], H: dict[tuple[str, str], AnyArray], J: dict[str, AnyArray], more: AnyArray,
    products: Products,
) -> None:  # fmt: skip
    """Set the second derivatives of all accelerations of one state, as `_set` does."""
    for (x, y), out in found.items():
        if x == "v":
            out[...] = H["v", "v"]
        elif y == "q":
            products.set_sums(more, H["q", "a"], J[y])
            products.set_mirrored(out, more, H["q", "q"])
        else:
            products.set_sums(out, H["q", "a"], J[y], H["q", "v"] if y == "v" else None)


def _on_one_path(model: Model) -> NDArray[np.bool_]:
    """Return for each two freedoms whether they move a body together: joints of both are on a path from the base."""
    paths = np.zeros((len(model.joints), model.nv), bool)
    for k, joint in enumerate(model.joints):
        if joint.parent != BASE:
            paths[k] = paths[joint.parent]
        paths[k, joint.v] = True
    found: NDArray[np.bool_] = paths.T @ paths
    return found
