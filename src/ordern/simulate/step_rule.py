"""Which step a rollout takes: one rule for robots with and without contacts, and for the arrays of all libraries.

Semi-implicit Euler takes the step of `contact_step`, also for robots without contacts: damping, the gains of feedback
and gyroscopic torques are implicit, joints stop at their limits, and dry friction holds joints or brakes them. A robot
without any of these takes the plain step, which is then the same; so does a robot with loops whose free and ball joints
alone would differ. All other methods have explicit forces, and their joints leave their limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.method_limits import no_loops_with_couplings
from ..arguments import choice, real_number
from ..errors import ArgumentError
from ..model.contacts import Contacts, limited_joints, stop_places
from ..model.variation import with_other_contacts

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["LIMITS", "require_restitution", "stepped", "without_limits"]

LIMITS = ("active", "ignore", "bounce")
"""The effects of joint limits. Without a choice they are active in steps that can hold them."""
_EULER = "semi-implicit-euler"
_LONGEST = 60
"""Degrees of freedom up to which implicit steps are compiled: they are straight-line code."""
_SWEEPS = 20
"""Sweeps of steps without contacts: many joints that stick by dry friction need more than ten; others settle before."""


def _explicit_reason(robot: Robot, method: str, limits: str | None, drift: str, dynamics: str | None) -> str:
    """Return why a rollout takes steps with explicit forces; empty if it does not."""
    if method != _EULER:
        return f"method={method!r}"
    if limits == "bounce":
        return "limits='bounce'"
    if robot.nc and drift == "project":
        return "drift='project'"
    if dynamics is not None:
        return f"dynamics={dynamics!r}"
    if robot.contacts is not None:
        return ""
    return no_loops_with_couplings(robot) or (f"{robot.nv} degrees of freedom" if robot.nv > _LONGEST else "")


def stepped(
    robot: Robot, method: str, limits: str | None, feedback: bool, drift: str, dynamics: str | None
) -> tuple[Robot, tuple[str, ...]]:
    """Return the robot whose steps a rollout takes, and notes on what does not act, or acts explicitly.

    It has contacts if the steps are those of `contact_step`, perhaps none but the limits and the friction of joints.
    """
    if limits is not None:
        choice("limits", limits, LIMITS, "rollout", "to end a run at a limit is for robot.simulate")
    reason = _explicit_reason(robot, method, limits, drift, dynamics)
    limited = () if limits == "ignore" else robot._kernels.kept(("limited joints",), lambda: limited_joints(robot))
    if robot.contacts is not None:
        if limits in (None, "bounce"):
            limited = robot.contacts.limited
        return _with(robot, limited), ()
    if reason:
        if limits == "active":
            raise ArgumentError(
                f"rollout of {robot.name!r}: limits='active' is not possible in steps with explicit forces, which "
                f"{reason} causes; change that, or pass limits='ignore'"
            )
        return robot, _notes(robot, reason, limits, feedback, limited)
    rubs = bool(stop_places(robot, ()))
    spins = not robot.nc and any(c.type.spins for c in robot.joints)
    if limited or rubs or feedback or spins or _is_damped(robot):
        return _with(robot, limited), ()
    return robot, ()


def _with(robot: Robot, limited: tuple[int, ...]) -> Robot:
    """Return the robot with contacts, or none, and with limits of some joints; it is made once."""
    known = robot.contacts
    if known is not None and known.limited == limited:
        return robot
    made: dict[tuple[int, ...], Robot] = robot.__dict__.setdefault("_stepped", {})
    if limited not in made:
        contacts = Contacts(None, (), limited, _SWEEPS) if known is None else known.with_limits(limited)
        made[limited] = type(robot).of(with_other_contacts(robot, contacts))
    return made[limited]


def require_restitution(limits: str | None, restitution: float) -> None:
    """Raise if a rollout has a restitution that would do nothing, or one that is out of range."""
    if not 0.0 <= real_number(restitution) <= 1.0:
        raise ArgumentError(f"rollout: restitution must be between 0 and 1, not {restitution!r}")
    if restitution and limits != "bounce":
        raise ArgumentError(
            f"rollout: restitution={restitution!r} requires limits='bounce'; contacts take theirs from "
            "on.Ground(restitution=...) or robot.with_contacts(restitution=...)"
        )


def without_limits(robot: Robot) -> Robot:
    """Return the robot of the same steps without joint limits; itself if rows of its joints act in any step.

    These are rows of joints with dry friction, and of joints whose limits are equal.
    """
    return robot if stop_places(robot, ()) or _is_locked(robot) else _with(robot, ())


def _is_locked(robot: Robot) -> bool:
    """Return whether the limits of a joint, with those of the joints that follow it, leave it no room."""
    lower, upper = list(robot.lower), list(robot.upper)
    for c in robot.joints:
        if c.mimic is not None and c.type.nq == 1 and np.isfinite([*c.lower, *c.upper]).any():
            at, ratio = robot.joints[c.mimic.joint].q.start, c.mimic.ratio
            if not ratio:
                continue
            ends = sorted((x - c.mimic.offset) / ratio for x in (c.lower[0], c.upper[0]))
            lower[at], upper[at] = max(lower[at], ends[0]), min(upper[at], ends[1])
    return any(a >= b for a, b in zip(lower, upper, strict=True))


def _is_damped(robot: Robot) -> bool:
    """Return True if joints have damping, or may have."""
    varied = robot.variation is not None and robot.variation.varies("damping")
    return varied or any(x for c in robot.joints for x in c.damping)


def _notes(robot: Robot, reason: str, limits: str | None, feedback: bool, limited: tuple[int, ...]) -> tuple[str, ...]:
    """Return what acts explicitly in these steps, or not at all."""
    found = []
    if limited and limits is None:
        names = ", ".join(repr(robot.joints[k].name) for k in limited[:3])
        more = f" and {len(limited) - 3} more" if len(limited) > 3 else ""
        found.append(f"joint limits do not act, because of {reason}: those of {names}{more}")
    forces = {"damping": _is_damped(robot), "dry friction": bool(stop_places(robot, ())), "feedback": feedback}
    if limits == "bounce" and any(c.mimic and np.isfinite([*c.lower, *c.upper]).any() for c in robot.joints):
        found.append("limits of mimic joints do not act, because of limits='bounce'")
    explicit = [name for name, given in forces.items() if given]
    if explicit:
        found.append(f"explicit forces, because of {reason}: {', '.join(explicit)}")
    return tuple(found)
