"""Methods of robots from declarations: a name, arguments with their types, and a docstring.

>>> class Robot(Answering):                                                      # doctest: +SKIP
...     @answers
...     def pose(self, q: ArrayLike, frame: str, threads: Threads = None, out: Out = None) -> Array:
...         '''Return the homogeneous matrix of a frame in the world, of shape (..., 4, 4).'''

A declaration has no body: its signature, documentation and types are those of the method. With `answers`, its name is
a question, and its parameters are the question's inputs and settings, and `method`, `threads`, `out` and `device`. With
`delegated`, the method is a function of another module, which is imported on the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..algorithms.registry import find_question
from ..declared import explain
from ..model import Model
from ..model.checks import require_one_set
from ..model.parameter_sets import for_kinematics
from .elsewhere import delegate, in_numpy
from .fast_path import install
from .place import computing_on

if TYPE_CHECKING:
    from .table import Kernels

__all__ = ["Answering", "Array", "Device", "Out", "Threads", "answers", "delegated"]

Array = NDArray[Any]
Threads = int | None
Out = Array | None
Device = str | None
F = TypeVar("F", bound=Callable[..., Any])


class Answering:
    """A model whose questions have answers: the base of robots."""

    @cached_property
    def _kernels(self) -> Kernels:
        """Everything that was compiled for this robot."""
        from .table import Kernels  # the compiler is not needed before this

        return Kernels(cast("Any", self))

    def _ask(
        self,
        question: str,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        method: str | None = None,
        threads: Threads = None,
        out: Out = None,
        device: Device = None,
    ) -> Array:
        """Return the answer to a question, and install the fast path for calls like this one.

        `named` are settings, and optional arguments, which may be None.
        """
        answer: Array
        if device is not None:  # no fast path: it is for this machine
            with computing_on(device, question):
                kernel, optional = self._kernels.named(question, method, **named)
                answer = kernel(*arguments, *optional, out=out, threads=threads)
                return answer
        kernels, key = self._kernels, (question, (method, *named.values()))
        plain = threads is None and out is None
        try:
            fast = kernels.calls.get(key)
        except TypeError:
            fast, plain = None, False  # an optional argument, or a setting of a wrong type, which the kernel names
        if fast is not None:
            answer = fast(*arguments) if plain else fast(*arguments, threads=threads, out=out)
            return answer
        kernel, optional = kernels.named(question, method, **named)
        answer = kernel(*arguments, *optional, out=out, threads=threads)
        kind: Any = type(answer)  # answers of other array libraries have their own ways
        if plain and not optional and kind in (np.ndarray, np.float64) and answer.dtype == np.float64:
            usual = kernel.algorithm.name == kernel.question.default and not kernel.options
            kernels.calls[key] = kernel if usual and install(self, question, kernel) else kernel.single
        return answer


def answers(declared: F) -> F:
    """Turn a declaration into a method that answers the question of its name."""
    name, bound = declared.__name__, _binder(declared)
    required = [p.name for p in find_question(name).inputs if not p.optional]
    count = len(required)

    def method(self: Answering, *given: Any, **named: Any) -> Any:
        try:
            calls = self._kernels.calls
            key = (name, *given[count:], *named.items()) if named else (name, *given[count:])
            try:
                fast = calls.get(key) if len(given) >= count else None
            except TypeError:
                fast = None  # an array among the optional arguments
            if fast is not None:
                return fast(*given[:count])
            values = bound(self, given, named)
            arguments = tuple([values.pop(x) for x in required])
            how = (values.pop("method", None), values.pop("threads"), values.pop("out"), values.pop("device", None))
            answer = self._ask(name, arguments, values, *how)
            if len(given) >= count and how[1] is None and how[2] is None and how[3] is None:
                with suppress(KeyError, TypeError):  # a call with optional arguments has no fast function
                    calls[key] = calls[name, (how[0], *values.values())]
            return answer
        except Exception as e:
            explain(declared, (self, *given), named, e)
            raise

    method.explained = method.declared = True  # type: ignore[attr-defined]
    return cast("F", update_wrapper(method, declared))


def delegated(
    module: str,
    function: str | None = None,
    *,
    sets: bool = False,
    kinematic: bool = False,
    differentiable: bool = False,
    composed: bool = False,
    placed: bool = False,
) -> Callable[[F], F]:
    """Turn a declaration into a method that calls a function with the same parameters in a module of this package.

    Robots with many sets of parameters are refused, unless the function handles `sets`, or it is `kinematic`: of
    kinematics alone, so that sets of masses do not matter. With `differentiable`, arguments of JAX or PyTorch go to
    the function that `ordern.worlds` has for their library. A function that is `composed` of methods of the robot takes
    arrays of all libraries; others see parameters that vary as NumPy arrays. If it is `placed`, its kernels run on the
    `device` of the call, which the function itself does not take.
    """

    def made(declared: F) -> F:
        name, bound = function or declared.__name__, _binder(declared)

        def called(self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            if placed and "device" in named:
                with computing_on(named.pop("device"), declared.__name__):
                    return called(self, given, named)
            robot = self
            if kinematic:
                robot = for_kinematics(self, declared.__name__)
            elif not sets and isinstance(self, Model):
                require_one_set(self, declared.__name__)
            values = bound(self, given, named)
            if placed:
                values.pop("device", None)
            if differentiable:
                elsewhere = delegate(declared.__name__, self, values)
                if elsewhere is not None:
                    return elsewhere(robot, **values)
            elif not composed:
                robot = in_numpy(robot, declared.__name__)
            return getattr(import_module(f"ordern.{module}"), name)(robot, **values)

        def method(self: Any, *given: Any, **named: Any) -> Any:
            try:
                return called(self, given, dict(named))
            except Exception as e:
                explain(declared, (self, *given), named, e)
                raise

        method.target = module, name  # type: ignore[attr-defined]
        method.explained = method.declared = True  # type: ignore[attr-defined]
        return cast("F", update_wrapper(method, declared))

    return made


def _binder(declared: Callable[..., Any]) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """Return a function that gives the values of all parameters of a call, by name."""
    code: Any = declared.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    usual = declared.__defaults__ or ()
    defaults = dict(zip(names[code.co_argcount - 1 - len(usual) :], usual, strict=False))
    defaults |= declared.__kwdefaults__ or {}

    def bound(self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        declared(self, *given, **named)  # does nothing, or raises Python's own error for a wrong call
        return {**defaults, **dict(zip(names, given, strict=False)), **named}

    return bound
