"""Operators on tensors of CUDA devices: kernels in the current stream of PyTorch; nothing is copied, nothing waits.

Derivatives of rollouts are functions of this machine: tensors go there and come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ...gpu.libraries import library_of
from ...gpu.program import operated
from ..operators import Operator

__all__ = ["compute"]


def compute(operator: Any, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the answer of an operator for tensors on one CUDA device, on its current stream."""
    plain = [x.detach() for x in tensors]  # derivatives are operators of their own
    library = library_of({"tensors": plain[0]}, operator.name)
    assert library is not None
    answer: torch.Tensor
    if isinstance(operator, Operator):
        answer = operated(operator, library, plain)
        return answer
    there = getattr(operator, "there", None)
    if there is not None:
        answer = there(library, plain)
        return answer
    answer = torch.from_numpy(np.array(operator(*(x.cpu().numpy() for x in plain))))
    return answer.to(plain[0].device)
