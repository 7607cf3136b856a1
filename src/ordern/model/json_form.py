"""A model as plain data - dictionaries, lists, texts and numbers - and back, to the last bit.

This is how a robot travels inside other files. Reading executes nothing: joint types are taken from the library's own
by their names, every part is checked on the way, and indices must be those of parts that exist. A joint type that is
not the library's own cannot be written: its formulas are somebody's code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from .. import joints
from ..errors import ModelError
from ..joints import Closure, Composite, Driven, Joint, Placement
from .actuators import Actuator
from .checks import require_one_set
from .contact_terms import ContactPair, ContactRules, ContactTerms
from .contacts import Contacts, Ground, ModelContact, Solid
from .fluid import Drag, EllipsoidDrag
from .model import Model
from .parts import BASE, SHAPES, Body, Coupling, Frame, Link, Loop, Mimic, ModelJoint, Note, Shape
from .positions import NamedPosition

__all__ = ["foreign_joints", "from_plain", "to_plain"]

M = TypeVar("M", bound=Model)
Read = Callable[[Any], Any]

_CLOSURES: dict[str, type[Closure]] = {
    cls.__name__: cls
    for cls in (getattr(joints, name) for name in joints.__all__)
    if isinstance(cls, type) and issubclass(cls, Closure) and cls not in (Closure, Joint)
}
_JOINTS = {name: cls for name, cls in _CLOSURES.items() if issubclass(cls, Joint)}
_AXES = ("axis", "axis2")
_INPUTS = "variation"
"""The field that says which numbers are inputs of compiled functions; as data, all are numbers of the robot."""
_DEEPEST = 20
"""The deepest nesting of composites that is read."""


def foreign_joints(model: Model) -> list[str]:
    """Return the names of the joints whose types are not the library's own."""
    parts: list[ModelJoint | Loop] = [*model.joints, *model.loops]
    return [c.name for c in parts if not _own(c.type)]


def _own(joint: Closure) -> bool:
    if _CLOSURES.get(type(joint).__name__) is not type(joint):
        return False
    if isinstance(joint, Driven):
        return _own(joint.joint)
    return not isinstance(joint, Composite) or all(_own(part) for part, _ in joint.parts)


def to_plain(model: Model) -> dict[str, Any]:
    """Return all of a model as data for JSON."""
    foreign = foreign_joints(model)
    if foreign:
        raise ModelError(
            f"{model.name!r} cannot be written as data: the types of its joints {', '.join(foreign[:5])}"
            f"{' ...' if foreign[5:] else ''} are not the library's own",
            model.source,
        )
    require_one_set(model, "a robot as data")
    return {f.name: _written(getattr(model, f.name)) for f in fields(Model) if f.name != _INPUTS}


def _written(x: Any) -> Any:
    if isinstance(x, float):
        return x if math.isfinite(x) else str(x)
    if x is None or isinstance(x, (str, int)):
        return x
    if isinstance(x, (tuple, list)):
        return [_written(y) for y in x]
    given = {f.name: getattr(x, f.name) for f in fields(x)}
    named = {"joint" if isinstance(x, Joint) else "closure": type(x).__name__} if isinstance(x, Closure) else {}
    return named | {name: _written(y) for name, y in given.items() if not _usual(x, name, y)}


def _usual(x: Any, name: str, value: Any) -> bool:
    """Return True if a field has its default value, and may be left out."""
    default = next(f.default for f in fields(x) if f.name == name)
    return default is not MISSING and type(value) is type(default) and repr(value) == repr(default)


def from_plain(data: Any, cls: type[M], where: str = "") -> M:
    """Return the model that `to_plain` wrote; raise ModelError if the data is not a model."""
    try:
        model = cls(**_fields(data, _readers(Model), Model))
        _check(model)
    except ModelError as e:
        raise ModelError(f"the file does not contain a valid robot: {e}", where) from None
    except RecursionError:
        raise ModelError("the file does not contain a valid robot: it is nested too deeply", where) from None
    return model


