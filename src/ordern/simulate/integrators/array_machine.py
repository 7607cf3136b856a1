"""The machine that differentiates steps on arrays: many steps at once, and many directions of each.

The states at the starts of all steps of a motion are known. So their derivatives are computed for all of them together:
values have the shape (steps, 1, n), rates and weights the shape (steps, directions, n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...algorithms.derivatives.coordinates import pull_name, push_name
from ...arguments import Array
from ...model import core_size
from .differentiated import STEP, STRETCH, Terms
from .native_derivatives import derivative_kernel
from .numpy_machine import turns_velocities

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["ArrayMachine", "Forces"]


def _kind(regroup: bool) -> str:
    """Return the kind of the numbers of a varied robot."""
    return "regrouped_numbers" if regroup else "numbers"


class Forces(Protocol):
    """The forces on a robot during the steps, and their derivatives."""

    def drives(self, node: float, q: Array, v: Array) -> Array:
        """Return the drives' forces at a stage, (steps, 1, nv)."""

    def loads(self, node: float) -> Array | None:
        """Return external forces on bodies at a stage, (steps, 1, bodies, 6); None if there are none."""

    def push_drives(self, node: float, q: Array, v: Array, rates: tuple[Array, Array]) -> Array:
        """Return the rates of the drives' forces, (steps, directions, nv)."""

    def push_loads(self, node: float) -> Array:
        """Return the rates of external forces, (steps, directions, bodies, 6)."""

    def pull_drives(self, node: float, q: Array, v: Array, weights: Array) -> tuple[Array, Array] | None:
        """Collect the derivatives by what sets the drives' forces; return those by q and v, if they depend on them."""

    def pull_loads(self, node: float, weights: Array) -> None:
        """Collect the derivatives by what sets the external forces."""


