"""Do accelerations of order n integrate with fewer steps, as Saha (1999, sec. 6) says of RFDSIM?

His argument: where the mass matrix is built and factorised, accelerations are rougher, and an integrator that controls
its error must take more and shorter steps. Counted here: steps and rejected attempts of free falls by accelerations of
order n and of order n^3, at tolerances down to rounding, where that would show; by the method of Cash and Karp,
which RFDSIM uses, and by the default.

    python benchmarks/steps.py [--long]
"""

from __future__ import annotations

import argparse

import numpy as np

import ordern as on
from ordern import robots

DYNAMICS = ("articulated-body", "denoc", "composite-body", "unit-acceleration")
"""Two of order n, then two that form the mass matrix."""


def falls(long: bool) -> list[tuple[str, on.Robot, np.ndarray, float]]:
    """Return robots, their starts, and how long they fall."""
    found = [
        (name, on.load(name), robots.positions(name)["initial"], seconds)
        for name, seconds in (("planar-3r", 3.0), ("stanford-arm", 1.0))
    ]
    for n in (10, 30) if long else (10,):
        chain = on.chain(n, seed=0)
        found.append((f"chain of {n}", chain, chain.neutral(), 0.5))
    return found


def steps(robot: on.Robot, q0: np.ndarray, seconds: float, method: str, tolerance: float, dynamics: str) -> str:
    """Return accepted and rejected steps of a free fall."""
    options = {"method": method, "rtol": tolerance, "atol": tolerance, "dynamics": dynamics, "dense": False}
    report = robot.simulate(q0, until=[0.0, seconds], **options).report
    return f"{report.steps}+{report.rejected}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="also a chain of 30 links")
    args = parser.parse_args()
    print(f"{'steps + rejected':<16} {'method':<18} {'tolerance':>9}  " + " ".join(f"{d:>18}" for d in DYNAMICS))
    for name, robot, q0, seconds in falls(args.long):
        for method in ("cash-karp", "dormand-prince-8"):
            for tolerance in (1e-6, 1e-9, 1e-12, 1e-13):
                counts = [steps(robot, q0, seconds, method, tolerance, d) for d in DYNAMICS]
                print(f"{name:<16} {method:<18} {tolerance:>9.0e}  " + " ".join(f"{c:>18}" for c in counts))


if __name__ == "__main__":
    main()
