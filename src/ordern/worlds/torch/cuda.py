"""Operators on tensors of CUDA devices: the one place that a GPU runtime of ordern fills."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...errors import ArgumentError
from ..operators import Operator

__all__ = ["compute"]


def compute(operator: Operator, tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the answer of an operator for tensors on one CUDA device, on its current stream."""
    raise ArgumentError(
        f"{operator.name}: its tensors are on the device {tensors[0].device}, and ordern computes tensors on the CPU "
        "only; move them there with x.cpu(), and the result back with answer.to(device)"
    )
