"""The law of a joint in a step: dry friction, and limits that bound its velocity from both sides, with one impulse.

With the velocity v = g p + w of one freedom after the step, w without its own impulse p, h F the largest impulse of dry
friction, and l and r the velocities at which the joint reaches its limits at the end of the step,

    p contains  -h F sign(v) - N(v),    N the normal cone of [l, r]
    v = min(max(w + g clamp(-w / g, -h F, h F), l), r)

is the exact solution: the proximal map of |v| on an interval is the clamp of the soft threshold. So one number has the
friction and both limits; where lower and upper limit are equal, it holds the joint in both directions. In impulses,
with z = p - v / g from any p,

    p = max(min(clamp(z, -h F, h F), z + r / g), z + l / g)

With `smooth`, a speed s, each limit pushes at a distance, (p - p_0) (v - l) = s^2 / g: first the lower, then the upper
one, from the impulse p_0 before. Dry friction stays as it is.

A mimic joint has no impulse of its own: its friction and its limits act through the joint that it follows.

Reference: J. J. Moreau 1988; N. Parikh and S. Boyd, Proximal Algorithms, 2014, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ...graph import Scalar, where_less
from ...model import Index, Joints, Output, Tree
from ...model.contacts import stop_places
from ...records import dataclass
from ...spatial import Freedoms
from .cone import larger, smaller, smooth_root

__all__ = ["JointRow", "Stop", "joint_rows", "violation"]

_IMMOVABLE = 1e-12
"""The least inverse inertia of a joint: loops may hold one that nothing moves."""
_STILL = 1e-12
"""A joint that follows another by a smaller ratio does not move."""
_FAR = 1e10
"""A limit that is farther away than this, in rad or m, is no nearer: infinite ones have no derivatives."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The law of one freedom of a joint."""

    at: int
    """The place of its impulse among all."""
    scale: Scalar
    """g."""
    inverse: Scalar
    """1 / g."""
    friction: Scalar | None
    """h F, the largest impulse of dry friction; None without."""
    lower: Scalar | None
    """l / g; None without a lower limit."""
    upper: Scalar | None
    """r / g; None without an upper limit."""

    @classmethod
    def of(
        cls, at: int, G: Scalar, friction: Scalar | None, lower: Scalar | None = None, upper: Scalar | None = None
    ) -> Stop:
        """Return the law of a freedom with the inverse inertia G, by its velocities l and r."""
        scale = larger(G, _IMMOVABLE)
        inverse = 1.0 / scale
        bounds = (None if x is None else x * inverse for x in (lower, upper))
        return cls(at, scale, inverse, friction, *bounds)

    def turned(self, v: Scalar, p: Scalar, smooth: float = 0.0) -> Scalar:
        """Return the impulse that solves the law while all others stay, from the impulse p at the velocity v."""
        z, found = p - v * self.inverse, 0.0
        if self.friction is not None:
            found = larger(smaller(z, self.friction), 0.0 - self.friction)
        if smooth:
            s = smooth * self.inverse
            if self.lower is not None:
                found = found + smooth_root(found - (z + self.lower), 1.0, s * s)
            return found if self.upper is None else found - smooth_root(z + self.upper - found, 1.0, s * s)
        if self.upper is not None:
            found = smaller(found, z + self.upper)
        return found if self.lower is None else larger(found, z + self.lower)

    def residual(self, v: Scalar, p: Scalar, smooth: float = 0.0) -> Scalar:
        """Return how far an impulse is from the law, in rad/s or m/s."""
        off = p - self.turned(v, p, smooth)
        return self.scale * larger(off, 0.0 - off)

    def pushing(self, p: Scalar) -> Scalar:
        """Return the work of pushing the joint back into its range."""
        found: Scalar = 0.0
        if self.lower is not None:
            found = larger(p, 0.0) * larger(self.lower, 0.0)
        if self.upper is not None:
            found = found + larger(0.0 - p, 0.0) * larger(0.0 - self.upper, 0.0)
        return found * self.scale


@dataclass(frozen=True, slots=True)
class JointRow:
    """A freedom of a joint that has limits or dry friction, and the joints that follow it."""

    body: Index
    freedom: int
    limited: bool
    dry: bool
    followers: tuple[Index, ...]

    def friction(self, h: Scalar) -> Scalar | None:
        """Return the largest impulse of dry friction in a step; None without."""
        if not self.dry:
            return None
        total = self.body.friction[self.freedom]
        for f in self.followers:
            total = total + larger(f.ratio, 0.0 - f.ratio) * f.friction[0]
        return total * h

    def gaps(self, tree: Tree, q: Freedoms, limits: tuple[Freedoms, Freedoms]) -> list[tuple[Scalar, Scalar, Scalar]]:
        """Return how far above its lower and below its upper limit the joint is at q; likewise its followers.

        The third number is the rate of the gap for a unit of the joint's velocity.
        """
        found: list[tuple[Scalar, Scalar, Scalar]] = [(q[0] - limits[0][0], limits[1][0] - q[0], 1.0)]
        for f in self.followers:
            c, x = tree.model.joints[f.key], f.coordinates("q", q)[0]
            below, above = (math.isfinite(*bound) for bound in (c.lower, c.upper))
            found.append((x - c.lower[0] if below else _FAR, c.upper[0] - x if above else _FAR, f.ratio))
        return found

    def room(self, tree: Tree, q: Freedoms, limits: tuple[Freedoms, Freedoms]) -> tuple[Scalar, Scalar]:
        """Return how far the joint can move down and up before it, or a joint that follows it, is at a limit."""
        (down, up, _), *others = self.gaps(tree, q, limits)
        for below, above, rate in others:
            size = larger(rate, 0.0 - rate)
            k = 1.0 / larger(size, _STILL)
            lower, upper = (where_less(rate, 0.0, x, y) * k for x, y in ((above, below), (below, above)))
            down = where_less(size, _STILL, down, smaller(down, lower))
            up = where_less(size, _STILL, up, smaller(up, upper))
        return smaller(down, _FAR), smaller(up, _FAR)


def joint_rows(tree: Tree, limited: Iterable[int]) -> Iterator[JointRow]:
    """Return the rows of joints, in the order of `stop_places`."""
    followers: dict[int, list[Index]] = {}
    for k, c in enumerate(tree.model.joints):
        if c.mimic is not None:
            followers.setdefault(c.mimic.joint, []).append(tree.index(k))
    for body, freedom, dry in stop_places(tree.model, limited):
        yield JointRow(tree.index(body), freedom, body in limited, dry, tuple(followers.get(body, ())))


def violation(tree: Tree, rows: Sequence[JointRow], q: Output, limits: tuple[Joints, Joints]) -> Scalar:
    """Return the largest violation of limits at positions q, in rad or m."""
    found: Scalar = 0.0
    for row in rows:
        if row.limited:
            i = row.body
            for below, above, _ in row.gaps(tree, q[i], (limits[0][i], limits[1][i])):
                found = larger(found, 0.0 - smaller(below, above))
    return found
