"""The coefficients of explicit methods: Runge-Kutta methods, and semi-implicit Euler along the exponential.

A step from y over the time h evaluates rates k[i] = f(t + c[i] h, y + h sum_j a[i][j] k[j]), and ends in
y + h sum_i b[i] k[i]. Stages are numbered from 0. The stages of the method are followed by one at the end of the step,
which is the first stage of the next step, and by stages that only dense output needs.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest

from ...arguments import choice
from ...records import dataclass
from .dop853 import DOP853

__all__ = ["TABLEAUS", "Row", "Tableau", "tableau"]

Row = tuple[float, ...]


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method. Rows may be shorter than the number of stages: missing weights are zero."""

    name: str
    order: int
    c: Row
    a: tuple[Row, ...]
    b: Row
    errors: tuple[Row, ...] = ()
    """Error estimates: weights of the stages, and of the end of the step. Empty for a method with fixed steps."""
    error_order: int = 0
    """The error of one step shrinks by this power of the step: 5 for estimates of order 4."""
    extra_c: Row = ()
    extra_a: tuple[Row, ...] = ()
    """Stages for dense output, after the one at the end of the step."""
    dense: tuple[Row, ...] = ()
    """For each stage, polynomial weights: y(s) = y + h sum_i k[i] (dense[i][0] s + dense[i][1] s^2 + ...), 0 <= s <= 1.
    Empty if the states and rates at both ends determine the polynomial."""
    exponential: bool = False
    """True for semi-implicit Euler: positions move with the velocity at the end of the step, joint by joint
    (`Joint.euler_step`)."""

    @property
    def stages(self) -> int:
        """The evaluations in a step, without the one at its end."""
        return len(self.b)

    @property
    def adaptive(self) -> bool:
        """True if the method estimates its error."""
        return bool(self.errors)

    @property
    def needs_end(self) -> bool:
        """True if an attempt needs the rate at its end, for the error estimate or for the works."""
        return self.exponential or any(len(row) > self.stages and row[self.stages] != 0.0 for row in self.errors)

    @cached_property
    def degree(self) -> int:
        """The degree of the dense output."""
        return max(map(len, self.dense), default=0)


_F = Fraction
Exact = list[Fraction]

_DORMAND_PRINCE = """
c   0 1/5 3/10 4/5 8/9 1
a
a   1/5
a   3/40 9/40
a   44/45 -56/15 32/9
a   19372/6561 -25360/2187 64448/6561 -212/729
a   9017/3168 -355/33 46732/5247 49/176 -5103/18656
b   35/384 0 500/1113 125/192 -2187/6784 11/84
b*  5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40
d   -12715105075/11282082432 0 87487479700/32700410799 -10690763975/1880347072
    701980252875/199316789632 -1453857185/822651844 69997945/29380423
"""

_CASH_KARP = """
c   0 1/5 3/10 3/5 1 7/8
a
a   1/5
a   3/40 9/40
a   3/10 -9/10 6/5
a   -11/54 5/2 -70/27 35/27
a   1631/55296 175/512 575/13824 44275/110592 253/4096
b   37/378 0 250/621 125/594 0 512/1771
b*  2825/27648 0 18575/48384 13525/55296 277/14336 1/4
"""


def _rows(text: str) -> list[list[Exact]]:
    """Return the rows of a method: those that begin with the same word are together, in the order of the text.

    b* is the method of lower order, d the last coefficients of dense output. Decimals stand for doubles.
    """
    found: dict[str, list[Exact]] = {}
    for word in text.split():
        if word[0].isalpha():
            row: Exact = []
            found.setdefault(word, []).append(row)
        else:
            row.append(_F(float(word)) if "." in word else _F(word))
    return list(found.values())


def _row(numbers: Iterable[float | Fraction]) -> Row:
    return tuple(float(x) for x in numbers)


def _floats(rows: Iterable[Iterable[float | Fraction]]) -> tuple[Row, ...]:
    return tuple(map(_row, rows))


