"""The report of a run: how it ended, its cost, and the drift of energy and momentum."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...io import warnings
from ...records import dataclass
from ..constraints.loop_report import LoopReport
from ..contacts.report import ContactReport
from ..run.endings import Ending

__all__ = ["SimulationReport", "SimulationWarning", "Violation", "warn"]


class SimulationWarning(UserWarning):
    """A simulation that ended early. The motion up to that time is kept."""


def warn(message: str) -> None:
    """Issue a `SimulationWarning` that points at the line of the user's code that called the library."""
    warnings.warn(message, SimulationWarning)


@dataclass(frozen=True, slots=True)
class Violation:
    """A coordinate that went beyond a limit of its joint."""

    joint: str
    index: int
    """Its place in q; -1 for a joint that closes a loop."""
    time: float
    """The end of the step in which it left its limits. An `Event.limit` finds the exact time."""
    most: float
    """The largest excess over the limit."""
    when: float
    """The time of the largest excess."""

    def __str__(self) -> str:
        return f"{self.joint} left its limits before {self.time:.6g} s, by up to {self.most:.3g} at {self.when:.6g} s"


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """The report of a simulation; `print` it for a table."""

    robot: str
    method: str
    dynamics: str
    """The method of forward dynamics."""
    stopped: str
    """The word of an `Ending`: "end", "event", "limit", or, before its time, "not-finite", "step-too-small",
    "not-converged", "bad-force", "not-closed" (a loop), "locked" (by its loops, where it starts), "blocked" (at a
    limit, by its loops), "max-steps", "interrupted"."""
    message: str
    """The reason in words, with names and the time."""
    time: float
    """The time of the last state."""
    steps: int
    rejected: int
    evaluations: int
    """Evaluations of the forward dynamics."""
    work: float
    """Done by drives and external forces, in J."""
    dissipated: float
    """Lost to dampers, friction and impacts, in J."""
    kinetic: float
    """The largest kinetic energy, in J."""
    energy_error: float
    """The largest `|E(t) - E(0) - work + dissipated|` at the end of any step, in J."""
    momentum_error: tuple[float | None, ...]
    """The largest change of each component of the momentum (angular, linear) about the world's origin that should not
    change; None where it may."""
    violations: tuple[Violation, ...]
    """Joints that went beyond their limits."""
    impacts: int
    native: bool
    """True if the time loop ran as machine code."""
    wall: float
    """Seconds of wall time for the run, without compiling."""
    compiling: float = 0.0
    """Seconds before the run, to compile for this robot and method, or to load compiled code."""
    loops: LoopReport | None = None
    """The report on closed loops; None for a tree."""
    potential: float = 0.0
    """The range of the potential energy of gravity and springs, largest less smallest, in J."""

    contacts: ContactReport | None = None
    """The report on contacts; None without a model of them."""

    @property
    def ok(self) -> bool:
        """True if the run came to its end, or to an event or limit that ends it."""
        return self.stopped in [x for x in Ending if x.planned]

    @property
    def energy_drift(self) -> float:
        """The energy error relative to `energy_scale`; the error itself if the robot did not move."""
        return self.energy_error / self.energy_scale if self.energy_scale > _NOTHING else self.energy_error

    @property
    def energy_scale(self) -> float:
        """The largest kinetic energy, or the range of the potential energy or the work if one is far larger, in J.

        The kinetic energy of a slow motion may be almost zero.
        """
        return self._scale()[0]

    def _scale(self) -> tuple[float, str]:
        most, name = max((self.potential, "change of potential energy"), (abs(self.work), "work"))
        if not most > _MORE * self.kinetic:
            return self.kinetic, "largest kinetic energy"
        return most, name

    @property
    def momentum_drift(self) -> float | None:
        """The largest entry of `momentum_error`; None if nothing is conserved."""
        known = [x for x in self.momentum_error if x is not None]
        return max(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain numbers and texts."""
        return {**asdict(self), "energy_drift": self.energy_drift, "momentum_drift": self.momentum_drift}

    def _rows(self) -> tuple[str, list[tuple[str, str]]]:
        """Return a title, and lines of a name and a text."""
        drift, (scale, of) = self.momentum_drift, self._scale()
        which = [n for n, x in zip(_COMPONENTS, self.momentum_error, strict=False) if x is not None]
        rows = [
            ("stopped", self.message),
            ("steps", f"{self.steps:,} taken, {self.rejected:,} rejected, {self.evaluations:,} accelerations"),
            ("energy drift", f"{self.energy_drift:.2e} of the {of}, {scale:.6g} J"),
            ("work in", f"{self.work:.6g} J"),
            ("dissipated", f"{self.dissipated:.6g} J" + (f", {self.impacts} impacts" if self.impacts else "")),
        ]
        if self.loops is not None:
            rows += self.loops.rows()
        if self.contacts is not None:
            rows += self.contacts.rows()
        if drift is not None:
            rows.append(("momentum drift", f"{drift:.2e} ({', '.join(which)})"))
        rows += [("limits" if k == 0 else "", str(v)) for k, v in enumerate(self.violations[:8])]
        if len(self.violations) > 8:
            rows.append(("", f"... and {len(self.violations) - 8} more joints"))
        how = "machine code" if self.native else "step by step from Python"
        compiling = f", and {_seconds(self.compiling)} to compile" if self.compiling >= 1e-3 else ""
        rows.append(("time taken", f"{_seconds(self.wall)}, {how}{compiling}"))
        return f"{self.robot}: {self.method}, accelerations by {self.dynamics}", rows

    def __str__(self) -> str:
        title, rows = self._rows()
        return "\n".join([title, *(f"  {name:<15} {text}" for name, text in rows)])

    def _repr_html_(self) -> str:
        """Return the report as a table, for notebooks."""
        from ...screen.html import table, titled

        title, rows = self._rows()
        return titled(title, table((), rows, left=2))


_NOTHING = 1e-12
"""Energies below this, in J, count as rest."""
_MORE = 10.0
"""Other energies are the scale of the error only if they are this many times the kinetic energy."""

_COMPONENTS = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")


def _seconds(s: float) -> str:
    return f"{s:.3g} s" if s >= 1.0 else f"{1e3 * s:.3g} ms"
