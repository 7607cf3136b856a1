"""The nodes of the tree: bodies and their parts, the documents that they come from, and the context of an element."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import field

from ...model import Placement
from ...records import dataclass
from ..xml import Element
from .document import Document
from .scale import ONE, Scale

__all__ = ["BodyNode", "Context", "Part", "Source"]


@dataclass(slots=True)
class Part:
    """A joint, geom, site or inertial of a body, with its defaults."""

    element: Element
    at: Placement
    """The placement of its frame in its body."""
    name: str
    """The name, with the prefix of its attachment and the suffix of its replica; geoms and sites may have no name."""
    document: Document
    """The document that it comes from, whose settings apply to it."""
    scale: Scale = ONE
    """The scale of the frames around it; `at` has it already."""


@dataclass(slots=True, eq=False)
class BodyNode:
    """A body of the file."""

    name: str
    element: Element
    parent: BodyNode | None
    at: Placement
    """In the frame of its parent, as the file has it."""
    pose: Placement
    """In the world, in the position in which the file has the robot."""
    document: Document
    scale: Scale = ONE
    """The scale of the frames around it; `at` and `pose` have it already."""
    joints: list[Part] = field(default_factory=list)
    geoms: list[Part] = field(default_factory=list)
    sites: list[Part] = field(default_factory=list)
    inertials: list[Part] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """True if it moves: it has joints, or a body that carries it has some."""
        body: BodyNode | None = self
        while body is not None:
            if body.joints:
                return True
            body = body.parent
        return False

    @property
    def floats(self) -> bool:
        """True if it has a free joint."""
        elements = [part.element for part in self.joints]
        return any(e.tag == "freejoint" or e.attributes.get("type") == "free" for e in elements)

    @property
    def what(self) -> str:
        """The body's name for messages."""
        return f"body {self.name!r}"


@dataclass(slots=True)
class Source:
    """A document whose elements are in the tree: the main one, or one that is attached."""

    document: Document
    prefix: str = ""
    """The prefix of its names."""
    whole: bool = True
    """True if its constraints and actuators belong to the robot, too."""
    depth: int = 0
    """The number of attachments around it."""
    suffixes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """The suffixes of replicas, by tag and name in the file."""

    def names(self, tag: str, name: str, known: Container[str] = ()) -> list[str]:
        """Return the names in the tree of an element of the file: one, or one in each replica."""
        if self.prefix + name in known:
            return [self.prefix + name]
        return [self.prefix + name + suffix for suffix in self.suffixes.get((tag, name), [""])]


@dataclass(frozen=True, slots=True)
class Context:
    """The context of an element: its body, the frame in the body, the class of defaults, the suffix of its replica."""

    body: BodyNode
    at: Placement
    inherited: str
    source: Source
    suffix: str = ""
    copies: int = 1
    """The number of copies of the context."""
    scale: Scale = ONE
    """The scale of the frames around it."""
    replica: bool = False
    """True directly inside of a <replicate>."""

    def named(self, given: str) -> str:
        """Return the name in the tree of an element with this name in the file."""
        return f"{self.source.prefix}{given}{self.suffix}" if given else ""
