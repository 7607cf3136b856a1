"""The mass matrix as a picture of coupled freedoms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import array
from ..errors import ArgumentError
from ..model import BASE
from ..simulate.results.series import labels
from .style import FAINT, INK, dress, figure, finished, map_of

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["coupled", "mass_matrix"]

_MOST_NAMES = 60


def mass_matrix(
    robot: Robot,
    q: ArrayLike | None = None,
    *,
    title: str | None = None,
    width: float = 4.6,
    save: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw M_ij / sqrt(M_ii M_jj) at a position (a random one if not given); entries that are always zero are grey.

    The entries have no units, and are between -1 and 1 for all joints. Freedoms of different branches are never
    coupled: grey entries need neither storage nor elimination.

    >>> import ordern as on
    >>> from ordern import plot
    >>> plot.mass_matrix(on.load("yamane-branched-30")).axes[0].get_title(loc="left")
    'yamane-branched-30: 414 of 900 entries'
    """
    n = robot.nv
    if n == 0:
        raise ArgumentError(f"mass_matrix: {robot.name!r} has no freedoms")
    M = robot.mass_matrix(robot.random(0) if q is None else array(q, (robot.nq,), "mass_matrix: q"))
    scale = np.sqrt(np.diagonal(M))
    there = coupled(robot)
    shown = np.ma.masked_where(~there, M / np.outer(scale, scale))
    made = figure(width, 0.88 * width)
    ax = made.subplots()
    colours = map_of("RdBu_r").with_extremes(bad="#e4e4ea")
    image = ax.imshow(shown, cmap=colours, vmin=-1.0, vmax=1.0, interpolation="nearest")
    count = int(there.sum())
    dress(ax, f"{robot.name}: {count} of {n * n} entries" if title is None else title)
    ax.grid(False)
    if n <= _MOST_NAMES:
        names, size = labels(robot)[1], max(3.0, min(7.5, 190.0 / n))
        ax.set_xticks(range(n), names, rotation=90, fontsize=size)
        ax.set_yticks(range(n), names, fontsize=size)
        ax.tick_params(length=0)
    bar = made.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.set_label("coupling", fontsize=8, color=INK)
    bar.ax.tick_params(labelsize=7, color=FAINT)
    bar.outline.set_visible(False)
    return finished(made, save)


def coupled(robot: Robot) -> NDArray[np.bool_]:
    """Return flags of the entries of the mass matrix that may be nonzero: both freedoms move a common body."""
    moves = np.zeros((len(robot.bodies), robot.nv))
    for k, c in enumerate(robot.joints):
        if c.parent != BASE:
            moves[k] = moves[c.parent]
        moves[k, c.v] = 1.0
    return np.asarray(moves.T @ moves > 0.0)
