"""Freedoms as indices of matrices: the joint of each, and its path in the elimination tree.

A mass matrix has a row and a column for each freedom of a robot, and is eliminated from the last one to the first. `up`
of a freedom is the next one on its path in the elimination tree: the freedoms whose rows its elimination changes. In a
robot without mimic joints the path has the freedoms of the same joint before it, and those of its ancestors: no zero
is filled in (Featherstone 2008, sec. 6.5). Mimic joints add the rows of one path to the rows of another; then `up` is
the elimination tree of the remaining matrix (Liu 1990), and zeros on a path may be filled in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..records import dataclass
from .model import Model
from .parts import BASE

__all__ = ["Freedom", "FreedomTables"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Freedom:
    """A freedom in a loop: an index of matrices and vectors."""

    key: Any


@dataclass(frozen=True, slots=True)
class FreedomTables:
    """For each freedom: the next one on its elimination path, or -1; its body; and the first freedom of its joint.

    The bodies that a freedom moves are a robot of their own: `count` bodies from place `at` of `order`, the first of
    which is `root`, and `v_count` freedoms from place `v_at` of `v_order`. With mimic joints these are all bodies, and
    `root` is -1.
    """

    up: Integers
    body: Integers
    first: Integers
    root: Integers
    at: Integers
    count: Integers
    v_at: Integers
    v_count: Integers
    order: Integers
    """Bodies, each followed by its descendants."""
    v_order: Integers
    """The freedoms of these bodies."""

    @classmethod
    def of(cls, model: Model) -> FreedomTables:
        """Compute the tables of a model."""
        parent = [c.parent for c in model.joints]
        own = [(c.v_start, 0 if c.mimic else c.nv) for c in model.joints]
        body = [0] * model.nv
        for k, (start, n) in enumerate(own):
            body[start : start + n] = [k] * n
        first = [own[k][0] for k in body]
        coupled = any(c.mimic for c in model.joints)
        up = _eliminated(model) if coupled else _carrying(parent, own, model.nv)
        order = _nested(parent)
        v_order = [d for k in order for d in range(own[k][0], own[k][0] + own[k][1])]
        if coupled:
            n = len(body)
            whole: tuple[list[int], ...] = ([-1] * n, [0] * n, [len(parent)] * n, [0] * n, [n] * n)
        else:
            whole = _moved(parent, own, order, body)
        return cls(*(np.array(x, np.int64) for x in (up, body, first, *whole, order, v_order)))


def _carrying(parent: list[int], own: list[tuple[int, int]], nv: int) -> list[int]:
    """Return for each freedom the one before it of its joint, or the last one of its nearest ancestor with freedoms."""
    up, last = [-1] * nv, [-1] * (len(parent) + 1)  # the base is the last entry
    for k, (start, n) in enumerate(own):
        above = last[parent[k]]
        for d in range(start, start + n):
            up[d], above = above, d
        last[k] = above
    return up


def _nested(parent: list[int]) -> list[int]:
    """Return every body, followed by its descendants."""
    children: list[list[int]] = [[] for _ in (*parent, BASE)]
    for k, p in enumerate(parent):
        children[p].append(k)
    found, left = [], children[BASE][::-1]
    while left:
        k = left.pop()
        found.append(k)
        left.extend(reversed(children[k]))
    return found


def _moved(parent: list[int], own: list[tuple[int, int]], order: list[int], body: list[int]) -> tuple[list[int], ...]:
    """Return for each freedom its body, the place of that in `order`, its number of descendants, and their freedoms."""
    n = len(parent)
    size, freedoms, at, v_at, v = [1] * n, [count for _, count in own], [0] * n, [0] * n, 0
    for place, k in enumerate(order):
        at[k], v_at[k], v = place, v, v + own[k][1]
    for k in reversed(range(n)):
        if parent[k] != BASE:
            size[parent[k]] += size[k]
            freedoms[parent[k]] += freedoms[k]
    return body, *([x[k] for k in body] for x in (at, size, v_at, freedoms))


def _eliminated(model: Model) -> list[int]:
    """Return the elimination tree of the mass matrix of a robot with mimic joints."""
    up, leader = [-1] * model.nv, [-1] * model.nv
    below: list[list[int]] = [[] for _ in up]
    for a, b in _edges(model):
        below[min(a, b)].append(max(a, b))
    for i in reversed(range(model.nv)):
        for k in below[i]:
            while leader[k] not in (-1, i):  # on to the last one that was eliminated with it, and shorten the way
                leader[k], k = i, leader[k]
            if leader[k] == -1:
                leader[k] = up[k] = i
    return up


def _edges(model: Model) -> list[tuple[int, int]]:
    """Return pairs of freedoms of bodies and their ancestors, as many as determine which zeros are filled in.

    Freedoms of joints that are not mimic joints are numbered outward, so that the next one inward stands for all beyond
    it. A mimic joint has any number: all its descendants are paired with its freedom, and with the next one inward.
    """
    found: list[tuple[int, int]] = []
    size = len(model.joints) + 1  # the base is the last entry
    next_inward, paired = [-1] * size, [tuple[int, ...]()] * size
    for k, c in enumerate(model.joints):
        inner, pairs = next_inward[c.parent], paired[c.parent]
        own = range(c.v_start, c.v_start + c.type.nv)
        for d in own:
            found += [(d, e) for e in (inner, d - 1 if d > c.v_start else inner, *pairs) if e not in (-1, d)]
        if c.mimic:
            next_inward[k], paired[k] = inner, tuple({*pairs, inner, *own} - {-1})
        else:
            next_inward[k], paired[k] = own[-1] if own else inner, pairs
    return found
