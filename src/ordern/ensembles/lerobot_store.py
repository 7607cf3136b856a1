"""Results as a LeRobot dataset (version 3): episodes in Parquet files, with features, tasks and statistics.

Each block of members is a data file, with a row group for each episode, and a file of episodes with their statistics.
Workers write both. LeRobot numbers episodes and frames without gaps, and an episode of a failed member would spoil
training, so failed members are left out. How many failed in earlier blocks is known in the end only: `finish` gives the
blocks behind a failed member their final numbers. It writes `meta/info.json` last, so that a dataset which loads is
complete.
"""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..errors import ArgumentError
from .journal import Journal, flush, write_atomically
from .lerobot_statistics import Summary, episode_statistics
from .parquet_store import column, numbers, series_of, write_table, written
from .stores import JOURNAL, Store, about, pyarrow
from .work import Block, Column

if TYPE_CHECKING:
    from .ensemble import Ensemble

__all__ = ["LeRobot"]

_VERSION = "v3.0"
_FILES = 1000
"""Files of one folder, as LeRobot counts them."""
_PLACE = "chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
_DATA, _EPISODES = f"data/{_PLACE}", f"meta/episodes/{_PLACE}"
_INFO, _STATISTICS, _TASKS = "meta/info.json", "meta/stats.json", "meta/tasks.parquet"
_COUNTED = ("timestamp", "frame_index")
"""Numbers that every dataset has, and that are the same in each episode."""
_LARGEST = 1_000_000
"""Names of folders have three digits: with more files, LeRobot would read them in another order."""


