"""The scalar graph: operations in one table, hash-consing, simplification, counts, jets."""

from .analyse import Counts, count, depth, live
from .elementary import SINCOS_RANGE
from .jet import Jet
from .lookup import table_entry
from .node import Graph, Node
from .ops import OPS, Op, Scalar, apply
from .scalars import atan2, cos, root_above_zero, sin, sqrt, where_less

__all__ = [
    "OPS",
    "SINCOS_RANGE",
    "Counts",
    "Graph",
    "Jet",
    "Node",
    "Op",
    "Scalar",
    "apply",
    "atan2",
    "cos",
    "count",
    "depth",
    "live",
    "root_above_zero",
    "sin",
    "sqrt",
    "table_entry",
    "where_less",
]
