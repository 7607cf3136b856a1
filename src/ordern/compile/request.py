"""What to compile, and its code: from the cache, or made now.

With a hit nothing is traced, and the tracing and emitting modules are not even imported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from ..algorithms import Algorithm, Question
from ..errors import ArgumentError
from ..joints import Closure
from ..model import Frame, Model, core_shape
from ..records import dataclass
from .emit.target import host
from .run import cache
from .run.numpy_api import HEAD
from .trace.layout import Layout, Operand

__all__ = ["WAYS", "Code", "Request", "code_for", "kept_code", "layout_of", "machine_key", "only_ours"]

WAYS = ("interpreted", "unrolled", "rolled")


@dataclass(frozen=True)
class Request:
    """What to compile, but for the target."""

    model: Model
    question: Question
    algorithm: Algorithm
    present: frozenset[str]
    """Names of the optional inputs that are given."""
    options: tuple[tuple[str, Any], ...]
    way: str | None
    """One of WAYS, or None to choose by the number of operations."""

    @property
    def slots(self) -> list[tuple[str, bool]]:
        """The kinds of the algorithm's inputs, and whether they are given."""
        accepted = self.algorithm.accepts(self.question)
        return [(p.kind, not p.optional or p.name in self.present) for p in self.question.inputs if p.name in accepted]


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code and what is needed to run it."""

    way: str
    object: bytes
    workspace: int
    """Vectors in the workspace."""
    operations: int
    """Arithmetic operations per state."""
    lanes: int
    """States per vector."""
    freedoms: bool = False
    """Whether it needs the tables for loops over freedoms."""


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "way": WAYS.__contains__,
    "workspace": cache.is_count,
    "operations": cache.is_count,
    "lanes": cache.is_lanes,
    "freedoms": cache.is_flag,
}
"""What the cache keeps of code beside the object."""


def layout_of(request: Request, lanes: int) -> Layout:
    """The arguments and the result of a request."""
    ports = [p for p in request.question.inputs if not p.optional or p.name in request.present]
    inputs = tuple(Operand(p.name, core_shape(request.model, p.kind)) for p in ports)
    return Layout(inputs, Operand("out", core_shape(request.model, request.question.output)), lanes)


def code_for(request: Request, dtype: str, lanes: int | None = None) -> Code:
    """Compiled code, from the cache or made now. The number of lanes is chosen, unless it is given."""
    if request.algorithm.pieces:
        raise ArgumentError(
            f"{request.question.name} by the method {request.algorithm.name!r} has no code of its own: it is NumPy "
            "code around other functions of the robot, which `ordern.count` lists; their kernels have code"
        )
    about = {"robot": request.model.name, "question": request.question.name}
    return kept_code(_key(request, dtype, lanes), about, lambda: _compiled(request, dtype, lanes))


def kept_code(key: list[Any] | None, about: dict[str, Any], compiled: Callable[[], Code]) -> Code:
    """Code that depends on a key only, from the cache or made now; without a key it is not kept."""
    if key is None:
        return compiled()
    name = cache.cache_key(key)
    found = cache.read(name, _FIELDS)
    if found is not None:
        meta, code = found
        return Code(object=code, **{word: meta[word] for word in _FIELDS})
    made = compiled()
    meta = {word: getattr(made, word) for word in _FIELDS}
    cache.write(name, {**meta, **about}, made.object)
    return made


def _compiled(request: Request, dtype: str, lanes: int | None) -> Code:
    from . import program

    return program._compile(request, dtype, lanes)


def only_ours(model: Model) -> bool:
    """Whether all joints are the library's own: of others it cannot be known what their code depends on."""
    loops = (loop.type for loop in model.loops)
    return all(map(_ours, (*(kind.joint for kind in model.tables.kinds), *loops)))


def _ours(x: Any) -> bool:
    """Whether a joint is the library's own, and all that it is made of."""
    if isinstance(x, tuple):
        return all(map(_ours, x))
    if not isinstance(x, Closure):
        return True
    of: Any = x
    mine = (getattr(x, f.name) for f in fields(of)) if is_dataclass(of) else ()
    return type(x).__module__.startswith("ordern.") and all(map(_ours, mine))


def machine_key(dtype: str, lanes: int | None) -> list[Any] | None:
    """What all code depends on; None if that cannot be known."""
    h, sources = host(), cache.source_digest()
    if sources is None:
        return None
    return [[dtype, lanes], [h.triple, h.cpu, h.features, h.vector_bits, h.llvm], HEAD, sources]


def _key(request: Request, dtype: str, lanes: int | None) -> list[Any] | None:
    """All that the code depends on, so that nothing needs to be traced to know it; None if that cannot be known."""
    machine = machine_key(dtype, lanes)
    ours = request.algorithm.function.__module__.startswith("ordern.") and only_ours(request.model)
    if machine is None or not ours:
        return None
    options = [
        (name, (value.body, value.placement) if isinstance(value, Frame) else value) for name, value in request.options
    ]
    return [
        request.model.digest,
        request.model.snap,
        request.model.loop_digest if request.question.loops else "",
        request.question.name,
        request.algorithm.name,
        sorted(request.present),
        options,
        request.way,
        *machine,
    ]
