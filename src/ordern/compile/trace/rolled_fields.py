"""The rolling compiler's fields, arguments and results: memory that blocks read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import TraceError
from ...graph import Node, Scalar
from ...model import WHOLE, Carry, Freedom, Index, check_block, core_size
from ...spatial import Force, Freedoms, Motion, leaves, rebuild
from .rolled_program import Clear, Leaf, Store

if TYPE_CHECKING:
    from .roll import RolledTree

__all__ = ["Columns", "Input", "Output", "OwnField", "Pairs", "RolledCarry", "SharedField", "Unit", "Vector"]

T = TypeVar("T")


class SharedField:
    """One class of value for every body and the base, at any index that a loop gives."""

    def __init__(self, tree: RolledTree, zero: Any, base: Any) -> None:
        self.tree, self.zero = tree, zero
        self.id = tree.new_field(len(leaves(zero)))
        known = [not isinstance(x, Node) for x in leaves(base)] if base is not None else []
        tree.program.field_bases[self.id] = [float(x) for x in leaves(base if known and all(known) else zero)]
        if not all(known):
            self[tree.base] = base

    def __getitem__(self, index: Index) -> Any:
        block, who = self.tree.block, index.key
        key = (self.id, who)
        if key not in block.env:
            self.tree.note_read(self.id, who)
            places = [("field", self.id, k, who) for k in range(self.tree.program.field_sizes[self.id])]
            read = block.graph.leaf if block.kinds else self.tree.fetch  # between loops it may have changed
            block.env[key] = rebuild(self.zero, iter([read(place) for place in places]))
        return block.env[key]

    def __setitem__(self, index: Index, value: Any) -> None:
        block, who = self.tree.block, index.key
        if "j" in block.kinds:
            raise TraceError("a walk along ancestors carries its values; it does not set fields")
        scalars = leaves(value)
        if type(value) is not type(self.zero) and not isinstance(value, (Node, float)):
            raise TraceError(f"a field of {type(self.zero).__name__} was given a {type(value).__name__}")
        block.env[self.id, who] = value
        self.tree.note_set(self.id)
        for k, x in enumerate(scalars):
            block.steps.append(Store(("field", self.id, k, who), block.graph.lift(x)))


class OwnField:
    """A value of a structure that may differ by kind, at a loop's own body only.

    Scalars that are constants, entries of the row or inputs are not stored but read again where they are needed.
    """

    def __init__(self, tree: RolledTree) -> None:
        self.tree = tree
        self.id = tree.new_field(0)
        self._shape: dict[int, tuple[Any, list[Scalar | Leaf]]] = {}

    def __setitem__(self, index: Index, value: Any) -> None:
        block = self.tree.block
        if index.key != "i":
            raise TraceError("an own field is set at a loop's own body only")
        block.env[self.id, "i"] = value
        spec: list[Scalar | Leaf] = []
        kept = 0
        for x in leaves(value):
            node = block.graph.lift(x)
            if node.op == "constant":
                spec.append(float(node.data))
            elif node.op == "leaf" and node.data[0] in ("row", "input"):
                spec.append(node.data[:-1])
            else:
                spec.append(("field", self.id, kept))
                block.steps.append(Store(("field", self.id, kept, "i"), node))
                kept += 1
        self._shape[block.kinds["i"]] = (value, spec)
        sizes = self.tree.program.field_sizes
        sizes[self.id] = max(sizes[self.id], kept)

    def __getitem__(self, index: Index) -> Any:
        block, who = self.tree.block, index.key
        key = (self.id, who)
        if key not in block.env:
            kind = block.kinds.get(str(who))
            if kind is None or kind not in self._shape:
                raise TraceError("an own field is read at a loop's own body only, after it was set there")
            value, spec = self._shape[kind]
            scalars = [x if isinstance(x, float) else block.graph.leaf((*x, who)) for x in spec]
            block.env[key] = rebuild(value, iter(scalars))
        return block.env[key]


class Vector:
    """Numbers for the freedoms of each joint; walks may set them."""

    def __init__(self, tree: RolledTree) -> None:
        self.tree = tree
        self.id = tree.new_field(max(kind.joint.nv for kind in tree.kinds))

    def __getitem__(self, i: Index) -> Freedoms:
        n = i.kind.joint.nv
        return Freedoms(self.tree.fetch(("field", self.id, k, i.key)) for k in range(n))

    def __setitem__(self, i: Index, value: Freedoms) -> None:
        check_block(value, i.kind.joint.nv)
        for k, x in enumerate(value):
            self.tree.store(("field", self.id, k, i.key), x)


class Pairs:
    """A matrix for each body and each that carries it."""

    def __init__(self, tree: RolledTree) -> None:
        self.tree, self.id = tree, tree.program.matrices
        tree.program.matrices += 1

    def __getitem__(self, where: tuple[Index, Index]) -> tuple[Freedoms, ...]:
        i, j = where
        rows, columns = range(i.kind.joint.nv), range(j.kind.joint.nv)
        return tuple(Freedoms(self.tree.fetch(("between", self.id, r, c, i.key, j.key)) for c in columns) for r in rows)

    def __setitem__(self, where: tuple[Index, Index], value: Any) -> None:
        i, j = where
        check_block(value, i.kind.joint.nv, j.kind.joint.nv)
        for r, row in enumerate(value):
            for c, x in enumerate(row):
                self.tree.store(("between", self.id, r, c, i.key, j.key), x)


class Columns:
    """A value of one type for each body and freedom."""

    def __init__(self, tree: RolledTree, zero: Any) -> None:
        self.tree, self.zero, self.id = tree, zero, len(tree.program.column_sizes)
        tree.program.column_sizes.append(len(leaves(zero)))

    def __getitem__(self, where: tuple[Index, Freedom]) -> Any:
        places = (("columns", self.id, k, where[0].key, where[1].key) for k in range(len(leaves(self.zero))))
        return rebuild(self.zero, iter([self.tree.fetch(place) for place in places]))

    def __setitem__(self, where: tuple[Index, Freedom], value: Any) -> None:
        if type(value) is not type(self.zero):
            raise TraceError(f"columns of {type(self.zero).__name__} were given a {type(value).__name__}")
        for k, x in enumerate(leaves(value)):
            self.tree.store(("columns", self.id, k, where[0].key, where[1].key), x)


class RolledCarry(Carry[T]):
    """One value in memory, for the loop or walk that follows."""

    def __init__(self, tree: RolledTree, value: T) -> None:
        self._tree, self._like = tree, value
        self._id = len(tree.program.carry_sizes)
        tree.program.carry_sizes.append(len(leaves(value)))
        self.value = value

    @property
    def value(self) -> T:
        """What is in memory."""
        block = self._tree.block
        key = ("carry", self._id)
        if key not in block.env:
            size = self._tree.program.carry_sizes[self._id]
            scalars = [self._tree.fetch(("carry", self._id, k)) for k in range(size)]
            block.env[key] = rebuild(self._like, iter(scalars))
        return block.env[key]  # type: ignore[no-any-return]

    @value.setter
    def value(self, value: T) -> None:
        self._tree.block.env["carry", self._id] = value
        for k, x in enumerate(leaves(value)):
            self._tree.store(("carry", self._id, k), x)


class Input:
    """An argument, which is already in memory."""

    def __init__(self, tree: RolledTree, kind: str, port: int) -> None:
        self.tree, self.kind, self.port = tree, kind, port

    def __getitem__(self, i: Index | Freedom) -> Any:
        graph, who = self.tree.block.graph, i.key
        if isinstance(i, Freedom):
            return graph.leaf(("port", self.port, who))
        if self.kind == "scalar":
            return graph.leaf(("scalar", self.port, 0))
        if self.kind in WHOLE:
            size = core_size(self.tree.model, self.kind)
            return Freedoms(graph.leaf(("scalar", self.port, k)) for k in range(size))
        if self.kind == "motion":
            return Motion.of(tuple(graph.leaf(("scalar", self.port, k)) for k in range(6)))
        where = {"q": "q_input", "v": "v_input", "f": "v_input", "bodies": "body_input"}[self.kind]
        joint = i.kind.joint
        n = 6 if self.kind == "bodies" else joint.nq if self.kind == "q" else joint.nv
        x = [graph.leaf(("input", where, self.port, k, who)) for k in range(n)]
        if self.kind == "bodies":
            return Force(i.turn.apply((x[0], x[1], x[2])), i.turn.apply((x[3], x[4], x[5])))
        return i.coordinates(self.kind, Freedoms(x))


class Unit:
    """An argument of zeros, with a one at a freedom."""

    def __init__(self, tree: RolledTree, kind: str, d: Freedom) -> None:
        self.tree, self.kind, self.d = tree, kind, d

    def __getitem__(self, i: Index) -> Freedoms:
        graph, n = self.tree.block.graph, i.kind.joint.nv
        return i.coordinates(self.kind, Freedoms(graph.leaf(("unit", k, i.key, self.d.key)) for k in range(n)))


class Output:
    """The result, or memory like one."""

    def __init__(self, tree: RolledTree, kind: str) -> None:
        self.tree, self.kind = tree, kind
        self.id = len(tree.program.output_kinds)
        tree.program.output_kinds.append(kind)
        self.adds = tree.couplings > 0 and kind in ("f", "symmetric", "matrix", "columns", "row_columns", "spans")
        if self.adds:
            tree.block.steps.append(Clear(self.id))

    def _put(self, place: Leaf, x: Scalar) -> None:
        """Store a number; or add it, since a joint that follows another adds to what that one has."""
        self.tree.store(place, self.tree.fetch(place) + x if self.adds else x)

    def __setitem__(self, where: Any, value: Any) -> None:
        if isinstance(where, Freedom):
            self.tree.store(("entry", self.id, where.key), value)
        elif isinstance(where, tuple) and isinstance(where[0], Freedom):
            self.tree.store(("entry", self.id, where[0].key, where[1].key), value)
        elif isinstance(where, tuple):
            self._set_pair(where[0], where[1], value)
        else:
            self._set(where, value)

    def _set_pair(self, one: Index, other: Index, value: Any) -> None:
        check_block(value, one.kind.joint.nv, other.kind.joint.nv)
        i, j = one.key, other.key
        scale = one.ratio * other.ratio
        for r, row in enumerate(value):
            for c, x in enumerate(row):
                # of a block on the diagonal one half stands for both, so that the matrix is exactly symmetric
                if self.kind == "matrix" or i != j or c <= r:
                    self._put(("pair", self.id, r, c, i, j), scale * x)
                if self.kind != "matrix" and (i != j or c < r):
                    self._put(("pair", self.id, c, r, j, i), scale * x)

    def _set(self, i: Index, value: Any) -> None:
        who, joint = i.key, i.kind.joint
        if self.kind == "wrenches":
            for k, x in enumerate((*i.turn.back(value.angular), *i.turn.back(value.linear))):
                self.tree.store(("body_out", self.id, k, who), x)
            return
        check_block(value, joint.nq if self.kind == "q" else joint.nv)
        if self.kind == "spans":
            for r, row in enumerate(value):
                for c, x in enumerate(row):
                    self._put(("span", self.id, r, c, who), i.ratio * x)
            return
        if self.kind in ("columns", "row_columns"):
            for c, column in enumerate(value):
                for r, x in enumerate(column.scalars if self.kind == "columns" else column):
                    self._put(("column", self.id, r, c, who), i.ratio * x)
            return
        self.tree.block.env["out", self.id, who] = value
        if i.kind.follows and self.kind != "f":
            return
        for k, x in enumerate(value):
            self._put(("q_out" if self.kind == "q" else "v_out", self.id, k, who), i.ratio * x)

    def __getitem__(self, where: Any) -> Any:
        if isinstance(where, Freedom):
            return self.tree.fetch(("entry", self.id, where.key))
        if isinstance(where, tuple):
            return self.tree.fetch(("entry", self.id, where[0].key, where[1].key))
        known = self.tree.block.env.get(("out", self.id, where.key))
        if known is not None:
            return known
        joint, leaf = where.kind.joint, "q_out" if self.kind == "q" else "v_out"  # set by a loop before this one
        count = joint.nq if self.kind == "q" else joint.nv
        return Freedoms(self.tree.fetch((leaf, self.id, k, where.key)) for k in range(count))
