"""Errors of forward dynamics, inverse dynamics and mass matrices, method by method, against arithmetic of 50 digits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Algorithm, find, methods
from ..errors import OrdernError
from ..joints import Revolute, Spherical
from ..model import core_shape
from ..robot import Robot
from ..robots import chain
from .text import doing, grid, save, table

__all__ = ["errors", "page", "tables", "truth"]

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]
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


def _methods(question: str = "forward_dynamics") -> list[Algorithm]:
    """Return all methods of the library, without aliases."""
    mine = [m for m in methods(question) if m.function.__module__.startswith("ordern.")]
    return [m for m in mine if not m.alias_of]


def heavy_tip(n: int, ratio: float) -> Robot:
    """Return a chain whose last link weighs `ratio` times as much as the others."""
    b = chain(n, Revolute, seed=1)
    robot = b.build()
    from dataclasses import replace

    last = robot.bodies[-1]
    heavy = replace(last, mass=last.mass * ratio, inertia=tuple(x * ratio for x in last.inertia))
    return Robot(**{**robot.__getstate__(), "bodies": (*robot.bodies[:-1], heavy)})


def page(folder: Path) -> str:
    """Make the page, and its figure."""
    lengths = (5, 10, 20, 40)
    text, series = tables(lengths)
    fig, axes = grid()
    for name, errors_of in series.items():
        if np.isfinite(errors_of).all():
            axes.loglog(lengths, errors_of, label=name, linewidth=1)
    axes.set(xlabel="links", ylabel="relative error", title="Forward dynamics in double precision")
    axes.legend(fontsize=6, ncols=2)
    text.append(save(fig, folder, "accuracy", "Error against chain length"))
    if {"articulated-body", "composite-body"} <= series.keys():
        a, c = series["articulated-body"], series["composite-body"]
        better = "smaller" if np.mean(np.log(a)) < np.mean(np.log(c)) else "not smaller"
        mine, theirs = (", ".join(f"{x:.1e}" for x in e) for e in (a, c))
        text.append(
            "Ascher, Pai and Cloutier (1997) find the articulated-body method more accurate than composite bodies. "
            f"Here its errors are {better}: {mine} against {theirs}.\n"
        )
    return "\n".join(text)


def tables(
    lengths: Sequence[int] = (5, 10, 20, 40),
    links: int = 10,
    ratios: Sequence[float] = (1.0, 1e2, 1e4, 1e6),
    folds: Sequence[float] = (1.0, 1e-2, 1e-4, 1e-6),
) -> tuple[list[str], dict[str, list[float]]]:
    """Return all tables, each with a row for every method, and the errors in double precision by length."""
    names = [m.name for m in _methods()]
    text = [
        "# Accuracy\n",
        "The relative error of forward dynamics, inverse dynamics and mass matrices (median of some random states), "
        "for every method, against the text of the usual method run on numbers of 50 digits. Texts are interpreted, so "
        "that no operations are fused; of methods that are made of other functions, those are compiled. A method that "
        "is for other robots than these has no number; names in brackets are other names of the same.\n",
    ]
    series: dict[str, list[float]] = {name: [] for name in names}
    chains = {n: Robot.of(chain(n, Revolute, seed=n).build()) for n in lengths}
    for dtype in ("float64", "float32"):
        doing(f"chain length, {dtype}")
        columns = [errors(robot, names, dtype) for robot in chains.values()]
        if dtype == "float64":
            for column in columns:
                for name, e in zip(names, column, strict=True):
                    series[name].append(e)
        text += [f"## Chain length, {dtype}\n", _table(names, [f"n = {n}" for n in lengths], columns)]
    doing("chains of spherical joints")
    balls = [errors(Robot.of(chain(n, Spherical, seed=n).build()), names) for n in lengths]
    text += ["## Chains of spherical joints, float64\n", _table(names, [f"n = {n}" for n in lengths], balls)]
    doing("mass ratio")
    heavy = [errors(heavy_tip(links, r), names) for r in ratios]
    text.append(f"## Mass ratio: the last of {links} links is heavier, float64\n")
    text.append(_table(names, [f"{r:g}" for r in ratios], heavy))
    doing("near a singular position")
    planar = Robot.of(chain(8, Revolute((0.0, 1.0, 0.0))).build())
    text.append("## Near a singular position: 8 joints with parallel axes, almost stretched, float64\n")
    text.append(_table(names, [f"angles of {f:g}" for f in folds], [errors(planar, names, fold=f) for f in folds]))
    for question, title in (("inverse_dynamics", "Inverse dynamics"), ("mass_matrix", "Mass matrices")):
        mine = [m.name for m in _methods(question)]
        doing(title.lower())
        for dtype in ("float64", "float32"):
            columns = [errors(robot, mine, dtype, question=question) for robot in chains.values()]
            text.append(f"## {title}: chain length, {dtype}\n")
            text.append(_table(mine, [f"n = {n}" for n in lengths], columns, question))
    return text, series


def _table(
    names: Sequence[str], head: Sequence[str], columns: Sequence[Sequence[float]], question: str = "forward_dynamics"
) -> str:
    rows = []
    for k, name in enumerate(names):
        others = ", ".join(f"`{m.name}`" for m in methods(question) if m.alias_of == name)
        numbers = ("-" if np.isnan(c[k]) else f"{c[k]:.1e}" for c in columns)
        rows.append((f"`{name}`" + (f" ({others})" if others else ""), *numbers))
    return table(("method", *head), rows)
