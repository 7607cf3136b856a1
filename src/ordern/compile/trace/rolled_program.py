"""A rolled program: loops, and the numbers that they read and write.

The rolling compiler traces an algorithm into this, and emits machine code from it. It is plain data: loops hold blocks,
a block holds a graph and its steps in order, and every number in memory has a `Place`, an affine expression of the
loops' indices. So a program can be checked, counted (`rolled_count`) and transformed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, NamedTuple

from ...graph import Graph, Node
from ...model import Model
from ...records import dataclass
from .rolled_tables import path_to

__all__ = [
    "Affine",
    "Block",
    "Clear",
    "Copy",
    "Fetch",
    "Fetched",
    "IsFreedom",
    "Leaf",
    "Loop",
    "Memory",
    "Place",
    "Position",
    "Program",
    "Store",
    "Terms",
]


# places are keys of dictionaries wherever a number is read or written: tuples are hashed in C
class Position(NamedTuple):
    """An index of memory that is known inside a loop.

    Of a body: "body", its number; "row", the row of fields that belongs to it, 0 for the base; "q", "v" and "own", its
    first coordinate, its first freedom, and its first freedom if no joint followed another. Or a "freedom".
    """

    of: str
    who: str
    """The body or freedom of a loop: "i" and its parent "p"; "j" and "jp" on a walk; "d0", "d1" ... from outside in."""


Terms = tuple[tuple[int, Position], ...]


class Memory(NamedTuple):
    """An array of numbers: "table" (the rows of bodies), "input", "result", "field" or "array".

    A field has a memory for each number of its type, with an entry for the base and each body.
    """

    kind: str
    number: int = 0
    component: int = 0


class Place(NamedTuple):
    """The entry `offset + sum of stride * position` of a memory."""

    memory: Memory
    offset: int
    terms: Terms = ()


class Fetched(NamedTuple):
    """The number at a place, at the time of one `Fetch`."""

    number: int
    place: Place


class IsFreedom(NamedTuple):
    """The number 1 if `offset + sum of stride * position` is the number of freedom `d`, and 0 if not."""

    offset: int
    terms: Terms
    d: str


Leaf = Place | Fetched | IsFreedom
"""The data of a leaf of a block's graph. A `Place` is read as it is when the block begins."""


@dataclass(frozen=True, slots=True)
class Affine:
    """An address while tracing: offset + sum of stride * position."""

    offset: int
    terms: Terms = ()

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.offset + other, self.terms)
        strides: dict[Position, int] = {}
        for stride, position in (*self.terms, *other.terms):
            strides[position] = strides.get(position, 0) + stride
        return Affine(self.offset + other.offset, tuple((s, p) for p, s in strides.items()))

    __radd__ = __add__

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.offset * factor, tuple((stride * factor, p) for stride, p in self.terms))


@dataclass(frozen=True, slots=True)
class Store:
    """Write a value to a place."""

    place: Place
    value: Node


@dataclass(frozen=True, slots=True)
class Fetch:
    """Read the number at a place now, after all stores before: the leaf's data is `Fetched`."""

    value: Node


@dataclass(frozen=True, slots=True)
class Clear:
    """Write zero to every entry of an array."""

    array: Memory


@dataclass(frozen=True, slots=True)
class Copy:
    """Write the entries of an argument or array to another array of the same size."""

    array: Memory
    source: Memory


@dataclass(slots=True)
class Block:
    """The body of a loop for one kind of joint (on a walk, for a pair of kinds) or for a freedom; or straight code."""

    graph: Graph
    kinds: dict[str, int]
    """The kind of body "i", and on a walk of "j"."""
    steps: list[Store | Fetch | Clear | Copy | Loop] = field(default_factory=list)
    fields: list[int] = field(default_factory=list)
    """The fields that begin here: their values at the base are set whenever the block runs."""

    def roots(self) -> list[Node]:
        """Return the values that are stored."""
        return [step.value for step in self.steps if isinstance(step, Store)]

    def all(self) -> Iterator[Block]:
        """Visit this block and the blocks inside of it."""
        yield self
        for step in self.steps:
            if isinstance(step, Loop):
                yield from step.all()


Over = Literal[
    "bodies",
    "path",  # the bodies from the base to the frame
    "moved bodies",  # the bodies that freedom `of` moves; the first of them is on the base
    "bodies upto",  # the bodies up to the body of freedom `of`
    "ancestors",  # of body "i", or of freedom `of`, from its own body
    "freedoms",
    "moved freedoms",  # the freedoms of the bodies that freedom `of` moves
    "freedoms upto",  # the freedoms up to freedom `of`
    "elimination path",  # of freedom `of`
    "same joint",  # the freedoms of its joint before freedom `of`
]


@dataclass(slots=True)
class Loop:
    """A loop over bodies, with one block for each kind of joint, or over freedoms, with one block."""

    over: Over
    index: str
    """The name of its body or freedom."""
    blocks: list[Block] = field(default_factory=list)
    of: str | None = None
    inward: bool = False
    """True if it runs from the last to the first. A walk along ancestors or a path then begins at the root."""
    itself: bool = False
    """True if the freedom `of` is visited too, where the loop leads away from it."""

    @property
    def parent(self) -> str | None:
        """The name of the body's parent; None for a loop over freedoms."""
        return {"i": "p", "j": "jp"}.get(self.index)

    def all(self) -> Iterator[Block]:
        """Visit all blocks, with those inside of them."""
        for block in self.blocks:
            yield from block.all()


@dataclass(slots=True)
class Program:
    """A traced algorithm: loops and straight code, one after the other, and the memory that they use."""

    model: Model
    sections: list[Loop | Block] = field(default_factory=list)
    field_bases: list[list[float]] = field(default_factory=list)
    """The numbers of each field at the base; empty for a field without a value there."""
    arrays: list[int] = field(default_factory=list)
    """The size of each array: registers, results, matrices."""
    result: int | None = None
    """The number of the array that is the result, or its first part."""
    frame_body: int | None = None
    """The body at the end of the path."""

    def path(self) -> list[int]:
        """Return the bodies from the base to the frame."""
        return path_to(self.model, self.frame_body)

    @property
    def walks_from_root(self) -> bool:
        """True if some loops lead from the root to a body or freedom: walks in reverse."""
        blocks = (block for section in self.sections for block in section.all())
        steps = (step for block in blocks for step in block.steps if isinstance(step, Loop))
        return any(step.inward and step.over in ("ancestors", "elimination path") for step in steps)

    @property
    def has_freedoms(self) -> bool:
        """True if there are loops over freedoms."""
        return any(isinstance(section, Loop) and section.parent is None for section in self.sections)
