"""Times: serial and branched chains of spherical joints, and growth with the number of links."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Question, find
from ..algorithms.forward_dynamics.splitting import split
from ..errors import OrdernError
from ..graph import Counts
from ..joints import Revolute
from ..kernel import Kernel
from ..loading import chain, load
from ..model import core_shape
from ..robot import Robot
from .costs import counts_of, crossover, own_methods, revolute_arm
from .methods import example, robot_of, tabled
from .text import conditions, doing, filled, grid, lines, save, table

__all__ = ["COORDINATES", "branches", "linear", "microseconds", "page", "verdict"]

FIGURES = (
    "articulated-body",
    "unit-acceleration",
    "composite-body",
    "virtual-work",
    "virtual-work-split",
    "virtual-work-unsplit",
    "lagrange-multipliers",
)
"""The methods of the paper's figures."""
BATCH = 1024
SQUARE = (("forward_dynamics", "triangularized"), ("mass_matrix_inverse", "innovations"))
"""Methods whose cost grows with the square of the number of links."""
LONG = ("composite-body", "unit-acceleration", "symmetric", "constraint-force", "divide-and-conquer", "kalman-scan")
"""Other methods of forward dynamics, timed on a chain of 300 links."""
COORDINATES = (
    ("inverse_dynamics", "newton-euler", "newton-euler-absolute"),
    ("mass_matrix", "composite-body", "composite-body-absolute"),
    ("forward_dynamics", "articulated-body", "articulated-body-absolute"),
)
"""Questions, each with one algorithm in link coordinates and in absolute ones."""


def microseconds(
    robot: Robot, method: str, way: str | None = None, batch: int = BATCH, question: str = "forward_dynamics"
) -> float:
    """Return the shortest time for one state in a batch; NaN if the method refuses the robot."""
    rng = np.random.default_rng(0)
    try:
        kernel = robot.kernel(question, method, way=way)
    except OrdernError:
        return float("nan")
    given = [robot.random(rng, batch), *rng.normal(size=(2, batch, robot.nv))][: len(kernel.ports)]
    kernel(*given)
    best = min(_seconds(kernel, given) for _ in range(5))
    return best / batch * 1e6


def _seconds(kernel: Callable[..., Any], given: Sequence[Any]) -> float:
    start = time.perf_counter()
    kernel(*given)
    return time.perf_counter() - start


def branches(names: Sequence[str] = FIGURES, sizes: Sequence[int] = range(2, 13, 2)) -> str:
    """Return Figure 7 in operations instead of time: the cost of links with many joints, split and not."""
    counted = [name for name in names if not find("forward_dynamics", name)[1].pieces]
    rows: list[tuple[int, ...]] = []
    for n in sizes:
        robot = load(f"spherical-star-{n}")
        cases = [(Robot.of(split(robot)[0]), "virtual-work"), *((robot, name) for name in counted)]
        rows.append((n, *(_operations(robot, name) for robot, name in cases)))
    return table(("branches", "virtual-work-split", *counted), rows)


def _operations(robot: Robot, method: str) -> int:
    """Count the operations of forward dynamics in straight-line code."""
    counts = robot.kernel("forward_dynamics", method, way="unrolled").counts()
    assert isinstance(counts, Counts)  # `branches` has no methods that are made of pieces
    return counts.total


def _general() -> dict[str, str]:
    """Compare the articulated-body method with composite bodies and a factorisation, for general arms."""
    doing("general arms")
    names = ("articulated-body", "composite-body")
    rows = []
    for n in range(2, 17, 2):
        a, c = (round(microseconds(revolute_arm(n), m), 3) for m in names)  # the verdict is on the numbers shown
        rows.append((n, a, c))
    shown = table(("joints", *names), [(n, f"{a:.3f}", f"{c:.3f}") for n, a, c in rows])
    return {"verdict": verdict(rows), "general": shown}


def verdict(rows: Sequence[tuple[int, float, float]]) -> str:
    """Return the least measured number of joints from which the first of two methods is faster."""
    slower = [n for n, one, other in rows if one >= other]
    faster = [n for n, *_ in rows if not slower or n > slower[-1]]
    if not faster:
        return f"The first is not faster at n = {rows[-1][0]} yet."
    return f"The first is faster from n = {faster[0]} on."


def _stanford() -> str:
    """Time every method that can be counted, on the robots of the table of methods."""
    rows = []
    for question, found in tabled():
        doing(f"the Stanford arm, {question.name}")
        for m in found:
            kernel = example(m)
            if kernel is not None:
                rows.append((question.name, f"`{m.name}`", f"{_nanoseconds(kernel, question):.0f}"))
    return table(("question", "method", "nanoseconds per state"), rows)


