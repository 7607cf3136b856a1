"""The scalar graph: operations in one table, hash-consing, simplification, counts, derivatives, one checker."""

from .analyse import Counts, check, count, evaluate, live
from .derivative import forward, reverse
from .elementary import SINCOS_RANGE, Emitter
from .jet import Jet
from .node import Graph, Node
from .ops import OPS, Op, Scalar
from .scalars import atan2, cos, sin, sqrt, where_less

__all__ = [
    "OPS",
    "SINCOS_RANGE",
    "Counts",
    "Emitter",
    "Graph",
    "Jet",
    "Node",
    "Op",
    "Scalar",
    "atan2",
    "check",
    "cos",
    "count",
    "evaluate",
    "forward",
    "live",
    "reverse",
    "sin",
    "sqrt",
    "where_less",
]
