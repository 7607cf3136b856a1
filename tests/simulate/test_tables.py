"""Tables of numbers by the names of joints, as every command reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.io.source import UnreadableError
from ordern.simulate.results.formats.by_name import Table, read_table


def hand() -> on.Robot:
    """A base that turns in space, a finger on it, and one that follows the finger."""
    b = on.Builder("hand").body("world")
    for k in range(3):
        b.body(f"b{k}", mass=1.0)
    b.joint("ball", on.Spherical(), "world", "b0")
    b.joint("finger", on.Revolute((0, 0, 1)), "b0", "b1")
    return b.joint("thumb", on.Revolute((0, 0, 1)), "b0", "b2", mimic="finger").build()


def read(tmp_path: Path, text: str, bare: str = "q", partial: tuple[str, ...] = ()) -> Table:
    path = tmp_path / "t.csv"
    path.write_text(text)
    return read_table(str(path), hand(), bare, partial)


def test_columns_go_where_their_names_say(tmp_path: Path) -> None:
    text = "# a remark\n\nq.ball.qz, finger ,q.ball.qx,time,q.ball.qw,q.ball.qy,thumb\n4,5,2,0,1,3,5\n#\n,,,,,,\n"
    found = read(tmp_path, text)
    np.testing.assert_array_equal(found.q, [[1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(found.t, [0])
    assert found.v is None and found.a is None and found.tau is None
    assert [note.partition(": ")[2] for note in found.notes] == ["not read: thumb (it follows finger)"]


def test_numbers_alone_are_taken_in_the_order_of_the_robot(tmp_path: Path) -> None:
    found = read(tmp_path, "0,1,2,3,4,5,6,7,8,9\n")
    np.testing.assert_array_equal(found.q, [[1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(found.v, [[6, 7, 8, 9]])
    np.testing.assert_array_equal(read(tmp_path, "0,1,2,3,4\n", "tau").tau, [[1, 2, 3, 4]])


def test_forces_that_are_not_named_are_zero_and_misspelled_ones_an_error(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(tmp_path, "t,finger,volts\n0,3,1\n", "tau", ("tau",)).tau, [[0, 0, 0, 3]])
    with pytest.raises(UnreadableError, match=r"unknown joint .fingre. in hand\. Did you mean .finger."):
        read(tmp_path, "t,ball.wx,fingre\n0,3,1\n", "tau", ("tau",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,q.ball\n0,1\n", "joint 'ball' has several coordinates, each with a column of its own: ball.qw, ball.qx"),
        ("t,ball\n0,1\n", "joint 'ball' has several coordinates"),
        ("t,q.finger,finger\n0,1,1\n", "the column 'finger' is there twice"),
        ("t,finger,volts\n0,1,1\n", "none for q.ball.qw, .*; columns that belong to no coordinate: volts"),
        ("t,v.thum\n0,1\n", "column 'v.thum': unknown joint 'thum'"),
        ('t,"q.finger\n0,1\n', "no rows of numbers"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        read(tmp_path, text)


@pytest.mark.needs("pyarrow")
def test_a_saved_motion_is_a_table_whatever_its_joints_are_called(tmp_path: Path) -> None:
    names = ["comma, colon", 'quote "', "new\n# line", "# hash", "q.b3", "b4"]
    b = on.Builder("odd").body("base")
    for k, name in enumerate(names):
        b.body(f"b{k}", mass=1.0).joint(name, on.Prismatic((1, 0, 0)), "base", f"b{k}")
    robot = b.build()
    q, v, a, tau = np.random.default_rng(0).normal(size=(4, 3, 6))
    extra = {"reading, in V": np.zeros(3), "b5": np.ones((3, 2))}
    on.Result(robot, [0.0, 0.5, 1.0], q, v, a, tau, extra=extra).save(tmp_path / "m.csv")
    found = read_table(str(tmp_path / "m.csv"), robot)
    for got, expected in ((found.q, q), (found.v, v), (found.a, a), (found.tau, tau)):
        np.testing.assert_array_equal(got, expected)
    assert not found.notes
