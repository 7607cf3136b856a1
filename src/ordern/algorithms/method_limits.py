"""What methods cannot do: reasons, in words, why a model is outside of a method's reach; empty if it is not."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import ArgumentError
from ..joints import Joint
from ..model import Model

__all__ = [
    "all_of",
    "joints_only",
    "no_couplings",
    "no_filling_in",
    "no_massless_bodies",
    "require_tree",
    "undeclared_couplings",
]

Reason = Callable[[Model], str]


def all_of(*reasons: Reason) -> Reason:
    """The first reason that there is."""
    return lambda model: next((found for reason in reasons if (found := reason(model))), "")


_OF_FORCES = {
    "link_accelerations": "accelerations of the bodies",
    "tip_acceleration": "the acceleration of a frame by joint forces",
    "joint_and_tip_accelerations": "the accelerations of joints and a frame by joint forces",
}
"""Questions of trees that have no answer of their own for loops."""


def require_tree(model: Model, question: str) -> None:
    """Raise if it is forward dynamics of a robot with loops: the methods of trees would leave these out."""
    if not model.nc:
        return
    loops = ", ".join(list(model.loop_rows)[:5])
    if question == "forward_dynamics":
        raise ArgumentError(
            f"forward dynamics of {model.name!r}, which has loops or couplings ({loops}), is the question "
            "'closed_dynamics'; that of its tree alone is asked of `robot.opened()`"
        )
    if question in _OF_FORCES:
        raise ArgumentError(
            f"{_OF_FORCES[question]}: {model.name!r} has loops or couplings ({loops}), which {question!r} would leave "
            "out; give the accelerations of `closed_dynamics` to `acceleration(q, v, a, frame)`, or ask "
            "`robot.opened()` for those of its tree alone"
        )


def joints_only(*types: type[Joint]) -> Reason:
    """Joints of these types."""

    def reason(model: Model) -> str:
        names = " or ".join(t.__name__.lower() for t in types)
        for c in model.joints:
            if not isinstance(c.type, types):
                return f"it is for {names} joints, but joint {c.name!r} is {type(c.type).__name__.lower()}"
        return ""

    return reason


def no_couplings(model: Model) -> str:
    """No joints that follow others."""
    found = next((c.name for c in model.joints if c.mimic), "")
    return f"it does not know joints that follow others, such as {found!r}" if found else ""


def undeclared_couplings(model: Model) -> str:
    """No joints that follow others, as long as an algorithm of somebody's own does not say that it knows them."""
    found = next((c.name for c in model.joints if c.mimic), "")
    if not found:
        return ""
    return (
        f"it does not say that it knows joints that follow others, such as {found!r}. Their accelerations and forces "
        "are bound to those of the joints that they follow, which most recursions must be told (`tree.couplings`, "
        "`i.coupling`); if this one takes care of it, declare it with `couplings=True`"
    )


def no_filling_in(model: Model) -> str:
    """No joints that follow others, because of what elimination would fill in."""
    found = next((c.name for c in model.joints if c.mimic), "")
    if not found:
        return ""
    return (
        "it eliminates body by body, which leaves the mass matrix of fewer bodies; with a joint that follows another, "
        f"such as {found!r}, elimination fills in entries between branches, and what is left is none"
    )


def no_massless_bodies(model: Model) -> str:
    """Every body has a regular inertia of its own, or can borrow one."""
    from ..model.shiftable_inertia import lacking

    k = lacking(model)
    if k is None:
        return ""
    return (
        f"it inverts the inertia of each body by itself; that of body {model.bodies[k].name!r} is singular, and joints "
        f"next to it, such as {model.joints[k].name!r}, leave no inertia unfelt that would make it regular: give the "
        "body a mass and an inertia"
    )
