"""Functions of NumPy arrays with native derivatives, as operators of PyTorch: what rollouts are.

Such a function has the form of an `Operator`: named inputs with any leading shapes that broadcast, and one answer. Its
push and pull are functions of NumPy arrays, too. For derivatives of these, PyTorch differentiates `composed`, the same
function made of other operators.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...arguments import AnyArray
from ..operators import Input

__all__ = ["Native"]

Arrays = Mapping[str, AnyArray]


class Native(ABC):
    """A function of NumPy arrays, with native derivatives."""

    numbers = None
    is_compiled = False

    def __init__(self, name: str, robot: str, inputs: Sequence[Input], output: tuple[int, ...]) -> None:
        self.name, self.robot, self.inputs, self.output = name, robot, tuple(inputs), output
        self.names = tuple(x.name for x in inputs)
        self._torch_needs_answer = True

    @abstractmethod
    def compute(self, given: Arrays, batch: tuple[int, ...], threads: int | None) -> AnyArray:
        """Return the answer (*batch, *output) for inputs by name, all of the batch."""

    @abstractmethod
    def composed(self, given: Mapping[str, Tensor]) -> Tensor:
        """Return the answer for tensors of one batch by name, by operators that have derivatives of any order."""

    @abstractmethod
    def rates(
        self, given: Arrays, answer: AnyArray, moving: Arrays, batch: tuple[int, ...], threads: int | None
    ) -> AnyArray:
        """Return the rate of the answer for rates of some inputs."""

    @abstractmethod
    def gradient(
        self, given: Arrays, weights: AnyArray, wrt: Sequence[str], batch: tuple[int, ...], threads: int | None
    ) -> dict[str, AnyArray]:
        """Return the derivatives of the weighted sum of the answer by some inputs."""

    def __call__(self, *arrays: AnyArray, threads: int | None = None) -> AnyArray:
        """Return the answer for arrays of one data type."""
        given, batch = _spread(self.inputs, arrays)
        return self.compute(given, batch, threads)

    def push(self, *wrt: str) -> _Push:
        """Return the function of rates of the answer, from rates of some inputs."""
        return _Push(self, wrt)

    def pull(self, *wrt: str) -> _Pull:
        """Return the function of derivatives of a weighted sum of the answer by some inputs, in one row."""
        return _Pull(self, wrt)


class _Derivative:
    """The push or pull of a native function."""

    numbers = None
    is_compiled = False

    def __init__(self, base: Native, mode: str, wrt: tuple[str, ...], added: Sequence[Input], output: Any) -> None:
        self.base, self.wrt, self.robot, self.output = base, wrt, base.robot, output
        self.name = f"{mode} {base.name} by {' '.join(wrt)}"
        self.inputs = (*base.inputs, Input("answer", base.output), *added)
        self.names = tuple(x.name for x in self.inputs)
        self.added = tuple(x.name for x in added)
        self._torch_needs_answer = False

    def arguments(self, given: Sequence[Any], answer: Any, added: Sequence[Any]) -> list[Any]:
        """Return the inputs in order."""
        return [*given, answer, *added]

    def _spread(self, tensors: Sequence[Tensor]) -> tuple[dict[str, Tensor], tuple[int, ...]]:
        """Return inputs by name, all with the leading shape that they broadcast to, and this shape."""
        leading = [x.shape[: x.ndim - len(port.shape)] for x, port in zip(tensors, self.inputs, strict=True)]
        batch = torch.broadcast_shapes(*leading)
        given = zip(self.inputs, tensors, strict=True)
        return {port.name: x.expand((*batch, *port.shape)) for port, x in given}, batch

    def _varying(self, given: dict[str, Tensor]) -> tuple[Callable[..., Tensor], list[Tensor]]:
        """Return the base as a function of the inputs that vary, and these."""
        fixed = {x: given[x] for x in self.base.names}

        def function(*some: Tensor) -> Tensor:
            return self.base.composed({**fixed, **dict(zip(self.wrt, some, strict=True))})

        return function, [given[x] for x in self.wrt]


class _Push(_Derivative):
    """Rates of the answer."""

    def __init__(self, base: Native, wrt: tuple[str, ...]) -> None:
        shapes = {x.name: x.shape for x in base.inputs}
        super().__init__(base, "push", wrt, [Input(f"{x}_rate", shapes[x]) for x in wrt], base.output)

    def __call__(self, *arrays: AnyArray, threads: int | None = None) -> AnyArray:
        """Return the rate of the answer."""
        given, batch = _spread(self.inputs, arrays)
        moving = {x: given.pop(f"{x}_rate") for x in self.wrt}
        return self.base.rates(given, given.pop("answer"), moving, batch, threads)

    def function(self, *tensors: Tensor) -> Tensor:
        """Return the same for tensors, by operators that have derivatives."""
        given, _ = self._spread(tensors)
        function, varying = self._varying(given)
        return _pushed(function, varying, [given[f"{x}_rate"] for x in self.wrt])


class _Pull(_Derivative):
    """Derivatives of a weighted sum of the answer, in one row."""

    def __init__(self, base: Native, wrt: tuple[str, ...]) -> None:
        shapes = {x.name: x.shape for x in base.inputs}
        size = sum(math.prod(shapes[x]) for x in wrt)
        super().__init__(base, "pull", wrt, [Input("weights", base.output)], (size,))

    def __call__(self, *arrays: AnyArray, threads: int | None = None) -> AnyArray:
        """Return the derivatives."""
        given, batch = _spread(self.inputs, arrays)
        weights = given.pop("weights")
        found = self.base.gradient(given, weights, self.wrt, batch, threads)
        return np.concatenate([found[x].reshape(*batch, -1) for x in self.wrt], axis=-1, dtype=weights.dtype)

    def function(self, *tensors: Tensor) -> Tensor:
        """Return the same for tensors, by operators that have derivatives."""
        given, batch = self._spread(tensors)
        function, varying = self._varying(given)
        found = torch.func.vjp(function, *varying)[1](given["weights"])
        return torch.cat([x.reshape((*batch, -1)) for x in found], dim=-1)


def _pushed(function: Callable[..., Tensor], given: Sequence[Tensor], rates: Sequence[Tensor]) -> Tensor:
    """Return the rate of a function for rates of its arguments, by reverse mode twice.

    Forward mode may be at work already, and it is not to be nested.
    """
    answer, pull = torch.func.vjp(function, *given)
    (found,) = torch.func.vjp(pull, torch.zeros_like(answer))[1](tuple(rates))
    return found


def _spread(inputs: Sequence[Input], arrays: Sequence[AnyArray]) -> tuple[dict[str, AnyArray], tuple[int, ...]]:
    """Return inputs by name, all with the leading shape that they broadcast to, and this shape."""
    leading = [x.shape[: x.ndim - len(port.shape)] for x, port in zip(arrays, inputs, strict=True)]
    batch = np.broadcast_shapes(*leading)
    given = {port.name: np.broadcast_to(x, (*batch, *port.shape)) for x, port in zip(arrays, inputs, strict=True)}
    return given, batch
