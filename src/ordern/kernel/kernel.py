"""A question about a robot as a NumPy function.

A `Kernel` answers one question about one robot by one method. It takes any leading shape, broadcasts each argument,
accepts `out=` and any strides, and gives float32 for float32. Code is compiled for a data type when it is first needed.
A kernel pickles as what it answers, not as code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from ..algorithms import CHOICES, Algorithm, Port, Question, find, methods
from ..arguments import AnyArray, choice
from ..compile.pipeline import WAYS, Code, Request
from ..compile.run.numpy_api import fast_calls_work
from ..declared import explained_methods
from ..errors import ArgumentError
from ..graph import Counts
from ..model import Model
from ..model.checks import require_closed_forms
from .arguments import Arguments
from .bound import Bound, bound
from .compiled import Compiled
from .composed import PieceCounts
from .elsewhere import ELSEWHERE, elsewhere
from .fast_path import add_fallback
from .place import PLACE
from .runners import Composed, InPieces, Interpreted, Runner
from .settings import with_frames
from .tracing import readable

__all__ = ["Kernel", "made_runner"]


_LONGEST_STRAIGHT = 60
"""Freedoms beyond which methods that are not loops over bodies run as compiled pieces."""


@explained_methods
class Kernel:
    """One question about one robot, answered by one method.

    Call it with the question's arguments. `present` names the optional arguments that will be given; `options` are
    settings such as the frame; `way` is "interpreted", "unrolled" or "rolled", or None to let the number of operations
    decide.
    """

    def __init__(
        self,
        model: Model,
        question: str,
        method: str | None = None,
        present: Sequence[str] = (),
        way: str | None = None,
        **options: Any,
    ) -> None:
        present = (present,) if isinstance(present, str) else tuple(present)
        self.model = model
        self.question, self.algorithm = _checked(model, question, method, present, way, options)
        self.options = options = with_frames(model, question, options)
        self.ports: list[Port] = [p for p in self.question.inputs if not p.optional or p.name in present]
        computed = model
        if self.algorithm.borrows:
            from ..model.shiftable_inertia import borrowed

            computed = borrowed(model)
        settings = tuple(sorted(options.items(), key=lambda o: o[0]))
        self.request = Request(computed, self.question, self.algorithm, frozenset(present), settings, way)
        self._varied: Bound | None = None
        """The numbers of a varied robot, which are one more argument of the code."""
        if model.variation is not None:
            from .varied import varied_runner

            self.request, self._runner, self._varied = varied_runner(model, self.request, made_runner)
            return
        self._runner = made_runner(model, self.request)

    def __call__(self, *arguments: Any, out: AnyArray | None = None, threads: int | None = None) -> AnyArray:
        """Return the answer, as an array of the batch shape followed by the shape of one state's answer."""
        if PLACE.device is not None and not self.algorithm.pieces:  # whose kernels are asked one by one
            there: AnyArray = self.on(PLACE.device)(*arguments, out=out)
            return there
        found = self._runner(arguments, out, threads, self._varied)
        if found is ELSEWHERE:
            elsewhere_found: AnyArray = elsewhere(self, arguments, out, threads)
            return elsewhere_found
        return found

    __call__.explained = True  # type: ignore[attr-defined]  # the runner checks the arguments

    @property
    def runner(self) -> Runner:
        """The object that computes, which all robots of one structure share."""
        return self._runner

    def on(self, device: Any = "cuda") -> Any:
        """Return the same kernel on a GPU: "cuda" for the first of this machine, "cuda:1" for the one of that number.

        It takes arrays of PyTorch, JAX, CuPy or `ordern.gpu` that are on that GPU, and returns such; arrays of NumPy go
        there and come back. See `ordern.gpu.DeviceKernel`.
        """
        return import_module("ordern.gpu.kernel").on_device(self, device)  # a layer above this one

    @property
    def code(self) -> Code:
        """The compiled code for float64: how it runs, and how many operations it has."""
        return self._runner.code

    @property
    def is_interpreted(self) -> bool:
        """True if the kernel as a whole has no compiled code, in any data type."""
        return not isinstance(self._runner, Compiled)

    def counts(self) -> Counts | PieceCounts:
        """Return the operations per state, exactly: of straight-line code for this robot, or of loops if compiled so.

        A method that is NumPy code around other kernels has a `PieceCounts`, as `ordern.count` gives it.
        """
        return self._runner.counts()

    def c(self, dtype: str = "float64", name: str | None = None) -> str:
        """Return the kernel as C code: the text of one C99 file with one function, which needs only `<math.h>`.

        The comment at its top documents the arguments, their sizes and the cost. The text is made from the same graph
        as the machine code, and is the same for the same robot. Numbers are of type double, or with `dtype="float32"`
        of type float. The function has this `name`, or one made from those of the robot and the question. A kernel with
        `way="rolled"` gives loops over tables, and needs a workspace as its last argument.

        >>> import ordern as on
        >>> text = on.load("double-pendulum").kernel("mass_matrix").c(name="inertia")
        >>> "void inertia(const double *q, double *out);" in text
        True
        """
        if self.algorithm.pieces or self.request.way == "interpreted":
            _ = self._runner.code  # raises, and says why there is none
        if self._varied is not None:
            raise ArgumentError(
                f"C code of {self.model.name!r}: its parameters vary, and C code is written for fixed numbers"
            )
        from ..algorithms.method_limits import require_tree
        from ..compile.c.source import c_source

        require_tree(self.model, self.question.name)
        return c_source(self.request, dtype, name)

    def fast(
        self,
        fallback: Callable[..., Any] | None = None,
        owner: Any = None,
        doc: str = "",
        *,
        name: str | None = None,
        first: int | None = None,
        floor: float | None = None,
    ) -> Callable[..., Any]:
        """Return a function for one state per call that skips all checks it can; other calls go to the fallback.

        The fallback is the kernel itself unless given. The function appears as a method of `owner`, which is the kernel
        unless given, by the question's name or another. Of an answer that is a vector it may return the `first` numbers
        only; with a `floor` it calls the fallback if the last number is not above it.
        """
        fallback = self if fallback is None else fallback
        if self._varied is not None:
            return self._varied_single(self._varied, fallback)
        if not isinstance(self._runner, Compiled) or not fast_calls_work():
            return fallback
        owner, name = self if owner is None else owner, name or self.question.name
        key = "__call__" if fallback is owner else add_fallback(owner, name, fallback)
        return self._runner.machine("float64").function(owner, key, name, doc, first, floor)

    def _varied_single(self, varied: Bound, fallback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the fast function of a varied robot, which takes no settings."""
        fast = self._runner.single(varied) if isinstance(self._runner, Compiled) else None
        if fast is None:
            return fallback

        def single(*given: Any, **settings: Any) -> Any:
            found = None if settings else fast(*given)
            return fallback(*given, **settings) if found is None else found

        return single

    @cached_property
    def single(self) -> Callable[..., Any]:
        """The fast function for one state per call; it passes all other calls to the kernel."""
        return self.fast()

    @property
    def is_varied(self) -> bool:
        """True if numbers of the robot are arguments of the code."""
        return self._varied is not None

    def with_way(self, way: str | None) -> Kernel:
        """Return the same kernel, run in another way."""
        return Kernel(self.model, self.question.name, self.algorithm.name, self._present, way, **self.options)

    def about(self, model: Model) -> Kernel:
        """Return the kernel of the same question about another model with the same tree, by the same machine code."""
        given = (self.question.name, self.algorithm.name, self._present, self.request.way)
        found = Kernel(model, *given, **self.options)
        if isinstance(self._runner, Compiled) and model.variation is None:
            found._runner = self._runner
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.model, self.question.name, self.algorithm.name, self._present, self.request.way)
        return partial(Kernel, **self.options), given

    @property
    def _present(self) -> tuple[str, ...]:
        """The names of the optional arguments that are given, in order."""
        return tuple(p.name for p in self.ports if p.optional)

    def __repr__(self) -> str:
        shown: dict[str, Any] = {k: getattr(v, "name", v) for k, v in self.options.items()}
        if self.request.way:
            shown["way"] = self.request.way
        if self.request.present:
            shown["present"] = self._present
        settings = "".join(f", {k}={v!r}" for k, v in shown.items())
        return f"<Kernel {self.question.name} of {self.model.name!r} by {self.algorithm.name!r}{settings}>"


def _checked(
    model: Model, question: str, method: str | None, present: tuple[str, ...], way: str | None, options: dict[str, Any]
) -> tuple[Question, Algorithm]:
    """Return the question and the method, if all names are known and the method can be used for the model."""
    asked, algorithm = find(question, method)
    if way is not None:
        choice("way of running", way, WAYS)
    optional = [p.name for p in asked.inputs if p.optional]
    for name in present:
        choice("optional argument", name, optional, question)
        if name not in algorithm.accepts(asked):
            raise ArgumentError(f"{question} by the method {algorithm.name!r} takes no {name!r}")
    for name in options:
        choice("setting", name, asked.options, question)
    in_order = [name for name in optional if name in present]
    if list(present) != in_order:
        raise ArgumentError(
            f"{question}: `present` is {list(present)}, but the arguments will be given as {in_order}: name them so"
        )
    for name in asked.options:
        if name not in options:
            raise ArgumentError(f"{question} needs the setting {name!r}")
        if name in CHOICES:
            choice(name, options[name], CHOICES[name], question)
    if asked.contacts:
        require_closed_forms(model, question)
    reason = algorithm.refuses(model) if algorithm.refuses else ""
    if reason:
        others = (find(question)[1], *methods(question))
        able = (m.name for m in others if not (m.alias_of or (m.refuses and m.refuses(model))))
        hint = next((f"; {name!r} can do it" for name in able), "")
        raise ArgumentError(f"{question} by the method {algorithm.name!r}: {reason}{hint}")
    if asked.needs_inertia:
        varied = bound(model)
        if varied is None:
            model.require_inertia()
        else:
            varied.require_inertia()
    return asked, algorithm


def made_runner(model: Model, request: Request) -> Runner:
    """Return a runner of a request about a model."""
    ports, output = request.ports, request.question.output
    return _runner(request, Arguments(model, request.question.name, ports, output, request.frames))


def _runner(request: Request, arguments: Arguments) -> Runner:
    """Return the runner that suits a request."""
    algorithm, way = request.algorithm, request.way
    if algorithm.pieces:
        from .table import Kernels

        return Composed(request, arguments, Kernels(arguments.model, None if way == "interpreted" else way))
    if not algorithm.sweeps and (way == "rolled" or (way is None and arguments.model.nv > _LONGEST_STRAIGHT)):
        return InPieces(request, arguments)
    shapes = (*arguments.shapes, arguments.output)
    if request.question.contacts and request.model.nv:  # a robot may have steps with limits, and nothing that touches
        shapes = (arguments.output,)
    empty = any(0 in shape for shape in shapes)  # there is nothing to be fast at
    return Interpreted(request, arguments) if way == "interpreted" or empty else Compiled(request, arguments)


readable(Kernel, ["__call__"])
