"""Arguments of a grasp: arrays for all arms or for each arm, checked and broadcast to one batch shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import arguments
from ..arguments import Array
from ..errors import ArgumentError, ModelError
from ..joints import Placement, placement

if TYPE_CHECKING:
    from .arms import Arm

__all__ = ["Numbers", "Pose", "by_name", "finite", "numbers", "per_arm", "placed", "poses", "spread"]

Numbers = ArrayLike | None
"""An array, for all arms or a list of one for each arm; None if it is not given."""
Pose = Placement | ArrayLike | tuple[ArrayLike, ArrayLike] | None
"""A 4x4 matrix or an array of them, a position, a pair (xyz, rpy) or a `Placement`; None if it is not given."""


def per_arm(arms: Sequence[Arm], x: Any, what: str) -> tuple[Array, ...]:
    """Return an array for each arm, from one array for all arms or a list; `what` is "q", "v" or "tau"."""
    parts = [a.q if what == "q" else a.v for a in arms]
    if isinstance(x, (list, tuple)) and len(x) == len(arms) and all(np.ndim(y) for y in x):
        each = zip(arms, x, parts, strict=True)
        return tuple(numbers(y, f"`{what}` of arm {a.name!r}", (part.stop - part.start,)) for a, y, part in each)
    whole, size = numbers(x, f"`{what}`"), parts[-1].stop
    if whole.shape[-1:] != (size,):
        raise ArgumentError(
            f"grasp: `{what}` must be a list of {len(arms)} arrays, one for each arm, or an array with the last "
            f"dimension {size}, not of shape {whole.shape}"
        )
    return tuple(whole[..., part] for part in parts)


def finite(arms: Sequence[Arm], xs: tuple[Array, ...], what: str) -> None:
    """Raise, with the arm's name, where a number is not finite."""
    for arm, x in zip(arms, xs, strict=True):
        arguments.finite(x, f"grasp: `{what}` of arm {arm.name!r}")


def numbers(x: Any, what: str, core: tuple[int, ...] = ()) -> Array:
    """Return an array of floats whose last dimensions are `core`."""
    return arguments.array(x, (..., *core), f"grasp: {what}", nonfinite=True)


def by_name(what: str, x: Any) -> Mapping[str, Any]:
    """Return arrays by names; raise if they are not, or if there are none."""
    if not isinstance(x, Mapping) or not x:
        raise ArgumentError(f"{what} must be a dictionary from names to arrays, with at least one, not {x!r}")
    return x


def placed(at: Pose, what: str) -> Placement:
    """Return one pose as a placement."""
    try:
        return placement(at, what)  # type: ignore[arg-type]
    except ModelError as e:
        raise ArgumentError(str(e)) from None


def poses(x: Pose) -> Array:
    """Return poses (..., 4, 4) of the object."""
    try:
        batch = np.shape(np.asarray(x))[-2:] == (4, 4)
    except ValueError:  # a pair of lists of different lengths
        batch = False
    return arguments.pose(x, "grasp: `pose`", batch=True) if batch else placed(x, "grasp: `pose`").matrix


def spread(x: Array, shape: tuple[int, ...], core: int = 1) -> Array:
    """Return an array broadcast to a batch shape; its last `core` dimensions stay."""
    return np.broadcast_to(x, (*shape, *x.shape[x.ndim - core :]))
