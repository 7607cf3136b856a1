"""Which model of contact a simulation has, and the settings that are usual with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...model.checks import require_closed_forms
from ..integrators.tableaus import TABLEAUS
from .touching import Touching

if TYPE_CHECKING:
    from ...robot import Robot

__all__ = ["MODELS", "contacts_of", "with_usual"]

MODELS = ("compliant", "rigid")
"""The models of contact in `simulate`."""


def with_usual(robot: Robot, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of `simulate` with the usual method and limits; raise if contacts are not dealt with."""
    model = keywords.get("contacts")
    _require(robot, model)
    limited = robot.contacts is not None and bool(robot.contacts.limited)
    usual = {"method": "dormand-prince-8", "limits": "ignore"}
    if model == "compliant":
        usual = {"method": "radau", "limits": "bounce" if limited else "ignore"}
    elif model == "rigid":
        usual["limits"] = "stop" if limited else "ignore"
    found = keywords | {name: x for name, x in usual.items() if keywords.get(name) is None}
    if model == "rigid":
        _require_rigid(robot, found)
    return found


def _require_rigid(robot: Robot, keywords: dict[str, Any]) -> None:
    """Raise if a simulation by events of rigid contacts is asked for more than it has."""
    method = str(keywords["method"])
    if method not in TABLEAUS or not TABLEAUS[method].adaptive:
        raise ArgumentError(f"simulate: contacts='rigid' is for adaptive explicit methods, not for method={method!r}")
    if keywords["limits"] == "bounce":
        raise ArgumentError(
            "simulate: contacts='rigid' has no bouncing limits of joints: limits='stop', the default of joints with "
            "limits, ends the run at one; contacts='compliant' has them"
        )
    if robot.nc or any(c.mimic is not None for c in robot.joints):
        raise ArgumentError(f"simulate: {robot.name!r} has loops or couplings; contacts='rigid' is for trees")
    require_closed_forms(robot, "simulate, contacts='rigid'")


def _require(robot: Robot, model: Any) -> None:
    choices = " or ".join(f"contacts={x!r}" for x in MODELS)
    if robot.contacts is None and model is not None:
        raise ArgumentError(
            f"simulate: contacts={model!r} is given, but {robot.name!r} has no contacts; "
            "robot.with_contacts(on.Ground(...)) adds some"
        )
    if robot.contacts is not None and model is None:
        raise ArgumentError(
            f"simulate: {robot.name!r} has contacts; choose a model of them, {choices}, or simulate "
            "robot.without_contacts(), the same robot without them"
        )
    if model is not None and model not in MODELS:
        raise ArgumentError(f"simulate: unknown model of contacts {model!r}; give {choices}")
    if robot.contacts is not None and robot.contacts.turning:
        name = robot.contacts.pairs[robot.contacts.turning[0]].name
        raise ArgumentError(
            f"simulate: contact {name!r} has torsional or rolling friction, which `rollout` alone models"
        )


def contacts_of(robot: Robot, model: str | None) -> Touching | None:
    """Return the contacts of a run, by the name of their model."""
    if model is None:
        return None
    if model == "rigid":
        from .rigid import Rigid

        return Rigid(robot)
    from .compliant import Compliant

    return Compliant(robot)
