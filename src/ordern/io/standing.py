"""Builders for formats in which a robot stands somewhere, and is free unless a joint holds it."""

from __future__ import annotations

import copy
from dataclasses import replace

from ..joints import Fixed, Joint
from ..model import Model, ModelBuilder, Note, Placement

__all__ = ["WORLD", "StandingBuilder"]

WORLD = "world"


class StandingBuilder(ModelBuilder):
    """A builder whose root stays where the file puts it, unless it floats."""

    def __init__(self, name: str, gravity: tuple[float, ...]) -> None:
        super().__init__(name, gravity)
        self.root: str | None = None
        """The body that is free by the format; None if the file says what the world holds, and what is free."""
        self.root_at = Placement()

    def build(self, *, floating: bool | Joint = False, merge: bool = True, snap: float = 1e-11) -> Model:
        """Return the model; see `ModelBuilder.build`."""
        if self.root is None:
            advice = "load it without `floating`, or remove the joint to the world from the file"
            why = "the file says what is connected to the world, and what is free"
            self.grounded = f"{self.name!r} cannot float as a whole: {why}; {advice}"
        if floating or self.root is None:
            return super().build(floating=floating, merge=merge, snap=snap)
        standing = self
        if self.root_at != Placement():
            standing = copy.deepcopy(self)
            standing.body(WORLD)
            standing.joint(f"{self.root}_to_world", Fixed(), WORLD, self.root, at=self.root_at)
        model = ModelBuilder.build(standing, merge=merge, snap=snap)
        why = "by the format it is free; here it is held where the file puts it"
        advice = "load it with floating=True if it is to move"
        held = Note(f"no joint connects {self.root!r} to the world: {why}", self.source, advice)
        return replace(model, notes=(held, *model.notes))
