"""Estimates of the cost of ensembles, and what outcomes tell of earlier runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import ordern as on
from ordern.ensembles import estimate as estimates

d = on.distributions


def test_estimates_leave_out_the_time_of_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first members take a minute, during which code is compiled; all others take a millisecond each."""
    now, sizes = 0.0, []

    def run_block(study: on.Ensemble, first: int, last: int) -> None:
        nonlocal now
        now += 1e-3 * (last - first) if sizes else 60.0
        sizes.append(last - first)

    monkeypatch.setattr(estimates, "run_block", run_block)
    monkeypatch.setattr(estimates.time, "perf_counter", lambda: now)
    found = on.Ensemble(on.load("double-pendulum"), members=10**6, steps=5, keep="final").estimate()
    assert found.core_seconds == pytest.approx(1000.0)
    assert min(sizes[1:]) >= 16  # vectors are full
    assert found.bytes == 10**6 * (4 * 8 + 1)


@pytest.mark.needs("pyarrow")
def test_outcomes_tell_what_was_done_before(tmp_path: Path) -> None:
    study = on.Ensemble(on.load("double-pendulum"), members=64, starts=(d.normal(), 0.0), steps=5, block=16)
    out = tmp_path / "x.parquet"
    first = study.run(out=out)
    assert (first.earlier, "done before" in repr(first)) == (0, False)
    last = max((tmp_path / "x.parquet.journal").glob("blocks-*.npz"))
    blocks = int(last.name.split("-")[2]) - int(last.name.split("-")[1])
    last.unlink()
    again = study.run(out=out)
    assert again.earlier == 64 - 16 * blocks
    assert study.run(out=out).earlier == 64
    assert "64 of them done before" in repr(study.run(out=out))
