"""Operation counts as functions of n, beside those that the papers publish."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from ..algorithms import Algorithm, methods
from ..counting import count, generic
from ..graph import Counts
from ..robot import Robot
from ..robots import chain
from .text import figure, save, table

__all__ = ["crossover", "formula", "page", "polynomial", "revolute_arm"]

PUBLISHED_INVERSE = (
    ("Hollerbach 1980", "412n - 277", "320n - 201"),
    ("Luh, Walker, Paul 1980", "150n - 48", "131n + 48"),
    ("Walker, Orin 1982", "137n - 22", "101n - 11"),
    ("Saha 1999", "120n - 44", "97n - 55"),
    ("Khalil et al. 1986", "105n - 92", "94n - 86"),
    ("Angeles et al. 1989", "105n - 109", "90n - 105"),
    ("Balafoutis et al. 1988", "93n - 69", "81n - 65"),
)
PUBLISHED_FORWARD = (
    ("Saha 1999", "201n - 335", "193n - 361"),
    ("Featherstone 1983", "199n - 198", "174n - 173"),
    ("Walker, Orin 1982", "n^3/6 + 23/2 n^2 + 115/3 n - 47", "n^3/6 + 7n^2 + 233/6 n - 46"),
)
SIZES = range(6, 13)
"""The lengths that polynomials are fitted to. Shorter arms have special first joints."""


@cache
def revolute_arm(n: int) -> Robot:
    """n revolute joints in series, all link parameters general: what the papers count."""
    return generic(chain(n).build())


@cache
def counts_of(question: str, method: str, n: int) -> Counts:
    """Of a general arm."""
    return count(revolute_arm(n), question, method)


def multiplications(c: Counts) -> int:
    """As papers count them: with divisions."""
    return c.multiplications + c.divisions


def polynomial(values: Sequence[int], start: int) -> list[Fraction] | None:
    """The coefficients, constant first, of the polynomial through values at start, start + 1, ...; None if none is.

    Of degree 3 at most, so that more values than four must fit it, too.
    """
    n = [Fraction(start + k) for k in range(len(values))]
    for degree in range(4):
        A = np.array([[x**p for p in range(degree + 1)] for x in n[: degree + 1]], object)
        b = [Fraction(v) for v in values[: degree + 1]]
        c = _solve(A, b)
        if all(sum(c[p] * x**p for p in range(degree + 1)) == v for x, v in zip(n, values, strict=True)):
            return c
    return None


def _solve(A: np.ndarray[tuple[int, ...], np.dtype[np.object_]], b: list[Fraction]) -> list[Fraction]:
    """Gauss-Jordan elimination in fractions."""
    rows = [[*A[r], b[r]] for r in range(len(b))]
    for k in range(len(rows)):
        pivot = next(r for r in range(k, len(rows)) if rows[r][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(len(rows)):
            if r != k:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[-1] for row in rows]


def formula(c: Sequence[Fraction] | None) -> str:
    """A polynomial as papers write it."""
    if c is None:
        return "no polynomial"
    text = ""
    for p in reversed(range(len(c))):
        if c[p] == 0:
            continue
        size, power = abs(c[p]), ("", "n", "n^2", "n^3")[p]
        number = "" if size == 1 and p else str(size) + (" " if size.denominator > 1 and p else "")
        sign = (" - " if text else "-") if c[p] < 0 else (" + " if text else "")
        text += sign + number + power
    return text or "0"


def _counted(question: str) -> list[Algorithm]:
    """Methods that can be counted for a general arm."""
    arm = revolute_arm(6)
    found = []
    for m in methods(question):
        if m.pieces or m.alias_of or not m.function.__module__.startswith("ordern.") or (m.refuses and m.refuses(arm)):
            continue
        found.append(m)
    return found


def _rows(question: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for m in _counted(question):
        all_counts = [counts_of(question, m.name, n) for n in SIZES]
        M = polynomial([multiplications(c) for c in all_counts], SIZES[0])
        A = polynomial([c.additions for c in all_counts], SIZES[0])
        six, twelve = all_counts[0], all_counts[-1]
        rows.append(
            (
                f"`{m.name}`",
                formula(M),
                formula(A),
                f"{multiplications(six)} / {six.additions}",
                f"{multiplications(twelve)} / {twelve.additions}",
            )
        )
    return rows


def _value(text: str, n: int) -> int:
    """A published formula at n."""
    total = Fraction(0)
    for term in text.replace(" - ", " + -").split(" + "):
        number, _, power = term.replace(" ", "").partition("n")
        degree = int(power.partition("^")[2].partition("/")[0] or 1) if "n" in term else 0
        over = (
            Fraction(1, int(term.partition("/")[2].split("n")[0]))
            if term.startswith(("n^3/", "-n^3/"))
            else Fraction(1)
        )
        total += Fraction(number or "1") * over * Fraction(n) ** degree
    return round(total)


def _published(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, ...]]:
    return [
        (name, M, A, f"{_value(M, 6)} / {_value(A, 6)}", f"{_value(M, 12)} / {_value(A, 12)}") for name, M, A in rows
    ]


def crossover(one: str, other: str, most: int = 16) -> int | None:
    """The first n from which one method of forward dynamics takes fewer operations in all than another."""
    for n in range(2, most + 1):
        a, b = (counts_of("forward_dynamics", m, n) for m in (one, other))
        if a.total < b.total:
            return n
    return None


def page(folder: Path) -> str:
    """The page, and its figure."""
    head = ("", "multiplications", "additions", "n = 6", "n = 12")
    text = [
        "# Operation counts\n",
        "Exact numbers for a general arm of n revolute joints: Denavit-Hartenberg parameters and inertias of which "
        "none is special, the first joint at the base, gravity along its axis. Divisions count as multiplications, "
        "sines and cosines are left out, and so is what depends on link parameters alone. Our formulas are fitted to "
        f"the counts for n = {SIZES[0]} to {SIZES[-1]}, all of which they meet.\n",
        "Counts of multiplications are lower than they would be by matrices, those of additions higher, because a turn "
        "by a constant angle is done as three shears: three products and three sums instead of four and two.\n",
        "## Inverse dynamics (Saha 1999, Table 1)\n",
        table(head, [*_published(PUBLISHED_INVERSE), *_rows("inverse_dynamics")]),
        "## Forward dynamics (Saha 1999, Table 2)\n",
        table(head, [*_published(PUBLISHED_FORWARD), *_rows("forward_dynamics")]),
        "## Mass matrix\n",
        table(head, _rows("mass_matrix")),
    ]
    names = {m.name for m in _counted("forward_dynamics")}
    if "composite-body" in names:
        n = crossover("articulated-body", "composite-body")
        text.append(
            "## Where order n pays\n\nThe articulated-body method takes fewer operations than composite bodies with a "
            f"factorisation from n = {n} on, for general arms. (Featherstone and Orin: about 9; Saha: 12.)\n"
        )
        fig, axes = figure()
        sizes = range(2, 17)
        for name in ("articulated-body", "composite-body", "triangularized", "denoc", "virtual-work"):
            if name in names:
                axes.plot(sizes, [counts_of("forward_dynamics", name, n).total for n in sizes], label=name)
        axes.set(xlabel="joints n", ylabel="operations", title="Forward dynamics of a general arm")
        axes.legend()
        text.append(save(fig, folder, "costs", "Operations of forward dynamics against the number of joints"))
    return "\n".join(text)
