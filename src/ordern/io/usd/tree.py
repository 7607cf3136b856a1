"""Chooses the joints that carry bodies; the others close loops.

The tree grows from the world, and in each piece that nothing connects to it from a root. Joints that the file leaves
out of its articulations carry a body only where no other joint reaches it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from ...joints import Joint
from ...records import dataclass
from .joint import WORLD, UsdJoint

__all__ = ["Tree", "span"]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The joints that carry bodies, by index, those that close loops, and the roots of pieces without the world."""

    carry: dict[int, bool]
    """True for joints that carry their parents."""
    loops: list[int]
    roots: list[str]
    grounded: bool
    """True if something is connected to the world."""


def span(bodies: Sequence[str], roots: Iterable[str], still: Iterable[str], joints: Sequence[UsdJoint]) -> Tree:
    """Return the tree of all bodies. `roots` are preferred as roots, in this order; `still` bodies do not move."""
    touching: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        for end in (joint.parent, joint.child):
            touching.setdefault(end, []).append(k)
    fixed = {WORLD, *still}
    carry: dict[int, bool] = {}
    reached: set[str] = set()

    def grow(starts: Iterable[str]) -> None:
        heap: list[tuple[bool, bool, int]] = []
        new = sorted(starts)
        while new or heap:
            for body in new:
                reached.add(body)
                for k in touching.get(body, ()):
                    if isinstance(joints[k].type, Joint):
                        heapq.heappush(heap, (joints[k].excluded, joints[k].child == body, k))
            new = []
            if heap:
                _, backwards, k = heapq.heappop(heap)
                far = joints[k].parent if backwards else joints[k].child
                if far not in reached:
                    carry[k] = backwards
                    new = [far]

    grow(fixed)
    grounded = len(reached) > 1
    children = {joint.child for joint in joints}
    found: list[str] = []
    for body in (*roots, *(name for name in bodies if name not in children), *bodies):
        if body not in reached:
            found.append(body)
            grow([body])
    loops = [k for k, j in enumerate(joints) if k not in carry and not (j.parent in fixed and j.child in fixed)]
    return Tree(carry, loops, found, grounded)
