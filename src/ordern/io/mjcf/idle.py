"""Parts of a document that are known but not acted on: controls, and how MuJoCo would step. One note lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ..remarks import some
from ..xml import Element
from .actuators import Drive
from .document import Document
from .tree import Tree

__all__ = ["note_idle"]

_STEPS = ("timestep", "integrator")
_FLAGS = (
    *("constraint", "equality", "frictionloss", "limit", "contact", "passive", "spring", "damper", "clampctrl"),
    *("actuation", "eulerdamp"),
)
"""Flags that change the motion where they are disabled."""
_CONTROLS = ("ctrl", "act", "qvel")
"""Attributes of keyframes that are not read, but change what follows."""


def note_idle(tree: Tree, actuators: Sequence[Drive]) -> None:
    """Add what is not acted on to the parts that the document notes."""
    unread = tree.world.document.unread
    if actuators:
        kinds = Counter(drive.tag for drive in actuators)
        listed = some([f"{n} {kind}" for kind, n in kinds.items()])
        unread.idle(f"gains, dynamics and controls of actuators ({listed})")
    given = Counter(name for key in _keys(tree) for name in _CONTROLS if _acts(key, name))
    if given:
        unread.idle(f"{', '.join(f'{name} ({n})' if n > 1 else name for name, n in given.items())} of keyframes")
    steps = _options(tree.world.document)
    if steps:
        unread.idle(f"{', '.join(steps)} of <option>")


def _keys(tree: Tree) -> Iterator[Element]:
    """Yield the keyframes of a document, and of those that are attached as a whole."""
    for source in tree.sources:
        yield from (e for e in source.document.section("keyframe") if source.whole and e.tag == "key")


def _acts(key: Element, name: str) -> bool:
    """Return True if a keyframe has numbers other than zero; zeros are what is there without it."""
    words = key.attributes.get(name, "").split()
    return any(word.strip("+-0.") for word in words)


def _options(document: Document) -> list[str]:
    """Return the settings of steps in a document, and the forces that it switches off."""
    options = list(document.root.all("option"))
    given = {name: e.attributes[name] for e in options for name in _STEPS if name in e.attributes}
    flags = {name: x for e in options for flag in e.all("flag") for name, x in flag.attributes.items()}
    off = [f'{name}="disable"' for name in _FLAGS if flags.get(name) == "disable"]
    return [*(f'{name}="{x}"' for name, x in given.items()), *off]
