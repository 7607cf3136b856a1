"""Saha's examples: torques along a trajectory and free falls of the planar arm and of the Stanford arm."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..control.trajectories import cycloidal
from ..loading import load
from ..robots import positions
from . import denoc_counts, others, step_counts
from .many_digits import extrapolated
from .planar import SAHA, falling
from .text import doing, grid, save, table

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.results.result import Result

__all__ = ["along", "free_fall", "page", "planar_torques", "stanford_torques"]

Array = NDArray[np.float64]
DURATION = 10.0
"""T of (38) and (39)."""


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
    """Make the page, and its figures."""
    return "\n".join(
        [
            "# Saha's examples: a planar arm and the Stanford arm\n",
            "S. K. Saha, *Dynamics of serial multibody systems using the decoupled natural orthogonal complement "
            "matrices* (1999), section 6. Torques are by his inverse dynamics (`denoc`), motions by "
            "`dormand-prince-8` at its default tolerances.\n",
            "## The planar arm (section 6.1)\n",
            _PLANAR,
            *_planar(folder),
            "## The Stanford arm (section 6.2)\n",
            _STANFORD,
            *_stanford(folder),
            "## Why our count of the DeNOC method is not 201n - 335\n",
            denoc_counts.section(),
            "## Are order-n accelerations integrated in fewer steps?\n",
            step_counts.section(),
        ]
    )


_PLANAR = """Choices, where the paper leaves one:

* It gives no lengths or masses, only that the arm moves in the plane X-Y with gravity along -Y. Ours are those of
  ReDySim's three-link robot, a program of the same group: lengths .3, .25, .22 m, masses .5, .4, .3 kg, uniform links.
  So shapes can be compared with Figures 5 and 6, and numbers cannot.
* (38) takes each angle from 0 to pi in T = 10 s, as printed.
* The free fall starts at rest with all angles zero, stretched along X.
"""

_STANFORD = """Choices, where the paper leaves one or contradicts itself:

* (39) with the factor 1/2 that is printed would take each angle to 180 degrees and the slide to 3.1 m, but the text
  wants 60 degrees and 0.1 m at T = 10 s. We keep the ends and the shape: q0 + (qT - q0) (t/T - sin(2 pi t/T) / (2 pi)).
* theta_2 = 90 degrees and b_3 = 0 of Table 3 are where the motion begins, not offsets.
* (r_x, r_y, r_z) of Table 3 goes from the mass centre to the next origin, by item 4 of section 5.1 and by link 1, whose
  mass centre is then in its middle: the mass centre is at -r. With the other sign tau_2 would begin at 11.38 N m.
* Gravity, of which nothing is said, is 9.81 m/s^2 along -Z_1. The remark that joint 3 moves sharply "once joint 2 turns
  more than 90 degrees" would fit +Z_1 literally; along -Z_1 theta_2 falls from 90 degrees and the slide runs out at
  once.
