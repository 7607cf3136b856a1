"""Matrices of derivatives of all questions: `robot.derivatives`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..algorithms import questions
from ..algorithms.derivatives.analytic import analytic
from ..algorithms.registry import find_question
from ..arguments import AnyArray, names_of
from ..declared import explained_methods
from ..errors import ArgumentError
from ..kernel.declarations import Threads
from ..kernel.place import computing_on
from ..model.parameter_fields import FIELDS
from .call import CLOSED, Call, named_tuple, require_count

if TYPE_CHECKING:
    from .methods import DerivativeMethods

__all__ = ["Derivatives"]


@explained_methods
class Derivatives:
    """The derivatives of the answers of a robot, as matrices: a function for each question, with the question's name.

    It takes the arguments and settings of the question, `wrt` (the names of the arguments that vary, by default all
    that are given, and of fields of `robot.parameters`), `method`, `threads` and `device`. It returns a named tuple
    with an array for each of them: the shape of the answer, then the shape of the argument. Positions vary in the
    tangent of `integrate`, poses in that of their frame.
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
        known: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {}

        def ask(
            *arguments: ArrayLike, wrt: str | Sequence[str] | None = None, method: str | None = None,
            threads: Threads = None, **named: Any,
        ) -> Any:  # fmt: skip
            usual: Any = None if threads is not None or named else len(arguments)
            if usual is not None and (wrt is not None or method is not None):
                varied = None if wrt is None else names_of(wrt, f"derivatives of {question}: `wrt`")
                usual = (usual, varied, method)
                if not _hashable(method):
                    usual = None  # below, the error names it
            fast = known.get(usual)
            if fast is not None:
                split, single = fast
                try:
                    return split(single(*arguments))
                except ArgumentError:
                    fast = None  # below, the error has the words of the caller
            if "device" in named:
                with computing_on(named.pop("device"), question):
                    return ask(*arguments, wrt=wrt, method=method, threads=threads, **named)
            answer, fast = self._of(question, arguments, wrt, method, threads, named)
            if fast is not None and usual is not None:
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
        if "device" in named:
            with computing_on(named.pop("device"), question):
                return self._of_closed(question, *arguments, wrt=wrt, method=method, threads=threads, **named)
        from ..loops.derivative_arguments import arguments_and_settings

        given, settings = arguments_and_settings(question, arguments, named)
        return self._robot._closed(question, given, settings, method, threads).matrices(wrt)

    def _of(
        self, question: str, arguments: tuple[ArrayLike, ...], wrt: str | Sequence[str] | None, method: str | None,
        threads: Threads, named: dict[str, Any],
    ) -> tuple[Any, tuple[Callable[..., Any], Callable[..., Any]] | None]:  # fmt: skip
        """Return the derivatives, and functions for calls like this one, if there are: the second, then the first."""
        asked = find_question(question)
        inputs = [p.name for p in asked.inputs]
        require_count(asked, inputs, len(arguments))
        given = dict(zip(inputs, arguments, strict=False)) | {x: named.pop(x) for x in inputs if x in named}
        call = Call(self._robot, question, given, named, method)
        names = call.varied(wrt)
        call.require_fit()
        if any(x in FIELDS for x in names):
            return self._by_parameters(call, names, arguments, method, threads, named)
        few = call.has_few(names)
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
        return found, (split, kernel.single)

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


def _hashable(x: object) -> bool:
    return x is None or isinstance(x, str)
