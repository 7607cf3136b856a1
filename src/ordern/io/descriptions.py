"""Robots by name, of the package `robot_descriptions`: `on.load("description:panda")`.

The package has a module for each robot, which clones a Git repository when it is imported first.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from ..errors import ModelError, close_names
from ..records import dataclass

__all__ = ["PREFIX", "Description", "find_description"]

PREFIX = "description:"
_SUFFIXES = ("", "_description", "_mj_description")
"""The ends of the package's names: URDF descriptions come before MJCF descriptions of one robot."""


@dataclass(frozen=True, slots=True)
class Description:
    """The files of a robot of the package."""

    path: str
    """A URDF or MJCF file, or a xacro template."""
    arguments: dict[str, Any]
    """Arguments of the template."""
    packages: dict[str, str]
    """Folders of the packages that the template names."""
    srdf: str = ""
    """A file of named positions, if there is one."""


def find_description(source: str) -> Description:
    """Return the files of a robot, from `description:` and its name."""
    name = source.removeprefix(PREFIX).strip()
    try:
        package = import_module("robot_descriptions")
    except ImportError as e:
        why = "robots by name come from the package robot_descriptions, which is not installed"
        raise ModelError(f"{why} ({e}): pip install 'ordern[descriptions]'", source) from None
    known = tuple(package.DESCRIPTIONS)
    module = next((name + suffix for suffix in _SUFFIXES if name + suffix in known), None)
    if module is None:
        short = tuple(dict.fromkeys(full.removesuffix("_description") for full in known))
        close = close_names(name, short, 3) or [full for full in short if name and name in full][:3]
        hint = f"; did you mean {' or '.join(repr(PREFIX + one) for one in close)}?" if close else "."
        more = f"`robot_descriptions list` shows all {len(known)}"
        raise ModelError(f"robot_descriptions has no robot {name!r}{hint} The command {more}", source)
    return _files(_imported(module, source), module, source)


def _imported(module: str, source: str) -> Any:
    """Import the module of a robot, which fetches its repository if need be."""
    try:
        return import_module(f"robot_descriptions.{module}")
    except Exception as e:  # of Git, of the network, of the file system
        why = " ".join(f"{type(e).__name__}: {e}".split())
        advice = "It needs the internet once; ROBOT_DESCRIPTIONS_CACHE names the folder of what was fetched before"
        raise ModelError(f"robot_descriptions could not fetch {module!r}: {why:.300}. {advice}", source) from None


def _files(module: Any, name: str, source: str) -> Description:
    path = next((str(getattr(module, key)) for key in _PATHS if hasattr(module, key)), None)
    if path is None:
        raise ModelError(f"{name!r} of robot_descriptions has no URDF, MJCF or xacro file", source)
    srdf = str(getattr(module, "SRDF_PATH", ""))
    return Description(
        path,
        dict(getattr(module, "XACRO_ARGS", {})),
        dict(getattr(module, "XACRO_PACKAGE_PATHS", {})),
        srdf if os.path.exists(srdf) else "",
    )


_PATHS = ("URDF_PATH", "MJCF_PATH", "XACRO_PATH")
