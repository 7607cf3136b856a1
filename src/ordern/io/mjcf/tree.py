"""The tree of bodies, with frames, replicas and attachments resolved, names for unnamed parts, and defaults applied."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ...errors import ModelError
from ...model import Placement
from ..attributes import required, vector
from ..xml import MAX_PARTS, Element
from .attach import attached
from .composite import cable, is_cable
from .document import Document
from .nodes import BodyNode, Context, Part, Source
from .orientation import euler_rotation, placed
from .scale import scale_of

__all__ = ["WORLD", "Tree", "unique"]

WORLD = "world"
_LISTS = {"joint": "joints", "freejoint": "joints", "geom": "geoms", "site": "sites", "inertial": "inertials"}
"""The parts of a body, and the lists that they go to."""
_ZERO = (0.0, 0.0, 0.0)

_DEFORMABLE = {
    "composite": 'of its types, only "cable" is read, here and in MuJoCo; use <replicate> or <flexcomp>',
    "flexcomp": "deformable bodies are not supported; remove them",
}
"""Elements that generate bodies and are not read, with a workaround."""
_PREFIXES = {"composite": "prefix", "flexcomp": "name"}
"""Their attributes with which the names of the bodies begin."""


class Tree:
    """The bodies of a document, parents before children, in its order. The first is the world."""

    def __init__(self, document: Document) -> None:
        self.world = BodyNode(WORLD, document.root, None, Placement(), Placement(), document)
        self.bodies = [self.world]
        self.sources = [Source(document)]
        """The main document, then those that are attached."""
        self.deformable: list[tuple[BodyNode, ModelError]] = []
        """The bodies that carry deformable ones, and the error to raise where they cannot be left out."""
        self.generated: tuple[str, ...] = ()
        """The beginnings of the names of their bodies."""
        self.names = {WORLD}
        """The names of bodies and frames."""
        self.joint_names: set[str] = set()
        stack: list[tuple[Element, Context]] = []
        top = Context(self.world, Placement(), "", self.sources[0])
        for section in reversed(list(document.root.all("worldbody"))):
            stack.extend(self._inside(section, top))
        while stack:
            element, context = stack.pop()
            try:
                stack.extend(self._visit(element, context))
            except ModelError as e:
                raise e if e.where else element.error(f"{context.body.what}: {e}") from None
        self._name_the_rest()

    def _inside(self, element: Element, context: Context) -> Iterator[tuple[Element, Context]]:
        return ((child, context) for child in reversed(element.children))

    def _visit(self, element: Element, c: Context) -> Iterator[tuple[Element, Context]]:
        """Add an element to the tree; return the elements in it that are visited next."""
        tag, document = element.tag, c.source.document
        if tag in ("body", "frame", "replicate"):
            document.unread.check(element)
            inherited = document.known_class(element, c.inherited)
            if tag == "replicate":
                return self._replicas(element, c, inherited)
            if tag == "body":
                body, at, scale = self._body(element, c), Placement(), c.scale
            else:
                scale = c.scale @ scale_of(element)
                body, at = c.body, c.at @ c.scale.of_placement(placed(element, document.settings, "a frame"))
            return self._inside(element, Context(body, at, inherited, c.source, c.suffix, c.copies, scale))
        if tag == "attach":
            return iter(attached(element, c, self.sources))
        if tag == "composite" and is_cable(element):
            for plugin in element.all("plugin"):
                document.unread.add(f"forces of the <{plugin.tag}> of a <{tag}>")
            return self._inside(cable(element), c)
        if tag in _LISTS:
            self._part(element, c)
        elif tag in _DEFORMABLE:
            error = element.error(f"{c.body.what} has <{tag}>, which is not read: {_DEFORMABLE[tag]}")
            self.deformable.append((c.body, error))
            own = "_" if tag == "flexcomp" else ""
            self.generated += (c.source.prefix + element.attributes.get(_PREFIXES[tag], "") + own,)
        else:
            document.unread.child(element)
        return iter(())

    def _body(self, element: Element, c: Context) -> BodyNode:
        given = element.attributes.get("name", "")
        name = c.named(given)
        if name and name in self.names:
            raise element.error(f"body {name!r} exists already; every body needs a name of its own")
        own = placed(element, c.source.document.settings, f"body {name!r}" if name else "a body")
        at = c.at @ c.scale.of_placement(own)
        node = BodyNode(name, element, c.body, at, c.body.pose @ at, c.source.document, c.scale)
        self.bodies.append(node)
        if name:
            self.names.add(name)
            self._remember("body", given, c)
        return node

    def _part(self, element: Element, c: Context) -> None:
        tag, body = element.tag, c.body
        if body is self.world and tag in ("joint", "freejoint", "inertial"):
            raise element.error(f"the world has a <{tag}>; only bodies can have one")
        if c.replica and tag in ("joint", "freejoint"):
            why = f"a <{tag}> cannot be directly in a <replicate>; put it in a body"
            raise element.error(f"{body.what}: {why}")
        given = element.attributes.get("name", "")
        document = c.source.document
        part = Part(document.resolved(element, c.inherited), c.at, c.named(given), document, c.scale)
        getattr(body, _LISTS[tag]).append(part)
        if given:
            self._remember(tag if tag != "freejoint" else "joint", given, c)

    def _remember(self, tag: str, name: str, c: Context) -> None:
        if c.suffix:
            c.source.suffixes.setdefault((tag, name), []).append(c.suffix)

    def _replicas(self, element: Element, c: Context, inherited: str) -> Iterator[tuple[Element, Context]]:
        count = required(element, "count").strip()
        if not re.fullmatch(r"\+?[0-9]{1,6}", count) or int(count) == 0:
            raise element.error(f'<replicate> has count="{count:.80}"; expected a positive integer of up to six digits')
        document, n = c.source.document, int(count)
        if c.copies * n * max(1, len(element.children)) > MAX_PARTS:
            raise element.error(f"replicas make more than {MAX_PARTS:,} elements")
        offset = vector(element, "offset", 3, "a replicate", _ZERO)
        turn = euler_rotation(vector(element, "euler", 3, "a replicate", _ZERO), document.settings)
        step, at = c.scale.of_placement(Placement.of(turn, offset)), c.at
        copies = []
        for k in range(n):
            suffix = f"{element.attributes.get('sep', '')}{k:0{len(str(n))}d}{c.suffix}"
            copies.append(Context(c.body, at, inherited, c.source, suffix, c.copies * n, c.scale, replica=True))
            at = at @ step
        return (pair for copy in reversed(copies) for pair in self._inside(element, copy))

    def _name_the_rest(self) -> None:
        """Name the unnamed bodies by their number, as MuJoCo counts, and unnamed joints after their bodies."""
        sites = {part.name for body in self.bodies for part in body.sites}
        for k, body in enumerate(self.bodies):
            body.name = body.name or unique(f"body{k}", self.names, sites)
        self.joint_names.update(part.name for body in self.bodies for part in body.joints)
        for body in self.bodies:
            for k, part in enumerate(body.joints):
                number = str(k + 1) if len(body.joints) > 1 else ""
                part.name = part.name or unique(f"{body.name}_joint{number}", self.joint_names)


def unique(name: str, taken: set[str], others: Collection[str] = ()) -> str:
    """Return a name that is not taken, made from this one, and take it."""
    while name in taken or name in others:
        name += "_"
    taken.add(name)
    return name
