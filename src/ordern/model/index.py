"""A body as algorithms see it in a loop: joint, placement, inertia and motion, read from its row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import ArgumentError, TraceError
from ..graph import Scalar
from ..joints import Joint
from ..spatial import ArticulatedInertia, Chain, Freedoms, Inertia, Motion, Rotation, Subspace, Transform, Turn, factors
from .inertia_numbers import inertia_of
from .ports import PORT_KINDS
from .tables import INERTIA, OFFSET, PLACEMENT, RATIO, TURN, Kind

__all__ = ["Index", "Numbers"]

Numbers = Sequence[Scalar]


class Index:
    """A body in a loop. The base and parents are bare indices; a loop's own body carries its data."""

    __slots__ = ("_kind", "_row", "key")

    def __init__(self, key: Any, kind: Kind | None = None, row: Callable[[slice], Numbers] | None = None):
        self.key = key
        self._kind, self._row = kind, row

    @property
    def is_parent(self) -> bool:
        """True if this is only an index: a parent, or the base."""
        return self._kind is None

    @property
    def kind(self) -> Kind:
        """The common properties of bodies of its kind."""
        if self._kind is None:
            raise TraceError("a parent is only an index of fields; its own data are available in its own iteration")
        return self._kind

    def row(self, where: slice) -> Numbers:
        """Return numbers of this body's row."""
        assert self._row is not None
        return self._row(where)

    @property
    def joint(self) -> Joint:
        """The joint that carries this body."""
        return self.kind.joint.with_parameters(tuple(self.row(self.kind.parameters)))

    @property
    def placement(self) -> tuple[Transform, ...]:
        """The transform from the parent's frame to the joint's, in factors."""
        e = self.row(PLACEMENT)
        return factors(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])), (e[9], e[10], e[11]))

    @property
    def inertia(self) -> Inertia:
        """The body's inertia about its frame's origin; an error if a fluid adds to it, which most methods leave out."""
        if self.kind.fluid is not None and self.kind.fluid.inertial:
            raise ArgumentError(
                "this method has no terms for the added inertia and the buoyancy of bodies in a fluid; the default "
                "method of inverse dynamics, forward dynamics, the mass matrix and its inverse, bias and gravity "
                "forces and energies has them"
            )
        return self.rigid_inertia

    @property
    def rigid_inertia(self) -> Inertia:
        """The inertia of the body itself about its frame's origin, without that of a fluid."""
        return inertia_of(self.row(INERTIA))

    @property
    def total_inertia(self) -> Any:
        """The body's inertia and that of the fluid that moves with it; an `Inertia` if no body of the model has any."""
        fluid = self.kind.fluid
        if fluid is None or not fluid.inertial:
            return self.rigid_inertia
        return self.rigid_inertia.articulated() + self.added_inertia

    @property
    def articulated_inertia(self) -> ArticulatedInertia:
        """The same as an articulated inertia, to which the inertias of other bodies can be added."""
        found = self.total_inertia
        return found.articulated() if isinstance(found, Inertia) else found

    @property
    def added_inertia(self) -> ArticulatedInertia:
        """The inertia of the fluid that moves with the body."""
        assert self.kind.fluid is not None
        numbers = iter(self.row(self.kind.fluid.added))
        return ArticulatedInertia.of_upper({(r, c): next(numbers) for r in range(6) for c in range(r, 6)})

    @property
    def displaced(self) -> Inertia:
        """The fluid that the body displaces, as a mass without moments of inertia."""
        assert self.kind.fluid is not None
        m, x, y, z = self.row(self.kind.fluid.displaced)
        return Inertia(m, (x, y, z), (0.0,) * 6)

    def drags(self) -> Iterator[tuple[Transform, Numbers]]:
        """Return for each `Drag` the transform to its frame, six linear and six quadratic coefficients."""
        fluid = self.kind.fluid
        return (self._placed(fluid.drag(k)) for k in range(fluid.drags)) if fluid else iter(())

    def ellipsoid_drags(self) -> Iterator[tuple[Transform, Numbers]]:
        """Return for each `EllipsoidDrag` the transform to its frame, and the numbers of its law."""
        fluid = self.kind.fluid
        return (self._placed(fluid.ellipsoid(k)) for k in range(fluid.ellipsoids)) if fluid else iter(())

    def _placed(self, where: slice) -> tuple[Transform, Numbers]:
        """Return a transform from the body's working frame, and the numbers after it."""
        e = self.row(where)
        turn = Turn(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])))
        return Transform(turn, (e[9], e[10], e[11])), e[12:]

    @property
    def borrowed(self) -> Inertia | None:
        """The inertia that is shifted to the body across its joint, if any; see `ordern.model.shiftable_inertia`."""
        return None if self.kind.borrowed is None else inertia_of(self.row(self.kind.borrowed))

    @property
    def armature(self) -> Freedoms:
        """The inertia that the joint's drive adds to each freedom."""
        return self._term(0, self.kind.has_armature)

    def _term(self, number: int, given: bool) -> Freedoms:
        """Return a term of the joint; zeros if rows do not have it."""
        return Freedoms(self.row(self.kind.term(number)) if given else (0.0,) * self.kind.joint.nv)

    @property
    def damping(self) -> Freedoms:
        """The force on each freedom for a unit of its velocity."""
        return self._term(1, self.kind.passive)

    @property
    def friction(self) -> Freedoms:
        """The force of Coulomb friction on each freedom."""
        return self._term(2, self.kind.passive)

    @property
    def stiffness(self) -> Freedoms:
        """The force of the spring on each freedom for a unit of its stretch."""
        return self._term(3, self.kind.passive)

    @property
    def rest(self) -> Freedoms:
        """The position in which the spring is slack."""
        return Freedoms(self.row(self.kind.term(4)) if self.kind.passive else self.kind.joint.neutral())

    @property
    def ratio(self) -> Scalar:
        """The ratio of a mimic joint to the joint that it follows; 1 for other joints."""
        return self.row(slice(RATIO, RATIO + 1))[0] if self.kind.follows else 1.0

    def coordinates(self, kind: str, x: Freedoms) -> Freedoms:
        """Return a port's numbers for this joint; for a mimic joint, from the numbers of its leader."""
        port = PORT_KINDS[kind]
        if not self.kind.follows:
            return x
        if port.adds:  # all force acts on the joint that it follows
            return Freedoms((0.0,) * len(x))
        offset = self.row(slice(OFFSET, OFFSET + 1))[0] if port.offset else 0.0
        return Freedoms(self.ratio * y + offset for y in x)

    @property
    def coupling(self) -> tuple[Freedoms, ...]:
        """This joint's part in each coupling: the rows of B in B^T qdd = 0."""
        parts = Freedoms(self.row(self.kind.couplings))
        return tuple(parts for _ in range(self.kind.joint.nv))

    @property
    def turn(self) -> Rotation:
        """The rotation from the body's own axes, which users know, to the axes of its working frame."""
        e = self.row(TURN)
        return Turn(((e[0], e[1], e[2]), (e[3], e[4], e[5]), (e[6], e[7], e[8])))

    def transform(self, q: Freedoms) -> Chain:
        """Return the transform from the parent's frame to the body's."""
        X = self.joint.transform(q)
        return Chain((*self.placement, *X.factors))

    def subspace(self, q: Freedoms) -> Subspace:
        """Return the motion subspace of the joint."""
        return self.joint.subspace(q)

    def bias(self, q: Freedoms, v: Freedoms) -> Motion:
        """Return the acceleration from the change of the joint's subspace."""
        return self.joint.bias(q, v)

    def gyration(self, q: Freedoms, v: Freedoms) -> Freedoms:
        """Return the joint force that turns the momentum of its drive along with the joint; zero for most joints."""
        if not self.kind.has_armature:
            return Freedoms((0.0,) * self.kind.joint.nv)
        return self.joint.gyration(q, v, self.armature * v)

    def gyration_matrix(self, q: Freedoms, v: Freedoms) -> tuple[Freedoms, ...]:
        """Return the rows of a skew-symmetric matrix whose product with v is `gyration`."""
        nv = self.kind.joint.nv
        if not self.kind.has_armature:
            return (Freedoms((0.0,) * nv),) * nv
        units = (Freedoms(1.0 if r == c else 0.0 for r in range(nv)) for c in range(nv))
        columns = [self.joint.gyration(q, unit, self.armature * v) for unit in units]
        return tuple(Freedoms(column[r] for column in columns) for r in range(nv))
