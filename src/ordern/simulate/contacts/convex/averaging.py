"""The depth of a contact, averaged over small tilts, and how points share its force.

Two convex shapes overlap along a normal by a depth that is concave over the plane across it. Near its maximum, corners
x_i of the region in which they overlap, with depths h_i, are all that counts. The deepest corner jumps where a face
comes to lie flat. So the depth is averaged over all tilts u of less than a small angle e:

    D = mean over |u| <= e of max_i (h_i + u . x_i)

The tilts at which corner i is the deepest one are its cell, a convex part of the disc; w_i is the area of the cell, as
a part of the whole. Then dD = sum w_i dh_i: a force F(D) along the normal is shared among the corners by w_i, has the
potential of F(D), and is continuous in the state, with a continuous derivative. A corner, an edge across another one
and a round surface have one point, and D is their depth. For a face that lies flat, w_i are its exterior angles over
2 pi, and D exceeds the depth by up to e times its half diameter.

Cost: m^3 for m corners; most of them are dropped before.

Reference: L. Montaut, Q. Le Lidec, A. Bambade, V. Petrik, J. Sivic and J. Carpentier, Differentiable collision
detection: a randomized smoothing approach, 2023, for averages over random tilts in place of all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ....arguments import Array
from ....records import dataclass

__all__ = ["Average", "averaged"]

Indices = NDArray[np.intp]
_APART = 1e-9
"""Corners closer than this part of the largest distance are one."""
_TIE = 1e-12
"""The part of the largest distance by which depths are shifted, so that cells never coincide."""


@dataclass(frozen=True, slots=True)
class Average:
    """The averaged depth, and the corners that share it."""

    depth: float
    kept: Indices
    """The indices of the corners that are the deepest ones at some tilt."""
    w: Array
    """Their parts of the force; the sum is 1."""
    S: Array
    """The derivatives of the parts by the depths of corners; its rows have the sum 0."""


def averaged(x: Array, h: Array, tilt: float) -> Average:
    """Return the average over tilts up to this angle, of corners x (m, 2) with depths h (m,)."""
    top = int(np.argmax(h))
    y = tilt * (x - x[top])
    length = np.hypot(y[:, 0], y[:, 1])
    kept = _distinct(y, h, np.flatnonzero(h + length >= h[top]), _APART * float(length.max()))
    if len(kept) == 1:
        return Average(float(h[top]), kept, np.ones(1), np.zeros((1, 1)))
    y, h = y[kept], h[kept]
    off = _TIE * float(length[kept].max())
    shifted = h + off * ((0.6180339887498949 * np.arange(len(h))) % 1.0)
    area, first, S = _cells(y, shifted)
    w = area / math.pi
    depth = float(w @ h + (first * y).sum() / math.pi)
    counts = w > 0.0
    return Average(depth, kept[counts], w[counts], S[np.ix_(counts, counts)])


def _distinct(y: Array, h: Array, kept: Indices, apart: float) -> Indices:
    """Return these corners without those that coincide with deeper ones."""
    found: list[int] = []
    for k in sorted(kept.tolist(), key=lambda k: -h[k]):
        if all(abs(y[k, 0] - y[j, 0]) + abs(y[k, 1] - y[j, 1]) > apart for j in found):
            found.append(k)
    return np.array(found)


def _cells(y: Array, h: Array) -> tuple[Array, Array, Array]:
    """Return areas and first moments of the cells in the unit disc, and the derivatives of areas / pi by h.

    The border between the cells i and j is a chord, m_ij . u = c_ij, cut by the cells of all others. Areas and moments
    follow from their borders: twice an area is the integral of u . n, twice a moment that of |u|^2 n.
    """
    n = len(h)
    i, j = np.triu_indices(n, 1)
    d = y[i] - y[j]
    L = np.hypot(d[:, 0], d[:, 1])
    m = d / L[:, None]
    t = np.stack([-m[:, 1], m[:, 0]], axis=1)
    c = (h[j] - h[i]) / L
    half = np.sqrt(np.maximum(1.0 - c * c, 0.0))
    # On chord (i, j), at c m + s t, cell i is bounded by (y_i - y_k) . u >= h_k - h_i, for all other k.
    dk = y[i][:, None, :] - y[None, :, :]
    alpha = (dk * t[:, None, :]).sum(axis=2)
    beta = h[None, :] - h[i][:, None] - c[:, None] * (dk * m[:, None, :]).sum(axis=2)
    others = np.ones((len(i), n), bool)
    others[np.arange(len(i)), i] = others[np.arange(len(i)), j] = False
    flat = np.abs(alpha) <= 1e-14 * L.max()
    bound = beta / np.where(flat, 1.0, alpha)
    low = np.where(others & ~flat & (alpha > 0.0), bound, -np.inf).max(axis=1)
    high = np.where(others & ~flat & (alpha < 0.0), bound, np.inf).min(axis=1)
    hidden = (others & flat & (beta > 0.0)).any(axis=1) | (np.abs(c) >= 1.0)
    low, high, ends = np.maximum(low, -half), np.minimum(high, half), (low < -half, high > half)
    seen = ~hidden & (high > low)
    ell = np.where(seen, high - low, 0.0)
    moment = 0.5 * np.where(seen, c * c * ell + (high**3 - low**3) / 3.0, 0.0)
    area, first = np.zeros(n), np.zeros((n, 2))
    np.add.at(area, i, -0.5 * c * ell)
    np.add.at(area, j, 0.5 * c * ell)
    np.add.at(first, i, -moment[:, None] * m)
    np.add.at(first, j, moment[:, None] * m)
    at = [
        (c * m.T + s * t.T)[:, seen & end] for s, end in ((-half, ends[0]), (half, ends[1]))
    ]  # where chords meet the circle
    _add_arcs(y, h, np.concatenate(at, axis=1), area, first)
    S = np.zeros((n, n))
    S[i, j] = S[j, i] = -ell / (math.pi * L)
    S -= np.diag(S.sum(axis=1))
    return area, first, S


def _add_arcs(y: Array, h: Array, ends: Array, area: Array, first: Array) -> None:
    """Add the borders of cells on the circle, between the points where chords end."""
    phi = np.sort(np.arctan2(ends[1], ends[0]))
    phi = np.append(phi, phi[0] + 2.0 * math.pi) if len(phi) else np.array([0.0, 2.0 * math.pi])
    middle = 0.5 * (phi[1:] + phi[:-1])
    u = np.stack([np.cos(middle), np.sin(middle)])
    winner = np.argmax(h[:, None] + y @ u, axis=0)
    np.add.at(area, winner, 0.5 * np.diff(phi))
    np.add.at(first, winner, 0.5 * np.stack([np.diff(np.sin(phi)), -np.diff(np.cos(phi))], axis=1))
