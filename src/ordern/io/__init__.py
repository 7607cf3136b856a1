"""Robots from files and text. A format is one module here and one line in the table below."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from ..errors import ModelError, close_names
from ..model import ModelBuilder
from .includes import Folder
from .source import MissingFileError, UnreadableError, open_source
from .urdf import read_urdf
from .warnings import ModelWarning, warn_of
from .xml import parse_xml

__all__ = ["MissingFileError", "ModelWarning", "UnreadableError", "load_builder", "read_urdf", "warn_of"]

_FORMATS = {
    "robot": ("URDF (.urdf)", "urdf", "build_urdf"),
    "mujoco": ("MJCF (.xml, .mjcf)", "mjcf", "build_mjcf"),
    "sdf": ("SDF (.sdf, .world)", "sdf", "build_sdf"),
}
"""The formats, by root element: name, module, and the function that builds a robot from a document."""

_INCLUDING = ("mujoco", "sdf")
"""The formats whose documents include others."""

_SUFFIXES = {".urdf": "robot", ".mjcf": "mujoco", ".sdf": "sdf", ".world": "sdf", ".xml": ""}
"""The root element that a suffix promises, if any."""


def load_builder(
    source: str | os.PathLike[str], names: Iterable[str] = (), *, cut: Sequence[str] = (), root: Folder = None
) -> ModelBuilder:
    """Read a robot, ready to build, from a file or from XML text, a string that starts with `<`.

    `names` are the names of bundled robots, for hints in errors. `cut` names joints that close loops, in formats whose
    joints may connect links in any way. `root` is the folder from which files are included; see `includes`.
    """
    try:
        opened = open_source(source, _SUFFIXES)
    except MissingFileError as e:
        if names and not os.path.splitext(source)[1]:
            close = close_names(str(source), tuple(names))
            hint = f"did you mean {close[0]!r}? " if close else ""
            end = "" if str(e).endswith("?") else "."
            bundled = f"Nor is there a bundled robot of this name: {hint}known are {', '.join(names)}"
            raise MissingFileError(f"{e}{end} {bundled}", e.filename) from None
        raise
    supported = ", ".join(name for name, _, _ in _FORMATS.values())
    if isinstance(opened.data, bytes) and opened.suffix not in _SUFFIXES:
        given = f"files that end in {opened.suffix!r}" if opened.suffix else "files without a suffix"
        hint = " (make one with `xacro template.xacro > robot.urdf`)" if opened.suffix == ".xacro" else ""
        raise ModelError(f"{given} are not read; supported: {supported}{hint}", opened.name)
    top = parse_xml(opened.data, opened.name)
    tag = _SUFFIXES.get(opened.suffix) or top.tag
    if tag not in _FORMATS:
        raise top.error(f"the root element is <{top.tag}>, of no format that is read; supported: {supported}")
    _, module, function = _FORMATS[tag]
    build: Callable[..., ModelBuilder] = getattr(import_module(f".{module}", __package__), function)
    if cut and tag != "sdf":
        raise ModelError("cut: only in SDF do joints connect links in any way; in other formats they are a tree")
    options = ({"folder": root} if tag in _INCLUDING else {}) | ({"cut": cut} if cut else {})
    return build(top, **options)
