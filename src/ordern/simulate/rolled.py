"""The result of a rollout: many trajectories in arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import AnyArray
from ..declared import explained_methods
from ..errors import ArgumentError
from ..records import dataclass
from .divergence import stayed
from .rollout_events import Crossings, some_of

if TYPE_CHECKING:
    from ..robot import Robot
    from .contact_record import Certificate, ContactRecord, ContactSettings
    from .rollout_arguments import Plan

__all__ = ["Rollout", "Source"]


@dataclass(frozen=True, eq=False)
class Source:
    """The robot of a rollout, and its arguments."""

    robot: Robot
    plan: Plan
    steering: str = ""
    """"policy" or "noise" if these drive the robot."""
    limits: str | None = None
    ended: int = 0
    """The number of trajectories that an event has ended."""
    contact: ContactSettings | None = None
    """The arguments about contacts."""


@explained_methods
@dataclass(frozen=True, eq=False)
class Rollout:
    """Trajectories; unpack them as `q, v, t = robot.rollout(...)`, or use the names.

    `run[3]` is the trajectory of index 3, as a rollout of its own; `run[10:20]`, `run[[4, 7]]` and
    `run[~run.diverged]` are several.

    >>> import numpy as np, ordern as on
    >>> run = on.load("double-pendulum").rollout(np.zeros((5, 2)), np.zeros((5, 2)), steps=10)
    >>> run[3].q.shape, run[1:4].q.shape
    ((11, 2), (3, 11, 2))
    """

    q: AnyArray
    """Positions, of shape (..., 1 + steps // every, nq); the first are the initial ones."""
    v: AnyArray
    """Velocities, of shape (..., 1 + steps // every, nv)."""
    t: AnyArray
    """Times since the start, of shape (1 + steps // every,)."""
    tau: AnyArray | None = None
    """Joint forces of the policy and of noise, of the shape of v: those that act from each stored state on. The last
    row repeats the forces that acted last. None for a rollout without policy and noise."""
    events: Crossings | None = field(default=None, repr=False)
    """The events: `run.events["flip"].time`, `.q`, `.v`, `.count`. None for a rollout without `events`."""
    source: Source | None = field(default=None, repr=False)
    """The robot and the arguments, for derivatives; None for some trajectories of a larger rollout."""

    contacts: ContactRecord | None = field(default=None, repr=False)
    """Impulses and certificates of contacts; None for a robot without."""
    fastest: AnyArray = field(default_factory=lambda: np.array(np.inf), repr=False)
    """The speeds above which a trajectory counts as diverged, of shape (nv,)."""
    notes: tuple[str, ...] = field(default=(), repr=False)
    """What does not act in these steps, such as joint limits, or acts explicitly, and why: see `Robot.rollout`."""

    @property
    def contact_impulses(self) -> AnyArray:
        """Impulses of the step before each kept state, in N s: (..., rows, contacts, 3).

        The last axis has two directions along the surface and the normal; divided by dt, they are mean forces. The
        contacts are those of `robot.contacts.pairs`, in that order.
        """
        return self._contacts("contact_impulses").impulses

    @property
    def contact_forces(self) -> AnyArray:
        """Mean forces of the step before each kept state, in N: (..., rows, contacts, 3), as `contact_impulses`."""
        record = self._contacts("contact_forces")
        return np.asarray(record.impulses / record.dt)

    @property
    def contact_surfaces(self) -> AnyArray:
        """Friction, restitution and ground height of the contacts of each trajectory, (..., contacts, 3)."""
        return self._contacts("contact_surfaces").surfaces

    @property
    def contact_moments(self) -> AnyArray:
        """Moments of torsional and rolling friction in the same step, in N m s: (..., rows, contacts, 3)."""
        return self._contacts("contact_moments").moments

    @property
    def stop_impulses(self) -> AnyArray | None:
        """Impulses of joint limits and dry friction in the same step, (..., rows, nv), along v; None without both."""
        return self._contacts("stop_impulses").stops

    @property
    def certificate(self) -> Certificate:
        """How exact the steps were: residual, penetration and work, each (..., rows)."""
        return self._contacts("certificate").certificate

    @property
    def uncertified(self) -> NDArray[np.bool_]:
        """True for kept states whose steps cannot be relied on, (..., rows): see `Certificate.uncertified`.

        States of trajectories that diverged are among them.
        """
        lost = ~(np.isfinite(self.v).all(-1) & np.isfinite(self.q).all(-1))
        return np.asarray(self.certificate.uncertified | lost)

    def _contacts(self, what: str) -> ContactRecord:
        if self.contacts is None or (not self.contacts.names and what.startswith("contact")):
            if what.startswith("contact"):
                raise ArgumentError(f"{what}: this rollout has no contacts; see robot.with_contacts")
            raise ArgumentError(
                f"{what}: the steps of this rollout solve for no contacts, joint limits or dry friction: "
                f"{'; '.join(self.notes) or 'the robot has none'}"
            )
        return self.contacts

    def __iter__(self) -> Iterator[AnyArray]:
        return iter((self.q, self.v, self.t))

    def __getitem__(self, which: Any) -> Rollout:
        """Return some of the trajectories: by an index, a slice, a mask or a list of indices of the batch."""
        batch = self.v.shape[:-2]
        if not batch:
            raise ArgumentError("this rollout is one trajectory: index its arrays, such as run.q[3] for a state")
        try:
            order = np.arange(math.prod(batch)).reshape(batch)[which]
        except (IndexError, ValueError, TypeError) as e:
            raise ArgumentError(
                f"trajectories of a batch of shape {batch} are chosen by an index, a slice, a mask or a list of "
                f"indices: {e}"
            ) from None
        arrays = (None if x is None else x.reshape(-1, *x.shape[-2:])[order] for x in (self.q, self.v, self.tau))
        q, v, tau = arrays
        assert q is not None
        assert v is not None
        contacts = None if self.contacts is None else self.contacts.some(order)
        return Rollout(
            q,
            v,
            self.t,
            tau,
            None if self.events is None else some_of(self.events, order),
            None,
            contacts,
            self.fastest,
            self.notes,
        )

    def vjp(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, *, wrt: str | Sequence[str] | None = None,
        threads: int | None = None,
    ) -> Any:  # fmt: skip
        """Return the gradient of the sum of weights times kept states by the arguments: a named tuple.

        `q` and `v` are the weights: for a function of `run.q` and `run.v` its derivatives by them. Those of velocities
        have the shape of `run.v`. Those of positions are in the tangent of `integrate`, of the shape of `run.v`, or
        by the numbers of `run.q`, of its shape. The result has `q0` (in the tangent), `v0`, `tau`, `external`, `kp`,
        `kd` and `target` (in the tangent), where these were given, and `dt`; `wrt` names some of them. Each belongs to
        one trajectory, and has the shape of the batch: sum those of an argument that trajectories share. A `tau` that
        is constant has one gradient for all steps, a table has one for each. The fields of a robot's parameters that
        vary are arguments, too, such as `inertia` (..., n, 10), with the derivatives by all entries of the field, and
        with contacts `contact_friction` and `ground_height` (..., contacts).

        The steps are taken again, and gone back through, in native code. That takes about three times as long as the
        rollout, and some megabytes per thread.

        >>> import numpy as np, ordern as on
        >>> run = on.load("double-pendulum").rollout([1.0, 0.0], [0.0, 0.0], np.zeros((100, 2)))
        >>> at_end = np.zeros_like(run.v)
        >>> at_end[-1, 0] = 1.0
        >>> gradient = run.vjp(q=at_end)
        >>> gradient._fields, gradient.tau.shape
        (('q0', 'v0', 'tau', 'dt'), (100, 2))
        """
        from .rollout_derivatives import gradient

        return gradient(self._source("vjp"), q, v, wrt, threads, self._ends)

    def jvp(self, *, threads: int | None = None, **tangents: ArrayLike) -> Any:
        """Return the rates (q, v) of the kept states while arguments vary along tangents, both of the shape of `run.v`.

        `tangents` are by the names of `vjp`: q0, v0, tau, external, kp, kd, target, dt, and fields of parameters that
        vary. Those of positions are velocities, as in `Robot.jvp`, and so are the rates of positions. A batch of
        directions gives columns of the matrix of derivatives.

        >>> import numpy as np, ordern as on
        >>> run = on.load("double-pendulum").rollout([1.0, 0.0], [0.0, 0.0], steps=100)
        >>> run.jvp(q0=np.eye(2)).q.shape
        (2, 101, 2)
        """
        from .rollout_derivatives import sensitivity

        return sensitivity(self._source("jvp"), tangents, threads, self._ends)

    @property
    def _ends(self) -> tuple[AnyArray, AnyArray] | None:
        """The states after the last step, if they are kept."""
        p = self._source("ends").plan
        return None if p.steps % p.every else (self.q[..., -1, :], self.v[..., -1, :])

    def _source(self, what: str) -> Source:
        if self.source is None:
            raise ArgumentError(f"{what}: these are some trajectories of a rollout; take the derivatives of all of it")
        return self.source

    @cached_property
    def diverged(self) -> NDArray[np.bool_]:
        """True for trajectories that became infinite or NaN, or in which a joint became too fast, of the batch's shape.

        Too fast is ten times the velocity limit of the joint; without a limit, 200 rad/s or 100 m/s, or twice its
        speed at the start, if that is more.
        """
        return np.asarray(self.diverged_at >= 0)

    @cached_property
    def diverged_at(self) -> NDArray[np.int64]:
        """The index of the first stored state of each trajectory that is not finite or too fast; -1 without one."""
        found = np.full(self.v.shape[:-2], -1, dtype=np.int64)
        with np.errstate(invalid="ignore", over="ignore"):
            low, high = self.v.min(-2, keepdims=True), self.v.max(-2, keepdims=True)
            ends = np.concatenate([self.v[..., :1, :], low, high], -2)  # without an array of the size of v
            last = np.broadcast_to(self.q[..., -1:, :], (*ends.shape[:-1], self.q.shape[-1]))
            for where in np.argwhere(~stayed(last, ends, self.fastest).all(-1)):
                k = tuple(where)
                found[k] = int(np.argmin(stayed(self.q[k], self.v[k], self.fastest)))
        return found

    def __repr__(self) -> str:
        batch = self.v.shape[:-2]
        many = f"{math.prod(batch)} trajectories {batch}" if batch else "one trajectory"
        return f"<Rollout of {many}, {len(self.t)} states each, to t = {self.t[-1]:g} s>"

    def _repr_html_(self) -> str:
        """Return shapes, and the number of trajectories that diverged, for notebooks."""
        from ..screen.html import table, titled

        rows = [(name, getattr(self, name).shape, getattr(self, name).dtype) for name in ("q", "v", "t")]
        lost = f"{int(self.diverged.sum())} of {self.diverged.size} trajectories diverged"
        found = [] if self.events is None else [repr(self.events[name])[1:-1] for name in self.events.names]
        return titled(repr(self)[1:-1], table(("array", "shape", "type"), rows, left=3), lost, *found)
