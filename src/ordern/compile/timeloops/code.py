"""Machine code of time loops: from the cache or made now, and loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arguments import AnyArray
from ...forking import COMPILING
from ...model import Frame
from ...records import dataclass
from ..pipeline import Request, request_key
from ..run import cache
from ..run.engine import Engine
from ..trace.rolled_tables import Data

__all__ = [
    "ADVANCE_POINTERS",
    "ADVANCE_WORDS",
    "GRADIENT_POINTERS",
    "GRADIENT_WORDS",
    "MOST_HELD",
    "ROLLOUT_WORDS",
    "SENSITIVITY_POINTERS",
    "SENSITIVITY_WORDS",
    "STATUSES",
    "Closing",
    "LoadedLoop",
    "LoopCode",
    "loop_code",
    "varied_form",
    "varied_forms",
]


ROLLOUT_WORDS = (
    *("q0", "q0_stride", "v0", "v0_stride"),
    *("tau", "tau_stride", "tau_step", "external", "external_stride", "external_step"),
    *("goal", "goal_stride", "goal_step"),
    *("q_out", "q_stride", "q_row", "v_out", "v_stride", "v_row"),
    *("steps", "every", "first", "end", "last"),
    *("workspace", "numbers", "limits", "datas", "parameters", "parameters_stride", "marks", "marks_stride", "begun"),
    *("surfaces", "surfaces_stride", "pushes0", "pushes0_stride", "pushes_out", "pushes_stride", "pushes_row"),
    *("certificate_out", "certificate_stride", "certificate_row", "stop"),
)
"""The arguments of `@rollout`, as 64-bit words: addresses, and bytes between neighbours. If the stride of a step is 0,
one row serves all steps. `marks` has what is kept of events, and `begun` the number of steps before this call.
`pushes` are impulses of contacts and stops. Loops end before a step if the number at `stop` is not zero."""

_INPUTS = ("tau", "external", "goal")
_STATES = ("q0", "v0", *_INPUTS, "parameters")
_OUTPUTS = tuple(f"{name}_bar" for name in (*_STATES, "kp", "kd", "dt"))
_ENDS = ("q_end", "v_end")
GRADIENT_POINTERS = (*_STATES, "wq", "wv", *_OUTPUTS, *_ENDS, "tape", "starts", "workspace", "numbers", "datas", "stop")
GRADIENT_WORDS = (
    *GRADIENT_POINTERS,
    *(f"{name}_stride" for name in (*_STATES, "wq", "wv", *_OUTPUTS, *_ENDS)),
    *(f"{name}_step" for name in (*_INPUTS, *(f"{name}_bar" for name in _INPUTS))),
    *("wq_row", "wv_row", "steps", "every", "segment", "segments", "first", "end", "last"),
)
"""The arguments of `@gradient`. Weights and results that are not wanted have the address 0; the stride of a step of a
result is 0 if one row has the sum over all steps. The tape has room for a segment of the steps, `starts` for the states
at the starts of segments. The states after the last step are stored, too."""
_RATES = tuple(f"{name}_rate" for name in (*_STATES, "kp", "kd", "dt"))
_MOVED = ("dq_out", "dv_out")
SENSITIVITY_POINTERS = (*_STATES, *_RATES, *_MOVED, *_ENDS, "workspace", "numbers", "datas", "stop")
SENSITIVITY_WORDS = (
    *SENSITIVITY_POINTERS,
    *(f"{name}_stride" for name in (*_STATES, *_RATES, *_MOVED, *_ENDS)),
    *(f"{name}_step" for name in (*_INPUTS, *(f"{name}_rate" for name in _INPUTS))),
    *("dq_row", "dv_row", "steps", "every", "first", "end", "last"),
)
"""The arguments of `@sensitivity`: like those of `@rollout`, with the rates of all arguments. Rates that are zero have
the address 0."""

ADVANCE_POINTERS = (
    *("q", "v", "tau", "slant", "external", "external_slant", "numbers", "scalars", "counts", "workspace", "datas"),
    *("a0", "t_out", "q_out", "v_out", "a_out", "w_out", "dense_out", "rejected_out", "tried_q", "tried_v"),
    *("open_q_out", "open_v_out", "held", "law", "demands", "tau_out", "a_start_out", "parameters"),
)
MOST_HELD = 12
"""The most joints that rest on stops in compiled steps."""
ADVANCE_WORDS = (*ADVANCE_POINTERS, "capacity")
"""The words that `@advance` takes; the addresses of dense output and of accelerations at the starts of steps are 0 if
these are not wanted. Of a controller's law there are its parameters, the largest demands of its saturations, and the
drives' forces at the ends of steps."""
STATUSES = ("end", "full", "too-small", "unclear")
"""How `@advance` ends: at t_end, with full buffers, because no step is short enough, or because the next step needs a
decision about the constraints that compiled code does not make."""


