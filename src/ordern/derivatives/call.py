"""One question with its arguments by name, of which derivatives are asked."""

from __future__ import annotations

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import Question, find
from ..algorithms.derivatives.derived import derived_name, tangent_kind
from ..algorithms.method_limits import require_tree
from ..algorithms.registry import find_question
from ..arguments import AnyArray, names_of
from ..errors import ArgumentError, unknown_name
from ..kernel.arguments import batch_of, broadcast_named, external_forces
from ..kernel.declarations import Threads
from ..kernel.elsewhere import is_elsewhere
from ..kernel.settings import frame_list
from ..model import core_shape
from ..model.parameter_fields import FIELDS, hint_of
from ..model.parameter_sets import spread as spread_sets
from ..model.variation import all_varied

if TYPE_CHECKING:
    from ..kernel import Kernel
    from .methods import DerivativeMethods

__all__ = ["CLOSED", "Call", "Named", "named_tuple", "require_count"]

Named = Mapping[str, ArrayLike]
_SETTINGS = {"axes": "frame", "kind": "classical"}
"""Settings that need not be given."""
CLOSED = (
    *("forward_dynamics", "closed_dynamics", "joint_wrenches", "constraint_forces", "link_accelerations"),
    "actuation",
)
"""Functions of robots that keep loops closed: `loops.derivatives` has their derivatives."""
_OF_FRAMES = ("poses", "velocities", "accelerations", "jacobians")
"""Functions about many frames, which are those of all bodies unless others are listed."""
_OF_SUBTREES = ("subtree_kinetic_energy", "subtree_potential_energy")
_MOST_AT_ONCE = 1000
"""The number of derivatives up to which one piece of code computes all of them."""


