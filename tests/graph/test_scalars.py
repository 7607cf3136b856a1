"""The elementary functions over every kind of scalar."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from ordern.graph import Graph, Node, atan2, cos, sin, sqrt, where_less
from tests.tolerances import EXTENDED, ROUNDING

FUNCTIONS = {"sin": sin, "cos": cos, "sqrt": sqrt}
NUMPY = {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt}
HAS_LONGDOUBLE = np.finfo(np.longdouble).eps < np.finfo(float).eps


@pytest.mark.parametrize("name", FUNCTIONS)
class TestOneOperand:
    def test_float(self, name) -> None:
        found = FUNCTIONS[name](0.7)
        assert type(found) is float
        assert found == getattr(math, name)(0.7)

    @pytest.mark.parametrize("type", [int, np.float64, np.float32, np.int64])
    def test_other_numbers(self, name, type) -> None:
        assert FUNCTIONS[name](type(2)) == pytest.approx(getattr(math, name)(2), rel=1e-6)

    def test_float32_stays_float32(self, name) -> None:
        assert FUNCTIONS[name](np.float32(0.5)).dtype == np.float32
        assert FUNCTIONS[name](np.ones(2, np.float32)).dtype == np.float32

    def test_array(self, name) -> None:
        x = np.linspace(0.1, 9.0, 6).reshape(2, 3)
        assert (FUNCTIONS[name](x) == NUMPY[name](x)).all()

    def test_longdouble(self, name) -> None:
        x = np.longdouble("0.7")
        found = FUNCTIONS[name](x)
        assert found.dtype == np.longdouble
        with mpmath.workdps(40):
            exact = getattr(mpmath, name)(mpmath.mpf(str(np.format_float_positional(x, 30))))
            error = abs(mpmath.mpf(np.format_float_positional(found, 30)) - exact)
        assert error < (EXTENDED if HAS_LONGDOUBLE else ROUNDING)

    def test_mpmath(self, name) -> None:
        with mpmath.workdps(60):
            x = mpmath.mpf(7) / 10
            found = FUNCTIONS[name](x)
            assert isinstance(found, mpmath.mpf)
            assert found == getattr(mpmath, name)(x)

    def test_array_of_objects(self, name) -> None:
        with mpmath.workdps(60):
            x = np.array([mpmath.mpf(1) / 3, 0.5, np.longdouble(2)], object)
            found = FUNCTIONS[name](x)
            assert found.dtype == object
            assert [type(f) for f in found] == [type(a) for a in x]
            assert found[0] == getattr(mpmath, name)(x[0])
            assert found[1] == getattr(math, name)(0.5)

    def test_node(self, name) -> None:
        x = Graph().leaf("x")
        found = FUNCTIONS[name](x)
        assert isinstance(found, Node)
        assert (found.op, found.args) == (name, (x,))

    def test_array_of_nodes(self, name) -> None:
        graph = Graph()
        x = np.array([graph.leaf(0), graph.leaf(1)], object)
        assert [f.args[0] for f in FUNCTIONS[name](x)] == list(x)


class TestAtan2:
    def test_float(self) -> None:
        assert atan2(1.0, -2.0) == math.atan2(1.0, -2.0)

    def test_arrays_broadcast(self) -> None:
        y, x = np.array([1.0, -1.0])[:, None], np.array([-2.0, 0.5, 0.0])
        assert (atan2(y, x) == np.arctan2(y, x)).all()
        assert (atan2(y, 2.0) == np.arctan2(y, 2.0)).all()

    def test_mpmath_with_a_float(self) -> None:
        with mpmath.workdps(60):
            assert atan2(mpmath.mpf(1), 2.0) == mpmath.atan2(1, 2)
            assert atan2(1.0, mpmath.mpf(-2)) == mpmath.atan2(1, -2)

    def test_objects_with_floats(self) -> None:
        with mpmath.workdps(60):
            found = atan2(np.array([mpmath.mpf(1), mpmath.mpf(-1)], object), np.array([2.0, -2.0]))
            assert list(found) == [mpmath.atan2(1, 2), mpmath.atan2(-1, -2)]

    def test_node_in_either_place(self) -> None:
        x = Graph().leaf("x")
        assert atan2(x, 1.0).args[0] is x
        assert atan2(1.0, x).args[1] is x


class TestWhereLess:
    @pytest.mark.parametrize("a", [0.0, 1.0, 2.0, math.nan])
    def test_float(self, a) -> None:
        assert where_less(a, 1.0, "x", "y") == ("x" if a < 1.0 else "y")

    def test_arrays_broadcast(self) -> None:
        a = np.array([0.0, 1.0, 2.0, np.nan])
        assert where_less(a, 1.0, -a, 7.0).tolist()[:3] == [-0.0, 7.0, 7.0]
        assert where_less(1.0, a, np.ones((2, 1)), 0.0).tolist() == [[0.0, 0.0, 1.0, 0.0]] * 2

    def test_branches_keep_their_type(self) -> None:
        a = np.zeros(2, np.float32)
        assert where_less(a, np.float32(1), a, a).dtype == np.float32
        assert where_less(np.longdouble(0), 1.0, np.longdouble(1) / 3, 0.0) == np.longdouble(1) / 3

    def test_mpmath(self) -> None:
        with mpmath.workdps(60):
            third = mpmath.mpf(1) / 3
            assert where_less(third, 1.0, third, 0.0) == third

    def test_objects(self) -> None:
        with mpmath.workdps(60):
            x = np.array([mpmath.mpf(1) / 3, mpmath.mpf(4) / 3], object)
            assert list(where_less(x, 1.0, x, -x)) == [x[0], -x[1]]

    @pytest.mark.parametrize("place", range(4))
    def test_node_in_any_place(self, place) -> None:
        operands: list[Any] = [1.0, 2.0, 3.0, 4.0]
        operands[place] = Graph().leaf("x")
        found = where_less(*operands)
        assert found is operands[2] if place >= 2 else found.args[place] is operands[place]


class _Interval:
    """A scalar class of somebody else."""

    def ordern_apply(self, name: str, *operands: Any) -> tuple[str, tuple[Any, ...]]:
        return name, operands


def test_other_scalars_take_part_by_a_method() -> None:
    x = _Interval()
    assert sin(x) == ("sin", (x,))
    assert atan2(1.0, x) == ("atan2", (1.0, x))
    assert where_less(0.0, 1.0, 2.0, x) == ("where_less", (0.0, 1.0, 2.0, x))
