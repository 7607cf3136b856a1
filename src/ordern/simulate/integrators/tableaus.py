"""The numbers of explicit methods: Runge-Kutta ones, and semi-implicit Euler, which is stepped along the exponential.

A step from y over the time h evaluates rates k[i] = f(t + c[i] h, y + h sum_j a[i][j] k[j]), and ends in
y + h sum_i b[i] k[i]. Stages are numbered from 0. After those of the method comes one at the end of the step, which is
the first of the next step; further ones serve dense output alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from ...errors import unknown_name
from ...records import dataclass
from . import dop853

__all__ = ["TABLEAUS", "Row", "Tableau", "tableau"]

Row = tuple[float, ...]


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method. Rows may be shorter than the number of stages: what is missing is zero."""

    name: str
    order: int
    c: Row
    a: tuple[Row, ...]
    b: Row
    errors: tuple[Row, ...]
    """Weights of the stages, the one at the end included, in estimates of the error; none for a fixed step."""
    error_order: int
    """By this power of the step the error of one step shrinks: 5 for estimates of order 4."""
    extra_c: Row
    extra_a: tuple[Row, ...]
    """Stages for dense output alone, after the one at the end."""
    dense: tuple[Row, ...]
    """For each stage, polynomial weights: y(s) = y + h sum_i k[i] (dense[i][0] s + dense[i][1] s^2 + ...), 0 <= s <= 1.
    None if the ends of a step and their rates say all."""
    exponential: bool = False
    """Whether it is semi-implicit Euler: positions are moved with the velocity at the end of the step, joint by joint
    (`Joint.euler_step`)."""

    @property
    def stages(self) -> int:
        """Evaluations of a step, without the one at its end."""
        return len(self.b)

    @property
    def adaptive(self) -> bool:
        """Whether it estimates its error."""
        return bool(self.errors)

    @property
    def needs_end(self) -> bool:
        """Whether an attempt needs the rate at its end: for the estimate of the error, or for the works."""
        return self.exponential or any(len(row) > self.stages and row[self.stages] != 0.0 for row in self.errors)

    @cached_property
    def degree(self) -> int:
        """Of the dense output."""
        return max(map(len, self.dense), default=0)


def _row(numbers: Sequence[float | Fraction]) -> Row:
    return tuple(float(x) for x in numbers)


def _floats(rows: Sequence[Sequence[float | Fraction]]) -> tuple[Row, ...]:
    return tuple(map(_row, rows))


def _hermite(b: Row) -> tuple[Row, ...]:
    """The cubic through both ends with their rates."""
    rows = [[0.0, 3.0 * w, -2.0 * w] for w in b]
    rows[0] = [1.0, rows[0][1] - 2.0, rows[0][2] + 1.0]
    return _floats([*rows, [0.0, -1.0, 1.0]])


_F = Fraction


def _semi_implicit_euler() -> Tableau:
    """v' = v + h a(q, v), then q' from q at v'. Symplectic where there is no friction."""
    return Tableau("semi-implicit-euler", 1, (0.0,), ((),), (1.0,), (), 0, (), (), (), exponential=True)


def _rk4() -> Tableau:
    b = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    a = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
    return Tableau("rk4", 4, (0.0, 0.5, 0.5, 1.0), a, b, (), 0, (), (), _hermite(b))


def _dormand_prince() -> Tableau:
    """J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, 1980; dense output as in DOPRI5."""
    c = (_F(0), _F(1, 5), _F(3, 10), _F(4, 5), _F(8, 9), _F(1))
    a = (
        (),
        (_F(1, 5),),
        (_F(3, 40), _F(9, 40)),
        (_F(44, 45), _F(-56, 15), _F(32, 9)),
        (_F(19372, 6561), _F(-25360, 2187), _F(64448, 6561), _F(-212, 729)),
        (_F(9017, 3168), _F(-355, 33), _F(46732, 5247), _F(49, 176), _F(-5103, 18656)),
    )
    b = (_F(35, 384), _F(0), _F(500, 1113), _F(125, 192), _F(-2187, 6784), _F(11, 84))
    lower = (
        *(_F(5179, 57600), _F(0), _F(7571, 16695), _F(393, 640)),
        *(_F(-92097, 339200), _F(187, 2100), _F(1, 40)),
    )
    error = [x - y for x, y in zip((*b, _F(0)), lower, strict=True)]
    d = (
        *(_F(-12715105075, 11282082432), _F(0), _F(87487479700, 32700410799), _F(-10690763975, 1880347072)),
        *(_F(701980252875, 199316789632), _F(-1453857185, 822651844), _F(69997945, 29380423)),
    )
    return Tableau(
        name="dormand-prince",
        order=5,
        c=_row(c),
        a=_floats(a),
        b=_row(b),
        errors=(_row(error),),
        error_order=5,
        extra_c=(),
        extra_a=(),
        dense=_nested(b, [d]),
    )


