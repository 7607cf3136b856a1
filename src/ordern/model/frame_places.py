"""Frames in the places of bodies: a builder takes both, and models have bodies with places on them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ..errors import ModelError
from .checks import some
from .parts import Placement

if TYPE_CHECKING:
    from .builder import ModelBuilder

__all__ = ["with_bodies"]

B = TypeVar("B", bound="ModelBuilder")


def with_bodies(builder: B) -> B:
    """Return a builder with bodies, and places on them, where frames were named; itself if no frame was."""
    _require_no_frames_as_children(builder)
    named = [c.parent for c in builder._joints.values()]
    named += [body for body, _, _ in (*builder._frames.values(), *builder._shapes)]
    named += [x for c in builder._edges.values() for x in (c.parent, c.child)]
    named += [x for _, *ends in builder._loops.values() for x in ends]
    if all(name in builder._links or name not in builder._frames for name in named):
        return builder

    def on(name: str, at: Placement) -> tuple[str, Placement]:
        return _on_body(builder, name, at)

    found = copy.copy(builder)
    found._frames = {name: (*on(body, at), where) for name, (body, at, where) in builder._frames.items()}
    found._joints, found._edges, found._loops, found._shapes = {}, {}, {}, []
    for name, c in builder._joints.items():
        parent, at = on(c.parent, c.placement)
        found._joints[name] = replace(c, parent=parent, placement=at)
    for name, edge in builder._edges.items():
        (parent, at), (child, child_at) = on(edge.parent, edge.at), on(edge.child, edge.child_at)
        found._edges[name] = replace(edge, parent=parent, child=child, at=at, child_at=child_at)
    for name, (loop, one, other) in builder._loops.items():
        (parent, at), (child, child_at) = on(one, loop.parent_placement), on(other, loop.child_placement)
        found._loops[name] = (replace(loop, parent_placement=at, child_placement=child_at), parent, child)
    for body, shape, where in builder._shapes:
        host, at = on(body, shape.placement)
        found._shapes.append((host, replace(shape, placement=at), where))
    return found


def _on_body(builder: ModelBuilder, name: str, at: Placement) -> tuple[str, Placement]:
    """Return the body that a frame is fixed to, and the place there of a place in the frame."""
    seen: list[str] = []
    while name not in builder._links and name in builder._frames:
        if name in seen:
            raise ModelError(f"the frames {some(seen)} are fixed to each other, and to no body")
        seen.append(name)
        name, outer, _ = builder._frames[name]
        at = outer @ at
    return name, at


def _require_no_frames_as_children(builder: ModelBuilder) -> None:
    for c in builder._joints.values():
        if c.child not in builder._links and c.child in builder._frames:
            raise ModelError(
                f"joint {c.name!r} has as its child the frame {c.child!r}; a joint carries a body. `connect` takes a "
                "frame on either side",
                c.where,
            )
