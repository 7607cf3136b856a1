"""Errors of forward dynamics, inverse dynamics and mass matrices, method by method, against arithmetic of 50 digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import find, methods
from ..algorithms.forward_dynamics.conjugate_gradient import PRECONDITIONED, solve
from ..arguments import Array
from ..errors import OrdernError
from ..joints import Revolute, Spherical
from ..loading import chain
from ..model import core_shape
from ..residuals import refined, relative
from ..robot import Robot
from .costs import own_methods
from .text import doing, filled, grid, lines, save, table

__all__ = ["errors", "heavy_tip", "light_errors", "light_link", "long_chains", "page", "tables", "truth"]

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
            typed = [x.astype(dtype) for x in given]
            if question == "forward_dynamics" and name in PRECONDITIONED:  # also where it has not converged
                answer = solve(robot, *typed, precondition=PRECONDITIONED[name]).acceleration
            else:
                answer = robot.kernel(question, name, way="interpreted")(*typed)
        except OrdernError:
            found.append(float("nan"))
            continue
        with np.errstate(all="ignore"):
            apart = np.abs(answer - exact).max(axis=axes) / np.abs(exact).max(axis=axes)
        found.append(float(np.median(apart)))
    return found


def heavy_tip(n: int, ratio: float) -> Robot:
    """Return a chain whose last link weighs `ratio` times as much as the others."""
    return _weighted(n, n - 1, ratio)


def light_link(n: int, ratio: float) -> Robot:
    """Return a chain whose middle link weighs `ratio` times as much as the others."""
    return _weighted(n, n // 2, ratio)


def _weighted(n: int, at: int, ratio: float) -> Robot:
    robot = chain(n, Revolute, seed=1)
    one = robot.bodies[at]
    other = replace(one, mass=one.mass * ratio, inertia=tuple(x * ratio for x in one.inertia))
    return replace(robot, bodies=(*robot.bodies[:at], other, *robot.bodies[at + 1 :]))


def light_errors(robot: Robot, names: Sequence[str]) -> list[tuple[float, float, float]]:
    """Return the median error, residual, and error after one step of refinement of each method."""
    rng = np.random.default_rng(0)
    q, v, tau = rng.uniform(-1, 1, (3, STATES, robot.nv)).astype("float32").astype(float)
    exact = truth(robot, q, v, tau)
    fall = np.broadcast_to(np.array([0.0, 0.0, 0.0, *robot.gravity]), (STATES, 6))
    bias = robot.bias_force(q, v)
    found: list[tuple[float, float, float]] = []

    def off(a: Array) -> float:
        return float(np.median(np.abs(a - exact).max(axis=-1) / np.abs(exact).max(axis=-1)))

    def left(a: Array) -> Array:
        return np.asarray(tau - robot.kernel("inverse_dynamics", way="interpreted")(q, v, a))

    for name in names:
        try:
            a = robot.kernel("forward_dynamics", name, way="interpreted")(q, v, tau)
        except OrdernError:
            found.append((np.nan, np.nan, np.nan))
            continue
        with np.errstate(all="ignore"):
            try:
                falling = robot.kernel("forward_dynamics", name, present=("base_acceleration",), way="interpreted")
                again = off(refined(a, left, partial(_solved, falling, q, fall), 1)[0])
            except OrdernError:  # no moving base, and so no fall
                again = np.nan
            found.append((off(a), float(np.median(relative(left(a), tau, bias))), again))
    return found


def _solved(kernel: Any, q: Array, fall: Array, r: Array) -> Array:
    """Return the accelerations by forces r at rest, in free fall."""
    return np.asarray(kernel(q, np.zeros_like(r), r, fall))


def long_chains(lengths: Sequence[int]) -> str:
    """Return a table of both methods of conjugate gradients on long chains, with articulated bodies beside them."""
    rows = []
    for n in lengths:
        robot = chain(n, Revolute, seed=1)
        q, v, tau = np.random.default_rng(0).uniform(-1, 1, (3, n)).astype("float32").astype(float)
        exact = truth(robot, q, v, tau)
        for name in ("articulated-body", *PRECONDITIONED):
            found = robot.forward_dynamics_report(q, v, tau, method=name)
            error = np.abs(found.acceleration - exact).max() / np.abs(exact).max()
            steps = "" if found.iterations is None else str(int(found.iterations))
            ended = "" if found.converged is None else "yes" if found.converged else "no, an error"
            rows.append((str(n), f"`{name}`", f"{error:.1e}", f"{float(found.residual):.1e}", steps, ended))
    return table(("n", "method", "error", "residual", "steps", "converged"), rows)


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
    lights: Sequence[float] = (1e-6, 1e-9),
    long: Sequence[int] = (100, 300, 500),
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
    doing("light link")
    light = [light_errors(light_link(links, r), names) for r in lights]
    head = [f"{r:g}: {what}" for r in lights for what in ("error", "residual", "refined")]
    text["light"] = _table(names, head, [list(c) for part in light for c in zip(*part, strict=True)])
    doing("long chains")
    text["long"] = long_chains(long)
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
