"""Closures of one's own, written with the residuals that the library exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.joints import aligned, unturned


@dataclass(frozen=True)
class Hinge(on.Closure):
    """A hinge about z."""

    def closure(self, R: Any, p: Any) -> Any:
        return (*aligned(R), *p)


@dataclass(frozen=True)
class Weld(on.Closure):
    """No motion at all."""

    def closure(self, R: Any, p: Any) -> Any:
        return (*unturned(R), *p)


@pytest.mark.parametrize(
    ("own", "ours"), [(Hinge(), on.Revolute((0, 0, 1))), pytest.param(Weld(), on.Fixed(), marks=pytest.mark.slow)]
)
def test_they_equal_the_joints_of_the_library(own: on.Closure, ours: on.Closure) -> None:
    found = []
    for type in (own, ours):
        builder = on.Builder("held").body("base").body("b", parent="base", joint=on.Free(), mass=1.0, inertia=(1, 2, 3))
        robot = builder.loop("pin", type, "base", "b", at=(0.1, 0.2, 0.3)).build()
        q = robot.random(3)
        v = np.linspace(-1.0, 1.0, robot.nv)
        closed = robot.assemble(q).q
        found.append([robot.loop_residual(q), robot.loop_jacobian(q), robot.loop_bias(q, v), closed])
        assert robot.mobility(closed).freedoms == (1 if isinstance(type, Hinge | on.Revolute) else 0)
    for mine, known in zip(*found, strict=True):
        np.testing.assert_allclose(mine, known, rtol=1e-12, atol=1e-12)
