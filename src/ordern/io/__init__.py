"""Robots from files and text. A format is one module here and one line in the table below."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

from ..errors import ModelError, close_names
from ..model import ModelBuilder
from .includes import Folder, include_root
from .source import MissingFileError, Source, UnreadableError, open_source
from .urdf import read_urdf
from .warnings import ModelWarning, warn_of
from .xml import Element, parse_xml

__all__ = ["MissingFileError", "ModelWarning", "UnreadableError", "load_builder", "read_urdf", "warn_of"]

_FORMATS = {
    "robot": ("URDF (.urdf)", "urdf", "build_urdf"),
    "mujoco": ("MJCF (.xml, .mjcf)", "mjcf", "build_mjcf"),
    "sdf": ("SDF (.sdf, .world)", "sdf", "build_sdf"),
}
"""The formats, by root element: name, module, and the function that builds a robot from a document."""

_INCLUDING = ("mujoco", "sdf")
"""The formats whose documents include others."""

_SUFFIXES = {".urdf": "robot", ".mjcf": "mujoco", ".sdf": "sdf", ".world": "sdf", ".xml": "", ".xacro": ""}
"""The root element that a suffix promises, if any."""

_USD = (".usd", ".usda", ".usdc", ".usdz")
_OTHERS = ("USD (.usd, .usda, .usdc, .usdz)", "xacro templates (.xacro)")
"""The formats that are not XML documents of one of the formats above."""


def load_builder(
    source: str | os.PathLike[str],
    names: Iterable[str] = (),
    *,
    cut: Sequence[str] = (),
    root: Folder = None,
    xacro: bool = False,
    xacro_args: Mapping[str, object] | None = None,
    srdf: str | os.PathLike[str] | None = None,
) -> ModelBuilder:
    """Read a robot, ready to build, from a file or from XML text, a string that starts with `<`.

    `names` are the names of bundled robots, for hints in errors. `cut` names joints that close loops, in formats whose
    joints may connect links in any way. `root` is the folder from which files are included; see `includes`.
    A xacro template is expanded only with `xacro`, since its expressions can run any command; `xacro_args` are its
    arguments. `srdf` is a file of named positions.
    """
    packages: dict[str, str] = {}
    if isinstance(source, str) and source.startswith("description:"):
        from .descriptions import find_description

        found = find_description(source)
        source, packages, srdf = found.path, found.packages, srdf or found.srdf or None
        if source.endswith(".xacro"):
            xacro_args = {**found.arguments, **(xacro_args or {})}
    try:
        opened = open_source(source, (*_SUFFIXES, *_USD), unread=_USD)
    except MissingFileError as e:
        raise _unknown(e, source, tuple(names)) from None
    if root is not None and not opened.name.startswith("<"):
        include_root(opened.name, root)  # raises if there is no such folder
    if opened.suffix == ".xacro":
        if xacro is not True:
            raise ModelError(
                "a xacro template is expanded only on request, since its expressions are Python code, which can run "
                "any command: if you trust the template and all files that it includes, give on.load(..., xacro=True), "
                "or --xacro on the command line",
                opened.name,
            )
        from .xacro import expand_xacro

        builder = _of_template(expand_xacro(source, xacro_args, root, packages), opened.name, cut, root)
    elif xacro_args is not None:
        raise ModelError("xacro_args: only xacro templates (.xacro) have arguments", opened.name)
    else:
        builder = _of_document(opened, cut, root)
    if srdf is not None:
        from .srdf import add_srdf

        add_srdf(builder, srdf)
    return builder


def _of_document(opened: Source, cut: Sequence[str], root: Folder) -> ModelBuilder:
    """Build a robot from a file, or from a text, of one of the formats."""
    if opened.suffix in _USD:
        from .usd import build_usd

        if cut:
            raise ModelError("cut: in USD, physics:excludeFromArticulation says which joints close loops", opened.name)
        return build_usd(opened.name, root)
    if isinstance(opened.data, bytes) and opened.suffix not in _SUFFIXES:
        given = f"files that end in {opened.suffix!r}" if opened.suffix else "files without a suffix"
        hint = "; it is given beside a robot: on.load(robot, srdf=file)" if opened.suffix == ".srdf" else ""
        raise ModelError(f"{given} are not read; supported: {_supported()}{hint}", opened.name)
    return _build(parse_xml(opened.data, opened.name), _SUFFIXES.get(opened.suffix, ""), cut, root)


def _build(top: Element, tag: str, cut: Sequence[str], root: Folder) -> ModelBuilder:
    """Build a robot from the root element of a document; `tag` is the one that its suffix promises, if any."""
    tag = tag or top.tag
    if tag not in _FORMATS:
        raise top.error(f"the root element is <{top.tag}>, of no format that is read; supported: {_supported()}")
    _, module, function = _FORMATS[tag]
    build: Callable[..., ModelBuilder] = getattr(import_module(f".{module}", __package__), function)
    if cut and tag != "sdf":
        raise ModelError("cut: only in SDF do joints connect links in any way; in other formats they are a tree")
    options = ({"folder": root} if tag in _INCLUDING else {}) | ({"cut": cut} if cut else {})
    return build(top, **options)


def _of_template(text: str, name: str, cut: Sequence[str], root: Folder) -> ModelBuilder:
    """Build a robot from an expanded template; messages say that their lines are those of the expanded document."""
    builder = _build(parse_xml(text, f"{name} (expanded)"), "", cut, root)
    builder.source = name
    return builder


def _supported() -> str:
    return ", ".join([*(name for name, _, _ in _FORMATS.values()), *_OTHERS])


def _unknown(error: MissingFileError, source: str | os.PathLike[str], names: tuple[str, ...]) -> MissingFileError:
    """Return the error for a file that does not exist; the name of a bundled robot may have been meant."""
    if not names or os.path.splitext(source)[1]:
        return error
    close = close_names(str(source), names)
    hint = f"did you mean {close[0]!r}? " if close else ""
    end = "" if str(error).endswith("?") else "."
    bundled = f"Nor is there a bundled robot of this name: {hint}known are {', '.join(names)}"
    return MissingFileError(f"{error}{end} {bundled}", error.filename)
