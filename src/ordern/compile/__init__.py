"""Ways of running an algorithm: interpreted, unrolled into straight-line code, rolled into loops over tables."""

from .pipeline import WAYS
from .run.workers import cores, shared_out

__all__ = ["WAYS", "cores", "shared_out"]
