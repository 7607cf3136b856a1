"""The kernels of one robot, made on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..algorithms import find
from ..algorithms.registry import find_question
from ..arguments import AnyArray
from ..model import Model
from ..model.variation import structure_of
from .kernel import Kernel
from .settings import with_frames

__all__ = ["Kernels"]

T = TypeVar("T")


class Kernels:
    """A table of kernels, of functions for single states, and of time loops."""

    def __init__(self, model: Model, way: str | None = None) -> None:
        """Begin an empty table; `way` is how its kernels run, unless a call says otherwise."""
        self.model, self.way = model, way
        self.calls: dict[Any, Callable[..., Any]] = {}
        """Functions for one state per call, by the question and the settings of the call; see `Answering`."""
        self._made: dict[Any, Kernel] = {}
        self._lent: dict[Any, Kernel] = {}
        """Kernels about a robot with the same tree and other loops: their machine code serves this one, too."""
        self._kept: dict[Any, Any] = {}

    def kernel(
        self,
        question: str,
        method: str | None = None,
        present: Sequence[str] = (),
        way: str | None = None,
        model: Model | None = None,
        **options: Any,
    ) -> Kernel:
        """Return the kernel of a question about this robot, or about another model."""
        algorithm = find(question, method)[1]
        about = self.model if model is None else model
        options = with_frames(about, question, options)
        other = None if model is None else id(model)  # a kernel keeps its model and its algorithm alive
        named = present if isinstance(present, str) else tuple(present)
        key = (id(algorithm), other, named, way, *sorted(options.items()))
        lent = None
        try:
            found = self._made.get(key)
            if found is None:
                lent = self._lent.get(key)
        except TypeError:
            found = None  # a setting of a wrong type, which the kernel names
        if found is None:
            if lent is not None:
                found = lent.about(about)
            else:
                found = Kernel(about, question, algorithm.name, present, way or self.way, **options)
            self._made[key] = found
        return found

    def named(
        self, question: str, method: str | None = None, model: Model | None = None, **named: Any
    ) -> tuple[Kernel, list[Any]]:
        """Return the kernel for optional arguments and settings by name, and the optional arguments in order.

        Optional arguments that are None are left out.
        """
        present, optional = [], []
        for port in find_question(question).inputs:
            value = named.pop(port.name, None) if port.optional else None
            if value is not None:
                present.append(port.name)
                optional.append(value)
        return self.kernel(question, method, present, model=model, **named), optional

    def ask(self, question: str, *arguments: Any, **named: Any) -> AnyArray:
        """Return the answer of a kernel; optional arguments and settings are given by name."""
        kernel, optional = self.named(question, **named)
        return kernel(*arguments, *optional)

    def kept(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return what was made before for this key, such as a time loop, or make it now."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def shared(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """Return code, such as a time loop, that all robots of one structure share, or make it now."""
        if self.model.variation is None:
            return self.kept(key, make)
        known: dict[Any, Any] = structure_of(self.model).__dict__.setdefault("_shared_code", {})
        if key not in known:
            known[key] = make()
        found: T = known[key]
        return found

    def shared_with(self, model: Model) -> Kernels:
        """Return a table for a model with the same tree, which begins with all kernels that serve it, too."""
        found = Kernels(model, self.way)
        if (model.loops, model.couplings) == (self.model.loops, self.model.couplings):
            found._made, found._kept = self._made, self._kept
        else:
            known = {**self._lent, **self._made}
            found._lent = {key: x for key, x in known.items() if key[1] is None and not x.question.loops}
        return found
