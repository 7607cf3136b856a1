"""Functions around kernels for robots with sets of parameters: each set has the answer of the robot with its numbers.

The leading shape is as long as other dimensions, so that sets on a wrong axis would not be an error but wrong numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError
from ordern.model.parameter_fields import own_numbers
from ordern.model.variation import varied_robot
from tests.kernel.varied_robots import each_folded

Q, V, TAU = np.array([[0.3, 0.2], [0.1, -0.4], [1.0, 2.0]])
W = np.array([0.7, -0.2])
ROWS = np.outer(np.arange(1.0, 7.0), W)
TIP = on.load("double-pendulum").frames[-1].name

QUICK: dict[str, Callable[[on.Robot], Any]] = {
    "com": lambda r: r.com(Q),
    "energy": lambda r: r.kinetic_energy(Q, V),
    "static_torque": lambda r: r.static_torque(Q, {TIP: np.arange(6.0)}),
    "delassus_solve": lambda r: r.delassus_solve(Q, np.ones(3), [TIP], contact="point", damping=1e-3),
    "impact": lambda r: (r.impact(Q, V, [TIP], 0.3).v, r.impact(Q, V, [TIP], 0.3).impulses),
    "delassus": lambda r: r.delassus_matrix(Q, [TIP], contact="point"),
    "poses": lambda r: r.poses(Q),
}
SLOW: dict[str, Callable[[on.Robot], Any]] = {
    "factors": lambda r: r.mass_matrix_factors(Q),
    "operational_inertia": lambda r: r.operational_inertia(Q, TIP, tolerance=1e-9),
    "operational_bias": lambda r: r.operational_bias(Q, V, TIP, tolerance=1e-9),
    "derivatives": lambda r: r.derivatives.forward_dynamics(Q, V, TAU),
    "derivatives of a matrix": lambda r: r.derivatives.mass_matrix(Q),
    "hvp": lambda r: r.hvp("forward_dynamics", (Q, V, TAU), W, (V, None, TAU)),
    "hessian": lambda r: r.hessian("inverse_dynamics", (Q, V, TAU), W),
    "second derivatives": lambda r: r.second_derivatives.forward_dynamics(Q, V, TAU),
    "second derivatives of inverse dynamics": lambda r: r.second_derivatives.inverse_dynamics(Q, V, TAU),
    "second derivatives of a matrix": lambda r: r.second_derivatives.mass_matrix(Q),
    "linearise": lambda r: (r.linearise(Q, V, TAU).A, r.linearise(Q, V, TAU).B),
    "steps of linearise": lambda r: (r.linearise(Q, V, TAU, 1e-2, method="rk4").A,),
    "rollout_vjp": lambda r: r.rollout_vjp(Q, V, TAU, steps=5, dt=1e-2, q=ROWS, wrt=("q0", "tau", "dt")),
    "rollout_jvp": lambda r: r.rollout_jvp(Q, V, TAU, steps=5, dt=1e-2, tangents={"tau": W}),
    "rollout.vjp": lambda r: r.rollout(Q, V, TAU, steps=5, dt=1e-2).vjp(v=ROWS, wrt=("q0", "v0")),
}
REFUSED: dict[str, Callable[[on.Robot], Any]] = {
    "operators": lambda r: r.operators(Q),
    "to_urdf": lambda r: r.to_urdf(),
    "check": lambda r: r.check(),
}


def _agree(function: Callable[[on.Robot], Any]) -> None:
    robot = on.load("double-pendulum")
    own = own_numbers(robot)
    numbers = {"inertia": own["inertia"] * np.array([1.0, 2.0])[:, None, None]}
    numbers["gravity"] = own["gravity"] * np.array([1.0, 0.5])[:, None]
    found = function(varied_robot(robot, numbers, {}))
    right = [function(one) for one in each_folded(robot, numbers)]
    parts = found if isinstance(found, tuple) else (found,)
    others = [x if isinstance(x, tuple) else (x,) for x in right]
    for k, part in enumerate(parts):
        wanted = np.array([x[k] for x in others])
        assert np.shape(part) == wanted.shape
        np.testing.assert_allclose(part, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", QUICK)
def test_functions(name: str) -> None:
    _agree(QUICK[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_slower_functions(name: str) -> None:
    _agree(SLOW[name])


@pytest.mark.parametrize("name", REFUSED)
def test_functions_for_one_robot(name: str) -> None:
    robot = on.load("double-pendulum")
    many = varied_robot(robot, {"gravity": np.tile(own_numbers(robot)["gravity"], (2, 1))}, {})
    with pytest.raises(ArgumentError, match=rf"{name}.*sets of parameters"):
        REFUSED[name](many)
