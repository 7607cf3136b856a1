"""Ways of running an algorithm: interpreted, unrolled into straight-line code, rolled into loops over tables."""

from .emit.target import Target, host, target
from .request import WAYS, Code, Request, code_for, layout_of
from .run.cache import cache_directory
from .run.loaded import Loaded
from .run.numpy_api import fast_calls_work
from .run.pieces import Counter, Pieces
from .run.workers import cores, shared_out
from .trace.interpret import converted, interpret

__all__ = [
    "WAYS",
    "Code",
    "Counter",
    "Loaded",
    "Pieces",
    "Request",
    "Target",
    "cache_directory",
    "code_for",
    "converted",
    "cores",
    "fast_calls_work",
    "host",
    "interpret",
    "layout_of",
    "shared_out",
    "target",
]
