"""Entries of tables: on numbers, arrays and many digits, in graphs, in C and machine code."""

from __future__ import annotations

import re

import mpmath
import numpy as np
import pytest

from ordern.graph import OPS, Graph, Jet, table_entry
from tests.graph.evaluation import evaluate

VALUES = (3.0, -1.5, 0.0, 8.25, 2.0)
PLACES = [-np.inf, -7.5, -0.1, 0.0, 0.99, 1.0, 2.5, 3.999, 4.0, 11.0, np.inf]
EXPECTED = [3.0, 3.0, 3.0, 3.0, 3.0, -1.5, 0.0, 8.25, 2.0, 2.0, 2.0]


def test_places_are_rounded_down_and_clamped() -> None:
    assert [table_entry(VALUES, x) for x in PLACES] == EXPECTED
    np.testing.assert_array_equal(table_entry(VALUES, np.array(PLACES)), EXPECTED)
    assert [table_entry(VALUES, mpmath.mpf(x)) for x in PLACES[1:-1]] == EXPECTED[1:-1]
    assert table_entry(VALUES, np.float32([2.5])).dtype == np.float32
    assert table_entry(VALUES, np.nan) in VALUES
    assert table_entry((7.0,), 3.0) == 7.0


def test_equal_tables_are_one_operation_that_is_no_row() -> None:
    graph = Graph("one")
    x = graph.leaf("x")
    first, second, other = (table_entry(v, x) for v in (VALUES, list(VALUES), VALUES[::-1]))
    assert first is second
    assert first is not other
    assert first.op not in set(OPS)
    assert OPS[first.op].arity == 1
    assert evaluate([first * 2.0], {"x": 3.2}) == [16.5]
    with pytest.raises(KeyError):
        OPS["table_0"]


def test_the_rate_of_an_entry_is_zero() -> None:
    found = table_entry(VALUES, Jet(1.5, np.ones(1)))
    assert getattr(found, "rate", 0.0) == 0.0 or not np.any(found.rate)


def test_the_expression_in_c() -> None:
    """It is one of nested choices, which Python writes in another order."""
    text = OPS[table_entry(VALUES, Graph("c").leaf("x")).op].c
    choice = re.compile(r"\((\{0\} < [^?()]+) \? ([^?:]+) : ([^?:]+)\)")
    while choice.search(text):
        text = choice.sub(r"<\2 if \1 else \3>", text, count=1)
    text = text.replace("<{0} <", "({0} <")
    python = text.replace("{0} < ", "{0} LT ").replace("<", "(").replace(">", ")").replace("LT", "<")
    found = [eval(python.format(repr(x)), {"inf": np.inf}) for x in PLACES]
    assert found == EXPECTED
