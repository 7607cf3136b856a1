"""Attachments: parts of other models, or of the model itself, that <attach> puts into the tree."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import ModelError
from ..attributes import found, required
from ..includes import included_path
from ..source import open_source
from ..xml import Element, parse_xml
from .assemble import assemble
from .document import Document
from .nodes import Context, Source

__all__ = ["attached"]

_DEEPEST = 20
"""The deepest nesting of attachments; a model that attaches itself has no end."""


def attached(attach: Element, c: Context, sources: list[Source]) -> list[tuple[Element, Context]]:
    """Return the elements that an <attach> stands for, last first, with their context; add their source to `sources`.

    These are a body, a frame, or the contents of the world of another model, whose names get a prefix. Without `model`,
    the body or frame is one of the same document, and its constraints and actuators are not repeated.
    """
    given, prefix = attach.attributes, attach.attributes.get("prefix", "")
    own = "model" not in given
    other = c.source.document if own else _model(attach, c.source.document)
    if c.source.depth >= _DEEPEST:
        raise attach.error(f"attachments are nested more than {_DEEPEST} deep")
    source = Source(other, c.source.prefix + prefix, not own, c.source.depth + 1)
    sources.append(source)
    kind = next((tag for tag in ("body", "frame") if tag in given), "")
    if not kind and own:
        raise attach.error("<attach> without a model needs the name of a body or frame")
    top = Context(c.body, c.at, "", source, c.suffix, c.copies, c.scale)
    worlds = list(other.root.all("worldbody"))
    if not kind:
        return [(child, top) for world in reversed(worlds) for child in reversed(world.children)]
    name = required(attach, kind)
    for world in worlds:
        for element, inherited in _walk(world):
            if element.tag == kind and element.attributes.get("name") == name:
                return [(element, Context(c.body, c.at, inherited, source, c.suffix, c.copies, c.scale))]
    owner = "this model" if own else f"model {given['model']!r}"
    raise attach.error(f"<attach>: {owner} has no {kind} {name!r}")


def _walk(world: Element) -> Iterator[tuple[Element, str]]:
    """Yield all elements in a world, with the class of defaults that they inherit."""
    stack = [(child, "") for child in reversed(world.children)]
    while stack:
        element, inherited = stack.pop()
        yield element, inherited
        inner = element.attributes.get("childclass", inherited)
        stack.extend((child, inner) for child in reversed(element.children))


def _model(attach: Element, document: Document) -> Document:
    """Return the model that an <attach> names. A <model> without a name has the name that its file gives."""
    known: dict[str, Document] = {}
    wanted = required(attach, "model")
    for asset in document.models:
        name = asset.attributes.get("name", "")
        if name in ("", wanted):
            model = _document(asset, document)
            known[name or model.root.attributes.get("model", "")] = model
        else:
            known.setdefault(name, document)  # for the message about an unknown name
    return found("model", wanted, known, attach, "<attach>")


def _document(asset: Element, parent: Document) -> Document:
    """Return the document of a <model> asset, which is read when it is first attached."""
    if asset.where not in parent.attached:
        name, main = required(asset, "file"), parent.root.source
        what = f'<model file="{name}">'
        path = included_path(name, asset, (main, asset.source), parent.main, parent.folder)
        try:
            opened = open_source(path, [".xml"])
            root = parse_xml(opened.data, opened.name)
        except ModelError as e:
            raise asset.error(f"{what}: {e}") from None
        if root.tag != "mujoco":
            raise asset.error(f"{what}: the root element is <{root.tag}>; only MJCF models, <mujoco>, are attached")
        assemble(root, parent.folder)
        parent.attached[asset.where] = Document(root, parent.folder, parent)
    return parent.attached[asset.where]
