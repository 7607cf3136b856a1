"""Arguments of a kernel: conversion to arrays, and all checks of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..algorithms import Port
from ..arguments import AnyArray, real_number, unmasked
from ..errors import ArgumentError
from ..model import BASE, Model, core_shape
from ..model.parameter_sets import varied_place
from ..model.ports import port_kind
from ..rotations import rotate
from .elsewhere import delegate

__all__ = ["Arguments", "batch_of", "broadcast_named", "external_forces", "stored"]


SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_WEAK = (bool, int, float)


class Arguments:
    """The shapes that a kernel expects, and the checks of arguments against them."""

    def __init__(self, model: Model, question: str, ports: Sequence[Port], output: str, frames: int = 0) -> None:
        self.model, self.question, self.ports = model, question, tuple(ports)
        self.shapes = [core_shape(model, p.kind, frames) for p in ports]
        self.output = core_shape(model, output, frames)
        self.ranks = [len(shape) + 1 for shape in self.shapes]

    def checked(
        self, given: Sequence[Any], out: AnyArray | None, threads: int | None
    ) -> tuple[list[AnyArray], np.dtype[Any]]:
        """Return the arguments as arrays of real numbers, and the data type to compute in.

        A plain Python number takes the precision of the arrays beside it, as in NumPy. Shapes are not checked yet:
        compiled code does that itself, and `require_fit` names what is wrong.
        """
        arrays = self._arrays(given)
        if out is not None:
            _check_out(self.question, out)
        self.require_threads(threads)
        strong = [a for a, x in zip(arrays, given, strict=True) if type(x) not in _WEAK]
        dtype = np.result_type(*(strong or arrays))
        if dtype.kind != "O" and dtype.itemsize <= 8:
            dtype = SINGLE if dtype.kind == "f" and dtype.itemsize <= 4 else DOUBLE
        if dtype is SINGLE:
            arrays = [a.astype(SINGLE) if type(x) in _WEAK else a for a, x in zip(arrays, given, strict=True)]
        return arrays, dtype

    def require_threads(self, threads: Any) -> None:
        """Raise if the number of threads is not a whole number above 0, or None."""
        if threads is not None and not _is_count(threads):
            raise ArgumentError(f"{self.question}: `threads` must be a whole number above 0, not {threads!r}")

    def require_count(self, given: Sequence[Any]) -> None:
        """Raise an error that names all arguments if too few or too many are given."""
        if len(given) != len(self.ports):
            names = ", ".join(p.name for p in self.ports)
            many = "1 argument" if len(self.ports) == 1 else f"{len(self.ports)} arguments"
            raise ArgumentError(f"{self.question} takes {many} ({names}), not {len(given)}")

    def _arrays(self, given: Sequence[Any]) -> list[AnyArray]:
        self.require_count(given)
        arrays = []
        for port, x in zip(self.ports, given, strict=True):
            if port.kind == "bodies":
                x = external_forces(self.model, x)
            arrays.append(_real(x, self.question, f"argument {port.name!r}"))
        return arrays

    def batches(self, arrays: Sequence[AnyArray]) -> list[tuple[int, ...]]:
        """Return the batch shape of each array; one more than the arguments has the numbers of a varied robot."""
        found = [a.shape[: max(0, a.ndim - len(s))] for a, s in zip(arrays, self.shapes, strict=False)]
        return found + [a.shape[:-1] for a in arrays[len(found) :]]

    def batch(self, arrays: Sequence[AnyArray]) -> tuple[int, ...] | None:
        """Return the batch shape of all arrays together; None if they do not broadcast."""
        found: tuple[int, ...] = ()
        for a, rank in zip(arrays, self.ranks if len(arrays) == len(self.ranks) else [*self.ranks, 2], strict=True):
            if a.ndim >= rank:
                batch = a.shape[: a.ndim - rank + 1]
                if found and batch != found:
                    break
                found = batch
        else:
            return found  # the usual case: NumPy takes microseconds
        try:
            return np.broadcast_shapes(*self.batches(arrays))
        except ValueError:
            return None

    def require_fit(self, arrays: Sequence[AnyArray], out: AnyArray | None) -> None:
        """Raise an error that names the argument whose shape is wrong, if there is one."""
        for port, shape, a in zip(self.ports, self.shapes, arrays, strict=False):
            _require_core(self.model, self.question, f"argument {port.name!r}", port.kind, a.shape, shape)
        names = (*(p.name for p in self.ports), "parameters of the robot")
        shapes = dict(zip(names, self.batches(arrays), strict=False))
        batch = broadcast_named(f"{self.question}: the batch shapes of the arguments", shapes)
        if out is not None and not _fits((*batch, *self.output), out.shape, len(self.output)):
            raise ArgumentError(
                f"{self.question}: `out` has shape {out.shape}, but the result has {(*batch, *self.output)}"
            )


def batch_of(model: Model, where: str, what: str, x: Any, kind: str, frames: int = 0) -> tuple[int, ...]:
    """Return the batch shape of an array of a kind; raise an error about `what` in the call `where` if it has another.

    Arrays of other libraries stay where they are.
    """
    shape = getattr(x, "shape", None)
    if not isinstance(shape, tuple):
        shape = _real(x, where, what).shape
    core = core_shape(model, kind, frames)
    _require_core(model, where, what, kind, shape, core)
    return shape[: len(shape) - len(core)]


def _require_core(
    model: Model, where: str, what: str, kind: str, shape: tuple[int, ...], core: tuple[int, ...]
) -> None:
    """Raise an error if the last dimensions of an array are not those of its kind."""
    if len(shape) < len(core) or shape[len(shape) - len(core) :] != core:
        expected = f"dimension must be {core[0]}" if len(core) == 1 else f"dimensions must be {core}"
        raise ArgumentError(
            f"{where}: {what} has shape {shape}; for {model.name!r} its last {expected} ({port_kind(kind).meaning})"
        )


def broadcast_named(what: str, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that batches of these shapes broadcast to; raise an error that lists them if they do not."""
    different = {shape for shape in shapes.values() if shape}
    if len(different) < 2:  # also where the lengths are symbols of a library
        return next(iter(different), ())
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ArgumentError(f"{what} do not broadcast: {listed}") from None


