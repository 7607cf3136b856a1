"""Forces of drives beside those of theta: constant offsets, and the Stribeck part of friction.

    offset          c                                       of sensors and of gravity that the model does not have
    Stribeck        f sign(v) exp(-(v / v_s)^2)             what friction is larger by, near rest

Both are linear in c and f, so that they are further columns of the regressor, one for each joint force. The velocity
v_s is not: it is given, or the best of some is taken for each joint.

Reference: Armstrong-Helouvry, Dupont and Canudas de Wit 1994, A survey of models, analysis tools and compensation
methods for the control of machines with friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import Array, positive, real
from ..errors import ArgumentError
from ..records import dataclass
from .base import BaseParameters, from_columns
from .excitation import motions_of, random_rows, rows_of

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Extra", "base_of", "extra_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Extra:
    """The further columns of a regressor of joint forces."""

    names: tuple[str, ...]
    """The names of the joint forces."""
    offsets: bool
    """Whether each joint force has a constant."""
    stribeck: Array | None
    """(nv,): the velocity of the Stribeck part of each joint; None without it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns."""
        kinds = [*["offset"] * self.offsets, *["stribeck"] * (self.stribeck is not None)]
        return tuple(f"{name}.{kind}" for kind in kinds for name in self.names)

    @property
    def rows(self) -> NDArray[np.intp]:
        """(E,): the joint force that each column belongs to."""
        return np.arange(len(self.labels), dtype=np.intp) % max(1, len(self.names))

    def columns(self, v: Array) -> Array:
        """Return the columns (n, nv, E) at velocities (n, nv)."""
        parts = [np.ones_like(v)] * self.offsets
        if self.stribeck is not None:
            parts.append(np.sign(v) * np.exp(-((v / self.stribeck) ** 2)))
        n = v.shape[-1]
        found = np.zeros((len(v), n, n * len(parts)))
        for k, x in enumerate(parts):
            found[:, np.arange(n), k * n + np.arange(n)] = x
        return found


def extra_of(robot: Robot, names: tuple[str, ...], offsets: bool, stribeck: ArrayLike | None) -> Extra | None:
    """Return the further columns that are asked for; None for none."""
    if not offsets and stribeck is None:
        return None
    if robot.nc:
        raise ArgumentError(
            f"identify: {robot.name!r} has loops, for which offsets and Stribeck friction are not known"
        )
    if stribeck is None:
        return Extra(names, bool(offsets), None)
    given = real(stribeck, "stribeck", (robot.nv,))
    if given.shape not in ((), (robot.nv,)):
        raise ArgumentError(
            f"identify: stribeck has shape {given.shape}; expected one velocity, {robot.nv} of them, or 'search'"
        )
    for x in given.flat:
        positive(x, "stribeck")
    return Extra(names, bool(offsets), np.broadcast_to(given, (robot.nv,)).astype(float))


def base_of(robot: Robot, chosen: NDArray[np.intp], extra: Extra | None) -> BaseParameters:
    """Return the base parameters of the chosen numbers of theta and the further columns, which follow them."""
    labels = [*robot.parameters.theta_labels, *(extra.labels if extra is not None else ())]
    if extra is None:
        rows = random_rows(robot, "inverse_dynamics")
    else:
        count = 4 * len(labels) // robot.nv + 4
        states = motions_of(robot, count, np.random.default_rng(0))
        usual = Extra(extra.names, extra.offsets, None if extra.stribeck is None else np.ones(robot.nv))
        Y = rows_of(robot, "inverse_dynamics", states, way="interpreted")
        rows = np.concatenate([Y, usual.columns(states[1])], axis=-1).reshape(-1, len(labels))
    return from_columns(rows[:, chosen], [labels[k] for k in chosen], robot.name, "inverse_dynamics")
