"""Errors of forward dynamics, method by method, against arithmetic of 50 digits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import Algorithm, methods
from ..errors import OrdernError
from ..joints import Revolute
from ..robot import Robot
from ..robots import chain
from .text import figure, save, table

__all__ = ["errors", "page", "truth"]

Array = np.ndarray[tuple[int, ...], np.dtype[Any]]
STATES = 3


def truth(robot: Robot, q: Array, v: Array, tau: Array) -> Array:
    """The accelerations, by the articulated-body text on numbers of 50 digits, as doubles."""
    import mpmath

    with mpmath.workdps(50):
        given = [np.vectorize(mpmath.mpf, otypes=[object])(x) for x in (q, v, tau)]
        exact = robot.kernel("forward_dynamics", way="interpreted")(*given)
        return np.asarray(exact).astype(float)


def errors(robot: Robot, names: Sequence[str], dtype: str = "float64", seed: int = 0, fold: float = 1.0) -> list[float]:
    """The median relative error of each method; NaN where it cannot be asked. `fold` scales the joint angles."""
    rng = np.random.default_rng(seed)
    q, v, tau = (
        rng.uniform(-1, 1, (STATES, n)).astype("float32").astype(float) for n in (robot.nq, robot.nv, robot.nv)
    )
    q = (fold * q).astype("float32").astype(float)
    exact = truth(robot, q, v, tau)
    found = []
    for name in names:
        try:
            kernel = robot.kernel("forward_dynamics", name, way="interpreted")
            answer = kernel(*(x.astype(dtype) for x in (q, v, tau)))
        except OrdernError:
            found.append(float("nan"))
            continue
        with np.errstate(all="ignore"):
            apart = np.abs(answer - exact).max(axis=1) / np.abs(exact).max(axis=1)
        found.append(float(np.median(apart)))
    return found


def _methods() -> list[Algorithm]:
    mine = [m for m in methods("forward_dynamics") if m.function.__module__.startswith("ordern.")]
    return [m for m in mine if not m.alias_of and not m.pieces]


def heavy_tip(n: int, ratio: float) -> Robot:
    """A chain whose last link weighs `ratio` times as much as the others."""
    b = chain(n, Revolute, seed=1)
    robot = b.build()
    from dataclasses import replace

    last = robot.bodies[-1]
    heavy = replace(last, mass=last.mass * ratio, inertia=tuple(x * ratio for x in last.inertia))
    return Robot(**{**robot.__getstate__(), "bodies": (*robot.bodies[:-1], heavy)})


def page(folder: Path) -> str:
    """The page, and its figure."""
    names = [m.name for m in _methods()]
    text = [
        "# Accuracy\n",
        "The relative error of forward dynamics (median of some random states), for every method, against the same "
        "text run on numbers of 50 digits. Texts are interpreted, so that no operations are fused.\n",
    ]
    lengths = (5, 10, 20, 40)
    series: dict[str, list[float]] = {name: [] for name in names}
    for dtype in ("float64", "float32"):
        columns = [errors(Robot.of(chain(n, Revolute, seed=n).build()), names, dtype) for n in lengths]
        if dtype == "float64":
            for column in columns:
                for name, e in zip(names, column, strict=True):
                    series[name].append(e)
        text.append(f"## Chain length, {dtype}\n")
        text.append(_table(names, [f"n = {n}" for n in lengths], columns))
    ratios = (1.0, 1e2, 1e4, 1e6)
    text.append("## Mass ratio: the last of 10 links is heavier, float64\n")
    text.append(_table(names, [f"{r:g}" for r in ratios], [errors(heavy_tip(10, r), names) for r in ratios]))
    folds = (1.0, 1e-2, 1e-4, 1e-6)
    planar = Robot.of(chain(8, Revolute((0.0, 1.0, 0.0))).build())
    text.append("## Near a singular position: 8 joints with parallel axes, almost stretched, float64\n")
    text.append(_table(names, [f"angles of {f:g}" for f in folds], [errors(planar, names, fold=f) for f in folds]))
    fig, axes = figure()
    for name in names:
        if np.isfinite(series[name]).all():
            axes.loglog(lengths, series[name], label=name, linewidth=1)
    axes.set(xlabel="links", ylabel="relative error", title="Forward dynamics in double precision")
    axes.legend(fontsize=6, ncols=2)
    text.append(save(fig, folder, "accuracy", "Error against chain length"))
    if {"articulated-body", "composite-body"} <= set(names):
        a, c = series["articulated-body"], series["composite-body"]
        better = "smaller" if np.mean(np.log(a)) < np.mean(np.log(c)) else "not smaller"
        mine, theirs = (", ".join(f"{x:.1e}" for x in e) for e in (a, c))
        text.append(
            "Ascher, Pai and Cloutier (1997) find the articulated-body method more accurate than composite bodies. "
            f"Here its errors are {better}: {mine} against {theirs}.\n"
        )
    return "\n".join(text)


def _table(names: Sequence[str], head: Sequence[str], columns: Sequence[Sequence[float]]) -> str:
    rows = [(f"`{name}`", *(f"{c[k]:.1e}" for c in columns)) for k, name in enumerate(names)]
    return table(("method", *head), [r for r in rows if not all(x == "nan" for x in r[1:])])
