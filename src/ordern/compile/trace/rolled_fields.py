"""The rolling compiler's fields and registers: memory that blocks read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import TraceError
from ...graph import Node, Scalar
from ...model import Freedom, Index, Register, check_block
from ...spatial import Freedoms, leaves, rebuild
from .rolled_program import Memory, Place, Position

if TYPE_CHECKING:
    from .roll import RolledTree

__all__ = ["RolledColumns", "RolledField", "RolledOwn", "RolledPairs", "RolledRegister", "RolledVector"]

T = TypeVar("T")


def _place(field: int, component: int, i: Index) -> Place:
    """Return the place of one number of a field at a body, or at the base."""
    if isinstance(i.key, int):
        return Place(Memory("field", field, component), i.key + 1)
    return Place(Memory("field", field, component), 0, ((1, Position("row", i.key)),))


class RolledField:
    """One type of value for every body and the base, at any index that a loop gives."""

    def __init__(self, tree: RolledTree, zero: Any, base: Any) -> None:
        self._tree, self._zero, self._size = tree, zero, len(leaves(zero))
        traced = any(isinstance(x, Node) for x in leaves(base))
        self._id = tree.new_field([float(x) for x in leaves(zero if base is None or traced else base)])
        if traced:
            self[tree.base] = base

    def __getitem__(self, i: Index) -> Any:
        tree, key = self._tree, (self._id, i.key)
        if key not in tree.known:
            read = tree.leaf if tree.block.kinds else tree.fetch  # between loops it may have changed
            scalars = [read(_place(self._id, k, i)) for k in range(self._size)]
            tree.known[key] = rebuild(self._zero, iter(scalars))
        return tree.known[key]

    def __setitem__(self, i: Index, value: Any) -> None:
        if "j" in self._tree.block.kinds:
            raise TraceError("a walk along ancestors carries its values; it does not set fields")
        if type(value) is not type(self._zero) and not isinstance(value, (Node, float)):
            raise TraceError(f"a field of {type(self._zero).__name__} was given a {type(value).__name__}")
        self._tree.known[self._id, i.key] = value
        for k, x in enumerate(leaves(value)):
            self._tree.store(_place(self._id, k, i), x)


class RolledOwn:
    """A value of a structure that may differ by kind, at a loop's own body only.

    Scalars that are constants, entries of the row or inputs are not stored but read again where they are needed.
    """

    def __init__(self, tree: RolledTree) -> None:
        self._tree, self._id = tree, tree.new_field([])
        self._values: dict[int, tuple[Any, list[float | Place]]] = {}

    def __setitem__(self, i: Index, value: Any) -> None:
        tree = self._tree
        if i.key != "i":
            raise TraceError("an own field is set at a loop's own body only")
        tree.known[self._id, "i"] = value
        found: list[float | Place] = []
        kept = 0
        for x in leaves(value):
            node = tree.block.graph.lift(x)
            if node.op == "constant":
                found.append(float(node.data))
            elif node.op == "leaf" and _belongs_to_body(node.data):
                found.append(node.data)
            else:
                tree.store(place := _place(self._id, kept, i), node)
                found.append(place)
                kept += 1
        self._values[tree.block.kinds["i"]] = (value, found)

    def __getitem__(self, i: Index) -> Any:
        tree, key = self._tree, (self._id, i.key)
        if key not in tree.known:
            kind = tree.block.kinds.get(str(i.key))
            if kind is None or kind not in self._values:
                raise TraceError("an own field is read at a loop's own body only, after it was set there")
            value, found = self._values[kind]
            scalars = [x if isinstance(x, float) else tree.leaf(_at(x, i.key)) for x in found]
            tree.known[key] = rebuild(value, iter(scalars))
        return tree.known[key]


def _belongs_to_body(leaf: Any) -> bool:
    """Return True if a leaf is a number of the row or of an argument, at the loop's own body or of the whole robot."""
    return (
        isinstance(leaf, Place)
        and leaf.memory.kind in ("table", "input")
        and all(position.who == "i" for _, position in leaf.terms)
    )


