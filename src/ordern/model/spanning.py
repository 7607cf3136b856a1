"""Spanning trees: choose which joints of a graph carry bodies, and which close loops.

The tree grows from the root. Of the joints that lead from it to a body that is not in it yet, the next is one that
cannot close a loop (a joint with a motor or an armature, one that follows another, one of a type without a closure, or
one with a spring or the like that would have no coordinates there); then one with limits, drives, dampers or springs;
then any; and of these one whose child is the new body, before one that has to be reversed. A joint that can
neither close a loop nor be reversed carries its child, and no other joint does. The remaining joints close loops.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..errors import ModelError, unknown_name
from ..joints import (
    Composite,
    Continuous,
    Cylindrical,
    Fixed,
    Helical,
    Joint,
    Placement,
    Prismatic,
    Revolute,
    row_count,
)
from ..records import dataclass
from .drafts import JointDraft

__all__ = ["IN_TREE", "Edge", "carrying", "require_bodies", "says", "span"]

_REVERSIBLE = (Fixed, Revolute, Continuous, Prismatic, Helical, Cylindrical)
"""Types whose inverse is one of them, about the opposite axis, with the same coordinates."""
IN_TREE = ("armature", "mimic", "actuated")
"""Terms that a joint which closes a loop cannot have."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A joint between two bodies, which may carry either or close a loop."""

    name: str
    type: Joint
    parent: str
    child: str
    at: Placement
    child_at: Placement
    terms: Mapping[str, Any]
    closes: bool | None
    """True if it closes a loop; None if that is to be chosen."""
    where: str

    @property
    def reversible(self) -> bool:
        """True if it can carry its parent."""
        return type(self.type) in _REVERSIBLE

    @property
    def bound(self) -> str:
        """The reason why it cannot close a loop; empty if it can."""
        advice = "; let another joint of its loop close it (closes=True)"
        for key in IN_TREE:
            if says(self.terms.get(key)):
                return f", but has {key!r}{advice}"
        if self.closes is False:
            return f", but must carry a body{advice}"
        try:
            row_count(self.type)
        except ModelError as e:
            return f": {e}"
        said = [key for key, x in self.terms.items() if says(x)]
        return (
            f", but has {', '.join(map(repr, said))}: {self.type.why_not_locatable}"
            if said and self.type.why_not_locatable
            else ""
        )

    @property
    def rank(self) -> int:
        """The priority for the tree: 0 if the joint cannot close a loop, 1 if it has limits or the like, else 2."""
        if self.bound:
            return 0
        return 2 - any(says(x) for x in self.terms.values())


def says(x: Any) -> bool:
    """Return True if a term has an effect: it is not None, empty, zero or infinite."""
    if x is None or isinstance(x, str):
        return bool(x)
    try:
        numbers = np.atleast_1d(np.asarray(x, float))
    except (TypeError, ValueError):  # the name of a joint, with a ratio and an offset
        return True
    return bool(((numbers != 0.0) & np.isfinite(numbers)).any())


def span(
    root: str, carried: Mapping[str, str], edges: Mapping[str, Edge], bodies: Mapping[str, Any]
) -> tuple[dict[str, bool], list[str]]:
    """Choose the tree of a graph; `carried` has the bodies with a joint already, and the bodies that carry them.

    Return the names of the joints that carry bodies, True for reversed ones, and of the joints that close loops.
    """
    touching = _touching(edges, bodies)
    ranks = {name: edge.rank for name, edge in edges.items() if edge.closes is not True}
    only = {edges[name].child: name for name, rank in ranks.items() if rank == 0 and not edges[name].reversible}
    carry, reached = _grown(root, carried, edges, touching, ranks, only)
    if len(reached) < len(bodies):  # what must be carried by one joint is then better carried by another
        carry, reached = _grown(root, carried, edges, touching, ranks, {})
    loops = [name for name in edges if name not in carry]
    # the message for a joint at a body that is reached says more than for joints beyond it
    for edge in sorted(
        (edges[name] for name in loops), key=lambda e: e.parent not in reached and e.child not in reached
    ):
        _check_loop(root, edge, reached)
    return carry, loops


