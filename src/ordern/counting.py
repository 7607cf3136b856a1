"""What algorithms cost: exact numbers of operations, for a robot as it is or in general."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algorithms import Algorithm, Question, find
from .algorithms.method_limits import require_tree
from .errors import ArgumentError
from .graph import Counts, Node
from .graph.depth import depth
from .kernel import Kernel
from .model import BASE, Model, Placement, core_shape
from .records import dataclass
from .robot import Robot

__all__ = ["PieceCount", "PieceCounts", "count", "critical_path", "generic"]

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class PieceCount:
    """A compiled function that a method asks, and how often."""

    question: str
    method: str
    robot: str
    """Of which model; mostly the robot itself."""
    counts: Counts
    """Operations of the function for one state."""
    once: int
    """How often it is computed, besides the steps of an iteration."""
    each_step: int
    """How often it is computed in each step; the most, if steps differ."""


@dataclass(frozen=True, slots=True)
class PieceCounts:
    """Operations of a method that is made of other functions, by piece and by step.

    Exact for the pieces. What NumPy does between them is not counted: sums and products of vectors, and for methods
    that solve dense systems these. A method without an iteration has no steps: all of its operations are in `once`.
    """

    question: str
    method: str
    pieces: tuple[PieceCount, ...]
    steps: int
    """How many steps were taken in the state that was tried: they depend on the state."""

    @property
    def once(self) -> Counts:
        """Operations besides the steps of the iteration."""
        return sum((p.counts * p.once for p in self.pieces), Counts())

    @property
    def each_step(self) -> Counts:
        """Operations of one step of the iteration."""
        return sum((p.counts * p.each_step for p in self.pieces), Counts())

    def after(self, steps: int) -> Counts:
        """Operations of so many steps, and of what is done once."""
        return self.once + self.each_step * steps

    def to_dict(self) -> dict[str, Any]:
        """All of it, as plain numbers and words."""
        return {
            "question": self.question,
            "method": self.method,
            "steps": self.steps,
            "once": _named(self.once),
            "each_step": _named(self.each_step),
            "pieces": [
                {
                    "question": p.question,
                    "method": p.method,
                    "robot": p.robot,
                    "once": p.once,
                    "each_step": p.each_step,
                    "counts": _named(p.counts),
                }
                for p in self.pieces
            ],
        }


def count(
    robot: Model,
    question: str,
    method: str | None = None,
    *,
    general: bool = False,
    present: tuple[str, ...] = (),
    **options: Any,
) -> Counts | PieceCounts:
    """Multiplications, additions, divisions and others of a method for one state, exactly.

    As the compiler makes them for this robot: products with 0 and 1 are gone, constants folded, common terms shared.
    With `general`, for a robot with the same joints in the same tree whose link parameters are all general, as papers
    count; what depends on these parameters alone is computed once, and not counted. Sines and cosines are among
    `other`.

    A method that iterates, or is made of other functions of the robot (`on.methods` has `pieces` for it), has a
    `PieceCounts` instead: each function that it computes, with its operations, how often it is computed once and in
    each step, and the sums `once` and `each_step`. How many steps there are depends on the state; `steps` is that of a
    random one.

    >>> import ordern as on
    >>> on.count(on.load("puma560"), "inverse_dynamics", general=True).multiplications < 150 * 6 - 48  # Luh et al. 1980
    True
    >>> found = on.count(on.load("puma560"), "forward_dynamics", "conjugate-gradient")
    >>> found.each_step == on.count(on.load("puma560"), "mass_matrix_product")
    True
    """
    require_tree(robot, question)
    counted = generic(robot) if general else Robot.of(robot)
    asked, algorithm = find(question, method)
    if algorithm.pieces:
        if "frame" in options:
            options["frame"] = counted.frame(options["frame"])
        return _count_pieces(counted, asked, algorithm, present, options)
    return counted.kernel(question, method, way="unrolled", present=present, **options).counts()


def critical_path(robot: Model, question: str, method: str | None = None, **options: Any) -> int:
    """The longest chain of operations that wait for each other: how long it takes with any number of processors."""
    from .compile.program import straight_line

    require_tree(robot, question)
    if find(question, method)[1].pieces:
        raise ArgumentError(
            f"critical_path: {question} by the method {method!r} is NumPy code around other functions; ask for the "
            "path of each of those that `on.count` lists"
        )
    kernel = Robot.of(robot).kernel(question, method, way="unrolled", **options)
    return depth([x for x in straight_line(kernel.request) if isinstance(x, Node)])


def generic(robot: Model) -> Robot:
    """A robot with the same joints in the same tree, in which no link parameter is special.

    Frames are placed as Denavit and Hartenberg do, as far as a tree allows: each joint is shifted along z and x of its
    parent and turned about x. The first joint is at the base's origin, its axis vertical. Drives have no inertia.
    """
    rng = np.random.default_rng(0)
    joints, bodies = [], []
    for c, b in zip(robot.joints, robot.bodies, strict=True):
        axis = {"axis": (0.0, 0.0, 1.0)} if _has_axis(c.type) else {}
        twist, (along, off) = rng.uniform(0.3, 1.2), rng.uniform(0.3, 1.2, 2)
        s, k = np.sin(twist), np.cos(twist)
        at = Placement.of([[1, 0, 0], [0, k, -s], [0, s, k]], [along, 0.0, off])
        joint: Any = c.type
        none = (0.0,) * c.type.nv
        here = Placement() if c.parent == BASE else at
        still = replace(c, armature=none, damping=none, friction=none, stiffness=none)
        joints.append(replace(still, type=replace(joint, **axis), placement=here))
        points, weights = rng.normal(size=(8, 3)), rng.uniform(0.5, 1.5, 8)
        com = weights @ points / weights.sum()
        d = points - com
        I = np.einsum("k,kij->ij", weights, (d**2).sum(1)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :])
        six = tuple(float(I[r, s]) for r, s in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        x, y, z = com.tolist()
        bodies.append(replace(b, mass=float(weights.sum()), com=(x, y, z), inertia=six))
    plain = {**robot.__getstate__(), "joints": tuple(joints), "bodies": tuple(bodies), "snap": 0.0}
    return Robot(**plain)


def _has_axis(joint: object) -> bool:
    """Whether it has one axis, which may be any: frames are chosen with z along it."""
    return hasattr(joint, "axis") and not hasattr(joint, "axis2")


class _Counting:
    """Answers what a method asks, as its kernel would, and notes what that was."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._kernels: dict[Any, Kernel] = {}
        self._asked: list[dict[Any, int]] = [{}]  # first besides the steps, then in each step
        self._now = 0

    def note_step(self, k: int | None) -> None:
        """A step begins; None, that there are no more."""
        self._now = 0
        if k is not None:
            self._asked.append({})
            self._now = len(self._asked) - 1

    def ask(self, question: str, *arguments: Any, method: str | None = None, **options: Any) -> Array:
        """The answer of a compiled function."""
        model: Model = options.pop("model", self.model)
        inputs = find(question, method)[0].inputs
        extra = {p.name: options.pop(p.name) for p in inputs if p.optional and p.name in options}
        present = tuple(name for name, value in extra.items() if value is not None)
        key = (id(model), question, method, present, *sorted(options.items()))
        if key not in self._kernels:
            self._kernels[key] = Kernel(model, question, method, present, **options)
        kernel = self._kernels[key]
        given = [np.asarray(x) for x in (*arguments, *(extra[name] for name in present))]
        cores = (len(core_shape(model, p.kind)) for p in kernel.ports)
        states = math.prod(np.broadcast_shapes(*(x.shape[: x.ndim - n] for x, n in zip(given, cores, strict=True))))
        here = self._asked[self._now]
        here[key] = here.get(key, 0) + states
        answer: Array = kernel(*given)
        return answer

    def found(self, question: str, method: str) -> PieceCounts:
        """What was asked, with the operations of each."""
        once, *each = self._asked
        each = [step for step in each if step]
        pieces = []
        for key, kernel in self._kernels.items():
            straight = Kernel(kernel.model, key[1], key[2], key[3], "unrolled", **kernel.options)
            times = max((step.get(key, 0) for step in each), default=0)
            name = kernel.algorithm.name
            pieces.append(PieceCount(key[1], name, kernel.model.name, straight.counts(), once.get(key, 0), times))
        return PieceCounts(question, method, tuple(pieces), len(each))


def _named(counts: Counts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in Counts.__slots__}


def _count_pieces(
    model: Model, question: Question, algorithm: Algorithm, present: tuple[str, ...], options: dict[str, Any]
) -> PieceCounts:
    """Run a method for a state, and count what it asks."""
    if question.options and set(question.options) != set(options):
        raise ArgumentError(f"{question.name} needs the settings {', '.join(question.options)}")
    reason = algorithm.refuses(model) if algorithm.refuses else ""
    if reason:
        raise ArgumentError(f"{question.name} by the method {algorithm.name!r}: {reason}")
    rng = np.random.default_rng(0)
    q = model.random(rng)
    ports = [p for p in question.inputs if not p.optional or p.name in present]
    given = {p.name: q if p.kind == "q" else rng.uniform(-1, 1, core_shape(model, p.kind)) for p in ports}
    counting = _Counting(model)
    algorithm.function(counting.ask, **given, **options)
    return counting.found(question.name, algorithm.name)
