"""Several motions in one figure: by method, by parameter, by controller."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from .curves import balance, curves, smooth
from .panels import TIME
from .style import COLOURS, INK, WIDTH, curve, dress, figure, finished, legend

if TYPE_CHECKING:
    from ..simulate.results.result import Result

__all__ = ["compare"]

_FLOOR = 1e-17
"""Smaller errors are drawn at this value, since zero has no logarithm."""


def compare(
    results: Mapping[str, Result],
    *what: str,
    title: str = "",
    width: float = WIDTH,
    save: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw axes for each series with a curve for each motion; `results` are motions by name.

    Each of `what` is a series of one number ("q.shoulder", "position.tool.z", "energy"), or "drift": the energy error
    relative to the largest kinetic energy, on a logarithmic scale.

    >>> import ordern as on
    >>> robot = on.load("double-pendulum")
    >>> runs = {m: robot.simulate([1.0, 0.5], until=2.0, method=m, step=0.01) for m in ("rk4", "variational")}
    >>> from ordern import plot
    >>> len(plot.compare(runs, "drift").axes)
    1
    """
    if not results or not what:
        raise ArgumentError("compare: give motions as a dictionary of names, and the series to be drawn")
    if len(results) > len(COLOURS):
        raise ArgumentError(
            f"compare: {len(results)} motions are too many for different colours; at most {len(COLOURS)}"
        )
    made = figure(width, 2.0 * len(what) + 0.45)
    axes = made.subplots(len(what), 1, sharex=True, squeeze=False)[:, 0]
    for k, (ax, name) in enumerate(zip(axes, what, strict=True)):
        handles, unit = [], ""
        for n, (label, result) in enumerate(results.items()):
            t, y, unit = _drift(result) if name == "drift" else _series(result, name)
            handles += ax.plot(t, y, label=label, **curve(n))
        dress(ax, "Energy error / largest kinetic energy" if name == "drift" else name, y=unit)
        ax.set_xlabel(TIME if k + 1 == len(axes) else "", fontsize=8.5, color=INK)
        ax.margins(x=0.0)
        if name == "drift":
            ax.set_yscale("log")
        if k == 0:
            legend(ax, handles, above=name != "drift")
    return finished(made, save, title)


def _drift(result: Result) -> tuple[Any, Any, str]:
    scale = float(result.kinetic.max(initial=0.0)) or 1.0
    return result.t, np.maximum(np.abs(balance(result)) / scale, _FLOOR), ""


def _series(result: Result, name: str) -> tuple[Any, Any, str]:
    fine = smooth(result)
    found = curves(fine, name)
    if len(found) != 1:
        raise ArgumentError(f"compare: {name!r} is {len(found)} numbers; choose one, such as {name}.{found[0].name}")
    return fine.t, found[0].values, found[0].unit
