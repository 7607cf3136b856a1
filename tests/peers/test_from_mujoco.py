"""The page for users of MuJoCo: every row of its tables has the same numbers on both sides."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest

import ordern as on
from tests.peers.tables import Row, code_of, rows_of, value, words_of
from tests.tolerances import PEER, assert_close

PAGE = "from_mujoco.md"
ROWS = rows_of(PAGE)


@cache
def names() -> dict[str, Any]:
    """The names that the code of the page defines."""
    found: dict[str, Any] = {}
    exec(code_of(PAGE), found)
    found["h"], found["k"] = found["q"][:4], on.rotations.quaternion_from_rpy([0.1, 0.2, 0.3])
    found["x"] = np.array([0.3, -0.2, 0.5])
    return found


def kinds() -> dict[str, Callable[[Any], Any]]:
    """For each kind of answer, how MuJoCo's becomes ours."""
    n = names()
    c, q, v = n["c"], n["q"], n["v"]
    B = c.velocity_matrix(q)
    qpos, qvel = c.to_peer(q, v)
    return {
        "numbers": np.asarray,
        "Jacobian": lambda J: J @ B,
        "mass matrix": lambda M: B.T @ M @ B,
        "joint forces": lambda f: B.T @ f,
        "joint velocities": lambda x: np.linalg.solve(B, x),
        "joint accelerations": lambda a: c.from_peer(qpos, qvel, a)[2],
        "position": c.from_peer,
    }


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows(row: Row) -> None:
    theirs = value(row.theirs, {**names(), "d": copy.copy(names()["d"])})
    expected = kinds()[row.answer](np.array(theirs))
    found = value(row.ours, dict(names()))
    if row.answer == "position":  # a quaternion and its negative are one rotation
        expected[:4] *= np.sign(expected[0] * found[0])
    assert_close(found, expected, PEER)


def test_names_on_the_page_exist_and_none_is_missing() -> None:
    named = {word for word in words_of(PAGE) if word.startswith(("mj_", "mjd_", "mju_"))} - {"mj_", "mjd_", "mju_"}
    assert len(ROWS) > 30 and len(named) > 130
    assert {name for name in named if not hasattr(mujoco, name)} == set()
    if mujoco.__version__.startswith("4.0."):
        assert {name for name in dir(mujoco) if name.startswith(("mj_", "mjd_"))} - named == set()
