"""Loops from a file beside a robot's own, and joints chosen to close them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ordern as on
from ordern.model.json_form import from_plain, to_plain
from tests.tolerances import LOOP_CLOSED

URDF = """<robot name="r">
<link name="base"/>{links}
<joint name="j1" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 1 0"/></joint>
<joint name="j2" type="continuous"><parent link="one"/><child link="two"/>
  <origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint>
<joint name="j3" type="continuous"><parent link="base"/><child link="three"/>
  <origin xyz="1 0 0"/><axis xyz="0 1 0"/></joint>
</robot>""".format(
    links="".join(
        f'<link name="{n}"><inertial><mass value="1"/><origin xyz="0 0 0.5"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for n in ("one", "two", "three")
    )
)
PIN: dict[str, Any] = {
    "name": "pin",
    "type": "revolute",
    "axis": [0, 1, 0],
    "parent": "two",
    "child": "three",
    "at": [1, 0, 0],
    "child_at": {"xyz": [0, 0, 1], "rpy": [0, 0, 0]},
    "damping": 0.2,
}
CLOSED = [PIN, {"name": "rod", "type": "distance", "length": 1.0, "parent": "base", "child": "two"}]


def test_loops_beside_a_urdf_file(tmp_path: Path) -> None:
    file = tmp_path / "r.loops.json"
    gear = {"name": "gear", "joint": "j1", "other": "j3", "coefficients": [0, 1]}
    file.write_text(json.dumps({"loops": CLOSED, "couplings": [gear]}), encoding="utf-8")
    robot = on.load(URDF, loops=file)
    assert robot.loops[0].type == on.Revolute((0, 1, 0))
    assert (robot.loops[0].damping, robot.loops[1].type) == ((0.2,), on.Distance(1.0))
    assert list(robot.loop_rows) == ["pin", "rod", "gear"]
    for angle in (0.0, 0.4, -1.0):  # a parallelogram
        assert_allclose(robot.loop_residual([angle, -angle, angle]), 0.0, atol=LOOP_CLOSED)
    again = on.load(URDF, loops={"loops": CLOSED, "couplings": [gear]})
    assert again == robot
    ball = {key: x for key, x in PIN.items() if key != "axis"} | {"type": on.Spherical()}
    assert on.load(URDF, loops=[ball]).nc == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{**PIN, "type": "revolut"}], r"type 'revolut'.*revolute.*point_on_line.*revolute"),
        ([{**PIN, "parent": "tw"}], r"body 'tw'.*two"),
        ([{**PIN, "axes": [0, 1, 0]}], r"word 'axes'.*axis"),
        ([{**PIN, "axis": [0, 0, 0]}], r"loop 'pin'.*must have a direction"),
        ([{**PIN, "axis": [0, 1]}], r"loop 'pin'.*three numbers"),
        ([{**PIN, "axis": "y"}], r"loop 'pin'.*three numbers"),
        ([{**PIN, "damping": [1, 2]}], r"loop 'pin'.*damping"),
        ([{**PIN, "active": "false"}], r"loop 'pin': active must be True or False, not 'false'"),
        ([{**PIN, "rest": math.inf}], r"loop 'pin': rest must be finite"),
        ([{**PIN, "child": "two"}], r"loop 'pin' joins body 'two' with itself"),
        ([{**CLOSED[1], "length": -1}], r"loop 'rod'.*positive"),
        ([{**CLOSED[1], "name": "d", "type": "driven"}], r"word 'length'"),
        ([{"name": "d", "type": "driven", "parent": "two", "child": "three"}], r"loop 'd' needs 'joint'"),
        ([PIN, {key: x for key, x in PIN.items() if key != "name"}], r"loop number 2 needs 'name'"),
        ([{key: x for key, x in PIN.items() if key != "child"}], r"loop 'pin' needs 'child'"),
        ([{**PIN, "damping": -1.0}], r"damping must be finite and not below zero"),
        ([{**PIN, "at": [1, 2]}], r"loop 'pin'.*position of 3 numbers"),
        ([PIN, PIN], r"loop 'pin' exists already"),
        ([{"name": "d", "type": "distance", "parent": "two", "child": "three"}], r"loop 'd' needs 'length'"),
        ([{**CLOSED[1], "damping": 1.0}], r"damping needs a joint; a Distance has no coordinates"),
        ("[1, 2]", r"list with a dictionary for each"),
        ("{", r"it is not JSON"),
        ({"loop": []}, r"word 'loop'.*loops"),
    ],
)
def test_what_is_wrong_is_named(given: Any, message: str, tmp_path: Path) -> None:
    if isinstance(given, str):
        file = tmp_path / "wrong.json"
        file.write_text(given, encoding="utf-8")
        given = str(file)
    with pytest.raises(on.ModelError, match=message):
        on.load(URDF, loops=given)


def test_a_composite_closes_a_loop(tmp_path: Path) -> None:
    """Two hinges, not at right angles and apart from each other, from a file and from Python."""
    hinges = [{"type": "revolute", "axis": [0, 1, 0]}, {"type": "revolute", "axis": [0, 0.6, 0.8], "at": [0.1, 0, 0]}]
    path = tmp_path / "r.json"
    path.write_text(
        json.dumps([{**{k: x for k, x in PIN.items() if k != "axis"}, "type": "composite", "parts": hinges}])
    )
    robot = on.load(URDF, loops=path)
    made = on.Composite((on.Revolute((0, 1, 0)), (on.Revolute((0, 0.6, 0.8)), (0.1, 0, 0))))
    assert robot.loops[0].type == made
    assert robot.nc == 4


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([{"type": "hinge"}], "hinge.*part 1"),
        ([{"type": "revolute", "axis": [0, 0, 1], "place": 3}], "place.*part 1"),
        ({"type": "revolute"}, "parts must be a list"),
        ([{"type": "distance", "length": 1.0}], "a joint"),
        ([], "at least one part"),
    ],
)
def test_mistakes_in_a_composite(parts: Any, message: str) -> None:
    given = {**{k: x for k, x in PIN.items() if k != "axis"}, "type": "composite", "parts": parts}
    with pytest.raises(on.ModelError, match=message) as e:
        on.load(URDF, loops=[given])
    assert "pin" in str(e.value)


def test_errors_name_the_file_once(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    for key, wrong in (("active", 1), ("axis", [0, 0, 0]), ("damping", -1), ("velocity_limit", -1), ("child", "x")):
        file.write_text(json.dumps([{**PIN, key: wrong}]), encoding="utf-8")
        with pytest.raises(on.ModelError, match="loop 'pin'") as e:
            on.load(URDF, loops=file)
        assert str(e.value).count(str(file)) == 1
        assert str(e.value).count("loop 'pin'") == 1


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no file .*none\.json") as e:
        on.load(URDF, loops=tmp_path / "none.json")
    assert isinstance(e.value, on.ModelError)
    with pytest.raises(on.ModelError, match="this is a directory"):
        on.load(URDF, loops=str(tmp_path))


def test_the_code_of_the_page_runs() -> None:
    page = Path(__file__).parents[2] / "docs/formats/loops.md"
    for code in page.read_text(encoding="utf-8").split("```python\n")[1:]:
        exec(compile(code.split("```")[0], str(page), "exec"), {})


RING = """<sdf version="1.9"><model name="ring">
{links}
<joint name="w" type="fixed"><parent>world</parent><child>a</child></joint>
<joint name="ab" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz>
  <limit><lower>-1</lower><upper>2</upper><effort>5</effort></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="bc" type="revolute"><parent>b</parent><child>c</child><axis><xyz>0 1 0</xyz>
  <limit><lower>-3</lower><upper>3</upper><effort>7</effort></limit>
  <dynamics><damping>0.3</damping><spring_stiffness>2</spring_stiffness></dynamics></axis></joint>
