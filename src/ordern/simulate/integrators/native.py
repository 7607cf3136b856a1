"""Time loops as native code: fixed steps over many states, and steps of one state that are as long as errors allow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arguments import AnyArray, Array
from ...compile.pipeline import Request
from ...compile.timeloops.code import (
    ADVANCE_WORDS,
    MOST_HELD,
    ROLLOUT_WORDS,
    STATUSES,
    Closing,
    LoadedLoop,
    LoopCode,
    loop_code,
    varied_forms,
)
from ...errors import ArgumentError
from ...kernel.bound import bound
from ...loops.dynamics import BAUMGARTE
from ...records import dataclass
from ..efforts import has_efforts
from .numpy_machine import turns_velocities
from .rk_step import Point, attempt, dense_coefficients, finish, fixed_step
from .step_control import GROWTH, NEARLY, REMAINDER, combined_error, step_factor
from .tableaus import Tableau, tableau

if TYPE_CHECKING:
    from ...compile.timeloops.event_program import Watched
    from ...compile.timeloops.law_program import Law
    from ...robot import Robot

__all__ = [
    "MOST_HELD",
    "Closing",
    "FixedLoop",
    "Native",
    "Segment",
    "kept",
    "loop_kind",
    "step_question",
    "step_requests",
    "varied_numbers",
]

T = TypeVar("T")
Renew = Callable[[float, Array, Array], tuple[Array, float] | None]
"""A function of (t, q, v) that returns joint forces and the time until which they hold, or None to stop there."""

_PARTS = {"position_rate": "rate"} | dict.fromkeys(
    ("passive_force", "all_passive_force", "step_passive_force"), "passive"
)
"""The compiler's names of kernels that differ from those of their questions."""
_LANES = 2
"""Lanes for one state, which is in all of them: wider vectors take longer, and scalars are not faster."""
_BUFFER = 1 << 20
"""Numbers of dense output that a segment holds at most, by default."""


def _requests(
    robot: Robot, method: Tableau, dynamics: str | None, *more: str, closing: Closing | None = None
) -> dict[str, Request]:
    """Return the kernels that the steps of a method need, by the compiler's names."""
    from ...compile.timeloops.machine import is_flat

    if closing is not None:
        kernel = robot.kernel("closed_dynamics", "multipliers", present=closing.present_in_dynamics)
    elif robot.nc:
        if dynamics not in (None, "multipliers"):
            raise ArgumentError(
                f"compiled steps of {robot.name!r}, which has loops, use the method 'multipliers', not {dynamics!r}"
            )
        kernel = robot.kernel("stabilised_dynamics", alpha=BAUMGARTE)
    else:
        kernel = robot.kernel("forward_dynamics", dynamics)
    if kernel.is_interpreted:
        raise ArgumentError(
            f"forward_dynamics by the method {dynamics!r} is not compiled for {robot.name!r}, so it cannot be part of "
            "a compiled time loop; 'articulated-body' can"
        )
    found = {"dynamics": kernel.request}
    if closing is not None:
        rows = ("loop_residual", "loop_rate")
        found |= {name: robot.kernel(name, present=closing.time).request for name in rows}
        if closing.projects:
            found["closed_solve"] = robot.kernel("closed_solve", present=closing.present).request
            found["close"] = robot.kernel("integrate").request
    questions = list(more)
    if robot.passive_question:
        questions.append(robot.passive_question)
    if method.exponential:
        questions += ["euler_position", "euler_velocity"] if turns_velocities(robot) else ["integrate"]
    if not is_flat(robot):
        questions += ["position_rate", "normalize"]
    return found | {_PARTS.get(question, question): robot.kernel(question).request for question in questions}


def step_requests(
    robot: Robot,
    method: Tableau,
    dynamics: str | None,
    feedback: bool,
    external: bool,
    closing: Closing | None = None,
    bounces: bool = False,
) -> dict[str, Request]:
    """Return the kernels of the fixed steps of a rollout."""
    if robot.contacts is not None:
        return contact_requests(robot, feedback, external)
    more = {"difference": feedback, "external_force": external, "mass_matrix_solve": bounces}
    return _requests(robot, method, dynamics, *(name for name, used in more.items() if used), closing=closing)


