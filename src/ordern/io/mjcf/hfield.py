"""Height fields: the elevations of an <hfield> asset, in the document or in MuJoCo's binary format."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ...arguments import Array
from ..attributes import vector
from ..source import open_source
from ..xml import Element
from .document import Document

__all__ = ["heights_of"]

_MOST = 1_000_000
"""The most elevations of a field."""


def heights_of(asset: Element, document: Document) -> tuple[Array, tuple[float, float]] | None:
    """Return heights (columns along x, rows along y) in m, and the lengths of the field; None for a file in PNG."""
    what = f"hfield {asset.attributes.get('name', '')!r}"
    x, y, top, _ = vector(asset, "size", 4, what)
    if min(x, y, top) <= 0.0:
        raise asset.error(f"{what} has a size that is not positive")
    file = asset.attributes.get("file", "")
    if file:
        read = _from_file(asset, file, document, what)
        if read is None:
            return None
        field = read
    else:
        rows, columns = (int(vector(asset, key, 1, what)[0]) for key in ("nrow", "ncol"))
        if min(rows, columns) < 2 or rows * columns > _MOST:
            raise asset.error(f"{what} has {rows} rows and {columns} columns; expected two each, and at most {_MOST:,}")
        given = vector(asset, "elevation", rows * columns, what, (0.0,) * (rows * columns))
        field = np.array(given).reshape(rows, columns)[::-1]  # the text begins with the largest y
    span = float(np.ptp(field))
    heights = (field - field.min()) * (top / span if span else 0.0)
    return heights.T, (2.0 * x, 2.0 * y)


def _from_file(asset: Element, file: str, document: Document, what: str) -> Array | None:
    """Read the numbers of rows and columns, then the elevations, row by row; None for a picture."""
    if file.lower().endswith(".png") or "png" in asset.attributes.get("content_type", ""):
        return None
    source = document.root.source
    if source.startswith("<") and not os.path.isabs(file):
        raise asset.error(f"{what}: text has no directory to find {file!r} in; load it from a file")
    data = open_source(Path(source).parent / document.settings.asset_dir / file, []).data
    raw = data if isinstance(data, bytes) else data.encode()
    rows, columns = (int(k) for k in np.frombuffer(raw, "<i4", 2)) if len(raw) >= 8 else (0, 0)
    if min(rows, columns) < 2 or rows * columns > _MOST or len(raw) != 8 + 4 * rows * columns:
        raise asset.error(f"{what}: {file!r} is broken, or no height field of MuJoCo")
    found = np.frombuffer(raw, "<f4", rows * columns, 8).reshape(rows, columns).astype(np.float64)
    if not np.isfinite(found).all():
        raise asset.error(f"{what}: {file!r} has elevations that are not finite")
    return np.asarray(found)
