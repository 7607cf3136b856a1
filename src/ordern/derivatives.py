"""Derivatives of all questions as methods of robots: products with tangents and cotangents, and whole matrices."""

from __future__ import annotations

import inspect
import math
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from .algorithms import Question, find, questions
from .algorithms.derivatives.analytic import analytic
from .algorithms.derivatives.derived import derived_name, tangent_kind
from .algorithms.method_limits import require_tree
from .algorithms.registry import find_question
from .arguments import AnyArray
from .errors import ArgumentError, unknown_name
from .kernel.arguments import external_forces
from .kernel.declarations import Answering, Array, Threads, delegated
from .kernel.settings import frame_list
from .model import Model, core_shape
from .model.parameter_fields import FIELDS, hint_of
from .model.parameter_sets import spread as spread_sets
from .model.variation import all_varied

if TYPE_CHECKING:
    from .kernel import Kernel
    from .robot import Robot
    from .simulate.linearise import Linearisation

__all__ = ["CLOSED", "Call", "DerivativeMethods", "Derivatives", "named_tuple"]

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


class DerivativeMethods(Answering, Model):
    """Derivatives of the answers to questions by their arguments."""

    def jvp(
        self, question: str, arguments: Sequence[ArrayLike] | Named, tangents: Sequence[ArrayLike | None] | Named,
        method: str | None = None, threads: Threads = None, **settings: Any,
    ) -> Array:  # fmt: skip
        """Return the rate of an answer while its arguments vary along tangents: J t, in the shape of the answer.

        `arguments` are those of the question, in order or by name. `tangents` are in the same order, None for an
        argument that is constant, or by name, fields of `robot.parameters` included. The tangent of a position is a
        velocity of shape (..., nv), along which `integrate` moves it; that of a pose is the velocity of the frame in
        its own axes, (..., 6). `settings` are those of the question, such as the frame.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> arm.jvp("gravity_force", ([0.3, 0.2],), ([1.0, 0.0],)).shape
        (2,)
        """
        closed = self._closed(question, arguments, settings, method, threads)
        if closed is not None:
            return np.asarray(closed.jvp(tangents))
        call = Call(self, question, arguments, settings, method)
        along = call.by_name("tangents", tangents, FIELDS)
        if not along:
            raise ArgumentError(f"jvp of {question}: give a tangent of at least one argument")
        call.vary_parameters(along)
        return call.ask("jvp", tuple(along), list(along.values()), threads)

    def vjp(
        self, question: str, arguments: Sequence[ArrayLike] | Named, cotangent: ArrayLike,
        wrt: str | Sequence[str] | None = None, method: str | None = None, threads: Threads = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the gradient of the sum of cotangent times answer by the arguments: J^T w, a named tuple.

        `arguments` are as for `jvp`; `wrt` names those that vary, by default all that are given; it may name fields of
        `robot.parameters`, such as "inertia", as well. The cotangent has the shape of the answer; that of a position
        has the shape of a velocity, and so has a gradient by a position.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> g = arm.vjp("potential_energy", ([0.3, 0.2],), 1.0)
        >>> bool(abs(g.q - arm.gravity_force([0.3, 0.2])).max() < 1e-14)
        True
        """
        closed = self._closed(question, arguments, settings, method, threads)
        if closed is not None:
            return closed.vjp(cotangent, wrt)
        call = Call(self, question, arguments, settings, method)
        names = call.varied(wrt)
        call.vary_parameters(names)
        return call.split("Gradient", names, ())(call.ask("vjp", names, [cotangent], threads))

    @delegated("simulate.linearise", sets=True)
    def linearise(  # type: ignore[empty-body]
        self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, dt: float | None = None, *,
        method: str | None = None, external: Any = None, smoothing: float = 0.01,
        independent: Sequence[str] | None = None,
    ) -> Linearisation:  # fmt: skip
        """Return the linearised motion near a state, as the matrices A and B of dx/dt = A x + B u.

        x are small changes of position, in the tangent of `integrate`, and of velocity: 2 nv numbers. u is a change of
        the joint forces tau, which are zero unless given, as the velocity is. With `dt`, the matrices are those of one
        step of `rollout` by `method`, which is "semi-implicit-euler" unless given: x' = A x + B u, exactly. Dampers,
        friction (with its `smoothing`), springs and drag take part, as in rollouts; `external` forces on bodies are
        constant. Batches broadcast.

        For a robot with loops, x has changes of some freedoms only, which determine all others: those of the joints
        in `independent`, or freedoms that are chosen well. The result's `positions` and `velocities` are their indices,
        and `lift @ x` are the changes of all positions and velocities.

        >>> import ordern as on
        >>> A, B = on.load("double-pendulum").linearise([3.14, 0.0])
        >>> A.shape, B.shape
        ((4, 4), (4, 2))
        """

    def _closed(
        self, question: str, arguments: Any, settings: dict[str, Any], method: str | None, threads: Threads
    ) -> Any:
        """Return the derivatives of a function that keeps loops closed; None for another function or a tree."""
        if question not in CLOSED or not (self.nc or question == "actuation"):
            return None
        from .loops.derivatives import closed_derivatives

        return closed_derivatives(cast("Robot", self), question, arguments, settings, method, threads)

    @delegated("simulate.rollout_derivatives", sets=True)
    def rollout_vjp(
        self, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None = None, steps: int | None = None, dt: float = 1e-3,
        *, q: ArrayLike | None = None, v: ArrayLike | None = None, wrt: str | Sequence[str] | None = None,
        threads: Threads = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the gradient of the sum of weights times the states of a rollout by its arguments: a named tuple.

        The arguments and settings are those of `rollout`; `q`, `v` and `wrt` are those of `Rollout.vjp`, whose result
        is the same. Use this function where the states are not needed, or were computed elsewhere: it takes the steps
        itself.
        """

    @delegated("simulate.rollout_derivatives", sets=True)
    def rollout_jvp(
        self, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None = None, steps: int | None = None, dt: float = 1e-3,
        *, tangents: Named, threads: Threads = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the rates (q, v) of the states of a rollout while arguments vary along tangents.

        The arguments and settings are those of `rollout`; `tangents` are by the names of arguments, as in
        `Rollout.jvp`.
        """

    @cached_property
    def derivatives(self) -> Derivatives:
        """The derivatives of each question: `robot.derivatives.forward_dynamics(q, v, tau).q` is (..., nv, nv)."""
        return Derivatives(self)


class Derivatives:
    """The derivatives of the answers of a robot, as matrices: a function for each question, with the question's name.

    It takes the arguments and settings of the question, `wrt` (the names of the arguments that vary, by default all
    that are given, and of fields of `robot.parameters`), `method` and `threads`. It returns a named tuple with an array
    for each of them: the shape of the answer, then the shape of the argument. Positions vary in the tangent of
    `integrate`, poses in that of their frame.
    """

    def __init__(self, robot: DerivativeMethods) -> None:
        self._robot = robot

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in CLOSED and (self._robot.nc or name == "actuation"):
            return partial(self._of_closed, name)
        found = self._function(find_question(name).name)
        self.__dict__[name] = found
        return found

    def _function(self, question: str) -> Callable[..., Any]:
        """Return the function of a question. Calls like earlier ones skip all checks but those of the arguments."""
        known: dict[Any, Callable[..., Any]] = {}

        def ask(
            *arguments: ArrayLike, wrt: str | Sequence[str] | None = None, method: str | None = None,
            threads: Threads = None, **named: Any,
        ) -> Any:  # fmt: skip
            if threads is not None or named:
                return self._of(question, arguments, wrt, method, threads, named)[0]
            usual: Any = len(arguments)
            if wrt is not None or method is not None:
                usual = (usual, wrt if wrt is None or isinstance(wrt, str) else tuple(wrt), method)
            fast = known.get(usual)
            if fast is not None:
                return fast(*arguments)
            answer, fast = self._of(question, arguments, wrt, method, None, {})
            if fast is not None:
                known[usual] = fast
            return answer

        return ask

    def __dir__(self) -> list[str]:
        return [*(asked.name for asked in questions()), "actuation"]

    def __repr__(self) -> str:
        return f"<Derivatives of {self._robot.name!r}: one function for each question, such as forward_dynamics>"

    def _of_closed(
        self, question: str, *arguments: ArrayLike, wrt: str | Sequence[str] | None = None, method: str | None = None,
        threads: Threads = None, **named: Any,
    ) -> Any:  # fmt: skip
        """Return the matrices of a function that keeps loops closed."""
        from .loops.derivative_arguments import arguments_and_settings

        given, settings = arguments_and_settings(question, arguments, named)
        return self._robot._closed(question, given, settings, method, threads).matrices(wrt)

    def _of(
        self, question: str, arguments: tuple[ArrayLike, ...], wrt: str | Sequence[str] | None, method: str | None,
        threads: Threads, named: dict[str, Any],
    ) -> tuple[Any, Callable[..., Any] | None]:  # fmt: skip
        """Return the derivatives, and a fast function for calls like this one, if there is one."""
        asked = find_question(question)
        inputs = [p.name for p in asked.inputs]
        if len(arguments) > len(inputs):
            raise ArgumentError(f"{question} takes {len(inputs)} arguments, not {len(arguments)}")
        given = dict(zip(inputs, arguments, strict=False)) | {x: named.pop(x) for x in inputs if x in named}
        call = Call(self._robot, question, given, named, method)
        names = call.varied(wrt)
        if any(x in FIELDS for x in names):
            return self._by_parameters(call, names, arguments, method, threads, named)
        count = sum(math.prod(call.tangent_shape(x)) for x in names)
        few = math.prod(call.answer) * count <= _MOST_AT_ONCE
        whole = analytic(self._robot, call.asked.name, method)
        chosen = () if whole is None else tuple(x for x in names if x in whole.arguments)
        if whole is not None and (names == whole.arguments or (chosen and not few)):
            kernel, required, optional = call.named_kernel(whole.question, whole.method)
            split = _stacked(chosen, whole.arguments)
        elif few:
            chosen = names
            kernel, required, optional = call.kernel("jacobian", names)
            split = call.split("Derivative", names, call.answer)
        else:
            return named_tuple("Derivative", names)(*[call.products(x, threads) for x in names]), None
        found = split(kernel(*(call.given[x] for x in (*required, *optional)), threads=threads))
        if chosen != names:
            by_name = found._asdict() | {x: call.products(x, threads) for x in names if x not in chosen}
            return named_tuple("Derivative", names)(**by_name), None
        if [*required, *optional] != inputs[: len(arguments)]:  # defaults, or some left out
            return found, None
        return found, _composed(split, kernel.single)

    def _by_parameters(
        self, call: Call, names: tuple[str, ...], arguments: tuple[ArrayLike, ...], method: str | None,
        threads: Threads, named: dict[str, Any],
    ) -> tuple[Any, None]:  # fmt: skip
        """Return the derivatives by arguments, and by fields of parameters."""
        found: dict[str, Any] = {}
        others = tuple(x for x in names if x not in FIELDS)
        if others:
            given = {
                x: y for x, y in call.given.items() if x not in [p.name for p in call.asked.inputs[: len(arguments)]]
            }
            part, _ = self._of(call.asked.name, arguments, others, method, threads, given | named)
            found = part._asdict()
        call.vary_parameters(names)
        for x in names:
            if x in FIELDS:
                found[x] = call.matrix(x, threads)
        return named_tuple("Derivative", names)(*(found[x] for x in names)), None


class Call:
    """One question with its arguments by name."""

    def __init__(
        self,
        robot: DerivativeMethods,
        question: str,
        arguments: Sequence[ArrayLike] | Named,
        settings: dict[str, Any],
        method: str | None,
    ) -> None:
        self.robot, self.method, asked_for = robot, method, question
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

    @property
    def answer(self) -> tuple[int, ...]:
        """The shape of a tangent of the answer."""
        frames = self._settings.get("frames")
        count = 0 if frames is None else len(frame_list(self.asked.name, frames))
        return core_shape(self.robot, tangent_kind(self.asked.output), count)

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
        names = self.explicit if wrt is None else (wrt,) if isinstance(wrt, str) else tuple(wrt)
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
            known: dict[Any, DerivativeMethods] = self.robot.__dict__.setdefault("_by_parameters", {})
            if fields not in known:
                known[fields] = all_varied(self.robot, fields)
            self.robot = known[fields]

    def tangent_shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tangent of an argument."""
        if name in FIELDS:
            return core_shape(self.robot, name)
        kind = next(p.kind for p in self.asked.inputs if p.name == name)
        return core_shape(self.robot, tangent_kind(kind))

    def kernel(self, mode: str, wrt: tuple[str, ...]) -> tuple[Kernel, list[str], list[str]]:
        """Return the kernel of a derivative, and the names of the required and optional arguments that it takes."""
        return self.named_kernel(derived_name(mode, self.asked.name, wrt), self.method)

    def named_kernel(self, name: str, method: str | None) -> tuple[Kernel, list[str], list[str]]:
        """Return the kernel of a question, and the names of the required and optional arguments that it takes."""
        ports = [p for p in find_question(name).inputs if p.name in self.given]
        optional = [p.name for p in ports if p.optional]
        kernel = self.robot._kernels.kernel(name, method, optional, **self._settings)
        return kernel, [p.name for p in ports if not p.optional], optional

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
        rank = len(core_shape(self.robot, kind))
        array = np.asarray(self.given[name])
        return array.reshape((*array.shape[: array.ndim - rank], 1, *array.shape[array.ndim - rank :]))

    def split(self, title: str, names: tuple[str, ...], answer: tuple[int, ...]) -> Callable[[AnyArray], Any]:
        """Return a function that splits all derivatives, in one row, into an array for each argument.

        Its shape is that of the answer, and then that of the argument's tangent.
        """
        stop, parts = 0, []
        for x in names:
            shape = (*answer, *self.tangent_shape(x))
            start, stop = stop, stop + math.prod(shape)
            parts.append((start, stop, shape))
        made = named_tuple(title, names)

        def function(flat: AnyArray) -> Any:
            batch = flat.shape[:-1]
            return made(*[flat[..., start:stop].reshape(batch + shape) for start, stop, shape in parts])

        return function

    def matrix(self, name: str, threads: Threads) -> AnyArray:
        """Return the derivatives by one field of parameters."""
        if math.prod(self.answer) * math.prod(self.tangent_shape(name)) > _MOST_AT_ONCE:
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
        moved = np.moveaxis(rates, [start + k for k in range(len(names))], ends)
        shape = [n for x in names for n in self.tangent_shape(x)]
        return moved.reshape((*rates.shape[:start], *answer, *shape))

    @property
    def dtype(self) -> Any:
        """The data type of the answer: single precision if all arguments have it."""
        single = all(np.asarray(self.given[x]).dtype == np.float32 for x in self.explicit)
        return np.float32 if single else np.float64

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


def _stacked(names: tuple[str, ...], arguments: tuple[str, ...]) -> Callable[[AnyArray], Any]:
    """Return a function that gives the matrices by some of the arguments names, out of an array of all of them."""
    made, picks = named_tuple("Derivative", names), [arguments.index(x) for x in names]
    new = tuple.__new__  # single states take microseconds, of which other ways to make the tuple would be a third

    def function(found: AnyArray) -> Any:
        if found.ndim != 3:
            return made(*[found[..., k, :, :] for k in picks])
        if len(picks) == 3:
            return new(made, (found[0], found[1], found[2]))
        return made(*[found[k] for k in picks])

    return function


def _composed(split: Callable[[AnyArray], Any], single: Callable[..., AnyArray]) -> Callable[..., Any]:
    """Return a function that splits an answer."""
    return lambda *given: split(single(*given))


@lru_cache(maxsize=256)
def _defaults(function: Callable[..., Any] | None) -> tuple[frozenset[str], dict[str, Any]]:
    """Return the names of all arguments of a method, if there is one, and defaults of them; inspecting takes long."""
    known = {} if function is None else inspect.signature(function).parameters
    usual = {name: x.default for name, x in known.items() if x.default not in (x.empty, None)}
    return frozenset(known), usual


@lru_cache(maxsize=256)
def named_tuple(title: str, names: tuple[str, ...]) -> Any:
    """Return the class of named tuples with these names; making one takes longer than most answers."""
    return namedtuple(title, names)
