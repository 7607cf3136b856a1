"""From graphs and rolled programs to PTX, the assembly text of NVIDIA's GPUs."""

from __future__ import annotations

from .code import PtxCode
from .program import ptx_code
from .rollout import ROLLOUT_PARAMETERS, ptx_rollout

__all__ = ["ROLLOUT_PARAMETERS", "PtxCode", "ptx_code", "ptx_rollout"]
