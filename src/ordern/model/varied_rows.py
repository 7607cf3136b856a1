"""From the numbers that vary to the numbers that code reads: rows of bodies, gravity, placements of frames.

Values are given in the frames that users know; rows are in working frames, and for some methods inertia is moved
between bodies (`base_parameters`). This happens here, over scalars: on nodes of a graph, whose leaves are the values
that vary. So it is known which entries of the rows depend on them: only these are inputs of the code. The graph is
evaluated once for each set of values, and derivatives pass through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array, real
from ..graph import Graph, Node, Scalar
from ..graph.derive import evaluate
from ..joints.se3_series import screw
from ..spatial.linear import Matrix3, Vector3, matmul, matvec, transpose
from .base_parameters import regrouped_rows
from .model import Model
from .parameter_fields import JOINT_TERMS, own_numbers, starts
from .parts import BASE, Frame
from .tables import INERTIA, OFFSET, PLACEMENT, RATIO, TURN

__all__ = ["VariedRows", "varied_rows"]

Raw = dict[str, list[Scalar]]
"""The numbers of each field that varies, in one list."""
_LARGEST_MATRIX = 1_000_000
"""The largest matrix from values to numbers; beyond it, they are computed one by one."""
_SECOND = (4, 7, 8, 5, 9, 6)
"""The places of xx, xy, xz, yy, yz, zz among the ten numbers that users know."""


class VariedRows:
    """The rows of a structure, with nodes in the places of the numbers that vary."""

    def __init__(self, model: Model, regroup: bool) -> None:
        """Trace the rows of a structure; with `regroup`, inertia is moved between bodies."""
        assert model.variation is not None
        graph = Graph("parameters")
        self.model, self.leaves = model, [graph.leaf((0, k)) for k in range(model.variation.count)]
        raw = _raw(model, self.leaves)
        rows = _rows(model, raw)
        self.rows: list[list[Scalar]] = regrouped_rows(model.tables, rows) if regroup else rows
        self.gravity: list[Scalar] = raw.get("gravity", list(model.gravity))
        self.contact_friction: list[Scalar] = raw.get("contact_friction", [])
        self.frames: dict[int, list[Scalar]] = _frames(model, raw)
        """The twelve numbers of each frame whose placement varies, by its place in the model."""

    @cached_property
    def nodes(self) -> list[Node]:
        """The numbers that code reads, each once, in the order of its array of numbers."""
        return list(dict.fromkeys(x for x in self._everything if isinstance(x, Node)))

    @property
    def _everything(self) -> list[Scalar]:
        """All entries of rows, of gravity, and of frames whose placements vary."""
        return [*chain(*self.rows), *self.gravity, *chain(*self.frames.values()), *self.contact_friction]

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each number in the array, by the index of its node."""
        return {node.index: k for k, node in enumerate(self.nodes)}

    def filled(
        self, scalars: Sequence[Scalar], entry: Callable[[int], Scalar], number: Callable[[float], Scalar] | None = None
    ) -> list[Scalar]:
        """Return scalars with `entry(place)` for those that vary; others are floats, or converted by `number`."""
        places = self.places
        return [entry(places[x.index]) if isinstance(x, Node) else x if number is None else number(x) for x in scalars]

    @cached_property
    def pattern(self) -> NDArray[np.int64]:
        """The place of each entry of the rows, of gravity, and of frames in the array; -1 for those that are fixed."""
        return np.array([self.places[x.index] if isinstance(x, Node) else -1 for x in self._everything], np.int64)

    @cached_property
    def columns(self) -> list[int]:
        """The columns of rows in which the number of some body varies: loops read all bodies' numbers of these."""
        width = self.model.tables.rows.shape[1]
        rows = self.pattern[: len(self.rows) * width].reshape(-1, width)
        found: list[int] = np.flatnonzero((rows >= 0).any(axis=0)).tolist()
        return found

    @cached_property
    def wide(self) -> list[Scalar]:
        """The numbers that loops read: of each body all `columns`, then gravity and frames, fixed ones included."""
        rows = [row[c] for row in self.rows for c in self.columns]
        return [*rows, *self.gravity, *chain(*self.frames.values())]

    def frame(self, frame: Frame) -> int | None:
        """Return the place of a frame among `frames`; None if its placement is fixed."""
        for place, k in enumerate(self.frames):
            if self.model.frames[k] == frame:
                return place
        return None

    @cached_property
    def is_affine(self) -> bool:
        """True if the numbers that code reads are sums of multiples of the values: always, unless placements vary."""
        assert self.model.variation is not None
        return not self.model.variation.varies("joint_placement", "frame_placement")

    def arrays(self, scalars: Sequence[Scalar], values: Any) -> Array:
        """Return n scalars for values (*leading, count), as an array (*leading, n)."""
        if not isinstance(values, np.ndarray):  # of another library, in a function of NumPy arrays
            values = real(values, "the vector of parameters that vary")
        found = np.empty((*values.shape[:-1], len(scalars)))
        if self.is_affine and values.shape[-1] * len(scalars) <= _LARGEST_MATRIX:
            A, b = self.matrix(scalars)
            np.matmul(values, A, out=found)
            found += b
            return found
        for k, x in enumerate(self.evaluated(scalars, list(np.moveaxis(values, -1, 0)))):
            found[..., k] = x
        return found

    def matrix(self, scalars: Sequence[Scalar]) -> tuple[Array, Array]:
        """Return A (count, n) and b (n,) of scalars that are b + values A."""
        key = tuple(x.index if isinstance(x, Node) else x for x in scalars)
        if key not in self._matrices:
            count = len(self.leaves)
            units = np.concatenate([np.eye(count), np.zeros((1, count))])
            columns = self.evaluated(scalars, list(units.T))
            A = np.empty((count + 1, len(scalars)))
            for k, x in enumerate(columns):
                A[:, k] = x
            self._matrices[key] = A[:-1] - A[-1], A[-1]
        return self._matrices[key]

    @cached_property
    def _matrices(self) -> dict[tuple[Any, ...], tuple[Array, Array]]:
        return {}

    def evaluated(self, scalars: Sequence[Scalar], values: Sequence[Any]) -> list[Any]:
        """Return scalars for values of the numbers that vary, which may be of any kind."""
        known = {leaf.index: x for leaf, x in zip(self.leaves, values, strict=True)}
        return evaluate(scalars, known)


