"""Dataclasses whose methods are made at their first use.

The standard decorator writes and compiles the source of half a dozen methods for every class. With 150 classes, that is
about a tenth of the time to import the library, load a robot and call a compiled function. This decorator declares the
same fields, makes `__init__` for the first instance, and shares the other methods between all classes. For
`dataclasses.fields`, `replace`, `asdict`, pickle, inspect and type checkers, the result is an ordinary dataclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


def _record(
    cls: type[Any] | None = None,
    /,
    *,
    repr: bool = True,
    eq: bool = True,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
) -> Any:
    """Declare a dataclass, as `dataclasses.dataclass` with these options does."""

    def declare(plain: type[Any]) -> type[Any]:
        if not plain.__doc__:  # the standard decorator would write one out, from a signature, which takes long
            plain.__doc__ = f"{plain.__name__}({', '.join(vars(plain).get('__annotations__', ()))})"
        with _as_if_open(plain):
            declared = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
        _complete(declared, repr, eq, frozen, slots)
        return declared

    return declare if cls is None else declare(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _record


@contextmanager
def _as_if_open(cls: type[Any]) -> Iterator[None]:
    """Let the standard decorator derive a class, which is frozen only later, from frozen ones."""
    bases = [vars(base).get("__dataclass_params__") for base in cls.__mro__[1:]]
    frozen = [params for params in bases if params is not None and params.frozen]
    for params in frozen:
        params.frozen = False
    try:
        yield
    finally:
        for params in frozen:
            params.frozen = True


def _complete(cls: Any, repr: bool, eq: bool, frozen: bool, slots: bool) -> None:
    """Add the methods that the standard decorator would have written."""
    given = vars(cls)
    params = cls.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, repr, eq, frozen  # what classes derived from it look at
    methods: dict[str, Any] = {"__init__": _Init(cls, frozen, slots)}
    if repr:
        methods["__repr__"] = _repr
    if eq:
        compared = _values([f.name for f in dataclasses.fields(cls) if f.compare])
        hashed = _values([f.name for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash)])
        methods["__eq__"] = _eq(compared)
        methods["__hash__"] = _hash(hashed) if frozen else None
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _frozen(cls)
    if frozen and slots:
        methods["__getstate__"], methods["__setstate__"] = _getstate, _setstate
    for name, method in methods.items():
        implied = name == "__hash__" and given.get(name) is None and "__eq__" in given  # None, because it has an __eq__
        if name not in given or implied:
            setattr(cls, name, method)


class _Init:
    """A placeholder of `__init__`, which is replaced by the function at the first use."""

    def __init__(self, cls: Any, frozen: bool, slots: bool) -> None:
        self.cls = cls
        self.frozen = frozen
        self.slots = slots

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        made = _init(self.cls, self.frozen, self.slots)
        self.cls.__init__ = made
        return made if instance is None else made.__get__(instance, owner)


def _init(cls: Any, frozen: bool, slots: bool) -> Callable[..., None]:
    """Return the function `__init__` of a class, made from its fields."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    positional, keyword, body = ["self"], list[str](), list[str]()
    for f in dataclasses.fields(cls):
        given = f.name
        if f.default_factory is not dataclasses.MISSING:
            names[f"_make_{f.name}"] = f.default_factory
            fresh = f"_make_{f.name}()"
            given = f"{fresh} if {f.name} is _factory else {f.name}" if f.init else fresh
        elif not f.init:
            if not slots or f.default is dataclasses.MISSING:
                continue  # its default is the class's own attribute, or `__post_init__` sets it
            given = _default(f, names)
        body.append(f"_set(self, {f.name!r}, {given})" if frozen else f"self.{f.name} = {given}")
        if f.init:
            (keyword if f.kw_only else positional).append(_parameter(f, names))
    if hasattr(cls, "__post_init__"):
        given = ", ".join(f"{f.name}={f.name}" for f in dataclasses.fields(cls) if f.init)
        body += ["try:", " self.__post_init__()", "except Exception as _error:"]
        body += [f" _explain(_error, self=self, {given})", " raise"]
        names["_explain"] = lambda error, **arguments: _explain(made, arguments, error)
    parameters = ", ".join([*positional, *(["*", *keyword] if keyword else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {f.name: f.type for f in dataclasses.fields(cls) if f.init} | {"return": None}
    return made


def _explain(made: Callable[..., None], arguments: dict[str, Any], error: Exception) -> None:
    """Raise an error about an argument that is not of its declared type, if there is one."""
    given = {name: x for name, x in arguments.items() if x is not _FACTORY}
    import_module("ordern.declared").explain(made, (), given, error)  # a higher layer


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _parameter(f: dataclasses.Field[Any], names: dict[str, Any]) -> str:
    """Return a field as a parameter of `__init__`; its default goes into the globals of the function."""
    if f.default_factory is not dataclasses.MISSING:
        return f"{f.name}=_factory"
    if f.default is dataclasses.MISSING:
        return f.name
    return f"{f.name}={_default(f, names)}"


def _default(f: dataclasses.Field[Any], names: dict[str, Any]) -> str:
    names[f"_default_{f.name}"] = f.default
    return f"_default_{f.name}"


def _values(names: list[str]) -> Callable[[Any], Any]:
    """Return a function that gets the values of these fields, by which instances are compared."""
    if not names:
        return lambda self: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda self: (get(self),)


def _eq(values: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _frozen(cls: Any) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return `__setattr__` and `__delattr__` that raise for fields."""
    names = frozenset(f.name for f in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
