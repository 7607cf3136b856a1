"""Confidence of reductions: intervals contain what endlessly many members would give, and runs stop by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on

d = on.distributions
REDUCTIONS = {
    "moments": (on.keep.moments, 0.1),
    "quantiles": (on.keep.quantiles, 0.3),
    "histogram": (lambda of: on.keep.histogram(of, range=(-3.0, 3.0), bins=12), 0.03),
    "coverage": (lambda of: on.keep.coverage(of, low=-1.0, high=1.0), 0.04),
    "worst": (on.keep.worst, 0.01),
}


def drawn(m: on.ensembles.Members) -> Any:
    """A normal variable."""
    return m.drawn["v"][:, 0]


def study(members: int, keep: Any, **more: Any) -> on.Ensemble:
    return on.Ensemble(
        on.load("double-pendulum"), members=members, block=50, starts={"v": d.normal()}, steps=1, keep=keep, **more
    )


@pytest.mark.parametrize("name", REDUCTIONS)
def test_every_reduction_stops_when_it_is_known_well_enough(name: str) -> None:
    make, error = REDUCTIONS[name]
    s = study(12_800, {"x": make(drawn)}, stop=on.keep.precise("x", error=error))
    found = s.run(workers=1)
    assert found.members // 50 in (2, 4, 8, 16, 32, 64, 128)
    assert found["x"].half_width(0.95) <= error
    half = study(found.members // 2, {"x": make(drawn)}).run()["x"]
    assert half.half_width(0.95) > error
    assert found["x"] == s.run(workers=3)["x"]


def test_intervals_contain_the_truth() -> None:
    """Of 40 studies, about 38 intervals of 95 % contain it; fewer than 33 would be seen once in a million."""
    p = [0.1, 0.5, 0.9]
    inside = {"quantiles": np.zeros(3), "histogram": np.zeros(2), "coverage": 0.0, "moments": 0.0}
    for seed in range(40):
        found = study(
            400,
            {
                **{"quantiles": on.keep.quantiles(drawn, p=p), "moments": on.keep.moments(drawn)},
                **{"histogram": on.keep.histogram(drawn, range=(-1.0, 1.0), bins=2), "worst": on.keep.worst(drawn)},
                "coverage": on.keep.coverage(drawn, low=-1.0, high=1.0),
            },
            seed=seed,
        ).run(workers=1)
        truth = {"quantiles": [-1.2816, 0.0, 1.2816], "histogram": 0.34134, "coverage": 0.68269, "moments": 0.0}
        for name, exact in truth.items():
            low, high = found[name].interval()
            inside[name] += (low <= exact) & (exact <= high)
        assert found["worst"].exceeded() == 1.0 - 0.05 ** (1.0 / 400)
    assert all((np.asarray(x) >= 33).all() for x in inside.values()), inside


def test_wrong_rules_are_named() -> None:
    with pytest.raises(on.ArgumentError, match="confidence"):
        on.keep.precise("x", 0.1, confidence=95)
    with pytest.raises(on.ArgumentError, match="not among the moments and other reductions that are kept: x"):
        study(100, {"x": on.keep.worst(drawn)}, stop=on.keep.precise("y", 0.1)).run()
    found = study(100, {"x": on.keep.moments(drawn), "y": on.keep.worst(drawn)}).run()
    for answer in (found["x"].interval, found["x"].half_width, found["y"].exceeded):
        for wrong in (95, 1.0, 0.0, np.nan):
            with pytest.raises(on.ArgumentError, match="between 0 and 1"):
                answer(wrong)


def test_a_mean_of_no_members_is_not_known() -> None:
    never = on.Event(lambda t, q, v: q[0] - 50.0, name="never")
    rule = on.keep.precise("never_time_moments", 0.1)
    settings = {"starts": {"q": on.distributions.uniform(-1.0, 1.0)}, "steps": 5, "events": [never], "block": 16}
    robot = on.load("double-pendulum")
    found = on.Ensemble(robot, members=64, keep=[on.keep.moments("never_time")], stop=rule, **settings).run()
    assert found.members == 64  # all of them, for the mean is never known
    assert found["never_time_moments"].half_width() == np.inf
