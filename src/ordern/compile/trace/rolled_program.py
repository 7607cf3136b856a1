"""What the rolling compiler traces an algorithm into: loops, walks, and what is read and written in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ...graph import Graph, Node
from ...model import Model
from ...records import dataclass
from .rolled_tables import path_to

__all__ = ["Block", "Clear", "Climb", "Fetch", "Leaf", "Loop", "Program", "Store", "Walk"]

Leaf = tuple[Any, ...]
"""A place in memory. The first word says which memory:

("row", k, who), ("input", which, port, k, who), ("scalar", port, k), ("port", port, d), ("field", id, k, who),
("carry", id, k), ("between", id, r, c, who, who), ("columns", id, k, who, d); for a result, which may be memory only,
("q_out", id, k, who), ("v_out", id, k, who), ("pair", id, r, c, who, who), ("column", id, r, c, who),
("span", id, r, c, who), ("body_out", id, k, who), ("entry", id, d), ("entry", id, d, d); and ("result", k).

Who is "i", "p" in a loop; "j", "jp" in a walk; or the number of a body. A freedom d is "d0" in the outermost loop over
freedoms, "d1" inside of it ... A value that is read while it may change is ("fetch", number, place): see `Fetch`. One
that is in no memory is ("unit", k, who, d), 1 if d is freedom k of a body's joint and 0 if not.
"""


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to a place."""

    place: Leaf
    value: Node


@dataclass(frozen=True, slots=True)
class Fetch:
    """Read what is at a place now, after all that was written before."""

    value: Node


@dataclass(frozen=True, slots=True)
class Clear:
    """Zero in every place of a result."""

    output: int


@dataclass(slots=True)
class Block:
    """A loop body for one kind of joint (in a walk, for a pair of kinds) or for a freedom; or code outside of loops."""

    graph: Graph
    kinds: dict[str, int]
    freedoms: int = 0
    """How many loops over freedoms it is in."""
    steps: list[Store | Fetch | Clear | Walk | Climb | Loop] = field(default_factory=list)
    env: dict[Any, Any] = field(default_factory=dict)
    fields: list[int] = field(default_factory=list)
    """Those that were made here."""

    def roots(self) -> list[Node]:
        """The values that are stored."""
        return [step.value for step in self.steps if isinstance(step, Store)]

    def all(self) -> Iterator[Block]:
        """This one and those inside."""
        yield self
        for step in self.steps:
            if isinstance(step, (Walk, Climb, Loop)):
                for block in step.blocks:
                    yield from block.all()


@dataclass(slots=True)
class Walk:
    """A loop over the ancestors of a body, or of the body of a freedom and that: one block per kind of ancestor."""

    blocks: list[Block]
    of: str | None = None


@dataclass(slots=True)
class Climb:
    """A loop over the freedoms above one, or above it in its joint."""

    blocks: list[Block]
    of: str
    name: str
    itself: bool
    within: bool


@dataclass(slots=True)
class Loop:
    """A loop over bodies, one block per kind: outward, inward, path or path_inward; or over freedoms, of one block.

    `moved_by` and `upto` are freedoms that it depends on; `name` is that of its own freedom.
    """

    order: str
    blocks: list[Block]
    moved_by: str | None = None
    upto: str | None = None
    name: str = ""


@dataclass(slots=True)
class Program:
    """A traced algorithm: loops and straight code, and how much memory its fields take."""

    model: Model
    pieces: list[Loop | Block]
    field_sizes: list[int]
    field_bases: list[list[float] | None]
    carry_sizes: list[int]
    frame_body: int | None
    output_kinds: list[str] = field(default_factory=list)
    result: int | None = None
    """Which of them is the result."""
    column_sizes: list[int] = field(default_factory=list)
    matrices: int = 0
    """How many matrices between the freedoms of bodies there are."""

    def path(self) -> list[int]:
        """The bodies from the base to the frame."""
        return path_to(self.model, self.frame_body)

    @property
    def has_freedoms(self) -> bool:
        """Whether there are loops over freedoms."""
        return any(isinstance(piece, Loop) and piece.name for piece in self.pieces)