def _difference(b: Exact, lower: Exact) -> tuple[Row, ...]:
    """Return the error estimate of two methods with the same stages."""
    return _floats([[x - y for x, y in zip_longest(b, lower, fillvalue=_F(0))]])


def _semi_implicit_euler(name: str) -> Tableau:
    """Return v' = v + h a(q, v), then q' from q at v'. It is symplectic if there is no friction."""
    return Tableau(name, 1, (0.0,), ((),), (1.0,), exponential=True)


def _rk4() -> Tableau:
    b = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    a = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
    return Tableau("rk4", 4, (0.0, 0.5, 0.5, 1.0), a, b, dense=_hermite(b))


def _hermite(b: Row) -> tuple[Row, ...]:
    """Return the cubic with the states and rates of both ends."""
    rows = [[0.0, 3.0 * w, -2.0 * w] for w in b]
    rows[0] = [1.0, rows[0][1] - 2.0, rows[0][2] + 1.0]
    return _floats([*rows, [0.0, -1.0, 1.0]])


def _dormand_prince() -> Tableau:
    """J. R. Dormand, P. J. Prince, A family of embedded Runge-Kutta formulae, 1980; dense output as in DOPRI5."""
    (c,), a, (b,), (lower,), d = _rows(_DORMAND_PRINCE)
    errors = _difference(b, lower)
    return Tableau("dormand-prince", 5, _row(c), _floats(a), _row(b), errors, 5, dense=_nested(b, d))


def _cash_karp() -> Tableau:
    """J. R. Cash, A. H. Karp, A variable order Runge-Kutta method ..., 1990: six stages, orders 5 and 4.

    It has no dense output of its own. A cubic through both ends gives a state inside the step to fourth order; with the
    rate there, a quartic has the order of the method.
    """
    (c,), a, (b,), (lower,) = _rows(_CASH_KARP)
    s = _F(1, 4)
    inside = [w * (3 - 2 * s) * s * s for w in b]
    inside[0] += s * (1 - s) ** 2
    rows = (_row(c), _floats(a), _row(b), _difference(b, lower))
    return Tableau("cash-karp", 5, *rows, 5, _row([s]), _floats([[*inside, s * s * (s - 1)]]), _quartic(b, s))


def _dormand_prince_8() -> Tableau:
    (nodes,), weights, (b,), *errors, d = _rows(DOP853)
    c, a, n = _row(nodes), _floats(weights), len(b)
    rows = (c[:n], a[:n], _row(b), _floats(x for (x,) in errors))
    return Tableau("dormand-prince-8", 8, *rows, 8, c[n + 1 :], a[n + 1 :], _nested(b, d))


def _nested(b: Exact, d: list[Exact]) -> tuple[Row, ...]:
    """Return the powers of s in Hairer's dense output, y + s (r0 + (1 - s)(r1 + s (r2 + (1 - s)(r3 + s ( ... ))))).

    r0 is the step, r1 = h k[0] - r0, r2 = r0 - h k[end] - r1, and r3 ... are h times the rows of d.
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


def _quartic(b: Exact, s: Fraction) -> tuple[Row, ...]:
    """Return the quartic with the states and rates of both ends and the rate at s: weights of stages, end, and s.

    It is Hermite's cubic plus a multiple of x^2 (1 - x)^2 that makes the rate at s right.
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


TABLEAUS: dict[str, Tableau] = {
    t.name: t
    for t in (
        *map(_semi_implicit_euler, ("semi-implicit-euler", "plain-euler")),
        *(_rk4(), _dormand_prince(), _cash_karp(), _dormand_prince_8()),
    )
}
"""The methods by the names that `simulate` and `rollout` accept. In rollouts, plain Euler keeps forces explicit."""


def tableau(name: str) -> Tableau:
    """Return the tableau of a method; the error for an unknown name lists all methods."""
    return TABLEAUS[choice("explicit method", name, TABLEAUS)]
