"""Questions and the algorithms that answer them.

A question ("what are the joint forces of this motion?") has named arguments and one result. Each of its
algorithms, called methods, is one function over a `Tree`. A third party adds an algorithm by decorating a function;
nothing in the library needs to be edited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from ..declared import explained
from ..errors import unknown_name
from ..model import Model
from ..records import dataclass
from .method_limits import all_of, undeclared_couplings

__all__ = [
    "Algorithm",
    "Port",
    "Question",
    "algorithm",
    "alias",
    "find",
    "find_question",
    "methods",
    "question",
    "questions",
]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Port:
    """An argument: its name, its kind (see `ordern.model.ports`), and whether it may be left out."""

    name: str
    kind: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a robot: its inputs, its result, and its default method."""

    name: str
    inputs: tuple[Port, ...]
    output: str
    """The kind of the result."""
    default: str
    """The method that is used unless another is given."""
    options: tuple[str, ...] = ()
    """Settings that are not numbers, such as the frame."""
    needs_inertia: bool = False
    """True if every joint must move some inertia, so that an answer exists."""
    contacts: bool = False
    """True if it depends on the contacts of the model, which all others leave out."""
    loops: bool = False
    """True if it depends on loops and couplings, which questions about the tree leave out."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A method: its function, its source, and its abilities."""

    question: str
    name: str
    function: Callable[..., Any]
    paper: str
    equations: str
    order: str
    """The order of its cost in the number of bodies n and the depth d of the tree."""
    sweeps: bool = True
    """True if it consists of loops over bodies alone, so that it can be compiled as loops."""
    pieces: bool = False
    """True if it is NumPy code around compiled functions: `function(ask, *arrays)`, see `Pieces`."""
    refuses: Callable[[Model], str] | None = None
    """Returns why the method cannot be used for a model; empty if it can."""
    alias_of: str = ""
    """The method that it is another name of."""
    regroup: bool = False
    """True if its result depends on base parameters only, so that inertia may be moved between bodies beforehand (see
    `ordern.model.base_parameters`), and if it can handle bodies that are left without mass."""
    repeats: bool = False
    """True if it applies a function to its own result (`tree.repeat`), which is compiled as a loop."""
    borrows: bool = False
    """True if it inverts the inertia of each body by itself: a singular one borrows some from its neighbours (see
    `ordern.model.shiftable_inertia`), and the method removes the borrowed part from wrenches."""

    def accepts(self, question: Question) -> tuple[str, ...]:
        """Return the names of the question's inputs that the function takes: it may lack the last optional ones."""
        import inspect  # slow to import, and not needed to load a robot

        parameters = inspect.signature(self.function).parameters.values()  # the first is the tree
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            return tuple(p.name for p in question.inputs)
        taken = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.name not in question.options]
        return tuple(p.name for p in question.inputs[: len(taken) - 1])

    @property
    def derivatives(self) -> str:
        """How it is differentiated: "graph", "implicit" or "analytic"; empty if it has no derivatives.

        "graph" is forward or reverse mode on the operations of the method. "implicit" solves the equation that defines
        the answer for the derivatives, whatever method solved it for the answer. "analytic" is a text of its own for
        the matrices of derivatives; products are as for the other methods of the question.
        """
        from .derivatives.derived import way_of_differentiation

        return way_of_differentiation(self)

    @property
    def as_loops(self) -> tuple[str, ...]:
        """The results that are compiled as loops, for robots of any length: "answer", "jvp", "vjp" and "hvp", or none.

        All else is straight-line code, which is compiled for robots with up to 60 freedoms: derivatives by parameters,
        Hessians, and matrices of derivatives without a text of their own. For longer robots its operations run one by
        one, each for all states of a batch, which is slow for single states. NumPy code around other functions, and
        methods that combine pairs of bodies, run compiled pieces of any robot.
        """
        return ("answer", "jvp", "vjp", "hvp") if self.sweeps and not self.pieces else ()


CHOICES = {"axes": ("frame", "world", "origin"), "kind": ("classical", "spatial")}
"""The values of settings that are words."""
_IN_COORDINATES = ("push ", "pull ")
"""The names of derivatives by the numbers of arguments begin so; see `derivatives.coordinates`."""
_QUESTIONS: dict[str, Question] = {}
_ALGORITHMS: dict[tuple[str, str], Algorithm] = {}


def question(name: str, inputs: tuple[Port, ...], output: str, default: str, **more: Any) -> Question:
    """Declare a question; `more` are further fields of `Question`."""
    found = _QUESTIONS[name] = Question(name, inputs, output, default, **more)
    return found


