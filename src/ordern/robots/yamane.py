"""The chains on which Yamane and Nakamura show their method.

K. Yamane and Y. Nakamura, "O(N) forward dynamics computation of open kinematic chains based on the principle of virtual
work", Proc. IEEE Int. Conf. Robotics and Automation, Seoul, 2001, pp. 2824-2831. The paper gives the structures:

* Figure 4, a serial chain with 30 degrees of freedom; Figure 5, a branched one;
* Figure 6, serial chains of 2 to 16 spherical joints;
* Figure 7, 2 to 12 links that hang from a link, which hangs on the ground by a spherical joint as they hang on it.

It gives no dimensions, and of Figures 4 and 5 no joints. Ours: every link is a uniform round rod of 0.2 m, 20 mm radius
and 1 kg, which hangs straight down at the neutral position; the serial chain has ten spherical joints, the branched one
has ten as well: a first link, and three branches of three links at its end. Where several links hang on one, they hang
on a circle of 50 mm around its end.
"""

from __future__ import annotations

import math

from ..joints import Spherical
from ..model import ModelBuilder
from .generated import at_least_one, chain, rod

__all__ = ["spherical_chain", "spherical_star", "yamane_branched_30", "yamane_serial_30"]

_LENGTH, _MASS, _RADIUS, _CIRCLE = 0.2, 1.0, 0.02, 0.05


def yamane_serial_30() -> ModelBuilder:
    """Return the serial chain with 30 degrees of freedom of Figure 4."""
    return _series(10, "yamane-serial-30")


def yamane_branched_30() -> ModelBuilder:
    """Build the branched chain of Figure 5, 30 degrees of freedom: "hub", then "link1_1", "link1_2" ... "link3_3"."""
    builder = _hub("yamane-branched-30")
    for branch in range(3):
        _hang(builder, f"link{branch + 1}_1", "hub", _on_circle(branch, 3))
        for k in (2, 3):
            _hang(builder, f"link{branch + 1}_{k}", f"link{branch + 1}_{k - 1}", (0.0, 0.0, -_LENGTH))
    return builder


def spherical_chain(n: int) -> ModelBuilder:
    """Return a serial chain of n spherical joints, as in Figure 6: "link1" to "link<n>"."""
    return _series(n, f"spherical-chain-{n}")


def spherical_star(n: int) -> ModelBuilder:
    """Build a star, as in Figure 7: n end links, "link1" to "link<n>", on "hub"; n + 1 spherical joints in all."""
    at_least_one(n, "n")
    builder = _hub(f"spherical-star-{n}")
    for k in range(n):
        _hang(builder, f"link{k + 1}", "hub", _on_circle(k, n))
    return builder


def _series(n: int, name: str) -> ModelBuilder:
    return chain(n, Spherical(), length=_LENGTH, mass=_MASS, radius=_RADIUS, name=name)


def _hub(name: str) -> ModelBuilder:
    builder = ModelBuilder(name).body("base")
    _hang(builder, "hub", "base", (0.0, 0.0, 0.0))
    return builder


def _hang(builder: ModelBuilder, link: str, parent: str, at: tuple[float, float, float]) -> None:
    builder.body(
        link, parent=parent, joint=Spherical(), joint_name=f"{link}_joint", at=at, **rod(_MASS, _LENGTH, _RADIUS)
    )


def _on_circle(k: int, n: int) -> tuple[float, float, float]:
    angle = 2.0 * math.pi * k / n
    return (_CIRCLE * math.cos(angle), _CIRCLE * math.sin(angle), -_LENGTH)
