"""The page for users of Pinocchio: every row of its tables has the same numbers on both sides, and none is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from tests.peers.tables import Row, rows_of, value, words_of
from tests.peers_util import CASES, Pair
from tests.robots import ROBOTS
from tests.tolerances import PEER, PEER_INVERSE, assert_close

PAGE = "from_pinocchio.md"
ROWS = rows_of(PAGE)
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def six(x: Any) -> np.ndarray:
    return np.concatenate([x.angular, x.linear]) if hasattr(x, "angular") else np.asarray(x)[ANGULAR_FIRST]


def hessian(H: np.ndarray) -> np.ndarray:
    """The numbers are in the order of Fortran, the array says in the order of C."""
    return H.ravel().reshape(H.shape[::-1]).transpose(2, 1, 0)[ANGULAR_FIRST]


def kinds(pair: Pair) -> dict[str, Callable[[Any], Any]]:
    """For each kind of answer, how Pinocchio's becomes ours."""
    E, back = pair.E, np.linalg.inv(pair.E)
    return {
        "number": float,
        "numbers": np.asarray,
        "three numbers": np.asarray,
        "six numbers": six,
        "six by six": lambda D: D[np.ix_(ANGULAR_FIRST, ANGULAR_FIRST)],
        "pose": lambda T: T.homogeneous,
        "poses": lambda T: np.stack([x.homogeneous for x in T]),
        "joint forces": lambda x: x @ E,
        "joint velocities": lambda x: x @ back.T,
        "mass matrix": lambda M: E.T @ (np.triu(M) + np.triu(M, 1).T) @ E,
        "inverse mass matrix": lambda M: back @ (np.triu(M) + np.triu(M, 1).T) @ back.T,
        "Jacobian": lambda J: J[ANGULAR_FIRST] @ E,
        "three rows": lambda J: J @ E,
        "forces by velocities": lambda D: E.T @ D @ E,
        "velocities by velocities": lambda D: back @ D @ E,
        "Hessian": lambda H: np.einsum("rjk,ja,kb->rab", hessian(H), E, E),
        "position": pair.converter.from_peer,
    }


@cache
def sides() -> tuple[Pair, dict[str, Any], dict[str, Any]]:
    """A floating quadruped in both libraries, and the names that the tables use."""
    pair = Pair(next(case for case in CASES if case.name == "solo12"))
    robot, model, data, s = pair.robot, pair.model, pair.data, pair.states(4)
    name, foot = robot.bodies[-1].name, "FL_FOOT"
    q, v = s.q[0], s.v[0]
    still = robot.impact(q, v, [foot]).v
    held = robot.builder().loop("hold", on.Fixed(), robot.base, foot, at=robot.pose(q, foot)).build()
    puma = str(Path(__file__).parents[2] / "examples/robots/puma560.urdf")
    common = {"on": on, "np": np, "file": str(ROBOTS / pair.case.file)}
    w = np.array([0.3, -0.5, 0.8])
    ours: dict[str, Any] = {
        **{"robot": robot, "held": held, "q": q, "v": v, "a": s.a[0], "tau": s.tau[0], "q1": s.q1[0], "still": still},
        **{"body": name, "joint_name": robot.joints[-1].name, "frame": foot, "frames": [foot, name]},
        **{"external": s.external[0], "Q": s.q, "V": s.v, "A": s.a, "Tau": s.tau},
        "other": on.load(puma),
        **{"w": w, "R": on.rotations.exp(w), "T": robot.pose(q, foot), "twist": np.arange(6.0) / 4},
    }
    moved = [pair.velocities(x) for x in (s.v, s.a)]
    f = model.getFrameId(foot, pin.FrameType.BODY)
    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    parent, place = model.frames[f].parentJoint, model.frames[f].placement
    contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, parent, place, pin.LOCAL))
    datas.append(contacts[0].createData())
    positions, forces = pair.positions(s.q), s.tau @ np.linalg.inv(pair.E)
    J = pin.computeFrameJacobian(model, data, positions[0], f, pin.LOCAL)
    resting = pair.velocities(still)
    theirs: dict[str, Any] = {
        **{"pin": pin, "model": model, "data": data, "pool": pin.ModelPool(model, 2)},
        "fext": pair.forces(s.external[0]),
        **{"q": positions[0], "v": moved[0][0], "a": moved[1][0], "tau": forces[0], "q1": pair.positions(s.q1)[0]},
        **{"joint": model.getJointId(robot.joints[-1].name), "frame": f, "contacts": contacts, "datas": datas},
        **{"frames": [f, model.getFrameId(name, pin.FrameType.BODY)], "J": J, "still": resting},
        "J_rate": pin.frameJacobianTimeVariation(model, data, positions[0], resting, f, pin.LOCAL),
        **{"Q": positions.T, "V": moved[0].T, "A": moved[1].T, "Tau": forces.T},
        "other": pin.buildModelFromUrdf(puma),
        **{"w": w, "R": pin.exp3(w), "T": pin.SE3(ours["T"]), "twist": pin.Motion(ours["twist"][ANGULAR_FIRST])},
    }
    return pair, {**common, **ours}, {**common, **theirs}


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows(row: Row) -> None:
    pair, ours, theirs = sides()
    expected = kinds(pair)[row.answer](value(row.theirs, dict(theirs)))
    found = np.asarray(value(row.ours, dict(ours)), float)
    if row.answer == "position":  # a quaternion and its negative are one rotation
        expected[:4] *= np.sign(expected[0] * found[0])
    inverse = {"inverse mass matrix", "six by six"}
    assert_close(found, expected, PEER_INVERSE if row.answer in inverse else PEER)


def test_every_function_is_on_the_page() -> None:
    """Also those without a counterpart."""
    functions = {
        name
        for name, x in vars(pin).items()
        if callable(x) and not isinstance(x, (type, ModuleType)) and not name.startswith("_")
    }
    assert len(ROWS) > 70 and len(functions) > 150
    assert functions - words_of(PAGE) == set()
