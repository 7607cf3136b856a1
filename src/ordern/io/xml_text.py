"""Shared by the writers of formats: elements and their XML text, exact numbers, names, and frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model import BASE, Frame, Model, Placement
from ..records import dataclass
from ..rotations import quaternion_from_matrix, rpy_from_matrix

__all__ = ["Node", "bound", "check_name", "document", "extra_frames", "fresh", "number", "numbers", "quaternion", "rpy"]

_UNLIMITED = 1e308
"""The number for infinity in a limit: most readers do not know `inf`."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


@dataclass(slots=True)
class Node:
    """An element to be written. Attributes that are None are left out."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Node] = field(default_factory=list)
    text: str = ""
    """The text of an element without children."""

    def add(self, tag: str, **attributes: str | None) -> Node:
        """Add a child. An underscore at the end of a name is for Python's own words (class_)."""
        child = Node(tag, {name.rstrip("_"): value for name, value in attributes.items()})
        self.children.append(child)
        return child


def document(root: Node, comments: Iterable[str] = ()) -> str:
    """Return the text of an XML document. It does not recurse, so that nesting may be deep."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines += [f"<!-- {_comment(text)} -->" for text in comments]
    stack: list[tuple[Node | str, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, str):
            lines.append("  " * depth + node)
            continue
        given = ((name, value) for name, value in node.attributes.items() if value is not None)
        start = "".join(["  " * depth, "<", node.tag, *(f' {name}="{_escaped(value)}"' for name, value in given)])
        end = f"</{node.tag}>"
        if node.children:
            lines.append(f"{start}>")
            stack.append((end, depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))
        else:
            lines.append(f"{start}>{_escaped(node.text)}{end}" if node.text else f"{start}/>")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    _check_characters(text, f"the text {text!r} has")
    return text.translate(_ESCAPES)


def _check_characters(text: str, what: str, where: str = "") -> None:
    bad = _NO_XML.search(text)
    if bad:
        raise ModelError(f"{what} the character {bad.group()!r}, which no XML document can have", where)


def _comment(text: str) -> str:
    """Return text for a comment: without two hyphens in a row, a hyphen at the end, or control characters."""
    return _NO_XML.sub("?", text).replace("--", "- -").replace("--", "- -")


def number(x: float) -> str:
    """Return the shortest text that is read back as exactly this number."""
    return repr(float(x) + 0.0).removesuffix(".0")


def bound(x: float) -> float:
    """Return a limit as it is written."""
    return min(max(x, -_UNLIMITED), _UNLIMITED)


def numbers(x: Iterable[float]) -> str:
    """Return numbers separated by spaces."""
    return " ".join(map(number, x))


def rpy(at: Placement) -> str | None:
    """Return roll, pitch and yaw of a placement; None without rotation."""
    return _rotation(at, rpy_from_matrix)


def quaternion(at: Placement) -> str | None:
    """Return the quaternion (w, x, y, z) of a placement; None without rotation."""
    return _rotation(at, quaternion_from_matrix)


def _rotation(at: Placement, convert: Callable[[Any], NDArray[Any]]) -> str | None:
    """Return the numbers of a rotation, quarter turns exact; None without rotation."""
    R = at.R
    near = np.round(R)
    R = np.where(np.abs(R - near) < 4e-16, near, R) + 0.0
    return None if np.array_equal(R, np.eye(3)) else numbers(convert(R).tolist())


def fresh(name: str, taken: Container[str]) -> str:
    """Return the name, or the first of name_2, name_3 ... that is not taken."""
    k, free = 1, name
    while free in taken:
        k += 1
        free = f"{name}_{k}"
    return free


def check_name(name: str, what: str, where: str = "") -> None:
    """Raise if a name could not be read back."""
    _check_characters(name, f"the {what} {name!r} has a name with", where)
    if name.isspace():
        raise ModelError(f"a {what} has the name {name!r}; expected more than spaces", where)


def extra_frames(model: Model) -> Iterator[Frame]:
    """Yield the frames that are not the frame of a body, without "world", which every robot has."""
    own = {body.name: k for k, body in enumerate(model.bodies)}
    for frame in model.frames:
        if own.get(frame.name) != frame.body and frame != Frame("world", BASE):
            yield frame
