"""The contacts of a rollout as a figure: loads, friction that is used, and how exact the steps are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..simulate.contact_record import RESIDUAL
from ..simulate.rolled import Rollout
from .panels import TIME
from .style import COLOURS, FAINT, INK, WIDTH, curve, dress, figure, finished, legend

__all__ = ["contacts"]

_MOST_NAMED = 12
_FLOOR = 1e-17
"""Residuals below this are drawn at it: the scale is logarithmic."""


def contacts(run: Rollout, *, title: str = "", width: float = WIDTH, save: str | os.PathLike[str] | None = None) -> Any:
    """Draw the contacts of one trajectory of a rollout over time, in three panels.

    These are the normal forces; the friction of each contact as a part of what its cone allows, which is 1 while it
    slides; and the residual of each kept state in m/s, with the limit of certified ones, and marks where a state is
    not. `run[3]` is the trajectory of index 3 of a batch. `width` is in inches. `save` writes .png, .svg or .pdf.
    """
    given: Any = run
    if not isinstance(given, Rollout) or not (given.contacts and given.contacts.names):
        raise ArgumentError("plot.contacts: give a rollout of a robot with contacts, such as robot.rollout returns")
    record = given.contacts
    if run.v.ndim != 2:
        raise ArgumentError(f"plot.contacts: {run!r} has many trajectories; choose one, such as run[0]")
    if not 1.0 <= width <= 100.0:
        raise ArgumentError(f"plot.contacts: width is in inches, between 1 and 100; given {width!r}")
    t, forces, names = run.t[1:], run.contact_forces[1:], record.names
    load, aside = forces[..., 2], np.linalg.norm(forces[..., :2], axis=-1)
    most = run.contact_surfaces[:, 0] * load
    used = np.where(most > 0.0, aside / np.where(most > 0.0, most, 1.0), np.nan)
    made = figure(width, 5.6)
    above, middle, below = made.subplots(3, 1, sharex=True, height_ratios=(1.6, 1.0, 1.0))
    lines = [above.plot(t, x, label=name, **curve(k))[0] for k, (name, x) in enumerate(zip(names, load.T, strict=True))]
    for k, x in enumerate(used.T):
        middle.plot(t, x, **curve(k))
    middle.axhline(1.0, color=FAINT, linewidth=0.8, linestyle=(0, (3, 2)))
    residual, flagged = np.maximum(run.certificate.residual[1:], _FLOOR), run.uncertified[1:]
    below.semilogy(t, residual, color=INK, linewidth=0.9)
    below.semilogy(t[flagged], residual[flagged], "x", color=COLOURS[1], markersize=4)
    below.axhline(RESIDUAL[run.v.dtype.name], color=FAINT, linewidth=0.8, linestyle=(0, (3, 2)))
    below.set_ylim(_FLOOR, 10.0 * max(1e-5, float(np.nanmax(residual, initial=0.0))))
    dress(above, "Normal force", y="N")
    dress(middle, "Friction used, of what the cone allows")
    dress(below, "Residual", x=TIME, y="m/s")
    if len(lines) <= _MOST_NAMED:
        legend(above, lines)
    return finished(made, save, title)
