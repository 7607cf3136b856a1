"""Shared by the writers of robot descriptions: XML text, exact numbers, and parts that a format cannot express."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import field, replace
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..model import BASE, Frame, Model, Placement, Shape
from ..records import dataclass
from ..rotations import quaternion_from_matrix, rpy_from_matrix
from .remarks import some

__all__ = [
    "WRITERS",
    "LossError",
    "Losses",
    "Node",
    "UnwritableError",
    "bound",
    "check_name",
    "document",
    "extra_frames",
    "fresh",
    "number",
    "numbers",
    "quaternion",
    "replacing",
    "rpy",
    "save",
    "shapes_by_body",
    "write",
    "written",
]

_UNLIMITED = 1e308
"""The number for infinity in a limit: most readers do not know `inf`."""

WRITERS = {
    ".urdf": ("export_urdf", "urdf_of"),
    ".xml": ("export_mjcf", "mjcf_of"),
    ".mjcf": ("export_mjcf", "mjcf_of"),
}
"""The writers, by suffix: the module, and the function that returns a model's text and the parts it leaves out."""

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def save(model: Model, path: str | os.PathLike[str], *, lossy: bool = False) -> None:
    """Write a robot to a file: URDF if its name ends in .urdf, MJCF for .xml and .mjcf.

    Parts of the dynamics that the format cannot express raise an error. With `lossy`, they are left out and listed at
    the top of the file. The file is replaced in one step: it is the old one or the new one, whatever happens meanwhile.
    Relative paths of meshes start from the robot's own file, and are rewritten to start from the new one.
    """
    write(model, path, lossy=lossy)


def write(model: Model, path: str | os.PathLike[str], *, lossy: bool = False) -> Losses:
    """Do what `save` does, and return the parts that were left out."""
    target = Path(path)
    if target.suffix.lower() not in WRITERS:
        raise ModelError(
            f"cannot tell the format from the suffix {target.suffix!r}; expected {', '.join(WRITERS)}", str(path)
        )
    text, losses = written(model, target.suffix.lower(), target.parent, lossy=lossy)
    with replacing(target) as file:
        file.write(text.encode())
    return losses


def written(model: Model, suffix: str, folder: Path, *, lossy: bool = False) -> tuple[str, Losses]:
    """Return the text of a model in the format of a suffix, for a file in this folder, and the parts it leaves out."""
    module, function = WRITERS[suffix]
    make: Callable[..., tuple[str, Losses]] = getattr(import_module(f".{module}", __package__), function)
    return make(replace(model, shapes=tuple(_moved(model, folder))), lossy=lossy)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside the one of this name, and replace that one at the end; a link stays a link.

    Whatever happens meanwhile, the name leads to the old file or to the new one, whole. `UnwritableError` if the file
    cannot be written.
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode)
        os.replace(beside, target)
    except BaseException as e:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(e, OSError):
            raise UnwritableError(f"the file cannot be written: {e.strerror or e}", os.fspath(path)) from None
        raise


def _moved(model: Model, folder: Path) -> Iterator[Shape]:
    """Yield the shapes, with the relative paths of their meshes rewritten for another folder."""
    home = Path(model.source).parent if model.source and not model.source.startswith("<") else None
    for shape in model.shapes:
        if home is not None and shape.file and "://" not in shape.file and not os.path.isabs(shape.file):
            try:
                moved = os.path.relpath(home / shape.file, folder)
            except ValueError:  # another drive
                moved = os.path.abspath(home / shape.file)
            shape = replace(shape, file=Path(moved).as_posix())
        yield shape


class UnwritableError(ModelError):
    """A file that cannot be written: no folder, no permission, no space."""


