"""Second derivatives of a weighted sum of an answer, from the graph of its gradient.

    H_xy[i, j] = rate of the derivative by x_i along a unit tangent of y_j

The rates of all gradients along one tangent are a column. Derivatives in different arguments, and along freedoms of
different joints, commute. So each of two equal entries is computed where it takes fewer operations: in different
arguments along the first one, which is the position in most questions, so that columns share their operations; and in
one argument along the freedom that is farther from the base, whose tangent moves fewer bodies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...graph import Scalar
from ...graph.derive import forward
from ...model import Model
from ...records import dataclass

__all__ = ["Varied", "hessian", "joints_of_freedoms", "pairs_of"]

_ZERO = {
    "inverse_dynamics": (("v", "a"), ("a", "a")),
    "forward_dynamics": (("v", "tau"), ("tau", "tau")),
    "closed_dynamics": (("v", "tau"), ("tau", "tau")),
}
"""Second derivatives that are zero for every robot, by pairs of arguments."""


def pairs_of(question: str, wrt: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of arguments whose second derivatives are not always zero, each pair in their order."""
    zero = _ZERO.get(question, ())
    return [(x, y) for k, y in enumerate(wrt) for x in wrt[: k + 1] if (x, y) not in zero]


@dataclass(frozen=True, slots=True)
class Varied:
    """One argument: the derivatives by its numbers, its unit tangents, and the joints that its numbers belong to."""

    name: str
    gradient: Sequence[Scalar]
    units: Sequence[Mapping[int, Scalar]]
    joints: Sequence[int] | None
    """None for an argument whose numbers are not those of freedoms."""


def joints_of_freedoms(model: Model) -> list[int]:
    """Return the joint of each freedom, by its number; joints farther from the base have larger numbers."""
    found = [0] * model.nv
    for k, joint in enumerate(model.joints):
        if joint.mimic is None:
            found[joint.v] = [k] * (joint.v.stop - joint.v.start)
    return found


def hessian(arguments: Sequence[Varied], pairs: Sequence[tuple[str, str]]) -> list[Scalar]:
    """Return the second derivatives by pairs of arguments, one block after the other, row by row."""
    by_name = {x.name: x for x in arguments}
    wanted: dict[tuple[str, int], list[tuple[str, int]]] = {}
    blocks = []
    for first, second in pairs:
        x, y = by_name[first], by_name[second]
        places = [_place(x, i, y, j) for i in range(len(x.gradient)) for j in range(len(y.gradient))]
        blocks.append(places)
        for row, column in places:
            rows = wanted.setdefault(column, [])
            rows.append(row)
    found: dict[tuple[tuple[str, int], tuple[str, int]], Scalar] = {}
    for (name, j), every in wanted.items():
        rows = list(dict.fromkeys(every))
        rates = forward([by_name[x].gradient[i] for x, i in rows], by_name[name].units[j])
        found |= {(row, (name, j)): rate for row, rate in zip(rows, rates, strict=True)}
    return [found[place] for places in blocks for place in places]


def _place(x: Varied, i: int, y: Varied, j: int) -> tuple[tuple[str, int], tuple[str, int]]:
    """Return the row and the column at which a second derivative is computed."""
    if x is not y or (x.joints is not None and x.joints[i] > x.joints[j]):
        return (y.name, j), (x.name, i)
    return (x.name, i), (y.name, j)
