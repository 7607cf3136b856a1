"""The protocol of SciPy's linear operators, with matrices only on request."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError
from .spaces import ANY, Space

__all__ = ["Linear"]

Array = NDArray[Any]


class Linear(ABC):
    """A linear map between two spaces that is applied without its matrix."""

    domain: Space
    codomain: Space

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The precision of its numbers."""

    @property
    @abstractmethod
    def T(self) -> Linear:
        """The transpose."""

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """Return the product with a matrix of the right size, column by column."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of its matrix."""
        if self.domain is ANY or self.codomain is ANY:
            raise ArgumentError(f"{self} has no size of its own: it takes that of the operator it is added to")
        return self.codomain.size, self.domain.size

    def matvec(self, x: ArrayLike) -> Array:
        """Return the product with a vector, which may also be one column."""
        column = np.asarray(x, self.dtype)
        return self.matmat(column.reshape(-1, 1)).reshape(-1, *column.shape[1:])

    def rmatvec(self, x: ArrayLike) -> Array:
        """Return the product of the transpose with a vector."""
        return self.T.matvec(x)

    def matmat(self, x: ArrayLike) -> Array:
        """Return the product with a matrix, all columns in one sweep."""
        columns = np.asarray(x, self.dtype)
        if columns.ndim != 2 or columns.shape[0] != self.shape[1]:
            raise ArgumentError(
                f"{self} takes vectors of {self.shape[1]} numbers ({self.domain}), not an array of shape {np.shape(x)}"
            )
        return self.apply(columns)

    def rmatmat(self, x: ArrayLike) -> Array:
        """Return the product of the transpose with a matrix."""
        return self.T.matmat(x)

    def dense(self) -> Array:
        """Return the matrix, which takes order n^2 numbers."""
        return self.matmat(np.eye(self.shape[1], dtype=self.dtype))

    def block(self, i: int, j: int) -> Array:
        """Block (i, j) of the matrix, such as phi(i, j), in order n."""
        rows, columns = self.codomain.slices[i], self.domain.slices[j]
        x = np.zeros((self.shape[1], columns.stop - columns.start), self.dtype)
        x[columns] = np.eye(x.shape[1], dtype=self.dtype)
        return self.apply(x)[rows]
