"""Times: serial and branched chains of spherical joints, and growth with the number of links."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Question, find, methods
from ..algorithms.forward_dynamics.splitting import split
from ..errors import OrdernError
from ..joints import Revolute
from ..kernel import Kernel
from ..model import core_shape
from ..robot import Robot
from ..robots import builder, chain
from .costs import counts_of, crossover, revolute_arm
from .methods import example, robot_of, tabled
from .text import conditions, doing, grid, measured, save, table

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
"""Methods that the paper's figures are drawn with, as far as they are there."""
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
    """Figure 7 in operations instead of time: what links with many joints cost, split and not."""
    counted = [name for name in names if not find("forward_dynamics", name)[1].pieces]
    rows: list[tuple[Any, ...]] = []
    for n in sizes:
        robot = Robot.of(builder(f"spherical-star-{n}").build())
        parts, _ = split(robot)
        took = [Robot.of(m).kernel("forward_dynamics", name, way="unrolled").counts().total  # type: ignore[union-attr]
                for m, name in ((parts, "virtual-work"), *((robot, name) for name in counted))]  # fmt: skip
        rows.append((n, *took))
    return (
        "The same branched chains in operations of straight-line code, which no machine changes. Without splitting, "
        "every joint of the hub is coupled to all others (the paper's solid curve); with it, or with the mobility of "
        "the hub kept while joints are added (`virtual-work`), each costs the same.\n\n"
        f"{table(('branches', 'virtual-work-split', *counted), rows)}"
    )


def _crossover() -> str:
    """General arms: the articulated-body method against composite bodies with a factorisation."""
    doing("general arms")
    sizes = range(2, 17, 2)
    names = ("articulated-body", "composite-body")
    rows = []
    for n in sizes:
        a, c = (round(microseconds(revolute_arm(n), m), 3) for m in names)  # what is said is what is shown
        rows.append((n, a, c))
    shown = table(("joints", *names), [(n, f"{a:.3f}", f"{c:.3f}") for n, a, c in rows])
    return f"General arms, microseconds per state. {verdict(rows)}\n\n{shown}"


def verdict(rows: Sequence[tuple[int, float, float]]) -> str:
    """Return the least measured number of joints from which the first of two methods is faster."""
    slower = [n for n, one, other in rows if one >= other]
    faster = [n for n, *_ in rows if not slower or n > slower[-1]]
    if not faster:
        return f"The first is not faster at n = {rows[-1][0]} yet."
    return f"The first is faster from n = {faster[0]} on."


def _stanford() -> str:
    """Every method that can be counted, on the robots of the table of methods."""
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


