"""Where the results of an ensemble go: memory, Zarr, or a folder of Parquet files; and CSV files from memory."""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import ArgumentError
from .journal import Journal, write_atomically
from .work import Block, Column

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["FORMATS", "Memory", "Parquet", "Store", "Zarr", "store_of"]

_JOURNAL = ".journal"


class Store(ABC):
    """A place for results. Workers in other processes get a copy of it."""

    journal: Journal | None = None
    path: Path = Path()

    columns: Mapping[str, Column]
    """The arrays, once the store is made or taken up again."""

    def resume(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Go on with a store that an earlier run has made."""
        self.columns = columns

    @abstractmethod
    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Make room for all members."""

    @abstractmethod
    def write(self, number: int, block: Block) -> None:
        """Write the arrays of a block."""

    @abstractmethod
    def read(self, name: str) -> Any:
        """Return an array of all members; from a file, as little as possible is read."""

    def exists(self) -> bool:
        """Return True if an earlier run has begun it."""
        return False

    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of all arrays."""


class Memory(Store):
    """Arrays in memory."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}

    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Allocate arrays."""
        self.columns = columns
        self.arrays = {name: np.empty((study.members, *x.shape), x.dtype) for name, x in columns.items()}

    def write(self, number: int, block: Block) -> None:
        """Copy the arrays of a block."""
        for name, x in block.arrays.items():
            self.arrays[name][block.first : block.first + len(x)] = x

    def read(self, name: str) -> Any:
        """Return an array."""
        return self.arrays[name]

    def names(self) -> list[str]:
        """Return the names of all arrays."""
        return list(self.arrays)


class Zarr(Store):
    """A Zarr group (version 3 of the format), one chunk along the members for each block."""

    def __init__(self, path: Path) -> None:
        self.path, self.journal = path, Journal(path.with_name(path.name + _JOURNAL))
        _zarr()

    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Make the group, its arrays, and the labels along their axes."""
        self.columns = columns
        zarr = _zarr()
        group = zarr.open_group(str(self.path), mode="a", zarr_format=3)
        group.attrs.update(_about(study))
        for name, x in columns.items():
            made = group.create_array(
                name, shape=(study.members, *x.shape), chunks=(study.block, *(max(1, n) for n in x.shape)),
                dtype=x.dtype, dimension_names=("member", *x.dims), fill_value=_fill(x.dtype), overwrite=True,
            )  # fmt: skip
            if x.unit:
                made.attrs["units"] = x.unit
            for dim in x.dims:
                labels = study.labels(dim)
                if labels is not None:  # text has no specification in version 3 of the format
                    made.attrs[f"{dim}_labels"] = list(labels)
            if x.times is not None and "time" not in group:
                times = group.create_array("time", shape=x.times.shape, dtype=x.times.dtype, dimension_names=("time",))
                times[:] = x.times
                times.attrs["units"] = "s"

    def write(self, number: int, block: Block) -> None:
        """Write the chunks of a block, each as a whole."""
        group = _zarr().open_group(str(self.path), mode="r+")
        for name, x in block.arrays.items():
            group[name][block.first : block.first + len(x)] = x

    def read(self, name: str) -> Any:
        """Return a Zarr array, which reads what is indexed."""
        return _zarr().open_group(str(self.path), mode="r")[name]

    def names(self) -> list[str]:
        """Return the names of all arrays with a row for each member."""
        group = _zarr().open_group(str(self.path), mode="r")
        return [name for name, x in group.arrays() if (x.metadata.dimension_names or ("",))[0] == "member"]

    def exists(self) -> bool:
        """Return True if there is a group."""
        return (self.path / "zarr.json").exists()


class Parquet(Store):
    """A folder of Parquet files, one for each block: a row for each member, or, with series, for each state.

    With series, each member (episode) is a row group, and has the columns `member` and `t`.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.journal = path, Journal(path.with_name(path.name + _JOURNAL))
        self._times: AnyArray | None = None
        self._series: tuple[str, ...] = ()
        _pyarrow()

    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Make the folder, with a description."""
        self.resume(study, columns)
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / "_about.json", json.dumps(_about(study), indent=1).encode())

    def resume(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Go on with a folder."""
        self.columns = columns
        timed = {name: x for name, x in columns.items() if "time" in x.dims}
        self._series = tuple(sorted(timed))
        self._times = next((x.times for x in timed.values()), None)

    def write(self, number: int, block: Block) -> None:
        """Write the file of a block."""
        pa, pq = _pyarrow()
        path = self.path / f"block-{number:09d}.parquet"
        partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
        count = len(next(iter(block.arrays.values())))
        members = np.arange(block.first, block.first + count)
        if not self._series:
            table = pa.table({"member": members, **{name: _column(pa, x) for name, x in block.arrays.items()}})
            pq.write_table(table, partial)
        else:
            self._write_episodes(pa, pq, partial, members, block)
        partial.replace(path)

    def _write_episodes(self, pa: Any, pq: Any, partial: Path, members: AnyArray, block: Block) -> None:
        writer = None
        t = self._times
        assert t is not None
        rows = len(t)
        for k, member in enumerate(members):
            columns = {"member": np.full(rows, member), "t": t}
            columns |= {name: _column(pa, block.arrays[name][k]) for name in self._series}
            for name, x in block.arrays.items():
                if name not in self._series:
                    columns[name] = _column(pa, np.repeat(x[k : k + 1], rows, axis=0))
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(partial, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    def read(self, name: str) -> Any:
        """Return a column of all files, as an array."""
        import pyarrow.dataset as ds

        table = ds.dataset(self._files(), format="parquet").to_table(columns=[name])
        return np.array(table[name].to_pylist(), float)

    def names(self) -> list[str]:
        """Return the names of all columns."""
        import pyarrow.dataset as ds

        return [x for x in ds.dataset(self._files(), format="parquet").schema.names if x not in ("member", "t")]

    def exists(self) -> bool:
        """Return True if there is a folder."""
        return (self.path / "_about.json").exists()

    def _files(self) -> list[str]:
        return sorted(map(str, self.path.glob("block-*.parquet")))


FORMATS = {".zarr": Zarr, ".parquet": Parquet}


def store_of(out: Any, format: str | None) -> tuple[Store, Path | None]:
    """Return the store for a path, and the path of a CSV file that is written from memory in the end."""
    if out is None:
        if format is not None:
            raise ArgumentError(f"Ensemble.run: format={format!r} needs `out`")
        return Memory(), None
    path = Path(out)
    if not path.absolute().parent.is_dir():
        raise ArgumentError(f"Ensemble.run: the folder {path.absolute().parent} of `out` does not exist")
    ending = f".{format}" if format is not None else path.suffix
    if ending == ".csv":
        return Memory(), path
    if ending not in FORMATS:
        raise ArgumentError(
            f"Ensemble.run: {str(path)!r} has no known ending; give a name that ends in .zarr, .parquet or .csv, "
            "or `format`"
        )
    return FORMATS[ending](path), None


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ArgumentError(
            "results in Zarr need the package zarr (Python 3.11 or later): pip install ordern[ensemble]; for Parquet, "
            "give `out` a name that ends in .parquet"
        ) from None
    return zarr


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ArgumentError("results in Parquet need the package pyarrow: pip install ordern[data]") from None
    return pyarrow, pyarrow.parquet


def _about(study: Ensemble) -> dict[str, Any]:
    from .. import __version__

    return {
        "robot": study.robot.name,
        "members": study.members,
        "ordern": __version__,
        "study": repr(study),
        "key": study.key,
    }


def _column(pa: Any, x: AnyArray) -> Any:
    """Return an array as a column; rows with several numbers become lists."""
    if x.ndim == 1:
        return pa.array(x)
    flat = pa.array(np.ascontiguousarray(x).reshape(-1))
    size = int(np.prod(x.shape[1:]))
    return pa.FixedSizeListArray.from_arrays(flat, size)


def _fill(dtype: np.dtype[Any]) -> Any:
    return np.nan if dtype.kind == "f" else 0
