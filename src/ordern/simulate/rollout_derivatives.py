"""Derivatives of rollouts: gradients by reverse mode, rates along a direction by forward mode, in native code."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import AnyArray, names_of
from ..compile import cores, shared_out
from ..errors import ArgumentError, unknown_name
from ..kernel.bound import bound
from ..model.parameter_fields import FIELDS, hint_of_motion
from ..model.variation import wholly_varied
from ..model.varied_derivatives import by_field, from_fields, pull_numbers, push_numbers
from .contact_derivatives import CONTACT_NAMES, contact_gradient, contact_rates, contact_sizes, require_ends
from .contact_record import ContactSettings, require_contacts
from .integrators.native_derivatives import GradientLoop, SensitivityLoop
from .rolled import Source
from .rollout import steps_between
from .rollout_arguments import Plan, flat_rows, plan, shared_rows, whole_number, with_implicit_gains
from .step_rule import stepped

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["gradient", "rollout_jvp", "rollout_vjp", "sensitivity", "source_of"]

_TABLES = {"tau": "tau", "external": "external", "target": "goal"}
"""Arguments that may change with time, and their names in compiled code."""
_GAINS = ("kp", "kd")
_TAPE_BYTES = 1 << 25
"""The tape of a thread. Longer rollouts are gone through in segments."""
_NS_PER_OPERATION, _WORTH_A_THREAD_NS, _PIECE_NS = 0.3, 1e6, 2e8
_ASIDE_NS = 5e7
"""Work that takes longer is left to other threads, so that Ctrl-C reaches this one."""
_CHANGED = (
    "the arguments of this rollout, or its states, have changed since it was computed: an array was written to. Give "
    "rollout copies of such arrays, or take the derivatives before"
)


_USUAL: dict[str, Any] = {"method": "semi-implicit-euler", "every": 1, "feedback": None, "external": None} | {
    "dynamics": None,
    "smoothing": 0.01,
    "drift": "baumgarte",
    "effort": "clip",
    "limits": None,
}
"""The settings of rollouts that have derivatives, and their defaults."""
_CONTACT = ("contact_friction", "ground_height", "contact_impulses")
"""Those of robots with contacts."""


def rollout_vjp(
    robot: Robot, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None, steps: int | None, dt: float,
    q: ArrayLike | None, v: ArrayLike | None, wrt: str | Sequence[str] | None, threads: int | None, **settings: Any,
) -> Any:  # fmt: skip
    """See `Robot.rollout_vjp`."""
    return gradient(source_of(robot, (q0, v0, tau, steps, dt), settings), q, v, wrt, threads)


def rollout_jvp(
    robot: Robot, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None, steps: int | None, dt: float,
    tangents: Mapping[str, ArrayLike], threads: int | None, **settings: Any,
) -> Any:  # fmt: skip
    """See `Robot.rollout_jvp`."""
    return sensitivity(source_of(robot, (q0, v0, tau, steps, dt), settings), tangents, threads)


def source_of(robot: Robot, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Source:
    """Return the arguments of a rollout that is not computed itself."""
    for name in settings:
        if name not in (*_USUAL, *_CONTACT):
            raise unknown_name("setting of a rollout that has derivatives", name, (*_USUAL, *_CONTACT))
    contact = ContactSettings(*(settings.pop(x, None) for x in _CONTACT))
    settings = _USUAL | settings
    limits, dynamics = settings.pop("limits"), settings["dynamics"]
    require_contacts(robot, contact, settings["method"], limits, {"dynamics": dynamics is not None})
    fed = settings["feedback"] is not None
    robot, _ = stepped(robot, settings["method"], limits, fed, settings["drift"], dynamics)
    p = plan(robot, *arguments, **settings)
    return Source(robot, with_implicit_gains(robot, p), limits=limits, contact=contact)


def gradient(
    source: Source,
    q: ArrayLike | None,
    v: ArrayLike | None,
    wrt: str | Sequence[str] | None,
    threads: int | None,
    ends: tuple[AnyArray, AnyArray] | None = None,
    *,
    numbers: bool = False,
) -> Any:
    """See `Rollout.vjp`. If `ends` are given, they are the states that the last step must reach.

    With `numbers`, the weights of positions are by their numbers, even if there are as many as velocities, and those of
    fields of parameters are by the numbers that vary; others stay zero.
    """
    p = source.plan
    _require_smooth(source, "vjp")
    if q is None and v is None:
        raise ArgumentError("vjp: give the weights of positions, q=..., or of velocities, v=..., or of both")
    names = _names(source, wrt)
    if not numbers:
        source, ends = _with_whole_fields(source, names, ends, threads)
    robot = source.robot
    by_numbers = q is not None and (numbers or robot.nq != robot.nv) and np.shape(q)[-1:] == (robot.nq,)
    weights = {
        "wq": _rows_of(p, "q", q, robot.nq if by_numbers else robot.nv),
        "wv": _rows_of(p, "v", v, robot.nv),
    }
    if robot.contacts is not None and robot.nv and p.count:
        found = contact_gradient(source, weights, by_numbers, threads, ends, _CHANGED)
        return _named("Gradient", names)(*(found[name] for name in names))
    out, results = _outputs(source, names)
    if robot.nv and p.count:
        loop = GradientLoop.of(
            *(robot, p.method, p.dynamics, p.dtype.name, "goal" in p.given, "external" in p.given), by_numbers
        )
        fields = [name for name in names if name in FIELDS]
        if fields:
            out["parameters_bar"] = np.zeros((p.count, 1, sum(loop.forms.values())), p.dtype)
        run = _Run(loop, source, p, {**weights, **out}, ends)
        run.go(threads, loop.kept)
        if fields:
            assert out["parameters_bar"] is not None
            results |= _by_field(robot, loop, out["parameters_bar"].reshape(*p.batch, -1), p.dtype)
    elif weights["wv"] is not None and "v0" in results:
        results["v0"][...] = weights["wv"].sum(-2).reshape(results["v0"].shape)
    return _named("Gradient", names)(*(results[name] for name in names))


def sensitivity(
    source: Source, tangents: Mapping[str, ArrayLike], threads: int | None,
    ends: tuple[AnyArray, AnyArray] | None = None,
) -> Any:  # fmt: skip
    """See `Rollout.jvp`."""
    p = source.plan
    _require_smooth(source, "jvp")
    if not tangents:
        raise ArgumentError(f"jvp: give a tangent of at least one of {', '.join(_names(source, None))}")
    names = _names(source, list(tangents), "the tangents")
    given = {name: _numbers(f"the tangent of {name}", tangents[name]) for name in names}
    sizes = _sizes(source)
    tables: dict[str, AnyArray] = {}
    for name, x in given.items():
        core = (*_rows(p, name), *sizes[name])
        if x.shape[x.ndim - len(core) :] != core:
            raise ArgumentError(f"jvp: the tangent of {name} has shape {x.shape}; its last dimensions must be {core}")
        tables[name] = x.reshape(*x.shape[: x.ndim - len(core)], *(_rows(p, name) or (1,)), math.prod(sizes[name]))
    batch = _broadcast(p.batch, [x.shape[:-2] for x in tables.values()])
    fixed = {} if source.robot.variation is None else source.robot.variation.masks
    moving = [name for name, x in given.items() if name in fixed and x[..., ~fixed[name]].any()]
    source, ends = _with_whole_fields(source, moving, ends, threads)
    robot = source.robot
    if robot.contacts is not None and robot.nv and p.count:
        dq, dv = (np.zeros((*batch, p.rows, robot.nv), p.dtype) for _ in range(2))
        along = {name: x.astype(p.dtype) for name, x in given.items()}
        for row, x, y in contact_rates(source, along, batch, threads, ends, _CHANGED):
            dq[..., row, :], dv[..., row, :] = x, y
        return _named("Rates", ("q", "v"))(dq, dv)
    wide = replace(p, batch=batch)
    rates: dict[str, AnyArray | None] = {f"{_TABLES.get(name, name)}_rate": None for name in (*_ALL, "parameters")}
    rates |= {
        f"{_TABLES.get(name, name)}_rate": flat_rows(x, batch, p.dtype) for name, x in tables.items() if name in _ALL
    }
    shape = (*batch, p.rows, robot.nv)
    dq, dv = np.zeros(shape, p.dtype), np.zeros(shape, p.dtype)
    if robot.nv and wide.count:
        loop = SensitivityLoop.of(
            *(robot, p.method, p.dynamics, p.dtype.name, "goal" in p.given, "external" in p.given)
        )
        out = {"dq_out": dq.reshape(wide.count, p.rows, -1), "dv_out": dv.reshape(wide.count, p.rows, -1)}
        fields = {name: given[name] for name in names if name in FIELDS}
        if fields:
            rates["parameters_rate"] = flat_rows(_number_rates(robot, loop, fields)[..., None, :], batch, p.dtype)
        run = _Run(loop, source, wide, {**rates, **out}, ends)
        run.go(threads)
    return _named("Rates", ("q", "v"))(dq, dv)


_ALL = ("q0", "v0", "tau", "external", "kp", "kd", "target", "dt")


def _by_field(robot: Robot, loop: GradientLoop, weights: AnyArray, dtype: np.dtype[Any]) -> dict[str, AnyArray]:
    """Return the gradients by the parameters of a varied robot, from those by the numbers that the code reads."""
    numbers = bound(robot)
    assert numbers is not None
    total, start = np.zeros((1, numbers.values.shape[-1])), 0
    for (way, regroup), size in loop.forms.items():
        if way != "rolled":  # the derivatives are straight-line code
            part = weights[..., start : start + size].astype(float)
            total = total + pull_numbers(numbers.structure, regroup, numbers.values, part)
        start += size
    found = by_field(numbers.structure, total.reshape(*weights.shape[:-1], -1))
    return {field: x.astype(dtype) for field, x in found.items()}


def _number_rates(robot: Robot, loop: SensitivityLoop, fields: Mapping[str, AnyArray]) -> AnyArray:
    """Return the rates of the numbers that the code reads, (..., numbers), for tangents of parameters."""
    numbers = bound(robot)
    assert numbers is not None and numbers.structure.variation is not None
    masks = numbers.structure.variation.masks
    shapes = [x.shape[: x.ndim - masks[name].ndim] for name, x in fields.items()]
    values = from_fields(numbers.structure, fields, np.broadcast_shapes(*shapes))
    parts = [
        np.zeros((*np.broadcast_shapes(values.shape[:-1], numbers.shape), size))
        if way == "rolled"
        else push_numbers(numbers.structure, regroup, numbers.values, values)
        for (way, regroup), size in loop.forms.items()
    ]
    return np.concatenate(parts, axis=-1)


def _with_whole_fields(
    source: Source, names: Sequence[str], ends: tuple[AnyArray, AnyArray] | None, threads: int | None
) -> tuple[Source, tuple[AnyArray, AnyArray] | None]:
    """Return the source with a robot in which all numbers of these fields vary, and the ends that are left to check.

    The steps of such a robot round in their own way. So the ends are checked here, with the steps of the rollout.
    """
    robot, p = source.robot, source.plan
    if robot.variation is None:
        return source, ends
    whole = wholly_varied(robot, [x for x in names if x in FIELDS])
    if whole is robot:
        return source, ends
    if ends is not None and robot.nv and p.count:
        settings = source.contact or ContactSettings()
        found = steps_between(robot, p, settings, {}, (0, p.steps, max(1, p.steps)), threads)
        require_ends(p, found, ends, _CHANGED)
    return replace(source, robot=whole), None


def _require_smooth(source: Source, what: str) -> None:
    """Raise if a rollout has no derivatives, and say why."""
    p = source.plan
    if source.steering:
        raise ArgumentError(
            f"{what}: this rollout has a {source.steering}, whose derivatives are not known. The same motion with its "
            "forces as a table has: robot.rollout(q0, v0, tau + run.tau[..., :-1, :]), from a run with every=1"
        )
    if source.limits == "bounce":
        raise ArgumentError(
            f"{what}: with limits={source.limits!r} joints strike their stops, and the steps at which they do change "
            "with the arguments; rollouts with limits='active' or 'ignore' have derivatives"
        )
    if source.ended:
        raise ArgumentError(
            f"{what}: an event has ended {source.ended} trajectories of this rollout, at times that change with the "
            "arguments; the derivatives are those of rollouts whose events are not terminal, or do not take place"
        )
    if source.robot.nc and p.drift == "project":
        raise ArgumentError(
            f"{what}: with drift='project' the end of each step is projected by an iteration, which has no derivatives "
            "here; those with drift='baumgarte' are exact"
        )


def _names(source: Source, wrt: str | Sequence[str] | None, what: str = "`wrt`") -> tuple[str, ...]:
    """Return the names of arguments, in their order; without `wrt` all that were given, and dt.

    The fields of parameters that vary are arguments, too.
    """
    p, variation = source.plan, source.robot.variation
    fed = "goal" in p.given
    known = [x for x in _ALL if fed or x not in (*_GAINS, "target")]
    known = [x for x in known if x != "external" or "external" in p.given]
    varied = () if variation is None else tuple(variation.masks)
    known = list(dict.fromkeys([*known, *varied, *contact_sizes(source.robot)]))
    if wrt is None:
        given = {*p.given, *varied, *(source.contact.given if source.contact else ())}
        return tuple(x for x in known if x not in ("tau", *CONTACT_NAMES) or x in given)
    names = names_of(wrt, "vjp: `wrt`")
    for name in names:
        if name not in known:
            raise unknown_name(f"argument in {what}", name, known, "rollout", hint_of_motion(name))
    if not names:
        raise ArgumentError("vjp: `wrt` names no argument")
    return tuple(x for x in known if x in names)


def _rows(p: Plan, name: str) -> tuple[int, ...]:
    """Return the number of rows over time of an argument; nothing if it is constant."""
    return (p.timed[_TABLES[name]].shape[-2],) if _TABLES.get(name) in p.by_rows else ()


def _sizes(source: Source) -> dict[str, tuple[int, ...]]:
    """Return the shapes of tangents, for one trajectory and one step."""
    nv, bodies = source.robot.nv, len(source.robot.bodies)
    found: dict[str, tuple[int, ...]] = dict.fromkeys(_ALL, (nv,))
    variation = source.robot.variation
    fields = {} if variation is None else {field: mask.shape for field, mask in variation.masks.items()}
    return {**found, "external": (bodies, 6), "dt": (), **fields, **contact_sizes(source.robot)}


def _outputs(source: Source, names: Sequence[str]) -> tuple[dict[str, AnyArray | None], dict[str, AnyArray]]:
    """Return results by the names of compiled code, (trajectories, rows, n), and by those of users."""
    p, sizes = source.plan, _sizes(source)
    out: dict[str, AnyArray | None] = {f"{_TABLES.get(name, name)}_bar": None for name in (*_ALL, "parameters")}
    results = {}
    for name in names:
        rows = _rows(p, name)
        results[name] = np.zeros((*p.batch, *rows, *sizes[name]), p.dtype)
        if name in _ALL:
            flat = results[name].reshape(p.count, *(rows or (1,)), math.prod(sizes[name]))
            out[f"{_TABLES.get(name, name)}_bar"] = flat
    return out, results


def _rows_of(p: Plan, name: str, weights: ArrayLike | None, n: int) -> AnyArray | None:
    """Return the weights of kept states as (trajectories, rows, n); None if they are zero."""
    if weights is None:
        return None
    x = _numbers(f"the weights of {name}", weights)
    shape = (*p.batch, p.rows, n)
    fits = x.shape[-2:] == shape[-2:]  # a single row would weigh all states, where that of the end was meant
    try:
        whole = np.broadcast_to(x, shape)
    except ValueError:
        fits = False
    if not fits:
        raise ArgumentError(
            f"vjp: the weights of {name} have shape {x.shape}, not {shape}, with a row for each kept state. A cost of "
            "the end alone needs zeros in all other rows, or a rollout with every=steps, which keeps two states"
        )
    return flat_rows(x if x.shape == shape[-2:] else whole, p.batch, p.dtype)


def _numbers(name: str, x: Any) -> AnyArray:
    a = np.asarray(x)
    if a.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must be real numbers, not {a.dtype}")
    return a


def _broadcast(batch: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(batch, *shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ArgumentError(
            f"jvp: the batch {batch} of the rollout and those of the tangents, {listed}, differ"
        ) from None


class _Run:
    """One call: its arrays, and the words for machine code."""

    def __init__(
        self,
        loop: GradientLoop | SensitivityLoop,
        source: Source,
        p: Plan,
        more: Mapping[str, AnyArray | None],
        ends: tuple[AnyArray, AnyArray] | None,
    ) -> None:
        self.loop, self.plan, self._wanted = loop, p, ends
        nq, nv = source.robot.nq, source.robot.nv
        self._ends = {"q_end": np.zeros((p.count, 1, nq), p.dtype), "v_end": np.zeros((p.count, 1, nv), p.dtype)}
        arrays = p.arrays
        self._numbers = arrays.pop("numbers")
        numbers = shared_rows(loop.parameters(source.robot), p.batch)
        self._alive = {**arrays, **p.tables, "parameters": numbers, **more, **self._ends}
        self._stop = np.zeros(1, np.int64)
        self.words = {"steps": p.steps, "every": p.every, "last": p.count - 1, "numbers": self._numbers.ctypes.data}
        self.words["stop"] = self._stop.ctypes.data
        for name, x in self._alive.items():
            row = 0 if x is None or x.ndim < 3 or x.shape[1] == 1 else x.strides[1]
            self.words[name] = 0 if x is None else x.ctypes.data
            self.words[f"{name}_stride"] = 0 if x is None else x.strides[0]
            self.words[f"{name}_step"] = self.words[f"{name.removesuffix('_out')}_row"] = row

    def go(self, threads: int | None, kept: int = 0) -> None:
        """Compute all trajectories, in threads; of a step so many numbers are `kept` on the tape."""
        p, loop, lanes = self.plan, self.loop, self.loop.lanes
        tiles = -(-p.count // lanes)
        tile_ns = max(1.0, p.steps * loop.operations * _NS_PER_OPERATION)
        asked = whole_number("threads", threads, 1) if threads is not None else 0
        at_once = max(1, min(asked or min(cores(), int(tiles * tile_ns / _WORTH_A_THREAD_NS)), tiles))
        size = lanes * max(1, min(-(-tiles // at_once), int(_PIECE_NS / tile_ns)))
        shared_out(
            lambda first: self._piece(first, min(first + size, p.count), kept),
            range(0, p.count, size),
            at_once,
            stop=self._stop,
            aside=tiles * tile_ns > _ASIDE_NS,
        )
        self._require_same()

    def _piece(self, first: int, end: int, kept: int) -> None:
        words = {**self.words, "first": first, "end": end}
        if kept and isinstance(self.loop, GradientLoop):
            vector = self.loop.lanes * self.plan.dtype.itemsize
            steps = max(1, self.plan.steps)
            length = min(steps, max(1, _TAPE_BYTES // (kept * vector), math.isqrt(steps)))
            segments = -(-steps // length)
            parts = {"tape": length * kept * vector, "starts": segments * self.loop.start * vector}
            memory = {name: np.empty(size + 64, np.uint8) for name, size in parts.items()}
            words |= {name: -(-x.ctypes.data // 64) * 64 for name, x in memory.items()}
            words |= {"segment": length, "segments": segments}
        self.loop.run(words)

    def _require_same(self) -> None:
        """Raise if the states at the end are not those of the rollout."""
        if self._wanted is None:
            return
        for found, wanted in zip(self._ends.values(), self._wanted, strict=True):
            shape = (*self.plan.batch, found.shape[-1])
            if not np.array_equal(found.reshape(shape), np.broadcast_to(wanted, shape), equal_nan=True):
                raise ArgumentError(_CHANGED)


@lru_cache(maxsize=64)
def _named(title: str, names: tuple[str, ...]) -> Any:
    return namedtuple(title, names)