<joint name="ac" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 1 0</xyz></axis></joint>
</model></sdf>""".format(
    links="".join(f'<link name="{n}"><pose>0 0 {k} 0 0 0</pose></link>' for k, n in enumerate("abc"))
)


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_sdf_loops_keep_limits_and_dynamics_and_may_be_chosen() -> None:
    robot = on.load(RING, cut=["bc"])
    (loop,) = robot.loops
    assert (loop.name, loop.lower, loop.upper, loop.effort_limit) == ("bc", (-3.0,), (3.0,), (7.0,))
    assert (loop.damping, loop.stiffness) == ((0.3,), (2.0,))
    assert abs(robot.loop_residual(robot.neutral())).max() < LOOP_CLOSED
    other = on.load(RING, cut=["ab"])
    assert [x.name for x in other.loops] == ["ab"]
    assert other.loops[0].damping == (0.1,)
    with pytest.raises(on.ModelError, match=r"joint 'abc'|'abc'"):
        on.load(RING, cut=["abc"])
    assert [x.name for x in on.load(RING, cut="ab").loops] == ["ab"]
    with pytest.raises(on.ArgumentError, match="cut must be the name of a joint or a list of names, not 5"):
        on.load(RING, cut=5)  # type: ignore[arg-type]
    with pytest.raises(on.ModelError, match="cannot close a loop"):
        on.load(RING, cut=["ab", "ac"])
    with pytest.raises(on.ModelError, match="only in SDF"):
        on.load(URDF, cut=["j1"])


def graph() -> on.Builder:
    b = on.Builder("graph")
    for name in "abcd":
        b.body(name, mass=1.0, inertia=(1, 1, 1))
    hinge = on.Revolute((0, 1, 0))
    b.connect("ab", hinge, "a", "b", child_at=((0, 0, -0.5), (0, 0.3, 0)))
    b.connect("cb", hinge, "c", "b", at=(0, 0, 0.5), child_at=(0, 0, 0.5), effort_limit=3.0, damping=0.5)
    b.connect("cd", hinge, "c", "d", at=(0, 0, -0.5), child_at=(0, 0, 0.5), lower=-1.0)
    return b.connect("ad", hinge, "a", "d", at=(0.2, 0, 0), child_at=(0, 0, -0.5))


def test_a_graph_becomes_a_tree_and_loops() -> None:
    robot = graph().build()
    assert {c.name for c in robot.joints} == {"ab", "cb", "cd"}  # those with drives and limits are in the tree
    assert [x.name for x in robot.loops] == ["ad"]
    q = np.array([0.3, -0.4, 0.2])
    at = {name: robot.pose(q, name) for name in "abcd"}
    P = {e.name: (e.at.matrix, e.child_at.matrix) for e in graph()._edges.values()}
    for edge in ("ab", "cb", "cd"):  # coordinates keep their meaning, also of the one that is reversed
        parent, child = (at[x] @ T for x, T in zip(edge, P[edge], strict=True))
        relative = np.linalg.inv(parent) @ child
        angle = q[robot.joint(edge).v][0]
        wanted = np.eye(4)
        wanted[0, 0] = wanted[2, 2] = np.cos(angle)
        wanted[0, 2], wanted[2, 0] = np.sin(angle), -np.sin(angle)
        assert_allclose(relative, wanted, atol=LOOP_CLOSED)
    (row,) = (robot.joints[k] for k in range(3) if robot.joints[k].name == "cb")
    assert (row.damping, row.effort_limit) == ((0.5,), (3.0,))


def test_which_joints_close_loops_can_be_said() -> None:
    b = graph()
    b._edges["cb"] = replace(b._edges["cb"], closes=True)
    robot = b.build()
    (loop,) = robot.loops
    assert (loop.name, loop.damping) == ("cb", (0.5,))
    hinge = on.Revolute((0, 1, 0))
    with pytest.raises(on.ModelError, match="'ba' would close a loop, but has 'armature'"):
        graph().connect("ba", hinge, "b", "a", armature=1.0).connect("x", hinge, "a", "b", armature=1.0).build()
    with pytest.raises(on.ModelError, match="Spherical cannot be reversed"):
        on.Builder().body("a").body("b", mass=1.0).connect("ball", on.Spherical(), "b", "a").build()
    apart = on.Builder().body("a").body("b", mass=1.0).body("c", mass=1.0).connect("bc", hinge, "b", "c")
    with pytest.raises(
        on.ModelError, match=r"'bc' connects bodies 'b' and 'c', but no joints .* with the root, body 'a'"
    ):
        apart.build()
    beyond = apart.connect("ball", on.Spherical(), "b", "a")  # the joint at fault is named, not what lies behind it
    with pytest.raises(on.ModelError, match="joint 'ball' leads to it, but a Spherical cannot be reversed"):
        beyond.build()
    with pytest.raises(on.ModelError, match="connects body 'a' with itself"):
        graph().connect("aa", hinge, "a", "a").build()
    with pytest.raises(on.ModelError, match=r"as its child an unknown body 'z'"):
        graph().connect("az", hinge, "a", "z").build()
    with pytest.raises(on.ModelError, match="stiffnes"):
        graph().connect("az", hinge, "a", "b", stiffnes=1.0)


def test_terms_of_graphs_and_loops_make_sense() -> None:
    hinge = on.Revolute((0, 1, 0))
    terms: dict[str, Any]
    for terms, message in (
        ({"closes": "yes"}, "joint 'x': closes must be True, False or None, not 'yes'"),
        ({"rest": math.inf}, "joint 'x': rest must be finite"),
        ({"velocity_limit": -1}, "joint 'x': velocity_limit must not be below zero"),
    ):
        with pytest.raises(on.ModelError, match=message):
            graph().connect("x", hinge, "a", "b", **terms)
    for terms, message in (
        ({"active": None}, "loop 'x': active must be True or False, not None"),
        ({"rest": math.inf}, "loop 'x': rest must be finite"),
        ({"velocity_limit": -1}, "loop 'x': velocity_limit must not be below zero"),
    ):
        with pytest.raises(on.ModelError, match=message):
            graph().loop("x", hinge, "a", "b", **terms)
    with pytest.raises(on.ModelError, match="loop 'x' joins body 'a' with itself"):
        graph().loop("x", hinge, "a", "a")


def test_loops_survive_as_plain_data_and_as_builders() -> None:
    b = graph()
    b.loop("rod", on.Distance(0.3), "a", "c", active=False)
    b.loop("drive", on.Driven(on.Revolute((0.6, 0.8, 0)), (0.1, 2.0), 0.3, 4.0), "a", "d")
    robot = b.build()
    assert from_plain(json.loads(json.dumps(to_plain(robot))), on.Robot) == robot
    assert robot.builder().build() == robot
