"""Things that an ensemble keeps of each member: arrays with a row for each, by name.

`Ensemble(keep=["final", on.keep.series(every=10), on.keep.value("height", function)])`. Reductions over all members,
which store nothing for each, are in `ordern.ensembles.reductions`, and are reached as `on.keep.moments` and so on.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import AnyArray, whole_number
from ..declared import explained, explained_methods
from ..errors import ArgumentError, unknown_name
from ..records import dataclass
from .members import Members, value_of
from .reductions import Reduction, coverage, histogram, moments, quantiles, worst
from .sensitivity import morris, sobol
from .stopping import precise

__all__ = [
    "Kept",
    "Kind",
    "coverage",
    "crossing",
    "drawn",
    "energy",
    "events",
    "final",
    "forces",
    "histogram",
    "kept",
    "moments",
    "morris",
    "precise",
    "quantiles",
    "series",
    "sobol",
    "value",
    "worst",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """One array of a result: its dimensions after that of the members, and its unit."""

    dims: tuple[str, ...] = ()
    unit: str = ""
    columns: str = ""
    """"q", "v" or "tau" if its last dimension has the units of these, which joints decide."""


_POSITIONS = Kind(("position",), columns="q")
_VELOCITIES = Kind(("velocity",), columns="v")
_FORCES = Kind(("velocity",), columns="tau")


def _over_time(kind: Kind) -> Kind:
    return Kind(("time", *kind.dims), kind.unit, kind.columns)


@explained_methods
class Kept(ABC):
    """Arrays that are kept of each member."""

    name: str
    every: int | None = None
    """The number of steps between stored states that it needs; None if the first and the last state will do."""
    key: Any
    """Everything that its content depends on, for the key of the ensemble."""

    @abstractmethod
    def arrays(self, members: Members) -> dict[str, AnyArray]:
        """Return the arrays of some members, with a row for each."""

    def kind(self, array: str) -> Kind:
        """Return the dimensions and the unit of one of its arrays."""
        return Kind()

    def require(self, events: Sequence[str]) -> None:  # noqa: B027  # most need no event
        """Raise if an event that it needs is not among those that are watched."""

    def __repr__(self) -> str:
        return f"<kept of each member: {self.name}>"


class _Final(Kept):
    name = key = "final"

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        return {"q_final": members.q_final, "v_final": members.v_final}

    def kind(self, array: str) -> Kind:
        return _POSITIONS if array == "q_final" else _VELOCITIES


class _Series(Kept):
    name = "series"

    def __init__(self, every: int) -> None:
        self.every, self.key = every, ("series", every)

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        some = members.every(self.every or 1)
        return {"q": members.q[:, some], "v": members.v[:, some]}

    def kind(self, array: str) -> Kind:
        return _over_time(_POSITIONS if array == "q" else _VELOCITIES)


class _Forces(Kept):
    name = "forces"

    def __init__(self, every: int) -> None:
        self.every, self.key = every, ("forces", every)

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        return {"tau": members.tau[:, members.every(self.every or 1)]}

    def kind(self, array: str) -> Kind:
        return _over_time(_FORCES)


class _Energy(Kept):
    name = key = "energy"

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        return {"energy_start": members.energy_start, "energy_change": members.energy_change}

    def kind(self, array: str) -> Kind:
        return Kind((), "J")


class _Drawn(Kept):
    name = key = "drawn"

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        count = len(members)
        return {f"drawn.{name}": np.broadcast_to(x, (count, *x.shape[1:])) for name, x in members.drawn.items()}

    def kind(self, array: str) -> Kind:
        return {"drawn.q": _POSITIONS, "drawn.v": _VELOCITIES, "drawn.forces": _FORCES}.get(array, Kind())


class _Events(Kept):
    name = key = "events"

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        if members.events is not None and not members.results:
            times = np.where(np.isnan(members.events.time), np.inf, members.events.time).min(axis=1)
            counts = members.events.count.sum(axis=1).astype(float)
            return {"events": counts, "first_event": np.where(np.isinf(times), np.nan, times)}
        found = [() if r is None else r.events for r in members.results]
        first = [e[0].time if e else np.nan for e in found]
        return {"events": np.array([len(e) for e in found], float), "first_event": np.array(first, float)}

    def kind(self, array: str) -> Kind:
        return Kind((), "s" if array == "first_event" else "")


class _Crossing(Kept):
    def __init__(self, event: str, state: bool) -> None:
        self.event, self.state, self.name = event, state, f"{event}_crossing"
        self.key = ("crossing", event, state)

    def require(self, events: Sequence[str]) -> None:
        if self.event not in events:
            raise unknown_name("event", self.event, events, "the `events` of the ensemble")

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        assert members.events is not None
        one = members.events[self.event]
        found = {f"{self.event}_time": one.time, f"{self.event}_count": one.count.astype(float)}
        return found | ({f"{self.event}_q": one.q, f"{self.event}_v": one.v} if self.state else {})

    def kind(self, array: str) -> Kind:
        kinds = {"time": Kind((), "s"), "q": _POSITIONS, "v": _VELOCITIES}
        return kinds.get(array.removeprefix(f"{self.event}_"), Kind())


class _Value(Kept):
    def __init__(self, name: str, of: Any, unit: str, every: int | None) -> None:
        self.name, self.of, self.unit, self.every = name, of, unit, every
        self.key = ("value", name, of, every)

    def arrays(self, members: Members) -> dict[str, AnyArray]:
        return {self.name: value_of(members, self.of, f"value {self.name!r}")}

    def kind(self, array: str) -> Kind:
        return Kind((), self.unit)


@explained
def final() -> Kept:
    """Keep the last state of each member: `q_final` (nq,) and `v_final` (nv,)."""
    return _Final()


@explained
def series(every: Any = 1) -> Kept:
    """Keep the states of each member after every so many steps: `q` (times, nq) and `v` (times, nv)."""
    return _Series(whole_number(every, "series: `every`", 1))


@explained
def forces(every: Any = 1) -> Kept:
    """Keep the joint forces of each member, `tau` (times, nv): those that act from every so many steps on.

    These are the given forces and those of the controller. The last row repeats the forces that acted last. `every` is
    that of `series`.
    """
    return _Forces(whole_number(every, "forces: `every`", 1))


@explained
def energy() -> Kept:
    """Keep the energy of the first state of each member, and its change to the last one, in joules."""
    return _Energy()


@explained
def drawn() -> Kept:
    """Keep what was drawn for each member: starts, forces and parameters that vary."""
    return _Drawn()


@explained
def value(name: Any, of: Callable[[Members], ArrayLike] | str, unit: str = "", every: int | None = None) -> Kept:
    """Keep a value of each member: a function of `Members` that returns an array with a row for each of them.

    `every` is the number of steps between the states that the function needs; without it, it sees the first and the
    last one. The `unit` is stored with the values.
    """
    if not isinstance(name, str) or not name.replace("_", "a").isalnum():
        raise ArgumentError(f"value: the name must consist of letters, digits and _, not {name!r}")
    if not callable(of) and not isinstance(of, str):
        raise ArgumentError(f"value {name!r}: give a function of members, or the name of a quantity, not {of!r}")
    return _Value(name, of, unit, None if every is None else whole_number(every, f"value {name!r}: `every`", 1))


@explained
def events() -> Kept:
    """Keep the number of events of each member, `events`, and the time of the first, `first_event`; NaN without any."""
    return _Events()


@explained
def crossing(event: Any, *, state: bool = True) -> Kept:
    """Keep when each member first crosses an event of this name, how often it does, and the state at the first time.

    For "flip" these are `flip_time` (NaN for members without it), `flip_count`, `flip_q` and `flip_v`; without `state`
    the first two. `flip_time` and `flip_count` are also names of quantities for reductions, such as
    `quantiles("flip_time")`, which need nothing to be kept. The event is one of `events` of the ensemble.
    """
    if not isinstance(event, str) or not event.replace("_", "a").isalnum():
        raise ArgumentError(
            f"crossing: give the name of an event that consists of letters, digits and _, not {event!r}; "
            "on.Event(function, name='flip') has a name"
        )
    return _Crossing(event, bool(state))


_NAMED: dict[str, Callable[[], Kept]] = {
    **{"final": final, "series": series, "forces": forces, "energy": energy, "drawn": drawn, "events": events}
}


@explained
def kept(given: Any) -> tuple[tuple[Kept, ...], tuple[Reduction, ...]]:
    """Return what is kept of each member, and the reductions, from names and objects; raise if there is neither."""
    parts: Sequence[Any] = given if isinstance(given, (list, tuple)) else (given,)
    if isinstance(given, Mapping):
        parts = [_renamed(x, name) for name, x in given.items()]
    each: list[Kept] = []
    over: list[Reduction] = []
    for x in parts:
        if isinstance(x, str):
            if x not in _NAMED:
                raise unknown_name("thing to keep", x, _NAMED, "Ensemble")
            each.append(_NAMED[x]())
        elif isinstance(x, Kept):
            each.append(x)
        elif isinstance(x, Reduction):
            over.append(x)
        else:
            raise ArgumentError(f"Ensemble: `keep` takes names and things of `ordern.keep`, not {x!r}")
    if not each and not over:
        raise ArgumentError("Ensemble: `keep` is empty, so that nothing would be left of the runs")
    names = [x.name for x in each] + [x.name for x in over]
    if "" in names:
        raise ArgumentError(
            "Ensemble: a reduction in `keep` has no name, since its function has none: give it one, as in "
            "keep={'speed': on.keep.moments(function)}, or with name='speed'"
        )
    twice = next((x for x in names if names.count(x) > 1), None)
    if twice is not None:
        raise ArgumentError(f"Ensemble: `keep` has {twice!r} twice; give each a name of its own")
    spacing = {x.name: x.every for x in each if isinstance(x, (_Series, _Forces))}
    if len(set(spacing.values())) > 1:
        listed = " and ".join(f"{name} every {n} steps" for name, n in spacing.items())
        raise ArgumentError(f"Ensemble: `keep` has {listed}; series share their times: give one `every`")
    return tuple(each), tuple(over)


def _renamed(x: Any, name: Any) -> Any:
    """Return a thing to keep under a name: of a reduction or a value the given one, of others their own."""
    if not isinstance(name, str) or not name.replace("_", "a").isalnum():
        raise ArgumentError(f"Ensemble: the names in `keep` consist of letters, digits and _, not {name!r}")
    if callable(x) and not isinstance(x, (Kept, Reduction)):
        return value(name, x)
    if not isinstance(x, (Reduction, _Value)):
        raise ArgumentError(
            f"Ensemble: keep={{{name!r}: ...}} names reductions, values and functions of members; {x!r} has names of "
            "its own: give a list"
        )
    made = copy.copy(x)
    made.name, made.key = name, (*x.key, name)
    return made
