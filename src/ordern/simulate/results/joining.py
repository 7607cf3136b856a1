"""Resampled motions, and motions in sequence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...arguments import Array, positive
from ...errors import ArgumentError
from ..integrators.dense import located
from .interpolation import Motion, Spliced, monotone
from .series import LOOPS_CLOSED, POSE_REFERENCE, TRACKED

if TYPE_CHECKING:
    from .result import Result

__all__ = ["joined", "resampled"]


_MOST = 1e9
"""The most samples that a rate may make."""


def resampled(result: Result, times: ArrayLike | None, rate: float | None) -> Result:
    """Return the motion at other times, or at a rate in samples per second."""
    if times is None and rate is not None:
        times = _ticks(result, rate)
    elif times is None or rate is not None:
        raise ArgumentError("resample: give either the times or a rate in samples per second")
    at, k = located(result.t, times)
    if at.ndim != 1 or (np.diff(at) < 0.0).any():
        raise ArgumentError("resample: times are a list that does not decrease")
    q, v = result.at(at)
    new = {name: monotone(result.t, x, at) for name, x in result.arrays()}
    new |= {"t": at, "q": q, "v": v, "a": result.cubics.acceleration(at)}
    if LOOPS_CLOSED in result.extra:  # 0 or 1: not interpolated
        new[LOOPS_CLOSED] = result.extra[LOOPS_CLOSED][k].copy()
    if "q_reference" in new:
        new["q_reference"] = result.robot.normalize(new["q_reference"])
    exact = result.t[k] == at
    for name, x in result.arrays():
        new[name][exact] = x[k[exact]]
    return replace(result.with_arrays(new), dense=result.dense or result.cubics)


def _ticks(result: Result, rate: float) -> Array:
    steps = result.duration * positive(rate, "resample: `rate`, in samples per second,")
    if not len(result):
        return result.t
    if steps > _MOST:
        raise ArgumentError(f"resample: {rate:g} samples per second are {steps:.3g} samples in all")
    count = int(steps * (1.0 + 1e-12)) + 1  # n / rate may round to a little more than the end
    return np.asarray(np.minimum(result.t[0] + np.arange(count) / rate, result.t[-1]))


def joined(one: Result, other: Result, shift: bool) -> Result:
    """Return one motion followed by another."""
    if other.robot != one.robot:
        raise ArgumentError(f"the motions are of different robots, {one.robot.name!r} and {other.robot.name!r}")
    if not len(one) or not len(other):
        return one if len(one) else other
    later = float(one.t[-1] - other.t[0]) if shift else 0.0
    if not shift and other.t[0] < one.t[-1]:
        raise ArgumentError(
            f"the second motion starts at {other.t[0]:g} s, before the first one ends, at {one.t[-1]:g} s; with "
            "shift=True it is moved to its end"
        )
    first, second = dict(one.arrays()), dict(other.arrays())
    _fill(first, second)
    _fill(second, first)
    if first.keys() != second.keys():
        raise ArgumentError(f"only one of the motions has the series {', '.join(sorted(first.keys() ^ second.keys()))}")
    if shift:
        second["t"] = np.maximum(second["t"] + later, one.t[-1])
        second |= {n: second[n] + first[n][-1] for n in ("work", "dissipated") if n in second}
    again = all(np.array_equal(first[name][-1], x[0], equal_nan=True) for name, x in second.items())
    arrays = {name: np.concatenate([x, second[name][1 if again else 0 :]]) for name, x in first.items()}
    one = replace(one, extra={name: x for name, x in first.items() if name in one.extra or name in other.extra})
    events = tuple(replace(e, time=e.time + later) if shift else e for e in other.events)
    whole = replace(one.with_arrays(arrays), events=(*one.events, *events), report=None)
    return replace(whole, dense=_between(one, other, later, whole))


def _fill(some: dict[str, Array], others: dict[str, Array]) -> None:
    """Add the series of a desired motion that only the other motion has: there is none here, so they are NaN."""
    for name, x in others.items():
        if name not in some and name in (*TRACKED, POSE_REFERENCE, "pose_error"):
            some[name] = np.full((len(some["t"]), *x.shape[1:]), np.nan)


def _between(one: Result, other: Result, later: float, whole: Result) -> Motion | None:
    """Return the motion between the samples of both, and between the last of one and the first of the other."""
    if one.dense is other.dense and not later:
        return one.dense  # parts of one run
    start, k = other.t[0] + later, len(one)
    bridge = whole[k - 1 : k + 1]
    pieces = [(one.t[0], 0.0, one), (one.t[-1], 0.0, bridge), (start, later, other)]
    if start <= one.t[-1]:
        del pieces[1]
    starts, shifts, parts = zip(*pieces, strict=True)
    spans = np.array([(part.t[0], part.t[-1]) for part in parts])
    motions = tuple(part.cubics if part is bridge else part.dense or part.cubics for part in parts)
    return Spliced(one.robot, np.array(starts), np.array(shifts), spans, motions)