def require_bodies(joint: Edge | JointDraft, bodies: Mapping[str, Any]) -> None:
    """Raise if a joint connects a body that does not exist."""
    for role, body in (("parent", joint.parent), ("child", joint.child)):
        if body not in bodies:
            known = unknown_name("body", body, bodies)
            raise ModelError(f"joint {joint.name!r} has as its {role} an {known}", joint.where)


def _touching(edges: Mapping[str, Edge], bodies: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the joints at each body."""
    touching: dict[str, list[str]] = {}
    for edge in edges.values():
        require_bodies(edge, bodies)
        for body in (edge.parent, edge.child):
            touching.setdefault(body, []).append(edge.name)
        if edge.parent == edge.child:
            raise ModelError(f"joint {edge.name!r} connects body {edge.parent!r} with itself", edge.where)
    return touching


def _grown(
    root: str,
    carried: Mapping[str, str],
    edges: Mapping[str, Edge],
    touching: Mapping[str, list[str]],
    ranks: Mapping[str, int],
    only: Mapping[str, str],
) -> tuple[dict[str, bool], set[str]]:
    """Return the joints that carry bodies, True for reversed ones, and all bodies that are reached.

    `only` are bodies that one joint alone may carry.
    """
    below: dict[str, list[str]] = {}
    for child, parent in carried.items():
        below.setdefault(parent, []).append(child)
    order = {name: k for k, name in enumerate(edges)}
    reached: set[str] = set()
    carry: dict[str, bool] = {}
    heap: list[tuple[int, bool, int, str]] = []

    def reach(body: str) -> None:
        stack = [body]
        while stack:
            here = stack.pop()
            reached.add(here)
            stack += below.get(here, [])
            for name in touching.get(here, []):
                edge = edges[name]
                backwards = edge.child == here
                if name in ranks and (edge.reversible or not backwards):
                    heapq.heappush(heap, (ranks[name], backwards, order[name], name))

    reach(root)
    while heap:
        _, backwards, _, name = heapq.heappop(heap)
        far = edges[name].parent if backwards else edges[name].child
        if far not in reached and far not in carried and only.get(far, name) == name:
            carry[name] = backwards
            reach(far)
    return carry, reached


def _check_loop(root: str, edge: Edge, reached: set[str]) -> None:
    """Raise if a joint that is left over cannot close a loop."""
    lost = [body for body in (edge.parent, edge.child) if body not in reached]
    if len(lost) == 2:
        raise ModelError(
            f"joint {edge.name!r} connects bodies {edge.parent!r} and {edge.child!r}, but no joints connect these with "
            f"the root, body {root!r}",
            edge.where,
        )
    if lost:
        why = "it closes a loop" if edge.closes else f"a {type(edge.type).__name__} cannot be reversed"
        raise ModelError(
            f"no joint carries body {lost[0]!r}: joint {edge.name!r} leads to it, but {why}; swap its parent and "
            "child, or let another joint close the loop",
            edge.where,
        )
    if edge.bound:
        raise ModelError(f"joint {edge.name!r} would close a loop{edge.bound}", edge.where)


def carrying(edge: Edge, backwards: bool) -> tuple[Joint, Placement]:
    """Return a joint of the graph as a joint of the tree: its type in the child's frame, and its placement."""
    here, there = (edge.child_at, edge.at) if backwards else (edge.at, edge.child_at)
    return _placed(edge.type, there, -1.0 if backwards else 1.0), here @ there.inverse


def _placed(joint: Joint, at: Placement, sign: float) -> Joint:
    """Return a joint whose frame has this placement in the body that it carries."""
    if sign > 0.0 and at == Placement():
        return joint
    names = [f.name for f in fields(joint) if f.name.startswith("axis")]  # type: ignore[arg-type]
    if names:
        axes = {name: tuple((sign * (at.R @ np.array(getattr(joint, name)))).tolist()) for name in names}
        joint, at = replace(joint, **axes), Placement(position=at.position)  # type: ignore[type-var]
    if at == Placement() or isinstance(joint, (Fixed, Prismatic)):  # these move alike wherever they are
        return joint
    return Composite(((joint, at),))
