"""Motions as NPZ files: a ZIP archive of NumPy arrays, which `np.load` opens too.

Arrays are stored as they are, without compression: reading is fast, and no file becomes larger in memory than it is on
disk. The header is the array "header", the bytes of its JSON text. Polynomials of the integrator's dense output are in
"dense.t" and "dense.coefficients".
"""

from __future__ import annotations

import io
import json
import math
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ....errors import ModelError
from ....memory import machine_memory
from ...integrators.dense import Dense
from .header import ARRAYS, Stored, parsed

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["read", "write"]


def write(result: Result, about: dict[str, Any], file: BinaryIO) -> None:
    """Write all arrays, and the header."""
    text = json.dumps(about, separators=(",", ":")).encode()
    arrays: dict[str, NDArray[Any]] = {"header": np.frombuffer(text, np.uint8)}
    arrays |= {name: getattr(result, name) for name in about["arrays"]}
    arrays |= {f"extra.{name}": x for name, x in result.extra.items()}
    if isinstance(result.dense, Dense):
        arrays |= {"dense.t": result.dense.t, "dense.coefficients": result.dense.coefficients}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, x in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(x), allow_pickle=False)


def read(file: BinaryIO, size: int) -> Stored:
    """Read a file of `write`, and check everything in it."""
    if size > machine_memory():
        raise ModelError(f"the file has {size:,} bytes, which do not fit into the memory of this machine")
    try:
        with zipfile.ZipFile(file) as archive:
            about = parsed(_array(archive, "header", np.uint8, size).tobytes())
            n = about["samples"]
            shapes: dict[str, tuple[int, ...]] = dict.fromkeys(ARRAYS, (n,))
            shapes |= {"q": (n, len(about["q"]))} | dict.fromkeys(("v", "a", "tau"), (n, len(about["v"])))
            shapes = {name: shapes[name] for name in about["arrays"]}
            shapes |= {f"extra.{name}": (n, *shape) for name, shape in about["extra"]}
            arrays, left = {}, size
            for name, shape in shapes.items():
                x = _array(archive, name, np.float64, left)
                if x.shape != shape:
                    raise ModelError(f"the array {name!r} has the shape {x.shape}, not {shape}")
                arrays[name] = x
                left -= x.nbytes
            between = _between(archive, len(about["q"]) + len(about["v"]), left)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError) as e:
        raise ModelError(f"the file is not an NPZ file, or is damaged: {e}") from None
    return Stored(about, arrays, between=between)


def _between(archive: zipfile.ZipFile, width: int, most: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the dense output: times of k + 1 ends of steps, and k polynomials (k, m, nq + nv) between them."""
    if "dense.t.npy" not in archive.namelist():
        return None
    t, c = (_array(archive, f"dense.{name}", np.float64, most) for name in ("t", "coefficients"))
    if t.ndim != 1 or c.ndim != 3 or c.shape != (len(t) - 1, c.shape[1], width) or not c.size:
        raise ModelError(f"the dense output is damaged: it has {t.shape} times and {c.shape} coefficients")
    if not np.isfinite(t).all() or not (np.diff(t) > 0.0).all():
        raise ModelError("the dense output is damaged: its times do not increase")
    return t, c


def _array(archive: zipfile.ZipFile, name: str, dtype: type, most: int) -> NDArray[Any]:
    """Return one array. Its header must fit the size of the file before memory is allocated for it."""
    try:
        info = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise ModelError(f"the file has no array {name!r}, so it is not a motion, or is damaged") from None
    if info.compress_type != zipfile.ZIP_STORED:
        raise ModelError(f"the array {name!r} is compressed; motions are stored without compression")
    if info.file_size > most:
        raise ModelError(f"the array {name!r} is larger than the file")
    data = archive.read(info)
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, found = reader(stream)
    except (ValueError, KeyError, TypeError, SyntaxError, RecursionError) as e:
        raise ModelError(f"the array {name!r} cannot be read: {e}") from None
    start, count = stream.tell(), math.prod(shape)
    if found != np.dtype(dtype) or min(shape, default=0) < 0 or count * found.itemsize != len(data) - start:
        raise ModelError(f"the array {name!r} is damaged: it is of {found} with the shape {shape}")
    return np.frombuffer(data, found, count, start).reshape(shape, order="F" if fortran else "C")
