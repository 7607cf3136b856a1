"""Yamane and Nakamura's simulated chains with 30 freedoms, one serial and one branched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array
from ..loading import load
from . import others
from .others import apart
from .text import filled, grid, save, table

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.results.result import Result

__all__ = ["ROBOTS", "run", "section", "start", "theirs"]

ROBOTS = {"yamane-serial-30": "Figure 4", "yamane-branched-30": "Figure 5"}
UNTIL = 2.0
SNAPSHOTS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.9)


def start(robot: Robot) -> Array:
    """Return the start: lifted by 90 degrees about y at the ground, bent by 0.1 rad about x at every other joint."""
    turns = np.zeros((robot.nv // 3, 3))
    turns[0, 1], turns[1:, 0] = np.pi / 2.0, 0.1
    return robot.integrate(robot.neutral(), turns.ravel())


def run(name: str, until: ArrayLike = UNTIL, dynamics: str = "virtual-work") -> Result:
    """Simulate from rest, with the paper's own method for accelerations unless another is given."""
    robot = load(name)
    return robot.simulate(start(robot), until=until, dynamics=dynamics)


def theirs(name: str, times: Sequence[float]) -> Array:
    """Return positions at times, in our order, by SciPy around Pinocchio."""
    quaternions = start(load(name)).reshape(-1, 4)
    branched = name == "yamane-branched-30"
    q = others.fall(lambda: others.yamane(branched), quaternions[:, [1, 2, 3, 0]].ravel(), times)
    return np.asarray(q.reshape(len(times), -1, 4)[:, :, [3, 0, 1, 2]].reshape(len(times), -1))


def section(folder: Path) -> str:
    """Return text and checks, and draw snapshots and energies."""
    fig, (*snapshots, energies) = grid(1, 3)
    rows = []
    for axes, (name, figure) in zip(snapshots, ROBOTS.items(), strict=True):
        result = run(name)
        report = result.report
        _snapshots(axes, result, f"{figure}: {name}")
        times = (0.25, 0.5, 1.0)
        ours = run(name, times).q
        same = f"{np.abs(ours[1] - run(name, [0.5], 'articulated-body').q[0]).max():.1e}"
        peer = apart(ours, theirs, name, times)
        rows.append((f"`{name}`", report.steps, report.rejected, f"{report.energy_drift:.1e}", same, peer))
        drift = (result.energy - result.energy[0]) / report.kinetic
        energies.plot(result.t, drift, label=name, linewidth=1.0)
    energies.set(title="Energy", xlabel="time, s", ylabel="change / largest kinetic energy")
    energies.legend(fontsize=8)
    save(fig, folder, "yamane_runs")
    head = ("robot", "steps", "rejected", "energy drift", "against `articulated-body`, 0.5 s", "Pinocchio, 1 s")
    return filled("yamane_runs", until=UNTIL, table=table(head, rows))


def _snapshots(axes: Any, result: Result, title: str) -> None:
    """Draw links as lines in the plane x-z, later ones darker."""
    robot = result.robot
    moving = [b for b in robot.bodies if b.name != "base"]
    for k, t in enumerate(SNAPSHOTS):
        q, _ = result.at(t)
        for body in moving:
            pose = robot.pose(q, body.name)
            a, b = pose[:3, 3], pose[:3, 3] - 0.2 * pose[:3, 2]
            shade = 0.15 + 0.85 * k / (len(SNAPSHOTS) - 1)
            label = f"{t:g} s" if body is moving[0] else None
            axes.plot([a[0], b[0]], [a[2], b[2]], color="C0", alpha=shade, linewidth=1.5, label=label)
    axes.set(title=title, xlabel="x, m", ylabel="z, m", aspect="equal")
    axes.legend(fontsize=7)
