"""Ensembles larger than memory: this program runs one, and prints how much memory it took.

`python -m tests.campaigns.large_ensembles OUT NUMBERS` stores that many numbers, and reduces as many.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ordern as on

__all__ = ["STATES", "main"]

STATES = 101
"""States of each member that are stored."""


def main(out: str, numbers: int) -> None:
    """Print the memory in MB before the run, and the most during it."""
    kept = [on.keep.quantiles("energy_change"), on.keep.histogram("v_final", range=(-5.0, 5.0))]
    study = on.Ensemble(
        on.load("double-pendulum"),
        members=numbers // (4 * STATES),
        starts={"q": on.distributions.uniform(-2.0, 2.0)},
        steps=STATES - 1,
        dt=1e-2,
        keep=["series", *kept],
        sampling="latin-hypercube",
    )
    study.estimate()  # loads code
    before = _most()
    found = study.run(out=out or None)
    assert found.members == study.members
    print(before, _most())


def _most() -> float:
    """Return the largest size of this process so far, in MB; that of `resource` may be its parent's."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024.0


if __name__ == "__main__":
    main(sys.argv[1], int(float(sys.argv[2])))
