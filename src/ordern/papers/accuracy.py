"""Errors of forward dynamics, inverse dynamics and mass matrices, method by method, against arithmetic of 50 digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..algorithms import find, methods
from ..arguments import Array
from ..errors import OrdernError
from ..joints import Revolute, Spherical
from ..loading import chain
from ..model import core_shape
from ..robot import Robot
from .costs import own_methods
from .text import doing, filled, grid, lines, save, table

__all__ = ["errors", "heavy_tip", "page", "tables", "truth"]

STATES = 3


def truth(robot: Robot, *given: Array, question: str = "forward_dynamics") -> Array:
    """Return the result of the default method's text on numbers of 50 digits, as doubles."""
    import mpmath

    with mpmath.workdps(50):
        digits = [np.vectorize(mpmath.mpf, otypes=[object])(x) for x in given]
        exact = robot.kernel(question, way="interpreted")(*digits)
        return np.asarray(exact).astype(float)


def errors(
    robot: Robot,
    names: Sequence[str],
    dtype: str = "float64",
    seed: int = 0,
    fold: float = 1.0,
    question: str = "forward_dynamics",
) -> list[float]:
    """Return the median relative error of each method; NaN if it refuses the robot. `fold` scales the joint angles."""
    rng = np.random.default_rng(seed)
    kinds = [p.kind for p in find(question)[0].inputs if not p.optional]
    given = [rng.uniform(-1, 1, (STATES, *core_shape(robot, kind))).astype("float32").astype(float) for kind in kinds]
    given[0] = (fold * given[0]).astype("float32").astype(float)
    if robot.nq != robot.nv:  # quaternions must be units, as well as double precision can
        given[0] = robot.random(rng, (STATES,))
    exact = truth(robot, *given, question=question)
    axes = tuple(range(1, exact.ndim))
    found = []
    for name in names:
        try:
            kernel = robot.kernel(question, name, way="interpreted")
            answer = kernel(*(x.astype(dtype) for x in given))
        except OrdernError:
            found.append(float("nan"))
            continue
        with np.errstate(all="ignore"):
            apart = np.abs(answer - exact).max(axis=axes) / np.abs(exact).max(axis=axes)
        found.append(float(np.median(apart)))
    return found


def heavy_tip(n: int, ratio: float) -> Robot:
    """Return a chain whose last link weighs `ratio` times as much as the others."""
    robot = chain(n, Revolute, seed=1)
    last = robot.bodies[-1]
    heavy = replace(last, mass=last.mass * ratio, inertia=tuple(x * ratio for x in last.inertia))
    return replace(robot, bodies=(*robot.bodies[:-1], heavy))


def page(folder: Path) -> str:
    """Return the page, and draw its figure."""
    lengths, links = (5, 10, 20, 40), 10
    text, series = tables(lengths, links)
    whole = {name: found for name, found in series.items() if np.isfinite(found).all()}
    fig, axes = grid()
    title = "Forward dynamics in double precision"
    lines(axes, lengths, whole, title, "links", "relative error", scale="log", width=1, font=6, columns=2)
    save(fig, folder, "accuracy")
    a, c = series["articulated-body"], series["composite-body"]
    better = "smaller" if np.mean(np.log(a)) < np.mean(np.log(c)) else "not smaller"
    ours, theirs = (", ".join(f"{x:.1e}" for x in found) for found in (a, c))
    return filled("accuracy", **text, links=links, better=better, articulated=ours, composite=theirs)


def tables(
    lengths: Sequence[int] = (5, 10, 20, 40),
    links: int = 10,
    ratios: Sequence[float] = (1.0, 1e2, 1e4, 1e6),
    folds: Sequence[float] = (1.0, 1e-2, 1e-4, 1e-6),
) -> tuple[dict[str, str], dict[str, list[float]]]:
    """Return all tables, each with a row for every method, and the errors in double precision by length."""
    names = _names("forward_dynamics")
    by_length = [f"n = {n}" for n in lengths]
    chains = [chain(n, Revolute, seed=n) for n in lengths]
    doing("chain length")
    found = {dtype: [errors(robot, names, dtype) for robot in chains] for dtype in ("float64", "float32")}
    text = {dtype: _table(names, by_length, columns) for dtype, columns in found.items()}
    series = {name: [column[k] for column in found["float64"]] for k, name in enumerate(names)}
    doing("chains of spherical joints")
    balls = [errors(chain(n, Spherical, seed=n), names) for n in lengths]
    text["spherical"] = _table(names, by_length, balls)
    doing("mass ratio")
    heavy = [errors(heavy_tip(links, r), names) for r in ratios]
    text["heavy"] = _table(names, [f"{r:g}" for r in ratios], heavy)
    doing("near a singular position")
    planar = chain(8, Revolute((0.0, 1.0, 0.0)))
    folded = [errors(planar, names, fold=f) for f in folds]
    text["folded"] = _table(names, [f"angles of {f:g}" for f in folds], folded)
    for key, question in (("inverse", "inverse_dynamics"), ("mass", "mass_matrix")):
        doing(question)
        names = _names(question)
        for dtype in ("float64", "float32"):
            columns = [errors(robot, names, dtype, question=question) for robot in chains]
            text[f"{key}_{dtype}"] = _table(names, by_length, columns, question)
    return text, series


def _names(question: str) -> list[str]:
    """Return the names of all methods of the library, without aliases."""
    return [m.name for m in own_methods(question) if not m.alias_of]


def _table(
    names: Sequence[str], head: Sequence[str], columns: Sequence[Sequence[float]], question: str = "forward_dynamics"
) -> str:
    rows = []
    for k, name in enumerate(names):
        others = ", ".join(f"`{m.name}`" for m in methods(question) if m.alias_of == name and m.paper)
        numbers = ("-" if np.isnan(c[k]) else f"{c[k]:.1e}" for c in columns)
        rows.append((f"`{name}`" + (f" ({others})" if others else ""), *numbers))
    return table(("method", *head), rows)