def stored(question: str, result: AnyArray, out: AnyArray | None) -> AnyArray:
    """Return a result, in the caller's memory if there is some."""
    if out is None:
        return result
    _check_out(question, out)
    if not _fits(result.shape, out.shape, 1):
        raise ArgumentError(f"{question}: `out` has shape {out.shape}, but the result has {result.shape}")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise ArgumentError(f"{question}: cannot cast the result from {result.dtype} to {out.dtype}")
    out[...] = result
    return out


def _check_out(question: str, out: Any) -> None:
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"{question}: `out` must be a NumPy array, not {type(out).__name__}")
    if not out.flags.writeable:
        raise ArgumentError(f"{question}: `out` is read-only")


def external_forces(model: Model, external: Any) -> Any:
    """Return forces by names of bodies or frames as one array (..., n, 6), each in its body's frame.

    Anything but a dictionary is returned as it is.
    """
    if not isinstance(external, Mapping):
        return external
    elsewhere = delegate("external_forces", model, external)
    if elsewhere is not None:
        return elsewhere(model, external)
    shapes: dict[Any, tuple[int, ...]] = {}
    placed = []
    for name, wrench in external.items():
        frame = model.frame(name)
        w = _real(wrench, "external", f"the force on {name!r}")
        if w.shape[-1:] != (6,):
            raise ArgumentError(
                f"external: the force on {name!r} has shape {w.shape}; its last dimension must be 6 (moment, force)"
            )
        shapes[name] = w.shape[:-1]
        if frame.body == BASE:
            continue  # the base takes any force
        kind = np.result_type(w, np.float16)  # rotating keeps the kind of number
        if model.batch_shape and (place := varied_place(model, frame)) is not None:
            R, p = (x.astype(kind) for x in place)
            shapes[name] = broadcast_named("external: the batch shapes", {"force": w.shape[:-1], "robot": p.shape[:-1]})
            force, moment = rotate(R, w[..., 3:]), rotate(R, w[..., :3])
            moment = moment + np.cross(p, force)
        else:
            R, p = frame.placement.R.astype(kind), frame.placement.p.astype(kind)
            force = w[..., 3:] @ R.T
            moment = w[..., :3] @ R.T + np.cross(p, force)
        placed.append((frame.body, np.concatenate([moment, force], axis=-1)))
    dtype = np.result_type(np.float16, *(w for _, w in placed))
    batch = broadcast_named("external: the batch shapes of the forces", shapes)
    total = np.zeros((*batch, len(model.bodies), 6), dtype)
    for body, w in placed:
        total[..., body, :] += w
    return total


def _real(x: Any, where: str, what: str) -> AnyArray:
    """Return an array of real numbers, or of objects; the words are for messages.

    An array of an unknown library that has no other way to NumPy is read through DLPack.
    """
    if x is None:
        raise ArgumentError(f"{where}: {what} is None; give an array of numbers")
    unmasked(x, f"{where}: {what}")
    try:
        through_dlpack = not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__") and not hasattr(x, "__array__")
        array = np.from_dlpack(x) if through_dlpack else np.asarray(x)
    except BufferError as e:
        raise ArgumentError(
            f"{where}: {what} is an array of {type(x).__module__.partition('.')[0]} that NumPy cannot read: {e}; copy "
            "it to the memory of the processor"
        ) from None
    except ValueError as e:
        raise ArgumentError(f"{where}: {what} is not an array: {e}") from None
    if array.dtype.kind not in "biufO":
        raise ArgumentError(f"{where}: {what} has data type {array.dtype}; give real numbers")
    return array


def _fits(result: tuple[int, ...], out: tuple[int, ...], core: int) -> bool:
    """Return True if a result can be broadcast into an array, but not along its core dimensions."""
    if len(out) < len(result) or out[len(out) - core :] != result[len(result) - core :]:
        return False
    return all(n in (1, m) for n, m in zip(reversed(result), reversed(out), strict=False))


def _is_count(n: Any) -> bool:
    """Return True if n is a whole number above 0."""
    x = float(n) if isinstance(n, (bool, np.bool_)) else real_number(n)
    return 1.0 <= x < math.inf and x == int(x)