def contact_requests(robot: Robot, feedback: bool, external: bool) -> dict[str, Request]:
    """Return the kernels of steps with contacts."""
    used = {"step_passive_force": robot.has_step_passive, "difference": feedback, "external_force": external}
    found = {_PARTS.get(name, name): robot.kernel(name).request for name, is_used in used.items() if is_used}
    present = ("servo", "effort") if feedback and has_efforts(robot) else ()
    return found | {"contact": robot.kernel(step_question(robot), present=present).request}


def step_question(robot: Robot) -> str:
    """Return the question of steps with contacts, or of those with limits and friction of joints alone."""
    return "contact_step" if robot.contacts is not None and robot.contacts.pairs else "joint_step"


def loop_kind(loop: str, method: str, *more: Any) -> list[Any]:
    """Return the part of the key of compiled code that its kernels do not have."""
    return [loop, method, *(repr(x) for x in more if x)]


def kept(robot: Robot, key: tuple[Any, ...], make: Callable[[], T]) -> T:
    """Return code that a robot keeps, made on first use."""
    return robot._kernels.kept(key, make)


def varied_numbers(robot: Robot, loaded: LoadedLoop, requests: Mapping[str, Request]) -> AnyArray:
    """Return the numbers (*leading, n) of a varied robot as a time loop reads them; without any for other robots."""
    numbers = bound(robot)
    forms = varied_forms(requests, loaded.code.rolled)
    if numbers is None:
        return np.zeros(0, loaded.dtype)
    parts = [numbers.form(*form, None, loaded.dtype) for form, size in forms.items() if size]
    return np.concatenate([*parts, np.zeros((*numbers.shape, 0), loaded.dtype)], axis=-1)


class FixedLoop:
    """Steps of a fixed length over tiles of trajectories."""

    def __init__(
        self,
        robot: Robot,
        method: str,
        dynamics: str | None,
        dtype: str,
        feedback: bool = False,
        external: bool = False,
        closing: Closing | None = None,
        limited: tuple[tuple[int, int], ...] = (),
        events: tuple[Watched, ...] = (),
    ) -> None:
        """Compile the steps of a method.

        `closing` describes the loops that are projected; others are stabilised. `limited` are the places in q and v of
        joints that bounce off their limits. `events` are watched.
        """
        steps = tableau(method)
        requests = step_requests(robot, steps, dynamics, feedback, external, closing, bool(limited))
        for k, x in enumerate(events):
            if x.frame is not None:
                requests[f"watched{k}"] = robot.kernel("pose", frame=x.frame).request

        def make() -> LoopCode:
            from ...compile.timeloops.fixed import compile_rollout
            from ...compile.timeloops.machine import Kernels

            kernels = Kernels(requests, dtype, None)
            return compile_rollout(robot, kernels, lambda m, q, v: fixed_step(m, steps, q, v), closing, limited, events)

        code = loop_code(loop_kind("rollout", method, closing, limited, events), requests, dtype, None, make)
        self._loaded = LoadedLoop(code, requests, dtype, "rollout", ROLLOUT_WORDS)
        self._requests = requests
        self._local = threading.local()
        self.rolled, self.dtype = code.rolled, self._loaded.dtype
        self.lanes, self.operations = code.lanes, code.operations * steps.stages

    @staticmethod
    def of(robot: Robot, *arguments: Any) -> FixedLoop:
        """Return the loop of a robot, made on first use."""
        contacts = "" if robot.contacts is None else robot.contacts.digest
        return robot._kernels.shared(("rollout", contacts, *arguments), lambda: FixedLoop(robot, *arguments))

    def parameters(self, robot: Robot) -> AnyArray:
        """Return the numbers (*leading, n) of a varied robot as the code reads them; without any for other robots."""
        return varied_numbers(robot, self._loaded, self._requests)

    def run(self, words: Mapping[str, int]) -> None:
        """Run a share of the trajectories, in this thread."""
        try:
            workspace = self._local.workspace
        except AttributeError:
            workspace = self._local.workspace = self._loaded.workspace()
        self._loaded.run({**words, "workspace": workspace.ctypes.data, "datas": self._loaded.datas.ctypes.data})


