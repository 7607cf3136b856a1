"""Loops of `tree.repeat` in compiled code: values from before, numbers that do not change, one loop after another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import registry
from ordern.algorithms.forward_dynamics.articulated_body import articulated_body
from ordern.compile.program import choose_way
from ordern.graph import sin
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
