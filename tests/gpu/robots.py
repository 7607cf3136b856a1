"""The robots that are compared on a GPU: all joint types, free and fixed roots, mimic joints, loops, long chains."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import ordern as on
from tests.random_models import random_robot

_BUNDLED = (
    "puma560", "double-pendulum", "free-top", "kuka-kr5", "planar-3r", "quadruped", "stanford-arm",
    "yamane-branched-30", "yamane-serial-30", "andrews-squeezer", "delta-robot", "four-bar", "stewart-platform",
)  # fmt: skip

ROBOTS: dict[str, Callable[[], on.Robot]] = {
    "random tree, every joint": lambda: random_robot(3, 14, armature=True),
    "random tree, free": lambda: random_robot(4, 14, floating=True, passive=True),
    "random tree, mimic joints": lambda: random_robot(5, 14, mimic=True),
    **{name: (lambda name=name: on.load(name)) for name in _BUNDLED},  # type: ignore[misc]
    "chain of 30": lambda: on.chain(30),
    "chain of 200": lambda: on.chain(200),
}


def made(name: str, floating: bool = False) -> on.Robot:
    """Return a robot of the table, or of a file."""
    if name in ROBOTS:
        return ROBOTS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks about the file
        return on.load(name, floating=floating)
