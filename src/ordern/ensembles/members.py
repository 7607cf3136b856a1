"""Some members of an ensemble after their runs, as functions of users and reductions see them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import ArgumentError, unknown_name
from ..records import dataclass

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.rollout_events import Crossings
    from .designs import Design

__all__ = ["Members", "sampled", "value_of"]


@dataclass(frozen=True, eq=False)
class Members:
    """A block of m members: their trajectories and what was drawn for them."""

    robot: Robot
    """The robot; if parameters vary, with the numbers of each of these members."""
    first: int
    """The number of the first member in the ensemble."""
    q: AnyArray
    """Positions, of shape (m, times, nq)."""
    v: AnyArray
    """Velocities, of shape (m, times, nv)."""
    t: AnyArray
    """Times, of shape (times,)."""
    drawn: Mapping[str, AnyArray]
    """Numbers that vary, by name, a row for each member: "q", "v", "forces", and "parameters.mass.link7" and so on."""
    results: tuple[Any, ...] = ()
    """The `Result` of each member that `simulate` ran; None for a member that failed."""

    steered: AnyArray | None = None
    """Joint forces of the controller and of noise in a rollout, of the shape of v; None without both."""
    steps_between: int = 0
    """The number of steps between stored states of a rollout."""
    events: Crossings | None = None
    """The first crossings of events: `members.events["flip"].time`, `.q`, `.v` and `.count`, each with a row for each
    member. None without `events`."""

    design: Design | None = None
    """The design of a sensitivity study, to which these members belong."""

    def __len__(self) -> int:
        return len(self.v)

    def every(self, steps: int) -> slice:
        """Return the places of the stored states that are so many steps apart."""
        return slice(None, None, max(1, steps // self.steps_between) if self.steps_between else 1)

    @property
    def q_final(self) -> AnyArray:
        """The last positions, of shape (m, nq)."""
        return self.q[:, -1]

    @property
    def v_final(self) -> AnyArray:
        """The last velocities, of shape (m, nv)."""
        return self.v[:, -1]

    @cached_property
    def tau(self) -> AnyArray:
        """The joint forces that act from each stored state on, of shape (m, times, nv): given, and of the controller.

        The last row repeats the forces that acted last. Those of `feedback` are not among them.
        """
        tau = np.zeros(self.v.shape)
        if self.results:
            for k, result in enumerate(self.results):
                tau[k] = np.nan if result is None else sampled(self.t, result.t, result.tau)
            return tau
        if "forces" in self.drawn:
            given = np.asarray(self.drawn["forces"])
            if given.ndim == 2:  # constant in time
                tau += given[:, None]
            else:
                tau += given[:, np.minimum(np.arange(len(self.t)) * self.steps_between, given.shape[1] - 1)]
        return tau if self.steered is None else tau + self.steered

    @cached_property
    def energy(self) -> AnyArray:
        """The energy of the last states, of shape (m,)."""
        return self._energy(-1)

    @cached_property
    def energy_start(self) -> AnyArray:
        """The energy of the first states, of shape (m,)."""
        return self._energy(0)

    def _energy(self, row: int) -> AnyArray:
        q, v = np.ascontiguousarray(self.q[:, row]), np.ascontiguousarray(self.v[:, row])
        return np.asarray(self.robot.kinetic_energy(q, v) + self.robot.potential_energy(q))

    def of_events(self) -> dict[str, AnyArray]:
        """Return the times and counts of events by the names of these quantities, such as "flip_time"."""
        found: dict[str, AnyArray] = {}
        for name in () if self.events is None else self.events.names:
            one = self.events[name]  # type: ignore[index]
            found |= {f"{name}_time": one.time, f"{name}_count": one.count.astype(float)}
        return found

    @property
    def energy_change(self) -> AnyArray:
        """The change of energy from the first to the last state, of shape (m,)."""
        return self.energy - self.energy_start


def sampled(t: AnyArray, times: AnyArray, values: AnyArray) -> AnyArray:
    """Return values at the times t: of samples with one time, at a jump, the last; after the end, the last of all."""
    return np.asarray(values[np.maximum(np.searchsorted(times, t, side="right") - 1, 0)])


NAMES = ("q_final", "v_final", "energy", "energy_start", "energy_change")
"""The quantities of members that have names."""


def value_of(members: Members, of: Any, what: str) -> AnyArray:
    """Return a quantity of members, with a row for each: by its name, or from a function of `Members`."""
    if isinstance(of, str):
        if of in members.drawn:
            return np.asarray(members.drawn[of])
        of_events = members.of_events()
        if of in of_events:
            return of_events[of]
        if of not in NAMES:
            raise unknown_name("quantity", of, (*NAMES, *members.drawn, *of_events), what)
        return np.asarray(getattr(members, of))
    found = np.asarray(of(members))
    if found.dtype.kind not in "biuf" or found.shape[:1] != (len(members),):
        raise ArgumentError(
            f"{what}: the function returned {found.dtype} {found.shape}; give real numbers with a row for each of "
            f"{len(members)} members"
        )
    return found