* Nothing stops the slide, so it runs away; we show one second.
"""


def _planar(folder: Path) -> list[str]:
    doing("the planar arm")
    t, (q, v, a), tau = planar_torques()
    fall = free_fall("planar-3r", DURATION)
    fig, (left, right) = grid(1, 2)
    _lines(left, t, tau, "tau", "Torques along (38), Fig. 5", "N m")
    _lines(right, fall.t, fall.q, "th", "Free fall, Fig. 6", "rad")
    times = [0.25, 0.5, 0.75, 1.0]
    short, (theirs, _) = free_fall("planar-3r", times), _fallen(others.planar, np.zeros(3), times)
    exact = falling(SAHA, (0, 0, 0), times)[:, :3].astype(float)
    rows = [
        ("torques, explicit expressions derived by hand", _off(tau, SAHA.torques(q, v, a)), "N m"),
        ("torques, `on.symbolic` evaluated by SymPy", _off(tau[::20], _symbolic(q[::20], v[::20], a[::20])), "N m"),
        ("torques, Pinocchio", _off(tau, _rnea(others.planar, q, v, a)), "N m"),
        ("free fall to 1 s, SciPy's DOP853 at 1e-12 around Pinocchio", _off(short.q, theirs), "rad"),
        ("free fall to 1 s, Taylor series of the explicit expressions in 50 digits", _off(short.q, exact), "rad"),
        ("free fall, 10 s: energy drift over largest kinetic energy", f"{fall.report.energy_drift:.1e}", ""),
    ]
    return [
        save(fig, folder, "saha_planar", "Torques and free fall of the planar arm"),
        f"The first angle goes negative at first, as the paper notes, and the arm swings as a triple pendulum. "
        f"{fall.report.steps} steps were taken and {fall.report.rejected} rejected for ten seconds. Such a pendulum is "
        "chaotic: after some seconds no two programs agree on its angles, while its energy is kept.\n",
        table(("against", "largest difference", "unit"), rows),
    ]


def _stanford(folder: Path) -> list[str]:
    doing("the Stanford arm")
    t, (q, v, a), tau = stanford_torques()
    fall = free_fall("stanford-arm", 1.0)
    texts = []
    for name, x, y, word, units in (
        ("saha_stanford_torques", t, tau, "tau", ("N m", "N m", "N", "N m", "N m", "N m")),
        ("saha_stanford_fall", fall.t, fall.q, "q", ("rad", "rad", "m", "rad", "rad", "rad")),
    ):
        fig, axes = grid(2, 3)
        for k, each in enumerate(axes.flat):
            each.plot(x, y[:, k], linewidth=1.2)
            each.set(title=f"({'abcdef'[k]}) joint {k + 1}", xlabel="time, s", ylabel=f"{word}_{k + 1}, {units[k]}")
        figure = "Figure 8: forces along (39)" if word == "tau" else "Figure 9: free fall"
        texts.append(save(fig, folder, name, figure))
    times = [0.25, 0.5, 0.75, 1.0]
    start = positions("stanford-arm")["initial"]
    short, (theirs, _) = free_fall("stanford-arm", times), _fallen(others.stanford, start, times)
    exact, left = extrapolated(load("stanford-arm"), start, 0.1, 4, columns=6)
    begun = free_fall("stanford-arm", [0.1])
    rows = [
        ("forces, Pinocchio", _off(tau, _rnea(others.stanford, q, v, a)), "N m, N"),
        ("free fall to 1 s, SciPy's DOP853 at 1e-12 around Pinocchio", _off(short.q, theirs), "rad, m"),
        (
            f"free fall to 0.1 s, extrapolation in 50 digits (its own error: {left:.0e})",
            _off(begun.q[0], exact[:6].astype(float)),
            "rad, m",
        ),
        ("free fall, 1 s: energy drift over largest kinetic energy", f"{fall.report.energy_drift:.1e}", ""),
    ]
    return [
        *texts,
        f"tau_2 begins at {tau[0, 1]:.4f} N m. After one second of free fall b_3 = {fall.q[-1, 2]:.4f} m.\n",
        table(("against", "largest difference", "unit"), rows),
    ]


def _off(one: Array, other: Array | None) -> str:
    return "not installed" if other is None else f"{np.abs(one - other).max():.1e}"


def _rnea(model: Any, q: Array, v: Array, a: Array) -> Array | None:
    try:
        pin: Any = import_module("pinocchio")
    except ImportError:
        return None
    made = model()
    data = made.createData()
    return np.array([pin.rnea(made, data, *x) for x in zip(q, v, a, strict=True)])


def _fallen(model: Any, q0: Array, times: Sequence[float]) -> tuple[Array | None, Array | None]:
    try:
        return others.fall(model(), q0, times)
    except ImportError:
        return None, None


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


def _lines(axes: Any, t: Array, y: Array, name: str, title: str, unit: str) -> None:
    for k in range(y.shape[1]):
        axes.plot(t, y[:, k], label=f"{name}_{k + 1}", linewidth=1.2)
    axes.set(xlabel="time, s", ylabel=unit, title=title)
    axes.legend(fontsize=8)
