"""The pages that are made from the papers' tables and figures: they are made, and say what the code says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.errors import OrdernError
from ordern.papers import PAGES, accuracy, costs, generate, times
from ordern.robot import Robot
from ordern.robots import chain
from tests.papers.pages import MEASURED, differences

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_documentation() -> None:
    for page in PAGES:
        text = (ROOT / "docs" / "papers" / f"{page}.md").read_text(encoding="utf-8")
        assert text.startswith("# ")


def test_the_table_of_forward_dynamics_has_every_method_that_can_be_counted() -> None:
    text = (ROOT / "docs" / "papers" / "costs.md").read_text(encoding="utf-8")
    for m in costs._counted("forward_dynamics"):
        assert f"| `{m.name}` |" in text, f"run `ordern papers --out docs/papers`: {m.name} is missing"


def test_the_table_of_methods_has_every_method() -> None:
    from ordern.algorithms import methods

    text = (ROOT / "docs" / "papers" / "methods.md").read_text(encoding="utf-8")
    for m in methods():
        if m.function.__module__.startswith("ordern."):
            assert f"`{m.name}`" in text, f"run `ordern papers --out docs/papers`: {m.name} is missing"


def test_the_counts_in_the_documentation_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "papers" / "costs.md").read_text(encoding="utf-8")
    for question in ("inverse_dynamics", "forward_dynamics"):
        name = {"inverse_dynamics": "newton-euler", "forward_dynamics": "articulated-body"}[question]
        M, A = costs.cost(costs.counts_of(question, name, 6))
        assert f"{M} / {A}" in text


@pytest.mark.slow
def test_what_branches_cost_is_that_of_the_code() -> None:
    text = (ROOT / "docs" / "papers" / "times.md").read_text(encoding="utf-8")
    found = times.branches(sizes=(2, 4)).splitlines()
    assert found[-2].startswith("| 2 |") and found[-1].startswith("| 4 |") and "virtual-work-unsplit" in found[-4]
    for line in found:
        assert line in text, "run `ordern papers --out docs/papers`"


def test_errors_are_found_against_many_digits() -> None:
    robot = Robot.of(chain(4, seed=1).build())
    double, single = (accuracy.errors(robot, ["articulated-body", "composite-body"], t) for t in ("float64", "float32"))
    assert all(e < 1e-12 for e in double)
    assert all(1e-9 < e < 1e-2 for e in single)


def test_a_method_that_refuses_has_no_error_and_no_time() -> None:
    robot = Robot.of(chain(3).build())
    assert np.isnan(accuracy.errors(robot, ["armstrong"])[0])
    assert np.isnan(times.microseconds(robot, "armstrong"))


def test_order_n_pays_from_some_length_on() -> None:
    assert costs.crossover("articulated-body", "composite-body") in range(5, 14)


@pytest.mark.slow
def test_link_coordinates_take_fewer_operations_but_for_large_mass_matrices() -> None:
    """Featherstone and Orin, secs. 3.1 to 3.3: composite bodies run faster in link coordinates "unless n is large"."""
    for question, link, absolute in times.COORDINATES:
        large = question == "mass_matrix"
        for n, fewer in ((6, False), (15, False), (16, large)):
            one, other = (costs.counts_of(question, m, n).total for m in (absolute, link))
            assert (one < other) is fewer, (question, n)


@pytest.mark.slow
def test_coordinates_are_compared_in_operations_and_in_time() -> None:
    text = times._coordinates()
    for question, *names in times.COORDINATES:
        for name in names:
            c = costs.counts_of(question, name, 6).total
            assert f"| `{name}` | {c} |" in text
    assert "fewer from n = 16 on for the mass matrix" in text


@pytest.mark.slow
@pytest.mark.parametrize("page", ["costs"])
def test_a_page_is_made(tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "SIZES", range(6, 8))
    monkeypatch.setattr(costs, "_counted", lambda question: costs.methods(question)[:1])
    said: list[str] = []
    heard: list[str] = []
    generate(tmp_path, [page], said.append, heard.append)
    assert said == [str(tmp_path / f"{page}.md")]
    assert "| `newton-euler` |" in (tmp_path / f"{page}.md").read_text()
    assert heard[0] == f"page 1 of 1, costs: {PAGES['costs']}"
    assert heard[1] == "page 1 of 1, costs: inverse_dynamics, newton-euler"
    assert heard[-1].startswith("page 1 of 1, costs: done in ")


COMMAND = "ordern papers --out docs/papers"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page != "times"])
def test_the_pages_in_the_documentation_say_what_the_code_says(page: str, tmp_path: Path) -> None:
    generate(tmp_path, [page], lambda name: None)
    old, new = ((folder / f"{page}.md").read_text(encoding="utf-8") for folder in (ROOT / "docs" / "papers", tmp_path))
    apart = differences(old, new, exact=page in ("methods", "costs"))
    assert not apart, f"run `{COMMAND} {page}`:\n" + "\n".join(apart[:5])


@pytest.mark.slow
def test_the_page_of_times_has_every_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it but the times, which are left out here."""

    def instead(
        robot: Robot, method: str, way: str | None = None, batch: int = 1, question: str = "forward_dynamics"
    ) -> float:
        try:
            robot.kernel(question, method, way=way)
        except OrdernError:
            return float("nan")
        return 1.0

    monkeypatch.setattr(times, "microseconds", instead)
    monkeypatch.setattr(times, "chain", lambda n, joint: on.chain(3, joint))  # what refuses it refuses a long one
    monkeypatch.setattr(times, "_nanoseconds", lambda kernel, question: 1.0)
    generate(tmp_path, ["times"], lambda name: None)
    old, new = ((folder / "times.md").read_text(encoding="utf-8") for folder in (ROOT / "docs" / "papers", tmp_path))
    apart = differences(old, new, exact=True)
    assert not apart, f"run `{COMMAND} times`:\n" + "\n".join(apart[:5])


