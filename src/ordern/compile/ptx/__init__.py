"""From graphs and rolled programs to PTX, the assembly text of NVIDIA's GPUs."""

from __future__ import annotations

from .code import PtxCode
from .program import ptx_code

__all__ = ["PtxCode", "ptx_code"]