class LossError(ModelError):
    """A robot that a format cannot express completely."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{message}. With lossy=True this is left out, and listed in a comment", where)
        self.message = message
        """The message without the advice."""

    def __reduce__(self) -> tuple[type[LossError], tuple[str, str]]:
        return type(self), (self.message, self.where)


@dataclass(slots=True)
class Losses:
    """The parts of a model that a format cannot express. Without `lossy`, losses of the dynamics are an error."""

    format: str
    lossy: bool
    lost: dict[str, list[str]] = field(default_factory=dict)
    """Omissions that affect the dynamics, and the parts of the robot that they concern."""
    unsaid: dict[str, list[str]] = field(default_factory=dict)
    """Omissions that do not affect the dynamics: looks, velocity limits."""
    notes: list[str] = field(default_factory=list)
    """Parts that the format expresses in another way."""
    where: str = ""

    def add(self, what: str, of: str, where: str = "") -> None:
        """Add an omission that affects the dynamics."""
        self.where = self.where or where
        self.lost.setdefault(what, []).append(of)

    def remark(self, what: str, of: str) -> None:
        """Add an omission that does not affect the dynamics."""
        self.unsaid.setdefault(what, []).append(of)

    def check(self) -> None:
        """Raise if an omission is not allowed."""
        if self.lost and not self.lossy:
            listed = "; ".join(_some(what, of) for what, of in self.lost.items())
            raise LossError(f"{self.format} cannot express all of this robot: {listed}", self.where)

    @property
    def left_out(self) -> list[str]:
        """All omissions."""
        return [f"{what} of {', '.join(of)}" for what, of in (*self.lost.items(), *self.unsaid.items())]

    @property
    def summary(self) -> list[str]:
        """All omissions, long lists cut short."""
        return [_some(what, of) for what, of in (*self.lost.items(), *self.unsaid.items())]

    @property
    def comments(self) -> list[str]:
        """The comments at the top of the document."""
        return [*(f"left out: {what}" for what in self.left_out), *self.notes]


def _some(what: str, of: list[str]) -> str:
    return f"{what} of {some(of)}"


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
        start = node.tag + "".join(
            f' {name}="{_escaped(value)}"' for name, value in node.attributes.items() if value is not None
        )
        if node.children:
            lines.append(f"{'  ' * depth}<{start}>")
            stack.append((f"</{node.tag}>", depth))
            stack.extend((child, depth + 1) for child in reversed(node.children))
        elif node.text:
            lines.append(f"{'  ' * depth}<{start}>{_escaped(node.text)}</{node.tag}>")
        else:
            lines.append(f"{'  ' * depth}<{start}/>")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    bad = _NO_XML.search(text)
    if bad:
        raise ModelError(f"the text {text!r} has the character {bad.group()!r}, which no XML document can have")
    return text.translate(_ESCAPES)


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
    R = _rotation(at)
    return None if np.array_equal(R, np.eye(3)) else numbers(rpy_from_matrix(R).tolist())


def quaternion(at: Placement) -> str | None:
    """Return the quaternion (w, x, y, z) of a placement; None without rotation."""
    R = _rotation(at)
    return None if np.array_equal(R, np.eye(3)) else numbers(quaternion_from_matrix(R).tolist())


def _rotation(at: Placement) -> NDArray[np.float64]:
    """Return the rotation, quarter turns exact."""
    R = at.R
    near = np.round(R)
    return np.where(np.abs(R - near) < 4e-16, near, R) + 0.0


def fresh(name: str, taken: Container[str]) -> str:
    """Return the name, or the first of name_2, name_3 ... that is not taken."""
    k, free = 1, name
    while free in taken:
        k += 1
        free = f"{name}_{k}"
    return free


def check_name(name: str, what: str, where: str = "") -> None:
    """Raise if a name could not be read back."""
    bad = _NO_XML.search(name)
    if bad:
        raise ModelError(
            f"the {what} {name!r} has a name with the character {bad.group()!r}, which no XML document can have", where
        )
    if name.isspace():
        raise ModelError(f"a {what} has the name {name!r}; expected more than spaces", where)


def shapes_by_body(model: Model) -> dict[int, list[Shape]]:
    """Return the shapes of each body and of the base."""
    found: dict[int, list[Shape]] = {k: [] for k in range(BASE, len(model.bodies))}
    for shape in model.shapes:
        found[shape.body].append(shape)
    return found


def extra_frames(model: Model) -> Iterator[Frame]:
    """Yield the frames that are not the frame of a body, without "world", which every robot has."""
    own = {body.name: k for k, body in enumerate(model.bodies)}
    for frame in model.frames:
        if own.get(frame.name) != frame.body and frame != Frame("world", BASE):
            yield frame
