"""The header of a motion's file, in JSON: the robot, the names of columns, events, the report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from ....arguments import Array
from ....errors import ArgumentError, ModelError
from ....io.remarks import some
from ....model.json_form import foreign_joints, from_plain, to_plain
from ....records import dataclass
from ...constraints.dense_projection import stored_closing
from ...integrators.dense import Dense
from ...run.log import Happened
from ..report import SimulationReport
from ..series import labels

if TYPE_CHECKING:
    from ....robot import Robot
    from ..result import Result

__all__ = ["ARRAYS", "VERSION", "Stored", "header", "parsed", "plain", "restored"]

R = TypeVar("R", bound="Robot")

VERSION = 1
ARRAYS = ("t", "q", "v", "a", "tau", "work", "dissipated")


@dataclass(slots=True)
class Stored:
    """The contents of a file: its header, and arrays by name; or, without a header, columns by name."""

    about: dict[str, Any] | None
    arrays: dict[str, Array] = field(default_factory=dict)
    columns: dict[str, Array] = field(default_factory=dict)
    between: tuple[Array, Array] | None = None
    """Times and coefficients of the dense output, in formats that store it."""


def header(result: Result) -> dict[str, Any]:
    """Return the header of a motion."""
    q, v = labels(result.robot)
    foreign = foreign_joints(result.robot)
    return {
        "format": "ordern-result",
        "version": VERSION,
        "name": result.robot.name,
        "samples": len(result),
        "q": list(q),
        "v": list(v),
        "arrays": [name for name in ARRAYS if getattr(result, name) is not None],
        "extra": [[name, list(x.shape[1:])] for name, x in result.extra.items()],
        "events": [plain(e) for e in result.events],
        "report": plain(result.report),
        "foreign": foreign[:20],
        "robot": None if foreign else to_plain(result.robot),
    }


def plain(x: Any, not_finite: Callable[[float], Any] = str) -> Any:
    """Return numbers, arrays and dataclasses in the types of JSON; anything else becomes its text."""
    if isinstance(x, (np.generic, np.ndarray)):
        x = x.tolist()
    if isinstance(x, float):
        return x if math.isfinite(x) else not_finite(x)
    if x is None or isinstance(x, (str, int)):
        return x
    if isinstance(x, (tuple, list)):
        return [plain(y, not_finite) for y in x]
    if isinstance(x, Mapping):
        return {str(name): plain(y, not_finite) for name, y in x.items()}
    if is_dataclass(x):
        return {f.name: plain(getattr(x, f.name), not_finite) for f in fields(x)}
    return str(x)


def parsed(text: bytes | str) -> dict[str, Any]:
    """Return the header from its JSON text, its main fields checked; `ModelError` if it is not a header."""
    try:
        about = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ModelError(f"the description of the motion cannot be read: {type(e).__name__}") from None
    if not isinstance(about, dict) or about.get("format") != "ordern-result":
        raise ModelError("the file is not a motion: its description has no format 'ordern-result'")
    if about.get("version") != VERSION:
        raise ModelError(
            f"the file has the version {about.get('version')!r} of the format, this library reads {VERSION}; "
            "a newer one may be needed: pip install -U ordern"
        )
    texts = isinstance(about.get("name"), str) and all(
        isinstance(about.get(key), list) and all(isinstance(x, str) for x in about[key])
        for key in ("q", "v", "arrays", "foreign")
    )
    extra, samples = about.get("extra"), about.get("samples")
    if not texts or not _extra(extra) or type(samples) is not int or samples < 0:
        raise ModelError("the description of the motion is damaged")
    if not set(ARRAYS[:5]) <= set(about["arrays"]) <= set(ARRAYS) or len(set(about["arrays"])) < len(about["arrays"]):
        raise ModelError(f"the description of the motion names the arrays {about['arrays']}, not {ARRAYS}")
    return about


def _extra(extra: Any) -> bool:
    return isinstance(extra, list) and all(
        isinstance(x, list)
        and len(x) == 2
        and isinstance(x[0], str)
        and isinstance(x[1], list)
        and all(type(n) is int and 0 <= n < 2**31 for n in x[1])
        for x in extra
    )


def restored(stored: Stored, robot: R | None, cls: type[R], where: str) -> Result:
    """Return the motion that a format has read."""
    from ..result import Result

    about = stored.about
    own = robot if robot is not None else _robot(about, cls, where)
    q, v = labels(own)
    if about is None:
        return Result(own, **_bare(stored.columns, own, where))
    for name, mine in (("q", q), ("v", v)):
        if tuple(about[name]) != mine:
            raise ArgumentError(
                f"{where}: the motion is of {about['name']!r}, whose coordinates are {some(about[name], 6)}; those of "
                f"{own.name!r} are {some(list(mine), 6)}"
            )
    arrays: dict[str, Any] = {name: stored.arrays[name] for name in about["arrays"]}
    extra = {name: stored.arrays[f"extra.{name}"] for name, _ in about["extra"]}
    try:
        report, dense = _report(about), None
        if stored.between is not None:
            closing = stored_closing(own, report, arrays["t"], extra)
            dense = Dense(own, *stored.between, closing)
        return Result(own, **arrays, extra=extra, events=_events(about), report=report, dense=dense)
    except ArgumentError as e:
        raise ModelError(f"the motion is damaged: {e}", where) from None


def _robot(about: dict[str, Any] | None, cls: type[R], where: str) -> R:
    if about is not None and about.get("robot") is not None:
        return from_plain(about["robot"], cls, where)
    missing = "does not say which robot moves"
    if about is not None:
        own = f" (the types of its joints {some(about['foreign'], 6)} are its own)" if about["foreign"] else ""
        missing = f"does not contain its robot, {about['name']!r}{own}"
    raise ArgumentError(f"{where}: the file {missing}; give it: load_result(path, robot)")


def _bare(columns: dict[str, Array], robot: Robot, where: str) -> dict[str, Any]:
    """Return the arrays from columns with names. Missing accelerations and forces are NaN."""
    from .by_name import KINDS, missing_columns, places

    names, values = list(columns), list(columns.values())
    found = places(names, robot, "q", where, known=names)  # others are further series, whatever they are called
    missing = ["t"] if found.t is None else []
    missing += [x for kind in ("q", "v") for x in missing_columns(kind, found, robot)]
    if missing or found.t is None:
        raise ArgumentError(
            f"{where}: the columns {some(missing, 6)} are missing for a motion of {robot.name!r}; the file has "
            f"{some(names, 6)}"
        )
    if found.wrong:
        raise ModelError(found.wrong[0], where)
    n = len(values[0])
    arrays: dict[str, Any] = {"t": values[found.t]}
    for kind, size in zip(KINDS, (robot.nq, robot.nv, robot.nv, robot.nv), strict=True):
        arrays[kind] = np.full((n, size), np.nan)
        for k, column in found.kinds[kind].items():
            arrays[kind][:, k] = values[column]
    extra = {name: columns[name] for name in found.rest}
    arrays |= {kind: extra.pop(kind, None) for kind in ("work", "dissipated")}
    return arrays | {"extra": extra}


def _events(about: dict[str, Any]) -> tuple[Happened, ...]:
    events = about.get("events")
    if not isinstance(events, list):
        raise ModelError("the description of the motion is damaged: it has no list of events")
    return tuple(_made(Happened, e) for e in events)


def _report(about: dict[str, Any]) -> SimulationReport | None:
    report = about.get("report")
    needed = [f.name for f in fields(SimulationReport) if f.default is MISSING]
    if not isinstance(report, dict) or any(name not in report for name in needed):
        return None  # another version of the library may have other fields
    made: SimulationReport = _made(SimulationReport, report)
    return made


def _made(cls: Any, data: Any) -> Any:
    """Return a dataclass of texts, numbers, arrays and other such dataclasses, from its JSON."""
    try:
        kinds = get_type_hints(cls)
        known = [f.name for f in fields(cls) if f.name in data or f.default is MISSING]
        return cls(**{name: _typed(kinds[name], data[name]) for name in known})
    except (KeyError, TypeError, ValueError) as e:
        raise ModelError(f"the description of the motion has a damaged {cls.__name__}: {e!r}") from None


def _typed(kind: Any, x: Any) -> Any:
    """Return a value of this type, or raise `ValueError`."""
    if kind is float and (type(x) is int or x in ("inf", "-inf", "nan")):
        return float(x)
    if kind in (str, bool, int, float) and type(x) is kind:
        return x
    if is_dataclass(kind):
        return _made(kind, x)
    inner = get_args(kind)
    if type(None) in inner:
        return None if x is None else _typed(inner[0], x)
    if get_origin(kind) is tuple and isinstance(x, list):
        return tuple(_typed(inner[0], y) for y in x)
    if _is_array(kind) and isinstance(x, list):
        return np.array([_typed(float, y) for y in x], np.float64)
    raise ValueError(f"{x!r} is not of the type {getattr(kind, '__name__', kind)}")


def _is_array(kind: Any) -> bool:
    """Return whether a type is an array; newer versions of NumPy have an alias for it that is a type of its own."""
    origin: Any = get_origin(kind)
    return np.ndarray in (origin, get_origin(getattr(origin, "__value__", None)))
