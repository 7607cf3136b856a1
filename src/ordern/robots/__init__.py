"""Robots of the literature, and robots of any size. One module per robot or family; its docstring has the sources.

>>> from ordern import robots
>>> robots.builder("stanford-arm").build()
<Model 'stanford-arm': 6 bodies, nq=6, nv=6, 21.1 kg>
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np

from ..arguments import Array
from ..declared import explained
from ..errors import unknown_name
from ..model import ModelBuilder
from .generated import chain, tree
from .mechanisms import MECHANISMS

__all__ = ["builder", "chain", "families", "known", "names", "positions", "tree"]

_ROBOTS = {
    "ant": "ant",
    "double-pendulum": "double_pendulum",
    "free-top": "free_top",
    "humanoid": "humanoid",
    "kuka-kr5": "kuka_kr5",
    "planar-3r": "planar_3r",
    "puma560": "puma560",
    "puma560-akb": "puma560",
    "quadruped": "quadruped",
    "stanford-arm": "stanford_arm",
    "yamane-branched-30": "yamane",
    "yamane-serial-30": "yamane",
    **{name: f"mechanisms.{name.replace('-', '_')}" for name in MECHANISMS},
}
"""The robots, and the module of each, imported on demand; its function of the same name returns the builder."""

_FAMILIES = {
    "spherical-chain-N": "yamane",
    "spherical-star-N": "yamane",
    "four-bar-chain-N": "mechanisms.four_bar_chain",
}
"""Names in which N stands for a number, the argument of the function."""


@explained
def names() -> tuple[str, ...]:
    """Return the names of all bundled robots; see also `families`."""
    return tuple(_ROBOTS)


@explained
def families() -> tuple[str, ...]:
    """Return the names of robots of any size: N stands for a number, as in "spherical-chain-16"."""
    return tuple(_FAMILIES)


@explained
def known(name: object) -> bool:
    """Return whether a bundled robot has this name."""
    return isinstance(name, str) and (name in _ROBOTS or _member(name) is not None)


@explained
def builder(name: str) -> ModelBuilder:
    """Return the bundled robot of this name, ready to build. Every call makes a new builder, which may be added to."""
    module, function, arguments = _found(name)
    made: ModelBuilder = getattr(module, function)(*arguments)
    return made


@explained
def positions(name: str) -> dict[str, Array]:
    """Return the named positions q of a bundled robot, such as "initial" or "ready".

    Mechanisms with closed loops have the position "assembled", in which their loops are closed.
    """
    module, _, arguments = _found(name)
    if hasattr(module, "assembled_position"):
        return {"assembled": np.array(module.assembled_position(*arguments))}
    named: dict[str, tuple[float, ...]] = getattr(module, "POSITIONS", {}).get(name, {})
    return {key: np.array(q) for key, q in named.items()}


def _member(name: str) -> tuple[str, int] | None:
    """Return the family of a name, and its N."""
    match = re.fullmatch(r"([a-z-]+-)([1-9][0-9]{0,6})", name)
    family = f"{match[1]}N" if match else ""
    return (family, int(match[2])) if match and family in _FAMILIES else None


def _found(name: str) -> tuple[Any, str, tuple[int, ...]]:
    """Return the module of a robot, the name of its function there, and the arguments."""
    if not known(name):
        raise unknown_name("robot", name, (*_ROBOTS, *_FAMILIES))
    member = _member(name)
    key, arguments = (name, ()) if member is None else (member[0], (member[1],))
    module = import_module(f".{(_ROBOTS | _FAMILIES)[key]}", __package__)
    return module, key.removesuffix("-N").replace("-", "_"), arguments
