"""Derivatives of functions that keep loops closed, of robots with sets of parameters: set after set."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..model import core_shape
from ..model.parameter_fields import FIELDS
from .derivative_arguments import CLOSED, CORES, named_arguments
from .kernels import Array
from .sets import by_sets

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["DerivativesOfSets"]

_MORE, _WEIGHTS = "tangent of ", "weights"
"""Names of arrays besides the arguments."""


class DerivativesOfSets:
    """The derivatives of a robot with sets of parameters."""

    def __init__(self, robot: Robot, question: str, arguments: Any, of_one: Callable[[Robot, Any], Any]) -> None:
        """`of_one` returns the derivatives of one robot, for its arguments by name."""
        self.robot, self.question, self._of_one = robot, question, of_one
        self.given = named_arguments(question, "arguments", arguments, CLOSED[question])
        if "external" in self.given:
            self.given["external"] = robot._forces(self.given["external"])

    def _asked(
        self, more: Mapping[str, Any], function: Callable[[Any, dict[str, Any]], Sequence[Array]]
    ) -> list[Array]:
        """Return arrays that a function of the derivatives of one robot, and of further arrays, returns."""

        def of(one: Robot, arrays: dict[str, Any]) -> Sequence[Array]:
            mine = {x: arrays.pop(x) for x in self.given}
            return function(self._of_one(one, mine), arrays)

        fields = {f"{_MORE}{x}": len(core_shape(self.robot, x)) for x in FIELDS}
        cores = dict(CORES) | fields | {f"{_MORE}{x}": n for x, n in CORES.items()} | {_WEIGHTS: self._rank}
        return by_sets(self.robot, {**self.given, **more}, cores, of)

    @property
    def _rank(self) -> int:
        return 2 if self.question in ("joint_wrenches", "constraint_forces", "link_accelerations") else 1

    def jvp(self, tangents: Any) -> Array:
        """Return the rate of the answer while the arguments vary along tangents."""
        inputs = (*CLOSED[self.question], *FIELDS) if isinstance(tangents, Mapping) else CLOSED[self.question]
        named = named_arguments(self.question, "tangents", tangents, inputs)
        more = {f"{_MORE}{x}": y for x, y in named.items()}
        (found,) = self._asked(more, lambda d, arrays: [d.jvp({x.removeprefix(_MORE): y for x, y in arrays.items()})])
        return found

    def vjp(self, cotangent: Any, wrt: str | Sequence[str] | None) -> Any:
        """Return the gradients of the sum of cotangent times answer by arguments, a named tuple."""
        names: list[str] = []

        def of(d: Any, arrays: dict[str, Any]) -> Sequence[Array]:
            found = d.vjp(arrays[_WEIGHTS], wrt)
            names[:] = found._fields
            return list(found)

        arrays = self._asked({_WEIGHTS: cotangent}, of)
        return namedtuple("Gradient", names)(*arrays)

    def matrices(self, wrt: str | Sequence[str] | None) -> Any:
        """Return the derivatives by arguments, a named tuple of arrays: the answer's shape, then the argument's."""
        names: list[str] = []

        def of(d: Any, arrays: dict[str, Any]) -> Sequence[Array]:
            found = d.matrices(wrt)
            names[:] = found._fields
            return list(found)

        arrays = self._asked({}, of)
        return namedtuple("Derivative", names)(*arrays)
