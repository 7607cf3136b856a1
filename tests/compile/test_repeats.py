"""Loops of `tree.repeat` in compiled code: values from before, numbers that do not change, one loop after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import registry
from ordern.algorithms.forward_dynamics.articulated_body import articulated_body
from ordern.compile.pipeline import layout_of
from ordern.compile.program import choose_way
from ordern.compile.trace.repeats import stages, trace_repeated
from ordern.graph import sin, where_less
from tests.tolerances import ROUNDING, assert_close

NAME = "in two loops"


def in_two_loops(tree: Any, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Return accelerations after iterations that have nothing to do with dynamics."""
    x = articulated_body(tree, q, qd, tau, external, v0, a0).scalars
    here = [sin(q[i][0]) for i, _ in tree.outward()]

    def first(y: Any) -> Any:
        return [0.5 * y[0] + here[0] * y[1], here[1] - 0.3 * y[0], y[2], 2.0]  # the last two do not depend on it

    def second(y: Any) -> Any:
        return [y[1], y[0] + here[2] * x[0], 0.9 * y[2]]  # two numbers change places

    a = tree.repeat(7, first, [x[0], x[1], x[2], 1.0])
    b = tree.repeat(5, second, [a[0], a[1], a[3] + here[0]])
    out = tree.output("v")
    for (i, _), number in zip(tree.outward(), (b[0] + a[2], b[1] * here[1], b[2]), strict=True):
        out[i] = on.spatial.Freedoms((number,))
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_loops_are_the_interpreted_ones(dtype: Any) -> None:
    declared = on.algorithm("forward_dynamics", NAME, sweeps=False, repeats=True, couplings=True)
    declared(in_two_loops)
    try:
        robot, rng = on.load("planar-3r"), np.random.default_rng(0)
        given = [x.astype(dtype) for x in (robot.random(rng, (9,)), *rng.standard_normal((2, 9, 3)))]
        expected = robot.kernel("forward_dynamics", NAME, way="interpreted")(*(x.astype(float) for x in given))
        kernel = robot.kernel("forward_dynamics", NAME)
        assert choose_way(kernel.request) == "unrolled"
        found = kernel(*given)
        assert found.dtype == dtype
        assert_close(found, expected, ROUNDING if dtype is np.float64 else 1e-4)
        np.testing.assert_array_equal(kernel(*(x[4] for x in given)), found[4])
        run = robot.rollout(given[0], given[1], steps=2, dt=1e-3, dynamics=NAME)
        assert np.isfinite(run.q).all()
    finally:
        registry._ALGORITHMS.pop(("forward_dynamics", NAME))


GUARDED = "with guards"


