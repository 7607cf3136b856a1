"""The frames of a model, by name: their placements and the links that they are fixed to.

A scope is a model or the world. Its names are those of its links, joints, frames and nested models; `a::b` is the name
b in the nested model a, and `__model__` the model's own frame. See http://sdformat.org/tutorials?tut=pose_frame_semantics.
"""

from __future__ import annotations

from ...errors import unknown_name
from ...model import Placement
from ..attributes import required
from ..xml import Element
from .text import pose_of, relative_to, text_of

__all__ = ["MODEL", "WORLD", "Scope"]

MODEL = "__model__"
WORLD = "world"


class Scope:
    """A model, or the world: its parts by name, and the scopes of the models in it."""

    def __init__(self, name: str, element: Element, version: tuple[int, int], prefix: str) -> None:
        """Make a scope with the parts of `element`; `prefix` precedes their names outside of it."""
        self.name = name
        self.element = element
        self.version = version
        self.prefix = prefix
        self.what = f"{element.tag} {name!r}"
        self.at = Placement()
        """The placement of the model's frame in the world."""
        self.static = False
        self.included = False
        self.posed = element
        """The element with the model's <pose>: the model itself, or its <include>."""
        self.placement_frame = element.attributes.get("placement_frame", "")
        self.models: dict[str, Scope] = {}
        self.links = self._named("link")
        self.joints = self._named("joint")
        self.frames = self._named("frame")
        self._own = MODEL if element.tag == "model" else WORLD
        self._placed = {self._own: Placement()}

    def _named(self, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for element in self.element.all(tag):
            name = required(element, "name", self.what)
            if name in found:
                first = f"the first is in line {found[name].line}"
                raise element.error(f"{self.what} has a second {tag} {name!r} ({first})")
            if name == WORLD and self.version >= (1, 7):
                raise element.error(f"a {tag} is called 'world', which is reserved; give it another name")
            found[name] = element
        return found

    def full(self, name: str) -> str:
        """Return the name of a part outside of this scope."""
        # Before version 1.7 a link may be called world; it then hides the world from its model.
        return f"{self.name}::{name}" if self.prefix + name == WORLD else self.prefix + name

    def place(self, name: str, user: Element, what: str) -> Placement:
        """Return the placement of a frame in the model's own frame. `user` is the element that names it."""
        chain: list[tuple[str, Placement]] = []
        seen: set[str] = set()
        while name not in self._placed:
            if name in seen:
                ring = " -> ".join([*(n for n, _ in chain[[n for n, _ in chain].index(name) :]), name])
                raise user.error(f"{what}: poses are relative to each other in a circle: {ring}")
            seen.add(name)
            reference, step, user, what = self._step(name, user, what)
            chain.append((name, step))
            name = reference
        at = self._placed[name]
        for name, step in reversed(chain):
            at = self._placed[name] = at @ step
        return at

    def place_element(self, element: Element, default: str, what: str) -> Placement:
        """Return the placement of an element in the model's frame; its <pose> is in `default` without relative_to."""
        step, pose = pose_of(element, what)
        return self.place(relative_to(pose) or default, pose or element, what) @ step

    def _step(self, name: str, user: Element, what: str) -> tuple[str, Placement, Element, str]:
        """Return the reference of a frame's pose, the pose, its element, and the name of that for messages."""
        kind, element = self._find(name)
        if element is None:
            if name in self.models:
                return self._model_step(self.models[name])
            outer, inner = self._nested(name, "frame", user, what)
            return outer, self.models[outer].place(inner, user, what), user, what
        what = f"{kind} {self.full(name)!r}"
        step, pose = pose_of(element, what)
        reference = relative_to(pose)
        if not reference and kind == "joint":
            reference = text_of(element, "child", what)
        if not reference and kind == "frame":
            reference = element.attributes.get("attached_to", "")
        return reference or self._own, step, pose or element, what

    def _model_step(self, model: Scope) -> tuple[str, Placement, Element, str]:
        step, pose = pose_of(model.posed, model.what)
        if model.placement_frame:
            step = step @ model.place(model.placement_frame, model.posed, model.what).inverse
        return relative_to(pose) or self._own, step, pose or model.posed, model.what

    def link_of(self, name: str, user: Element, what: str) -> str:
        """Return the link that a frame is fixed to, by its name outside of this scope; or the world."""
        seen: set[str] = set()
        while True:
            if (name == WORLD and WORLD not in self.links) or (name == MODEL and self.static):
                return WORLD
            if name in seen:
                raise user.error(f"{what}: frames are attached to each other in a circle, by way of {name!r}")
            seen.add(name)
            kind, element = self._find(name)
            if kind == "link":
                return self.full(name)
            if kind == "joint" and element is not None:
                name = text_of(element, "child", f"joint {name!r}")
            elif kind == "frame" and element is not None:
                name, user, what = element.attributes.get("attached_to") or self._own, element, f"frame {name!r}"
            elif name == MODEL and self._own == MODEL:
                name = self.canonical(user, what)
            elif name in self.models:
                return self.models[name].link_of(MODEL, user, what)
            else:
                outer, inner = self._nested(name, "link or frame", user, what)
                return self.models[outer].link_of(inner, user, what)

    def canonical(self, user: Element, what: str) -> str:
        """Return the link that the model's frame is fixed to, or the nested model that has it."""
        for name in (self.element.attributes.get("canonical_link"), *self.links, *self.models):
            if name:
                return name
        raise user.error(f"{what}: {self.what} has no link")

    def _find(self, name: str) -> tuple[str, Element | None]:
        for kind, parts in (("link", self.links), ("frame", self.frames), ("joint", self.joints)):
            if name in parts:
                return kind, parts[name]
        return "", None

    def _nested(self, name: str, kind: str, user: Element, what: str) -> tuple[str, str]:
        """Return the parts of a name `model::inner`; raise if there is no such model."""
        outer, _, inner = name.partition("::")
        if not inner or outer not in self.models:
            names = [*self.links, *self.frames, *self.joints, *self.models, self._own]
            raise user.error(str(unknown_name(kind, name, names, what)))
        return outer, inner
