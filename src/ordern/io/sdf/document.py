"""The models of a document as a tree of scopes, with nested and included models."""

from __future__ import annotations

from pathlib import Path

from ...errors import ModelError
from ..attributes import required
from ..includes import Folder, included_path
from ..source import open_source
from ..xml import Element, parse_xml
from .scope import Scope
from .text import flag, text_of

__all__ = ["MAX_INCLUDES", "MAX_NESTING", "read_document"]

MAX_NESTING = 100
"""The deepest nesting of models."""
MAX_INCLUDES = 1000
"""Files that a document may include, counted each time."""


def read_document(root: Element, folder: Folder = None) -> Scope:
    """Return the world of a document, with its models. Without a <world> it is the document itself."""
    worlds = list(root.all("world"))
    if len(worlds) > 1:
        listed = ", ".join(repr(w.attributes.get("name", "")) for w in worlds)
        raise worlds[1].error(f"the document has {len(worlds)} worlds ({listed}); expected one")
    inside = worlds[0] if worlds else root
    name = required(inside, "name") if worlds else ""
    world = Scope(name, inside, _version(root), "")
    _Reader(root, folder).read_models(world, 0)
    if not world.models:
        raise inside.error("the document has no <model>")
    return world


def _version(root: Element) -> tuple[int, int]:
    if root.tag != "sdf":
        raise root.error(f"the root element is <{root.tag}>; that of an SDF document is <sdf>")
    text = required(root, "version")
    major, _, minor = text.strip().partition(".")
    if not (major.isdigit() and minor.isdigit() and text.isascii()) or int(major) != 1 or int(minor) < 3:
        raise root.error(f'<sdf> has version="{text:.20}"; SDF from 1.3 on is read, of which 1.12 is the latest')
    return int(major), int(minor)


class _Reader:
    """Reads the models of a document and of those that it includes."""

    def __init__(self, root: Element, folder: Folder) -> None:
        self.folder = folder
        self.includes = 0
        self.main = root.source
        self.open = [Path(root.source).resolve()]
        """The files that are being read."""

    def read_models(self, scope: Scope, depth: int) -> None:
        """Add the models in a scope's element to the scope."""
        if depth > MAX_NESTING:
            raise scope.element.error(f"models are nested more than {MAX_NESTING} deep")
        top = scope.element.tag != "model"
        inside = [e for e in scope.element.children if e.tag in ("model", "include")]
        for element in inside:
            included = element.tag == "include"
            model, version, path = self._included(element) if included else (element, scope.version, self.open[-1])
            name = _name(element, model)
            if name in scope.models:
                raise element.error(f"{scope.what} has a second model {name!r}")
            # The only model of a document needs no prefix before the names of its parts.
            prefix = "" if top and len(inside) == 1 else f"{scope.prefix}{name}::"
            inner = scope.models[name] = Scope(name, model, version, prefix)
            inner.static = scope.static or flag(model, "static", inner.what)
            if included:
                _override(inner, element)
            self.open.append(path)
            self.read_models(inner, depth + 1)
            self.open.pop()

    def _included(self, include: Element) -> tuple[Element, tuple[int, int], Path]:
        """Return the model of another file, that file's version, and which file it is."""
        uri = text_of(include, "uri", "<include>")
        if include.attributes.get("merge", "false").strip().lower() not in ("false", "0"):
            raise include.error(f"<include merge=...> of {uri!r} is not read: {_INLINE}")
        self.includes += 1
        if self.includes > MAX_INCLUDES:
            raise include.error(f"more than {MAX_INCLUDES} files are included")
        if "://" in uri:
            raise include.error(f"{uri!r} is included from elsewhere, and nothing is fetched: {_INLINE}")
        path = included_path(uri, include, (include.source,), self.main, self.folder, "model.sdf")
        if path.resolve() in self.open:
            raise include.error(f"{uri!r} includes itself")
        try:
            source = open_source(path, [".sdf"])
            root = parse_xml(source.data, source.name)
        except ModelError as e:
            raise include.error(f"<include> of {uri!r}: {e}") from None
        version = _version(root)
        models = list(root.all("model"))
        if len(models) != 1:
            raise root.error(f"{uri!r} is included and has {len(models)} models; expected one")
        return models[0], version, path.resolve()


_INLINE = "put the <model> in its place, as `gz sdf --print file.sdf` does for a whole document"


def _name(element: Element, model: Element) -> str:
    own = required(model, "name")
    if element.tag != "include":
        return own
    override = element.only("name", "<include>")
    return override.text if override and override.text else own


def _override(model: Scope, include: Element) -> None:
    """Apply the overrides of an <include> to its model."""
    what = f"<include> of model {model.name!r}"
    model.included = True
    model.static = model.static or flag(include, "static", what)
    if include.only("pose", what) is not None:
        model.posed = include
    frame = include.only("placement_frame", what)
    if frame is not None and frame.text:
        model.placement_frame = frame.text