def _nested(b: tuple[Fraction, ...], d: list[tuple[Fraction, ...]]) -> tuple[Row, ...]:
    """Hairer's form of dense output, y + s (r0 + (1 - s)(r1 + s (r2 + (1 - s)(r3 + s ( ... ))))), by powers of s.

    r0 is the step, r1 = h k[0] - r0, r2 = r0 - h k[end] - r1, and the further ones are h times rows of d.
    """
    count = max(len(b) + 1, *map(len, d))
    r0 = [*b, *[_F(0)] * (count - len(b))]
    r1 = [(i == 0) - x for i, x in enumerate(r0)]
    r2 = [x - (i == len(b)) - y for i, (x, y) in enumerate(zip(r0, r1, strict=True))]
    rows = []
    for i in range(count):
        polynomial = [_F(0)]
        parts = [r0[i], r1[i], r2[i], *(row[i] for row in d)]
        for k, part in reversed(list(enumerate(parts))):
            polynomial = [part + polynomial[0], *polynomial[1:]]
            shifted = [_F(0), *polynomial]
            if k % 2 == 0:
                polynomial = shifted  # times s
            else:
                polynomial = [x - y for x, y in zip([*polynomial, _F(0)], shifted, strict=True)]  # times 1 - s
        rows.append(polynomial[1:])
    return _floats(rows)


def _cash_karp() -> Tableau:
    """J. R. Cash, A. H. Karp, A variable order Runge-Kutta method ..., 1990: six stages, orders 5 and 4.

    It has no dense output of its own. A cubic through both ends gives a state inside the step to fourth order; with the
    rate there, a quartic has the order of the method.
    """
    c = (_F(0), _F(1, 5), _F(3, 10), _F(3, 5), _F(1), _F(7, 8))
    a = (
        (),
        (_F(1, 5),),
        (_F(3, 40), _F(9, 40)),
        (_F(3, 10), _F(-9, 10), _F(6, 5)),
        (_F(-11, 54), _F(5, 2), _F(-70, 27), _F(35, 27)),
        (_F(1631, 55296), _F(175, 512), _F(575, 13824), _F(44275, 110592), _F(253, 4096)),
    )
    b = (_F(37, 378), _F(0), _F(250, 621), _F(125, 594), _F(0), _F(512, 1771))
    lower = (_F(2825, 27648), _F(0), _F(18575, 48384), _F(13525, 55296), _F(277, 14336), _F(1, 4))
    error = [x - y for x, y in zip(b, lower, strict=True)]
    s = _F(1, 4)
    inside = [w * (3 - 2 * s) * s * s for w in b]
    inside[0] += s * (1 - s) ** 2
    return Tableau(
        name="cash-karp",
        order=5,
        c=_row(c),
        a=_floats(a),
        b=_row(b),
        errors=(_row(error),),
        error_order=5,
        extra_c=(float(s),),
        extra_a=(_row([*inside, s * s * (s - 1)]),),
        dense=_quartic(b, s),
    )


def _quartic(b: tuple[Fraction, ...], s: Fraction) -> tuple[Row, ...]:
    """The quartic through both ends with their rates and with the rate at s, of the stages, the end, and s.

    Hermite's cubic, plus a multiple of x^2 (1 - x)^2 that makes the rate at s right.
    """
    # the cubic's rate at s, in terms of the step B, the rates at the start and at the end
    by_step, by_start, by_end = 6 * s - 6 * s * s, 1 - 4 * s + 3 * s * s, 3 * s * s - 2 * s
    bump = 2 * s * (1 - s) * (1 - 2 * s)
    rows = []
    for i in range(len(b) + 2):
        w = b[i] if i < len(b) else _F(0)
        start, end, inside = _F(i == 0), _F(i == len(b)), _F(i == len(b) + 1)
        k = (inside - by_step * w - by_start * start - by_end * end) / bump
        rows.append([start, 3 * w - 2 * start - end + k, -2 * w + start + end - 2 * k, k])
    return _floats(rows)


def _dormand_prince_8() -> Tableau:
    b = tuple(map(_F, dop853.B))
    n = len(b)
    rows = [tuple(row.get(j, 0.0) for j in range(max(row, default=-1) + 1)) for row in dop853.A]
    return Tableau(
        name="dormand-prince-8",
        order=8,
        c=dop853.C[:n],
        a=tuple(rows[:n]),
        b=dop853.B,
        errors=(dop853.E5, dop853.E3),
        error_order=8,
        extra_c=dop853.C[n + 1 :],
        extra_a=tuple(rows[n + 1 :]),
        dense=_nested(b, [tuple(map(_F, row)) for row in dop853.D]),
    )


TABLEAUS: dict[str, Tableau] = {
    t.name: t for t in (_semi_implicit_euler(), _rk4(), _dormand_prince(), _cash_karp(), _dormand_prince_8())
}
"""By the names that `simulate` and `rollout` know."""


def tableau(name: str) -> Tableau:
    """The tableau of a method; an unknown name lists those that exist."""
    try:
        return TABLEAUS[name]
    except (KeyError, TypeError):
        raise unknown_name("explicit method", name, TABLEAUS) from None
