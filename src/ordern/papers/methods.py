"""The table of all methods."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ..algorithms import Algorithm, Question, find, methods, questions
from ..algorithms.questions import COMMON
from ..errors import OrdernError
from ..graph import Counts
from ..kernel import Kernel
from ..robot import Robot
from ..robots import builder
from .costs import multiplications
from .text import doing, table

__all__ = ["example", "page", "robot_of", "tabled"]

_HEAD = """# Methods

Everything that can be asked of a robot, and every method that answers, as `on.methods()` lists them. The first of each
question is the one that is used unless another is asked for. Multiplications and additions are those of the Stanford
arm, or of the four-bar where loops are asked about. The page on times says how long they take.
"""


@cache
def robot_of(question: Question) -> Robot:
    """Return the robot for costs: the Stanford arm, or the four-bar for questions about loops."""
    return Robot.of(builder("four-bar" if question.loops else "stanford-arm").build())


def page(folder: Path) -> str:
    """Make the page."""
    robot = Robot.of(builder("yamane-serial-30").build())
    small = Robot.of(builder("stanford-arm").build())
    text = [_HEAD]
    for question, found in tabled():
        doing(question.name)
        rows = [
            (
                f"`{m.name}`" + (f" = `{m.alias_of}`" if m.alias_of else ""),
                m.paper or "-",
                m.equations or "-",
                m.order,
                _reach(m, robot, small),
                _cost(m),
            )
            for m in found
        ]
        text.append(f"## {question.name}\n")
        text.append(table(("method", "paper", "equations", "order", "for", "operations"), rows))
    return "\n".join(text)


def tabled() -> list[tuple[Question, list[Algorithm]]]:
    """Return all questions with their methods in this library, the default first."""
    methods()  # some questions are declared by the modules that answer them
    found = []
    places = {name: k for k, name in enumerate(COMMON)}
    for question in sorted(questions(), key=lambda asked: (places.get(asked.name, len(COMMON)), asked.name)):
        own = [m for m in methods(question.name) if m.function.__module__.startswith("ordern.")]
        if own:
            found.append((question, own))
    return found


def _reach(m: Algorithm, long: Robot, arm: Robot) -> str:
    """Return the structures that a method accepts."""
    if m.refuses is None:
        return "all"
    zoo = {"trees": "yamane-branched-30", "spherical joints": "free-top"}
    able = [name for name, robot in zoo.items() if not m.refuses(Robot.of(builder(robot).build()))]
    if not m.refuses(arm):
        able.insert(0, "arms")
    return ", ".join(able) or "special"


def example(m: Algorithm) -> Kernel | None:
    """Return the method compiled for the robot of `robot_of`; None if it refuses the robot, or cannot be counted."""
    if m.pieces or m.alias_of:
        return None
    question = find(m.question, m.name)[0]
    options: dict[str, Any] = {"frame": "link6"} if "frame" in question.options else {}
    usual: dict[str, Any] = {"axes": "frame", "kind": "classical", "alpha": 20.0, "moving": True}
    options |= {k: v for k, v in usual.items() if k in question.options}
    try:
        kernel: Kernel = robot_of(question).kernel(m.question, m.name, **options)
        kernel.counts()
    except OrdernError:
        return None
    return kernel


def _cost(m: Algorithm) -> str:
    kernel = example(m)
    if kernel is None:
        return "-"
    c = kernel.counts()
    assert isinstance(c, Counts)  # `example` has no composed methods
    return f"{multiplications(c)} / {c.additions}"
