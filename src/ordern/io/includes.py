"""Files that a document includes. They are read from the folder of the main document and below; nothing is fetched."""

from __future__ import annotations

from pathlib import Path

from .source import inside
from .xml import Element

__all__ = ["included_path"]


def included_path(name: str, include: Element, base: str, main: str, advice: str, index: str = "") -> Path:
    """Return the path of an included file, which must be in the folder of the main document or below.

    `base` is the document that a relative name starts from, and `advice` says what to do instead. A name of a folder
    stands for the file `index` in it.
    """
    if main.startswith("<"):
        why = "is included, but text has no directory to find other files in"
        raise include.error(f"{name!r} {why}; {advice}")
    folder, path = Path(main).parent, Path(base).parent / name
    if index and inside(path, folder) and path.is_dir():
        path = path / index
    if not inside(path, folder):
        why = "leads out of the directory of the main file; files are included from there and below"
        raise include.error(f"{name!r} {why}: {advice}")
    return path
