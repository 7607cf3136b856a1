"""Ways of running an algorithm: interpreted, unrolled into straight-line code, rolled into loops over tables."""

from .cache import cache_directory
from .interpret import interpret
from .program import WAYS, Code, Request, code_for, layout_of
from .target import Target, host, target

__all__ = ["WAYS", "Code", "Request", "Target", "cache_directory", "code_for", "host", "interpret", "layout_of", "target"]
