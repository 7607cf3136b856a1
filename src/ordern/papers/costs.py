"""Operation counts as functions of n, beside those that the papers publish."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path

from ..algorithms import Algorithm, methods
from ..counting import count, critical_path, generic
from ..graph import Counts
from ..joints import Cylindrical, Planar, Revolute, Spherical
from ..loading import load
from ..robot import Robot
from ..robots import chain
from .text import doing, filled, grid, lines, save, table

__all__ = ["cost", "counts_of", "crossover", "fitted", "formula", "own_methods", "page", "polynomial", "revolute_arm"]

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
"""The lengths for fitted polynomials. Shorter arms have special first joints."""


@cache
def revolute_arm(n: int) -> Robot:
    """Return an arm of n revolute joints with general link parameters, as papers count."""
    return generic(chain(n).build())


@cache
def counts_of(question: str, method: str, n: int) -> Counts:
    """Count the operations of a method for a general arm."""
    return _whole(revolute_arm(n), question, method)


def _whole(robot: Robot, question: str, method: str) -> Counts:
    """Count the operations of a method that is not made of other functions."""
    found = count(robot, question, method)
    assert isinstance(found, Counts), f"{method!r} is counted by its pieces"
    return found


def cost(c: Counts) -> tuple[int, int]:
    """Return multiplications and additions as papers count them: divisions are multiplications."""
    return c.multiplications + c.divisions, c.additions


def own_methods(question: str) -> list[Algorithm]:
    """Return all methods of the library for a question, aliases included."""
    return [m for m in methods(question) if m.function.__module__.startswith("ordern.")]


def polynomial(values: Sequence[int], start: int) -> list[Fraction] | None:
    """Return the coefficients, constant first, of the polynomial through values at start, start + 1, ... or None.

    Its degree is at most 3, so that more values than four must fit it, too. By Newton's differences.
    """
    found, basis, differences = [Fraction(0)], [Fraction(1)], [Fraction(v) for v in values]
    for k in range(4):
        found = [a + differences[0] * b for a, b in zip_longest(found, basis, fillvalue=Fraction(0))]
        differences = [b - a for a, b in pairwise(differences)]
        if not any(differences):
            return found
        shifted = [Fraction(0), *basis]  # times (x - start - k) / (k + 1)
        basis = [(a - (start + k) * b) / (k + 1) for a, b in zip_longest(shifted, basis, fillvalue=Fraction(0))]
    return None


def formula(c: Sequence[Fraction] | None) -> str:
    """Return a polynomial as papers write it."""
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


def fitted(pairs: Sequence[tuple[int, int]]) -> tuple[str, str]:
    """Return multiplications and additions as functions of n, from their numbers for `SIZES`."""
    M, A = (formula(polynomial(values, SIZES[0])) for values in zip(*pairs, strict=True))
    return M, A


def _counted(question: str) -> list[Algorithm]:
    """Return the methods that can be counted for a general arm."""
    arm, found = revolute_arm(6), own_methods(question)
    return [m for m in found if not (m.pieces or m.alias_of or (m.refuses and m.refuses(arm)))]


def _rows(question: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for m in _counted(question):
        doing(f"{question}, {m.name}")
        found = [cost(counts_of(question, m.name, n)) for n in SIZES]
        ends = (f"{M} / {A}" for M, A in (found[0], found[-1]))
        rows.append((f"`{m.name}`", *fitted(found), *ends))
    return rows


def value(text: str, n: int) -> int:
    """Evaluate a published formula at n."""
    total = Fraction(0)
    for term in text.replace(" - ", " + -").replace(" n", "n").split(" + "):
        number, variable, rest = term.partition("n")
        power, _, divisor = rest.removeprefix("^").partition("/")
        degree = int(power or 1) if variable else 0
        total += Fraction(number or 1) * n**degree / int(divisor or 1)
    return round(total)


def _published(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, ...]]:
    return [(name, M, A, *(f"{value(M, n)} / {value(A, n)}" for n in (6, 12))) for name, M, A in rows]


def crossover(one: str, other: str, most: int = 16, question: str = "forward_dynamics") -> int | None:
    """Return the least n for which one method takes fewer operations than another; None if beyond `most`."""
    for n in range(2, most + 1):
        a, b = (counts_of(question, m, n) for m in (one, other))
        if a.total < b.total:
            return n
    return None


def _by_freedoms() -> str:
    types = (Revolute, Cylindrical, Planar, Spherical)
    rows = []
    for name in ("articulated-body", "composite-body", "virtual-work", "lagrange-multipliers"):
        row = [_whole(generic(chain(8, t).build()), "forward_dynamics", name).total for t in types]
        rows.append((f"`{name}`", *row))
    return table(("method", *(f"{t.__name__.lower()} ({t.nv})" for t in types)), rows)


def _freedoms_at_crossover(shape: str) -> int | None:
    """Return the freedoms from which `virtual-work` is cheaper than `unit-acceleration`, for spherical joints."""
    for n in range(2, 14):
        robot = load(f"spherical-{shape}-{n}")
        a, b = (_whole(robot, "forward_dynamics", m).total for m in ("virtual-work", "unit-acceleration"))
        if a < b:
            return robot.nv
    return None


def _in_stars() -> str:
    found = _freedoms_at_crossover("star")
    if found is not None:
        return f"from {found} on"
    return "it does not, with up to 13 branches: what branches have not in common is dropped from the other, too"


def _depths() -> str:
    sizes = (4, 8, 16)
    wanted = {
        "inverse_dynamics": ("newton-euler", "composite-inertia"),
        "forward_dynamics": ("articulated-body", "constraint-force", "divide-and-conquer", "kalman-scan"),
    }
    rows = [
        (question, f"`{name}`", *(critical_path(revolute_arm(n), question, name) for n in sizes))
        for question, names in wanted.items()
        for name in names
    ]
    return table(("", "method", *(f"n = {n}" for n in sizes)), rows)


def page(folder: Path) -> str:
    """Return the page, and draw its figure."""
    head = ("", "multiplications", "additions", "n = 6", "n = 12")
    names = ("articulated-body", "composite-body", "triangularized", "denoc", "virtual-work")
    sizes = range(2, 17)
    fig, axes = grid()
    counts = {name: [counts_of("forward_dynamics", name, n).total for n in sizes] for name in names}
    lines(axes, sizes, counts, "Forward dynamics of a general arm", "joints n", "operations")
    save(fig, folder, "costs")
    return filled(
        "costs",
        first=SIZES[0],
        last=SIZES[-1],
        inverse=table(head, [*_published(PUBLISHED_INVERSE), *_rows("inverse_dynamics")]),
        forward=table(head, [*_published(PUBLISHED_FORWARD), *_rows("forward_dynamics")]),
        mass=table(head, _rows("mass_matrix")),
        freedoms=_by_freedoms(),
        chains=_freedoms_at_crossover("chain"),
        stars=_in_stars(),
        absolute=crossover("composite-body-absolute", "composite-body", 24, "mass_matrix"),
        depths=_depths(),
        pays=crossover("articulated-body", "composite-body"),
    )
