"""The quantities that vary between members: arrays, distributions and functions, drawn for any range of members."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array, whole_number
from ..errors import ArgumentError
from ..records import dataclass
from .counters import member_seeds, permuted, uniforms
from .designs import DESIGNS, Design, Factor, Saltelli, sobol_points
from .distributions import Distribution, FromSeeds

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["PARAMETERS", "SAMPLINGS", "Quantities", "Quantity", "quantity", "required_members", "variant"]

PARAMETERS = "parameters."
"""The names of parameters begin with this."""
SAMPLINGS = ("random", "latin-hypercube", "sobol", *DESIGNS)


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """One quantity: its name, the shape of one member's value, and how it varies."""

    name: str
    shape: tuple[int, ...]
    given: Any
    """A `Distribution`, or an array with a row for each member, or one value for all."""

    @property
    def is_drawn(self) -> bool:
        """True if it comes from a distribution."""
        return isinstance(self.given, Distribution)

    @property
    def members(self) -> int | None:
        """The number of members that it has a row for; None if it serves any number."""
        return None if self.is_drawn or self.given.ndim <= len(self.shape) else len(self.given)

    @property
    def varies(self) -> bool:
        """True if members may differ in it."""
        return self.is_drawn or self.members is not None


def quantity(name: str, shape: tuple[int, ...], given: Any) -> Quantity:
    """Return a quantity, checked; a function of a seed counts as a distribution."""
    if callable(given) and not isinstance(given, Distribution):
        if getattr(given, "__module__", "") == Distribution.__module__:
            raise ArgumentError(
                f"Ensemble: {name} is a function that makes a distribution: call it, {given.__name__}(...)"
            )
        given = FromSeeds(given, False)
    if isinstance(given, Distribution) and given.of_positions and name != "q":
        raise ArgumentError(
            f"Ensemble: {name} has {given!r}, a distribution of positions: give it as starts={{'q': ...}}"
        )
    if not isinstance(given, Distribution):
        try:
            given = np.asarray(given, float)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"Ensemble: {name} must be an array, a distribution or a function of a seed, not {given!r}"
            ) from None
        if not np.isfinite(given).all():
            where = np.argwhere(~np.isfinite(given))[0].tolist()
            entry = f"{name}{where}" if where else "it"
            raise ArgumentError(f"Ensemble: {name} must be finite, but {entry} is {given[tuple(where)]}")
        if given.ndim == 0 and shape:
            given = np.broadcast_to(given, shape)
        if given.shape[max(0, given.ndim - len(shape)) :] != shape or given.ndim > len(shape) + 1:
            raise ArgumentError(
                f"Ensemble: {name} has shape {given.shape}; give {shape} for all members, or a row for each member, "
                f"{('members', *shape)}".replace("'", "")
            )
    return Quantity(name, shape, given)


class Quantities:
    """All quantities of an ensemble, and the numbers between 0 and 1 from which they are drawn."""

    def __init__(self, robot: Robot, given: Mapping[str, Quantity], members: int, seed: int, sampling: str) -> None:
        self._robot, self._given, self._count, self._seed, self._sampling = robot, dict(given), members, seed, sampling
        self._columns = {
            name: x.given.columns(robot, x.shape) for name, x in given.items() if isinstance(x.given, Distribution)
        }

    def drawn(self, first: int, last: int) -> dict[str, Array]:
        """Return the values of all quantities for some members, with a row for each; constants have one row."""
        if not 0 <= first <= last <= self._count:
            raise ArgumentError(f"members {first} to {last - 1} are not among the {self._count} of the ensemble")
        found: dict[str, Array] = {}
        places = self._places(first, last)
        start = 0
        for name, x in self._given.items():
            if isinstance(x.given, FromSeeds):
                found[name] = x.given.of_seeds(self._seeds(name, first, last), x.shape)
            elif isinstance(x.given, Distribution):
                count = self._columns[name]
                u = self._uniforms(name, first, last, count) if places is None else places[:, start : start + count]
                start += count
                found[name] = np.asarray(x.given.values(u, self._robot, x.shape))
            else:
                found[name] = x.given[first:last] if x.members is not None else x.given[None]
        return found

    def _uniforms(self, name: str, first: int, last: int, count: int) -> Array:
        u = uniforms(self._seed, name, first, last, count)
        if self._sampling == "random" or not count:
            return u
        members: NDArray[np.int64] = np.arange(first, last, dtype=np.int64)
        layer = permuted(self._seed, f"{name} layers", members, self._count, count)
        return (layer + u) / self._count

    @cached_property
    def design(self) -> Design | None:
        """The design of a sensitivity study; None for other samplings."""
        if self._sampling not in DESIGNS:
            return None
        for name, x in self._given.items():
            if x.members is not None:
                raise ArgumentError(
                    f"Ensemble: {name} has a row for each member; with sampling={self._sampling!r}, members are chosen "
                    "by the design: give a distribution"
                )
        factors, start = [], 0
        for name, count in self._columns.items():
            whole = [f"{name}[{k}]" for k in range(count)] if self._given[name].shape else [name] * count
            factors += [Factor(label, (start + k,)) for k, label in enumerate(whole)]
            if isinstance(self._given[name].given, FromSeeds):
                factors.append(Factor(name, ()))
            start += count
        design: Design = DESIGNS[self._sampling](factors, start, self._seed)
        return design

    def _places(self, first: int, last: int) -> Array | None:
        """Return numbers between 0 and 1 for all quantities together, if they are drawn together."""
        if self.design is not None:
            return self.design.of_members(first, last)
        if self._sampling == "sobol":
            return sobol_points(sum(self._columns.values()), self._seed, first, last, "sobol")
        return None

    def _seeds(self, name: str, first: int, last: int) -> NDArray[np.uint64]:
        """Return a seed for each member; in a design, that of a point of its group."""
        if not isinstance(self.design, Saltelli):
            return member_seeds(self._seed, name, first, last)
        size = self.design.size
        group = np.arange(first, last) // size - first // size
        a, b = (
            member_seeds(self._seed, stream, first // size, -(-last // size)) for stream in (name, f"{name} second")
        )
        return np.where(self.design.from_second(name, first, last), b[group], a[group])


def variant(robot: Robot, numbers: Mapping[str, Any]) -> Robot:
    """Return a robot with other parameters, given by names such as "parameters.mass.link7"; others are left out."""
    fields: dict[str, Any] = {}
    for name, x in numbers.items():
        if not name.startswith(PARAMETERS):
            continue
        field, _, of = name.removeprefix(PARAMETERS).partition(".")
        if of:
            fields.setdefault(field, {})[of] = x
        else:
            fields[field] = x
    return robot.vary(**fields) if fields else robot


def required_members(given: Mapping[str, Quantity], members: Any) -> int:
    """Return the number of members: as given, or as arrays have rows; raise if they differ."""
    counts = {name: x.members for name, x in given.items() if x.members is not None}
    if members is not None:
        counts = {"members": whole_number(members, "Ensemble: `members`", 1), **counts}
    if not counts:
        raise ArgumentError("Ensemble: give `members`, or arrays with a row for each member")
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {n}" for name, n in counts.items())
        raise ArgumentError(f"Ensemble: the numbers of members differ ({listed})")
    [(name, count)] = list(counts.items())[:1]
    if not count:
        raise ArgumentError(f"Ensemble: {name} has no rows, so that there are no members")
    return count
