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
from ..loading import load
from ..robot import Robot
from .costs import cost, own_methods
from .text import doing, filled, table

__all__ = ["example", "page", "robot_of", "tabled"]

_ZOO = {"arms": "stanford-arm", "trees": "yamane-branched-30", "spherical joints": "free-top"}
"""Structures, each with a robot that has it."""
_OPTIONS: dict[str, Any] = {
    "frame": "link6",
    "frames": ("link3", "link6"),
    "axes": "frame",
    "kind": "classical",
    "alpha": 20.0,
    "moving": True,
}
"""The options of questions that are counted and timed."""


@cache
def robot_of(question: Question) -> Robot:
    """Return the robot for costs: the Stanford arm, or the four-bar for questions about loops."""
    return load("four-bar" if question.loops else "stanford-arm")


def page(folder: Path) -> str:
    """Return the page."""
    head = ("method", "paper", "equations", "order", "for", "operations")
    tables = []
    for question, found in tabled():
        doing(question.name)
        rows = []
        for m in found:
            name = f"`{m.name}`" + (f" = `{m.alias_of}`" if m.alias_of else "")
            rows.append((name, m.paper or "-", m.equations or "-", m.order, _reach(m), _cost(m)))
        tables.append(f"## {question.name}\n\n{table(head, rows)}")
    return filled("methods", tables="\n\n".join(tables))


def tabled() -> list[tuple[Question, list[Algorithm]]]:
    """Return all questions with their methods in this library, the default first."""
    methods()  # some questions are declared by the modules that answer them
    places = {name: k for k, name in enumerate(COMMON)}
    ordered = sorted(questions(), key=lambda asked: (places.get(asked.name, len(COMMON)), asked.name))
    found = [(question, own_methods(question.name)) for question in ordered]
    return [(question, own) for question, own in found if own]


def _reach(m: Algorithm) -> str:
    """Return the structures that a method accepts."""
    if m.refuses is None:
        return "all"
    able = [structure for structure, name in _ZOO.items() if not m.refuses(load(name))]
    return ", ".join(able) or "special"


def example(m: Algorithm) -> Kernel | None:
    """Return the method compiled for the robot of `robot_of`; None if it refuses the robot, or cannot be counted."""
    if m.pieces or m.alias_of:
        return None
    question = find(m.question, m.name)[0]
    options = {k: x for k, x in _OPTIONS.items() if k in question.options}
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
    M, A = cost(c)
    return f"{M} / {A}"