def _at(place: Place, who: str) -> Place:
    """Return the place of the same number at another body."""
    return place._replace(terms=tuple((stride, position._replace(who=who)) for stride, position in place.terms))


class RolledVector:
    """Numbers for the freedoms of each joint; walks may set them."""

    def __init__(self, tree: RolledTree) -> None:
        self._tree, self._id = tree, tree.new_field([])

    def __getitem__(self, i: Index) -> Freedoms:
        return Freedoms(self._tree.fetch(_place(self._id, k, i)) for k in range(i.kind.joint.nv))

    def __setitem__(self, i: Index, value: Freedoms) -> None:
        check_block(value, i.kind.joint.nv)
        for k, x in enumerate(value):
            self._tree.store(_place(self._id, k, i), x)


class RolledPairs:
    """A matrix for each body and each of its ancestors."""

    def __init__(self, tree: RolledTree) -> None:
        self._tree, self._width = tree, sum(c.type.nv for c in tree.model.joints)
        self._memory = tree.new_array(self._width * self._width)

    def _places(self, i: Index, j: Index) -> list[list[Place]]:
        first = self._tree.start("own", i) * self._width + self._tree.start("own", j)
        return [
            [Place(self._memory, first.offset + r * self._width + c, first.terms) for c in range(j.kind.joint.nv)]
            for r in range(i.kind.joint.nv)
        ]

    def __getitem__(self, where: tuple[Index, Index]) -> tuple[Freedoms, ...]:
        return tuple(Freedoms(map(self._tree.fetch, row)) for row in self._places(*where))

    def __setitem__(self, where: tuple[Index, Index], value: Any) -> None:
        check_block(value, *(i.kind.joint.nv for i in where))
        for places, row in zip(self._places(*where), value, strict=True):
            for place, x in zip(places, row, strict=True):
                self._tree.store(place, x)


class RolledColumns:
    """A value of one type for each body and freedom."""

    def __init__(self, tree: RolledTree, zero: Any) -> None:
        self._tree, self._zero, self._size = tree, zero, len(leaves(zero))
        self._memory = tree.new_array(len(tree.model.bodies) * tree.model.nv * self._size)

    def _places(self, i: Index, d: Freedom) -> list[Place]:
        first = (self._tree.start("body", i) * self._tree.model.nv + self._tree.start("v", d)) * self._size
        return [Place(self._memory, first.offset + k, first.terms) for k in range(self._size)]

    def __getitem__(self, where: tuple[Index, Freedom]) -> Any:
        return rebuild(self._zero, iter([self._tree.fetch(place) for place in self._places(*where)]))

    def __setitem__(self, where: tuple[Index, Freedom], value: Any) -> None:
        if type(value) is not type(self._zero):
            raise TraceError(f"columns of {type(self._zero).__name__} were given a {type(value).__name__}")
        for place, x in zip(self._places(*where), leaves(value), strict=True):
            self._tree.store(place, x)


class RolledRegister(Register[T]):
    """One value in memory."""

    def __init__(self, tree: RolledTree, value: T) -> None:
        self._tree, self._like = tree, value
        self._memory = tree.new_array(len(leaves(value)))
        self.value = value

    @property
    def value(self) -> T:
        """The value that is in memory."""
        known = self._tree.known
        if self._memory not in known:
            size = self._tree.program.arrays[self._memory.number]
            scalars: list[Scalar] = [self._tree.fetch(Place(self._memory, k)) for k in range(size)]
            known[self._memory] = rebuild(self._like, iter(scalars))
        found: T = known[self._memory]
        return found

    @value.setter
    def value(self, value: T) -> None:
        self._tree.known[self._memory] = value
        for k, x in enumerate(leaves(value)):
            self._tree.store(Place(self._memory, k), x)
