"""Objects in a notebook: well-formed tables with the numbers of the object, and all text escaped."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import ordern as on

NASTY = '<script>"&'
SINGLE = {"path"}


class Reader(HTMLParser):
    """Reads HTML, checks that its tags are nested, and collects cells and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag not in SINGLE:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


def nasty() -> on.Robot:
    builder = on.Builder(NASTY)
    builder.body("base").body(f"{NASTY} body", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    builder.joint(f"{NASTY} joint", on.Revolute((0, 1, 0)), "base", f"{NASTY} body", lower=-1.0, upper=2.0)
    return builder.build()


@pytest.fixture(scope="module")
def robot() -> on.Robot:
    return nasty()


@pytest.fixture(scope="module")
def result(robot: on.Robot) -> on.Result:
    return robot.simulate([0.5], until=1.0, events=[on.Event(lambda t, q, v: q[0] - 1.0, direction=1, name=NASTY)])


MAKE: dict[str, tuple[Callable[[on.Robot, on.Result], Any], tuple[str, ...]]] = {
    "robot": (lambda robot, result: robot, (f"{NASTY} body", f"{NASTY} joint", "revolute", "q[0]", "-1 … 2")),
    "mechanism": (lambda robot, result: on.load("four-bar"), ("revolute", "between")),
    "check": (lambda robot, result: on.load("puma560").check(), ("finding", "suggestion", "code")),
    "result": (lambda robot, result: result, (f"q.{NASTY} joint", "energy", "largest", NASTY)),
    "report": (lambda robot, result: result.report, ("stopped", "energy drift")),
    "events": (lambda robot, result: result.events, (NASTY, "time, s")),
    "event": (lambda robot, result: on.Event(lambda t, q, v: q[0], name=NASTY, terminal=True), ("ends the run", "yes")),
    "reach": (
        lambda robot, result: robot.inverse_kinematics(np.eye(4), f"{NASTY} body", weights=(0, 0, 0, 1, 1, 1))[1],
        ("targets", "reached"),
    ),
    "counts": (lambda robot, result: on.count(robot, "mass_matrix"), ("multiplications", "total")),
    "pieces": (
        lambda robot, result: on.count(robot, "forward_dynamics", "conjugate-gradient"),
        ("calls once", "in all, each step"),
    ),
    "rollout": (lambda robot, result: robot.rollout([[0.1]], [[0.0]], steps=3), ("shape", "(1, 4, 1)")),
}


@pytest.mark.parametrize("what", MAKE)
def test_objects_are_tables_in_a_notebook(what: str, robot: on.Robot, result: on.Result) -> None:
    make, expected = MAKE[what]
    page = Reader(make(robot, result)._repr_html_())
    assert set(expected) <= set(page.cells), page.cells
    assert "script" not in page.tags and "table" in page.tags


def test_assemblies_and_mobilities_are_texts() -> None:
    robot = on.load("four-bar")
    assembly = robot.assemble()
    assert assembly._repr_html_() == f"<pre>{assembly}</pre>"
    assert "1 freedom of 3" in robot.mobility(assembly.q)._repr_html_()


def test_long_tables_are_folded_and_huge_ones_cut() -> None:
    assert "details" in Reader(on.chain(30)._repr_html_()).tags
    huge = on.chain(600)._repr_html_()
    assert "... and 100 more bodies" in huge and len(Reader(huge).cells) < 500 * 8 + 16


def test_events_of_a_result_are_a_tuple_as_ever(result: on.Result) -> None:
    assert isinstance(result.events, tuple) and result.events == tuple(result.events) and len(result.events) == 1
    again = pickle.loads(pickle.dumps(result.events))
    assert type(again) is type(result.events) and again[0].name == NASTY


def test_the_curve_of_a_series(result: on.Result) -> None:
    assert result._repr_html_().count("<svg") == 8  # q, v, tau, three energies, work, losses
