"""The report of a run about the loops of its robot."""

from __future__ import annotations

from ...records import dataclass

__all__ = ["LoopReport", "Singularity"]


@dataclass(frozen=True, slots=True)
class Singularity:
    """A position that the motion passed, or began at, in which constraints depend on each other that usually do not."""

    time: float
    rank: int
    """How many constraints are independent there."""
    usual: int
    """How many are elsewhere."""
    smallest: float
    """The smallest singular value of the loops' Jacobian that usually counts, relative to its largest so far."""

    def __str__(self) -> str:
        return f"at {self.time:.9g} s: rank {self.rank} instead of {self.usual} (smallest {self.smallest:.1e})"


@dataclass(frozen=True, slots=True)
class LoopReport:
    """How well the loops were kept closed, and what that took."""

    drift: str
    """The correction of drift: "project", "baumgarte" or "none"."""
    violation: float
    """The largest residual of positions at the end of any step, in m and rad."""
    worst: str
    """The loop that it was of."""
    rate: float
    """The largest rate of residuals at the end of any step, in m/s and rad/s."""
    fastest: str
    """The loop that it was of."""
    between: float
    """The largest residual of the integrator's own polynomials in the middle of steps. With "project", what the result
    tells of times between its samples is closed after that; otherwise it is open by so much."""
    projected: float
    """The energy that closing loops after steps gave in all, in J; below zero if it took some."""
    projected_most: float
    """The same, each part counted as positive."""
    switches: int
    """How often loops were opened or closed."""
    lost: float
    """The kinetic energy that the closing of moving loops took, in J. It is part of what was dissipated."""
    rank: int
    """How many constraints are independent, in usual positions, of the loops that were closed in the end."""
    constraints: int
    """How many there are."""
    singular: tuple[Singularity, ...]
    """Singular positions that were passed; the first 100."""
    of: str = "loops"
    """The kind of constraints that close the mechanism: "loops", or "contacts" of a grasp."""

    def rows(self) -> list[tuple[str, str]]:
        """Return the lines of a table."""
        much = f"open by up to {self.violation:.1e} ({self.worst}), {self.between:.1e} between steps; {self.drift}"
        found = [(self.of, much)]
        redundant = f", {self.constraints - self.rank} redundant" if self.rank < self.constraints else ""
        found.append(("", f"{self.constraints} constraints{redundant}; rates up to {self.rate:.1e} ({self.fastest})"))
        if self.drift == "project":
            absolute = f"({self.projected_most:.2e} J in absolute value)"
            found.append(("", f"projection added {self.projected:.2e} J net {absolute}"))
        if self.switches:
            found.append(("", f"opened or closed {self.switches} times, which took {self.lost:.6g} J"))
        found += [("singular" if k == 0 else "", str(x)) for k, x in enumerate(self.singular[:5])]
        if len(self.singular) > 5:
            found.append(("", f"... and {len(self.singular) - 5} more"))
        return found
