"""A question about a robot as a pure function of arrays, with its derivatives as functions of the same kind.

An `Operator` is one question about one robot by one method, with its settings. It knows the names and shapes of its
inputs for one state, the shape of its answer, and the machine code that computes it; it computes on NumPy arrays. Its
derivatives are products, and operators again, so that derivatives of any order follow:

    y = f(q, v)                   operator                 inputs q, v
    dy = f_q dq + f_v dv          operator.push(q, v)      inputs q, v, q_rate, v_rate     linear in the rates
    dq = f_q^T w, dv = f_v^T w    operator.pull(q, v)      inputs q, v, weights            linear in the weights

Positions vary by their numbers, not in the tangent of `integrate`: that is what array libraries differentiate by.
`push` and `pull` are transposes of each other. The answer of `pull` is one row; `Derivative.split` gives the part of
each input. Some derivatives take the answer of the function in the place of an input: forward dynamics is
differentiated at the accelerations, which are known by then. `Derivative.arguments` puts everything in its place.

For a robot whose parameters vary, the last input is "numbers": the numbers of the robot as the code reads them.
`Numbers` computes them from the values that users know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from ..algorithms.derivatives.coordinates import NUMBERS, PULL, PUSH, added_inputs, pull_name, push_name
from ..algorithms.registry import find
from ..arguments import AnyArray
from ..compile.pipeline import Request, request_key
from ..compile.run.cache import cache_key
from ..compile.run.loaded import Machine
from ..errors import ArgumentError
from ..forking import COMPILING
from ..graph import Node, live
from ..graph.ops import OPS
from ..kernel import Kernel
from ..kernel.compiled import Compiled
from ..kernel.kernel import made_runner
from ..kernel.runners import Runner
from ..model.varied_rows import varied_rows
from ..records import dataclass

__all__ = ["Derivative", "Input", "Numbers", "Operator", "operator_of"]

Names = tuple[str, ...]
_IN_LIBRARIES = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "atan2": "arctan2"}
"""Operations of graphs that are functions of array libraries; others are Python's operators."""
_LONGEST_STRAIGHT = 60
"""Freedoms beyond which the code of a varied robot is loops over bodies."""


@dataclass(frozen=True, slots=True)
class Input:
    """An input of an operator: its name, and its shape for one state."""

    name: str
    shape: tuple[int, ...]


def operator_of(kernel: Kernel) -> Operator:
    """Return the operator of a kernel. All robots of one structure share it, and all that are equal.

    JAX never forgets what it has compiled for an operator, so that a robot that is loaded again must not have new ones.
    """
    request, runner = kernel.request, kernel.runner
    found: Operator | None = runner.__dict__.get("_operator")
    if found is None:
        with COMPILING:
            found = runner.__dict__.get("_operator")
            if found is None:
                key = _content(request) if isinstance(runner, Compiled) else None
                found = None if key is None else _shared.get(key)
                if found is None:
                    found = Operator(request, runner)
                if key is not None:
                    _shared[key] = found
                runner.__dict__["_operator"] = found
    return found


_shared: WeakValueDictionary[str, Operator] = WeakValueDictionary()
"""Operators by the digests of all that they compute."""


def _content(request: Request) -> str | None:
    """Return a digest of what an operator computes, and of names in arguments and messages; None if it is not known."""
    key, model = request_key(request, "", None), request.model
    names = [model.name, model.base, [b.name for b in model.bodies], [c.name for c in model.joints], model.frames]
    return None if key is None else cache_key([repr(names), key])