def with_guards(tree: Any, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Return accelerations after guards before a loop, in it and after it."""
    x = [sin(0.01 * y) for y in articulated_body(tree, q, qd, tau, external, v0, a0).scalars]
    here = [sin(q[i][0]) for i, _ in tree.outward()]
    flags = [where_less(0.3, h, 1.0, 0.0) for h in here]

    def known(k: int) -> Any:
        return tree.when(flags[k], lambda: [sin(here[k] + x[k]), x[k] * x[k], here[k], 2.0])

    ready = [known(k) for k in range(3)]

    def turn(y: Any) -> Any:
        *y, change = y[0], y[1], y[2], 0.0
        for k in range(3):
            before = [y[k], y[(k + 1) % 3], change]
            after = [0.5 * y[k] + ready[k][0], 0.5 * y[(k + 1) % 3] - sin(ready[k][1]) * sin(y[k]), change]
            after[2] = change + (after[0] - y[k]) * (after[0] - y[k])
            y[k], y[(k + 1) % 3], change = tree.when(flags[k], lambda after=after: after, before)
        return [*y, change]

    a = tree.repeat(40, turn, [x[0], 0.5, x[2], 1.0], lambda old, new: 1e14 * new[3])
    b = tree.repeat(4, lambda y: [tree.when(flags[1], lambda: [0.5 * y[0]], [y[0]])[0], y[0]], [a[1], a[0]])
    last = tree.when(flags[2], lambda: [a[2] * here[0], b[0] + ready[2][2] * ready[2][3]], [x[1], b[1]])
    out = tree.output("v")
    for (i, _), number in zip(tree.outward(), (a[0] + x[1], *last), strict=True):
        out[i] = on.spatial.Freedoms((number,))
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_guards_are_the_interpreted_ones(dtype: Any) -> None:
    on.algorithm("forward_dynamics", GUARDED, sweeps=False, repeats=True, couplings=True)(with_guards)
    try:
        robot, rng = on.load("planar-3r"), np.random.default_rng(0)
        given = [x.astype(dtype) for x in (robot.random(rng, (200,)), *rng.standard_normal((2, 200, 3)))]
        given[0][40:80] = -1.0  # vectors in which no guard runs
        expected = robot.kernel("forward_dynamics", GUARDED, way="interpreted")(*(x.astype(float) for x in given))
        kernel = robot.kernel("forward_dynamics", GUARDED)
        found = kernel(*given)
        assert_close(found, expected, 1e-6 if dtype is np.float64 else 1e-3)  # loops end early
        for k in range(0, 200, 13):
            np.testing.assert_array_equal(kernel(*(x[k] for x in given)), found[k])
        shuffled = rng.permutation(200)
        np.testing.assert_array_equal(kernel(*(x[shuffled] for x in given)), found[shuffled])
        code = trace_repeated(kernel.request, layout_of(kernel.request, 1))
        assert len(code.guards) == 3 + 3 + 1 + 1 and [s.loop for s in code.sections if s.guard >= 0] == [-1] * 3 + [
            0, 0, 0, 1, -1,
        ]  # fmt: skip
        inside = [sum(node.op == "sin" for node in nodes) for nodes in stages(code)]
        assert inside[0] == 6 and inside[1] == inside[3] == inside[5] == 1  # what a guard alone needs is part of it
    finally:
        registry._ALGORITHMS.pop(("forward_dynamics", GUARDED))


def with_equal_guards(tree: Any, q: Any, qd: Any, tau: Any, external: Any, v0: Any, a0: Any) -> Any:
    """Return numbers of a guard that is written twice, before a loop that reads them and after it."""
    x = [sin(0.01 * y) for y in articulated_body(tree, q, qd, tau, external, v0, a0).scalars]
    here = [sin(q[i][0]) for i, _ in tree.outward()]
    flag = where_less(0.3, here[0], 1.0, 0.0)

    def started(k: int) -> Any:
        return tree.when(flag, lambda: [sin(x[0]) + here[1], sin(x[k])], [x[1], x[2]])

    a = tree.repeat(5, lambda y: [0.5 * y[0] + here[1], 0.9 * y[1]], started(1))
    b = tree.repeat(5, lambda y: [0.7 * y[0] + here[2], 0.8 * y[1]], started(2))
    out = tree.output("v")
    for (i, _), number in zip(tree.outward(), (a[0] + b[1], a[1], b[0]), strict=True):
        out[i] = on.spatial.Freedoms((number,))
    return out


def test_equal_numbers_of_two_guards_are_computed_before_both() -> None:
    name = "with equal guards"
    on.algorithm("forward_dynamics", name, sweeps=False, repeats=True, couplings=True)(with_equal_guards)
    try:
        robot, rng = on.load("planar-3r"), np.random.default_rng(0)
        given = [robot.random(rng, (40,)), *rng.standard_normal((2, 40, 3))]
        expected = robot.kernel("forward_dynamics", name, way="interpreted")(*given)
        assert_close(robot.kernel("forward_dynamics", name)(*given), expected, ROUNDING)
    finally:
        registry._ALGORITHMS.pop(("forward_dynamics", name))
