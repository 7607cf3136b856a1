"""Results in Zarr, version 3: chunked arrays that xarray and Dask read lazily."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from .journal import Journal
from .stores import JOURNAL, Store, about, attributes
from .work import Block, Column

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Zarr"]


class Zarr(Store):
    """A Zarr group (version 3 of the format), one chunk along the members for each block."""

    def __init__(self, path: Path) -> None:
        self.path, self.journal = path, Journal(path.with_name(path.name + JOURNAL))
        self.kind = {"format": "zarr"}
        _zarr()

    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Make the group, its arrays, and the labels along their axes."""
        self.columns = columns
        zarr = _zarr()
        group = zarr.open_group(str(self.path), mode="a", zarr_format=3)
        group.attrs.update(about(study))
        for name, x in columns.items():
            made = group.create_array(
                name, shape=(study.members, *x.shape), chunks=(study.block, *(max(1, n) for n in x.shape)),
                dtype=x.dtype, dimension_names=("member", *x.dims), fill_value=_fill(x.dtype), overwrite=True,
            )  # fmt: skip
            made.attrs.update(attributes(study, x))
            if x.times is not None and "time" not in group:
                times = group.create_array("time", shape=x.times.shape, dtype=x.times.dtype, dimension_names=("time",))
                times[:] = x.times
                times.attrs["units"] = "s"

    def write(self, number: int, block: Block) -> None:
        """Write the chunks of a block, each as a whole."""
        group = _zarr().open_group(str(self.path), mode="r+")
        for name, x in block.arrays.items():
            group[name][block.first : block.first + len(x)] = x

    def files(self, number: int) -> Iterable[Path]:
        """Return the chunks of a block."""
        return [self.path.joinpath(name, "c", str(number), *("0" for n in x.shape)) for name, x in self.columns.items()]

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


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ArgumentError(
            "results in Zarr need the package zarr (Python 3.11 or later): pip install ordern[ensemble]; for Parquet, "
            "give `out` a name that ends in .parquet"
        ) from None
    return zarr


def _fill(dtype: np.dtype[Any]) -> Any:
    return np.nan if dtype.kind == "f" else 0
