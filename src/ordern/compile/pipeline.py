"""From a request to machine code in memory: request, key, cache or compiler, code, loaded machine.

On a cache hit nothing is traced, and the modules that trace and emit are not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algorithms import Algorithm, Port, Question
from ..model import Frame, Model, core_shape
from ..records import dataclass
from .emit.target import host
from .run import cache
from .run.loaded import Machine
from .run.numpy_api import HEAD
from .run.own_code import own_function, own_joints, own_rows
from .trace.layout import Layout, Operand

__all__ = ["WAYS", "Code", "Request", "cached_code", "code_for", "layout_of", "load", "piece_key", "request_key"]

WAYS = ("interpreted", "unrolled", "rolled")


@dataclass(frozen=True)
class Request:
    """A request to compile one question for one model; the data type and the processor come later."""

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

    @property
    def ports(self) -> list[Port]:
        """The inputs of the question that are given."""
        return [p for p in self.question.inputs if not p.optional or p.name in self.present]

    @property
    def reads_values(self) -> bool:
        """True if the code reads numbers that vary as users know them: that of derivatives by parameters does."""
        return bool(getattr(self.algorithm.function, "by_parameters", False))

    def varied(self, way: str) -> int:
        """Return the length of the array with the numbers that vary, as code of a way reads it; 0 if all are fixed."""
        if self.model.variation is None:
            return 0
        if self.reads_values:
            return self.model.variation.count
        from ..model.varied_rows import varied_rows  # most robots have none

        if way == "rolled":
            return len(varied_rows(self.model).wide)
        return len(varied_rows(self.model, self.algorithm.regroup).nodes)

    @property
    def frames(self) -> int:
        """The number of frames in the setting `frames`."""
        return len(dict(self.options).get("frames", ()))

    def shape(self, kind: str) -> tuple[int, ...]:
        """Return the shape of an argument or of the result, for one state."""
        return core_shape(self.model, kind, self.frames)


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code and the numbers that are needed to run it."""

    way: str
    object: bytes
    workspace: int
    """Vectors in the workspace."""
    operations: int
    """Arithmetic operations per state."""
    lanes: int
    """States per vector."""
    freedoms: bool = False
    """True if the code reads the tables for loops over freedoms."""
    numbers: tuple[int, ...] | None = None
    """The places of the numbers that vary which the code reads (see `ordern.model.varied_rows`); None for all."""
    from_root: bool = False
    """True if the code reads the tables of paths from the root."""


def _is_places(value: Any) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and all(type(x) is int and x >= 0 for x in value))


_FIELDS = {
    **{"way": WAYS.__contains__, "numbers": _is_places, "from_root": lambda x: type(x) is bool},
    **cache.CODE_FIELDS,
}
"""The fields of `Code` in a cache entry, beside the object, each with the test that a stored value must pass."""


def load(request: Request, dtype: str) -> Machine:
    """Return the machine code of a request in memory, ready to run."""
    code = code_for(request, dtype)
    tables = None
    if code.way == "rolled":
        from .trace.rolled_tables import Data

        frame = dict(request.options).get("frame")
        body = frame.body if isinstance(frame, Frame) else None
        tables = Data(request.model, dtype, body, code.freedoms, code.from_root)
    layout = layout_of(request, code.lanes, code.way, code.numbers)
    return Machine(code, layout, tables, request.question.name, dtype)


def layout_of(request: Request, lanes: int, way: str = "unrolled", numbers: tuple[int, ...] | None = None) -> Layout:
    """Return the arguments and the result of a request as operands.

    The last operand of a varied robot are the numbers that vary: those at the places `numbers`, or all.
    """
    inputs = [Operand(p.name, request.shape(p.kind)) for p in request.ports]
    count = request.varied(way) if numbers is None else len(numbers)
    if count:
        inputs.append(Operand("parameters", (count,), numbers))
    return Layout(tuple(inputs), Operand("out", request.shape(request.question.output)), lanes)


def code_for(request: Request, dtype: str, lanes: int | None = None) -> Code:
    """Return compiled code, from the cache or made now. The compiler chooses the number of lanes unless it is given."""

    def compiled() -> Code:
        from .program import compile_request

        return compile_request(request, dtype, lanes)

    about = {"robot": request.model.name, "question": request.question.name}
    return cached_code(request_key(request, dtype, lanes), about, compiled)


def cached_code(key: list[Any] | None, about: dict[str, Any], compiled: Callable[[], Code]) -> Code:
    """Return the code of a key, from the cache or compiled now. Code without a key is not stored."""
    if key is None:
        return compiled()
    name = cache.cache_key(key)
    found = cache.read(name, _FIELDS)
    if found is not None:
        meta, code = found
        stored = {word: meta[word] for word in _FIELDS}
        stored["numbers"] = None if stored["numbers"] is None else tuple(stored["numbers"])
        return Code(object=code, **stored)
    made = compiled()
    meta = {word: getattr(made, word) for word in _FIELDS}
    cache.write(name, {**meta, **about}, made.object)
    return made


def machine_key(dtype: str, lanes: int | None) -> list[Any] | None:
    """Return everything that all code depends on; None if it cannot be known."""
    h, sources, rows = host(), cache.source_digest(), own_rows()
    if sources is None or rows is None:
        return None
    return [[dtype, lanes], [h.triple, h.cpu, h.features, h.vector_bits, h.llvm], HEAD, sources, rows]


def request_key(request: Request, dtype: str, lanes: int | None) -> list[Any] | None:
    """Return everything that the code of a request depends on, without tracing; None if it cannot be known."""
    machine, algorithm = machine_key(dtype, lanes), request.algorithm
    joints = own_joints(request.model)
    text = own_function(algorithm.function)  # of a derivative, that of its base
    if machine is None or joints is None or text is None:
        return None
    asked = request.question
    options = [(name, _numbers(request.model, value)) for name, value in request.options]
    return [
        request.model.digest,
        request.model.snap,
        request.model.loop_digest if asked.loops else "",
        request.model.contacts.digest if asked.contacts and request.model.contacts else "",
        [asked.name, [(p.name, p.kind, p.optional) for p in asked.inputs], asked.output],
        algorithm.name,
        [text, joints, algorithm.sweeps, algorithm.regroup] if text or joints else "",
        sorted(request.present),
        options,
        request.way,
        *machine,
    ]


def _numbers(model: Model, setting: Any) -> Any:
    """Return the numbers that a setting brings into the code: of a frame its body and its placement there."""
    if isinstance(setting, Frame):
        return setting.body, _varied_frame(model, setting) or setting.placement
    return tuple(_numbers(model, x) for x in setting) if isinstance(setting, tuple) else setting


def _varied_frame(model: Model, frame: Frame) -> str:
    """Return words for a frame whose placement varies; none for others."""
    if model.variation is None or not model.variation.varies("frame_placement"):
        return ""
    from ..model.varied_rows import varied_rows

    place = varied_rows(model).frame(frame)
    return "" if place is None else f"varied frame {place}"


def piece_key(model: Model, piece: Any, cores: Any, dtype: str) -> list[Any] | None:
    """Return everything that the code of a piece of an algorithm depends on; None if it cannot be known."""
    machine = machine_key(dtype, None)
    joints = "" if piece.general else own_joints(model)
    text = own_function(piece.function)
    if machine is None or joints is None or text is None:
        return None
    return ["piece", "all" if piece.general else [model.digest, model.snap], piece.key, cores, text, joints, *machine]