def _nanoseconds(kernel: Kernel, question: Question) -> float:
    rng = np.random.default_rng(0)
    robot = robot_of(question)
    given = [rng.uniform(0.1, 1.0, (BATCH, *core_shape(robot, p.kind))) for p in question.inputs if not p.optional]
    return min(_seconds(kernel, given) for _ in range(5)) / BATCH * 1e9


def _squares() -> dict[str, str]:
    """Time methods of order n^2 on chains, and the other methods that are not of order n on one chain."""
    rows: list[tuple[object, ...]] = []
    for n in (50, 100, 200, 400, 800):
        doing(f"chains of {n} links, methods of order n^2")
        robot = chain(n, Revolute)
        took = [microseconds(robot, method, "rolled", max(1, 3200 // n), question) for question, method in SQUARE]
        rows.append((n, *(f"{x:.0f}" for x in took), *(f"{x * 1e3 / n**2:.2f}" for x in took)))
    names = [f"{question}, {method}" for question, method in SQUARE]
    doing("a chain of 300 links")
    robot = chain(300, Revolute)
    others = [(name, f"{microseconds(robot, name, None, 16):.0f}") for name in LONG]
    return {
        "squares": table(("links", *names, *(f"{name}, ns per link squared" for name in names)), rows),
        "others": table(("method", "microseconds per state"), others),
    }


def _coordinates() -> str:
    """Compare the three algorithms of Featherstone and Orin in both kinds of coordinates, for general arms."""
    doing("absolute and link coordinates")
    sizes = (6, 12, 24)
    rows: list[tuple[object, ...]] = []
    for question, *names in COORDINATES:
        for name in names:
            took = (microseconds(revolute_arm(n), name, question=question) for n in sizes)
            counted = (counts_of(question, name, n).total for n in sizes)
            rows.append((f"`{name}`", *counted, *(f"{x:.3f}" for x in took)))
    head = [f"operations, n = {n}" for n in sizes] + [f"microseconds, n = {n}" for n in sizes]
    found = {question: crossover(absolute, link, sizes[-1], question) for question, link, absolute in COORDINATES}
    said = {q: f"fewer from n = {n} on" if n else f"more at all n up to {sizes[-1]}" for q, n in found.items()}
    return filled("coordinates", table=table(("method", *head), rows), **said)


def page(folder: Path) -> str:
    """Return the page, which is measured, and draw its figures."""
    return filled(
        "times",
        batch=BATCH,
        conditions=conditions(),
        **_yamane(folder),
        **_general(),
        coordinates=_coordinates(),
        growth=_growth(folder),
        **_squares(),
        stanford=_stanford(),
    )


def _yamane(folder: Path) -> dict[str, str]:
    """Time chains and stars of spherical joints, and draw Figures 6 and 7."""
    fig, (left, right) = grid(1, 2)
    chains = _spherical("chain", range(2, 17, 2), "joints in series")
    lines(left, *chains[0], "Serial chains (Fig. 6)", "spherical joints", "microseconds per state", font=7)
    stars = _spherical("star", range(2, 13, 2), "branches")
    lines(right, *stars[0], "Branched chains (Fig. 7)", "branches", "microseconds per state", font=7)
    save(fig, folder, "yamane")
    return {"chains": chains[1], "stars": stars[1], "branches": branches()}


def _spherical(shape: str, sizes: range, counted: str) -> tuple[tuple[range, dict[str, list[float]]], str]:
    """Return the sizes and the times of each method for robots of spherical joints, and the table of them."""
    doing(f"{shape}s of spherical joints")
    robots = [load(f"spherical-{shape}-{n}") for n in sizes]
    took = {method: [microseconds(robot, method) for robot in robots] for method in FIGURES}
    rows = [(n, *(f"{took[method][k]:.2f}" for method in FIGURES)) for k, n in enumerate(sizes)]
    return (sizes, took), table((counted, *FIGURES), rows)


def linear() -> list[str]:
    """Return the methods of forward dynamics whose cost grows with the number of links, compiled as loops."""
    found = own_methods("forward_dynamics")
    return [m.name for m in found if m.sweeps and not m.alias_of and m.order == "n"]


def _growth(folder: Path) -> str:
    """Time methods of order n on long chains, and draw a figure."""
    names, sizes = linear(), (100, 1000, 10_000, 100_000)
    took: dict[str, list[float]] = {name: [] for name in names}
    for n in sizes:
        doing(f"chains of {n} links")
        robot = chain(n, Revolute)
        for name in names:
            took[name].append(microseconds(robot, name, "rolled", max(1, 10_000 // n)))
    able = {name: times for name, times in took.items() if not np.isnan(times).any()}
    fig, axes = grid()
    lines(axes, sizes, able, "Methods of order n", "links", "microseconds per state", scale="log", font=7)
    save(fig, folder, "growth")
    rows = [(n, *(f"{times[k] * 1e3 / n:.0f}" for times in able.values())) for k, n in enumerate(sizes)]
    return table(("links", *able), rows)
