"""Writing robots to files: the formats, files that are replaced whole, and parts that a format cannot express."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import field, replace
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from ..errors import ModelError
from ..model import Model, Shape
from ..model.checks import require_one_set
from ..records import dataclass
from .remarks import some
from .xml_text import Node, document

__all__ = ["LossError", "Losses", "UnwritableError", "described", "replacing", "save", "write", "written"]

_FORMATS = {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}
"""The formats, by suffix. The module `export_<format>` has the function `describe`, which makes the root element."""


def save(model: Model, path: str | os.PathLike[str], *, lossy: bool = False, in_place: bool = False) -> None:
    """Write a robot to a file: URDF if its name ends in .urdf, MJCF for .xml and .mjcf.

    Parts of the dynamics that the format cannot express raise an error. With `lossy`, they are left out and listed at
    the top of the file. The file is replaced in one step: it is the old one or the new one, whatever happens meanwhile.
    Relative paths of meshes start from the robot's own file, and are rewritten to start from the new one. With
    `in_place`, the text is that of the robot's own file, with other numbers; see `in_place.write_in_place`.
    """
    if in_place:
        from .in_place import write_in_place

        write_in_place(model, path, lossy=lossy)
    else:
        write(model, path, lossy=lossy)


def write(model: Model, path: str | os.PathLike[str], *, lossy: bool = False) -> Losses:
    """Do what `save` does, and return the parts that were left out."""
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        raise ModelError(
            f"cannot tell the format from the suffix {target.suffix!r}; expected {', '.join(_FORMATS)}", str(path)
        )
    text, losses = written(model, target.suffix.lower(), target.parent, lossy=lossy)
    with replacing(target) as file:
        file.write(text.encode())
    return losses


def written(model: Model, suffix: str, folder: Path, *, lossy: bool = False) -> tuple[str, Losses]:
    """Return the text of a model for a file in this folder, and the parts that the format cannot express."""
    return described(replace(model, shapes=tuple(_moved(model, folder))), suffix, lossy=lossy, folder=folder)


def described(model: Model, suffix: str, *, lossy: bool = False, folder: Path | None = None) -> tuple[str, Losses]:
    """Return the text of a model in the format of a suffix, and the parts that the format cannot express.

    Relative paths of meshes start from `folder`; by default, from the folder of the model's own file.
    """
    require_one_set(model, f"a file {suffix}")
    format = _FORMATS[suffix]
    losses = Losses(format.upper(), lossy, Path(model.source).parent if folder is None else folder)
    describe: Callable[[Model, Losses], Node] = import_module(f".export_{format}", __package__).describe
    root = describe(model, losses)
    for contact in () if model.contacts is None else model.contacts.pairs:
        losses.remark("contact", repr(contact.name))
    losses.check()
    return document(root, losses.comments), losses


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
    folder: Path = Path()
    """The folder from which relative paths of meshes start."""
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

    def add_fluid(self, model: Model, *, drag: bool = True) -> None:
        """Add what a fluid does to the bodies, which the format cannot express; without `drag`, it can express drag."""
        for body in model.bodies:
            drags = body.drags if drag else ()
            parts = {"added inertia": body.added_inertia, "buoyancy": body.displaced, "drag": drags}
            for part in (name for name, numbers in parts.items() if numbers):
                self.add(part, f"body {body.name!r}", body.where)

    def add_positions(self, model: Model) -> None:
        """Add the named positions, which the format does not have."""
        for position in model.named_positions:
            self.remark("named position", repr(position.name))

    def remark(self, what: str, of: str) -> None:
        """Add an omission that does not affect the dynamics."""
        self.unsaid.setdefault(what, []).append(of)

    def check(self) -> None:
        """Raise if an omission is not allowed."""
        if self.lost and not self.lossy:
            listed = "; ".join(self.summary[: len(self.lost)])
            raise LossError(f"{self.format} cannot express all of this robot: {listed}", self.where)

    @property
    def left_out(self) -> list[str]:
        """All omissions."""
        return [f"{what} of {', '.join(of)}" for what, of in (*self.lost.items(), *self.unsaid.items())]

    @property
    def summary(self) -> list[str]:
        """All omissions, long lists cut short."""
        return [f"{what} of {some(of)}" for what, of in (*self.lost.items(), *self.unsaid.items())]

    @property
    def comments(self) -> list[str]:
        """The comments at the top of the document."""
        return [*(f"left out: {what}" for what in self.left_out), *self.notes]