def varied_rows(model: Model, regroup: bool = False) -> VariedRows:
    """Return the rows of a structure; they are traced once."""
    known: dict[bool, VariedRows] = model.__dict__.setdefault("_varied_rows", {})
    if regroup not in known:
        known[regroup] = VariedRows(model, regroup)
    return known[regroup]


def _raw(model: Model, leaves: Sequence[Node]) -> Raw:
    """Return the fields that vary: leaves for the numbers that vary, and the model's own for the others."""
    assert model.variation is not None
    own, remaining = own_numbers(model, model.variation.masks), iter(leaves)
    return {
        field: [next(remaining) if varies else x for x, varies in zip(own[field].flat, mask.flat, strict=True)]
        for field, mask in model.variation.masks.items()
    }


def _rows(model: Model, raw: Raw) -> list[list[Scalar]]:
    """Return the rows of all bodies; only parts with numbers that vary are computed."""
    t, v = model.tables, model.variation
    assert v is not None
    rows: list[list[Scalar]] = t.rows.tolist()

    def varied(field: str) -> list[int]:
        found: list[int] = np.flatnonzero(v.by_joint(field)).tolist()
        return found

    for k in varied("inertia"):
        rows[k][INERTIA] = _turned_inertia(raw["inertia"][10 * k : 10 * k + 10], _matrix(rows[k][TURN]))
    for k in varied("added_inertia"):
        fluid = t.kinds[t.kind[k]].fluid
        assert fluid is not None
        rows[k][fluid.added] = _turned_added(raw["added_inertia"][21 * k : 21 * k + 21], _matrix(rows[k][TURN]))
    for k in varied("joint_placement"):
        parent = int(t.parent[k])
        above = None if parent == BASE else _matrix(rows[parent][TURN])
        rotates = bool(v.masks["joint_placement"][k, 3:].any())
        six, turn = raw["joint_placement"][6 * k : 6 * k + 6], _matrix(rows[k][TURN])
        rows[k][PLACEMENT] = _placement(six, turn, above, rotates, rows[k])
    for number, field in enumerate((*JOINT_TERMS, "rest", "joint_numbers")):
        if field not in raw:
            continue
        bounds = starts(model, field)
        for k in varied(field):
            kind = t.kinds[t.kind[k]]
            where = kind.parameters if field == "joint_numbers" else kind.term(number)
            given = raw[field][bounds[k] : bounds[k + 1]]
            if field == "armature":  # some may be lent, in a group of mimic joints
                own = zip(given, rows[k][where], model.joints[k].armature, strict=True)
                given = [x + (y - z) for x, y, z in own]
            rows[k][where] = given
    _follow(model, raw, rows)
    return rows


