"""Sliders for joints: their names, their ranges, and the positions for their numbers.

A joint whose positions may be any numbers has a slider for each. A rotation in space has roll, pitch and yaw. The
sliders of other joints move them along their own velocities, from the neutral position.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, reduce
from itertools import accumulate, chain, islice, permutations

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..joints import Free, Joint, Planar, RollingDisc, Spherical, joint_placement
from ..model import Connection, Model
from ..model.poses import joint_poses
from ..records import dataclass
from ..rotations import exp_pose, inverse, log_pose, matrix_from_quaternion, quaternion_from_rpy, rpy_from_matrix
from ..spatial import Freedoms

__all__ = ["Chart", "Charts", "Factor", "Slider", "factors", "step"]

_WORDS: dict[type[Joint], tuple[str, ...]] = {
    Free: ("x", "y", "z", "roll", "pitch", "yaw"),
    Spherical: ("roll", "pitch", "yaw"),
    Planar: ("angle", "x", "y"),
    RollingDisc: ("heading", "lean", "roll", "x", "y"),
}
_LIKELY = {3: ((2, 1, 0),), 6: ((0, 1, 2, 5, 4, 3),)}
"""Orders of the sliders of roll, pitch and yaw, and of a free body, which are tried first."""
_MOST_ORDERS = 720
Maps = tuple[Callable[[Array], Array], Callable[[Array], Array]]


@dataclass(frozen=True)
class Slider:
    """One number that moves a joint."""

    label: str
    lower: float
    upper: float
    angular: bool


def step(length: float) -> float:
    """Return the step of a slider: about a thousandth of its length, a power of ten."""
    return float(10.0 ** math.floor(math.log10(length / 500)))


@dataclass(frozen=True)
class Factor:
    """A motion along a constant twist (angular, linear), whose time is the number of a slider of the joint."""

    slider: int
    twist: tuple[float, ...]


@dataclass(frozen=True)
class Chart:
    """The sliders of one joint."""

    joint: int
    sliders: tuple[Slider, ...]
    to_q: Callable[[Array], Array]
    of_q: Callable[[Array], Array]


class Charts:
    """The sliders of all joints of a robot, in one row."""

    def __init__(self, model: Model, size: float) -> None:
        self._model = model
        self.charts = tuple(_chart(k, c, size) for k, c in enumerate(model.joints) if c.nq)
        self.sliders = tuple(chain.from_iterable(chart.sliders for chart in self.charts))
        starts = accumulate((len(chart.sliders) for chart in self.charts), initial=0)
        self.starts = {chart.joint: at for chart, at in zip(self.charts, starts, strict=False)}
        """The index of the first slider of each joint."""

    def values(self, q: Array) -> Array:
        """Return the numbers of all sliders at a position."""
        parts = [chart.of_q(q[self._model.joints[chart.joint].q]) for chart in self.charts]
        return np.concatenate([np.zeros(0), *parts])

    def position(self, values: Array) -> Array:
        """Return the position at which all sliders have these numbers."""
        q = np.zeros(self._model.nq)
        for chart in self.charts:
            at = self.starts[chart.joint]
            q[self._model.joints[chart.joint].q] = chart.to_q(values[at : at + len(chart.sliders)])
        return q


def _chart(k: int, c: Connection, size: float) -> Chart:
    to_q, of_q = _maps(c.type)
    direct = of_q is _same
    n = len(of_q(np.array(c.type.neutral())))
    words = _WORDS.get(type(c.type)) or tuple(str(i) for i in range(n))
    labels = [c.name] if n == 1 else [f"{c.name} {word}" for word in words]
    turning = [bool(np.linalg.norm(twist[:3]) > 1e-9) for twist in _twists(c.type)]
    sliders = []
    for i, label in enumerate(labels):
        reach = math.pi if turning[i] else size
        lower, upper = (c.lower[i], c.upper[i]) if direct else (-math.inf, math.inf)
        if isinstance(c.type, Free) and i < 3:
            lower, upper = c.lower[4 + i], c.upper[4 + i]
        if not direct and turning[i] and words[i] == "pitch":
            reach = math.pi / 2
        lower, upper = _range(lower, upper, reach)
        sliders.append(Slider(label, lower, upper, turning[i]))
    return Chart(k, tuple(sliders), to_q, of_q)


def _range(lower: float, upper: float, reach: float) -> tuple[float, float]:
    """Return the range of a slider: the limits of the joint, unless they are too far to be shown."""
    far = 50 * reach  # limits beyond this count as missing
    low = lower if -far < lower < far else (min(-reach, upper - 2 * reach) if abs(upper) < far else -reach)
    high = upper if -far < upper < far else max(reach, low + 2 * reach)
    if high - low < 1e-9:
        return low - 1e-3, high + 1e-3
    digits = 3 - math.floor(math.log10(high - low))  # round numbers, within the limits
    unit = 10.0**-digits
    return round(math.ceil(low / unit) * unit, max(digits, 0)), round(math.floor(high / unit) * unit, max(digits, 0))


@cache
def _maps(joint: Joint) -> Maps:
    """Return the maps from slider numbers to positions, and back."""
    if isinstance(joint, Spherical):
        return quaternion_from_rpy, _angles
    if isinstance(joint, Free):
        return (
            lambda s: np.concatenate([quaternion_from_rpy(s[3:]), s[:3]]),
            lambda q: np.concatenate([q[4:], _angles(q[:4])]),
        )
    if _any_numbers(joint):
        return _same, _same
    neutral = joint.neutral()
    return (
        lambda s: np.array([*joint.integrate(Freedoms(neutral), Freedoms(s.tolist()))], float),
        lambda q: np.array([*joint.difference(Freedoms(neutral), Freedoms(q.tolist()))], float),
    )


def _same(x: Array) -> Array:
    return x


def _angles(q: Array) -> Array:
    """Return roll, pitch and yaw of a quaternion."""
    return rpy_from_matrix(matrix_from_quaternion(q if q.any() else np.array([1.0, 0.0, 0.0, 0.0])))


def _any_numbers(joint: Joint) -> bool:
    """Return whether any numbers are a valid position of the joint."""
    rng = np.random.default_rng(0)
    try:
        for _ in range(3):
            joint_placement(joint, (np.array(joint.neutral()) + rng.uniform(-1, 1, joint.nq)).tolist())
    except ModelError:
        return False
    return True


def _poses(joint: Joint, values: Array) -> Array:
    """Return the pose of a joint's child for slider numbers."""
    return joint_poses(joint, _maps(joint)[0](values))


