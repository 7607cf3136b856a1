"""Statistics of a LeRobot dataset: of each episode, and of all of them, by which policies scale their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arguments import AnyArray, Array

__all__ = ["Summary", "episode_statistics"]

_QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}


def episode_statistics(x: AnyArray) -> dict[str, AnyArray]:
    """Return the statistics of each episode by name, of shape (episodes, numbers), from (episodes, frames, numbers)."""
    frames = x.astype(np.float64)
    found: dict[str, AnyArray] = {"min": frames.min(axis=1), "max": frames.max(axis=1)}
    found |= {"mean": frames.mean(axis=1), "std": frames.std(axis=1)}
    found["count"] = np.full((len(x), 1), x.shape[1], np.int64)
    quantiles = np.quantile(frames, list(_QUANTILES.values()), axis=1)
    return {**found, **dict(zip(_QUANTILES, quantiles, strict=True))}


class Summary:
    """The statistics of all episodes, from files of them in their order.

    Means and standard deviations are merged as Chan, Golub and LeVeque 1979 do; quantiles are the means of those of the
    episodes, as LeRobot itself merges them.
    """

    def __init__(self) -> None:
        self._features: dict[str, dict[str, Array]] = {}

    def add(self, statistics: Mapping[str, AnyArray], episodes: int) -> None:
        """Add some episodes: the numbers of each column "stats/feature/statistic", in a row."""
        by_feature: dict[str, dict[str, AnyArray]] = {}
        for name, x in statistics.items():
            _, feature, statistic = name.split("/")
            by_feature.setdefault(feature, {})[statistic] = x.reshape(episodes, -1)
        for feature, found in by_feature.items():
            new = _merged(found)
            old = self._features.get(feature)
            self._features[feature] = new if old is None else _merged({x: np.stack([old[x], new[x]]) for x in new})

    def answer(self) -> dict[str, dict[str, Any]]:
        """Return the statistics of each feature, as they are written."""
        return {
            name: {x: ([int(y[0])] if x == "count" else y.tolist()) for x, y in found.items()}
            for name, found in self._features.items()
        }


def _merged(x: Mapping[str, AnyArray]) -> dict[str, Array]:
    """Return the statistics of several parts together, each given with a row for each part."""
    n = x["count"].astype(np.float64)
    whole = n.sum(axis=0)
    mean = (n * x["mean"]).sum(axis=0) / whole
    variance = (n * (x["std"] ** 2 + (x["mean"] - mean) ** 2)).sum(axis=0) / whole
    found = {"min": x["min"].min(axis=0), "max": x["max"].max(axis=0), "mean": mean, "std": np.sqrt(variance)}
    return {**found, "count": whole, **{q: (n * x[q]).sum(axis=0) / whole for q in _QUANTILES}}
