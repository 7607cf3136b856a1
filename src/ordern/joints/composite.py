"""Joints made of others, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..errors import ModelError
from ..graph import Scalar
from ..records import dataclass
from ..spatial import Chain, Columns, Freedoms, Motion, Pose, Subspace, Transform, factors
from ..spatial.linear import Matrix3, Vector3, matmul, matvec, subtract, transpose
from .base import Joint
from .closure import Rows
from .placement import Placement, placement, snapped

if TYPE_CHECKING:
    from .composite_closure.series import Series

__all__ = ["Composite"]


@dataclass(frozen=True)
class Composite(Joint):
    """Several joints between two bodies, with no body between them.

    Each part is a joint, or a pair of a joint and its placement in the child's frame at the neutral position (where
    the child's frame meets the composite's). The first part is next to the parent. Coordinates are those of
    the parts, in their order. It may close a loop where the motions of its parts together have known residuals.

    >>> import ordern as on
    >>> wrist = on.Composite((on.Revolute((0, 0, 1)), (on.Revolute((0, 1, 0)), (0, 0, 0.1))))
    >>> wrist.nq, wrist.nv
    (2, 2)
    """

    parts: tuple[Any, ...]

    def __post_init__(self) -> None:
        checked: list[tuple[Joint, Placement]] = []
        if not isinstance(self.parts, (tuple, list)):
            raise ModelError(f"a Composite has a tuple of parts, Composite((first, second)), not {self.parts!r}")
        for part in self.parts:
            joint, at = part if isinstance(part, tuple) and len(part) == 2 else (part, Placement())
            if not isinstance(joint, Joint):
                raise ModelError(f"a part of a Composite is a joint or a pair (joint, placement), not {part!r}")
            checked.append((joint, placement(at, "a part of a Composite")))
        if not checked:
            raise ModelError("a Composite has at least one part")
        object.__setattr__(self, "parts", tuple(checked))

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of positions."""
        return sum(joint.nq for joint, _ in self.parts)

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of velocities."""
        return sum(joint.nv for joint, _ in self.parts)

    @property
    def angles(self) -> tuple[int, ...]:  # type: ignore[override]
        """Indices of positions that are angles."""
        return tuple(at.start + k for _, joint, at, _ in self._slices() for k in joint.angles)

    @cached_property
    def _between(self) -> tuple[tuple[Transform, ...], ...]:
        """The transforms from the composite's frame to the first part's, from part to part, and to the child's."""
        frames = [Placement(tuple(self.working_frame().ravel().tolist()))]
        frames += [at @ Placement(tuple(joint.working_frame().ravel().tolist())) for joint, at in self.parts]
        frames.append(frames[0])
        steps = []
        for one, other in pairwise(frames):
            step = one.inverse @ other
            E = snapped(step.R.T, 1e-15)
            x, y, z = (tuple(row) for row in E.tolist())
            a, b, c = step.position
            identity = np.array_equal(E, np.eye(3)) and not any(step.position)
            steps.append(() if identity else factors((x, y, z), (a, b, c)))
        return tuple(steps)

    def _slices(self) -> Iterator[tuple[int, Joint, slice, slice]]:
        q = v = 0
        for k, (joint, _) in enumerate(self.parts):
            yield k, joint, slice(q, q + joint.nq), slice(v, v + joint.nv)
            q, v = q + joint.nq, v + joint.nv

    def transform(self, q: Freedoms) -> Chain:
        """Return the parts' transforms, with the constant steps between them."""
        steps = list(self._between[0])
        for k, joint, at, _ in self._slices():
            X = joint.transform(Freedoms(q[at]))
            steps.extend(X.factors)
            steps.extend(self._between[k + 1])
        return Chain(tuple(steps))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the parts' motions as the child sees them."""
        columns: list[Motion] = []
        for k, joint, at, _ in self._slices():
            mine = Freedoms(q[at])
            X = joint.transform(mine)
            columns = [X @ m for m in columns] + list(joint.subspace(mine).columns)
            columns = [_through(self._between[k + 1], m) for m in columns]
        return Columns(tuple(columns))

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """Return the sum of the parts' biases and of the terms by which later parts turn earlier ones."""
        moving, bias = Motion.zero(), Motion.zero()
        for k, joint, at, along in self._slices():
            mine, rate = Freedoms(q[at]), Freedoms(v[along])
            X, own = joint.transform(mine), joint.subspace(mine) @ rate
            moving = X @ moving
            bias = X @ bias - own.cross(moving) + joint.bias(mine, rate)
            moving = moving + own
            moving, bias = (_through(self._between[k + 1], m) for m in (moving, bias))
        return bias

    def closure(self, R: Matrix3, p: Vector3) -> Rows:
        """Return the residuals of the parts together, where the product of their motions has known residuals."""
        return self._only.closure(*self._of_part(R, p)) if self._only else self._known.closure(R, p)

    def slip(self, R: Matrix3, p: Vector3, V: Motion) -> Rows:
        """Return the conditions of a single part on velocities; several parts have no such conditions."""
        if self._only is None:
            return ()
        for X in reversed(self._between[1]):
            V = X.child(Pose.zero()) @ V
        return self._only.slip(*self._of_part(R, p), V)

    def locate(self, R: Matrix3, p: Vector3) -> Freedoms:
        """Return the coordinates of its parts; of two postures of an elbow or a wrist, the neutral one."""
        return self._only.locate(*self._of_part(R, p)) if self._only else self._known.locate(R, p)

    @property
    def why_not_locatable(self) -> str:
        """The reason why the coordinates of the parts are not known; empty if they are."""
        if self._only:
            return self._only.why_not_locatable
        return self._series if isinstance(self._series, str) else self._series.why_not_locatable

    def reach_margin(self, R: Matrix3, p: Vector3) -> tuple[Scalar, ...]:
        """Return the margins of parts that do not reach all poses with zero residual: an elbow, a wrist."""
        return self._only.reach_margin(*self._of_part(R, p)) if self._only else self._known.reach_margin(R, p)

    def serial_parts(self) -> tuple[tuple[Joint, Placement], ...]:
        """Return its parts; a part that is a composite is replaced by its own parts."""
        return tuple((joint, at @ inner) for part, at in self.parts for joint, inner in part.serial_parts())

    @property
    def _only(self) -> Joint | None:
        """The part of a composite of one."""
        return self.parts[0][0] if len(self.parts) == 1 else None

    @property
    def _known(self) -> Series:
        """The product of its parts; raises if it has no known residuals."""
        if isinstance(self._series, str):
            raise ModelError(self._series)
        return self._series

    @cached_property
    def _series(self) -> Series | str:
        """The product of its parts; or the reason why it has no known residuals."""
        from .composite_closure.series import series

        try:
            return series(self.parts, Placement(tuple(self.working_frame().ravel().tolist())))
        except ModelError as e:
            return str(e)

    def _of_part(self, R: Matrix3, p: Vector3) -> tuple[Matrix3, Vector3]:
        """Return the pose of the part's child relative to the part, from the pose of the composite's child."""
        pose = Chain(self._between[1]).parent(Pose(R, p))
        first = Chain(self._between[0]).child(Pose.zero())
        back = transpose(first.rotation)
        return matmul(back, pose.rotation), matvec(back, subtract(pose.position, first.position))

    def gyration(self, q: Freedoms, v: Freedoms, h: Freedoms) -> Freedoms:
        """Return the gyration of each part."""
        parts = ((j, Freedoms(q[at]), Freedoms(v[vs]), Freedoms(h[vs])) for _, j, at, vs in self._slices())
        return Freedoms(x for j, *mine in parts for x in j.gyration(*mine))

    def integrate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Move each part."""
        return Freedoms(x for _, j, at, vs in self._slices() for x in j.integrate(Freedoms(q[at]), Freedoms(v[vs])))

    def euler_step(self, q: Freedoms, v: Freedoms, a: Freedoms, h: Scalar) -> tuple[Freedoms, Freedoms]:
        """Step each part."""
        found = [j.euler_step(Freedoms(q[at]), Freedoms(v[vs]), Freedoms(a[vs]), h) for _, j, at, vs in self._slices()]
        return Freedoms(x for part, _ in found for x in part), Freedoms(x for _, part in found for x in part)

    def turning_rate(self, v: Freedoms) -> Freedoms:
        """Return the rate of each part."""
        return Freedoms(x for _, j, _, vs in self._slices() for x in j.turning_rate(Freedoms(v[vs])))

    @property
    def turns_velocities(self) -> bool:
        """True if the velocities of a part are along axes that turn."""
        return any(joint.turns_velocities for joint, _ in self.parts)

    def difference(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the difference of each part."""
        return Freedoms(x for _, j, at, _ in self._slices() for x in j.difference(Freedoms(q0[at]), Freedoms(q1[at])))

    def displacement(self, q0: Freedoms, q1: Freedoms) -> Freedoms:
        """Return the displacement of each part."""
        return Freedoms(x for _, j, at, _ in self._slices() for x in j.displacement(Freedoms(q0[at]), Freedoms(q1[at])))

    def counting_turns(self) -> Joint:
        """Return the composite with parts that count full turns."""
        return Composite(tuple((joint.counting_turns(), at) for joint, at in self.parts))

    def rate(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the rates of each part."""
        return Freedoms(x for _, j, at, vs in self._slices() for x in j.rate(Freedoms(q[at]), Freedoms(v[vs])))

    def project(self, q: Freedoms) -> Freedoms:
        """Project each part."""
        return Freedoms(x for _, j, at, _ in self._slices() for x in j.project(Freedoms(q[at])))

    def neutral(self) -> tuple[float, ...]:
        """Return the position in which all parts are neutral."""
        return tuple(x for joint, _ in self.parts for x in joint.neutral())

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], lower: Array, upper: Array) -> Array:
        """Return random positions of each part."""
        parts = [joint.random(rng, shape, lower[at], upper[at]) for _, joint, at, _ in self._slices()]
        return np.concatenate(parts, axis=-1)

    def working_frame(self) -> Array:
        """Return the frame in which the last part's axis is z."""
        joint, at = self.parts[-1]
        return np.asarray(at.R @ joint.working_frame())


def _through(steps: tuple[Transform, ...], m: Motion) -> Motion:
    for X in steps:
        m = X @ m
    return m
