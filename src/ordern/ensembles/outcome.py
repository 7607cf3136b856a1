"""The outcome of an ensemble: arrays by name, answers of reductions, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import unknown_name
from ..records import dataclass
from ..screen.progress import lasting
from .stores import Store, attributes
from .zarr_store import Zarr

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["Outcome"]


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """The results of an ensemble: `outcome["q_final"]` has a row for each member, `outcome["height"]` may be moments.

    `outcome.keys()` lists them; `outcome["time"]` has the times of series.

    Arrays that are stored in Zarr are read when they are indexed.
    """

    study: Ensemble
    store: Store
    members: int
    """The number of members that were run: fewer than asked for, if `stop` was reached."""
    reductions: Mapping[str, Any]
    """The answers of reductions by name."""
    reasons: Mapping[int, str]
    """Why members failed, by their numbers."""
    seconds: float
    """The time of the last run."""
    earlier: int = 0
    """The number of members that earlier runs had done."""

    def __getitem__(self, name: str) -> Any:
        """Return an array with a row for each member, or the answer of a reduction."""
        if name in self.reductions:
            return self.reductions[name]
        times = self._times
        if name == "time" and times is not None:
            return times
        if name not in self.store.names():
            raise unknown_name("result", name, self.keys(), self.study.robot.name)
        found = self.store.read(name)
        return found[: self.members] if isinstance(found, np.ndarray) else found

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Return the names of all results: arrays, the times of series, reductions."""
        return [*self.store.names(), *(() if self._times is None else ("time",)), *self.reductions]

    @property
    def _times(self) -> AnyArray | None:
        """The times of series; None without series."""
        return next((x.times for x in self.store.columns.values() if x.times is not None), None)

    def failures(self) -> dict[int, str]:
        """Return the reasons of members that failed, by their numbers."""
        return dict(self.reasons)

    def to_xarray(self) -> Any:
        """Return all arrays as an `xarray.Dataset` with named dimensions; from Zarr, they are read when needed."""
        import xarray as xr

        if isinstance(self.store, Zarr):
            found = xr.open_zarr(str(self.store.path), consolidated=False)
        else:
            columns = {x: self.store.columns[x] for x in self.store.names()}
            found = xr.Dataset(
                {name: (("member", *x.dims), self[name], attributes(self.study, x)) for name, x in columns.items()}
            )
            times = self._times
            found = found if times is None else found.assign_coords(time=("time", times, {"units": "s"}))
        labels = {dim: self.study.labels(dim) for dim in found.dims}
        return found.assign_coords({dim: list(x) for dim, x in labels.items() if x is not None})

    def columns(self) -> dict[str, Any]:
        """Return all numbers of members as columns, of shape (members,) each, by names such as "q_final[0]"."""
        found: dict[str, Any] = {}
        for name in self.store.names():
            x = np.asarray(self[name])[: self.members]
            if x.ndim == 1:
                found[name] = x
            else:
                flat = x.reshape(len(x), -1)
                names = (f"{name}[{', '.join(map(str, k))}]" for k in np.ndindex(x.shape[1:]))
                found |= {label: flat[:, k] for k, label in enumerate(names)}
        return found

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with a row for each member, and a column for each number."""
        import pandas as pd

        return pd.DataFrame(self.columns()).rename_axis("member")

    def __repr__(self) -> str:
        earlier = f", {self.earlier:,} of them done before," if self.earlier else ""
        lines = [f"{self.members:,} runs of {self.study.robot.name!r}{earlier} in {lasting(self.seconds)}"]
        if self.reasons:
            common = Counter(self.reasons.values()).most_common(1)[0][0]
            lines.append(f"{len(self.reasons):,} failed, most of them because: {common}")
        lines += [f"{name}: {x!r}" for name, x in self.reductions.items()]
        return "\n  ".join(lines)
