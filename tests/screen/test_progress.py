"""Progress: a bar with the time left in terminals and notebooks, a few plain lines in logs."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.screen.notebook import in_notebook
from ordern.screen.progress import Bar, counted, lasting


class Terminal(io.StringIO):
    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drawn(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float, until: float = 1.0) -> str:
    """Return what a bar writes for work of this length that goes on evenly, in a hundred reports."""
    monkeypatch.setattr(sys, "stderr", stream)
    clock = Clock()
    with Bar("arm", clock=clock) as bar:
        for k in range(1, round(100 * until) + 1):
            clock.now = seconds * k / 100
            bar(k / 100)
    return stream.getvalue()


def test_a_terminal_has_one_line_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    text = drawn(monkeypatch, Terminal(), 100.0)
    pictures = text.split("\r")[1:]
    assert len(pictures) == 100 and text.count("\n") == 1 and text.endswith("\n")
    assert pictures[39].rstrip() == "arm: " + 16 * "█" + 24 * "░" + " 40.0%, 1 min 0 s left"
    assert pictures[-1].rstrip() == "arm: " + 40 * "█" + " 100.0%, 1 min 40 s"
    assert len({len(p.rstrip("\n")) for p in pictures}) == 1  # each covers the one before


def test_work_that_ends_early_leaves_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, Terminal(), 100.0, until=0.5).endswith("\n")


def test_a_log_has_few_plain_lines_and_none_for_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, io.StringIO(), 2.9) == ""
    lines = drawn(monkeypatch, io.StringIO(), 100.0).splitlines()
    assert lines[0] == "arm: 3.0%, 1 min 37 s left" and lines[-1] == "arm: 100.0%, 1 min 40 s"
    assert 9 <= len(lines) <= 12 and all(re.fullmatch(r"arm: [\d.]+%, [\d a-z]+", x) for x in lines)
    long = drawn(monkeypatch, io.StringIO(), 20000.0).splitlines()
    assert len(long) == 100  # at least one a minute, if there is news


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Replace IPython by a kernel that keeps the last picture of each output."""
    outputs: list[dict[str, str]] = []

    def display(data: Any, raw: bool = False, display_id: bool = False) -> Any:
        assert raw and display_id
        outputs.append(data)
        at = len(outputs) - 1

        def update(data: Any, raw: bool) -> None:
            outputs[at] = data

        return SimpleNamespace(update=update)

    ipython, module = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return outputs


def test_a_notebook_has_a_bar_below_the_cell(notebook: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_notebook()
    assert drawn(monkeypatch, io.StringIO(), 100.0, until=0.25) == ""
    (shown,) = notebook
    assert shown["text/plain"] == "arm: 25.0%, 1 min 15 s left"
    assert '<progress value="0.2500" max="1"' in shown["text/html"] and shown["text/plain"] in shown["text/html"]


def test_simulations_and_rollouts_report(notebook: list[dict[str, str]]) -> None:
    robot = on.load("double-pendulum")
    robot.simulate([1.0, 0.5], until=1.0, progress=True)
    robot.rollout(np.ones((4, 2)), np.zeros((4, 2)), steps=10, progress=True)
    assert [x["text/plain"] for x in notebook] == 2 * ["double-pendulum: 100.0%"]
    told: list[float] = []
    robot.rollout(np.ones((4, 2)), np.zeros((4, 2)), steps=10, progress=told.append)
    assert told[-1] == 1.0 and told == sorted(told)
    with pytest.raises(on.ArgumentError, match="progress must be True"):
        robot.rollout([1.0, 0.5], [0.0, 0.0], steps=10, progress=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("things", [lambda: [1, 2, 3], lambda: iter([1, 2, 3])])
def test_things_are_counted(things: Callable[[], Any], notebook: list[dict[str, str]]) -> None:
    assert list(counted(things(), "three", 3)) == [1, 2, 3]
    assert notebook[0]["text/plain"] == "three: 100.0%"


def test_times_in_words() -> None:
    assert [lasting(x) for x in (0.4, 59.6, 61.0, 7300.0)] == ["0 s", "1 min 0 s", "1 min 1 s", "2 h 1 min"]
