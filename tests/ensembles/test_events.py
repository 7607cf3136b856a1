"""Events of ensembles: first crossings of members as things to keep, and as quantities of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on

d = on.distributions
TURN = on.Event(lambda t, q, v: v[0], name="turn")
LATE = on.Event(lambda t, q, v: q[0] - 1.0, name="over", direction=1, terminal=True)


def study(**more: Any) -> on.Ensemble:
    settings: dict[str, Any] = {"steps": 150, "dt": 1e-2, "method": "rk4", "block": 32, "seed": 3}
    settings |= {"starts": {"q": d.uniform(-2.0, 0.9), "v": d.normal(0.0, 0.5)}, "events": [TURN, LATE]}
    return on.Ensemble(on.load("double-pendulum"), members=100, **(settings | more))


def test_crossings_are_those_of_rollout() -> None:
    s = study(
        keep=[
            *("final", "events", on.keep.crossing("turn"), on.keep.crossing("over", state=False)),
            *(
                on.keep.moments("over_time"),
                on.keep.coverage("over_time", high=1.0),
                on.keep.worst("turn_count", count=2),
            ),
            on.keep.value("last", lambda m: m.events["over"].time),
        ]
    )
    found, drawn = s.run(workers=2), s.draws.drawn(0, 100)
    run = s.robot.rollout(drawn["q"], drawn["v"], steps=150, dt=1e-2, method="rk4", events=[TURN, LATE])
    assert run.events is not None
    first, over = run.events["turn"], run.events["over"]
    for name, x in (("turn_time", first.time), ("turn_q", first.q), ("turn_v", first.v), ("over_time", over.time)):
        assert found[name].tobytes() == x.tobytes()
    assert found["last"].tobytes() == over.time.tobytes()
    assert (found["turn_count"] == first.count).all()
    assert (found["q_final"] == run.q[:, -1]).all()
    assert (found["events"] == run.events.count.sum(1)).all()
    assert np.array_equal(found["first_event"], np.fmin(first.time, over.time), equal_nan=True)
    assert "over_q" not in found
    moments, coverage = found["over_time_moments"], found["over_time_coverage"]
    assert 0 < moments.count == over.count.sum() < 100  # members without the event are left out of its time
    assert abs(moments.mean - np.nanmean(over.time)) < 1e-12
    assert (coverage.count, coverage.inside) == (100, (over.time <= 1.0).sum())
    assert found["turn_count_worst"].values[0] == first.count.max()


@pytest.mark.slow
def test_simulate_has_the_same_events() -> None:
    keep = [on.keep.crossing("turn"), on.keep.crossing("over")]
    a = study(keep=keep, steps=3000, dt=5e-4).run()  # short steps: a function that turns near zero crosses it twice
    b = study(keep=keep, steps=None, until=1.5, dt=0.1, method="dormand-prince-8").run()
    for name in ("turn_time", "turn_q", "over_time", "over_v"):
        assert np.abs(np.nan_to_num(a[name]) - np.nan_to_num(b[name])).max() < 1e-4
    assert (a["over_count"] == b["over_count"]).all()


def test_names() -> None:
    found = study(keep={"slow": on.keep.moments(lambda m: m.v_final), "tip": lambda m: m.q_final}).run()
    assert found["slow"].mean.shape == (2,)
    assert found["tip"].shape == (100, 2)
    cases: list[tuple[Any, str]] = [
        (on.keep.crossing("flip"), "flip"),
        ({"end": "final"}, "names of its own"),
        (on.keep.moments(lambda m: m.v_final), "no name"),
        (on.keep.moments("turn_tim"), "turn_time"),
    ]
    for keep, message in cases:
        with pytest.raises(on.OrdernError, match=message):
            study(keep=keep).run()
    compared = on.Event(lambda t, q, v: 1.0 if q[0] > 0.0 else -1.0, name="sign")
    with pytest.raises(on.ArgumentError, match=r"event 'sign'.*where_less"):
        study(keep="events", events=[compared]).run()
    with pytest.raises(on.ArgumentError, match="letters, digits"):
        on.keep.crossing("tip at height 1")
    with pytest.raises(on.ArgumentError, match="there are none"):
        study(keep="events", events=None)
