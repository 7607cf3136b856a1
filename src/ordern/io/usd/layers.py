"""The layers of a stage, looked at one by one before USD composes them.

USD opens all files that a layer names, wherever they are, waits for a pipe among them, and composes a file of a few
lines, in which each prim refers twice to the next, into more prims than any memory holds. So the files must be in the
root folder, as with other formats, and the number of prims is counted first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ..includes import Folder, include_root
from ..source import inside

__all__ = ["MAX_PRIMS", "require_bounded"]

MAX_PRIMS = 500_000
"""The most prims of a stage. The largest scenes of robots have some ten thousand."""
_DEEPEST = 400
"""The most prims below each other, references included."""


def require_bounded(path: str, root: Folder = None) -> tuple[Any, ...]:
    """Raise if a stage reads files outside of its root folder, or composes more than `MAX_PRIMS` prims.

    Return its layers: as long as they are kept, USD does not read them again. What USD cannot open or find is left to
    the stage, which reports it.
    """
    layers = _Layers(path, root)
    main = layers.opened(path)
    if main is not None:
        layers.count(main, "/", 0)
    return tuple(x for x in layers.known.values() if x is not None)


class _Layers:
    """The layers that a stage is composed of, and the numbers of prims that parts of them stand for."""

    def __init__(self, path: str, root: Folder) -> None:
        self.path, self.root = path, include_root(path, root)
        self.Sdf, self.Ar = import_module("pxr.Sdf"), import_module("pxr.Ar")
        self.known: dict[str, Any] = {}
        self.counts: dict[tuple[str, str], int] = {}

    def opened(self, name: str) -> Any:
        """Return a layer; None if USD cannot open it."""
        if name not in self.known:
            try:
                self.known[name] = self.Sdf.Layer.FindOrOpen(name)
            except Exception:  # of the library's own type
                self.known[name] = None
        return self.known[name]

    def named(self, layer: Any, asset: str) -> Any:
        """Return the layer that another one names, None if there is none; raise if it is not in the root folder."""
        if not asset:
            return layer
        found = self.Sdf.ComputeAssetPathRelativeToLayer(layer, asset)
        place = str(self.Ar.GetResolver().Resolve(found)) or found
        while self.Ar.IsPackageRelativePath(place):  # in a .usdz file
            place = self.Ar.SplitPackageRelativePathOuter(place)[0]
        file = Path(place.partition(":SDF_FORMAT_ARGS:")[0])
        try:
            kind = os.stat(file).st_mode
        except (OSError, ValueError):
            return None
        if not inside(file, self.root):
            raise ModelError(
                f"{asset!r} leads out of the folder {str(self.root)!r}; files are included from there and below: name "
                "a folder that holds all files, by on.load(..., root=folder) or by --root on the command line",
                self.path,
            )
        if not stat.S_ISREG(kind):
            raise ModelError(f"{asset!r} is not a regular file", self.path)
        return self.opened(found)

    def count(self, layer: Any, path: str, depth: int) -> int:
        """Return how many prims a prim of a layer stands for, or its whole layer; raise if they are too many."""
        key = layer.identifier, path
        if key in self.counts:
            return self.counts[key]
        if depth > _DEEPEST:
            raise ModelError(f"prims are nested more than {_DEEPEST} deep", self.path)
        self.counts[key] = 1  # of a circle of references, which USD leaves out
        total = 1
        for part, at in self.parts(layer, path):
            total += self.count(part, at, depth + 1)
            if total > MAX_PRIMS:
                raise ModelError(f"the references of the stage make more than {MAX_PRIMS:,} prims of it", self.path)
        self.counts[key] = total
        return total

    def parts(self, layer: Any, path: str) -> Iterator[tuple[Any, str]]:
        """Yield the layers and paths whose prims become a part of a prim."""
        if path == "/":
            for asset in layer.subLayerPaths:
                part = self.named(layer, asset)
                if part is not None:
                    yield part, "/"
            yield from ((layer, str(prim.path)) for prim in layer.rootPrims)
            return
        prim = layer.GetPrimAtPath(path)
        if prim is None:
            return
        yield from ((layer, str(child.path)) for child in prim.nameChildren)
        for variants in prim.variantSets.values():
            yield from ((layer, str(variant.primSpec.path)) for variant in variants.variants.values())
        for items in (prim.inheritPathList, prim.specializesList):
            yield from ((layer, str(x)) for x in items.GetAddedOrExplicitItems())
        for items in (prim.referenceList, prim.payloadList):
            for x in items.GetAddedOrExplicitItems():
                part = self.named(layer, x.assetPath)
                if part is not None:
                    default = f"/{part.defaultPrim}" if part.defaultPrim else ""
                    at = str(x.primPath) if not x.primPath.isEmpty else default
                    if at:
                        yield part, at