def _follow(model: Model, raw: Raw, rows: list[list[Scalar]]) -> None:
    """Set the ratios and offsets of joints that follow others."""
    t = model.tables
    followers = [k for k, c in enumerate(model.joints) if c.mimic is not None]
    for number, k in enumerate(followers):
        couplings, mimic = t.kinds[t.kind[k]].couplings, model.joints[k].mimic
        assert mimic is not None
        if "mimic_ratio" in raw:
            ratio = rows[k][RATIO] = raw["mimic_ratio"][number]
            rows[mimic.joint][couplings.start + number] = -ratio
        if "mimic_offset" in raw:
            rows[k][OFFSET] = raw["mimic_offset"][number]


def _matrix(nine: Sequence[Scalar]) -> Matrix3:
    """Return a matrix from its numbers, row by row."""
    a, b, c, d, e, f, g, h, i = nine
    return (a, b, c), (d, e, f), (g, h, i)


def _turned_inertia(ten: Sequence[Scalar], turn: Matrix3) -> list[Scalar]:
    """Return the ten numbers of a row from those that users know."""
    m, x, y, z = ten[:4]
    xx, xy, xz, yy, yz, zz = (ten[k] for k in _SECOND)
    I = matmul(matmul(turn, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))), transpose(turn))
    return [m, *matvec(turn, (x, y, z)), I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2]]


def _turned_added(numbers: Sequence[Scalar], turn: Matrix3) -> list[Scalar]:
    """Return the added inertia in the working axes: the upper half of a 6x6 matrix, row by row."""
    half = iter(numbers)
    A: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for r in range(6):
        for c in range(r, 6):
            A[r][c] = A[c][r] = next(half)
    back = transpose(turn)

    def block(r: int, c: int) -> Matrix3:
        own = [x for row in A[r : r + 3] for x in row[c : c + 3]]
        return matmul(matmul(turn, _matrix(own)), back)

    blocks = {(r, c): block(3 * r, 3 * c) for r in range(2) for c in range(r, 2)}
    return [blocks[r // 3, c // 3][r % 3][c % 3] for r in range(6) for c in range(r, 6)]


def _rotation(w: Vector3) -> Matrix3:
    """Return the matrix of a rotation vector."""
    x, y, z = w
    t2 = x * x + y * y + z * z
    b, c = screw(t2)  # (1 - cos t) / t^2, (t - sin t) / t^3
    a = 1.0 - t2 * c
    return (
        (1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y),
        (b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x),
        (b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)),
    )


def _placement(
    six: Sequence[Scalar], turn: Matrix3, above: Matrix3 | None, rotates: bool, row: Sequence[Scalar]
) -> list[Scalar]:
    """Return rotation and origin of a joint's placement between working frames; `above` turns the parent's axes."""
    p: Vector3 = (six[0], six[1], six[2])
    r = p if above is None else matvec(above, p)
    if not rotates:
        return [*row[PLACEMENT][:9], *r]
    E = matmul(turn, transpose(_rotation((six[3], six[4], six[5]))))
    E = E if above is None else matmul(E, transpose(above))
    return [*(x for line in E for x in line), *r]


def _frames(model: Model, raw: Raw) -> dict[int, list[Scalar]]:
    """Return rotation and origin of each frame whose placement varies, seen from the working frame of its body."""
    found: dict[int, list[Scalar]] = {}
    if "frame_placement" not in raw:
        return found
    assert model.variation is not None
    mask = model.variation.masks["frame_placement"]
    for k, frame in enumerate(model.frames):
        if not mask[k].any():
            continue
        six = raw["frame_placement"][6 * k : 6 * k + 6]
        turn = None if frame.body == BASE else _matrix(model.tables.rows[frame.body, TURN].tolist())
        R = _matrix(frame.placement.rotation)
        if mask[k, 3:].any():
            R = _rotation((six[3], six[4], six[5]))
        p: Vector3 = (six[0], six[1], six[2])
        E = transpose(R)
        if turn is not None:
            E, p = matmul(E, transpose(turn)), matvec(turn, p)
        found[k] = [*(x for line in E for x in line), *p]
    return found
