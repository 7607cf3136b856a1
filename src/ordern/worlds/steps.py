"""The steps of rollouts on arrays of any library: the functions of a robot, composed as each method says.

`fixed_step` has the steps of all methods, written once. Here is the machine that runs them with the functions of a
robot, which answer in the library of their arguments. So a rollout is differentiated by the library, to any order, and
may ask a policy that is written in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array, choice
from ..errors import ArgumentError
from ..loops.dynamics import BAUMGARTE
from ..records import dataclass
from ..simulate.efforts import clipped
from ..simulate.integrators.native import step_question
from ..simulate.integrators.numpy_machine import turns_velocities
from ..simulate.integrators.rk_step import fixed_step
from ..simulate.integrators.tableaus import TABLEAUS, tableau
from ..simulate.step_rule import require_restitution

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["ContactSteps", "Steps", "require_steps"]

_REFUSED = {
    "noise": "draw it in your library, and add it to `tau`, or to what the policy sees",
    "events": "look for them in the states, or roll out NumPy arrays",
    "progress": "a compiled function cannot tell how far it is",
    "device": "arrays are computed on the device that they are on",
    "out": "arrays of other libraries are not written to",
}


def require_steps(library: str, settings: dict[str, Any]) -> None:
    """Raise if a rollout has settings that are for NumPy arrays only."""
    for name, hint in _REFUSED.items():
        if settings.get(name) is not None:
            raise ArgumentError(f"rollout: {name}= is for NumPy arrays, and an argument is of {library}: {hint}")
    if settings["limits"] == "bounce":
        raise ArgumentError(
            f"rollout: limits='bounce' is for NumPy arrays; rollouts of {library} have limits='active' or 'ignore'"
        )
    if settings["drift"] != "baumgarte":
        raise ArgumentError(
            f"rollout: drift={settings['drift']!r} is for NumPy arrays; rollouts of {library} stabilise loops"
        )
    require_restitution(settings["limits"], settings.get("restitution", 0.0))
    choice("method", settings["method"], TABLEAUS, "rollout")


@dataclass(frozen=True, slots=True)
class Steps:
    """Takes steps of a length h of a method, with forces that are held during the step."""

    robot: Robot
    method: str
    h: Any
    dynamics: str | None
    smoothing: float
    effort: Array
    """The largest forces of feedback."""
    threads: int | None

    def step(self, q: Any, v: Any, tau: Any, external: Any, feedback: Any) -> tuple[Any, Any]:
        """Return the state after one step."""
        return fixed_step(_Machine(self, tau, external, feedback), tableau(self.method), q, v)


@dataclass(frozen=True, slots=True)
class ContactSteps:
    """Takes steps of a robot with contacts, with the forces of `simulate.contact_derivatives`."""

    robot: Robot
    h: Any
    smoothing: float
    effort: Array
    """The largest forces of feedback."""
    threads: int | None
    surfaces: Any
    constant: Callable[[Any], Any]
    """Returns an array that is not differentiated."""

    def step(
        self, q: Any, v: Any, pushes: tuple[Any, Any], tau: Any, external: Any, feedback: Any
    ) -> tuple[Any, Any, tuple[Any, Any], Any]:
        """Return the state after one step, the impulses of contacts and stops, and the certificate."""
        robot, threads, servo = self.robot, self.threads, None
        drag, fed, present = 0.0 * v, tuple[Any, ...](), tuple[str, ...]()
        if feedback is not None:
            kp, kd, target = feedback
            drag = drag + (kd + self.h * kp)
            servo = kp * robot.difference(q, target, threads=threads) - drag * v
            if np.isfinite(self.effort).any():
                fed, present, servo = (servo, self.effort), ("servo", "effort"), None
        passive = "step_passive_force" if robot.has_step_passive else ""
        force = _total(robot, (q, v), tau, servo, external, passive, self.smoothing, threads)
        impulses, stops = map(self.constant, pushes)
        contacts = (impulses, stops, self.surfaces) if impulses.shape[-2] else (stops,)
        given = q, v, force, self.h, drag, robot.lower, robot.upper, *contacts, *fed
        found = robot.kernel(step_question(robot), present=present)(*given, threads=threads)
        nq, nv = robot.nq, robot.nv
        count = impulses.shape[-2]
        at = nq + nv + 3 * count
        impulses = found[..., nq + nv : at].reshape((*found.shape[:-1], count, 3))
        pushes = impulses, found[..., at : at + nv]
        return found[..., :nq], found[..., nq : nq + nv], pushes, self.constant(found[..., at + nv :])


def _total(
    robot: Robot, state: tuple[Any, Any], tau: Any, servo: Any, external: Any, passive: str, smoothing: float,
    threads: int | None,
) -> Any:  # fmt: skip
    """Return all joint forces at a state: given, of feedback, of the `passive` question, and of forces on bodies."""
    force = tau if servo is None else tau + servo
    if passive:
        force = force + robot.kernel(passive)(*state, smoothing, threads=threads)
    if external is not None:
        force = force + robot.kernel("external_force")(state[0], external, threads=threads)
    return force


class _Machine:
    """Runs one step."""

    def __init__(self, steps: Steps, tau: Any, external: Any, feedback: Any) -> None:
        self._steps, self._robot = steps, steps.robot
        self._tau, self._external, self._feedback = tau, external, feedback

    def acceleration(self, node: float, q: Any, v: Any) -> Any:
        """Return dv/dt at a stage."""
        s, robot, servo = self._steps, self._robot, None
        if self._feedback is not None:
            kp, kd, target = self._feedback
            servo = clipped(kp * robot.difference(q, target, threads=s.threads) - kd * v, s.effort)
        passive = robot.passive_question
        force = _total(robot, (q, v), self._tau, servo, self._external, passive, s.smoothing, s.threads)
        if robot.nc:
            return robot.kernel("stabilised_dynamics", alpha=BAUMGARTE)(q, v, force, threads=s.threads)
        return robot.kernel("forward_dynamics", s.dynamics)(q, v, force, threads=s.threads)

    def rate(self, q: Any, v: Any) -> Any:
        """Return dq/dt."""
        return self._robot.position_rate(q, v, self._steps.threads)

    def add(self, x: Any, terms: Sequence[tuple[float, Any]]) -> Any:
        """Return x plus a weighted sum times the step; without x, the second part alone."""
        (c, k), *rest = terms
        total = c * k
        for c, k in rest:
            total = total + c * k
        return self._steps.h * total if x is None else x + self._steps.h * total

    def euler(self, q: Any, v: Any, a: Any) -> tuple[Any, Any]:
        """Return the state after a step of semi-implicit Euler."""
        robot, h, threads = self._robot, self._steps.h, self._steps.threads
        if not turns_velocities(robot):
            after = v + h * a
            return robot.integrate(q, after, h, threads), after
        given = (q, v, a, h)
        position, velocity = (robot.kernel(x)(*given, threads=threads) for x in ("euler_position", "euler_velocity"))
        return position, velocity

    def project(self, q: Any) -> Any:
        """Return positions with quaternions of unit length."""
        return self._robot.normalize(q, self._steps.threads)
