"""Imperfect control: noise and finite resolution of what sensors measure and of what motors exert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, Array
from ..errors import ArgumentError, unknown_name
from .arguments import freedoms

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["KINDS", "Imperfections"]

KINDS = ("q", "v", "tau")
"""Series that may have noise or a resolution: measured positions, measured velocities, joint forces."""


class Imperfections:
    """Noise and resolution of measured states and of joint forces, for each freedom of a robot.

    `noise` has standard deviations of normal noise, `quantum` the steps to which numbers are rounded: dictionaries from
    "q", "v" and "tau" to a number, nv numbers, or numbers by joint names. Noise of positions moves joints by
    `robot.integrate`, so that quaternions keep their length. Noise is added before numbers are rounded.
    """

    def __init__(self, robot: Robot, noise: Any, quantum: Any, what: str) -> None:
        self.robot = robot
        self.noise = _sizes(robot, noise, f"{what}: noise", 'noise={"q": 1e-3, "v": 1e-2, "tau": 0.1}')
        self.quantum = _sizes(robot, quantum, f"{what}: quantum", 'quantum={"q": 1e-4, "tau": 0.05}')
        self.numbers = tuple((of, *item) for of in ("noise", "quantum") for item in getattr(self, of).items())
        """All of them; checkpoints compare tuples, not dictionaries."""
        self.steps = dict(self.quantum)
        """The steps of rounding for each number of q, v and tau."""
        if "q" in self.quantum:
            self.steps["q"] = np.zeros(robot.nq)
        for c in robot.independent if "q" in self.quantum else ():
            own = self.quantum["q"][c.v]
            if c.type.nq == c.type.nv:
                self.steps["q"][c.q] = own
            elif own.any():
                raise ArgumentError(
                    f"{what}: quantum: the position of joint {c.name!r} has a quaternion, which no encoder counts; "
                    "give the resolution of other joints by their names, quantum={'q': {'joint': 1e-4}}"
                )

    def measured(self, q: AnyArray, v: AnyArray, rng: np.random.Generator) -> tuple[AnyArray, AnyArray]:
        """Return positions and velocities, (..., nq) and (..., nv), as sensors measure them."""
        if "q" in self.noise:
            q = self.robot.integrate(q, self._drawn("q", v.shape, q.dtype, rng))
        if "v" in self.noise:
            v = v + self._drawn("v", v.shape, v.dtype, rng)
        if "q" in self.quantum:
            q = _rounded(q, self.steps["q"])
        return q, _rounded(v, self.quantum["v"]) if "v" in self.quantum else v

    def exerted(self, tau: AnyArray, rng: np.random.Generator) -> AnyArray:
        """Return joint forces (..., nv) as motors exert them."""
        if "tau" in self.noise:
            tau = tau + self._drawn("tau", tau.shape, tau.dtype, rng)
        return _rounded(tau, self.quantum["tau"]) if "tau" in self.quantum else tau

    def _drawn(self, kind: str, shape: tuple[int, ...], dtype: Any, rng: np.random.Generator) -> AnyArray:
        return (self.noise[kind] * rng.standard_normal(shape)).astype(dtype, copy=False)


def _sizes(robot: Robot, given: Any, what: str, example: str) -> dict[str, Array]:
    """Return a number for each freedom by series; raise, with an example, if something else is given."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{what} is a dictionary, {example}; not {given!r}")
    for kind in given:
        if kind not in KINDS:
            raise unknown_name("series", kind, KINDS, what)
    return {kind: freedoms(robot, x, f"{what} of {kind!r}") for kind, x in given.items()}


def _rounded(x: AnyArray, step: Array) -> AnyArray:
    """Return numbers rounded to multiples of steps; where a step is zero, as they are."""
    counted = np.where(step > 0.0, step, 1.0)
    return np.where(step > 0.0, np.rint(x / counted) * counted, x).astype(x.dtype, copy=False)