class Call:
    """One question with its arguments by name."""

    def __init__(
        self,
        robot: DerivativeMethods,
        question: str,
        arguments: Sequence[ArrayLike] | Named,
        settings: dict[str, Any],
        method: str | None,
        title: str | None = None,
    ) -> None:
        """Find the question and check its arguments; `title` is the function that the user called, for messages."""
        self.robot, self.method, asked_for = robot, method, question
        self.title = title or question
        if "subtree" in settings and f"subtree_{question}" in _OF_SUBTREES:
            question = f"subtree_{question}" if settings["subtree"] is not None else question
            settings = settings if question.startswith("subtree") else {}
        if question in _OF_FRAMES and settings.get("frames") is None:
            bodies = {"frames": robot._body_frames()} if question == "jacobians" else {}  # type: ignore[attr-defined]
            settings = {name: x for name, x in settings.items() if name != "frames"} | bodies
            question = question if bodies else f"body_{question}"
        self.asked: Question = find_question(question)
        self.given = self.by_name("arguments", arguments)  # first: arguments that are not one tuple shift all others
        self.asked = find(question, method)[0]
        if robot.nc:
            require_tree(robot, question)
        self.explicit = tuple(self.given)
        """The names of the arguments that were given; others have the defaults of the function."""
        for p in self.asked.inputs:
            if p.kind == "bodies" and p.name in self.given:
                self.given[p.name] = external_forces(robot, self.given[p.name])
        self._settings = self._add_defaults(question, settings)
        self._require_settings(asked_for)
        missing = [p.name for p in self.asked.inputs if not p.optional and p.name not in self.given]
        if missing:
            raise ArgumentError(f"derivatives of {question}: the argument {missing[0]!r} is missing")

    def _add_defaults(self, question: str, settings: dict[str, Any]) -> dict[str, Any]:
        """Add the arguments that the function of this name has defaults for; return all settings."""
        robot = self.robot
        known, usual = _defaults(getattr(type(robot), question, None))
        self.given |= {
            p.name: usual[p.name]
            for p in self.asked.inputs
            if not p.optional and p.name in usual.keys() - self.given.keys()
        }
        found = {x: usual.get(x, _SETTINGS.get(x)) for x in self.asked.options if x in usual or x in _SETTINGS}
        found |= settings
        of_subtree = "subtree" in known or "subtree" in found
        if of_subtree and "frame" in self.asked.options and "frame" not in found:
            found["frame"] = robot._subtree(found.pop("subtree", None))  # type: ignore[attr-defined]
        return found

    def _require_settings(self, question: str) -> None:
        """Raise if a setting is unknown or missing: the kernel would name a question that nobody asked."""
        for name in self._settings:
            if name not in self.asked.options:
                raise unknown_name("setting", name, self.asked.options, f"derivatives of {question}")
        for name in self.asked.options:
            if name not in self._settings:
                raise ArgumentError(f"derivatives of {question}: it needs the setting {name!r}, as {name}=...")

    def require_fit(self, tangents: Named | None = None, **cotangents: Any) -> None:
        """Raise an error in the words of the caller if shapes do not fit; cotangents are by the name of their argument.

        The code of derivatives would name arguments and questions of its own.
        """
        kinds = {p.name: p.kind for p in self.asked.inputs} | {x: x for x in FIELDS}
        parts = [(f"argument {x!r}", value, kinds[x]) for x, value in self.given.items()]
        parts += [(f"the tangent of {x!r}", value, tangent_kind(kinds[x])) for x, value in (tangents or {}).items()]
        parts += [(f"`{x}`", value, tangent_kind(self.asked.output)) for x, value in cotangents.items()]
        where = f"derivatives of {self.title}"
        frames = self._frames
        batches = {what: batch_of(self.robot, where, what, value, kind, frames) for what, value, kind in parts}
        if self.robot.batch_shape:
            batches["parameters of the robot"] = self.robot.batch_shape
        broadcast_named(f"{where}: the batch shapes", batches)

    @property
    def answer(self) -> tuple[int, ...]:
        """The shape of a tangent of the answer."""
        return core_shape(self.robot, tangent_kind(self.asked.output), self._frames)

    @property
    def _frames(self) -> int:
        """The number of frames in the setting `frames`."""
        frames = self._settings.get("frames")
        return 0 if frames is None else len(frame_list(self.asked.name, frames))

    def by_name(self, what: str, values: Any, more: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return values by the names of arguments, in their order, without those that are None.

        A dictionary may have `more` names.
        """
        inputs = [p.name for p in self.asked.inputs]
        if isinstance(values, Mapping):
            for name in values:
                if name not in (*inputs, *more):
                    raise unknown_name(f"name among the {what}", name, (*inputs, *more), self.asked.name, hint_of(name))
            return {x: values[x] for x in (*inputs, *more) if values.get(x) is not None}
        if isinstance(values, np.ndarray) or not isinstance(values, Sequence) or len(values) > len(inputs):
            raise ArgumentError(
                f"derivatives of {self.asked.name}: {what} must be a tuple of at most {len(inputs)} arrays "
                f"({', '.join(inputs)}), or a dictionary, not {type(values).__name__}: all {what} are one tuple"
            )
        return {x: value for x, value in zip(inputs, values, strict=False) if value is not None}

    def varied(self, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of the arguments that vary, in their order."""
        names = self.explicit if wrt is None else names_of(wrt, f"derivatives of {self.asked.name}: `wrt`")
        for x in names:
            if x not in self.given and x not in FIELDS:
                raise unknown_name("argument in `wrt`", x, (*self.given, *FIELDS), self.asked.name, hint_of(x))
        if not names:
            raise ArgumentError(f"derivatives of {self.asked.name}: `wrt` names no argument")
        return tuple(x for x in (*self.given, *FIELDS) if x in names)

    def vary_parameters(self, names: Iterable[str]) -> None:
        """Make all numbers of the fields of parameters among these names arguments of the code."""
        fields = tuple(x for x in FIELDS if x in names)
        empty = [x for x in fields if not math.prod(core_shape(self.robot, x))]
        if empty:
            raise ArgumentError(f"derivatives of {self.asked.name}: {self.robot.name!r} has no numbers of {empty[0]!r}")
        if fields:
            self.robot = all_varied(self.robot, fields)

    def tangent_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tangent of an argument."""
        if name in FIELDS:
            return core_shape(self.robot, name)
        kind = next(p.kind for p in self.asked.inputs if p.name == name)
        return core_shape(self.robot, tangent_kind(kind))

    def has_few(self, names: Iterable[str]) -> bool:
        """Return whether the derivatives by these arguments are few enough for one piece of code."""
        columns = sum(math.prod(self.tangent_shape(x)) for x in names)
        return math.prod(self.answer) * columns <= _MOST_AT_ONCE

    def kernel(self, mode: str, wrt: tuple[str, ...]) -> tuple[Kernel, list[str], list[str]]:
        """Return the kernel of a derivative, and the names of the required and optional arguments that it takes."""
        return self.named_kernel(derived_name(mode, self.asked.name, wrt), self.method)

    def named_kernel(self, name: str, method: str | None) -> tuple[Kernel, list[str], list[str]]:
        """Return the kernel of a question, and the names of the required and optional arguments that it takes."""
        ports = [p for p in find_question(name).inputs if p.name in self.given]
        optional = [p.name for p in ports if p.optional]
        kernel = self.robot._kernels.kernel(name, method, optional, **self._settings)
        return kernel, [p.name for p in ports if not p.optional], optional

    def plain_kernel(self, mode: str, wrt: tuple[str, ...]) -> Kernel | None:
        """Return the kernel of a derivative if it takes the arguments just as they were given, in their order.

        It is None if arguments have defaults or are optional, and for derivatives by parameters.
        """
        first = tuple(p.name for p in self.asked.inputs[: len(self.explicit)])
        if self.explicit != first or len(self.given) > len(first) or any(x in FIELDS for x in wrt):
            return None
        kernel, _, optional = self.kernel(mode, wrt)
        return None if optional else kernel

    def ask(
        self, mode: str, wrt: tuple[str, ...], extra: list[Any], threads: Threads, spread: bool = False
    ) -> AnyArray:
        """Return the answer to a question about derivatives; `spread` adds a dimension for the columns of tangents."""
        for x in wrt:
            if x not in self.given and x not in FIELDS:
                raise ArgumentError(f"derivatives of {self.asked.name}: {x!r} has a tangent, but is not given")
        robot = self.robot
        if spread:
            self.robot = spread_sets(robot)  # sets of parameters get the dimension, too
        kernel, required, optional = self.kernel(mode, wrt)
        self.robot = robot
        first, last = ([self._spread(x) if spread else self.given[x] for x in names] for names in (required, optional))
        return kernel(*first, *extra, *last, threads=threads)

    def _spread(self, name: str) -> AnyArray:
        """Return an argument with a dimension before those of one state."""
        kind = next(p.kind for p in self.asked.inputs if p.name == name)
        rank, array = len(core_shape(self.robot, kind)), self.given[name]
        array = array if is_elsewhere([array]) else np.asarray(array)
        return array.reshape((*array.shape[: array.ndim - rank], 1, *array.shape[array.ndim - rank :]))

    def split(self, title: str, names: tuple[str, ...], answer: tuple[int, ...]) -> Callable[[AnyArray], Any]:
        """Return a function that splits all derivatives, in one row, into an array for each argument.

        Its shape is that of the answer, and then that of the argument's tangent.
        """
        stop, parts = 0, []
        for x in names:
            shape = (*answer, *self.tangent_shape(x))
            start, stop = stop, stop + math.prod(shape)
            parts.append(((..., slice(start, stop)), shape, len(shape) == 1))
        made = named_tuple(title, names)

        def function(flat: AnyArray) -> Any:
            batch = flat.shape[:-1]
            return made(*[flat[at] if is_row else flat[at].reshape(batch + shape) for at, shape, is_row in parts])

        return function

    def matrix(self, name: str, threads: Threads) -> AnyArray:
        """Return the derivatives by one field of parameters."""
        if not self.has_few((name,)):
            return self.products(name, threads)
        flat = self.ask("jacobian", (name,), [], threads)
        return flat.reshape((*flat.shape[:-1], *self.answer, *self.tangent_shape(name)))

    def products(self, name: str, threads: Threads) -> AnyArray:
        """Return the derivatives by one argument, a product with a unit tangent for each of its numbers."""
        return self.moved(self.along_units(name, threads), [name], self.answer)

    def along_units(self, name: str, threads: Threads) -> AnyArray:
        """Return the rates of the answer along each unit tangent of an argument: (..., tangents, answer)."""
        return self.ask("jvp", (name,), [self.units(name)], threads, spread=True)

    def units(self, name: str) -> AnyArray:
        """Return the unit tangents of an argument."""
        shape = self.tangent_shape(name)
        count = math.prod(shape)
        return np.eye(count, dtype=self.dtype).reshape(count, *shape)

    def moved(self, rates: AnyArray, names: Sequence[str], answer: tuple[int, ...]) -> AnyArray:
        """Return rates with dimensions for the unit tangents of arguments after those of the answer, not before."""
        start = rates.ndim - len(names) - len(answer)
        ends = [k - len(names) for k in range(len(names))]
        starts = [start + k for k in range(len(names))]
        move = getattr(rates, "movedim", None)  # NumPy's function does not know tensors
        moved = np.moveaxis(rates, starts, ends) if move is None else move(starts, ends)
        shape = [n for x in names for n in self.tangent_shape(x)]
        return moved.reshape((*rates.shape[:start], *answer, *shape))

    @property
    def dtype(self) -> Any:
        """The data type of the answer: single precision if all arguments have it."""
        given = [self.given[x] for x in self.explicit]
        kinds = (x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype for x in given)
        return np.float32 if all(str(x).endswith("float32") for x in kinds) else np.float64

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch."""
        ranks = {p.name: len(core_shape(self.robot, p.kind)) for p in self.asked.inputs}
        shapes = [np.shape(x)[: np.ndim(x) - ranks[name]] for name, x in self.given.items()]
        return np.broadcast_shapes(*shapes, self.robot.batch_shape)

    def derived(self, mode: str, wrt: tuple[str, ...], *added: ArrayLike) -> Call:
        """Return the call of a question about derivatives, with the values of the arguments that it adds."""
        name = derived_name(mode, self.asked.name, wrt)
        known = {p.name for p in self.asked.inputs}
        new = [p.name for p in find_question(name).inputs if p.name not in known]
        given = {**self.given, **dict(zip(new, added, strict=True))}
        return Call(self.robot, name, given, self._settings, self.method)

    def flattened(self, name: str, batch: tuple[int, ...]) -> AnyArray:
        """Return an argument with one dimension of the batch, for all states of it."""
        rank = len(core_shape(self.robot, next(p.kind for p in self.asked.inputs if p.name == name)))
        array = np.asarray(self.given[name])
        core = array.shape[array.ndim - rank :]
        return np.broadcast_to(array, (*batch, *core)).reshape(math.prod(batch), *core)

    def answered(self, threads: Threads) -> AnyArray:
        """Return the answer to the question itself."""
        ports = [p for p in self.asked.inputs if p.name in self.given]
        optional = [p.name for p in ports if p.optional]
        kernel = self.robot._kernels.kernel(self.asked.name, self.method, optional, **self._settings)
        values = [self.given[p.name] for p in ports]
        return kernel(*values, threads=threads)

    def spread(self) -> Call:
        """Return the same call, whose arguments have one more dimension of the batch."""
        given = {x: self._spread(x) for x in self.given}
        return Call(spread_sets(self.robot), self.asked.name, given, self._settings, self.method)


@lru_cache(maxsize=256)
def _defaults(function: Callable[..., Any] | None) -> tuple[frozenset[str], dict[str, Any]]:
    """Return the names of all arguments of a method, if there is one, and defaults of them; inspecting takes long."""
    known = {} if function is None else inspect.signature(function).parameters
    usual = {name: x.default for name, x in known.items() if x.default not in (x.empty, None)}
    return frozenset(known), usual


def require_count(asked: Question, inputs: Sequence[str], count: int) -> None:
    """Raise if more arguments are given than a question has: settings of the same function may have come with them."""
    if count > len(inputs):
        more = f"; settings are keywords: {', '.join(f'{x}=...' for x in asked.options)}" if asked.options else ""
        raise ArgumentError(f"{asked.name} takes {len(inputs)} arguments, not {count}: {', '.join(inputs)}{more}")


@lru_cache(maxsize=256)
def named_tuple(title: str, names: tuple[str, ...]) -> Any:
    """Return the class of named tuples with these names; making one takes longer than most answers."""
    return namedtuple(title, names)