@dataclass(frozen=True)
class Segment:
    """Accepted steps, one after the other. Arrays have a row for the end of each step."""

    t: Array
    q: Array
    v: Array
    a: Array
    work: Array
    """The work of the applied forces since the start of the segment, or since the forces were renewed."""
    dissipated: Array
    """Minus the work of passive forces, springs included, since then."""
    dense: Array | None
    """For each step coefficients c of y(s) = sum_k c[k] s^k, 0 <= s <= 1, of shape (steps, m, nq + nv + 2): positions,
    velocities, and both works since the start of the step. None without `dense`, or if the method has none."""
    a0: Array
    """The acceleration at the start of the segment."""
    rejected: NDArray[np.int64]
    """For each step, the attempts before it that were rejected."""
    h: float
    """The step that would be tried next."""
    evaluations: int
    """The number of evaluations of the forward dynamics."""
    failed: int
    """Attempts that were rejected after the last accepted step."""
    status: str
    """"end": t_end is reached. "full": there is more to come. "too-small": no step is short enough. "not-finite": the
    state became infinite or NaN. "unclear": the next step needs a decision about loops that compiled code does not
    make."""
    index: int | None = None
    """The first component of v that is not finite."""
    renewals: tuple[int, ...] = ()
    """The steps before which the forces were renewed."""
    before: tuple[Array, Array] | None = None
    """Positions and velocities at the ends of steps before they were projected onto closed loops."""
    tau: Array | None = None
    """The forces of a control law at the ends of steps; None without a law."""
    a_start: Array | None = None
    """The accelerations at the starts of steps, if dense output is wanted and the method has none."""
    t_end: float = np.nan
    """The end of the current piece: with a sampled law, the next sample or the limit."""


