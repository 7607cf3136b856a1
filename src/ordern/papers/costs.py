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
from ..robot import Robot
from ..robots import builder, chain
from .text import doing, grid, save, table

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


def multiplications(c: Counts) -> int:
    """Return multiplications as papers count them: with divisions."""
    return c.multiplications + c.divisions


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


def _counted(question: str) -> list[Algorithm]:
    """Return the methods that can be counted for a general arm."""
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
        doing(f"{question}, {m.name}")
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
    """Evaluate a published formula at n."""
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


def crossover(one: str, other: str, most: int = 16, question: str = "forward_dynamics") -> int | None:
    """Return the least n for which one method takes fewer operations than another; None if beyond `most`."""
    for n in range(2, most + 1):
        a, b = (counts_of(question, m, n) for m in (one, other))
        if a.total < b.total:
            return n
    return None


_LINKS = (
    "Yamane and Nakamura (sec. 5) find that the cost of `virtual-work` depends on links, not on freedoms. Operations "
    "for a general chain of 8 links with joints of one type:\n"
)


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
        robot = Robot.of(builder(f"spherical-{shape}-{n}").build())
        a, b = (_whole(robot, "forward_dynamics", m).total for m in ("virtual-work", "unit-acceleration"))
        if a < b:
            return robot.nv
    return None


def _in_stars() -> str:
    found = _freedoms_at_crossover("star")
    if found is not None:
        return f"from {found} on"
    return "it does not, with up to 13 branches: what branches have not in common is dropped from the other, too"


_DEPTH = (
    "The longest chain of operations in which each needs the one before: the time on any number of processors, in "
    "operations. Jain's two decoupled recursions (`composite-inertia`) can run side by side, yet are hardly shorter "
    "than Newton and Euler's two, because one operation more for each joint of the inward sweep outweighs what is "
    "saved; methods by halves and by scans grow with the logarithm of the number of joints.\n"
)


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
        if name in {m.name for m in _counted(question)}
    ]
    return table(("", "method", *(f"n = {n}" for n in sizes)), rows)


def page(folder: Path) -> str:
    """Return the page, and its figure."""
    head = ("", "multiplications", "additions", "n = 6", "n = 12")
    text = [
        "# Operation counts\n",
        "Exact numbers for a general arm of n revolute joints: Denavit-Hartenberg parameters and inertias of which "
        "none is special, the first joint at the base, gravity along its axis. Divisions count as multiplications, "
        "sines and cosines are left out, and so is what depends on link parameters alone. Our formulas are fitted to "
        f"the counts for n = {SIZES[0]} to {SIZES[-1]}, all of which they meet.\n",
        "Counts of multiplications are lower than they would be by matrices, those of additions higher, because a turn "
        "by a constant angle is done as three shears: three products and three sums instead of four and two.\n",
        "`newton-euler`, `articulated-body` and `composite-body` are counted with inertias that are regrouped as "
        "Gautier and Khalil do: what a joint cannot feel of its body is given to the parent beforehand, and on a hinge "
        "seven numbers of ten are left. The other methods have bodies as they are.\n",
        "Where ours differ from the published ones: `newton-euler` needs no linear velocities, and what a frame's own "
        "zeros make unnecessary is gone; with regrouped inertias that takes it below all formulas of the table. "
        "`denoc` carries mass centres, from and to which every body shifts by a general vector: in inverse dynamics it "
        "is at Saha's own count, in forward dynamics above it, since inertias are shifted too. `articulated-body` "
        "takes fewer multiplications for each further joint than either formula, and more additions, which the shears "
        "add. `composite-body` has Walker and Orin's cubic term exactly, a smaller quadratic one, and a larger linear "
        "one: its bias forces are those of full inverse dynamics.\n",
        "## Inverse dynamics (Saha 1999, Table 1)\n",
        table(head, [*_published(PUBLISHED_INVERSE), *_rows("inverse_dynamics")]),
        "## Forward dynamics (Saha 1999, Table 2)\n",
        table(head, [*_published(PUBLISHED_FORWARD), *_rows("forward_dynamics")]),
        "## Mass matrix\n",
        table(head, _rows("mass_matrix")),
    ]
    text += [
        "## Links, not freedoms (Yamane and Nakamura, sec. 5)\n",
        _LINKS,
        _by_freedoms(),
        "It becomes cheaper where joints have more freedoms, because they have fewer constraints. Against the "
        f"unit-vector method it takes fewer operations from {_freedoms_at_crossover('chain')} freedoms on in chains of "
        f"spherical joints; in stars {_in_stars()}. (The paper's times cross at about 15 and 30.) "
        "A link with many branches is not split here: its mobility is kept as one 6 x 6 matrix, which is of order "
        "n without splitting.\n",
        "## Absolute and link coordinates (Featherstone and Orin, secs. 3.1 to 3.3)\n",
        "`newton-euler-absolute`, `composite-body-absolute` and `articulated-body-absolute` are the same algorithms "
        "with all vectors in the base's frame, where inertias have no zeros, and with errors that grow with the "
        "distance from the base. Inverse dynamics takes twice as many operations there, articulated bodies half as "
        "many again. The mass matrix takes fewer from "
        f"n = {crossover('composite-body-absolute', 'composite-body', 24, 'mass_matrix')} on: an entry is one scalar "
        'product, and no force is transformed. (Featherstone and Orin: link coordinates are faster "unless n is '
        'large".) The page on times has both side by side.\n',
    ]
    text += ["## Operations that wait for each other\n", _DEPTH, _depths()]
    names = {m.name for m in _counted("forward_dynamics")}
    if "composite-body" in names:
        n = crossover("articulated-body", "composite-body")
        text.append(
            "## Where order n pays\n\nThe articulated-body method takes fewer operations than composite bodies with a "
            f"factorisation from n = {n} on, for general arms. (Featherstone and Orin: about 9; Saha: 12.)\n"
        )
        fig, axes = grid()
        sizes = range(2, 17)
        for name in ("articulated-body", "composite-body", "triangularized", "denoc", "virtual-work"):
            if name in names:
                axes.plot(sizes, [counts_of("forward_dynamics", name, n).total for n in sizes], label=name)
        axes.set(xlabel="joints n", ylabel="operations", title="Forward dynamics of a general arm")
        axes.legend()
        text.append(save(fig, folder, "costs", "Operations of forward dynamics against the number of joints"))
    return "\n".join(text)
