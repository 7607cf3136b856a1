"""Loops that open and close during a run: chains whose structure varies.

Opening a loop removes its constraints; the state does not change. A loop that closes must be closed in position at that
moment, within a tolerance. The impulses of its constraints remove its relative velocity at once: v becomes the nearest
velocity, in kinetic energy, that keeps all loops closed. This is a perfectly inelastic impact, and the energy that it
takes counts as dissipated.

Reference: Nakamura and Yamane, Dynamics computation of structure-varying kinematic chains and its application to human
figures, 2000.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..arguments import positive
from ..errors import ArgumentError, unknown_name
from ..records import dataclass
from .events import Event, listed

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Switch", "require_loops", "switch_list"]


@dataclass(frozen=True)
class Switch:
    """Loops to open and close: at a time, or when an event takes place, the first time or every time (once=False).

    Switches that are due at the same moment (within 1e-10 s) act together: first those at times, then those of events,
    in the order in which they are given. If two of them name the same loop, the later one counts. All loops that close
    at that moment do so in one impact. Joints that meet their stops at that moment do so before; an event or a limit
    that ends the run at that moment ends it afterwards.

    A loop that is open already is not opened again, nor is a closed one closed again; while all named loops are in
    their final state, the event is not watched. A loop is closed only if its residual is at most `tolerance` (rad and
    m) at that moment; otherwise the run ends there, and its report says so.

    >>> import ordern as on
    >>> let_go = on.Switch(at=0.5, open=["left"])
    >>> catch = on.Switch(on.Event.height("hand", 0.2), close=["left"], tolerance=1e-3)
    """

    when: Event | None = None
    at: float | None = None
    open: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    tolerance: float = 1e-6
    once: bool = True

    def __post_init__(self) -> None:
        if (self.when is None) == (self.at is None):
            raise ArgumentError(
                "Switch: give either a time, Switch(at=0.5, ...), or an event, Switch(on.Event(...), ...)"
            )
        given: Any = self.when
        if given is not None and not isinstance(given, Event):
            raise ArgumentError(
                f"Switch: an event is an on.Event(function, ...), not {self.when!r}; a time is at={self.when!r}"
            )
        if self.at is not None:
            positive(self.at, "Switch: `at`, a time in seconds,", zero=True)
        positive(self.tolerance, "Switch: `tolerance`")
        for name in ("open", "close"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        both = set(self.open) & set(self.close)
        if both:
            raise ArgumentError(f"Switch: {sorted(both)[0]!r} is to be opened and closed at once")
        if not self.open and not self.close:
            raise ArgumentError("Switch: name loops to open=[...] or close=[...]")

    def __str__(self) -> str:
        changes = {"opens": self.open, "closes": self.close}
        return "; ".join(f"{what} {', '.join(names)}" for what, names in changes.items() if names)


def _names(what: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    found = tuple(given) if isinstance(given, Iterable) else (given,)
    for x in found:
        if not isinstance(x, str):
            raise ArgumentError(f"Switch: {what} takes names of loops, not {x!r}")
    return found


def switch_list(switches: Any) -> tuple[Switch, ...]:
    """Return switches in a tuple, those at times first, in order; raise if they are not switches."""
    found = listed("switches", switches, Switch, "[on.Switch(at=0.5, open=[...])]")
    timed = sorted((s for s in found if s.at is not None), key=lambda s: s.at or 0.0)
    return (*timed, *(s for s in found if s.when is not None))


def require_loops(robot: Robot, switches: Iterable[Switch]) -> None:
    """Raise unless the robot has the loops that switches name."""
    known = [x.name for x in robot.constraints]
    for s in switches:
        for name in (*s.open, *s.close):
            if name not in known:
                raise unknown_name("loop", name, known, robot.name)