def _fields(data: Any, read: Mapping[str, Read], cls: type) -> dict[str, Any]:
    """Return the fields of one part, each read in its way."""
    if not isinstance(data, dict):
        raise ModelError(f"a {cls.__name__} is a dictionary, not {_shown(data)}")
    unknown = set(data) - set(read)
    if unknown:
        raise ModelError(f"a {cls.__name__} has no {sorted(map(str, unknown))[0]!r}")
    missing = [f.name for f in fields(cls) if f.default is MISSING and f.name not in data and f.name in read]
    if missing:
        raise ModelError(f"a {cls.__name__} needs {missing[0]!r}")
    found = {}
    for name, value in data.items():
        try:
            found[name] = read[name](value)
        except ModelError as e:
            raise ModelError(f"{name} of a {cls.__name__}: {e}") from None
    return found


def _shown(data: Any) -> str:
    text = repr(data) if isinstance(data, (str, int, float, bool, type(None))) else f"a {type(data).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _one(accepts: Callable[[Any], bool], words: str) -> Read:
    """Return the reader of a value that passes a test."""

    def read(x: Any) -> Any:
        if not accepts(x):
            raise ModelError(f"expected {words}, not {_shown(x)}")
        return x

    return read


_text = _one(lambda x: isinstance(x, str), "a text")
_whole = _one(lambda x: type(x) is int and abs(x) <= 2**31, "a whole number")
_truth = _one(lambda x: isinstance(x, bool), "true or false")


def _number(x: Any) -> float:
    if type(x) is float or (type(x) is int and abs(x) < 2**53) or x in ("inf", "-inf", "nan"):
        return float(x)
    raise ModelError(f"expected a number, not {_shown(x)}")


def _finite(x: Any) -> float:
    number = _number(x)
    if not math.isfinite(number):
        raise ModelError(f"expected a finite number, not {_shown(x)}")
    return number


def _list(one: Read, count: int | None = None) -> Read:
    def read(x: Any) -> tuple[Any, ...]:
        if not isinstance(x, list) or (count is not None and len(x) != count):
            raise ModelError(f"expected a list{f' of {count}' if count is not None else ''}, not {_shown(x)}")
        return tuple(map(one, x))

    return read


def _maybe(one: Read) -> Read:
    return lambda x: None if x is None else one(x)


def _part(cls: Any, **read: Read) -> Read:
    return lambda x: cls(**_fields(x, read, cls))


def _closure(x: Any) -> Any:
    """Read a closure: a joint, or another class."""
    if isinstance(x, dict) and x.get("closure") in _CLOSURES:
        return _constraint(x, "closure", 0)
    return _joint(x)


def _joint(x: Any, depth: int = 0) -> Any:
    if not isinstance(x, dict) or x.get("joint") not in _JOINTS or depth > _DEEPEST:
        raise ModelError(f"expected one of the joints {', '.join(_JOINTS)}, not {_shown(x)}")
    return _constraint(x, "joint", depth)


def _constraint(x: dict[str, Any], word: str, depth: int) -> Any:
    """Read a joint or another closure, whose class is named by a word."""
    cls: Any = _CLOSURES[x[word]]
    known: dict[str, Read] = {
        "joint": _joint,
        "coefficients": _list(_finite),
        "parts": _list(lambda part: _pair(part, depth + 1)),
        **dict.fromkeys(_AXES, _list(_finite, 3)),
    }
    given = {name: value for name, value in x.items() if name != word}
    given = _fields(given, {f.name: known.get(f.name, _finite) for f in fields(cls)}, cls)
    made = cls(**given)
    for axis in _AXES:
        # normalising a unit vector again may change its last bit
        if axis in given and math.dist(getattr(made, axis), given[axis]) < 1e-12:
            object.__setattr__(made, axis, given[axis])
    return made


def _pair(x: Any, depth: int) -> tuple[Joint, Placement]:
    if not isinstance(x, list) or len(x) != 2:
        raise ModelError(f"expected a joint and its placement, not {_shown(x)}")
    return _joint(x[0], depth), _READERS["Placement"](x[1])


_READERS: dict[str, Read] = {
    **{"str": _text, "int": _whole, "float": _finite, "bool": _truth, "Joint": _joint, "Closure": _closure},
    "float | None": _maybe(_finite),
    "tuple[float, ...]": _list(_number),
    "tuple[float, float, float]": _list(_finite, 3),
    "tuple[float, float, float, float] | None": _maybe(_list(_number, 4)),
    "tuple[float, float]": _list(_number, 2),
    "tuple[tuple[float, ...], ...]": _list(_list(_finite)),
    "tuple[int, ...]": _list(_whole),
    "tuple[str, ...]": _list(_text),
    "tuple[tuple[str, ...], ...]": _list(_list(_text, 2)),
    "tuple[str, ...] | None": _maybe(_list(_text)),
}
"""The reader of each type of field, by its annotation."""
_SPECIAL: dict[tuple[type, str], Read] = {
    (Placement, "rotation"): _list(_finite, 9),
    (Placement, "position"): _list(_finite, 3),
    (Body, "inertia"): _list(_finite, 6),
    (Coupling, "coefficients"): _list(_finite),
    **{(Ground, key): _list(_list(_finite)) for key in ("steps", "heights")},
    **{(ContactPair, end): _list(_text, 2) for end in ("first", "second")},
    **{(ContactTerms, key): _list(_finite) for key in ("solref", "solimp")},
}
"""Readers of fields that are stricter than their types."""


