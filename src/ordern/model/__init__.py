"""Models: bodies, joints, frames; and the tree as algorithms see it."""

from .builder import ModelBuilder
from .concrete import ConcreteTree
from .freedoms import Freedom, FreedomTables
from .loops import LoopTable, PathEnd, TracedLoop
from .model import Model
from .parts import (
    BASE,
    SHAPES,
    Body,
    Connection,
    Coupling,
    Frame,
    Loop,
    Mimic,
    Note,
    Placement,
    Shape,
    placement,
)
from .piece import Piece, Runner, packed, piece
from .ports import WHOLE, check_block, core_shape, core_size, result_scalars
from .tables import Kind, Tables
from .tree import Carry, Index, PlacedFrame, Tree, placed_frame

__all__ = [
    "BASE",
    "SHAPES",
    "WHOLE",
    "Body",
    "Carry",
    "ConcreteTree",
    "Connection",
    "Coupling",
    "Frame",
    "Freedom",
    "FreedomTables",
    "Index",
    "Kind",
    "Loop",
    "LoopTable",
    "Mimic",
    "Model",
    "ModelBuilder",
    "Note",
    "PathEnd",
    "Piece",
    "PlacedFrame",
    "Placement",
    "Runner",
    "Shape",
    "Tables",
    "TracedLoop",
    "Tree",
    "check_block",
    "core_shape",
    "core_size",
    "packed",
    "piece",
    "placed_frame",
    "placement",
    "result_scalars",
]
