"""Checks of arguments: arrays, numbers, names and poses. Each error names the argument and says what was expected."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Sequence
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ArgumentError, unknown_name

__all__ = [
    "Array",
    "array",
    "broadcast_shapes",
    "choice",
    "finite",
    "leading_shape",
    "names_of",
    "numbers",
    "pose",
    "positive",
    "random_generator",
    "real",
    "real_number",
    "shown",
    "unmasked",
    "whole_number",
]

Array = NDArray[np.float64]
AnyArray = NDArray[Any]
"""Arrays of other types too: flags, indices, single precision."""
Shape = tuple[int | EllipsisType | None, ...]
"""A shape to expect: None is any length, and a leading `...` any number of leading dimensions."""
_LARGEST = 2**62
"""No count or seed is larger: machine code takes integers of 64 bits."""
_DEEPEST = 64
"""The most dimensions of NumPy's arrays."""
_PLAIN = frozenset({float, int, bool, np.float64, np.float32, np.int64})
"""Types of numbers that cannot be masked."""
_NOT_REAL = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)
"""Types that may have a `__float__`, and are no real numbers."""
_RIGID = 1e-6
"""Largest entry of R R^T - 1 that passes as rounding in a rotation matrix of the user's."""


def real(x: Any, what: str, shape: Shape | None = None) -> Array:
    """Return real numbers as an array of floats, without a copy if they are; see `numbers`."""
    return numbers(x, what, shape).astype(float, copy=False)


def numbers(x: Any, what: str, shape: Shape | None = None) -> AnyArray:
    """Return real numbers as an array of their own type; objects that stand for numbers become floats.

    Complex numbers, text, times, ragged lists and arrays with masked entries raise. `shape` is for the message.
    """
    try:
        a = np.asarray(unmasked(x, what))
        if a.dtype.kind in "fiub":
            return a
        if a.dtype.kind == "O" and all(map(_is_real, a.flat)):
            return a.astype(float)
        if a.dtype.kind == "c":
            raise ArgumentError(f"{what} must be real numbers, not complex ones ({a.dtype}); give their real part")
    except (TypeError, ValueError, OverflowError, RuntimeError) as e:  # the last one: tensors that require gradients
        if isinstance(e, ArgumentError):
            raise
    package = type(x).__module__.partition(".")[0]
    if package in ("jax", "jaxlib", "torch"):
        raise ArgumentError(
            f"{what} is an array of {package}, and this function takes NumPy arrays: convert it before"
            + (", with `x.detach().cpu().numpy()`" if package == "torch" else "")
            + ", outside of functions that the library transforms"
        )
    wanted = "an array of numbers" if shape is None else f"numbers of shape {_text(shape)}" if shape else "a number"
    raise ArgumentError(f"{what} must be {wanted}, not {shown(x)}")


def unmasked(x: Any, what: str, depth: int = 0) -> Any:
    """Return an argument as it is; raise if it is an array with masked entries, or a list of arrays with some.

    Lists whose first entry is a number are not searched, which would take as long as reading them. NumPy makes a
    masked number in them NaN, and warns of it.
    """
    kind = type(x)
    if kind is list or kind is tuple:
        if x and type(x[0]) not in _PLAIN:
            if depth > _DEEPEST:  # perhaps a list that contains itself
                raise ArgumentError(f"{what} has more than {_DEEPEST} dimensions")
            for entry in x if not isinstance(x[0], list) else x[:1]:
                unmasked(entry, what, depth + 1)
    elif kind is not np.ndarray and isinstance(x, np.ndarray) and np.any(getattr(x, "mask", False)):
        raise ArgumentError(f"{what}: some entries are masked; pass `x.filled(value)`")
    return x


def _is_real(x: Any) -> bool:
    """Return whether an entry of an array of objects stands for a real number."""
    return not isinstance(x, _NOT_REAL) and hasattr(type(x), "__float__")


def array(x: Any, shape: Shape, what: str, *, nonfinite: bool = False) -> Array:
    """Return real numbers of this shape as floats. They must be finite, unless `nonfinite` is set."""
    a = real(x, what, shape)
    if not _fits(a.shape, shape):
        if shape[:1] == (...,) and len(shape) == 2:
            raise ArgumentError(f"{what} has shape {a.shape}; its last dimension must be {shape[1]}")
        raise ArgumentError(f"{what} has shape {a.shape}; expected {_text(shape)}")
    return a if nonfinite else finite(a, what)


def finite(a: Array, what: str) -> Array:
    """Return an array as it is; raise, with the first bad entry, if a number is infinite or NaN."""
    if not np.isfinite(a).all():
        where = tuple(int(k) for k in np.argwhere(~np.isfinite(a))[0])
        entry = f"entry {', '.join(map(str, where))} is {a[where]}" if where else f"it is {a[()]}"
        raise ArgumentError(f"{what} must be finite; {entry}")
    return a


