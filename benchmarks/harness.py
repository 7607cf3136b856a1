"""Benchmarks by name: registration, timing side by side, and one line per figure.

Machines are shared and noisy. So contestants take turns, round after round; a time is the best of all rounds, a ratio
is the median of the rounds' ratios. Where only one thread is at work its processor time counts, which is that of the
clock on the wall if nobody else wants the processor.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Figure = tuple[str, float | int] | tuple[str, float | int, str]
"""A name, a value, and what is asked of it, such as "at most 2.3", if anything is.

A name that begins with `vs_` is a ratio of times: above 1, the other needs longer than we do. One that begins with
`per_` is the ratio of our own times: how many of the other it takes.
"""
Figures = Iterator[Figure]


@dataclass
class Settings:
    """The settings of a run: how many rounds, and how long each of them is."""

    rounds: int = 15
    slice_s: float = 0.006
    """The time of each contestant in a round, in seconds."""
    quick: bool = False

    def hurry(self) -> None:
        self.rounds, self.slice_s, self.quick = 5, 0.003, True


settings = Settings()
wall_clock = time.perf_counter
processor_clock = time.process_time if sys.platform != "win32" else wall_clock  # Windows' ticks are too long


@dataclass(frozen=True)
class Case:
    """A generator of figures with its arguments."""

    name: str
    function: Callable[..., Figures]
    arguments: Mapping[str, Any]
    quick: bool

    def run(self) -> Iterator[str]:
        """Return the lines to print, and add the ratios to those of the run."""
        for name, value, *asked in self.function(**self.arguments):
            last = name.rpartition(".")[2]
            text = significant(value) + "x" * last.startswith("vs_")
            if math.isfinite(value):
                MEASURED[f"{self.name}.{name}"] = value if isinstance(value, int) else float(significant(value))
            if last.startswith(("vs_", "per_")):
                RATIOS.append((f"{self.name}.{name}", text, *asked))
            yield " ".join([f"{self.name}.{name} {text}", *(f"({goal})" for goal in asked)])


CASES: list[Case] = []
RATIOS: list[tuple[str, ...]] = []
"""The ratios of the run: name, value, and what is asked if anything is."""
MEASURED: dict[str, float | int] = {}
"""All figures of the run, with three significant digits."""


def ratio_table() -> list[str]:
    """Return the lines of a table with the ratios of the run."""
    if not RATIOS:
        return []
    wide = max(len(row[0]) for row in RATIOS)
    rows = [("ratio", "measured", "asked"), *RATIOS]
    return [f"# {name:{wide}}  {value:8}  {''.join(asked)}".rstrip() for name, value, *asked in rows]


def benchmark(
    name: str, quick: bool | Mapping[str, Iterable[Any]] = True, **parameters: Iterable[Any]
) -> Callable[[Callable[..., Figures]], Callable[..., Figures]]:
    """Register a generator of figures, once for each combination of the parameters, which are fields of the name.

    `quick` says which take part in a quick run: all, none, or those with these values of some parameters.
    """

    def register(function: Callable[..., Figures]) -> Callable[..., Figures]:
        for values in itertools.product(*parameters.values()):
            arguments = dict(zip(parameters, values, strict=True))
            if isinstance(quick, bool):
                chosen = quick
            else:
                chosen = all(arguments[p] in allowed for p, allowed in quick.items())
            CASES.append(Case(name.format(**arguments), function, arguments, chosen))
        return function

    return register


def race(
    contestants: Mapping[str, str | Callable[[], object]],
    scope: Mapping[str, Any] | None = None,
    clock: Callable[[], float] = processor_clock,
) -> dict[str, Array]:
    """Return the seconds per call in each round. A contestant is a function, or a statement with names of the scope."""
    timers = {name: timeit.Timer(what, timer=clock, globals=dict(scope or {})) for name, what in contestants.items()}
    counts = {name: _calls_per_slice(timer) for name, timer in timers.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(settings.rounds):
        for name, timer in timers.items():
            times[name].append(timer.timeit(counts[name]) / counts[name])
    return {name: np.array(t) for name, t in times.items()}


def _calls_per_slice(timer: timeit.Timer) -> int:
    timer.timeit(1)  # compiles, and fills the caches
    count = 1
    while (elapsed := timer.timeit(count)) < settings.slice_s / 4:
        count *= 4
    return max(1, round(count * settings.slice_s / elapsed))


def ratio(theirs: Array, ours: Array) -> float:
    """Return the ratio of their time to ours, round by round."""
    return float(np.median(theirs / ours))


def difference(mine: Array, theirs: Array, core: int = 1) -> float:
    """Return the largest difference of a state's answer, relative to the largest entry of it."""
    axes = tuple(range(-core, 0))
    scale = np.abs(theirs).max(axis=axes)
    return float((np.abs(mine - theirs).max(axis=axes) / scale).max())


def significant(x: float | int, digits: int = 3) -> str:
    """Return a number with three significant digits; whole numbers are counts, and exact."""
    if isinstance(x, int):
        return str(x)
    if x == 0 or not math.isfinite(x) or not 1e-3 <= abs(x) < 1e7:
        return f"{x:.{digits - 1}e}" if x else "0"
    decimals = digits - 1 - math.floor(math.log10(abs(x)))
    return f"{round(x, decimals):.{max(0, decimals)}f}"