class ArrayMachine:
    """Runs the operations of steps and their derivatives on arrays."""

    def __init__(self, robot: Robot, dynamics: str | None, smoothing: float, h: Array, forces: Any) -> None:
        """Begin steps of these lengths (steps,), with these `Forces`; None for changes of coordinates alone."""
        self.robot, self.h, self.forces = robot, h[:, None, None], forces
        self._dynamics, self._smoothing = robot.kernel("forward_dynamics", dynamics), np.float64(smoothing)
        self.turning, self._passive = turns_velocities(robot), robot.passive_question
        self._known: dict[Any, Any] = {}
        self.number_rates: dict[bool, Array] = {}
        """The rates (directions, numbers) of the numbers of a varied robot, without regrouping and with it."""
        self.by_numbers: dict[bool, Array] = {}
        """The derivatives (directions, numbers) by these numbers, summed over steps; empty if they are not wanted."""

    @cached_property
    def flat(self) -> bool:
        """True if velocities are the rates of positions."""
        from ...compile.timeloops.machine import is_flat

        return is_flat(self.robot)

    # operations of a step ------------------------------------------------------------------------------------------

    def acceleration(self, node: float, q: Array, v: Array) -> Array:
        """Return dv/dt at a stage."""
        force, loads = self.forces.drives(node, q, v), self.forces.loads(node)
        if loads is not None:
            force = force + self._ask("external_force", q, loads)
        if self._passive:
            force = force + self._ask(self._passive, q, v, self._smoothing)
        return np.asarray(self._dynamics(q, v, force))

    def rate(self, q: Array, v: Array) -> Array:
        """Return dq/dt."""
        return self._ask("position_rate", q, v)

    def add(self, x: Array | None, terms: Sequence[tuple[float, Array]]) -> Array:
        """Return x plus a weighted sum times the step."""
        total: Any = sum(c * k for c, k in terms)
        return np.asarray(self.h * total if x is None else x + self.h * total)

    def combine(self, terms: Terms) -> Array:
        """Return a weighted sum of values; the lengths of steps are constant."""
        total: Any = 0.0
        for c, factor, x in terms:
            if factor != STRETCH:
                total = total + (c * self.h if factor == STEP else c) * x
        return np.asarray(total)

    def integrate(self, q: Array, v: Array) -> Array:
        """Return the position after a step along a velocity."""
        return self._ask("integrate", q, v, self.h[..., 0])

    def euler(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return the state after the joints' own steps."""
        return self._ask("euler_position", q, v, a, self.h[..., 0]), self._ask(
            "euler_velocity", q, v, a, self.h[..., 0]
        )

    def project(self, q: Array) -> Array:
        """Return positions with normalised quaternions."""
        return self._ask("normalize", q)

    # rates ---------------------------------------------------------------------------------------------------------

    def push_acceleration(self, node: float, q: Array, v: Array, a: Array, rates: tuple[Array, Array]) -> Array:
        """Return the rate of dv/dt, with the rates of forces."""
        force = self.forces.push_drives(node, q, v, rates)
        loads = self.forces.loads(node)
        if loads is not None:
            force = force + self._push("external_force", (q, loads), (rates[0], self.forces.push_loads(node)))
        if self._passive:
            force = force + self._push(self._passive, (q, v, self._smoothing), rates)
        return self._push("forward_dynamics", (q, v, a), (*rates, force))

    def push_rate(self, q: Array, v: Array, rates: tuple[Array, Array]) -> Array:
        """Return the rate of dq/dt."""
        return self._push("position_rate", (q, v), rates)

    def push_integrate(self, q: Array, v: Array, rates: tuple[Array, Array]) -> Array:
        """Return the rate of a step along a velocity."""
        return self._push("integrate", (q, v, self.h[..., 0]), (*rates, np.float64(0.0)))

    def push_euler(self, q: Array, v: Array, a: Array, rates: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Return the rates of the joints' own steps."""
        given, moving = (q, v, a, self.h[..., 0]), (*rates, np.float64(0.0))
        return self._push("euler_position", given, moving), self._push("euler_velocity", given, moving)

    def push_project(self, q: Array, rate: Array) -> Array:
        """Return the rate of the projection."""
        return self._push("normalize", (q,), (rate,))

    # weights -------------------------------------------------------------------------------------------------------

    def stretch(self, terms: Any, weights: Array) -> None:
        """Do nothing: the lengths of steps are constant."""

    def pull_acceleration(self, node: float, q: Array, v: Array, a: Array, weights: Array) -> tuple[Array, Array]:
        """Return derivatives by q and v; let the forces collect those by what sets them."""
        by_q, by_v, force = self._pull("forward_dynamics", (q, v, a), weights)
        found = self.forces.pull_drives(node, q, v, force)
        if found is not None:
            by_q, by_v = by_q + found[0], by_v + found[1]
        loads = self.forces.loads(node)
        if loads is not None:
            more, by_loads = self._pull("external_force", (q, loads), force)
            by_q = by_q + more
            self.forces.pull_loads(node, by_loads.reshape(*by_loads.shape[:-1], -1, 6))
        if self._passive:
            of_q, of_v = self._pull(self._passive, (q, v, self._smoothing), force)
            by_q, by_v = by_q + of_q, by_v + of_v
        return by_q, by_v

    def pull_rate(self, q: Array, v: Array, weights: Array) -> tuple[Array, Array]:
        """Return derivatives by q and v of the rates of positions."""
        by_q, by_v = self._pull("position_rate", (q, v), weights)
        return by_q, by_v

    def pull_integrate(self, q: Array, v: Array, weights: Array) -> tuple[Array, Array]:
        """Return derivatives by q and v of a step along a velocity."""
        by_q, by_v, _ = self._pull("integrate", (q, v, self.h[..., 0]), weights)
        return by_q, by_v

    def pull_euler(self, q: Array, v: Array, a: Array, weights: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        """Return derivatives by q, v and a of the joints' own steps."""
        given = (q, v, a, self.h[..., 0])
        first, second = (
            self._pull(name, given, w) for name, w in zip(("euler_position", "euler_velocity"), weights, strict=True)
        )
        by_q, by_v, by_a, _ = (x + y for x, y in zip(first, second, strict=True))
        return by_q, by_v, by_a

    def pull_project(self, q: Array, weights: Array) -> Array:
        """Return derivatives of the projection."""
        return self._pull("normalize", (q,), weights)[0]

    # charts --------------------------------------------------------------------------------------------------------

    def as_numbers(self, q: Array, tangent: Array) -> Array:
        """Return the rates of the numbers of q for tangents."""
        return tangent if self.flat else self._ask("position_rate", q, tangent)

    def as_tangent(self, q: Array, rate: Array) -> Array:
        """Return the tangents of rates of the numbers of q."""
        return rate if self.flat else self._ask("position_tangent", q, rate)

    def weights_by_numbers(self, q: Array, weights: Array) -> Array:
        """Return derivatives by the numbers of q from those in its tangent."""
        if self.flat:
            return weights
        kernel = self._kernel("pull_tangent", lambda: self.robot.kernel(pull_name("position_tangent", ("rate",))))
        return np.asarray(kernel(q, q, weights))

    def weights_in_tangent(self, q: Array, weights: Array) -> Array:
        """Return derivatives in the tangent of q from those by its numbers."""
        if self.flat:
            return weights
        kernel = self._kernel("pull_rate", lambda: self.robot.kernel(pull_name("position_rate", ("v",))))
        return np.asarray(kernel(q, np.zeros(self.robot.nv), weights))

    # kernels -------------------------------------------------------------------------------------------------------

    def _ask(self, question: str, *given: Any) -> Array:
        return np.asarray(self._kernel(question, lambda: self.robot.kernel(question))(*given))

    def _push(self, question: str, given: Sequence[Any], rates: Sequence[Any]) -> Array:
        kernel = self._kernel(("push", question), lambda: derivative_kernel(self.robot, question, push_name))
        if self.robot.variation is None:
            return np.asarray(kernel(*given, *rates))
        regroup = kernel.algorithm.regroup
        if regroup not in self.number_rates:
            self.number_rates[regroup] = np.zeros((1, core_size(kernel.request.model, _kind(regroup))))
        return np.asarray(kernel(*given, *rates, self.number_rates[regroup]))

    def _pull(self, question: str, given: Sequence[Any], weights: Array) -> list[Array]:
        kernel = self._kernel(("pull", question), lambda: derivative_kernel(self.robot, question, pull_name))
        flat, nq, nv = np.asarray(kernel(*given, weights)), self.robot.nq, self.robot.nv
        sizes = {"normalize": (nq,), "integrate": (nq, nv, 1), "external_force": (nq, 6 * len(self.robot.bodies))}
        sizes |= {"forward_dynamics": (nq, nv, nv)} | dict.fromkeys(("position_rate", self._passive), (nq, nv))
        sizes |= dict.fromkeys(("euler_position", "euler_velocity"), (nq, nv, nv, 1))
        *found, numbers = np.split(flat, np.cumsum(sizes[question]), axis=-1)
        if numbers.shape[-1] and self.collects:
            regroup, total = kernel.algorithm.regroup, numbers.sum(0)
            self.by_numbers[regroup] = total + self.by_numbers.get(regroup, 0.0)
        return found

    collects = False
    """True if the derivatives by the numbers of a varied robot are wanted."""

    def _kernel(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]