@cache
def _twists(joint: Joint) -> list[Array]:
    """Return the twist along which each slider moves the child, the others at rest."""
    at = _maps(joint)[1](np.array(joint.neutral()))
    home = inverse(_poses(joint, at))
    return [log_pose(_poses(joint, at + 0.5 * e) @ home, check=False) / 0.5 for e in np.eye(len(at))]


@cache
def factors(joint: Joint) -> tuple[Factor, ...] | None:
    """Return the joint's motion as a product of motions along constant twists, from the parent outward, or None.

    With these a page can move the robot without Python.
    """
    twists = _twists(joint)
    at = _maps(joint)[1](np.array(joint.neutral()))
    home = _poses(joint, at)
    if np.abs(at).max(initial=0.0) > 0 or not np.allclose(home, np.eye(4), atol=1e-12):
        return None
    rng = np.random.default_rng(0)
    samples = rng.uniform(-1, 1, (3, len(at)))
    expected = [_poses(joint, s) for s in samples]
    orders = chain(_LIKELY.get(len(at), ()), permutations(range(len(at))))
    for order in islice(orders, _MOST_ORDERS):
        products = [reduce(np.matmul, (exp_pose(s[i] * twists[i]) for i in order), np.eye(4)) for s in samples]
        if np.allclose(products, expected, atol=1e-9):
            return tuple(Factor(i, tuple(twists[i].tolist())) for i in order)
    return None