class LeRobot(Store):
    """A dataset for LeRobot: positions and velocities are `observation.state`, joint forces are `action`."""

    def __init__(self, path: Path, task: str | None) -> None:
        self.path, self.journal = path, Journal(path.with_name(path.name + JOURNAL))
        self._task = task
        self.kind = {"format": "lerobot", "task": task or ""}
        pyarrow()
        _pandas()

    def create(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Make the folder, with a description."""
        self.resume(study, columns)
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path / "about.json", json.dumps(about(study), indent=1).encode())

    def resume(self, study: Ensemble, columns: Mapping[str, Column]) -> None:
        """Go on with a folder."""
        series, times = series_of(columns)
        if "q" not in series or times is None or len(times) < 2:
            raise ArgumentError("Ensemble.run: format='lerobot' stores episodes: `keep` must have 'series'")
        if study.blocks > _LARGEST:
            raise ArgumentError(
                f"Ensemble.run: format='lerobot' takes {_LARGEST:,} files at most, and this study has {study.blocks:,} "
                f"blocks; give the ensemble block={2 * study.block * (study.blocks // _LARGEST)} or more"
            )
        self.columns, self._times, self._members, self._block = columns, times, study.members, study.block
        self._blocks = study.blocks
        self._own = tuple(x for x in series if x not in ("q", "v", "tau"))
        self._each = tuple(x for x in columns if x not in series and x != "failed")
        self._text = self._task or f"Move {study.robot.name}."
        labels = {x: list(study.labels(x) or ()) for x in ("position", "velocity")}
        self._names = {
            "observation.state": [f"{x}.pos" for x in labels["position"]] + [f"{x}.vel" for x in labels["velocity"]],
            "action": [f"{x}.effort" for x in labels["velocity"]],
        }

    def write(self, number: int, block: Block) -> None:
        """Write the data and the episodes of a block, numbered as if no member of an earlier block had failed."""
        pa, pq = pyarrow()
        failed = {member - block.first for member, _ in block.failures}
        count = len(block.arrays["q"])
        fine = np.array([k for k in range(count) if k not in failed], np.int64)
        if not len(fine):
            return  # LeRobot takes no file without episodes
        arrays = {name: x[fine] for name, x in block.arrays.items()}
        features = self._features(arrays)
        first, members = block.first, block.first + fine
        data, episodes = self.files(number)
        for path in (data, episodes):
            path.parent.mkdir(parents=True, exist_ok=True)
        with written(data) as partial:
            self._write_frames(partial, self._frames(pa, features, first, members))
        rows = self._described(pa, number, first, members, features)
        for name in self._each:
            shape = self.columns[name].shape
            rows[name] = column(pa, arrays[name].reshape(len(fine), math.prod(shape)) if shape else arrays[name])
        with written(episodes) as partial:
            pq.write_table(pa.table(rows), partial)

    def _features(self, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
        """Return what each frame holds, of shape (members, times, numbers)."""
        count, rows = arrays["q"].shape[:2]
        found = {"observation.state": np.concatenate([arrays["q"], arrays["v"]], axis=-1)}
        if "tau" in arrays:
            found["action"] = arrays["tau"]
        found |= {x: arrays[x].reshape(count, rows, math.prod(self.columns[x].shape[1:])) for x in self._own}
        found = {name: x.astype(np.float32) for name, x in found.items()}
        found["next.done"] = np.zeros((count, rows, 1), bool)
        found["next.done"][:, -1] = True
        return found

    def _frames(self, pa: Any, features: Mapping[str, AnyArray], first: int, members: AnyArray) -> Any:
        """Return the rows of all episodes, which are numbered from `first` on."""
        count, rows = len(members), len(self._times)
        columns: dict[str, Any] = {
            name: column(pa, _plain(x.reshape(count * rows, x.shape[-1]))) for name, x in features.items()
        }
        columns |= {"timestamp": np.tile(self._times.astype(np.float32), count)}
        columns |= {"frame_index": np.tile(np.arange(rows), count), **_numbered(first, count, rows)}
        columns |= {"task_index": np.zeros(count * rows, np.int64), "member": np.repeat(members, rows)}
        return pa.table(columns)

    def _write_frames(self, path: Path, table: Any) -> None:
        """Write the rows of episodes, with a row group for each."""
        repeated = ["episode_index", "task_index", "member", "next.done"]
        write_table(pyarrow()[1], table, path, len(self._times), repeated)

    def _described(
        self, pa: Any, number: int, first: int, members: AnyArray, features: Mapping[str, AnyArray]
    ) -> dict[str, Any]:
        """Return the rows of episodes: numbers, places and statistics."""
        rows, count = len(self._times), len(members)
        episodes = first + np.arange(count)
        found: dict[str, Any] = {"episode_index": episodes, "member": members}
        found["tasks"] = pa.array([[self._text]] * count, pa.list_(pa.string()))
        found |= {"length": np.full(count, rows), **_bounds(episodes, rows)}
        for name in ("data", "meta/episodes"):
            found |= {f"{name}/chunk_index": np.full(count, number // _FILES)}
            found |= {f"{name}/file_index": np.full(count, number % _FILES)}
        every = {name: np.broadcast_to(x[None, :, None], (count, rows, 1)) for name, x in self._counted().items()}
        for name, x in {**features, **every}.items():
            for statistic, values in episode_statistics(x).items():
                found[f"stats/{name}/{statistic}"] = pa.array(values.tolist(), pa.list_(_ARROW[values.dtype.kind](pa)))
        return found

    def _counted(self) -> dict[str, AnyArray]:
        return dict(zip(_COUNTED, (self._times, np.arange(len(self._times), dtype=float)), strict=True))

    def finish(self, study: Ensemble, members: int, failed: Sequence[int]) -> None:
        """Number episodes without gaps, and write the tasks, the statistics of all episodes, and the description."""
        pa, pq = pyarrow()
        lost = sorted(x for x in failed if x < members)
        summary = Summary()
        for number in range(-(-members // self._block)):
            data, episodes = self.files(number)
            if not episodes.exists():  # all of them failed
                continue
            first = number * self._block
            first -= bisect.bisect_left(lost, first)
            table = pq.read_table(episodes)
            if lost:
                self._renumber_frames(pa, pq, data, first)
                table = _renumber_episodes(pa, pq, episodes, table, first, len(self._times))
            summary.add({x: numbers(table[x]) for x in table.column_names if x.startswith("stats/")}, len(table))
        with written(self.path / _TASKS) as partial:
            _pandas().DataFrame({"task_index": [0]}, index=[self._text]).to_parquet(partial)
        write_atomically(self.path / _STATISTICS, json.dumps(summary.answer(), indent=4).encode())
        info = self._info(study, members - len(lost))
        write_atomically(self.path / _INFO, json.dumps(info, indent=4, ensure_ascii=False).encode())

    def _renumber_frames(self, pa: Any, pq: Any, path: Path, first: int) -> None:
        """Give the episodes of a data file their final numbers, from `first` on, if they have others."""
        table, rows = pq.read_table(path), len(self._times)
        if table["episode_index"][0].as_py() == first:
            return
        for name, x in _numbered(first, len(table) // rows, rows).items():
            table = _replaced(pa, table, name, x)
        with written(path) as partial:
            self._write_frames(partial, table)
        flush(path)

    def _info(self, study: Ensemble, episodes: int) -> dict[str, Any]:
        times, shapes = self._times, {name: x.shape for name, x in self.columns.items()}
        rate = (len(times) - 1) / float(times[-1] - times[0])
        arrays = {name: np.zeros((1, *shapes[name])) for name in ("q", "v", "tau", *self._own) if name in shapes}
        features = {
            name: {"dtype": x.dtype.name, "shape": list(x.shape[2:]), "names": self._names.get(name)}
            for name, x in self._features(arrays).items()
        }
        kinds = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64"}
        for name, dtype in {**kinds, "task_index": "int64", "member": "int64"}.items():
            features[name] = {"dtype": dtype, "shape": [1], "names": None}
        return {
            **{"codebase_version": _VERSION, "robot_type": study.robot.name, "total_episodes": episodes},
            **{"total_frames": episodes * len(times), "total_tasks": 1, "chunks_size": _FILES},
            **{"data_files_size_in_mb": 100, "video_files_size_in_mb": 200},
            "fps": round(rate) if abs(rate - round(rate)) < 1e-6 * rate else rate,
            **{"splits": {"train": f"0:{episodes}"}, "data_path": _DATA, "video_path": None, "features": features},
        }

    def read(self, name: str) -> Any:
        """Return an array of all members, read file by file; NaN for those that failed, False where it is a flag."""
        _, pq = pyarrow()
        x, rows = self.columns[name], len(self._times)
        if name == "failed":
            found = np.ones(self._members, bool)
        else:
            found = np.full((self._members, *x.shape), *_empty(x.dtype))
        nq = self.columns["q"].shape[-1]
        parts = {"q": ("observation.state", slice(0, nq)), "v": ("observation.state", slice(nq, None))}
        source, part = parts.get(name, ("action" if name == "tau" else name, slice(None)))
        timed = name not in self._each and name != "failed"
        for number in range(self._blocks):
            path = self.files(number)[0 if timed else 1]
            if not path.exists():
                continue
            table = pq.read_table(path, columns=["member"] if name == "failed" else ["member", source])
            if name == "failed":
                found[numbers(table["member"])] = False
            elif timed:
                values = numbers(table[source]).reshape(len(table) // rows, rows, -1)[..., part]
                found[numbers(table["member"])[::rows]] = values.reshape(len(values), *x.shape)
            else:
                found[numbers(table["member"])] = numbers(table[source]).reshape(len(table), *x.shape)
        return found

    def names(self) -> list[str]:
        """Return the names of all arrays."""
        return list(self.columns)

    def exists(self) -> bool:
        """Return True if there is a folder."""
        return (self.path / "about.json").exists()

    def files(self, number: int) -> tuple[Path, Path]:
        """Return the files of a block: its data, and its episodes."""
        at = {"chunk_index": number // _FILES, "file_index": number % _FILES}
        return self.path / _DATA.format(**at), self.path / _EPISODES.format(**at)


def _renumber_episodes(pa: Any, pq: Any, path: Path, table: Any, first: int, rows: int) -> Any:
    """Return the table of episodes with their final numbers, and store it if it has others."""
    if table["episode_index"][0].as_py() == first:
        return table
    episodes = first + np.arange(len(table))
    for name, x in {"episode_index": episodes, **_bounds(episodes, rows)}.items():
        table = _replaced(pa, table, name, x)
    with written(path) as partial:
        pq.write_table(table, partial)
    flush(path)
    return table


def _numbered(first: int, count: int, rows: int) -> dict[str, AnyArray]:
    """Return the numbers of episodes, and of their frames in the dataset."""
    return {
        "episode_index": np.repeat(first + np.arange(count), rows),
        "index": first * rows + np.arange(count * rows),
    }


def _bounds(episodes: AnyArray, rows: int) -> dict[str, AnyArray]:
    """Return the first frame of each episode in the dataset, and the one after its last."""
    return {"dataset_from_index": episodes * rows, "dataset_to_index": (episodes + 1) * rows}


def _replaced(pa: Any, table: Any, name: str, x: AnyArray) -> Any:
    return table.set_column(table.column_names.index(name), name, pa.array(x))


def _plain(x: AnyArray) -> AnyArray:
    """Return rows with one number each as numbers, as LeRobot stores them."""
    return x[:, 0] if x.shape[1:] == (1,) else x


def _empty(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    return (np.nan, dtype) if dtype.kind == "f" else (0, dtype)


_ARROW = {"f": lambda pa: pa.float64(), "i": lambda pa: pa.int64()}


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ArgumentError("format='lerobot' needs the package pandas: pip install ordern[data]") from None
    return pandas
