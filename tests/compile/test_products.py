"""Products of many matrices with one, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from ordern.compile.products import Products
from tests.tolerances import assert_close

CLOSE = {"float64": 1e-14, "float32": 1e-6}


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("n", [1, 3, 8, 9, 36, 130])
def test_products_and_sums(n: int, dtype: str) -> None:
    """Sizes that fill vectors and that do not, one row in several pieces, and an odd number of matrices."""
    rng = np.random.default_rng(n)
    places = rng.random((n, n)) < 0.3
    np.fill_diagonal(places, True)
    given = rng.normal(size=(5, 3, n, n)).astype(dtype)
    A, D, X = given[:, 0], given[:, 1], given[:, 2]
    B = rng.normal(size=(n, n)).astype(dtype).T
    dense = np.where(places, A, 0.0)
    products = Products(places, dtype)
    kept = np.full((7, n, n), 3.0, dtype)  # numbers around the result stay as they are
    C = kept[1:6]
    products.set_sums(C, A, B)
    assert_close(C, dense @ B, CLOSE[dtype])
    products.set_sums(C, A, B, D)
    assert_close(C, D + dense @ B, CLOSE[dtype])
    products.set_mirrored(C, X, D)
    assert_close(C, D + X + np.swapaxes(X, 1, 2), CLOSE[dtype])
    assert (kept[[0, 6]] == 3.0).all()


def test_arrays_that_do_not_fit_are_refused() -> None:
    products, fits = Products(np.eye(3, dtype=bool), "float64"), np.zeros((2, 3, 3))
    for wrong in (
        np.zeros((2, 3, 4)),
        np.zeros((4, 3, 3))[::3, ::-1],
        np.zeros((2, 3, 3), np.float32),
        np.swapaxes(fits, 1, 2),
    ):
        with pytest.raises(ValueError, match="matrices of float64 with 3 rows"):
            products.set_mirrored(fits, wrong, fits)
    products.set_sums(fits[:0], fits[:0], np.eye(3))
