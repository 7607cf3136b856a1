"""The runner that calls machine code: one machine for each data type, threads for large batches, memory used again."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray
from ..compile import cores, shared_out
from ..compile.pipeline import Code, Request, load
from ..compile.run.loaded import Machine
from ..compile.run.numpy_api import fast_calls_work
from ..compile.run.result_pool import FROM_BYTES, ResultPool
from ..errors import ArgumentError, ModelError
from ..forking import COMPILING
from ..graph import Counts
from .arguments import DOUBLE, SINGLE, Arguments, stored
from .elsewhere import ELSEWHERE, is_elsewhere
from .fast_path import add_fallback
from .runners import Interpreted, Runner

if TYPE_CHECKING:
    from .bound import Bound

__all__ = ["Compiled"]


_NS_PER_OPERATION = 0.3
_NS_PER_BYTE = 0.5
"""A guess of the time that a byte takes in memory that was never written to."""
_PIECE_NS = 2e7
"""One call of machine code takes about this long, so that a batch can be interrupted."""
"""A guess of the time of one vector operation, to decide whether threads are worth it."""
_WORTH_A_THREAD_NS = 1e6


class _Holder:
    """Owns a fast function that many robots share: calls that it does not answer end here."""

    def nothing(self, *given: Any) -> None:
        """Return nothing, so that the caller asks otherwise."""


class Compiled(Runner):
    """Calls machine code, which is compiled or loaded when a data type is first needed."""

    def __init__(self, request: Request, arguments: Arguments) -> None:
        super().__init__(request, arguments)
        self._text = Interpreted(request, arguments)
        self._machines: dict[str, Machine] = {}
        self._emitted: tuple[Callable[..., Any], Any] | None = None
        self._pool, self._bytes = ResultPool(), 8 * math.prod(arguments.output)

    def __call__(
        self, given: Sequence[Any], out: AnyArray | None, threads: int | None, varied: Bound | None = None
    ) -> AnyArray:
        """Return the answer. Batches of plain arrays skip all checks except the ones in machine code."""
        if varied is not None:
            return self._varied(given, out, threads, varied)
        machine = self._machines.get("float64")
        states = 0 if machine is None else self._rows(given)
        if (
            machine is None
            or not states
            or self._lasting(states, machine) > _PIECE_NS
            or (threads is None and _threads_worth(states, machine) > 1)
            or (threads is not None and not (type(threads) is int and threads == 1))
        ):
            return self._general(given, out, threads)
        if out is None:
            if states * self._bytes >= FROM_BYTES:
                out = self._pool.array((states, *self.arguments.output), machine.dtype)
        elif type(out) is not np.ndarray or not out.flags.writeable:
            return self._general(given, out, threads)
        try:
            return machine.run(given, out)
        except (ValueError, TypeError):
            return self._general(given, out, threads)  # which names what is wrong

    def _rows(self, given: Sequence[Any]) -> int:
        """Return the number of states if all arguments are arrays of doubles with a row for each; 0 otherwise.

        The general checks take a twentieth of the time of a batch of a small robot.
        """
        if len(given) != len(self.arguments.ranks):
            return 0
        states = 0
        for x, rank in zip(given, self.arguments.ranks, strict=True):
            if type(x) is not np.ndarray or x.dtype is not DOUBLE or x.ndim != rank:
                return 0
            n = x.shape[0]
            if n != states:
                if states:
                    return 0
                states = n
        return states

    def _general(self, given: Sequence[Any], out: AnyArray | None, threads: int | None) -> AnyArray:
        if is_elsewhere(given):
            return ELSEWHERE
        arrays, dtype = self.arguments.checked(given, out, threads)
        if dtype is not SINGLE and dtype is not DOUBLE:
            return self._text.computed(arrays, dtype, out)
        machine = self.machine("float64" if dtype is DOUBLE else "float32")  # `dtype.name` makes a new string
        return self.run(machine, arrays, out, threads)

    def _varied(self, given: Sequence[Any], out: AnyArray | None, threads: int | None, varied: Bound) -> AnyArray:
        """Return the answer for a varied robot, whose numbers are the last argument of the code."""
        if is_elsewhere(given, varied):
            return ELSEWHERE
        arrays, dtype = self.arguments.checked(given, out, threads)
        if dtype is not SINGLE and dtype is not DOUBLE:
            return self._text.computed(arrays, dtype, out, varied)
        machine = self.machine("float64" if dtype is DOUBLE else "float32")
        if machine.code.numbers == ():  # it reads no number that varies: all sets have the same answer
            self.arguments.require_fit([*arrays, varied.values], out)
            found, core = self.run(machine, arrays, None, threads), len(self.arguments.output)
            batch = np.broadcast_shapes(found.shape[: found.ndim - core], varied.shape)
            spread = np.array(np.broadcast_to(found, (*batch, *self.arguments.output)))
            return stored(self.request.question.name, spread, out) if out is not None or spread.ndim else spread[()]
        return self.run(machine, [*arrays, varied.numbers(self.request, machine.code, dtype)], out, threads)

    def single(self, varied: Bound) -> Callable[..., Any] | None:
        """Return a fast function of one state for a varied robot with one set of numbers; None if there is none.

        It returns None for all calls but those with plain arrays of one state.
        """
        machine = self.machine("float64")
        if varied.shape or machine.code.numbers == () or not fast_calls_work():
            return None
        with COMPILING:
            if self._emitted is None:  # one for all robots of the structure
                holder = _Holder()
                key = add_fallback(holder, "single", holder.nothing)
                name = self.request.question.name
                self._emitted = machine.function(holder, key, name, ""), holder
        emitted, numbers = self._emitted[0], varied.numbers(self.request, machine.code, DOUBLE)
        return lambda *given: emitted(*given, numbers)

    def run(self, machine: Machine, arrays: list[AnyArray], out: AnyArray | None, threads: int | None) -> AnyArray:
        """Return the answer of machine code for arrays that were checked, but for their shapes."""
        batch, count = self.arguments.batch(arrays), 1
        if batch:  # without one, there is one state, or the call itself names what is wrong
            count = self._threads(math.prod(batch), arrays, machine, out, threads)
            if out is None and self._bytes * math.prod(batch) >= FROM_BYTES:
                out = self._pool.array((*batch, *self.arguments.output), machine.dtype)
        try:
            if count > 1 or (batch and self._lasting(math.prod(batch), machine) > _PIECE_NS):
                return self._run_threads(machine, arrays, out, count)
            return machine.run(arrays, out)
        except (ValueError, TypeError) as e:
            self.arguments.require_fit(arrays, out)
            raise ArgumentError(f"{self.request.question.name}: {e}") from e

    def compute(self, arrays: list[AnyArray], varied: Bound | None = None) -> AnyArray:
        """Return the answer for arrays of one data type, by the interpreter."""
        return self._text.compute(arrays, varied)

    def counts(self) -> Counts:
        """Count the operations of the code that is compiled."""
        from ..compile.program import count_operations

        return count_operations(self.request, rolled=(self.request.way or self.code.way) == "rolled")

    @property
    def code(self) -> Code:
        """The compiled code for float64."""
        return self.machine("float64").code

    def machine(self, dtype: str) -> Machine:
        """Return the machine code for a data type."""
        found = self._machines.get(dtype)
        if found is None:
            with COMPILING:
                found = self._machines.get(dtype)
                if found is None:
                    found = load(self.request, dtype)
                    if dtype == "float64" and found.code.way == "rolled":
                        self._require_answers(found)
                    self._machines[dtype] = found
        return found

    def _require_answers(self, machine: Machine) -> None:
        """Raise if no state has an acceleration: straight-line code would not even compile, but loops do."""
        question, model = self.request.question, self.arguments.model
        if not question.needs_inertia or self.request.options or model.variation is not None:
            return
        rng = np.random.default_rng(0)
        a = self.arguments
        for q in (model.neutral, lambda: model.random(rng), lambda: model.random(rng)):
            ports = zip(a.ports, a.shapes, strict=True)
            if np.isfinite(machine.run([q() if p.kind == "q" else np.ones(shape) for p, shape in ports], None)).all():
                return
        raise ModelError(model.singular(question.name), model.source)

    def _threads(
        self, states: int, arrays: Sequence[AnyArray], machine: Machine, out: AnyArray | None, wanted: int | None
    ) -> int:
        """Return how many threads to use: one unless each has enough to do."""
        most = min(-(-states // machine.lanes), _threads_worth(states, machine) if wanted is None else int(wanted))
        if most < 2:
            return 1
        if out is not None and any(np.may_share_memory(out, a) for a in arrays):
            return 1  # NumPy copies what overlaps, but only within one call
        return most if wanted is not None else min(cores(), most)

    def _lasting(self, states: int, machine: Machine) -> float:
        """Return about how long one thread takes for some states, in ns, if results are in new memory."""
        return _ns(states, machine) + _NS_PER_BYTE * self._bytes * states

    def _run_threads(self, machine: Machine, arrays: list[AnyArray], out: AnyArray | None, count: int) -> AnyArray:
        """Cut the longest batch dimension into parts, which threads compute one by one, so that Ctrl-C ends them."""
        self.arguments.require_fit(arrays, out)
        if out is not None:  # NumPy copies what overlaps, but only within one call
            arrays = [a.copy() if np.may_share_memory(out, a) else a for a in arrays]
        core, batches = self.arguments.output, self.arguments.batches(arrays)
        result = np.empty((*np.broadcast_shapes(*batches), *core), machine.dtype) if out is None else out
        batch = result.shape[: result.ndim - len(core)]
        axis = int(np.argmax(batch)) - len(batch)  # from the right, as broadcasting aligns
        length = batch[axis]
        per = -(-length // count)
        per = -(-per // machine.lanes) * machine.lanes
        each = self._lasting(math.prod(batch) // length, machine)
        fits = max(1, int(_PIECE_NS / max(each, 1e-3)))
        per = min(per, fits // machine.lanes * machine.lanes or fits)
        nested = per * each > 2.0 * _PIECE_NS and sorted(batch)[-2:][0] > 1

        def compute(start: int) -> None:
            parts = []
            for a, b in zip((*arrays, result), (*batches, batch), strict=True):
                if len(b) >= -axis and b[axis] != 1:
                    where: list[Any] = [slice(None)] * a.ndim
                    where[len(b) + axis] = slice(start, start + per)
                    a = a[tuple(where)]
                parts.append(a)
            if nested:
                self._run_threads(machine, parts[:-1], parts[-1], 1)
            else:
                machine.run(parts[:-1], parts[-1])

        shared_out(compute, range(0, length, per), count)
        return result


def _ns(states: int, machine: Machine) -> float:
    """Return about how long one thread computes some states, in ns."""
    return states * machine.code.operations * _NS_PER_OPERATION / machine.lanes


def _threads_worth(states: int, machine: Machine) -> int:
    """Return how many threads have enough to do, by a guess of the time that a state takes."""
    return int(_ns(states, machine) / _WORTH_A_THREAD_NS)