def real_number(x: Any) -> float:
    """Return a real number as a float; NaN for anything else, True, text and numbers beyond all floats included."""
    if isinstance(x, (bool, np.bool_, *_NOT_REAL)):
        return math.nan
    try:
        if np.ndim(x) or np.iscomplexobj(x) or np.any(getattr(x, "mask", False)):
            return math.nan
        return float(x)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def positive(x: Any, what: str, *, zero: bool = False) -> float:
    """Return a finite number above zero as a float; with `zero`, zero is allowed too."""
    number = real_number(x)
    if not (0.0 <= number < math.inf) or (number == 0.0 and not zero):
        given = shown(x) if math.isnan(number) else f"{number:g}"
        raise ArgumentError(f"{what} must be a finite number {'not below' if zero else 'above'} zero, not {given}")
    return number


def whole_number(x: Any, what: str, least: int, most: int = _LARGEST) -> int:
    """Return a whole number that is not below the least one, nor above the largest; raise for any other."""
    counts = isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.timedelta64))
    if not counts or not least <= x <= most:
        end = "on" if most == _LARGEST else f"to {most}"
        raise ArgumentError(f"{what} must be a whole number from {least} {end}, not {shown(x)}")
    return int(x)


def choice(kind: str, name: Any, known: Collection[str], owner: str = "", hint: str = "") -> str:
    """Return one of the known names; raise, with the closest one and the list, for any other."""
    if not isinstance(name, str) or name not in known:
        raise unknown_name(kind, name, known, owner, hint)
    return name


def pose(T: Any, what: str, *, batch: bool = False) -> Array:
    """Return a homogeneous matrix (4, 4), or with `batch` any array (..., 4, 4) of them; raise if one is not rigid."""
    a = array(T, (..., 4, 4) if batch else (4, 4), what)
    R = a[..., :3, :3]
    off = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(initial=0.0)
    last = np.abs(a[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0)
    if off <= _RIGID and a.size and np.linalg.det(R).min() < 0.0:
        raise ArgumentError(
            f"{what} is not a pose: the upper left 3x3 block reflects (its determinant is -1, and that of a rotation "
            "is 1); reverse one of its axes"
        )
    if off > _RIGID or last > _RIGID:
        raise ArgumentError(
            f"{what} is not a pose: the upper left 3x3 block must be a rotation matrix (it is off by {off:.2g}), and "
            "the last row 0, 0, 0, 1"
        )
    return a


def broadcast_shapes(what: str, *shapes: tuple[int, ...], names: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the shape that batches of these shapes broadcast to; raise, with the names that have one, if they do not.

    Names belong to the last shapes.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = zip(names, shapes[len(shapes) - len(names) :], strict=True)
        listed = ", ".join(f"{name} {shape}" for name, shape in named if shape)
        which = f"the batch shapes of {listed}" if listed else f"the batch shapes {sorted(set(shapes))}"
        raise ArgumentError(f"{what}: {which} do not fit together") from None


def names_of(x: Any, what: str) -> tuple[str, ...]:
    """Return one or several names that users give as a tuple."""
    names = []
    try:
        for name in (x,) if isinstance(x, str) else x:
            if not isinstance(name, str):  # the first one tells
                raise TypeError
            names.append(name)
    except TypeError:  # also from what cannot be iterated
        raise ArgumentError(f"{what} must be a name or several names, not {shown(x)}") from None
    return tuple(names)


def leading_shape(shape: Any, what: str) -> tuple[int, ...]:
    """Return a shape that users give for a batch: a whole number or several, not below zero."""
    try:
        several = isinstance(shape, (tuple, list, np.ndarray)) and np.ndim(shape)
        found = tuple(map(operator.index, shape)) if several else (operator.index(shape),)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: a shape is a whole number or several, not {shown(shape)}") from None
    if min(found, default=0) < 0:
        raise ArgumentError(f"{what}: a shape has no negative numbers; got {shape!r}")
    return found


def random_generator(rng: Any, what: str, name: str = "rng") -> np.random.Generator:
    """Return a generator of random numbers from one, from a seed, or from None for a new one."""
    try:
        if isinstance(rng, (list, tuple)) and not all(isinstance(k, (int, np.integer)) for k in rng):
            raise TypeError  # NumPy crashes on a list that contains itself
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{what}: {name} must be a NumPy Generator, a seed that is a whole number not below zero, or None; not "
            f"{shown(rng)}"
        ) from None


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    if wanted[:1] == (...,):
        wanted = wanted[1:]
        shape = shape[max(len(shape) - len(wanted), 0) :]
    return len(shape) == len(wanted) and all(n is None or n == m for m, n in zip(shape, wanted, strict=True))


def _text(shape: Shape) -> str:
    inside = ", ".join("..." if n is ... else "any" if n is None else str(n) for n in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def shown(x: Any) -> str:
    """Return an argument in a few words, for messages."""
    if isinstance(x, np.ndarray) and x.size > 20:
        return f"an array of shape {x.shape} and type {x.dtype}"
    try:
        text = repr(x)
    except Exception:  # objects of the user's, integers of too many digits
        text = f"<{type(x).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}..."
