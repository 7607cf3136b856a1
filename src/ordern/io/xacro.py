"""Xacro, the templates of ROS: macros, properties and includes that expand to a URDF or SDF document.

The package `xacrodoc` expands them; it needs no ROS. Unlike all other readers of the library, it evaluates expressions
of the file (`${...}`), which are Python code and can run any command, and reads environment variables and other files
that the template names. So the caller of `on.load` has to ask for it.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, ModelError
from .includes import Folder, include_root
from .xacro_place import place_of

__all__ = ["expand_xacro"]

_LOCK = threading.Lock()
"""Xacro keeps arguments, macros and packages in global variables."""


class _Asked(dict[str, str]):
    """Arguments that remember which of them a template looks up."""

    def __init__(self, words: Mapping[str, str]) -> None:
        super().__init__(words)
        self.names: set[object] = set()

    def __contains__(self, key: object) -> bool:
        self.names.add(key)
        return super().__contains__(key)

    def __getitem__(self, key: str) -> str:
        self.names.add(key)
        return super().__getitem__(key)


def expand_xacro(
    path: str | os.PathLike[str],
    arguments: Mapping[str, object] | None = None,
    root: Folder = None,
    packages: Mapping[str, str] | None = None,
) -> str:
    """Return the document that a template expands to.

    `arguments` are those of its <xacro:arg> elements. Packages that it finds by `$(find name)` are the folders above
    it, those in the folder `root`, those of a ROS installation, and `packages`, folders by name.
    """
    name = os.fspath(path)
    if arguments is not None and not isinstance(arguments, Mapping):
        raise ArgumentError(f"xacro_args must be a dictionary of arguments by name, not {type(arguments).__name__}")
    words = {key: _word(key, value) for key, value in (arguments or {}).items()}
    try:
        xacrodoc, xacro = import_module("xacrodoc"), import_module("xacro")
    except ImportError as e:
        why = "a xacro template is expanded by the package xacrodoc, which is not installed"
        raise ModelError(f"{why} ({e}): pip install 'ordern[xacro]', or run `xacro` yourself", name) from None
    file = Path(name).expanduser().resolve()  # what it includes is found from an absolute name only
    folder = include_root(name, root)
    with _LOCK, _finder(xacrodoc.packages, _folders(file, folder)) as found:
        found.look_in(str(folder))
        found.walk_up_from(str(file))
        found.update_package_cache(dict(packages or {}))
        try:
            asked = _Asked(words)
            document = xacro.process_file(str(file), mappings=asked)
            unused = sorted(words.keys() - asked.names)
            if unused:
                raise ModelError(f"xacro_args: the template has no argument {unused[0]!r}", name)
            return str(document.toprettyxml(indent="  "))
        except ModelError:
            raise
        except Exception as e:  # of any type: the template's expressions are Python's
            place, line = place_of(e, xacro)
            place = name if place in ("", str(file)) else place
            raise ModelError(_fault(e), f"{place}:{line}" if line else place) from None


def _fault(error: Exception) -> str:
    """Return what went wrong, and what to do about it."""
    said = " ".join(str(error).split())
    if package := re.search(r"Package not found: (\S+)", said):
        known = "neither a folder above the template, nor in its project, nor installed with ROS"
        return f"it needs the package {package[1]!r}, which is {known}; name a folder that holds it by root=folder"
    if argument := re.search(r"Undefined substitution argument (\S+)", said):
        return f"its argument {argument[1]!r} has no value; give one by xacro_args={{{argument[1]!r}: value}}"
    return f"xacro cannot expand it: {said:.500}"


def _folders(file: Path, root: Path) -> Callable[[str], str]:
    """Return a function that finds a package by the name of its folder: above a file, or beside it below `root`.

    Packages that were copied without their package.xml are found in this way.
    """

    def find(package: str) -> str:
        for folder in file.parents:
            if folder.name == package:
                return str(folder)
            if folder.is_relative_to(root) and (folder / package).is_dir():
                return str(folder / package)
        raise LookupError(package)

    return find


def _word(key: object, value: object) -> str:
    """Return an argument as xacro takes it."""
    if not isinstance(key, str):
        raise ArgumentError(f"xacro_args: names of arguments must be text, not {key!r}")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ArgumentError(f"xacro_args: {key!r} must be text, a number or a truth value, not {value!r:.60}")


@contextmanager
def _finder(packages: Any, last: Callable[[str], str]) -> Iterator[Any]:
    """Let packages be found by a finder of this call, which knows nothing of earlier ones; the user's comes back.

    The function `last` finds what no other way does.
    """
    before = packages._finder
    packages.reset()
    packages._finder.finder_funcs += [*before.finder_funcs, (last, LookupError)]
    packages._finder.package_cache.update(before.package_cache)
    try:
        yield packages
    finally:
        packages._finder = before
