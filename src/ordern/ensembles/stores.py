"""Places for the results of an ensemble: the interface of all of them, and arrays in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import ArgumentError
from .journal import Journal
from .work import Block, Column

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["JOURNAL", "Memory", "Store", "about", "attributes", "pyarrow"]

JOURNAL = ".journal"
"""The journal of `falls.zarr` is the folder `falls.zarr.journal`."""


class Store(ABC):
    """A place for results. Workers in other processes get a copy of it."""

    journal: Journal | None = None
    path: Path = Path()
    kind: Mapping[str, str] = MappingProxyType({})
    """The format, and what else may not change between a run and the one that goes on with it."""
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

    def files(self, number: int) -> Iterable[Path]:
        """Return the files of a block. They must be on the disk before the journal says so."""
        return ()

    def finish(self, study: Ensemble, members: int, failed: Sequence[int]) -> None:  # noqa: B027 - most need no more
        """Write what describes the results as a whole, once all `members` have been run."""

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


def about(study: Ensemble) -> dict[str, Any]:
    """Return the description of a study that is stored with its results."""
    from .. import __version__

    return {
        "robot": study.robot.name,
        "members": study.members,
        "ordern": __version__,
        "study": repr(study),
        "key": study.key,
    }


def attributes(study: Ensemble, x: Column) -> dict[str, Any]:
    """Return the units of an array, and the labels along its axes: in Zarr, text has no arrays of its own."""
    found: dict[str, Any] = {}
    if isinstance(x.unit, tuple):
        found[f"{x.dims[-1]}_units"] = list(x.unit)
    elif x.unit:
        found["units"] = x.unit
    labels = {dim: study.labels(dim) for dim in x.dims}
    return found | {f"{dim}_labels": list(names) for dim, names in labels.items() if names is not None}


def pyarrow() -> tuple[Any, Any]:
    """Return the packages that write Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ArgumentError("results in Parquet need the package pyarrow: pip install ordern[data]") from None
    return pyarrow, pyarrow.parquet
