"""Double precision in JAX, for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import jax
import jax.experimental
import pytest

__all__ = ["double", "precision"]


def precision(double: bool) -> AbstractContextManager[object]:
    """Let this thread have double precision, or not; the function's name depends on the version of JAX."""
    return jax.enable_x64(double) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(double)


@pytest.fixture(autouse=True, scope="module")
def double() -> Iterator[None]:
    """Let all tests of a module that imports this have double precision."""
    with precision(True):
        yield