def _readers(cls: Any) -> dict[str, Read]:
    """Return the reader of each field of a class."""
    own = (f for f in fields(cls) if f.name != _INPUTS)
    return {f.name: _SPECIAL.get((cls, f.name)) or _READERS[str(f.type)] for f in own}


_READERS["Placement"] = _part(Placement, **_readers(Placement))
_READERS["Drag"], _READERS["EllipsoidDrag"] = (_part(cls, **_readers(cls)) for cls in (Drag, EllipsoidDrag))


def _drag(x: Any) -> Any:
    return _READERS["EllipsoidDrag" if isinstance(x, dict) and "semi_axes" in x else "Drag"](x)


_READERS["tuple[Drag | EllipsoidDrag, ...]"] = _list(_drag)
_PARTS = (Body, Link, Mimic, ModelJoint, Frame, Loop, Coupling, Shape, Note, Actuator, NamedPosition)
for _cls in (ContactTerms, ContactPair, ContactRules, *_PARTS, Ground, Solid, ModelContact, Contacts):
    _READERS[_cls.__name__] = _part(_cls, **_readers(_cls))
    _READERS[f"{_cls.__name__} | None"] = _maybe(_READERS[_cls.__name__])
    _READERS[f"tuple[{_cls.__name__}, ...]"] = _list(_READERS[_cls.__name__])


def _check(model: Model) -> None:
    """Raise unless every index belongs to a part: compiled code reads memory at these indices."""
    n = len(model.bodies)
    for c in model.joints:
        if c.mimic is None:
            continue
        if not 0 <= c.mimic.joint < n:
            raise ModelError(f"joint {c.name!r} follows the joint {c.mimic.joint}, of {n}")
        other = model.joints[c.mimic.joint]
        if other.mimic or (c.q_start, c.v_start) != (other.q_start, other.v_start) or c.type.nq != other.type.nq:
            raise ModelError(f"joint {c.name!r} cannot follow {other.name!r}")
        if (c.type.nq, c.type.nv) != (1, 1):
            raise ModelError(f"joint {c.name!r} cannot follow another: it has {c.type.nv} freedoms")
    indices = [(f"loop {x.name!r}", k) for x in model.loops for k in (x.parent, x.child)]
    indices += [(f"coupling {x.name!r}", k) for x in model.couplings for k in (x.joint, x.other)]
    indices += [(f"shape {x.name!r}", x.body) for x in model.shapes]
    contacts = model.contacts or Contacts(None, ())
    solids = [(c.name, s) for c in contacts.pairs for s in (c.first, c.second) if s is not None]
    indices += [(f"contact {name!r}", s.body) for name, s in solids]
    indices += [("a stop", k) for k in contacts.limited]
    for what, k in indices:
        if not BASE <= k < n:
            raise ModelError(f"{what} is of body or joint {k}, of {n}")
    for x in model.shapes:
        if len(x.size) != SHAPES.get(x.kind, -1):
            raise ModelError(f"a shape of the kind {x.kind!r} has {len(x.size)} sizes")
    for name, solid in solids:
        if not solid.fits:
            raise ModelError(f"contact {name!r} has a solid of the kind {solid.kind!r} with {len(solid.size)} sizes")
    if lacking := contacts.lacking:
        raise ModelError(f"contact {lacking!r} is of solids that meet at several points, and not all of them follow it")
    for k in contacts.limited:
        if k == BASE or (model.joints[k].type.nq, model.joints[k].type.nv) != (1, 1):
            raise ModelError(f"a stop is of joint {k}, which has not one coordinate")
    if contacts.ground is None and any(c.second is None for c in contacts.pairs):
        raise ModelError("a contact is with the ground, but there is none")
