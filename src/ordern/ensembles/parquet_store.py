"""Results in a folder of Parquet files, one for each block of members."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from .journal import Journal, write_atomically
from .stores import JOURNAL, Store, about, pyarrow
from .work import Block, Column

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Parquet", "column", "numbers", "series_of", "write_table", "written"]


class Parquet(Store):
    """A folder of Parquet files, one for each block: a row for each member, or, with series, for each state.

    With series, each member (episode) is a row group, and has the columns `member` and `t`.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.journal = path, Journal(path.with_name(path.name + JOURNAL))
        self.kind = {"format": "parquet"}
        self._times: AnyArray | None = None
        self._series: tuple[str, ...] = ()
        self._members = 0
        pyarrow()

    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Make the folder, with a description."""
        self.resume(study, columns)
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / "_about.json", json.dumps(about(study), indent=1).encode())

    def resume(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Go on with a folder."""
        self.columns, self._members = columns, study.members
        self._series, self._times = series_of(columns)

    def write(self, number: int, block: Block) -> None:
        """Write the file of a block."""
        pa, pq = pyarrow()
        count = len(next(iter(block.arrays.values())))
        members = np.arange(block.first, block.first + count)
        rows = 1 if self._times is None else len(self._times)
        columns = {"member": np.repeat(members, rows)}
        if self._times is not None:
            columns["t"] = np.tile(self._times, count)
        for name, x in block.arrays.items():
            series = name in self._series
            columns[name] = column(pa, x.reshape(count * rows, *x.shape[2:]) if series else np.repeat(x, rows, axis=0))
        constant = [name for name in columns if name not in self._series] if self._series else False
        with written(self._file(number)) as partial:
            write_table(pq, pa.table(columns), partial, rows if self._series else None, constant)

    def files(self, number: int) -> Iterable[Path]:
        """Return the file of a block."""
        return [self._file(number)]

    def read(self, name: str) -> Any:
        """Return an array of all members, read file by file; NaN for members that have not been run."""
        _, pq = pyarrow()
        x = self.columns[name]
        found = np.full((self._members, *x.shape), math.nan if x.dtype.kind == "f" else 0, x.dtype)
        rows = len(self._times) if self._series and self._times is not None else 1
        for path in sorted(self.path.glob("block-*.parquet")):
            table = pq.read_table(path, columns=["member", name])
            first, count = table["member"][0].as_py(), len(table) // rows
            values = numbers(table[name]).reshape(count, rows, -1)
            values = values if name in self._series else values[:, 0]
            found[first : first + count] = values.reshape(count, *x.shape)
        return found

    def names(self) -> list[str]:
        """Return the names of all arrays."""
        return list(self.columns)

    def exists(self) -> bool:
        """Return True if there is a folder."""
        return (self.path / "_about.json").exists()

    def _file(self, number: int) -> Path:
        return self.path / f"block-{number:09d}.parquet"


def series_of(columns: Mapping[str, Column]) -> tuple[tuple[str, ...], AnyArray | None]:
    """Return the names of arrays over time, and their times."""
    timed = {name: x for name, x in columns.items() if "time" in x.dims}
    return tuple(sorted(timed)), next((x.times for x in timed.values()), None)


def write_table(pq: Any, table: Any, path: Path, rows: int | None, repeated: Any) -> None:
    """Write a table in row groups of so many rows; columns whose numbers are `repeated` have dictionaries.

    Dictionaries and statistics of numbers that are all different would take more space than the numbers of an episode.
    """
    pq.write_table(table, path, row_group_size=rows, use_dictionary=repeated, write_statistics=["member"])


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give the name under which a file is written; it has its own name when it is complete."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    yield partial
    partial.replace(path)


def column(pa: Any, x: AnyArray) -> Any:
    """Return an array as a column; rows with several numbers become lists."""
    if x.ndim == 1:
        return pa.array(x)
    flat = pa.array(np.ascontiguousarray(x).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, math.prod(x.shape[1:]))


def numbers(x: Any) -> AnyArray:
    """Return all numbers of a column in a row."""
    whole = x.combine_chunks()
    while hasattr(whole, "flatten") and hasattr(whole.type, "value_type"):
        whole = whole.flatten()
    return np.asarray(whole.to_numpy(zero_copy_only=False))
