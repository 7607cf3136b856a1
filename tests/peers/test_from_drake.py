"""The page for users of Drake: our side of every row has the numbers that Drake gave, which `data/from_drake.json` has.

`python -m tests.peers.test_from_drake` writes the file, where Drake is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from tests.peers.tables import Row, code_of, rows_of, value, words_of
from tests.tolerances import PEER, assert_close

PAGE = "from_drake.md"
ROWS = rows_of(PAGE)
RECORDED = Path(__file__).parent / "data/from_drake.json"


@cache
def names() -> dict[str, Any]:
    """The names of our side that the code of the page defines."""
    code = code_of(PAGE, shown_only=True)
    found: dict[str, Any] = {"np": np, "on": on}
    exec(code[code.index('urdf = """') : code.index("plant = ")], found)
    robot = found["robot"]
    found["c"] = on.convert(robot, "drake", [joint.name for joint in robot.joints])  # in the order of Drake, too
    exec(code[code.index("q, v = ") : code.index("plant.SetPositions")], found)
    found["zero"] = found["c"].from_peer(found["q_drake"], found["v_drake"], 0.0 * found["v_drake"])[2]
    return found


def kinds() -> dict[str, Callable[[Any], Any]]:
    """For each kind of answer, how Drake's becomes ours."""
    n = names()
    B = n["c"].velocity_matrix(n["q"])
    return {
        "numbers": np.asarray,
        "Jacobian": lambda J: J @ B,
        "mass matrix": lambda M: B.T @ M @ B,
        "joint forces": lambda f: B.T @ f,
        "joint accelerations": lambda a: n["c"].from_peer(n["q_drake"], n["v_drake"], a)[2],
    }


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows(row: Row) -> None:
    recorded = np.array(json.loads(RECORDED.read_text(encoding="utf-8"))[row.theirs])
    assert_close(value(row.ours, dict(names())), kinds()[row.answer](recorded), PEER)


def test_all_rows_are_recorded() -> None:
    assert len(ROWS) >= 30
    assert set(json.loads(RECORDED.read_text(encoding="utf-8"))) == {row.theirs for row in ROWS}


def record() -> None:
    """Write what Drake says, if all functions of its plants are on the page."""
    from pydrake.multibody.plant import MultibodyPlant

    functions = {name for name in vars(MultibodyPlant) if name[0].isupper()}
    if missing := functions - words_of(PAGE):
        raise SystemExit(f"{PAGE} lacks {', '.join(sorted(missing))}")
    found: dict[str, Any] = {}
    exec(code_of(PAGE, shown_only=True), found)
    said = {row.theirs: np.asarray(value(row.theirs, dict(found))).tolist() for row in ROWS}
    RECORDED.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
