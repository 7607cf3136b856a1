"""Operators on tensors of CUDA devices: kernels in the current stream of PyTorch; nothing is copied, nothing waits."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...gpu.libraries import library_of
from ...gpu.program import operated
from ..operators import Operator

__all__ = ["compute"]


def compute(operator: Operator, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the answer of an operator for tensors on one CUDA device, on its current stream."""
    plain = [x.detach() for x in tensors]  # derivatives are operators of their own
    library = library_of({"tensors": plain[0]}, operator.name)
    assert library is not None
    answer: torch.Tensor = operated(operator, library, plain)
    return answer