@dataclass(frozen=True, slots=True)
class Closing:
    """The loops that compiled steps keep closed, by projection or by Baumgarte's stabilisation."""

    left_out: int
    """The number of redundant rows."""
    least: float
    """A solution with a smaller relative pivot is not clear: the steps end before it."""
    drop: float
    """Rows with a smaller relative pivot are left out, where some are redundant."""
    closed: float
    """Residuals up to this are left as they are."""
    open: float
    """A state with a larger residual is not closed."""
    rounds: int
    """The most iterations of Newton's method."""
    timed: bool = False
    """True if some of the rows move with time."""
    projects: bool = True
    """True if the ends of steps are projected onto the loops."""
    pull: tuple[float, float] | None = None
    """Alpha and beta of Baumgarte's stabilisation, or None."""

    @property
    def present(self) -> tuple[str, ...]:
        """The optional arguments of the kernel that solves for corrections."""
        return (*self.time, *self._drop)

    @property
    def present_in_dynamics(self) -> tuple[str, ...]:
        """The optional arguments of the dynamics."""
        return (*self.time, *(("correction",) if self.pull else ()), *self._drop)

    @property
    def _drop(self) -> tuple[str, ...]:
        return ("drop",) if self.left_out else ()

    @property
    def time(self) -> tuple[str, ...]:
        """The time, if the rows depend on it."""
        return ("t",) if self.timed else ()


Form = tuple[str, bool]
"""The way of a kernel, and whether inertia is moved between bodies."""


@dataclass(frozen=True, slots=True)
class LoopCode:
    """Machine code of a time loop, and the sizes and names that running it takes."""

    object: bytes
    workspace: int
    """Vectors in the workspace."""
    operations: int
    """Arithmetic operations of all kernels, per state and call."""
    lanes: int
    """States per vector."""
    rolled: tuple[str, ...]
    """The kernels that are loops over bodies, and read tables."""
    freedoms: bool = False
    """True if these need the tables for loops over freedoms."""


def varied_form(request: Request, way: str) -> Form | None:
    """Return the form in which a kernel reads the numbers of a varied robot; None if all numbers are fixed."""
    if request.model.variation is None:
        return None
    return way, way != "rolled" and request.algorithm.regroup


def varied_forms(requests: Mapping[str, Request], rolled: Sequence[str]) -> dict[Form, int]:
    """Return the forms in which kernels read the numbers of a varied robot, in order, and the sizes of their arrays."""
    found: dict[Form, int] = {}
    for name, request in sorted(requests.items()):
        way = "rolled" if name in rolled else "unrolled"
        form = varied_form(request, way)
        if form is not None:
            found[form] = request.varied(way)
    return found


def _are_names(value: Any, requests: Mapping[str, Request]) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name in requests for name in value)


def loop_code(
    kind: list[Any], requests: Mapping[str, Request], dtype: str, lanes: int | None, make: Callable[[], LoopCode]
) -> LoopCode:
    """Return compiled code, from the cache or made now; it depends on `kind` and on the kernels."""
    with COMPILING:
        parts = [[name, request_key(request, dtype, lanes)] for name, request in sorted(requests.items())]
        if any(part is None for _, part in parts):
            return make()
        key = cache.cache_key(["time loop", kind, parts])
        found = cache.read(key, {**cache.CODE_FIELDS, "rolled": lambda value: _are_names(value, requests)})
        if found is not None:
            meta, code = found
            known = {name: meta[name] for name in cache.CODE_FIELDS}
            return LoopCode(object=code, rolled=tuple(meta["rolled"]), **known)
        made = make()
        meta = {name: getattr(made, name) for name in (*cache.CODE_FIELDS, "rolled")}
        robot = next(iter(requests.values())).model.name
        cache.write(key, {**meta, "robot": robot, "question": str(kind[0])}, made.object)
        return made


_NEVER = np.zeros(1, np.int64)
"""What loops read at `stop` if nothing can stop them."""


class LoadedLoop:
    """A time loop in memory: owns its code and its tables. Threads may run it at the same time."""

    def __init__(
        self, code: LoopCode, requests: Mapping[str, Request], dtype: str, function: str, words: Sequence[str]
    ) -> None:
        self.code, self.dtype, self._words = code, np.dtype(dtype), tuple(words)
        self._stop = self._words.index("stop") if "stop" in self._words else None
        self._engine = Engine(code.object, [function])
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._engine.address(function))
        keys = {name: (id(requests[name].model), _frame_body(requests[name])) for name in code.rolled}
        self._tables = {
            key: Data(requests[name].model, dtype, key[1], code.freedoms)  # a model may have borrowed inertia
            for name, key in keys.items()
        }
        self.datas: NDArray[np.int64] = np.array(
            [self._tables[keys[name]].address if name in keys else 0 for name in sorted(requests)], np.int64
        )
        """The addresses of the kernels' tables."""

    def workspace(self) -> AnyArray:
        """Return memory for one thread."""
        size = max(64, self.code.workspace * self.code.lanes * self.dtype.itemsize)
        raw = np.zeros(size + 64, np.uint8)
        start = -raw.ctypes.data % 64
        return raw[start : start + size]

    def run(self, words: Mapping[str, int]) -> None:
        """Run the code. The words must be right: nothing is checked here, and all they point to must be alive."""
        ordered = self.ordered(words)  # alive until the code has run: the address alone keeps nothing
        self.call(ordered.ctypes.data)

    def ordered(self, words: Mapping[str, int]) -> NDArray[np.int64]:
        """Return the words in the order in which the code reads them."""
        found = [words[name] for name in self._words]
        if self._stop is not None and not found[self._stop]:
            found[self._stop] = _NEVER.ctypes.data
        return np.array(found, np.int64)

    def call(self, address: int) -> None:
        """Run the code with ordered words at an address."""
        self._run(address)


def _frame_body(request: Request) -> int | None:
    """Return the body of the frame that a request is about, if it is about one."""
    frame = dict(request.options).get("frame")
    return frame.body if isinstance(frame, Frame) else None