def test_the_page_of_times_says_what_its_table_says() -> None:
    text = (ROOT / "docs" / "papers" / "times.md").read_text(encoding="utf-8")
    section = text.partition("## Where order n pays")[2].partition("##")[0]
    table = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("| ")]
    rows = [[float(x) for x in row] for row in table[1:]]
    assert len(rows) == 8
    assert times.verdict([(int(n), a, c) for n, a, c in rows]) in section
    assert "Measured on 20" in text


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        ("1111", "is faster from n = 2 on"),
        ("1001", "is faster from n = 8 on"),
        ("0111", "is faster from n = 4 on"),
        ("1110", "is not faster at n = 8 yet"),
    ],
)
def test_a_method_is_faster_from_where_it_stays_so(wins: str, expected: str) -> None:
    rows = [(2 * k, 1.0, 2.0 if won == "1" else 0.5) for k, won in enumerate(wins, 1)]
    assert expected in times.verdict(rows)


def test_pages_that_differ_are_told_apart() -> None:
    page = "# Steps\n\n| `denoc` | 202 + 45, 6e-07 | 0.83 |\n"
    for changed, same in (
        (page, True),
        (page.replace("6e-07", "1e-06"), True),
        (page.replace("6e-07", "6e-05"), False),
        (page.replace("202", "210"), True),
        (page.replace("202", "302"), False),
        (page.replace("0.83", "0.4"), True),
        (page.replace("0.83", "0.05"), False),
        (page.replace("denoc", "fd1"), False),
        (page + "\nMore.\n", False),
    ):
        assert (not differences(page, changed, exact=False)) == same
        assert (not differences(page, changed, exact=True)) == (page == changed)
    marked = "\n\n".join([MEASURED[0], "| `denoc` | 12 |", MEASURED[1]])
    assert not differences(marked, marked.replace("12", "999"), exact=True)
    assert differences(marked, marked.replace("denoc", "fd1"), exact=True)
    assert differences(marked, "| `denoc` | 12 |\n", exact=True)


def test_a_missing_package_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str, *rest: object) -> None:
        return None

    monkeypatch.setattr("ordern.papers.find_spec", none)
    monkeypatch.setattr("ordern.papers.methods.page", lambda folder: pytest.fail("work was done"))
    with pytest.raises(OrdernError, match=r"matplotlib for costs, saha; mpmath for saha; sympy for saha.*pip install"):
        generate(tmp_path / "new", ["methods", "costs", "saha"])
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_every_method_has_its_accuracy() -> None:
    """Methods are those that are registered, with a number each: those that refuse one robot are shown on another."""
    text, series = accuracy.tables((2, 3), links=3, ratios=(1.0,), folds=(1.0,), lights=(1.0,), long=(4,))
    rows = [line.split("|") for line in "\n".join(text.values()).splitlines() if line.startswith("| `")]
    for question in ("forward_dynamics", "inverse_dynamics", "mass_matrix"):
        for m in on.methods(question):
            if m.function.__module__.startswith("ordern."):
                name = m.alias_of or m.name  # another name has the accuracy of the method
                mine = [row for row in rows if f"`{name}`" in row[1]]
                assert any(cell.strip() not in ("", "-") for row in mine for cell in row[2:]), m.name
    assert {"conjugate-gradient", "conjugate-gradient-preconditioned", "virtual-work-split"} <= series.keys()
    assert all(float(cell) < 1e-3 for row in rows for cell in row[2:-1] if cell.strip() != "-")
