"""Questions and the algorithms that answer them.

A question ("what are the joint forces of this motion?") has named arguments and one result. Each of its
algorithms, called methods, is one function over a `Tree`. A third party adds an algorithm by decorating a function;
nothing in the library needs to be edited.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import unknown_name

__all__ = ["Algorithm", "Port", "Question", "algorithm", "find", "methods", "question", "questions"]


@dataclass(frozen=True, slots=True)
class Port:
    """An argument: its name, its kind (see `ordern.model.ports`), and whether it may be left out."""

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What can be asked of a robot."""

    name: str
    inputs: tuple[Port, ...]
    output: str
    """The kind of the result."""
    default: str
    """The method that is used unless another is asked for."""
    options: tuple[str, ...] = ()
    """Settings that are not numbers, such as the frame."""
    needs_inertia: bool = False
    """Whether every joint must move some inertia for the answer to exist."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A method: its function, and where it is from."""

    question: str
    name: str
    function: Callable[..., Any]
    paper: str
    equations: str
    order: str

    def accepts(self, question: Question) -> tuple[str, ...]:
        """The names of the question's inputs that the function takes: it may leave out the last optional ones."""
        parameters = inspect.signature(self.function).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            return tuple(p.name for p in question.inputs)
        taken = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.name not in question.options]
        return tuple(p.name for p in question.inputs[: len(taken) - 1])


_QUESTIONS: dict[str, Question] = {}
_ALGORITHMS: dict[tuple[str, str], Algorithm] = {}


def question(
    name: str,
    inputs: tuple[Port, ...],
    output: str,
    default: str,
    options: tuple[str, ...] = (),
    needs_inertia: bool = False,
) -> Question:
    """Declare a question."""
    found = Question(name, inputs, output, default, options, needs_inertia)
    _QUESTIONS[name] = found
    return found


def algorithm(
    question: str, name: str, *, paper: str = "", equations: str = "", order: str = "n"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as a method of a question. It is called with the tree, the inputs, and the options."""
    if question not in _QUESTIONS:
        raise unknown_name("question", question, _QUESTIONS)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _ALGORITHMS[question, name] = Algorithm(question, name, function, paper, equations, order)
        return function

    return register


def questions() -> tuple[Question, ...]:
    """All questions that can be asked."""
    return tuple(_QUESTIONS.values())


def find(question: str, method: str | None = None) -> tuple[Question, Algorithm]:
    """A question and one of its methods, or its default method; an unknown name lists those that exist."""
    if question not in _QUESTIONS:
        raise unknown_name("question", question, _QUESTIONS)
    asked = _QUESTIONS[question]
    name = asked.default if method is None else method
    try:
        return asked, _ALGORITHMS[question, name]
    except (KeyError, TypeError):
        known = [n for q, n in _ALGORITHMS if q == question]
        raise unknown_name("method", name, known, question) from None


def methods(question: str | None = None) -> tuple[Algorithm, ...]:
    """The implemented algorithms, of one question or of all.

    >>> import ordern as on
    >>> [m.name for m in on.methods("forward_dynamics")]
    ['articulated-body']
    """
    if question is not None:
        find(question)
    return tuple(a for a in _ALGORITHMS.values() if question in (None, a.question))
