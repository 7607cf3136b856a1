"""The numbers of a varied robot that its code reads, as tensors, from the values that users know."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...model import Model
from ..operators import Numbers

__all__ = ["numbers_of"]


def numbers_of(model: Model, numbers: Numbers) -> Any:
    """Return the numbers (*leading, count) of a varied robot: a tensor if its values are one, else a NumPy array.

    Those of a NumPy array are computed once.
    """
    assert model.variation is not None
    values: Any = model.variation.values
    if isinstance(values, torch.Tensor):
        return numbers.of(values, lambda x: torch.as_tensor(x, dtype=values.dtype, device=values.device), torch)
    known: dict[Any, Any] = model.__dict__.setdefault("_code_numbers", {})
    if numbers not in known:
        known[numbers] = numbers.rows.arrays(numbers.scalars, np.asarray(values))
    return known[numbers]
