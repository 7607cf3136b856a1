"""The numbers of a robot as a record of arrays, and robots with other numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .methods import ParameterMethods

if TYPE_CHECKING:
    from .record import Parameters

__all__ = ["ParameterMethods", "Parameters"]


def __getattr__(name: str) -> Any:
    if name != "Parameters":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".record", __name__).Parameters  # not needed to load a robot
