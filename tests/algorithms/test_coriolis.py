"""Coriolis matrices: what makes them such, Christoffel's symbols, Saha's matrix, Pinocchio's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from ordern import robots
from ordern.algorithms.coriolis.rates import subspace_rates
from ordern.graph import Jet, atan2, cos, sin, sqrt, where_less
from ordern.model import ConcreteTree
from ordern.spatial import Freedoms
from tests.algorithms.trees import ask, rate, skew, times
from tests.peers_util import CASES, Pair, relative_errors
from tests.random_models import ALL_JOINTS, Wrist, random_robot, random_state
from tests.tolerances import FINITE_DIFFERENCE, PEER, PUBLISHED, ROUNDING, SINGLE, assert_close

METHODS = ["saha", "christoffel"]
HOLONOMIC = (on.Revolute, on.Continuous, on.Prismatic, on.Helical, on.Cylindrical, on.Universal, Wrist)
STATES = 3


def tree(seed: int) -> on.Robot:
    """Trees, chains, floating ones, with armature, with joints that follow others, with fixed joints."""
    return random_robot(
        300 + seed,
        4 + seed % 8,
        floating=seed % 3 == 1,
        chain=seed % 5 == 2,
        armature=seed % 2 == 0,
        mimic=seed % 4 == 3,
        merge=seed % 7 != 6,
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(15))
def test_forces_and_skewness(seed: int, method: str) -> None:
    """C v is the force of velocities, and dM/dt - 2 C, along the motion, has no power."""
    robot = tree(seed)
    q, v, _ = random_state(robot, seed, (STATES,))
    v *= 0.3
    C = ask(robot, "coriolis_matrix", q, v, method=method)
    assert_close(times(C, v) + ask(robot, "gravity_force", q), ask(robot, "bias_force", q, v), ROUNDING)
    M_rate = rate(robot, lambda q, v: ask(robot, "mass_matrix", q), q, v)
    assert_close(C + C.swapaxes(-1, -2), M_rate, FINITE_DIFFERENCE)


@pytest.mark.parametrize("seed", range(6))
def test_christoffel_symbols(seed: int) -> None:
    """Where velocities are rates of coordinates: half of dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i, times v_k."""
    robot = random_robot(330 + seed, 5, HOLONOMIC, armature=True, mimic=seed % 3 == 2)
    q, v, _ = random_state(robot, seed, (STATES,))
    slopes = [
        rate(robot, lambda q, v: ask(robot, "mass_matrix", q), q, np.broadcast_to(unit, v.shape))
        for unit in np.eye(robot.nv)
    ]
    dM = np.stack(slopes, axis=-1)
    symbols = (dM + dM.swapaxes(-1, -2) - np.moveaxis(dM, -1, -3)) / 2
    C = ask(robot, "coriolis_matrix", q, v, method="christoffel")
    assert_close(C, np.einsum("sijk,sk->sij", symbols, v), FINITE_DIFFERENCE)


@pytest.mark.parametrize("seed", range(4))
def test_difference_of_the_two(seed: int) -> None:
    """Saha's matrix is Christoffel's and half of tr(I) Jw^T (w x) Jw of each body; its inertia is about its centre."""
    robot = random_robot(340 + seed, 7, ALL_JOINTS, floating=seed == 1)
    q, v, _ = random_state(robot, seed, (STATES,))
    expected = ask(robot, "coriolis_matrix", q, v, method="christoffel")
    for b in robot.bodies:
        J = ask(robot, "jacobian", q, frame=b.name, axes="frame")[..., :3, :]
        expected = expected + 0.5 * sum(b.inertia[:3]) * J.swapaxes(-1, -2) @ skew(times(J, v)) @ J
    assert_close(ask(robot, "coriolis_matrix", q, v, method="saha"), expected, ROUNDING)


def test_they_agree_for_planar_arms() -> None:
    robot = on.Robot.of(robots.builder("planar-3r").build())
    q, v, _ = random_state(robot, 0, (STATES,))
    saha, christoffel = (ask(robot, "coriolis_matrix", q, v, method=m) for m in METHODS)
    assert np.abs(saha).max() > 1e-3
    assert_close(saha, christoffel, ROUNDING)


@pytest.mark.parametrize("name", ["panda", "ur5", "kinova", "tiago", "baxter", "double-pendulum", "anymal-b"])
def test_christoffel_is_pinocchios(name: str) -> None:
    pair = Pair(next(c for c in CASES if c.name == name), way="interpreted")
    s = pair.states(STATES)
    theirs = pair.each(s, lambda q, v, *_: pin.computeCoriolisMatrix(pair.model, pair.data, q, v).copy())
    mine = pair.ask("coriolis_matrix", s.q, s.v)
    assert relative_errors(mine, pair.E.T @ theirs @ pair.E).max() < PEER


def test_reference_arm() -> None:
    """Both matrices of an arm, computed independently of this library."""
    data: dict[str, Any] = json.loads((Path(__file__).parent / "data/serial_chain.json").read_text())
    builder = on.Builder("serial chain", gravity=data["g"]).body("link0")
    types = {"revolute": on.Revolute, "prismatic": on.Prismatic}
    for k, spec in enumerate(data["spec"], 1):
        joint, at = types[spec["type"]](spec["axis"]), (spec["xyz"], spec["rpy"])
        inertia = {"mass": spec["mass"], "com": spec["com"], "inertia": spec["I"]}
        builder.body(f"link{k}", parent=f"link{k - 1}", joint=joint, at=at, **inertia)
    robot, q, v = builder.build(), np.array(data["q"]), np.array(data["v"])
    assert_close(robot.coriolis_matrix(q, v, method="saha"), data["C_saha (25)-(29)"], PUBLISHED)
    assert_close(robot.coriolis_matrix(q, v), data["C_christoffel"], PUBLISHED)


SMALL = {
    "tree": random_robot(350, 3, (on.Revolute, on.Universal), armature=True),
    "coupled": random_robot(352, 4, (on.Revolute,), chain=True, mimic=True),
    "floating": random_robot(351, 1, (on.Prismatic,), floating=True),
    "rolling": on.Builder("rolling")
    .body("ground")
    .body("disc", parent="ground", joint=on.RollingDisc(0.4), mass=1.0, com=(0.1, 0.0, 0.2), inertia=(0.1, 0.2, 0.1))
    .build(),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "name"), [("saha", "tree"), ("saha", "coupled"), *(("christoffel", name) for name in SMALL)]
)
def test_every_way_of_running(method: str, name: str) -> None:
    robot = SMALL[name]
    q, v, _ = random_state(robot, 1, (STATES,))
    expected = ask(robot, "coriolis_matrix", q, v, method=method)
    for way in ("rolled", "unrolled"):
        kernel = robot.kernel("coriolis_matrix", method, way=way)
        assert_close(kernel(q, v), expected, ROUNDING)
    if name == "coupled":
        single = kernel(q.astype(np.float32), v.astype(np.float32))
        assert single.dtype == np.float32
        assert_close(single, expected, SINGLE)


def test_a_disc_that_rolls() -> None:
    """Its velocities are no rates of coordinates, nor could they be."""
    robot = SMALL["rolling"]
    q, v, _ = random_state(robot, 2, (STATES,))
    for method in METHODS:
        C = ask(robot, "coriolis_matrix", q, v, method=method)
        assert_close(times(C, v) + ask(robot, "gravity_force", q), ask(robot, "bias_force", q, v), ROUNDING)
        M_rate = rate(robot, lambda q, v: ask(robot, "mass_matrix", q), q, v)
        assert_close(C + C.swapaxes(-1, -2), M_rate, FINITE_DIFFERENCE)


@pytest.mark.parametrize("joint", [*ALL_JOINTS, on.RollingDisc], ids=lambda j: f"{j.__module__}.{j.__name__}")
def test_rates_of_a_subspace_add_up_to_the_bias(joint: type[on.Joint]) -> None:
    one = on.Builder("one").body("base").body("moved", parent="base", joint=joint(), mass=1.0, inertia=(1.0, 1.0, 1.0))
    robot = one.build(merge=False)
    q, v, _ = random_state(robot, 3)
    ((i, _),) = ConcreteTree(robot).outward()
    position, velocity = Freedoms(q.tolist()), Freedoms(v.tolist())
    found = subspace_rates(i, position, velocity) @ velocity
    assert_close(found.scalars, i.bias(position, velocity).scalars, ROUNDING)


def test_jets() -> None:
    """Each operation, against differences."""
    x, y, h = 0.7, -0.4, 1e-6
    functions = {
        "arithmetic": lambda x, y: (x * y - x / y + 2.0) / (3.0 - x) + (1.0 - -y) * 2.0 - 1.0 / x,
        "functions": lambda x, y: sin(x) * cos(y) + sqrt(x) * atan2(y, x),
        "choices": lambda x, y: where_less(x, y, x * x, y * y) + where_less(y, x, x * x, 1.0),
    }
    for name, f in functions.items():
        jet = f(Jet(x, 1.0), Jet(y, 2.0))
        assert jet.value == f(x, y), name
        slope = (f(x + h, y + 2 * h) - f(x - h, y - 2 * h)) / (2 * h)
        assert_close(jet.rate, slope, FINITE_DIFFERENCE)
