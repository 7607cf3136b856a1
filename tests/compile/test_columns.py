"""Straight-line code with loops over columns: its numbers, and the rules for texts."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import ordern as on
from ordern.compile.pipeline import layout_of
from ordern.compile.program import compile_request, count_operations
from ordern.compile.trace import columns
from ordern.compile.trace.columns import ColumnTree, limbs, trace_columns
from ordern.errors import TraceError
from ordern.graph import Graph
from tests.compile.asking import arguments
from tests.random_models import random_robot
from tests.tolerances import assert_close

CLOSE = 1e-10
"""Relative; solutions with random mass matrices lose some digits."""


def test_the_collector_runs_after_compiling() -> None:
    kernel = random_robot(0, 1, (on.Revolute,)).kernel("gravity_force")
    assert gc.isenabled()
    compile_request(kernel.request, "float64")
    assert gc.isenabled()
    gc.disable()
    try:
        compile_request(kernel.request, "float64")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_limbs_are_runs_without_branches() -> None:
    # 0-1-2 with the branches 3-4 and 5 on 2, and 6 on the base
    assert limbs([-1, 0, 1, 2, 3, 2, -1]) == [range(3), range(3, 5), range(5, 6), range(6, 7)]


def test_code_is_shorter_than_straight_line_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "LEAST_FREEDOMS", 1)
    request = random_robot(3, 10, (on.Revolute,), chain=True).kernel("forward_dynamics_derivatives").request
    code = trace_columns(request, layout_of(request, 1))
    straight = count_operations(request, rolled=False).total
    assert code.length < straight <= code.operations


@pytest.mark.parametrize(
    ("joints", "more"),
    [
        ((on.Revolute,), {}),
        pytest.param((on.Revolute, on.Spherical), {"floating": True}, marks=pytest.mark.slow),
        pytest.param((on.Revolute, on.Prismatic), {"mimic": True}, marks=pytest.mark.slow),
        pytest.param((on.Universal, on.Free, on.Revolute), {"armature": True}, marks=pytest.mark.slow),
    ],
)
def test_numbers_are_those_of_the_interpreter(
    joints: tuple[type[on.Joint], ...], more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "LEAST_FREEDOMS", 1)
    monkeypatch.setenv("ORDERN_CACHE", "off")
    robot = random_robot(3, 3 if not more else 5, joints, **more)
    kernel = robot.kernel("forward_dynamics_derivatives", way="unrolled")
    code = trace_columns(kernel.request, layout_of(kernel.request, 1))
    assert code.loops
    given = arguments(robot, "forward_dynamics_derivatives", (), 19)
    expected = kernel.with_way("interpreted")(*given)
    for _ in range(2):  # several tiles, and a workspace that was used before
        assert_close(kernel(*given), expected, CLOSE)
    assert_close(kernel(*(x[0] for x in given)), expected[0], CLOSE)
    # only one of the matrices, which is not where the loops work
    [one] = robot.derivatives.forward_dynamics(*given, wrt="v")
    assert_close(one, expected[:, 1], CLOSE)


def _reads_another_column(tree: ColumnTree) -> None:
    M = tree.output("matrix")
    for k in tree.freedoms():
        M[k, k] = tree.graph_leaf
    for c in tree.each_column():
        for k in tree.freedoms():
            M[c, k] = M[k, c] + 1.0


def _sets_what_is_no_column(tree: ColumnTree) -> None:
    x = tree.output("v")
    for _ in tree.each_column():
        for k in tree.freedoms():
            x[k] = 1.0


def _reads_after_the_loop(tree: ColumnTree) -> None:
    M = tree.output("matrix")
    for c in tree.each_column():
        for k in tree.freedoms():
            M[k, c] = 1.0
    for k in tree.freedoms():
        M[k, k] = M[k, k] + 1.0


def _nests(tree: ColumnTree) -> None:
    for _ in tree.each_column():
        for _ in tree.each_column():
            pass


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (_reads_another_column, "another column sets"),
        (_sets_what_is_no_column, "does not belong to its column"),
        (_reads_after_the_loop, "straight-line code reads"),
        (_nests, "inside of another"),
    ],
)
def test_texts_that_are_no_loops_over_columns_are_errors(
    text: Callable[[ColumnTree], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "LEAST_FREEDOMS", 1)
    tree: Any = ColumnTree(random_robot(0, 4, (on.Revolute,), chain=True))
    tree.graph_leaf = Graph("straight").leaf("x")
    with pytest.raises(TraceError, match=words):
        text(tree)
