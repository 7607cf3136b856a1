"""Models: bodies, joints, frames; and the tree as algorithms see it."""

from .actuators import Actuator
from .builder import ModelBuilder
from .concrete import ConcreteTree
from .fluid import Drag, EllipsoidDrag
from .freedoms import Freedom, FreedomTables
from .index import Index
from .loops import PathEnd, TracedLoop
from .model import Model
from .parts import (
    BASE,
    SHAPES,
    Body,
    Connection,
    Coupling,
    Frame,
    Link,
    Loop,
    Mimic,
    ModelJoint,
    Note,
    Placement,
    Shape,
    placement,
)
from .piece import Piece, RowAnswer, Runner, packed, piece
from .port_arrays import ArrayNumbers, Input, Output
from .ports import PORT_KINDS, PortKind, check_block, core_shape, core_size, result_scalars
from .positions import NamedPosition
from .tables import Kind
from .tree import Answer, Base, Bodies, ControlFlow, Field, Joints, Number, PlacedFrame, Register, Tree, Values

__all__ = [
    "BASE",
    "PORT_KINDS",
    "SHAPES",
    "Actuator",
    "Answer",
    "ArrayNumbers",
    "Base",
    "Bodies",
    "Body",
    "ConcreteTree",
    "Connection",
    "ControlFlow",
    "Coupling",
    "Drag",
    "EllipsoidDrag",
    "Field",
    "Frame",
    "Freedom",
    "FreedomTables",
    "Index",
    "Input",
    "Joints",
    "Kind",
    "Link",
    "Loop",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelJoint",
    "NamedPosition",
    "Note",
    "Number",
    "Output",
    "PathEnd",
    "Piece",
    "PlacedFrame",
    "Placement",
    "PortKind",
    "Register",
    "RowAnswer",
    "Runner",
    "Shape",
    "TracedLoop",
    "Tree",
    "Values",
    "check_block",
    "core_shape",
    "core_size",
    "packed",
    "piece",
    "placement",
    "result_scalars",
]
