"""Sparse polynomials of symbols, sines and cosines, in which sin^2 is 1 - cos^2: one form for equal expressions.

A monomial is an integer with eight bits for the power of each generator, so that the product of two monomials is their
sum. Coefficients are floats.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from ..graph import Node, live
from ..records import dataclass

__all__ = ["Generator", "Polynomial", "Ring", "TooLongError"]

Polynomial = dict[int, float]
"""The coefficient of each monomial."""

_BITS = 8
_NOISE = 1e-15
"""A sum of two coefficients that is smaller than this, relative to them, is a cancellation."""
_MOST = 1_000_000
"""Products of terms in all, after which an expression is too long to be multiplied out: about a second."""


class TooLongError(Exception):
    """An expression that takes too long to be multiplied out."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A generator: a symbol ("leaf"), the sine or cosine of something, or another function ("other")."""

    kind: str
    data: Any
    """The name of a leaf; or the operation and its operands, as polynomials."""


class Ring:
    """Polynomials of generators, which are added as they are met."""

    def __init__(self) -> None:
        self.generators: list[Generator] = []
        self._known: dict[Hashable, int] = {}
        self._sines: dict[int, int] = {}  # the shift of a sine, and that of its cosine
        self._squares = 0  # the bits that are set if a sine is squared
        self._work = 0

    def powers(self, monomial: int) -> Iterator[tuple[int, int]]:
        """Visit the generators of a monomial, with their powers."""
        k = 0
        while monomial:
            if power := monomial & 255:
                yield k, power
            monomial >>= _BITS
            k += 1

    def monomial(self, k: int, power: int = 1) -> int:
        """Return the power of a generator."""
        return power << _BITS * k

    def _generator(self, kind: str, data: Any, key: Hashable) -> int:
        if (kind, key) not in self._known:
            self._known[kind, key] = len(self.generators)
            self.generators.append(Generator(kind, data))
        return self._known[kind, key]

    def add(self, a: Polynomial, b: Polynomial, sign: float = 1.0) -> Polynomial:
        """Return a + b, or a - b."""
        found = dict(a)
        for m, y in b.items():
            x = found.get(m, 0.0)
            total = x + sign * y
            if abs(total) > _NOISE * (abs(x) + abs(y)):
                found[m] = total
            else:
                found.pop(m, None)
        return found

    def multiply(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return a product."""
        self._work += len(a) * len(b)
        if self._work > _MOST:
            raise TooLongError
        squares, plain, others = self._squares, dict[int, float](), dict[int, float]()
        for m, x in a.items():
            for n, y in b.items():
                into = others if (m + n) & squares else plain
                into[m + n] = into.get(m + n, 0.0) + x * y
        for m, x in others.items():
            for n, y in self._reduced(m, x):
                plain[n] = plain.get(n, 0.0) + y
        return {m: x for m, x in plain.items() if x != 0.0}

    def _reduced(self, m: int, x: float) -> Iterator[tuple[int, float]]:
        """Visit the terms of a monomial whose sines are at most squared."""
        for sine, cosine in self._sines.items():
            if m >> sine & 2:
                rest = m - (2 << sine)
                yield from self._reduced(rest, x)
                yield from self._reduced(rest + (2 << cosine), -x)
                return
        yield m, x

    def evaluated(self, roots: list[Node]) -> dict[int, Polynomial]:
        """Return the polynomial of each node that the roots need."""
        values: dict[int, Polynomial] = {}
        for node in live(roots):
            values[node.index] = self._value(node, [values[a.index] for a in node.args])
        return values

    def _value(self, node: Node, operands: list[Polynomial]) -> Polynomial:
        rows: dict[str, Callable[..., Polynomial]] = {
            "add": self.add,
            "sub": lambda a, b: self.add(a, b, -1.0),
            "mul": self.multiply,
            "neg": lambda a: {m: -x for m, x in a.items()},
            "div": lambda a, b: self.multiply(a, self._other("inverse", [b])),
            "sin": lambda a: self._turned("sin", a),
            "cos": lambda a: self._turned("cos", a),
        }
        if node.op == "leaf":
            return {self.monomial(self._generator("leaf", node.data, node.data)): 1.0}
        if node.op == "constant":
            return {0: node.data} if node.data else {}
        return rows[node.op](*operands) if node.op in rows else self._other(node.op, operands)

    def _other(self, op: str, operands: list[Polynomial]) -> Polynomial:
        """Return a function that is no polynomial, as a generator."""
        if op == "inverse" and operands[0].keys() == {0}:
            return {0: 1.0 / operands[0][0]}
        key = (op, tuple(tuple(sorted(x.items())) for x in operands))
        return {self.monomial(self._generator("other", (op, operands), key)): 1.0}

    def _turned(self, op: str, angle: Polynomial) -> Polynomial:
        """Return the sine or cosine of an angle."""
        key = tuple(sorted(angle.items()))
        cosine, sine = (self._generator(kind, (kind, [angle]), key) for kind in ("cos", "sin"))
        self._sines[_BITS * sine] = _BITS * cosine
        self._squares |= 2 << _BITS * sine
        return {self.monomial(sine if op == "sin" else cosine): 1.0}
