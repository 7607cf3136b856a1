"""The table of all methods."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Algorithm, find, methods, questions
from ..errors import OrdernError
from ..model import core_shape
from ..robot import Robot
from ..robots import builder
from .costs import multiplications
from .text import table

__all__ = ["page"]


def page(folder: Path) -> str:
    """The page."""
    robot = Robot.of(builder("yamane-serial-30").build())
    small, closed = (Robot.of(builder(name).build()) for name in ("stanford-arm", "four-bar"))
    text = [
        "# Methods\n",
        "Everything that can be asked of a robot, and every method that answers, as `on.methods()` lists them. The "
        "first of each question is the one that is used unless another is asked for. Multiplications, additions and "
        "the time for one state in a batch of 1024 are those of the Stanford arm, or of the four-bar where loops are "
        "asked about.\n",
    ]
    methods()  # some questions are declared by the modules that answer them
    for question in questions():
        if not any(m.function.__module__.startswith("ordern.") for m in methods(question.name)):
            continue
        default = find(question.name)[1]
        found = [default, *(m for m in methods(question.name) if m.name != default.name)]
        rows = [
            (
                f"`{m.name}`" + (f" = `{m.alias_of}`" if m.alias_of else ""),
                m.paper or "-",
                m.equations or "-",
                m.order,
                _reach(m, robot, small),
                *_cost(m, closed if question.loops else small),
            )
            for m in found
            if m.function.__module__.startswith("ordern.")
        ]
        text.append(f"## {question.name}\n")
        text.append(table(("method", "paper", "equations", "order", "for", "operations", "time"), rows))
    return "\n".join(text)


def _reach(m: Algorithm, long: Robot, arm: Robot) -> str:
    """Which structures it treats, found by asking it."""
    if m.refuses is None:
        return "all"
    zoo = {
        "trees": "yamane-branched-30",
        "free bases": "",
        "spherical joints": "free-top",
    }
    able = [name for name, robot in zoo.items() if robot and not m.refuses(Robot.of(builder(robot).build()))]
    if not m.refuses(arm):
        able.insert(0, "arms")
    return ", ".join(able) or "special"


def _cost(m: Algorithm, robot: Robot) -> tuple[str, str]:
    if m.pieces or m.alias_of:
        return "-", "-"
    options: dict[str, Any] = {"frame": "link6"} if "frame" in _options(m) else {}
    usual: dict[str, Any] = {"axes": "frame", "kind": "classical", "alpha": 20.0, "moving": True}
    options |= {k: v for k, v in usual.items() if k in _options(m)}
    try:
        kernel = robot.kernel(m.question, m.name, **options)
        c = kernel.counts()
    except OrdernError:
        return "-", "-"
    rng = np.random.default_rng(0)
    ports = [p for p in find(m.question, m.name)[0].inputs if not p.optional]
    given = [rng.uniform(0.1, 1.0, (1024, *core_shape(robot, p.kind))) for p in ports]
    best = min(_timed(kernel, given) for _ in range(5))
    return f"{multiplications(c)} / {c.additions}", f"{best / 1024 * 1e9:.0f} ns"


def _options(m: Algorithm) -> tuple[str, ...]:
    return find(m.question, m.name)[0].options


def _timed(kernel: object, given: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]) -> float:
    start = time.perf_counter()
    kernel(*given)  # type: ignore[operator]
    return time.perf_counter() - start
