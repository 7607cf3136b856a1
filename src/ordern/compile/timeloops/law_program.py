"""Control laws as programs: what a compiled time loop needs to compute a controller's forces by itself.

A controller records its law once, as operations on vectors. Its gains are parameters, and its goal is a table of
polynomials over time, so that the code depends on neither. `law_emit` writes the operations as machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...arguments import Array
from ...records import dataclass
from ..pipeline import Request

__all__ = ["DEGREE", "FRAME_FORCES", "Law", "Operation", "Program", "goal_table"]


FRAME_FORCES = ("task force", "impedance force")
"""Operations that compute forces on a frame."""
DEGREE = 5
"""The degree of the polynomials of a goal."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One vector: its size, and the operation that computes it from earlier vectors, by their places in the program."""

    name: str
    """"q", "v": the state. "parameter": a constant of the controller. "goal q", "goal v", "goal a", "goal base": the
    goal of the number `which`. "kernel": the kernel of the name `which`. "add", "subtract", "multiply": number by
    number. "only": the first vector where the second is positive, else zero. "clip": the first vector limited to the
    second. "round": the first in multiples of the second, where that is positive. "task force", "impedance force":
    texts of `algorithms.operational.task_force` for the rows `which`. "pull": the columns of the first, a matrix of six
    rows, times the second. "chart": a text of `algorithms.configuration.chart`; `which` are its name and the parts of
    vectors that belong to rotating bodies."""
    size: int
    operands: tuple[int, ...] = ()
    which: Any = None


@dataclass(frozen=True, slots=True)
class Program:
    """A law without its numbers: the last operation computes the joint forces."""

    operations: tuple[Operation, ...]
    waves: tuple[bool, ...]
    """For each goal, True if a sine is added to its polynomials."""
    sampled: bool
    """True if the forces are computed at each multiple of a period and held until the next one."""

    @property
    def checked(self) -> bool:
        """True if the forces may be unclear to compiled code, so that Python must compute them."""
        return any(x.name in FRAME_FORCES for x in self.operations)

    @property
    def saturations(self) -> int:
        """The number of "clip" operations; each remembers the largest demand of each joint, and its time."""
        return sum(x.name == "clip" for x in self.operations)


@dataclass(frozen=True, slots=True)
class Law:
    """A program with its kernels and numbers."""

    program: Program
    requests: dict[str, Request]
    parameters: Array
    """All parameters, one after the other."""
    goals: tuple[Array, ...]
    """A table for each goal; see `goal_table`."""
    period: float | None
    demands: Callable[[Array | None], Array]
    """Return the demands and times of all saturations, (saturations, 2, nv), after an array of these has replaced
    them."""


def goal_table(starts: Array, sizes: Array) -> Array:
    """Return a table for compiled code: a row for each piece, and one that is never reached.

    `starts` are the times at which pieces begin, -inf first. A row of `sizes` has the time from which the polynomials
    count, the frequency of the sine, the coefficients of all powers from 0 on, and the amplitudes of the sine; for a
    pose, also the nine numbers of the rotation from which its rotation vector counts, and for joints that rotate bodies
    the position about which the polynomials are coordinates. The first number of the table is
    the place for the piece that was found last, an integer.
    """
    rows = np.concatenate([starts[:, None], sizes], axis=1)
    last = np.full((1, rows.shape[1]), np.inf)
    return np.concatenate([[0.0], rows.ravel(), last.ravel()])
