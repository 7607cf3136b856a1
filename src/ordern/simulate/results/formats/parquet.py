"""Motions as Parquet files: the table of `to_arrow`, with the header in its metadata. Needs pyarrow."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ....errors import ModelError
from ....memory import machine_memory
from ..tables import library, to_arrow
from .comma import stored

if TYPE_CHECKING:
    from ..result import Result
    from .header import Stored

__all__ = ["read", "write"]

_WHAT = "a Parquet file"
_HEADER, _CHECKSUM = b"ordern", b"ordern.sha256"
_RATIO = 64
"""Snappy makes zeros about twenty times smaller; a file that claims to hold much more is refused."""
_ALWAYS = 1 << 24
"""Bytes in memory that every file may take."""


def write(result: Result, about: dict[str, Any], file: BinaryIO) -> None:
    """Write the table. Pages have checksums; numbers are stored without a dictionary, as few of them repeat."""
    parquet, table = library("pyarrow.parquet", _WHAT), to_arrow(result)
    header = (table.schema.metadata or {}).get(_HEADER, b"")
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), _CHECKSUM: _checksum(header)})
    parquet.write_table(table, file, compression="snappy", use_dictionary=False, write_page_checksum=True)


def read(file: BinaryIO, size: int) -> Stored:
    """Read the columns, and the header if the file has one."""
    parquet, arrow = library("pyarrow.parquet", _WHAT), library("pyarrow", _WHAT)
    try:
        whole = parquet.ParquetFile(file, page_checksum_verification=True)
        schema, rows = whole.schema_arrow, whole.metadata.num_rows
        names = list(schema.names)
        if rows * len(names) * 8 > min(max(_ALWAYS, _RATIO * size), machine_memory()):
            raise ModelError(f"the file has {size} bytes and claims {rows} samples of {len(names)} columns")
        if len(set(names)) < len(names) or any(not arrow.types.is_floating(f.type) for f in schema):
            raise ModelError("the columns of the file are not numbers with different names, so it is not a motion")
        table = whole.read(use_threads=False)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as e:
        raise ModelError(f"the file is not a Parquet file, or is damaged: {str(e)[:200]}") from None
    values = {name: np.asarray(table.column(name).to_numpy(), np.float64) for name in names}
    metadata = whole.metadata.metadata or {}
    header = metadata.get(_HEADER)
    if _CHECKSUM in metadata and metadata[_CHECKSUM] != _checksum(header or b""):
        raise ModelError("the header of the file does not have its checksum: the file is damaged")
    return stored(values, header)


def _checksum(header: bytes) -> bytes:
    """Return the checksum of a header: Parquet has checksums of pages, and none of metadata."""
    return hashlib.sha256(header).hexdigest().encode()
