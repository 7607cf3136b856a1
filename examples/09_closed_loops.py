"""Simulation of mechanisms with closed loops: drift, singular positions, loops that open and close."""

from __future__ import annotations

import numpy as np

import ordern as on
from ordern.robots.mechanisms import four_bar_chain


def falling_linkage() -> None:
    """A four-bar linkage falls. Its loop stays closed to rounding, and its energy is conserved to the tolerance."""
    robot = on.load("four-bar")
    result = robot.simulate(until=2.0)  # from the closed position next to the neutral one, at rest
    print(result.report)
    print(f"the pin bears up to {np.linalg.norm(result.loop_forces('pin')[:, 3:], axis=1).max():.3f} N\n")


def against_drift() -> None:
    """Compare the remedies against drift: the residual of the loop, and the error of the energy."""
    robot = on.load("four-bar")
    for drift in ("project", "baumgarte", "none"):
        report = robot.simulate(until=2.0, method="rk4", step=5e-3, drift=drift).report
        print(f"{drift:<10} open by up to {report.loops.violation:.1e}, energy drift {report.energy_drift:.1e}")
    print()


def through_a_singular_position() -> None:
    """Three squares fall flat, where each could fold on its own, and continue as one mechanism."""
    robot = on.load("four-bar-chain-3")
    start = four_bar_chain.assembled_position(3), four_bar_chain.initial_velocity(3)
    result = robot.simulate(*start, until=1.0)
    for place in result.report.loops.singular:
        print(f"singular {place}")
    spread = np.ptp(result.q[-1, 0::2][[0, -1]])
    print(f"the first post and the last one differ by {spread:.1e} rad; drift {result.report.energy_drift:.1e}\n")


def catch_and_throw() -> None:
    """A point mass falls until its rope of 1 m is tight, swings, and is released: a loop closes and opens."""
    builder = on.Builder("rope").body("ground")
    builder.body("x", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=1e-9)
    builder.body("point", parent="x", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    robot = builder.loop("rope", on.Distance(1.0), "ground", "point").build().with_loops({"rope": False})
    tight = on.Event(lambda t, q, v: q @ q - 1.0, name="tight", direction=1)
    switches = [on.Switch(tight, close=["rope"]), on.Switch(at=0.9, open=["rope"])]
    result = robot.simulate([0.6, 0.0], until=1.2, switches=switches)
    loops = result.report.loops
    for event in result.events:
        print(event)
    print(f"{loops.switches} switches, which took {loops.lost:.3f} J; energy drift {result.report.energy_drift:.1e}")


if __name__ == "__main__":
    falling_linkage()
    against_drift()
    through_a_singular_position()
    catch_and_throw()