class Native:
    """One robot, one method, as native code: `advance` takes many steps at a call.

    The applied forces of a call are tau + (t - t_force) slant: constant, or a line; so are external forces on bodies,
    if it was made with `external`. Adaptive methods choose their steps; a method without error estimate takes steps of
    the length h, and a shorter one to reach the end.
    """

    def __init__(
        self,
        robot: Robot,
        method: str,
        *,
        dynamics: str = "articulated-body",
        rtol: float = 1e-10,
        atol: float = 1e-10,
        max_step: float = np.inf,
        smoothing: float = 0.01,
        lanes: int = _LANES,
        external: bool = False,
        closing: Closing | None = None,
        holds: bool = False,
        law: Law | None = None,
    ) -> None:
        self.robot, self.method, self.closing, self.holds = robot, tableau(method), closing, holds
        self._projects = closing is not None and closing.projects
        if not robot.nv:
            raise ArgumentError(f"advance: {robot.name!r} has no freedom to move")
        self._max_step = float(max_step)
        nq, nv = robot.nq, robot.nv
        self._numbers = np.concatenate([[0.0, smoothing, 0.0, rtol, atol], np.zeros(3 * nv)])
        more = ["external_force"] if external else []
        self._loads = 6 * len(robot.bodies) if external else 0
        if holds and closing is None:
            more.append("mass_matrix_solve")
        key: tuple[Any, ...] = ("advance", method, dynamics, lanes, closing, holds, *more)
        if law is not None:  # requests are kept alive beside the code, so that their identities stay theirs
            key = (*key, law.program, *((name, id(x)) for name, x in sorted(law.requests.items())))
        requests = _requests(robot, self.method, dynamics, *more, closing=closing)
        requests |= {} if law is None else law.requests
        self._loaded, requests = robot._kernels.shared(key, lambda: (self._load(requests, lanes, law), requests))
        self._parameters = varied_numbers(robot, self._loaded, requests)
        self.rolled = self._loaded.code.rolled
        """The kernels that are compiled as loops over bodies."""
        self._workspace = self._loaded.workspace()
        self._row = (self.method.degree + 1) * (nq + nv + 2)
        self.use(law)

    def use(self, law: Law | None) -> None:
        """Take the numbers of a law of the same program from now on."""
        self.law, loaded = law, self._loaded
        goals = [] if law is None else [x.ctypes.data for x in law.goals]
        self._datas = np.concatenate([loaded.datas, np.array(goals, np.int64)])
        own = {"numbers": self._numbers, "workspace": self._workspace, "datas": self._datas}
        own |= {} if law is None else {"law": law.parameters}
        own["parameters"] = self._parameters
        unused = ["external", "external_slant", "open_q_out", "open_v_out", "held"]
        unused += ["law", "demands", "tau_out", "a_start_out"]
        self._own = dict.fromkeys(unused, 0) | {name: array.ctypes.data for name, array in own.items()}

    def _load(self, requests: Mapping[str, Request], lanes: int, law: Law | None) -> LoadedLoop:
        method, robot, c = self.method, self.robot, self.closing
        program = None if law is None else law.program

        def make() -> LoopCode:
            from ...compile.timeloops.adaptive import compile_advance
            from ...compile.timeloops.machine import Kernels

            return compile_advance(robot, Kernels(requests, "float64", lanes), texts(method), c, self.holds, program)

        code = loop_code(loop_kind("advance", method.name, c, self.holds, program), requests, "float64", lanes, make)
        return LoadedLoop(code, requests, "float64", "advance", ADVANCE_WORDS)

    def advance(
        self,
        t: float,
        q: Array,
        v: Array,
        h: float,
        t_end: float,
        tau: Array | None = None,
        slant: Array | None = None,
        t_force: float = 0.0,
        capacity: int | None = None,
        dense: bool = True,
        external: tuple[Array, Array] | None = None,
        renew: Renew | None = None,
        held: Sequence[int] = (),
        limit: float | None = None,
    ) -> Segment:
        """Step from a state towards t_end, which the last step meets exactly; h is the first step to try.

        Take at most `capacity` steps; how many a call takes does not change them. `external` forces are a value at
        t_force and a slant, each (bodies, 6). At t_end, `renew` may return other joint forces, constant until a later
        t_end, and the steps go on. Joints whose velocities are `held` rest: these are zero, and stay so. With a sampled
        law, tau are the forces until the sample at t_end, and the steps go on to the limit.
        """
        nq, nv, degree = self.robot.nq, self.robot.nv, self.method.degree
        ends_only, dense = dense and not degree, dense and degree > 0
        n = max(16, min(4096, _BUFFER // self._row)) if capacity is None else capacity
        if n < 1:
            raise ArgumentError(f"advance: capacity must be a positive number of steps, not {capacity}")
        if external is not None and not self._loads:
            raise ArgumentError("advance: this loop was compiled without external forces; make it with external=True")
        loads = (None, None) if external is None else [np.ravel(x) for x in external]
        if held and not self.holds:
            raise ArgumentError("advance: this loop was compiled without stops; make it with holds=True")
        states = {"q": (q, nq), "v": (v, nv), "tau": (tau, nv), "slant": (slant, nv)}
        if self._loads:
            states |= {"external": (loads[0], self._loads), "external_slant": (loads[1], self._loads)}
        if self.holds:
            listed = np.zeros(1 + MOST_HELD)
            listed[: 1 + len(held)] = [len(held), *held]
            states["held"] = (listed, len(listed))
        given = {name: _vector(name, x, size) for name, (x, size) in states.items()}
        for name, x in (("t", t), ("h", h), ("t_end", t_end), ("t_force", t_force)):
            if not np.isfinite(x):
                raise ArgumentError(f"advance: {name} must be finite, not {x}")
        if not h > 0.0:
            raise ArgumentError(f"advance: the step h must be positive, not {h}")
        shapes = {"t_out": (n,), "q_out": (n, nq), "v_out": (n, nv), "a_out": (n, nv), "w_out": (n, 2)}
        shapes |= {"dense_out": (n if dense else 0, degree + 1, nq + nv + 2)}
        shapes |= {"a0": (nv,), "tried_q": (nq,), "tried_v": (nv,)}
        shapes |= {"open_q_out": (n, nq), "open_v_out": (n, nv)} if self._projects else {}
        shapes |= {"a_start_out": (n, nv)} if ends_only else {}
        out: dict[str, Any] = {name: np.empty(shape) for name, shape in shapes.items()}
        out |= {"rejected_out": np.empty(n, np.int64), "counts": np.zeros(5, np.int64)}
        scalars = np.array([t, t_end, min(h, self._max_step), self._max_step, t_force, GROWTH, t_end, 0.0])
        if self.law is not None:
            out |= {"tau_out": np.empty((n, nv)), "demands": self.law.demands(None)}
            if self.law.period is not None:
                out["counts"][4] = round(t_end / self.law.period)
                scalars[6:] = t_end if limit is None else limit, self.law.period
        arrays = {**given, **out, "scalars": scalars}
        words = self._own | {name: array.ctypes.data for name, array in arrays.items()} | {"capacity": n}
        if not dense:
            words["dense_out"] = 0
        ordered = self._loaded.ordered(words)
        self._loaded.call(ordered.ctypes.data)
        renewals = [] if renew is None else self._go_on(renew, n, ordered, out, scalars)
        return replace(self._segment(given, out, scalars), renewals=tuple(renewals))

    def _go_on(
        self, renew: Renew, capacity: int, words: NDArray[np.int64], out: dict[str, Any], scalars: Array
    ) -> list[int]:
        """Continue with renewed forces while there are some, in the same buffers; return the steps before which."""
        found: list[int] = []
        counts, q, v = out["counts"], out["q_out"], out["v_out"]
        address, call = words.ctypes.data, self._loaded.call
        tau, slant = np.zeros(self.robot.nv), np.zeros(self.robot.nv)
        first = q.ctypes.data, v.ctypes.data, q.strides[0], v.strides[0]
        at_q, at_v, at_tau, at_slant = (ADVANCE_WORDS.index(name) for name in ("q", "v", "tau", "slant"))
        words[at_tau], words[at_slant] = tau.ctypes.data, slant.ctypes.data
        while True:
            steps, _, _, status, _ = counts.tolist()
            if not 0 < steps < capacity or STATUSES[status] != "end":
                return found
            renewed = renew(float(scalars[0]), q[steps - 1], v[steps - 1])
            if renewed is None:
                return found
            tau[:], scalars[1] = renewed
            words[at_q], words[at_v] = first[0] + (steps - 1) * first[2], first[1] + (steps - 1) * first[3]
            found.append(steps)
            call(address)

    def _segment(self, given: dict[str, Array], out: dict[str, Any], scalars: Array) -> Segment:
        steps, rejected, evaluations, status, _ = out["counts"].tolist()
        if self.law is not None:
            self.law.demands(out["demands"])
        nq, nv = self.robot.nq, self.robot.nv
        q, v, w, dense = (out[f"{name}_out"][:steps] for name in ("q", "v", "w", "dense"))
        if len(dense):
            dense[:, 0] = 0.0
            dense[0, 0, : nq + nv] = np.concatenate([given["q"], given["v"]])
            dense[1:, 0, :nq], dense[1:, 0, nq : nq + nv] = q[:-1], v[:-1]
        before = np.diff(out["rejected_out"][:steps], prepend=0)
        name, index = STATUSES[status], None
        if name == "too-small":
            broken = ~(np.isfinite(out["tried_v"]) & np.isfinite(out["a_out"][steps - 1] if steps else out["a0"]))
            if broken.any() or not np.isfinite(out["tried_q"]).all():
                name, index = "not-finite", int(np.argmax(broken)) if broken.any() else None
        return Segment(
            *(out["t_out"][:steps], q, v, out["a_out"][:steps], w[:, 0], w[:, 1]),
            dense=dense if len(dense) else None,
            a0=out["a0"],
            rejected=before,
            h=float(scalars[2]),
            evaluations=evaluations,
            failed=rejected - int(before.sum()),
            status=name,
            index=index,
            before=(out["open_q_out"][:steps], out["open_v_out"][:steps]) if self._projects else None,
            tau=None if self.law is None else out["tau_out"][:steps],
            a_start=out["a_start_out"][:steps] if "a_start_out" in out else None,
            t_end=float(scalars[1]),
        )


def texts(method: Tableau) -> Any:
    """Return a method's step and its law of step lengths, for the compiler."""
    from ...compile.timeloops.adaptive import Texts

    def law(squares: Any, most: Any) -> tuple[Any, Any]:
        error = combined_error(squares)
        return error, step_factor(error, method.error_order, most)

    end = 1 if method.needs_end else 0
    return Texts(
        first=lambda m, y: m.slope(0.0, y.q, y.v),
        attempt=lambda m, y, k: attempt(m, method, y, k),
        finish=lambda m, tried: finish(m, method, tried),
        dense=lambda m, y, rates: dense_coefficients(m, method, y, rates),
        law=law if method.adaptive else None,
        point=Point,
        evaluations=(method.stages - 1 + end, 1 - end, len(method.extra_c)),
        growth=GROWTH,
        nearly=NEARLY if method.adaptive else REMAINDER,
    )


def _vector(name: str, x: Any, n: int) -> Array:
    """Return n numbers as a contiguous array; zeros if there are none."""
    a = np.zeros(n) if x is None else np.ascontiguousarray(x, np.float64)
    if a.shape != (n,):
        raise ArgumentError(f"advance: {name} has shape {a.shape}, not ({n},)")
    return a