def _squares() -> str:
    """Chains: what grows with the square, and all else that is not of order n, at one length."""
    rows: list[tuple[Any, ...]] = []
    for n in (50, 100, 200, 400, 800):
        doing(f"chains of {n} links, what grows with the square")
        robot = Robot.of(chain(n, Revolute).build())
        took = [microseconds(robot, method, "rolled", max(1, 3200 // n), question) for question, method in SQUARE]
        rows.append((n, *(f"{x:.0f}" for x in took), *(f"{x * 1e3 / n**2:.2f}" for x in took)))
    names = [f"{question}, {method}" for question, method in SQUARE]
    shown = table(("links", *names, *(f"{name}, ns per link squared" for name in names)), rows)
    doing("a chain of 300 links")
    robot = Robot.of(chain(300, Revolute).build())
    others = [(name, f"{microseconds(robot, name, None, 16):.0f}") for name in LONG]
    return (
        "Chains of revolute joints, compiled as loops; microseconds per state.\n\n"
        f"{shown}\nOther methods of forward dynamics at 300 links, as loops or compiled pieces, batches of 16.\n\n"
        f"{table(('method', 'microseconds per state'), others)}"
    )


def _coordinates() -> str:
    """General arms: the three algorithms of Featherstone and Orin in both kinds of coordinates."""
    doing("absolute and link coordinates")
    sizes = (6, 12, 24)
    rows: list[tuple[Any, ...]] = []
    for question, *names in COORDINATES:
        for name in names:
            took = (microseconds(revolute_arm(n), name, question=question) for n in sizes)
            counted = (counts_of(question, name, n).total for n in sizes)
            rows.append((f"`{name}`", *counted, *(f"{x:.3f}" for x in took)))
    head = [f"operations, n = {n}" for n in sizes] + [f"microseconds, n = {n}" for n in sizes]
    found = {question: crossover(absolute, link, sizes[-1], question) for question, link, absolute in COORDINATES}
    said = {q: f"fewer from n = {n} on" if n else f"more at all n up to {sizes[-1]}" for q, n in found.items()}
    return (
        "The paper holds link coordinates to be faster: for Newton and Euler's equations and for articulated bodies "
        "always, for composite bodies unless n is large. All operations of general arms are counted, and times are for "
        f"one state.\n\n{table(('method', *head), rows)}\n"
        f"Absolute coordinates take {said['inverse_dynamics']} in inverse dynamics, {said['forward_dynamics']} in "
        f"forward dynamics, and {said['mass_matrix']} for the mass matrix: there they save the transforms of n^2/2 "
        "forces.\n"
    )


def page(folder: Path) -> str:
    """Return the page, and its figures. All of it is measured."""
    return "\n".join(
        [
            "# Times\n",
            f"One core, batches of {BATCH} states, compiled for the robot at hand; the shortest of five runs. Other "
            "work on the machine makes single figures longer, here and there.\n",
            measured(
                "\n".join(
                    [
                        conditions(),
                        *_yamane(folder),
                        "## Where order n pays, in time\n",
                        _crossover(),
                        "## Absolute and link coordinates (Featherstone and Orin, secs. 3.1 to 3.3)\n",
                        _coordinates(),
                        *_growth(folder),
                    ]
                )
            ),
        ]
    )


def _yamane(folder: Path) -> list[str]:
    known = {m.name for m in methods("forward_dynamics")}
    names = [name for name in FIGURES if name in known]
    doing("chains of spherical joints")
    serial, star = range(2, 17, 2), range(2, 13, 2)
    one = {n: [microseconds(Robot.of(builder(f"spherical-chain-{n}").build()), m) for m in names] for n in serial}
    doing("stars of spherical joints")
    two = {n: [microseconds(Robot.of(builder(f"spherical-star-{n}").build()), m) for m in names] for n in star}
    fig, (left, right) = grid(1, 2)
    for axes, data, title in ((left, one, "Serial chains (Fig. 6)"), (right, two, "Branched chains (Fig. 7)")):
        for k, name in enumerate(names):
            axes.plot(list(data), [row[k] for row in data.values()], label=name)
        axes.set(
            xlabel="spherical joints" if axes is left else "branches", ylabel="microseconds per state", title=title
        )
        axes.legend(fontsize=7)
    return [
        "## Chains of spherical joints (Yamane and Nakamura, Figures 6 and 7)\n",
        "Forward dynamics, microseconds per state.\n",
        save(fig, folder, "yamane", "Forward dynamics of chains and stars of spherical joints"),
        table(("joints in series", *names), [(n, *(f"{x:.2f}" for x in row)) for n, row in one.items()]),
        table(("branches", *names), [(n, *(f"{x:.2f}" for x in row)) for n, row in two.items()]),
        branches(names, star),
    ]


def linear() -> list[str]:
    """Return the methods of forward dynamics whose cost grows with the number of links, compiled as loops."""
    return [
        m.name
        for m in methods("forward_dynamics")
        if m.sweeps and not m.alias_of and m.order == "n" and m.function.__module__.startswith("ordern.")
    ]


def _growth(folder: Path) -> list[str]:
    names, rows = linear(), []
    for n in (100, 1000, 10_000, 100_000):
        doing(f"chains of {n} links")
        robot = Robot.of(chain(n, Revolute).build())
        batch = max(1, 10_000 // n)
        rows.append((n, [microseconds(robot, m, "rolled", batch) * 1e3 / n for m in names]))
    able = [k for k in range(len(names)) if all(not np.isnan(took[k]) for _, took in rows)]
    fig, axes = grid()
    for k in able:
        axes.loglog([n for n, _ in rows], [took[k] * n / 1e3 for n, took in rows], label=names[k])
    axes.set(xlabel="links", ylabel="microseconds per state", title="Methods of order n")
    axes.legend(fontsize=7)
    return [
        "## Growth with the number of links\n",
        "Chains of revolute joints, methods of order n that take them, compiled as loops; nanoseconds per state and "
        "link.\n",
        table(("links", *(names[k] for k in able)), [(n, *(f"{took[k]:.0f}" for k in able)) for n, took in rows]),
        save(fig, folder, "growth", "Time against the number of links"),
        "## Growth with the square of the number of links\n",
        _squares(),
        "## The Stanford arm\n",
        "The methods whose operations are counted, on the Stanford arm, or on the four-bar where loops are asked "
        "about.\n",
        _stanford(),
    ]
