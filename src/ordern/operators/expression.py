"""Expressions of operators: products and sums that are simplified when they are made, and applied as sweeps.

Nothing is multiplied out. A product is applied to a vector factor by factor from the right, so that its cost is the
cost of its sweeps over the bodies: order n, however large its matrix is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import numbers
from ..declared import explained_methods
from ..errors import ArgumentError
from .sources import Array, Blocks, Cost, Source
from .spaces import ANY, Space, fits

if TYPE_CHECKING:
    from .operators import Operators

__all__ = ["Cost", "Leaf", "One", "Operator", "Product", "Sum", "Zero", "product", "total"]


@explained_methods
class Operator(ABC):
    """A linear operator that is applied without its matrix: `A @ x`, `A.T`, `A.inv()`, `A @ B`, `A + B`, `2.0 * A`.

    It has the protocol of SciPy's linear operators: `shape`, `dtype`, `matvec`, `rmatvec`, `matmat`, `rmatmat`.
    """

    __array_ufunc__ = None  # NumPy leaves `array @ operator` to the operator
    key: str
    """A text that is the same for the same expression, whatever the order of its sums."""
    nature: str
    """Causal (towards the base), anticausal (towards the tips), memoryless (body by body), local, or mixed.

    Local operators lead to tips or from the base without passing a joint."""
    parts: tuple[Operator, ...] = ()
    """The parts of a product or sum, in the order in which they are applied."""

    def __init__(self, context: Operators, domain: Space, codomain: Space, key: str, nature: str) -> None:
        self.context, self.domain, self.codomain = context, domain, codomain
        self.key, self.nature = key, nature
        self.dtype = context.dtype
        """The precision of its numbers."""

    @property
    @abstractmethod
    def T(self) -> Operator:
        """The transpose."""

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """Return the product with a matrix of the right size, column by column."""

    def text(self, inside: bool = False) -> str:
        """Return the expression in the papers' symbols; `inside` a product, sums have parentheses."""
        return self.context.spelling.get(self.key, self.key)

    @property
    def diagonal(self) -> bool:
        """True if it is known to be block-diagonal, with one block for each body."""
        return self.nature == "memoryless"

    @property
    def cost(self) -> Cost:
        """The cost of applying it to one vector."""
        return sum((part.cost for part in self.parts), Cost((), 0))

    def _inverse(self) -> Operator | None:
        """Return the inverse, if the identities give one."""
        return self.context.rules.inverses.get(self.key)

    # the protocol of SciPy's linear operators

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of its matrix."""
        if self.domain is ANY or self.codomain is ANY:
            raise ArgumentError(f"{self} has no size of its own: it takes that of the operator it is added to")
        return self.codomain.size, self.domain.size

    def matvec(self, x: ArrayLike) -> Array:
        """Return the product with a vector, which may also be one column."""
        column = self._numbers(x)
        return self.matmat(column.reshape(-1, 1)).reshape(-1, *column.shape[1:])

    def _numbers(self, x: ArrayLike) -> Array:
        found: Array = numbers(x, f"{self}: x").astype(self.dtype, copy=False)
        return found

    def rmatvec(self, x: ArrayLike) -> Array:
        """Return the product of the transpose with a vector."""
        return self.T.matvec(x)

    def matmat(self, x: ArrayLike) -> Array:
        """Return the product with a matrix, all columns in one sweep."""
        columns = self._numbers(x)
        if columns.ndim != 2 or columns.shape[0] != self.shape[1]:
            raise ArgumentError(
                f"{self} takes vectors of {self.shape[1]} numbers ({self.domain}), not an array of shape "
                f"{columns.shape}"
            )
        return self.apply(columns)

    def rmatmat(self, x: ArrayLike) -> Array:
        """Return the product of the transpose with a matrix."""
        return self.T.matmat(x)

    def dense(self) -> Array:
        """Return the matrix, which takes order n^2 numbers."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def block(self, i: int, j: int) -> Array:
        """Return block (i, j) of the matrix, such as phi(i, j), in order n."""
        rows, columns = self.codomain.slices[i], self.domain.slices[j]
        x = np.zeros((self.shape[1], columns.stop - columns.start), self.dtype)
        x[columns] = np.eye(x.shape[1], dtype=self.dtype)
        return self.apply(x)[rows]

    # algebra

    def inv(self) -> Operator:
        """Return the inverse, by the papers' identities; raise if they do not give one."""
        found = self._inverse()
        if found is None:
            raise ArgumentError(
                f"no identity gives the inverse of {self}: there are inverses of phi, psi, block-diagonal operators, "
                "I + H phi K, the mass matrix, and products of these; `dense()` gives the matrix"
            )
        return found

    @overload
    def __matmul__(self, other: Operator) -> Operator: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Array: ...
    def __matmul__(self, other: Operator | ArrayLike) -> Operator | Array:
        if isinstance(other, Operator):
            self._joins(other)
            return product((self, other))
        x = np.asarray(other)
        return self.matvec(x) if x.ndim == 1 else self.matmat(x)

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return np.transpose(self.T @ np.transpose(other))

    def __call__(self, x: ArrayLike) -> Array:
        """Return `self @ x`."""
        return self @ x

    def __add__(self, other: Operator) -> Operator:
        if not isinstance(other, Operator):
            return NotImplemented
        self._joins(other)
        return total(((1.0, self), (1.0, other)))

    def __sub__(self, other: Operator) -> Operator:
        if not isinstance(other, Operator):
            return NotImplemented
        return self + -other

    def __neg__(self) -> Operator:
        return total(((-1.0, self),))

    def __mul__(self, scale: float) -> Operator:
        if not isinstance(scale, (int, float, np.number)):
            return NotImplemented
        return total(((float(scale), self),))

    __rmul__ = __mul__

    def _joins(self, other: Operator) -> None:
        if self.context is not other.context:
            raise ArgumentError(f"{self} and {other} are of different robots, states or coordinates")

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same expression of the same state."""
        return isinstance(other, Operator) and self.context is other.context and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        size = "" if self.domain is ANY else f"{self.shape[0]} x {self.shape[1]}, "
        return f"<{self}: {size}{self.nature}, {self.cost}, order n>"


class One(Operator):
    """The identity, of any space until it is added to something."""

    def __init__(self, context: Operators, space: Space = ANY) -> None:
        super().__init__(context, space, space, "I", "memoryless")

    @property
    def T(self) -> Operator:
        """The identity of the dual space."""
        return One(self.context, ANY if self.domain is ANY else self.domain.T)

    def apply(self, x: Array) -> Array:
        """Return x itself."""
        return x

    def _inverse(self) -> Operator:
        return self


class Zero(Operator):
    """The zero operator."""

    def __init__(self, context: Operators, domain: Space, codomain: Space) -> None:
        super().__init__(context, domain, codomain, "0", "memoryless")

    @property
    def T(self) -> Operator:
        """The zero operator between the dual spaces."""
        return Zero(self.context, self.codomain.T, self.domain.T)

    def apply(self, x: Array) -> Array:
        """Return zeros."""
        return np.zeros((self.codomain.size, x.shape[1]), self.dtype)


@explained_methods
class Leaf(Operator):
    """An operator with a name of its own, or its transpose."""

    def __init__(
        self, context: Operators, name: str, source: Source, star: bool = False, undoes: Operator | None = None
    ) -> None:
        self.name, self.source, self.star = name, source, star and not source.symmetric
        self._undoes = undoes
        domain, codomain, nature = source.domain, source.codomain, source.nature
        if star:
            domain, codomain = codomain.T, domain.T
            nature = {"causal": "anticausal", "anticausal": "causal"}.get(nature, nature)
        super().__init__(context, domain, codomain, f"{name}*" if self.star else name, nature)

    @property
    def T(self) -> Operator:
        """The transpose."""
        if self.source.symmetric:
            return self
        undoes = None if self._undoes is None else self._undoes.T
        return Leaf(self.context, self.name, self.source, not self.star, undoes)

    @property
    def cost(self) -> Cost:
        """Its blocks, and its sweep if it is one."""
        return self.source.cost(self.star)

    def apply(self, x: Array) -> Array:
        """Apply it sweep by sweep, or block by block."""
        return self.source.apply_transposed(x) if self.star else self.source.apply(x)

    def _inverse(self) -> Operator | None:
        if self._undoes is not None:
            return self._undoes
        if self.source.invertible:
            found = self.context.leaf(self.name[:-3] if self.name.endswith("^-1") else f"{self.name}^-1")
            return found.T if self.star else found
        return super()._inverse()


class Product(Operator):
    """Factors one after the other, the last first."""

    def __init__(self, factors: Sequence[Operator]) -> None:
        self.factors, self.parts = tuple(factors), tuple(reversed(factors))
        key = " ".join([f.key for f in factors])
        super().__init__(factors[0].context, factors[-1].domain, factors[0].codomain, key, _together(factors))

    def text(self, inside: bool = False) -> str:
        """Return the factors side by side."""
        return " ".join(f.text(inside=True) for f in self.factors)

    @property
    def T(self) -> Operator:
        """The transposed factors in reverse."""
        return Product([f.T for f in reversed(self.factors)])

    def apply(self, x: Array) -> Array:
        """Apply factor after factor."""
        for f in self.parts:
            x = f.apply(x)
        return x

    def _inverse(self) -> Operator | None:
        found = super()._inverse()
        if found is not None:
            return found
        factors = [f._inverse() for f in reversed(self.factors)]
        known = [f for f in factors if f is not None]
        return product(known) if len(known) == len(factors) else _inverse_by_blocks(self)


class Sum(Operator):
    """Terms with their coefficients."""

    def __init__(self, terms: Sequence[tuple[float, Operator]]) -> None:
        like = next((t for _, t in terms if t.domain is not ANY), terms[0][1])
        self.terms = tuple((c, One(t.context, like.domain) if isinstance(t, One) else t) for c, t in terms)
        self.parts = tuple(t for _, t in self.terms)
        key = "(" + " + ".join(sorted(f"{c!r} {t.key}" for c, t in terms)) + ")"
        super().__init__(like.context, like.domain, like.codomain, key, _together(self.parts))

    def text(self, inside: bool = False) -> str:
        """Return the terms with their signs."""
        shown = ""
        for c, t in self.terms:
            sign = (" - " if c < 0 else " + ") if shown else ("-" if c < 0 else "")
            shown += f"{sign}{'' if abs(c) == 1.0 else f'{abs(c):g} '}{t.text(inside=abs(c) != 1.0)}"
        return f"({shown})" if inside else shown

    @property
    def T(self) -> Operator:
        """The transposed terms."""
        return Sum([(c, t.T) for c, t in self.terms])

    def apply(self, x: Array) -> Array:
        """Add up the terms."""
        y = np.zeros((self.codomain.size, x.shape[1]), self.dtype)
        for c, t in self.terms:
            y += c * t.apply(x)
        return y

    def _inverse(self) -> Operator | None:
        if len(self.terms) == 1:
            [(c, t)] = self.terms
            found = t._inverse()
            return None if found is None else found * (1.0 / c)
        return super()._inverse() or _inverse_by_blocks(self)


def _inverse_by_blocks(A: Operator) -> Operator | None:
    """Return the inverse of a block-diagonal operator. All blocks are computed at once."""
    if not A.diagonal or A.codomain not in (A.domain, A.domain.T):
        return None

    def make() -> Iterable[tuple[int, int, Array]]:
        at, sizes = A.domain.slices, A.domain.sizes
        x = np.zeros((A.domain.size, max(sizes, default=0)), A.dtype)
        for where, size in zip(at, sizes, strict=True):
            x[where, :size] = np.eye(size, dtype=A.dtype)
        y = A.apply(x)
        return [(k, k, y[where, :size]) for k, (where, size) in enumerate(zip(at, sizes, strict=True))]

    blocks = Blocks(A.domain, A.codomain, make, "memoryless", symmetric=A.T.key == A.key)
    return Leaf(A.context, f"({A})^-1", blocks.inverted(str(A)), undoes=A)


def _together(parts: Iterable[Operator]) -> str:
    """Return the nature of operators one after the other, or added."""
    found = {part.nature for part in parts}
    for kind in ("memoryless", "local"):  # they do not change the nature of the others
        if len(found) > 1:
            found.discard(kind)
    return found.pop() if len(found) == 1 else "mixed"


def product(factors: Sequence[Operator], simplify: bool = True) -> Operator:
    """Return a product, simplified by the identities: A^-1 A = I, S L = K, G H = tau and so on."""
    context, domain, codomain = factors[0].context, factors[-1].domain, factors[0].codomain
    for one, other in pairwise(factors):
        if not fits(one.domain, other.codomain):
            raise ArgumentError(f"{one} @ {other}: {one} takes {one.domain}, but {other} gives {other.codomain}")
    if simplify and len(factors) == 2 and _undo(*factors):
        return One(context, domain)
    scale, flat = 1.0, list[Operator]()
    for f in factors:
        if isinstance(f, Sum) and len(f.terms) == 1:
            scale, f = scale * f.terms[0][0], f.terms[0][1]
        flat += f.factors if isinstance(f, Product) else () if isinstance(f, One) else (f,)
    if any(isinstance(f, Zero) for f in flat):
        return Zero(context, domain, codomain)
    if simplify and len(flat) > 1:
        keys, inverses = [f.key for f in flat], [f._inverse() for f in flat]
        undone = [None if f is None else f.key for f in inverses]
        for start, stop in combinations(range(len(flat) + 1), 2):
            known = context.rules.products.get(" ".join(keys[start:stop])) if stop > start + 1 else None
            if (
                " ".join(keys[start + 1 : stop]) == undone[start]
                or " ".join(keys[start : stop - 1]) == undone[stop - 1]
            ):
                known = One(context, flat[stop - 1].domain)
            if known is not None:
                return product((*flat[:start], known, *flat[stop:])) * scale
    found = Product(flat) if len(flat) > 1 else flat[0] if flat else One(context, domain)
    return found if scale == 1.0 else Sum([(scale, found)])


def _undo(one: Operator, other: Operator) -> bool:
    """Return whether one of two operators is known as the inverse of the other."""
    for a, b in ((one, other), (other, one)):
        found = None if isinstance(a, One) else a._inverse()
        if found is not None and found.key == b.key:
            return True
    return False


def total(terms: Iterable[tuple[float, Operator]], simplify: bool = True) -> Operator:
    """Return a sum: equal terms are collected, and simplified by the identities, such as I - tau = tau_bar."""
    gathered: dict[str, tuple[float, Operator]] = {}
    every = list(terms)
    like = next((t for _, t in every if t.domain is not ANY), every[0][1])
    for _, t in every:
        square = like.domain == like.codomain or not isinstance(t, One)
        if not (square and fits(like.domain, t.domain) and fits(like.codomain, t.codomain)):
            raise ArgumentError(
                f"{like} + {t}: one takes {like.domain} to {like.codomain}, the other {t.domain} to {t.codomain}"
            )
    for scale, term in every:
        for c, t in term.terms if isinstance(term, Sum) else ((1.0, term),):
            if not isinstance(t, Zero):
                before, known = gathered.get(t.key, (0.0, t))
                gathered[t.key] = (before + scale * c, t if known.domain is ANY else known)
    left = {key: (c, t) for key, (c, t) in gathered.items() if c != 0.0}
    for pattern, result in every[0][1].context.rules.sums if simplify and len(left) > 1 else ():
        scales = {left[key][0] / c if key in left else np.nan for key, c in pattern}
        if len(scales) == 1 and (scale := scales.pop()) == scale:
            keys = {key for key, _ in pattern}
            rest = [term for key, term in left.items() if key not in keys]
            return total(((scale, result), *rest))
    if not left:
        return Zero(like.context, like.domain, like.codomain)
    found = sorted(left.values(), key=lambda term: not isinstance(term[1], One))  # the identity comes first
    alone = len(found) == 1 and found[0][0] == 1.0
    return found[0][1] if alone else Sum(found)
