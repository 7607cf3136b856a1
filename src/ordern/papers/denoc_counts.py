"""The operations of Saha's forward dynamics by class, beside his published formula.

A text of forward dynamics is traced three times, for an arm of revolute joints with general parameters: as it is; at
rest and without gravity, where its joint forces are phi = tau - C qd, as he has them for an input; and so for two
vectors phi in one graph, where what does not depend on them is computed once. Differences of the counts are the
classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..algorithms import find
from ..algorithms.forward_dynamics.denoc import _between as between
from ..algorithms.inverse_dynamics.denoc import about_centre, mass_centre
from ..graph import Graph, Node, count
from ..model import ConcreteTree
from ..robot import Robot
from ..spatial import ArticulatedInertia, Freedoms, eliminate, leaves
from .costs import PUBLISHED_FORWARD, PUBLISHED_INVERSE, SIZES, cost, fitted, revolute_arm, value
from .text import filled, table

__all__ = ["CLASSES", "classes", "formulas", "one_link", "section"]

CLASSES = {
    "phi": "phi: twists, their rates, wrenches; sec. 5.1 with zero accelerations",
    "inertia": "M^, psi, m^: articulated inertias; (47)-(50)",
    "sweeps": "eta, mu, accelerations; (34)-(37)",
}
SAHA = "Saha 1999"


@cache
def classes(method: str, n: int) -> dict[str, tuple[int, int]]:
    """Count multiplications (with divisions) and additions of each class, and of the whole, for n revolute joints."""
    arm = revolute_arm(n)
    resting = replace(arm, gravity=(0.0, 0.0, 0.0))
    text = find("forward_dynamics", method)[1].function
    graph = Graph(method)
    q, qd, *taus = ([graph.leaf((k, i)) for i in range(n)] for k in range(5))

    def traced(robot: Robot, moving: bool, tau: Sequence[Any]) -> list[Node]:
        tree = ConcreteTree(robot)
        velocity = tree.input("v", qd) if moving else tree.zeros("v")
        others = (tree.zeros(kind) for kind in ("bodies", "motion", "motion"))
        found = text(tree, tree.input("q", q), velocity, tree.input("f", tau), *others)
        return [x for x in found.scalars if isinstance(x, Node)]

    whole, (one, other) = traced(arm, True, taus[0]), (traced(resting, False, tau) for tau in taus[1:])
    (wM, wA), (oM, oA), (bM, bA) = (cost(count(x)) for x in (whole, one, one + other))
    return {
        "phi": (wM - oM, wA - oA),
        "inertia": (2 * oM - bM, 2 * oA - bA),
        "sweeps": (bM - oM, bA - oA),
        "given phi": (oM, oA),
        "whole": (wM, wA),
    }


def formulas(method: str, name: str) -> tuple[str, str]:
    """Return the counts of a class as functions of n."""
    return fitted([classes(method, n)[name] for n in SIZES])


def _beside(n: int, ours: tuple[int, int], *published: str) -> str:
    his = [value(text, n) for text in published]
    M, A = (f"{abs(x / y - 1.0):.0%} {'fewer' if x < y else 'more'}" for x, y in zip(ours, his, strict=True))
    return f"at n = {n}, {ours[0]} / {ours[1]} where he has {his[0]} / {his[1]}, {M} multiplications and {A} additions"


def one_link() -> dict[str, tuple[int, int]]:
    """Count the articulated inertia of one link: the elimination of its joint, and the move to its parent.

    The inertia is any symmetric matrix; the joint and the link are from the middle of the arm, about mass centres.
    """
    tree, graph = ConcreteTree(revolute_arm(6)), Graph("one link")
    q = tree.input("q", [graph.leaf((0, k)) for k in range(6)])
    M = ArticulatedInertia.of_upper({(r, c): graph.leaf((1, r, c)) for c in range(6) for r in range(c + 1)})
    bodies = [i for i, _ in tree.outward()]
    parent, i = bodies[2:4]
    start, end = (mass_centre(body.inertia)[0] for body in (parent, i))
    B, p = between(start, i.transform(q[i]), end), about_centre(end, i.subspace(q[i]))
    eliminated, moved = eliminate(M, p, Freedoms((0.0,))), B.T @ M @ B
    return {"eliminate": _count(eliminated), "move": _count(moved)}


def _count(*values: Any) -> tuple[int, int]:
    return cost(count(x for value in values for x in leaves(value) if isinstance(x, Node)))


def section() -> str:
    """Explain why our count differs from his."""
    ours, other = "denoc", "articulated-body"
    his, inverse = ({name: MA for name, *MA in rows}[SAHA] for rows in (PUBLISHED_FORWARD, PUBLISHED_INVERSE))
    rows = [
        (text, *(f"{M} / {A}" for M, A in (formulas(method, name) for method in (ours, other))))
        for name, text in (*CLASSES.items(), ("given phi", "the last two: phi given"), ("whole", "all"))
    ]
    return filled(
        "denoc_counts",
        his=his,
        inverse=inverse,
        classes=table(("class", f"`{ours}`", f"`{other}`, the same classes"), rows),
        whole=formulas(ours, "whole"),
        given=formulas(ours, "given phi"),
        least=formulas(other, "given phi"),
        beside="; ".join(_beside(n, classes(ours, n)["given phi"], *his) for n in (6, 12)),
        **one_link(),
    )
