"""A compiled algorithm as a NumPy function.

A `Kernel` answers one question about one robot by one method. It is a NumPy citizen: any leading shape, broadcasting
of each argument, `out=`, any strides, float32 in and float32 out. Code is compiled for a data type when it is
first needed, and it pickles as what it is, not as code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .algorithms import CHOICES, Port, find, methods
from .compile import (
    WAYS,
    Code,
    Counter,
    Loaded,
    Pieces,
    Request,
    converted,
    cores,
    fast_calls_work,
    interpret,
    shared_out,
)
from .compile.run.result_pool import FROM_BYTES, Shelf
from .errors import ArgumentError, ModelError, unknown_name
from .forking import COMPILING
from .graph import Counts
from .model import PORT_KINDS, Model, Runner, core_shape

__all__ = ["Kernel"]

Array = NDArray[Any]

_NS_PER_OPERATION = 0.3
"""A guess of the time of one vector operation, to decide whether threads are worth it."""
_WORTH_A_THREAD_NS = 1e6
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_LONGEST_STRAIGHT = 60
"""Freedoms beyond which methods that are no loops over bodies run as compiled pieces."""


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
        asked, algorithm = find(question, method)
        if way is not None and way not in WAYS:
            raise unknown_name("way of running", way, WAYS)
        present = (present,) if isinstance(present, str) else tuple(present)
        optional = [p.name for p in asked.inputs if p.optional]
        for name in present:
            if name not in optional:
                raise unknown_name("optional argument", name, optional, question)
            if name not in algorithm.accepts(asked):
                raise ArgumentError(f"{question} by the method {algorithm.name!r} takes no {name!r}")
        for name in options:
            if name not in asked.options:
                raise unknown_name("setting", name, asked.options, question)
        in_order = [name for name in optional if name in present]
        if list(present) != in_order:
            raise ArgumentError(
                f"{question}: `present` is {list(present)}, but the arguments will be given as {in_order}: name them so"
            )
        for name in asked.options:
            if name not in options:
                raise ArgumentError(f"{question} needs the setting {name!r}")
            if name in CHOICES and not (isinstance(options[name], str) and options[name] in CHOICES[name]):
                raise unknown_name(name, options[name], CHOICES[name], question)
        if "frame" in options:
            options["frame"] = model.frame(options["frame"])
        reason = algorithm.refuses(model) if algorithm.refuses else ""
        if reason:
            others = (find(question)[1], *methods(question))
            able = (m.name for m in others if not (m.alias_of or (m.refuses and m.refuses(model))))
            hint = next((f"; {name!r} can do it" for name in able), "")
            raise ArgumentError(f"{question} by the method {algorithm.name!r}: {reason}{hint}")
        if asked.needs_inertia:
            model.require_inertia()
        self.model, self.question, self.algorithm = model, asked, algorithm
        computed = model
        if algorithm.borrows:
            from .model.shiftable_inertia import borrowed

            computed = borrowed(model)
        self.options = options
        self.ports: list[Port] = [p for p in asked.inputs if not p.optional or p.name in present]
        self.request = Request(
            computed,
            asked,
            algorithm,
            frozenset(present),
            tuple(sorted(options.items(), key=lambda o: o[0])),
            way,
        )
        self._shapes = [core_shape(model, p.kind) for p in self.ports]
        self._output = core_shape(model, asked.output)
        self._ranks = [len(shape) + 1 for shape in self._shapes]
        self._loaded: dict[str, Loaded] = {}
        self._pieces: dict[Any, Kernel] = {}
        self._shelf, self._bytes = Shelf(), 8 * _size(self._output)
        # NumPy has no ufuncs over empty vectors, and there is nothing to be fast at
        empty = any(0 in shape for shape in (*self._shapes, self._output))
        long = way == "rolled" or (way is None and model.nv > _LONGEST_STRAIGHT)
        self._runner = Pieces(computed) if long and not (algorithm.sweeps or algorithm.pieces) else None
        self._interpreted = way == "interpreted" or empty or algorithm.pieces or self._runner is not None

    def __call__(self, *arguments: Any, out: Array | None = None, threads: int | None = None) -> Any:
        """The answer, as an array of the batch shape followed by the shape of one state's answer."""
        plain = self._loaded.get("float64")
        states = 0 if plain is None else self._rows(arguments)
        if plain is None or not states or (threads != 1 and (threads is not None or _threads_worth(states, plain) > 1)):
            return self._call(arguments, out, threads)
        if out is None:
            if states * self._bytes >= FROM_BYTES:
                out = self._shelf.array((states, *self._output), plain.dtype)
        elif type(out) is not np.ndarray or not out.flags.writeable:
            return self._call(arguments, out, threads)
        try:
            return plain.run(arguments, out)
        except (ValueError, TypeError):
            return self._call(arguments, out, threads)  # which says what is wrong

    def _rows(self, arguments: Sequence[Any]) -> int:
        """How many states there are, if all arguments are arrays of doubles with a row for each; 0 otherwise.

        What such a call costs besides the answer is a twentieth of what batches of small robots take.
        """
        if len(arguments) != len(self._ranks):
            return 0
        states = 0
        for x, rank in zip(arguments, self._ranks, strict=True):
            if type(x) is not np.ndarray or x.dtype is not _DOUBLE or x.ndim != rank:
                return 0
            n = x.shape[0]
            if n != states:
                if states:
                    return 0
                states = n
        return states

    def _call(self, arguments: Sequence[ArrayLike], out: Array | None, threads: int | None) -> Any:
        """The answer for arguments of any kind."""
        arrays = self._arrays(arguments)
        if out is not None:
            self._check_out(out)
        if threads is not None and not _is_count(threads):
            raise ArgumentError(f"{self.question.name}: `threads` must be a whole number above 0, not {threads!r}")
        # a plain number takes the precision of the arrays beside it, as in NumPy
        weak = (bool, int, float)
        strong = [a for a, x in zip(arrays, arguments, strict=True) if type(x) not in weak]
        dtype = _common(strong or arrays)
        if self._interpreted or dtype.kind == "O" or dtype.itemsize > 8:
            return self._interpret(arrays, dtype, out)
        loaded = self._load("float32" if dtype is _SINGLE else "float64")
        if dtype is _SINGLE:
            arrays = [a.astype(np.float32) if type(x) in weak else a for a, x in zip(arrays, arguments, strict=True)]
        count = self._threads(arrays, loaded, out, threads)
        if out is None:
            out = self._large(arrays, loaded)
        try:
            if count > 1:
                return self._run_threads(loaded, arrays, out, count)
            return loaded.run(arrays, out)
        except (ValueError, TypeError) as e:
            self._explain(arrays, out)
            raise ArgumentError(f"{self.question.name}: {e}") from e

    @property
    def code(self) -> Code:
        """The compiled code for float64: how it runs, and how many operations it has."""
        if self._runner is not None:
            return Code("rolled", b"", 0, self.counts().total, 1)  # it is in pieces
        return self._load("float64").code

    @property
    def is_interpreted(self) -> bool:
        """Whether no code is compiled for it, in any data type."""
        return self._interpreted

    def counts(self) -> Counts:
        """Operations per state, exactly: of straight-line code for this robot, or of loops if those are compiled."""
        if self.algorithm.pieces:
            raise ArgumentError(
                f"{self.question.name} by the method {self.algorithm.name!r} is made of other functions: its "
                "operations cannot be counted"
            )
        if self._runner is not None:
            return self._counted()
        from .compile.program import count_operations

        way = "unrolled" if self._interpreted else self.request.way or self.code.way
        return count_operations(self.request, rolled=way == "rolled")

    def fast(
        self,
        fallback: Callable[..., Any],
        owner: Any = None,
        doc: str = "",
        *,
        name: str | None = None,
        first: int | None = None,
        floor: float | None = None,
    ) -> Callable[..., Any]:
        """A function for one state per call that skips all it can; for anything else it calls the fallback.

        It appears as a method of `owner`, which is the kernel itself unless given, by the question's name or another.
        Of an answer that is a vector it may give the `first` numbers only; with a `floor` it calls the fallback if the
        last one is not above it.
        """
        if self._interpreted or not fast_calls_work():
            return fallback
        owner, name = self if owner is None else owner, name or self.question.name
        return self._load("float64").function(fallback, owner, name, doc, first, floor)

    def _load(self, dtype: str) -> Loaded:
        found = self._loaded.get(dtype)
        if found is None:
            with COMPILING:
                found = self._loaded.get(dtype)
                if found is None:
                    found = Loaded(self.request, dtype)
                    if dtype == "float64" and found.code.way == "rolled":
                        self._require_answers(found)
                    self._loaded[dtype] = found
        return found

    def _require_answers(self, loaded: Loaded) -> None:
        """Raise if there is no acceleration in any state: straight-line code would not even compile, but loops do."""
        if not self.question.needs_inertia or self.options:
            return
        model, rng = self.model, np.random.default_rng(0)
        for q in (model.neutral, lambda: model.random(rng), lambda: model.random(rng)):
            ports = zip(self.ports, self._shapes, strict=True)
            if np.isfinite(loaded.run([q() if p.kind == "q" else np.ones(shape) for p, shape in ports], None)).all():
                return
        raise ModelError(model.singular(self.question.name), model.source)

    def _arrays(self, arguments: Sequence[ArrayLike]) -> list[Array]:
        if len(arguments) != len(self.ports):
            names = ", ".join(p.name for p in self.ports)
            many = "1 argument" if len(self.ports) == 1 else f"{len(self.ports)} arguments"
            raise ArgumentError(f"{self.question.name} takes {many} ({names}), not {len(arguments)}")
        arrays = []
        for port, x in zip(self.ports, arguments, strict=True):
            if np.any(getattr(x, "mask", False)) and isinstance(x, np.ndarray):
                raise ArgumentError(
                    f"{self.question.name}: numbers of argument {port.name!r} are masked; `filled` gives them values"
                )
            try:
                array = np.asarray(x)
            except ValueError as e:
                raise ArgumentError(f"{self.question.name}: argument {port.name!r} is no array: {e}") from None
            if array.dtype.kind not in "biufO":
                raise ArgumentError(
                    f"{self.question.name}: argument {port.name!r} has data type {array.dtype}; give real numbers"
                )
            arrays.append(array)
        return arrays

    def _interpret(self, arrays: list[Array], dtype: np.dtype[Any], out: Array | None) -> Any:
        self._explain(arrays, out)
        try:
            result = self._interpreted_with(converted(arrays, dtype))
        except (TypeError, AttributeError) as e:
            if dtype.kind != "O":
                raise
            kinds = ", ".join(sorted({type(x).__name__ for a in arrays if a.dtype.kind == "O" for x in a.flat}))
            raise ArgumentError(
                f"{self.question.name}: cannot compute with objects of type {kinds}, only with numbers that have sines "
                f"and cosines, such as those of mpmath: {e}"
            ) from e
        if out is None:
            return result if result.ndim else result[()]
        if not np.can_cast(result.dtype, out.dtype, "same_kind"):
            raise ArgumentError(f"{self.question.name}: cannot cast the result from {result.dtype} to {out.dtype}")
        out[...] = result
        return out

    def _interpreted_with(self, arrays: list[Array]) -> Array:
        """The answer for arrays of one data type."""
        if self.algorithm.pieces:
            given = dict(zip((p.name for p in self.ports), arrays, strict=True))
            return np.asarray(self.algorithm.function(self._piece, **given, **self.options))
        return self._run_by(self._runner, arrays)

    def _run_by(self, runner: Runner | None, arrays: list[Array]) -> Array:
        """The answer of the interpreter, with something else for pieces."""
        r = self.request
        return interpret(r.model, r.algorithm.function, r.slots, arrays, r.question.output, self.options, runner)

    def _counted(self) -> Counts:
        """What pieces do, found by running them for a state; sums between them are few, and not counted."""
        counter = Counter()
        values = {"q": self.model.neutral()}
        arrays = [np.asarray(values.get(p.kind, np.zeros(s))) for p, s in zip(self.ports, self._shapes, strict=True)]
        self._run_by(counter, arrays)
        return counter.counts

    def _piece(self, question: str, *arguments: Any, method: str | None = None, **options: Any) -> Array:
        """A compiled function of the same robot, or of another model, for methods that are NumPy code around such ones.

        Optional arguments are given by name, and left out if they are None.
        """
        model: Model = options.pop("model", self.model)
        inputs = find(question, method)[0].inputs
        extra = {p.name: options.pop(p.name) for p in inputs if p.optional and p.name in options}
        present = tuple(name for name, value in extra.items() if value is not None)
        key = (id(model), question, method, present, *sorted(options.items()))
        if key not in self._pieces:
            way = None if self.request.way == "interpreted" else self.request.way
            self._pieces[key] = Kernel(model, question, method, present, way, **options)
        answer: Array = self._pieces[key](*arguments, *(extra[name] for name in present))
        return answer

    def _explain(self, arrays: Sequence[Array], out: Array | None) -> None:
        """Raise an error that says which argument is wrong, if one is."""
        batches = []
        for port, shape, a in zip(self.ports, self._shapes, arrays, strict=True):
            core = a.shape[a.ndim - len(shape) :] if a.ndim >= len(shape) else None
            if core != shape:
                expected = f"dimension must be {shape[0]}" if len(shape) == 1 else f"dimensions must be {shape}"
                raise ArgumentError(
                    f"{self.question.name}: argument {port.name!r} has shape {a.shape}; for {self.model.name!r} its "
                    f"last {expected} ({PORT_KINDS[port.kind].meaning})"
                )
            batches.append(a.shape[: a.ndim - len(shape)])
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            listed = ", ".join(f"{p.name} {b}" for p, b in zip(self.ports, batches, strict=True))
            raise ArgumentError(
                f"{self.question.name}: the batch shapes of the arguments do not broadcast: {listed}"
            ) from None
        if out is not None and not _fits((*batch, *self._output), out.shape, len(self._output)):
            raise ArgumentError(
                f"{self.question.name}: `out` has shape {out.shape}, but the result has {(*batch, *self._output)}"
            )

    def _check_out(self, out: Any) -> None:
        if not isinstance(out, np.ndarray):
            raise ArgumentError(f"{self.question.name}: `out` must be a NumPy array, not {type(out).__name__}")
        if not out.flags.writeable:
            raise ArgumentError(f"{self.question.name}: `out` is read-only")

    def _threads(self, arrays: Sequence[Array], loaded: Loaded, out: Array | None, asked: int | None) -> int:
        """How many threads to use: one unless each has enough to do."""
        states = 1
        for a, shape in zip(arrays, self._shapes, strict=True):
            extra = a.ndim - len(shape)
            if extra > 1:  # several batch dimensions may broadcast to more states than any argument has
                try:
                    states = _size(np.broadcast_shapes(*self._batches(arrays)))
                except ValueError:
                    return 1  # the call itself will say what is wrong
                break
            if extra == 1 and a.shape[0] > states:
                states = a.shape[0]
        most = -(-states // loaded.lanes)
        if asked is None:
            most = min(most, _threads_worth(states, loaded))
        else:
            most = min(most, int(asked))
        if most < 2:
            return 1
        if out is not None and any(np.may_share_memory(out, a) for a in arrays):
            return 1  # NumPy copies what overlaps, but only within one call
        return most if asked is not None else min(cores(), most)

    def _large(self, arrays: Sequence[Array], loaded: Loaded) -> Array | None:
        """Memory for a large result, used again; None for any other."""
        if self._bytes * max((a.size for a in arrays), default=0) < FROM_BYTES:  # for sure not
            return None
        try:
            batch = np.broadcast_shapes(*self._batches(arrays))
        except ValueError:
            return None  # the call itself will say what is wrong
        return self._shelf.array((*batch, *self._output), loaded.dtype)

    def _batches(self, arrays: Sequence[Array]) -> list[tuple[int, ...]]:
        return [a.shape[: max(0, a.ndim - len(s))] for a, s in zip(arrays, self._shapes, strict=True)]

    def _run_threads(self, loaded: Loaded, arrays: list[Array], out: Array | None, count: int) -> Any:
        """Cut the longest batch dimension into pieces, one for each worker."""
        self._explain(arrays, out)
        batches = self._batches(arrays)
        result = np.empty((*np.broadcast_shapes(*batches), *self._output), loaded.dtype) if out is None else out
        batch = result.shape[: result.ndim - len(self._output)]
        axis = int(np.argmax(batch)) - len(batch)  # from the right, as broadcasting aligns
        length = batch[axis]
        per = -(-length // count)
        per = -(-per // loaded.lanes) * loaded.lanes

        def compute(start: int) -> None:
            parts = []
            for a, b in zip((*arrays, result), (*batches, batch), strict=True):
                core = a.ndim - len(b)
                if len(b) >= -axis and b[axis] != 1:
                    where: list[Any] = [slice(None)] * a.ndim
                    where[a.ndim - core + axis] = slice(start, start + per)
                    a = a[tuple(where)]
                parts.append(a)
            loaded.run(parts[:-1], parts[-1])

        shared_out(compute, range(0, length, per), count)
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        r = self.request
        return _restored, (
            self.model,
            r.question.name,
            r.algorithm.name,
            tuple(r.present),
            r.way,
            self.options,
        )

    def __repr__(self) -> str:
        shown: dict[str, Any] = {k: getattr(v, "name", v) for k, v in self.options.items()}
        if self.request.way:
            shown["way"] = self.request.way
        if self.request.present:
            shown["present"] = tuple(p.name for p in self.ports if p.optional)
        settings = "".join(f", {k}={v!r}" for k, v in shown.items())
        return f"<Kernel {self.question.name} of {self.model.name!r} by {self.algorithm.name!r}{settings}>"


def _restored(
    model: Model,
    question: str,
    method: str,
    present: tuple[str, ...],
    way: str | None,
    options: dict[str, Any],
) -> Kernel:
    return Kernel(model, question, method, present, way, **options)


def _threads_worth(states: int, loaded: Loaded) -> int:
    """How many threads have enough to do, by a guess of the time that a state takes."""
    return int(states * loaded.code.operations * _NS_PER_OPERATION / loaded.lanes / _WORTH_A_THREAD_NS)


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


def _fits(result: tuple[int, ...], out: tuple[int, ...], core: int) -> bool:
    """Whether a result may be broadcast into an array: not in its core dimensions, and not the other way round."""
    if len(out) < len(result) or out[len(out) - core :] != result[len(result) - core :]:
        return False
    return all(n in (1, m) for n, m in zip(reversed(result), reversed(out), strict=False))


def _common(arrays: Sequence[Array]) -> np.dtype[Any]:
    """The data type to compute in: the arrays' common one, as NumPy has it, of those that there are."""
    dtype = np.result_type(*arrays)
    if dtype.kind == "O" or dtype.itemsize > 8:
        return dtype
    return _SINGLE if dtype.kind == "f" and dtype.itemsize <= 4 else _DOUBLE


def _is_count(n: Any) -> bool:
    """Whether n is a whole number above 0."""
    try:
        return bool(int(n) == n and n >= 1)
    except (TypeError, ValueError, OverflowError):
        return False
