"""The files of an MJCF document, put together: every <include> is replaced by the contents of its file."""

from __future__ import annotations

import os
from collections import deque

from ...errors import ModelError
from ..attributes import required
from ..includes import Folder, included_path
from ..source import open_source
from ..xml import Element, parse_xml

__all__ = ["MAX_INCLUDES", "assemble"]

MAX_INCLUDES = 1000
"""Files that a document may include, counted each time."""

Chain = tuple[str, ...]
"""The files around an element: the main file, the file that it includes, and so on."""


def assemble(root: Element, folder: Folder = None) -> None:
    """Replace every <include> of a document by the contents of its file, which is in `folder` or below.

    As in MuJoCo, a name is relative to the main file or, where there is no such file, to the file that includes it. The
    main file includes a file once. Other files may include one again, but not themselves.
    """
    files = _Files(root, folder)
    stack: list[tuple[Element, Chain]] = [(root, (os.path.abspath(root.source),))]
    while stack:
        element, chain = stack.pop()
        left = deque((child, chain) for child in element.children)
        kept: list[tuple[Element, Chain]] = []
        while left:
            child, around = left.popleft()
            if child.tag == "include":
                left.extendleft(reversed(files.contents(child, around)))
            else:
                kept.append((child, around))
        element.children[:] = [child for child, _ in kept]
        stack.extend(reversed(kept))


class _Files:
    """The files that a document includes."""

    def __init__(self, root: Element, folder: Folder) -> None:
        self.main, self.folder = root.source, folder
        self.count = 0
        self.seen: dict[str, str] = {}
        """The files that the main file includes, and where."""

    def contents(self, include: Element, chain: Chain) -> list[tuple[Element, Chain]]:
        """Return the elements in an included file, with the files around them."""
        name = required(include, "file")
        what = f'<include file="{name}">'
        path = included_path(name, include, (self.main, include.source), self.main, self.folder)
        key = os.path.abspath(path)
        before = "as the main file" if key == chain[0] else self.seen.get(key, "around this one" * (key in chain))
        if before:
            raise include.error(f"{what}: this file is read already, {before}; a file is included once")
        self.count += 1
        if self.count > MAX_INCLUDES:
            raise include.error(f"{what}: more than {MAX_INCLUDES:,} files are included")
        if len(chain) == 1:
            self.seen[key] = f"included at {include.where}"
        try:
            opened = open_source(path, [".xml"])
            included = parse_xml(opened.data, opened.name)
        except ModelError as e:
            raise include.error(f"{what}: {e}") from None
        if not included.children:
            raise include.error(f"{what}: there is nothing in this file")
        return [(child, (*chain, key)) for child in included.children]
