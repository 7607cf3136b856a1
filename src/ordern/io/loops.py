"""Loops that a robot's own format cannot express, from a JSON file beside it or from dictionaries.

    {"loops": [{"name": "rod", "type": "spherical", "parent": "arm", "child": "rod",
                "at": [0, 0, 0.3], "child_at": {"xyz": [0, 0, 1], "rpy": [0, 0, 0]}, "damping": 0.1}],
     "couplings": [{"name": "gear", "joint": "wheel2", "other": "wheel1", "coefficients": [0, -2]}]}

A list has the loops alone. Described in docs/formats/loops.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from .. import joints
from ..errors import ModelError, unknown_name
from ..joints import Closure, Composite, Driven, Joint, Placement, RollingDisc, placement
from ..model import ModelBuilder
from .source import open_source

__all__ = ["add_loops", "closure_of"]

Loops = str | os.PathLike[str] | Sequence[Mapping[str, Any]] | Mapping[str, Any]

_TYPES: dict[str, type[Closure]] = {
    cls.__name__.lower(): cls
    for cls in (getattr(joints, name) for name in joints.__all__)
    if isinstance(cls, type) and issubclass(cls, Closure) and cls not in (Closure, Joint)
}
_ENDS = ("parent", "child")
_PLACES = ("at", "child_at")
_LIMITS = ("lower", "upper", "velocity_limit", "effort_limit")
_TERMS = (*_LIMITS, "damping", "friction", "stiffness", "rest", "active")
_LARGEST = 10_000_000
"""The largest file of loops, in bytes."""


def add_loops(builder: ModelBuilder, loops: Loops) -> None:
    """Add loops and couplings to a robot that is being built; raise if one is wrong."""
    where = ""
    if isinstance(loops, (str, os.PathLike)):
        where = os.fspath(loops)
        loops = _read(where)
    if isinstance(loops, Mapping):
        _only(loops, ("loops", "couplings"), "a file of loops", where)
        found, coupled = loops.get("loops", ()), loops.get("couplings", ())
    else:
        found, coupled = loops, ()
    for number, given in enumerate(_listed(found, "loops", where), 1):
        _loop(builder, given, _called("loop", given, number), where)
    for number, given in enumerate(_listed(coupled, "couplings", where), 1):
        _couple(builder, given, _called("coupling", given, number), where)


def _read(path: str) -> Any:
    data = open_source(Path(path), (".json",)).data
    if len(data) > _LARGEST:
        raise ModelError(f"it is longer than {_LARGEST} bytes, which no file of loops is", path)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as e:
        raise ModelError(f"it is not JSON: {e}", path) from None


def _listed(x: Any, what: str, where: str) -> list[Mapping[str, Any]]:
    if isinstance(x, (str, Mapping)) or not isinstance(x, Sequence) or not all(isinstance(y, Mapping) for y in x):
        raise ModelError(f"{what} must be a list with a dictionary for each, not {x!r:.60}", where)
    return list(x)


def _called(kind: str, given: Mapping[str, Any], number: int) -> str:
    """Return how errors refer to a loop or a coupling: by its name, or by its place in the list."""
    return f"{kind} {given['name']!r}" if "name" in given else f"{kind} number {number}"


def _loop(builder: ModelBuilder, given: Mapping[str, Any], what: str, where: str) -> None:
    _needs(given, ("name", "type"), what, where)
    kind = given["type"]
    own = () if isinstance(kind, Closure) else tuple(f.name for f in _fields(_class(kind, what, where)))
    _only(given, ("name", "type", *_ENDS, *_PLACES, *_TERMS, *own), what, where)
    _needs(given, _ENDS, what, where)
    with _located(what, where):
        if not isinstance(kind, Closure):
            kind = closure_of({key: given[key] for key in ("type", *own) if key in given}, what)
        parent, child = (_body(builder, given[end], what) for end in _ENDS)
        at, child_at = (_place(given.get(key, (0.0, 0.0, 0.0)), what) for key in _PLACES)
        terms: dict[str, Any] = {key: given[key] for key in _TERMS if key in given}
        builder.loop(given["name"], kind, parent, child, at=at, child_at=child_at, where=where, **terms)


def _couple(builder: ModelBuilder, given: Mapping[str, Any], what: str, where: str) -> None:
    _only(given, ("name", "joint", "other", "coefficients", "active"), what, where)
    _needs(given, ("name", "joint", "coefficients"), what, where)
    with _located(what, where):
        terms = given["name"], given["joint"], given.get("other"), given["coefficients"]
        builder.couple(*terms, where, given.get("active", True))


def _fields(cls: type[Closure]) -> tuple[Field[Any], ...]:
    """Return the fields of a type of loop, besides those that all types have."""
    return fields(cls)  # type: ignore[arg-type]


def _spelled(cls: type[Closure]) -> str:
    """Return the name of a type as files write it: point_on_line."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def _class(kind: Any, what: str, where: str = "") -> type[Closure]:
    key = _key(kind)
    if key not in _TYPES:
        known = unknown_name("type", kind, sorted(map(_spelled, _TYPES.values())), what)
        raise ModelError(str(known), where)
    return _TYPES[key]