class Operator:
    """One question about one robot by one method, as a pure function of arrays. Known by its identity."""

    def __init__(self, request: Request, runner: Runner | None = None) -> None:
        self.name, self.robot = request.question.name, request.model.name
        inputs = [Input(p.name, request.shape(p.kind)) for p in request.ports]
        self.numbers = None if request.model.variation is None else Numbers(request)
        """The numbers of a varied robot; None for a robot of fixed numbers."""
        if self.numbers is not None:
            inputs.append(Input(NUMBERS, (self.numbers.count,)))
            if not isinstance(runner, Compiled) or request.way is None:
                request = _with_way(request)
                runner = None
        self.request, self.runner = request, made_runner(request.model, request) if runner is None else runner
        if self.numbers is not None and not isinstance(self.runner, Compiled):
            raise ArgumentError(
                f"{self.name} by the method {request.algorithm.name!r} is not compiled as one function, so it takes no "
                f"arrays of other libraries where parameters of {self.robot!r} vary; choose another method, or give "
                "NumPy arrays"
            )
        self.inputs = tuple(inputs)
        self.output = request.shape(request.question.output)
        """The shape of the answer for one state."""
        self._derivatives: dict[tuple[str, Names], Derivative] = {}

    @property
    def names(self) -> Names:
        """The names of the inputs."""
        return tuple(x.name for x in self.inputs)

    @property
    def is_compiled(self) -> bool:
        """True if machine code computes it; else it is NumPy code around such, which runs on the host."""
        return isinstance(self.runner, Compiled)

    def machine(self, dtype: str) -> Machine:
        """Return the machine code for "float32" or "float64"; `Machine.entry` has its address."""
        assert isinstance(self.runner, Compiled), f"{self.name} is not compiled as a whole"
        return self.runner.machine(dtype)

    def code_inputs(self, arrays: Sequence[Any], dtype: str, library: Any = np) -> list[Any]:
        """Return the arrays that the machine code reads, of NumPy or a library like it: it may read few numbers."""
        if self.numbers is None:
            return list(arrays)
        *first, numbers = arrays
        read = self.numbers.read_by(self.machine(dtype).code.numbers, numbers, library)
        return first if read is None else [*first, read]

    def __call__(self, *arrays: AnyArray, out: AnyArray | None = None, threads: int | None = None) -> AnyArray:
        """Return the answer for NumPy arrays of one data type, with any leading shapes that broadcast."""
        runner = self.runner
        if not isinstance(runner, Compiled):
            return runner(arrays, out, threads)
        dtype = arrays[0].dtype
        given = self.code_inputs(arrays, dtype.name)
        found = runner.run(runner.machine(dtype.name), given, out, threads)
        if len(given) == len(arrays) or out is not None:
            return found
        shapes = (x.shape[: x.ndim - len(o.shape)] for x, o in zip(arrays, self.inputs, strict=True))
        batch = np.broadcast_shapes(*shapes)
        return np.broadcast_to(found, (*batch, *self.output))  # it reads no number of the robot

    def push(self, *wrt: str) -> Derivative:
        """Return the operator of rates of the answer, from rates of some inputs."""
        return self._derivative(PUSH, wrt)

    def pull(self, *wrt: str) -> Derivative:
        """Return the operator of the derivatives of a weighted sum of the answer by some inputs, in one row."""
        return self._derivative(PULL, wrt)

    def _derivative(self, mode: str, wrt: Names) -> Derivative:
        found = self._derivatives.get((mode, wrt))
        if found is None:
            with COMPILING:
                found = self._derivatives.get((mode, wrt))
                if found is None:
                    found = self._derivatives[mode, wrt] = Derivative(self, mode, wrt)
        return found

    def __repr__(self) -> str:
        inputs = ", ".join(f"{x.name} {x.shape}" for x in self.inputs)
        return f"<Operator {self.name} of {self.request.model.name!r}: {inputs} -> {self.output}>"


