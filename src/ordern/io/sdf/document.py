"""The models of a document as a tree of scopes, with nested and included models."""

from __future__ import annotations

from pathlib import Path

from ...errors import ModelError
from ..attributes import required
from ..includes import Folder, include_root, included_path
from ..remarks import Remarks
from ..source import inside, open_source
from ..xml import Element, parse_xml
from .scope import Scope
from .text import flag, text_of

__all__ = ["MAX_INCLUDES", "MAX_NESTING", "read_document"]

MAX_NESTING = 100
"""The deepest nesting of models."""
MAX_INCLUDES = 1000
"""Files that a document may include, counted each time."""


def read_document(root: Element, remarks: Remarks, folder: Folder = None) -> Scope:
    """Return the world of a document, with its models. Without a <world> it is the document itself."""
    worlds = list(root.all("world"))
    if len(worlds) > 1:
        listed = ", ".join(repr(w.attributes.get("name", "")) for w in worlds)
        raise worlds[1].error(f"the document has {len(worlds)} worlds ({listed}); expected one")
    inside = worlds[0] if worlds else root
    name = required(inside, "name") if worlds else ""
    world = Scope(name, inside, _version(root), "")
    _Reader(root, remarks, folder).read_models(world, 0)
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


_Found = tuple[Element, tuple[int, int], Path]
"""A model, the version of its file, and that file."""
_SCENERY = ("model://sun", "model://ground_plane")
"""A light and a floor, which most worlds of Gazebo include."""


class _Reader:
    """Reads the models of a document and of those that it includes."""

    def __init__(self, root: Element, remarks: Remarks, folder: Folder) -> None:
        self.remarks, self.folder = remarks, folder
        self.includes = 0
        self.main = root.source
        self.open = [Path(root.source).resolve()]
        """The files that are being read."""

    def read_models(self, scope: Scope, depth: int) -> None:
        """Add the models in a scope's element to the scope."""
        if depth > MAX_NESTING:
            raise scope.element.error(f"models are nested more than {MAX_NESTING} deep")
        top = scope.element.tag != "model"
        read: list[tuple[Element, _Found]] = []
        for element in scope.element.children:
            if element.tag == "model":
                read.append((element, (element, scope.version, self.open[-1])))
            elif element.tag == "include" and (found := self._included(element)) is not None:
                read.append((element, found))
        for element, (model, version, path) in read:
            name = _name(element, model)
            if name in scope.models:
                raise element.error(f"{scope.what} has a second model {name!r}")
            # The only model of a document needs no prefix before the names of its parts.
            prefix = "" if top and len(read) == 1 else f"{scope.prefix}{name}::"
            inner = scope.models[name] = Scope(name, model, version, prefix)
            inner.static = scope.static or flag(model, "static", inner.what)
            if element.tag == "include":
                _override(inner, element)
            self.open.append(path)
            self.read_models(inner, depth + 1)
            self.open.pop()

    def _included(self, include: Element) -> _Found | None:
        """Return the model of another file, that file's version, and which file it is; None for lights and actors."""
        uri = text_of(include, "uri", "<include>")
        if include.attributes.get("merge", "false").strip().lower() not in ("false", "0"):
            raise include.error(f"<include merge=...> of {uri!r} is not read: {_INLINE}")
        self.includes += 1
        if self.includes > MAX_INCLUDES:
            raise include.error(f"more than {MAX_INCLUDES} files are included")
        try:
            path = self._path(uri, include)
        except ModelError:
            if uri.rstrip("/") not in _SCENERY:
                raise
            self.remarks.add("left out, since it does not move and is not here", repr(uri), include.where)
            return None
        if path.resolve() in self.open:
            raise include.error(f"{uri!r} includes itself")
        try:
            source = open_source(path, [".sdf"])
            root = parse_xml(source.data, source.name)
        except ModelError as e:
            raise include.error(f"<include> of {uri!r}: {e}") from None
        version = _version(root)
        models = list(root.all("model"))
        if not models and any(True for tag in ("light", "actor") for _ in root.all(tag)):
            self.remarks.add("left out, since it has no model", repr(uri), include.where)
            return None
        if len(models) != 1:
            raise root.error(f"{uri!r} is included and has {len(models)} models; expected one")
        return models[0], version, path.resolve()

    def _path(self, uri: str, include: Element) -> Path:
        """Return the path of an included file, by its name or by that of its model or package.

        `model://name` and `package://name` are folders of this name, beside the document or beside a folder above it.
        """
        scheme, separator, name = uri.partition("://")
        if not separator:
            return _listed(included_path(uri, include, (include.source,), self.main, self.folder, "model.sdf"))
        if scheme in ("model", "package") and not self.main.startswith("<"):
            root = include_root(self.main, self.folder or _library(self.main))
            for folder in Path(include.source).resolve().parents:
                if folder.is_relative_to(root) and (folder / name).exists():
                    found = included_path(str(folder / name), include, (self.main,), self.main, root, "model.sdf")
                    return _listed(found)
        where = "" if scheme == "https" else ", or name a folder that holds it by root=folder"
        raise include.error(f"{uri!r} is included from elsewhere, and nothing is fetched: {_INLINE}{where}")


def _library(main: str) -> Path | None:
    """Return the folder of models that a document belongs to: above a folder with a model.config."""
    folder = Path(main).resolve().parent
    return folder.parent if (folder / "model.config").is_file() else None


def _listed(path: Path) -> Path:
    """Return a file; for a model.sdf that does not exist, the last file that the model.config beside it lists."""
    config = path.parent / "model.config"
    if path.name != "model.sdf" or path.exists() or not config.is_file():
        return path
    files = [x.text for x in parse_xml(open_source(config).data, str(config)).all("sdf") if x.text]
    return path.parent / files[-1] if files and inside(path.parent / files[-1], path.parent) else path


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
