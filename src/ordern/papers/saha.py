"""Saha's examples: torques along a trajectory and free falls of the planar arm and of the Stanford arm."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import Array
from ..control.trajectories import cycloidal
from ..loading import load
from ..robots import positions
from . import denoc_counts, others, step_counts
from .many_digits import extrapolated
from .others import apart
from .planar import SAHA, falling
from .text import doing, filled, grid, lines, save

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.results.result import Result

__all__ = ["along", "free_fall", "page", "planar_torques", "stanford_torques"]

DURATION = 10.0
"""T of (38) and (39)."""
TIMES = (0.25, 0.5, 0.75, 1.0)
"""The times at which free falls are compared."""


def along(robot: Robot, q0: Array, q1: Array, n: int = 201) -> tuple[Array, tuple[Array, Array, Array], Array]:
    """Return times, motion and joint forces (by `denoc`, as in RIDIM) along the cycloid of (38) and (39)."""
    t = np.linspace(0.0, DURATION, n)
    q, v, a = cycloidal(robot, q0, q1, DURATION)(t)
    return t, (q, v, a), robot.inverse_dynamics(q, v, a, method="denoc")


def planar_torques(n: int = 201) -> tuple[Array, tuple[Array, Array, Array], Array]:
    """Return Figure 5."""
    return along(load("planar-3r"), np.zeros(3), np.full(3, np.pi), n)


def stanford_torques(n: int = 201) -> tuple[Array, tuple[Array, Array, Array], Array]:
    """Return Figure 8."""
    at = positions("stanford-arm")
    return along(load("stanford-arm"), at["initial"], at["final"], n)


def free_fall(name: str, until: float | Sequence[float]) -> Result:
    """Simulate Figures 6 and 9, at the default settings, from rest at the start of the trajectories."""
    return load(name).simulate(positions(name)["initial"], until=until)


def page(folder: Path) -> str:
    """Return the page, and draw its figures."""
    return filled(
        "saha",
        **_planar(folder),
        **_stanford(folder),
        denoc_counts=denoc_counts.section(),
        step_counts=step_counts.section(),
    )


def _planar(folder: Path) -> dict[str, object]:
    doing("the planar arm")
    t, (q, v, a), tau = planar_torques()
    fall = free_fall("planar-3r", DURATION)
    fig, (left, right) = grid(1, 2)
    lines(left, t, _columns("tau", tau), "Torques along (38), Fig. 5", "time, s", "N m", width=1.2, font=8)
    lines(right, fall.t, _columns("th", fall.q), "Free fall, Fig. 6", "time, s", "rad", width=1.2, font=8)
    save(fig, folder, "saha_planar")
    short = free_fall("planar-3r", TIMES).q
    exact = falling(SAHA, (0, 0, 0), TIMES)[:, :3].astype(float)
    return {
        "steps": fall.report.steps,
        "rejected": fall.report.rejected,
        "by_hand": apart(tau, SAHA.torques, q, v, a),
        "by_symbols": apart(tau[::20], _symbolic, q[::20], v[::20], a[::20]),
        "planar_torques": apart(tau, others.torques, others.planar, q, v, a),
        "planar_fall": apart(short, others.fall, others.planar, np.zeros(3), TIMES),
        "planar_series": apart(short, lambda: exact),
        "planar_drift": f"{fall.report.energy_drift:.1e}",
    }


def _stanford(folder: Path) -> dict[str, object]:
    doing("the Stanford arm")
    t, (q, v, a), tau = stanford_torques()
    fall = free_fall("stanford-arm", 1.0)
    _six(folder, "saha_stanford_torques", t, tau, "tau", ("N m", "N"))
    _six(folder, "saha_stanford_fall", fall.t, fall.q, "q", ("rad", "m"))
    start = positions("stanford-arm")["initial"]
    short, begun = free_fall("stanford-arm", TIMES).q, free_fall("stanford-arm", [0.1]).q[0]
    exact, left = extrapolated(load("stanford-arm"), start, 0.1, 4, columns=6)
    return {
        "torque": f"{tau[0, 1]:.4f}",
        "slide": f"{fall.q[-1, 2]:.4f}",
        "stanford_torques": apart(tau, others.torques, others.stanford, q, v, a),
        "stanford_fall": apart(short, others.fall, others.stanford, start, TIMES),
        "stanford_digits": apart(begun, lambda: exact[:6].astype(float)),
        "left": left,
        "stanford_drift": f"{fall.report.energy_drift:.1e}",
    }


def _six(folder: Path, name: str, t: Array, y: Array, symbol: str, units: tuple[str, str]) -> None:
    """Draw the quantities of all six joints, of which the third slides."""
    fig, axes = grid(2, 3)
    for k, each in enumerate(axes.flat):
        each.plot(t, y[:, k], linewidth=1.2)
        label = f"{symbol}_{k + 1}, {units[k == 2]}"
        each.set(title=f"({'abcdef'[k]}) joint {k + 1}", xlabel="time, s", ylabel=label)
    save(fig, folder, name)


def _columns(symbol: str, y: Array) -> dict[str, Array]:
    return {f"{symbol}_{k + 1}": column for k, column in enumerate(y.T)}


def _symbolic(q: Array, v: Array, a: Array) -> Array:
    """Evaluate the closed-form torques of `on.symbolic`, with 30 digits."""
    from ..interop.symbolic import symbolic

    tau = symbolic(load("planar-3r"), "inverse_dynamics", "newton-euler", simplify=False)
    names = [f"{x}{k}" for x in ("q", "v", "a") for k in (1, 2, 3)]
    found = []
    for row in np.concatenate([q, v, a], axis=1):
        values = dict(zip(names, row.tolist(), strict=True))
        found.append([float(x.evalf(30, subs={s: values[s.name] for s in x.free_symbols})) for x in tau])
    return np.array(found)