@explained
def algorithm(
    question: str,
    name: str,
    *,
    paper: str = "",
    equations: str = "",
    order: str = "n",
    sweeps: bool = True,
    pieces: bool = False,
    refuses: Callable[[Model], str] | None = None,
    regroup: bool = False,
    borrows: bool = False,
    repeats: bool = False,
    couplings: bool | None = None,
    joints_only: bool = False,
) -> Callable[[F], F]:
    """Declare a function as a method of a question. It is called with the tree, the inputs, and the options.

    With `sweeps=False` it is more than loops over bodies: it runs interpreted or unrolled. `refuses(model)` returns the
    reason why the method does not apply to a model. With `regroup=True` inertia may be moved between bodies where that
    changes nothing for the joints, which saves operations; `joints_only` is the earlier name of this option. With
    `borrows=True` it inverts the inertia of each body, and gets inertias that can be inverted. With `repeats=True` it
    calls `tree.repeat`, which is compiled as a loop.

    `couplings=True` declares that it handles joints that follow others (mimic joints). Without that, robots that have
    such joints are refused: a recursion that treats them as free gives wrong numbers. The library's own methods declare
    their limits by `refuses`.
    """
    if question not in _QUESTIONS:
        raise unknown_name("question", question, _QUESTIONS)

    def register(function: F) -> F:
        ours = str(function.__module__).startswith("ordern.")
        reason = refuses
        if not (ours if couplings is None else couplings):
            reason = all_of(undeclared_couplings, refuses) if refuses else undeclared_couplings
        loops, regroups = sweeps and not pieces, regroup or joints_only
        _ALGORITHMS[question, name] = Algorithm(
            question, name, function, paper, equations, order, loops, pieces, reason, "", regroups, repeats, borrows
        )
        return function

    return register


def alias(question: str, name: str, of: str, *, paper: str = "", equations: str = "") -> None:
    """Declare another name of a method: a short one, or that of a paper that derives the same recursion."""
    _, meant = find(question, of)
    _ALGORITHMS[question, name] = replace(meant, name=name, paper=paper, equations=equations, alias_of=of)


@cache
def import_all() -> None:
    """Import every module of algorithms. The most used ones are imported from the start, the others when needed."""
    import pkgutil

    package = import_module(__package__ or "")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)


def questions() -> tuple[Question, ...]:
    """Return all questions."""
    return tuple(_QUESTIONS.values())


def find_question(name: Any) -> Question:
    """Return a question; an error for an unknown name lists all."""
    if isinstance(name, str) and name.startswith(_IN_COORDINATES):
        from .derivatives.coordinates import coordinate_question

        return coordinate_question(name)
    if isinstance(name, str) and " " in name:
        from .derivatives.derived import derived_question

        derived = derived_question(name)
        if derived is not None:
            return derived
    if isinstance(name, str) and name not in _QUESTIONS:
        import_all()  # some modules declare questions of their own
    if not isinstance(name, str) or name not in _QUESTIONS:
        raise unknown_name("question", name, _QUESTIONS)
    return _QUESTIONS[name]


def find(question: str, method: str | None = None) -> tuple[Question, Algorithm]:
    """Return a question and one of its methods, or its default method; an error for an unknown name lists all."""
    if str(question).startswith(_IN_COORDINATES):
        from .derivatives.coordinates import find_in_coordinates

        return find_in_coordinates(question, method)
    if " " in str(question):
        from .derivatives.derived import find_derived

        derived = find_derived(question, method)
        if derived is not None:
            return derived
    asked = find_question(question)
    name: Any = asked.default if method is None else method
    if isinstance(name, str) and (question, name) not in _ALGORITHMS:
        import_all()
    if not isinstance(name, str) or (question, name) not in _ALGORITHMS:
        raise unknown_name("method", name, [n for q, n in _ALGORITHMS if q == question], question)
    return asked, _ALGORITHMS[question, name]


@explained
def methods(question: str | None = None) -> tuple[Algorithm, ...]:
    """Return the implemented algorithms, of one question or of all: of each question the default, then by name.

    >>> import ordern as on
    >>> [m.name for m in on.methods("inverse_dynamics")]
    ['newton-euler', 'composite-inertia', 'denoc', 'newton-euler-absolute', 'newton-euler-vector', 'rnea']
    >>> sorted({m.derivatives for m in on.methods("forward_dynamics")})
    ['', 'analytic', 'implicit']
    """
    import_all()
    if question is not None:
        find(question)
    questions = list(_QUESTIONS)

    def place(a: Algorithm) -> tuple[int, bool, str]:
        return questions.index(a.question), a.name != _QUESTIONS[a.question].default, a.name

    # modules register in the order in which they happen to be imported
    return tuple(sorted((a for a in _ALGORITHMS.values() if question in (None, a.question)), key=place))