class Derivative(Operator):
    """The push or pull of an operator."""

    def __init__(self, base: Operator, mode: str, wrt: Names) -> None:
        request = base.request
        name = (push_name if mode == PUSH else pull_name)(request.question.name, wrt)
        if not base.is_compiled and not request.algorithm.pieces:
            raise ArgumentError(
                f"derivatives of {base.name} by the method {request.algorithm.name!r}: its code for "
                f"{request.model.name!r} is not compiled as a whole; use the default method, or `robot.jvp` and "
                "`robot.vjp` on NumPy arrays"
            )
        if request.reads_values:
            raise ArgumentError(
                f"{base.name}: derivatives by parameters have no derivatives in other array libraries; give the "
                "parameters as arrays of the library, robot.vary(...), which then differentiates by them"
            )
        if NUMBERS in wrt and request.way == "rolled":
            raise ArgumentError(
                f"derivatives of {base.name} by parameters: {request.model.name!r} has {request.model.nv} freedoms; "
                f"they are straight-line code, which is for at most {_LONGEST_STRAIGHT}"
            )
        question, algorithm = find(name, request.algorithm.name)
        present = request.present - set(wrt)  # these are now required
        super().__init__(Request(request.model, question, algorithm, present, request.options, request.way))
        self.base, self.mode, self.wrt = base, mode, wrt
        self.added: Names = tuple(added_inputs(name))
        """The inputs that the base does not have: rates of the inputs in `wrt`, or weights. It is linear in them."""

    def arguments(self, given: Sequence[Any], answer: Any, added: Sequence[Any]) -> list[Any]:
        """Return the inputs in order: from those of the base, its answer, and those that the derivative adds."""
        known = dict(zip(self.base.names, given, strict=True)) | dict(zip(self.added, added, strict=True))
        return [known.get(x, answer) for x in self.names]  # the only other input is the answer

    def split(self, row: Any) -> list[Any]:
        """Return the parts of a row of derivatives, one for each input in `wrt`; for a pull."""
        shapes, found, stop = {x.name: x.shape for x in self.base.inputs}, [], 0
        for name in self.wrt:
            start, stop = stop, stop + math.prod(shapes[name])
            found.append(row[..., start:stop].reshape((*row.shape[:-1], *shapes[name])))
        return found


class Numbers:
    """The numbers of a varied robot as the code of one method reads them, from the values that users know."""

    def __init__(self, request: Request) -> None:
        rolled = _with_way(request).way == "rolled"
        self.rows = varied_rows(request.model, request.algorithm.regroup and not rolled)
        self.scalars: list[Any] = self.rows.wide if rolled else list(self.rows.nodes)
        self._affine = self.rows.is_affine or request.reads_values
        if request.reads_values:
            self.scalars = list(self.rows.leaves)
        """The numbers as nodes of the graph of the rows."""
        self.count = len(self.scalars)

    @cached_property
    def map(self) -> tuple[AnyArray, AnyArray] | None:
        """A (values, numbers) and b (numbers) of numbers = values A + b; None if they are not sums of multiples."""
        return self.rows.matrix(self.scalars) if self._affine else None

    def of(self, values: Any, array: Callable[[AnyArray], Any] = np.asarray, library: Any = np) -> Any:
        """Return the numbers (..., count) for values (..., n), which are arrays of a library.

        `array` makes an array of the kind and data type of the values. Where placements vary, the numbers are computed
        one by one.
        """
        if self.map is not None:
            A, b = map(array, self.map)
            return values @ A + b
        known: dict[int, Any] = {leaf.index: values[..., k] for k, leaf in enumerate(self.rows.leaves)}
        for node in live(x for x in self.scalars if isinstance(x, Node)):
            given = [known[x.index] for x in node.args]
            if node.op == "where_less":
                known[node.index] = library.where(given[0] < given[1], *given[2:])
            elif node.op in _IN_LIBRARIES:
                known[node.index] = getattr(library, _IN_LIBRARIES[node.op])(*given)
            elif node.args:
                known[node.index] = OPS[node.op].evaluate(*given)
            elif node.op == "constant":
                known[node.index] = node.data
        zero = 0.0 * values[..., 0]
        return library.stack([zero + (known[x.index] if isinstance(x, Node) else x) for x in self.scalars], -1)

    def read_by(self, places: Sequence[int] | None, numbers: Any, library: Any = np) -> Any:
        """Return the numbers that a piece of code reads, by their places; None if it reads no numbers."""
        if places is None or len(places) == self.count:
            return numbers
        return library.take(numbers, library.asarray(places), axis=-1) if len(places) else None


def _with_way(request: Request) -> Request:
    """Return the request about a varied robot with a fixed way of running, which decides the numbers that it reads."""
    if request.way is not None:
        return request
    rolled = request.model.nv > _LONGEST_STRAIGHT and request.algorithm.sweeps
    return replace(request, way="rolled" if rolled else "unrolled")
