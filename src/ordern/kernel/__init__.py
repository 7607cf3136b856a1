"""Kernels: questions about a robot as NumPy functions, run in one of four ways.

Names are imported when they are first used, because a robot that is only loaded needs no compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .composed import PieceCount, PieceCounts
    from .kernel import Kernel
    from .table import Kernels

__all__ = ["Kernel", "Kernels", "PieceCount", "PieceCounts"]

_WHERE = {"Kernel": "kernel", "Kernels": "table", "PieceCount": "composed", "PieceCounts": "composed"}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    return value
