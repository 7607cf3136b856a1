"""Limits of methods: functions that return the reason why a method does not apply to a model; empty if it does."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ArgumentError
from ..joints import Joint
from ..model import Model

__all__ = [
    "all_of",
    "no_couplings",
    "no_filling_in",
    "no_fluid",
    "no_loops_with_couplings",
    "no_massless_bodies",
    "only_joint_types",
    "require_tree",
    "undeclared_couplings",
]

Reason = Callable[[Model], str]


def all_of(*reasons: Reason) -> Reason:
    """Return the first reason that is not empty."""
    return lambda model: next((found for reason in reasons if (found := reason(model))), "")


_OF_FORCES = {
    "link_accelerations": "accelerations of the bodies",
    "tip_acceleration": "the acceleration of a frame by joint forces",
    "joint_and_tip_accelerations": "the accelerations of joints and a frame by joint forces",
}
"""Questions for trees that have no counterpart for loops."""


def require_tree(model: Model, question: str) -> None:
    """Raise if a question of forward dynamics is for a robot with loops, which the methods for trees would ignore."""
    if not model.nc:
        return
    loops = ", ".join(list(model.loop_rows)[:5])
    if question == "forward_dynamics":
        raise ArgumentError(
            f"forward dynamics of {model.name!r}, which has loops or couplings ({loops}), is the question "
            "'closed_dynamics'; for its tree alone, use `robot.opened()`"
        )
    if question == "forward_dynamics_derivatives":
        raise ArgumentError(
            f"derivatives of forward dynamics of {model.name!r}, which has loops or couplings ({loops}): only "
            "`robot.derivatives.forward_dynamics` keeps the loops closed; for its tree alone, use `robot.opened()`"
        )
    if question in _OF_FORCES:
        raise ArgumentError(
            f"{_OF_FORCES[question]}: {model.name!r} has loops or couplings ({loops}), which {question!r} would "
            "ignore; give the accelerations of `closed_dynamics` to `acceleration(q, v, a, frame)`, or use "
            "`robot.opened()` for its tree alone"
        )


def only_joint_types(*types: type[Joint]) -> Reason:
    """Refuse joints of other types."""

    def reason(model: Model) -> str:
        names = " or ".join(t.__name__.lower() for t in types)
        for c in model.joints:
            if not isinstance(c.type, types):
                return f"it is for {names} joints, but joint {c.name!r} is {type(c.type).__name__.lower()}"
        return ""

    return reason


def _no_followers(reason: str) -> Reason:
    """Refuse mimic joints, for a reason that has the name of the first in the place of {!r}."""

    def refuse(model: Model) -> str:
        found = next((c.name for c in model.joints if c.mimic), "")
        return reason.format(found) if found else ""

    return refuse


no_couplings = _no_followers("it does not handle joints that follow others, such as {!r}")
"""Refuse mimic joints."""
undeclared_couplings = _no_followers(
    "it does not declare that it handles joints that follow others, such as {!r}. Their accelerations and "
    "forces are bound to those of the joints that they follow, and most recursions must do this themselves "
    "(`tree.couplings`, `i.coupling`); if this one does, declare it with `couplings=True`"
)
"""Refuse mimic joints, for an algorithm from outside the library that does not declare that it handles them."""
no_filling_in = _no_followers(
    "it eliminates body by body, which leaves the mass matrix of fewer bodies; with a joint that follows another, "
    "such as {!r}, elimination fills in entries between branches, and the rest is not such a mass matrix"
)
"""Refuse mimic joints, because elimination would fill in entries between branches."""


def no_loops_with_couplings(model: Model) -> str:
    """Refuse mimic joints in robots with loops."""
    return no_couplings(model) if model.nc else ""


def no_massless_bodies(model: Model) -> str:
    """Refuse bodies with a singular inertia that cannot borrow some."""
    from ..model.shiftable_inertia import lacking

    k = lacking(model)
    if k is None:
        return ""
    return (
        f"it inverts the inertia of each body by itself; the inertia of body {model.bodies[k].name!r} is singular, and "
        f"no inertia can be shifted to it across its joints, such as {model.joints[k].name!r}: give the body a mass "
        "and an inertia"
    )


def no_fluid(model: Model) -> str:
    """Refuse bodies with added inertia or buoyancy."""
    return "it has no terms for the added inertia and the buoyancy of bodies in a fluid" if model.in_fluid else ""
