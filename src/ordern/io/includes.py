"""Files that a document includes. They are read from a root folder and below; nothing is fetched.

The root is the folder that the user names. By default it is the project that the main document belongs to: the nearest
folder above it that has a `.git`, a `pyproject.toml` or the like; otherwise the nearest with a license; otherwise the
Python package that it is in; and otherwise its own folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import ModelError
from .source import inside
from .xml import Element

__all__ = ["Folder", "include_root", "included_path"]

Folder = str | os.PathLike[str] | None
"""The root folder as the user gives it; None for the default."""

_MARKS = (".git", "pyproject.toml", "setup.py", "package.xml")
"""Files that the top folder of a project has."""
_LICENSES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING")
"""Files of a project that was downloaded without its history."""
_INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages, which are not parts of the project above them."""
_ADVICE = "name a folder that holds all files, by on.load(..., root=folder) or by --root on the command line"


def include_root(main: str, root: Folder = None) -> Path:
    """Return the folder from which the main document may include files: `root`, if it is given."""
    here = Path(main).parent.resolve()
    if root is not None:
        given = Path(root).expanduser()
        if not given.is_dir():
            raise ModelError(f"root={str(root)!r} is not a folder", main)
        if not inside(here, given):
            raise ModelError(f"root={str(root)!r} does not hold the file itself; expected a folder above it", main)
        return given.resolve()
    above = list(_folders_above(here))
    for marks in (_MARKS, _LICENSES):
        for folder in above:
            if any((folder / mark).exists() for mark in marks):
                return folder
    packages = [folder for folder in above if (folder / "__init__.py").exists()]
    return packages[-1] if packages else here


def _folders_above(folder: Path) -> Iterator[Path]:
    """Yield a folder and those above it; not the home folder and other places of many projects, nor what is above."""
    shared = {Path(tempfile.gettempdir()).resolve(), *_home(), Path(folder.anchor)}
    for here in (folder, *folder.parents):
        if here in shared or here.name in _INSTALLED:
            return
        yield here


def _home() -> tuple[Path, ...]:
    try:
        return (Path.home().resolve(),)
    except (OSError, RuntimeError):
        return ()


def included_path(
    name: str, include: Element, bases: tuple[str, ...], main: str, root: Folder, index: str = ""
) -> Path:
    """Return the path of an included file, which must be in the root folder of the main document or below.

    `bases` are the documents that a relative name may start from: the first where there is such a file counts. A name
    of a folder stands for the file `index` in it.
    """
    if main.startswith("<"):
        why = "is included, but text has no directory to find other files in"
        raise include.error(f"{name!r} {why}; save it as a file beside them, and load that")
    folder = include_root(main, root)
    try:
        paths = [Path(base).parent / name for base in dict.fromkeys(bases)]
        found = next((path for path in paths if path.exists()), paths[0])
    except (OSError, ValueError) as e:  # a NUL in the name, or one that is too long
        raise include.error(f"{name!r:.80} cannot be the name of a file: {e}") from None
    if inside(found, folder):
        return found / index if index and found.is_dir() else found
    called = f"the project folder {str(folder)!r}"
    if folder == Path(main).parent.resolve():
        called = "the directory of the main file"
    why = f"leads out of {called}; files are included from there and below"
    raise include.error(f"{name!r} {why}: {_ADVICE}")
