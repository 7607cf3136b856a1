"""Operational inertia in the directions in which a frame can move: at singular positions, or with few freedoms.

Y = J M^-1 J^T of rank r < 6 has no inverse. Its range are the motions J v that the joints can give the frame. The
inverse among these is the Moore-Penrose inverse: with R (6 x r) an orthonormal basis of the range,

    Lambda = R (R^T Y R)^-1 R^T,    Y Lambda = Lambda Y = R R^T,    the projection on the range

so that a wanted acceleration in the range gets the force Lambda that causes it, and one across it gets none: inertia,
bias force and dynamic inverse M^-1 J^T Lambda are zero in directions in which the frame cannot be moved. (A force in
such a direction is borne by the joints' bearings, and may be added at will.) "Orthonormal" counts a radian as a metre;
the range itself, and so the rank, does not depend on that.

The rank is the number of eigenvalues above a part `tolerance` of the largest, of Y whose angular and linear halves are
divided by their traces: no units matter. Eigenvalues of Y are squares: with 1e-12, positions that are nearer than about
1e-6 rad to a singular one count as singular. All of this is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ArgumentError, SingularError
from ...model import Frame, Model
from ...model.parts import inward, path_length
from ...records import dataclass
from ..composed import Array, Ask
from ..factors.linear import symmetric_inverse

__all__ = ["TOLERANCE", "Movable", "answer", "decide"]

TOLERANCE = 1e-12
"""Eigenvalues below this part of the largest count as zero; rounding gives 1e-15. Above it, four digits of the inverse
are right in the worst direction."""
_NOTHING = 1e-13
"""A half of Y that is smaller than this part of the other, times a length squared, is rounding."""
_NAMES = ("turning about x", "turning about y", "turning about z", "moving along x", "moving along y", "moving along z")


@dataclass(frozen=True, slots=True)
class Movable:
    """The motions that a frame can be given, in several states."""

    rank: Array
    """(n,)"""
    basis: Array
    """(n, 6, 6): orthonormal columns; the first `rank` span the motions that there are."""

    def inverse(self, Y: Array) -> Array:
        """Return the Moore-Penrose inverse (n, 6, 6) of compliances of these ranks."""
        R, can = self.basis, np.arange(6) < self.rank[:, None]
        both = can[:, :, None] & can[:, None, :]
        B = np.where(both, np.swapaxes(R, -1, -2) @ Y @ R, np.eye(6))
        s = 1.0 / np.sqrt(np.einsum("nii->ni", B))
        found = np.linalg.inv(s[:, :, None] * B * s[:, None, :])
        inside = np.where(both, s[:, :, None] * found * s[:, None, :], 0.0)
        Lambda = R @ inside @ np.swapaxes(R, -1, -2)
        return np.asarray(0.5 * (Lambda + np.swapaxes(Lambda, -1, -2)))

    def missing(self, k: int) -> Array:
        """Return the directions (6 - rank, 6) in which the frame cannot move in state k; as many zeros as possible."""
        rows = self.basis[k, :, int(self.rank[k]) :].T.copy()
        for r in range(len(rows)):  # reduce to echelon form, by the largest entries
            i, c = np.unravel_index(np.abs(rows[r:]).argmax(), rows[r:].shape)
            rows[[r, r + i]] = rows[[r + i, r]]
            rows[r] /= rows[r, c]
            rest = np.arange(len(rows)) != r
            rows[rest] -= rows[rest, c][:, None] * rows[r]
        rows[np.abs(rows) < 1e-9] = 0.0
        rows = rows[np.argsort([np.abs(row).argmax() for row in rows], kind="stable")]
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def decide(Y: Array, length: float, tolerance: float = TOLERANCE) -> Movable:
    """Find the directions in which a frame can move, from its compliances (n, 6, 6) and the length of the path to it.

    States that are not finite count as regular.
    """
    finite: Array = np.asarray(np.isfinite(Y).all(axis=(-1, -2)))
    Y = np.where(finite[:, None, None], Y, np.eye(6))
    d, square = np.einsum("nii->ni", Y), length * length
    y_w, y_v = d[:, :3].sum(axis=1), d[:, 3:].sum(axis=1)
    over = np.divide(y_v, square, out=np.zeros_like(y_v), where=square > 0.0)
    s_w = np.where(y_w > _NOTHING * over, y_w, over)
    s_v = np.where(y_v > _NOTHING * square * y_w, y_v, square * y_w)
    s = np.sqrt(np.stack([*(s_w,) * 3, *(s_v,) * 3], axis=1))
    s = np.where(s > 0.0, s, 1.0)
    size, V = np.linalg.eigh(Y / (s[:, :, None] * s[:, None, :]))
    rank = (size > tolerance * np.maximum(size[:, -1:], 0.0)).sum(axis=1)
    basis = np.linalg.qr((s[:, :, None] * V)[:, :, ::-1])[0]
    return Movable(np.where(finite, rank, 6), basis)


def answer(
    ask: Ask,
    model: Model,
    question: str,
    states: Sequence[ArrayLike],
    frame: Frame,
    axes: str,
    tolerance: float | None,
    out: Array,
) -> Array:
    """Correct the answers `out` of a compiled function to one of the questions that need Lambda, of any batch.

    With a tolerance, the answer is among the possible motions. Without, a frame that cannot move in all ways is
    an error; answers that are not numbers for another reason are replaced.
    """
    limit = TOLERANCE if tolerance is None else _checked(question, tolerance)
    core = 1 if question == "operational_bias" else 2
    batch, which = out.shape[: out.ndim - core], np.ones(out.shape[: out.ndim - core], bool)
    settings = {"frame": frame, "axes": axes}
    if tolerance is None and 0 not in out.shape:
        which &= _none(out, core)
        if out.dtype == np.float32:  # most are numbers in double precision
            out[which] = ask(question, *_chosen(states, batch, which), **settings)
            which &= _none(out, core)
        if not which.any():
            return out
    chosen = _chosen(states, batch, which)
    Y = ask("operational_inertia_inverse", chosen[0], **settings)
    doubles = Y.astype(float)
    found = decide(doubles, path_length(model.joints, frame), limit)
    few = found.rank < 6
    if tolerance is None and few.any():
        raise _error(model, question, frame, axes, found, np.argwhere(which))
    Lambda = _inverse(Y)
    if few.any():
        Lambda[few] = Movable(found.rank[few], found.basis[few]).inverse(doubles[few])
    out[which] = _made(ask, question, chosen, Lambda, settings)
    return out


def _none(out: Array, core: int) -> Array:
    """Return True for the states without an answer: their first number is NaN."""
    first = out[..., 0, 0] if core == 2 else out[..., 0]
    return np.asarray(first != first, bool)  # noqa: PLR0124 - of any kind of number


def _chosen(states: Sequence[ArrayLike], batch: tuple[int, ...], which: Array) -> list[Array]:
    """Return the chosen states, in double precision or better."""
    found = [np.broadcast_to(x, (*batch, np.shape(x)[-1]))[which] for x in states]
    return [x if x.dtype.kind == "O" or x.dtype == np.longdouble else x.astype(float) for x in found]


def _inverse(Y: Array) -> Array:
    """Return the inverse of regular compliances, of any kind of number; NaN where it does not exist."""
    with np.errstate(all="ignore"):
        rows = symmetric_inverse(tuple(tuple(Y[:, r, c] for c in range(6)) for r in range(6)))
    return np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)


def _made(ask: Ask, question: str, states: list[Array], Lambda: Array, settings: dict[str, Any]) -> Array:
    """Evaluate a question from Lambda."""
    if question == "operational_inertia":
        return Lambda
    if question == "dynamic_inverse":
        return np.asarray(ask("frame_response", states[0], **settings) @ Lambda)
    q, v = states
    slack = ask("forward_dynamics", q, v, np.zeros_like(v))
    a = ask("acceleration", q, v, slack, kind="classical", **settings)
    return np.asarray(-(Lambda @ a[..., None])[..., 0])


def _checked(question: str, tolerance: Any) -> float:
    real = isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, bool)
    if not real or not 0.0 < tolerance < 1.0:
        raise ArgumentError(
            f"{question}: `tolerance` must be a number between 0 and 1, the part of the largest eigenvalue below which "
            f"one counts as zero, not {tolerance!r}"
        )
    return float(tolerance)


def _error(model: Model, question: str, frame: Frame, axes: str, found: Movable, index: Array) -> SingularError:
    """Return the error for frames that cannot move in all ways; `index` has the place of each state in the batch."""
    singular = np.flatnonzero(found.rank < 6)
    k = int(singular[0])
    place = tuple(map(int, index[k]))
    directions, rank = found.missing(k), int(found.rank[k])
    state = f" in state {place[0] if len(place) == 1 else place}" if place else ""
    more = f" ({len(singular)} states in all)" if len(singular) > 1 else ""
    freedoms = _freedoms(model, frame)
    why = "the position is singular"
    if freedoms < 6:
        why = f"only {freedoms} freedoms move it, in any position" if freedoms else "no joint moves it"
    listed = "; ".join(map(_direction, directions))
    return SingularError(
        f"{question}: frame {frame.name!r} of {model.name!r} can move in {rank} of 6 ways{state}{more}: {why}. In the "
        f"axes {'of the frame' if axes == 'frame' else 'of the world'}, it cannot move by {listed}. For the answer "
        f"among the motions that there are, give `tolerance=` (such as {TOLERANCE:g}); `operational_inertia_inverse` "
        "exists in every position",
        rank,
        directions,
        place,
    )


def _freedoms(model: Model, frame: Frame) -> int:
    """Return the number of velocities that move a frame."""
    path = (model.joints[k] for k in inward(model.joints, frame.body))
    return len({v for c in path for v in range(c.v.start, c.v.stop)})


def _direction(x: Array) -> str:
    big = np.flatnonzero(np.abs(x) > 1e-6)
    if len(big) == 1:
        return _NAMES[int(big[0])]
    return "(" + ", ".join(f"{y + 0.0:.4g}" for y in x) + ") of (angular, linear)"
