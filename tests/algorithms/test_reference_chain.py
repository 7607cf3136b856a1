"""A serial arm of four joints whose quantities were computed independently of this library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.tolerances import PUBLISHED, assert_close

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data/serial_chain.json").read_text())
Q, V, A = (np.array(DATA[k]) for k in ("q", "v", "a"))


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    builder = on.Builder("serial chain", gravity=DATA["g"]).body("link0")
    types = {"revolute": on.Revolute, "prismatic": on.Prismatic}
    for k, spec in enumerate(DATA["spec"], 1):
        builder.body(
            f"link{k}",
            parent=f"link{k - 1}",
            joint=types[spec["type"]](spec["axis"]),
            at=(spec["xyz"], spec["rpy"]),
            mass=spec["mass"],
            com=spec["com"],
            inertia=spec["I"],
        )
    return builder.frame("tip", "link4", at=DATA["tip offset in link 4"]).build()


def test_dynamics(robot: on.Robot) -> None:
    assert_close(robot.mass_matrix(Q), DATA["M"], PUBLISHED)
    assert_close(robot.gravity_force(Q), DATA["gravity_force"], PUBLISHED)
    assert_close(robot.bias_force(Q, V) - robot.gravity_force(Q), DATA["C*v"], PUBLISHED)
    assert_close(robot.inverse_dynamics(Q, V, A), DATA["tau=ID(q,v,a)"], PUBLISHED)
    assert_close(robot.forward_dynamics(Q, V, np.array(DATA["tau=ID(q,v,a)"])), A, PUBLISHED)


def test_energies(robot: on.Robot) -> None:
    assert_close(robot.kinetic_energy(Q, V), DATA["kinetic_energy"], PUBLISHED)
    assert_close(robot.potential_energy(Q), DATA["potential_energy (zero at world origin)"], PUBLISHED)


def test_tip(robot: on.Robot) -> None:
    J = robot.jacobian(Q, "tip", axes="world")
    assert_close(J, DATA["J tip, world axes"], PUBLISHED)
    compliance = J @ np.linalg.solve(robot.mass_matrix(Q), J.T)
    assert_close(compliance, DATA["J M^-1 J^T at tip, (angular,linear), world axes"], PUBLISHED)
    bias = robot.acceleration(Q, V, np.zeros(4), "tip", axes="world")
    assert_close(bias, DATA["tip Jdot*v (classical linear acc), world axes"], PUBLISHED)


def test_rate_of_the_mass_matrix(robot: on.Robot) -> None:
    """v^T dM/dt v is twice the power of the Coriolis forces; dM/dt is given."""
    coriolis = robot.bias_force(Q, V) - robot.gravity_force(Q)
    assert_close(2 * V @ coriolis, V @ np.array(DATA["Mdot"]) @ V, PUBLISHED)