def _key(kind: Any) -> str:
    return kind.lower().replace("-", "").replace("_", "").replace(" ", "") if isinstance(kind, str) else ""


def _joint_class(kind: Any, what: str, role: str, refused: Sequence[type[Closure]] = ()) -> type[Closure]:
    """Return the type of a joint that is part of something; errors list joints only."""
    possible = {key: cls for key, cls in _TYPES.items() if issubclass(cls, Joint) and cls not in refused}
    if _key(kind) in possible:
        return possible[_key(kind)]
    names = sorted(map(_spelled, possible.values()))
    if _key(kind) in _TYPES:
        raise ModelError(f"{what}: {_spelled(_TYPES[_key(kind)])!r} cannot be {role}; a joint can: {', '.join(names)}")
    raise ModelError(str(unknown_name("type", kind, names, what)))


def closure_of(given: Mapping[str, Any], what: str = "a loop") -> Closure:
    """Return a closure from its description: {"type": "revolute", "axis": [0, 1, 0]}."""
    cls: Any = _class(given.get("type"), what)
    own = _fields(cls)
    _only(given, ("type", *(f.name for f in own)), f"{what}: {_spelled(cls)}", "")
    for f in own:
        if f.name not in given and f.default is MISSING and f.default_factory is MISSING:
            raise ModelError(f"{what} needs {f.name!r}, as its type is {_spelled(cls)}")
    words: dict[str, Any] = {key: tuple(x) if isinstance(x, list) else x for key, x in given.items() if key != "type"}
    if cls is Driven and isinstance(words.get("joint"), Mapping):
        _joint_class(words["joint"].get("type"), what, "driven")
        words["joint"] = closure_of(words["joint"], what)
    if cls is Composite:
        listed = _listed(words["parts"], f"{what}: parts", "")
        refused = (RollingDisc,) if len(listed) > 1 else ()  # its motions change with its position
        words["parts"] = tuple(_part(x, f"{what}, part {number}", refused) for number, x in enumerate(listed, 1))
    try:
        made: Closure = cls(**words)
    except TypeError as e:
        raise ModelError(f"{what}: {_spelled(cls)}: {e}") from None
    return made


def _part(given: Mapping[str, Any], what: str, refused: Sequence[type[Closure]]) -> tuple[Closure, Placement]:
    """Return a part of a composite joint, and its placement in the child's frame at the neutral position."""
    cls = _joint_class(given.get("type"), what, "a part of a composite joint", refused)
    _only(given, ("type", *(f.name for f in _fields(cls)), "at"), f"{what}: {_spelled(cls)}", "")
    joint = closure_of({key: x for key, x in given.items() if key != "at"}, what)
    return joint, _place(given.get("at", (0.0, 0.0, 0.0)), what)


def _body(builder: ModelBuilder, name: Any, what: str) -> str:
    if not isinstance(name, str):
        raise ModelError(f"{what}: parent and child must be names of bodies, not {name!r:.60}")
    if name not in builder.bodies:
        raise ModelError(str(unknown_name("body", name, builder.bodies, what)))
    return name


def _place(at: Any, what: str) -> Placement:
    """Return a placement from a position, a 4x4 matrix, or a dictionary with xyz and rpy."""
    if isinstance(at, Mapping):
        _only(at, ("xyz", "rpy"), f"{what}: a placement", "")
        return placement((tuple(at.get("xyz", (0.0, 0.0, 0.0))), tuple(at.get("rpy", (0.0, 0.0, 0.0)))), what)
    return placement(at, what)


def _only(given: Mapping[str, Any], known: Sequence[str], what: str, where: str) -> None:
    for key in given:
        if key not in known:
            raise ModelError(str(unknown_name("word", key, known, what)), where)


def _needs(given: Mapping[str, Any], words: Sequence[str], what: str, where: str) -> None:
    for word in words:
        if word not in given:
            raise ModelError(f"{what} needs {word!r}", where)


@contextmanager
def _located(what: str, where: str) -> Iterator[None]:
    """Make errors name the loop or coupling, and the file."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as e:
        message = str(e).removeprefix(f"{where}: ") if where else str(e)
        raise ModelError(message if what in message else f"{what}: {message}", where) from None
