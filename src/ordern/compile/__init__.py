"""Ways of running an algorithm: interpreted, unrolled into straight-line code, rolled into loops over tables."""

from .cache import cache_directory
from .interpret import converted, interpret
from .loaded import Loaded
from .numpy_api import fast_calls_work
from .pieces import Counter, Pieces
from .request import WAYS, Code, Request, code_for, layout_of
from .target import Target, host, target
from .workers import cores, shared_out

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
