"""Chooses the joints that carry links; the others close loops.

In SDF joints may connect links in any way. A link is carried by the first joint that names it as its child and whose
parent is reached from a root; otherwise by another such joint; otherwise by a joint that names it as its parent,
reversed. The remaining joints close loops. `cut` names joints that must close loops.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from ...errors import ModelError, unknown_name
from .joint import SdfJoint
from .scope import WORLD

__all__ = ["Tree", "span"]


class Tree:
    """The joints that carry links, the joints that close loops, and the roots."""

    def __init__(self) -> None:
        self.carry: dict[int, bool] = {}
        """True for reversed joints, by the joint's index."""
        self.loops: list[int] = []
        self.roots: list[str] = []
        """The first link of each piece that no joint connects to the world."""
        self.grounded = False
        """True if something is connected to the world."""


def span(links: Sequence[str], static: Iterable[str], joints: Sequence[SdfJoint], cut: Sequence[str] = ()) -> Tree:
    """Return the tree of all links. `static` links do not move; where no link is a root, the first of `links` is.

    The joints named in `cut` close loops.
    """
    tree = Tree()
    closing = _cut(cut, joints)
    touching: dict[str, list[int]] = {}
    first: dict[str, int] = {}
    for k, joint in enumerate(joints):
        if k in closing:
            continue
        first.setdefault(joint.child, k)
        touching.setdefault(joint.parent, []).append(k)
        touching.setdefault(joint.child, []).append(k)
    still = {WORLD, *static}
    reached = set(still)

    def grow(roots: Iterable[str]) -> None:
        heap: list[tuple[int, int]] = []

        def reach(link: str) -> None:
            reached.add(link)
            for k in touching.get(link, []):
                joint = joints[k]
                rank = 2 if joint.child == link else int(first[joint.child] != k)
                heapq.heappush(heap, (rank, k))

        for root in roots:
            reach(root)
        while heap:
            rank, k = heapq.heappop(heap)
            far = joints[k].parent if rank == 2 else joints[k].child
            if far not in reached:
                tree.carry[k] = rank == 2
                reach(far)

    grow(sorted(still))
    tree.grounded = len(reached) > 1
    order = {name: k for k, name in enumerate(links)}
    for link in links:
        if link not in reached:
            nobodys = [name for name in _piece(link, touching, joints) if name not in first]
            root = min(nobodys, key=order.__getitem__, default=link)
            tree.roots.append(root)
            grow([root])
    for k in closing:
        _check_cut(joints[k], touching, joints, still)
    tree.loops = [
        k for k, j in enumerate(joints) if k not in tree.carry and not (j.parent in still and j.child in still)
    ]
    return tree


def _cut(names: Sequence[str], joints: Sequence[SdfJoint]) -> set[int]:
    index = {joint.name: k for k, joint in enumerate(joints)}
    for name in names:
        if name not in index:
            raise ModelError(f"cut: {unknown_name('joint', name, index)}")
    return {index[name] for name in names}


def _check_cut(joint: SdfJoint, touching: dict[str, list[int]], joints: Sequence[SdfJoint], still: set[str]) -> None:
    """Raise if only this joint connects its parent and child: then it is in no loop."""
    found = _piece(joint.parent, touching, joints)
    if joint.child in found or (found & still and _piece(joint.child, touching, joints) & still):
        return
    raise joint.element.error(
        f"cut: {joint.what} cannot close a loop, since without it (and what else is cut) nothing connects "
        f"{joint.parent!r} and {joint.child!r}"
    )


def _piece(link: str, touching: dict[str, list[int]], joints: Sequence[SdfJoint]) -> set[str]:
    """Return all links that joints connect with this one."""
    found, stack = {link}, [link]
    while stack:
        for k in touching.get(stack.pop(), []):
            for end in (joints[k].parent, joints[k].child):
                if end not in found:
                    found.add(end)
                    stack.append(end)
    return found
