# mypy: disable-error-code="empty-body"
"""`Grasp`: several arms that hold one object, as users see them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, broadcast_shapes, choice, real_number
from ..declared import explained_methods
from ..errors import ArgumentError
from ..joints import Placement
from ..kernel.declarations import delegated
from ..loops.consistent import Check
from ..model import Body
from ..robot import Robot
from ..rotations import pose as pose_of
from ..rotations import rotate
from .arguments import Numbers, Pose, by_name, finite, numbers, per_arm, poses, spread
from .arms import Arm, grouped
from .as_one_robot import whole_robot
from .consistent import ContactSizes, contact_sizes, require_fitting, tolerance_for
from .contacts import Contact, Parted
from .dense import DENSE
from .distribution import Distribution, distribute, internal_basis, internal_forces
from .motion import GraspMotion, Inputs
from .object_pose import pose_from_tips, velocity_from_tips
from .omega import RCOND, Omega
from .products import times, transposed
from .projecting import projected
from .recursive import RECURSIVE, compliance
from .state import GraspState

if TYPE_CHECKING:
    from ..simulate.events import Event
    from ..simulate.forces import Table
    from ..simulate.results.result import Result
    from .derivatives import GraspDerivatives, GraspRates
    from .monitor import Breach

    Force = ArrayLike | Table | Callable[[float, GraspState], ArrayLike] | None

__all__ = ["METHODS", "SOLVERS", "Grasp"]

METHODS = RECURSIVE | DENSE
SOLVERS = {"by-arms": Omega.solve, "dense": Omega.solve_dense}


@explained_methods
class Grasp:
    """Arms that hold an object, as one mechanism. Made by `on.grasp`; immutable.

    Positions q, velocities v and joint forces tau of all arms are one array (..., n), arm after arm, or a list with an
    array for each arm, all with any batch shape. The object's `pose` (4x4) and `velocity` (angular, linear; of its
    origin, in the world's axes) follow from the tips, unless the contacts have too many freedoms: then give them.
    Contact forces act from the tips on the object: (moment, force) at the contact, in the world's axes.
    """

    def __init__(
        self,
        name: str,
        arms: tuple[Arm, ...],
        object: Body | None,
        contacts: tuple[Contact, ...],
        gravity: Array,
        stands: Placement,
    ) -> None:
        self.name, self.arms, self.object, self.contacts = name, arms, object, contacts
        self.gravity, self.stands = gravity, stands
        self.groups = grouped(arms, contacts)
        self.nq, self.nv = arms[-1].q.stop, arms[-1].v.stop
        self.nc = sum(g.rows.size for g in self.groups)
        """The number of constraint rows of all contacts."""
        self.places = np.array([c.at.p for c in contacts])
        """(l, 3): the contacts in the object's frame."""
        self.turns = np.array([c.at.R for c in contacts])
        """(l, 3, 3): their axes."""

    def __repr__(self) -> str:
        held = "a fixed object" if self.object is None else repr(self.object.name)
        kinds = ", ".join(f"{c.name} {type(c).__name__.lower()}" for c in self.contacts[:6])
        more = ", ..." if self.contacts[6:] else ""
        arms = f"{len(self.arms)} arms" if len(self.arms) > 1 else "one arm"
        return f"<Grasp of {held} by {arms}, nv={self.nv}: {kinds}{more}>"

    # ---- where everything is

    def state(self, q: ArrayLike, v: Numbers = None, pose: Pose = None, velocity: Numbers = None) -> GraspState:
        """Return the state at positions and velocities (zero by default): see `GraspState`."""
        qs = per_arm(self.arms, q, "q")
        finite(self.arms, qs, "q")
        vs = per_arm(self.arms, np.zeros(self.nv) if v is None else v, "v")
        X = None if pose is None else poses(pose)
        V = None if velocity is None else numbers(velocity, "`velocity`", (6,))
        if self.object is None:
            X = self.stands.matrix if X is None else X
        if self.object is None or (v is None and V is None):
            V = np.zeros(6)
        shapes = [x.shape[:-1] for x in (*qs, *vs, V) if x is not None]
        shape = broadcast_shapes("grasp", *shapes, () if X is None else X.shape[:-2])
        tips = None
        if X is None:
            qs = tuple(spread(x, shape) for x in qs)
            tips = self._tip_poses(qs)
            X = pose_from_tips(self, tips)
        state = GraspState(self, qs, vs, X, np.zeros(6) if V is None else V).spread(shape)
        if tips is not None:
            state.__dict__["tip_poses"] = tips
        return state.moving_at(velocity_from_tips(state)) if V is None else state

    @cached_property
    def sizes(self) -> ContactSizes:
        """The sizes of contacts and arms, relative to which misfits are measured."""
        return contact_sizes(self)

    def object_pose(self, q: ArrayLike, *, check: Check = True) -> Array:
        """Return the object's pose, (..., 4, 4), at positions of the arms."""
        return self._place(q, None, check, "grasp.object_pose").pose

    def object_velocity(self, q: ArrayLike, v: ArrayLike, pose: Pose = None, *, check: Check = True) -> Array:
        """Return the velocity V(C) of the object's origin, (..., 6), from those of the tips, in least squares (2.8)."""
        state = self.state(q, v, pose)
        require_fitting(state, tolerance_for(check, q, v, pose), "grasp.object_velocity")
        return state.velocity

    def contact_index(self, name: str | int) -> int:
        """Return the index of a contact, by its name."""
        names = [c.name for c in self.contacts]
        if isinstance(name, (int, np.integer)) and 0 <= name < len(names):
            return int(name)
        return names.index(choice("contact", name, names, self.name))

    def arm_of(self, contact: int) -> Arm:
        """Return the arm of a contact."""
        return next(a for a in self.arms if a.contacts.start <= contact < a.contacts.stop)

    def released(self, *contacts: str | int) -> Grasp:
        """Return the grasp with some contacts released; their arms no longer touch the object."""
        gone = {self.contact_index(c) for c in contacts}
        left = tuple(Parted(c.at, c.on_tip, c.surface, c.name) if i in gone else c for i, c in enumerate(self.contacts))
        return Grasp(self.name, self.arms, self.object, left, self.gravity, self.stands)

    def _tip_poses(self, qs: tuple[Array, ...]) -> Array:
        """Return the poses of the tips in the world, (..., l, 4, 4)."""
        return self._tips((4, 4), lambda g, tip, q: pose_of(g.turn, g.shift) @ g.robot.pose(q, tip), qs)

    def _tip_velocities(self, qs: tuple[Array, ...], vs: tuple[Array, ...]) -> Array:
        """Return the velocities of the tips, (..., l, 6), in the world's axes."""
        return self._tips((6,), lambda g, tip, q, v: g.world(g.robot.velocity(q, v, tip, axes="world")), qs, vs)

    def _tip_accelerations(self, qs: tuple[Array, ...], vs: tuple[Array, ...], accs: tuple[Array, ...]) -> Array:
        """Return the tips' accelerations alpha(0) = J th'' + Jdot th', (..., l, 6), in the world's axes."""
        return self._tips(
            (6,), lambda g, tip, q, v, a: g.world(g.robot.acceleration(q, v, a, tip, axes="world")), qs, vs, accs
        )

    def _tips(self, core: tuple[int, ...], function: Callable[..., Array], *by_arm: tuple[Array, ...]) -> Array:
        """Return `function(group, tip, *arrays)` of every tip, by contacts: (..., l, *core)."""
        found = np.empty((*by_arm[0][0].shape[:-1], len(self.contacts), *core))
        for g in self.groups:
            arrays = [np.stack([x[k] for k in g.arms], axis=-2) for x in by_arm]
            for k, tip in enumerate(g.tips):
                at: Any = (..., g.contacts[:, k], *(slice(None) for _ in core))
                found[at] = function(g, tip, *arrays)
        return found

    def _split(self, x: Array, kind: str = "v") -> tuple[Array, ...]:
        return tuple(x[..., getattr(a, kind)] for a in self.arms)

    # ---- dynamics

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        method: str | None = None,
        *,
        pose: Pose = None,
        velocity: Numbers = None,
        wrench: Numbers = None,
        solver: str = "by-arms",
        arm_method: str | None = None,
        rcond: float = RCOND,
        check: Check = True,
    ) -> GraspMotion:
        """Return the accelerations of all joints and of the object, and the contact forces, due to joint forces `tau`.

        Methods: "rccfd1", "rccfd2" (the default), "rccfd3" and "rccfd-fd4" are recursions of order n. "general" takes
        four steps with any method of forward dynamics for the arms, `arm_method`; it is the default with mimic joints,
        and the only method for arms with closed loops. "direct" (2.11), "reduced" (2.14), "closed-form" (3.6) and
        "appendix-b" (b.9) are of order n^3. The first five solve for contact forces "by-arms", of order l, or "dense",
        of order l^3. `wrench` is an additional (moment, force) on the object at its origin, in the world's axes. As in
        `Robot.forward_dynamics`, springs and friction of joints are not included. Singular values below `rcond` times
        the largest count as zero.

        A state in which tips and object do not fit, or do not move together, is an `InconsistentStateError`. The
        tolerance is 1e-3 of the arm's length and speed (2e-3 in single precision). `check` may be another tolerance, or
        False to skip the check. Loops of the arms are checked as well.
        """
        state = self.state(q, v, pose, velocity)
        most = tolerance_for(check, q, v, pose, velocity)
        return self.dynamics(
            state, tau, method, wrench=wrench, solver=solver, arm_method=arm_method, rcond=rcond, check=most or False
        )

    def dynamics(
        self,
        state: GraspState,
        tau: ArrayLike,
        method: str | None = None,
        *,
        wrench: Numbers = None,
        solver: str = "by-arms",
        arm_method: str | None = None,
        rcond: float = RCOND,
        check: Check = True,
    ) -> GraspMotion:
        """Return the same as `forward_dynamics` for a state."""
        method = self.usual_method(arm_method) if method is None else method
        choice("method", method, METHODS, "grasp")
        if arm_method is not None and method != "general":
            raise ArgumentError(f"grasp: arm_method={arm_method!r} is for method='general'; {method!r} has its own")
        choice("solver", solver, SOLVERS, "grasp")
        load = None if wrench is None else numbers(wrench, "`wrench`", (6,))
        taus = per_arm(self.arms, tau, "tau")
        shapes = [x.shape[:-1] for x in taus] + ([] if load is None else [load.shape[:-1]])
        shape = broadcast_shapes("grasp: state and forces", state.shape, *shapes)
        if not 0.0 <= real_number(rcond) < 1.0:
            raise ArgumentError(f"grasp: rcond must be a number from 0 to 1, not {rcond!r}")
        require_fitting(state, tolerance_for(check), "grasp.forward_dynamics")
        if shape != state.shape:
            state = state.spread(shape)
        taus = tuple(spread(x, shape) for x in taus)
        return METHODS[method](Inputs(state, taus, load, SOLVERS[solver], arm_method, rcond))

    def usual_method(self, arm_method: str | None = None) -> str:
        """Return the default method of `forward_dynamics`."""
        return "general" if arm_method is not None or any(g.coupled for g in self.groups) else "rccfd2"

    # ---- derivatives

    @cached_property
    def closed_robot(self) -> Robot:
        """Arms and object as one robot whose contacts are loops: for `linearise`, and derivatives of any function.

        Its positions are those of `robot`. A contact is a condition on velocities of the object relative to the tip.
        """
        from .derivatives import closed_robot

        return closed_robot(self)

    def derivatives(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, pose: Pose = None, velocity: Numbers = None,
        wrench: Numbers = None, wrt: str | Sequence[str] | None = None, check: Check = True,
    ) -> Any:  # fmt: skip
        """Return the derivatives of `forward_dynamics`: a named tuple by argument, whose entries are `GraspRates`.

        The arguments are q, v, tau, pose, velocity, and wrench if it is given; `wrt` picks some of them. All vary by
        themselves, also a pose and a velocity that follow from the tips: a change of a state keeps the contacts if it
        changes arms and object together. The tangent of a pose is a velocity (angular, linear) in the object's axes;
        the velocity and the wrench are constant in the world's axes meanwhile. `d.q.accelerations` is (..., nv, nv).
        """
        found = self._differentiated(q, v, tau, pose, velocity, wrench, check)
        return found.matrices(found.varied(wrt))

    def jvp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, tangents: Mapping[str, ArrayLike], *, pose: Pose = None,
        velocity: Numbers = None, wrench: Numbers = None, check: Check = True,
    ) -> GraspRates:  # fmt: skip
        """Return the changes of accelerations and contact forces along tangents of arguments, given by name."""
        found = self._differentiated(q, v, tau, pose, velocity, wrench, check)
        names = found.varied(tuple(by_name("grasp.jvp: tangents", tangents)))
        sizes = {"pose": 6, "velocity": 6, "wrench": 6}
        return found.jvp({x: numbers(tangents[x], f"the tangent of `{x}`", (sizes.get(x, self.nv),)) for x in names})

    def vjp(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, cotangents: Mapping[str, ArrayLike], *, pose: Pose = None,
        velocity: Numbers = None, wrench: Numbers = None, wrt: str | Sequence[str] | None = None, check: Check = True,
    ) -> Any:  # fmt: skip
        """Return the gradient of the sum of cotangents times answers by the arguments, a named tuple.

        `cotangents` are arrays by names of answers: accelerations (..., nv), object_acceleration (..., 6), forces
        (..., l, 6).
        """
        found = self._differentiated(q, v, tau, pose, velocity, wrench, check)
        shapes = {"accelerations": (self.nv,), "object_acceleration": (6,), "forces": (len(self.contacts), 6)}
        for x in by_name("grasp.vjp: cotangents", cotangents):
            choice("answer", x, shapes, "grasp.vjp")
        shape, parts = found.state.shape, []
        for x, core in shapes.items():
            one = numbers(cotangents.get(x, np.zeros(core)), f"the cotangent of `{x}`", core)
            parts.append(np.broadcast_to(one, (*shape, *core)).reshape(*shape, -1))
        return found.vjp(np.concatenate(parts, axis=-1), found.varied(wrt))

    def _differentiated(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, pose: Pose, velocity: Numbers, wrench: Numbers, check: Check
    ) -> GraspDerivatives:
        from .derivatives import GraspDerivatives

        state = self.state(q, v, pose, velocity)
        require_fitting(state, tolerance_for(check, q, v, pose, velocity), "grasp.derivatives")
        load = None if wrench is None else numbers(wrench, "`wrench`", (6,))
        taus = per_arm(self.arms, tau, "tau")
        shapes = [x.shape[:-1] for x in taus] + ([] if load is None else [load.shape[:-1]])
        shape = broadcast_shapes("grasp: state and forces", state.shape, *shapes)
        force = np.concatenate([spread(x, shape) for x in taus], axis=-1)
        return GraspDerivatives(state.spread(shape), force, None if load is None else spread(load, shape))

    def omega(self, q: ArrayLike, pose: Pose = None, rcond: float = RCOND, *, check: Check = True) -> Omega:
        """Return Omega = J M^-1 J^T + A M(C)^-1 A^T at positions: `.full`, `.inverse`, `.rank`; see `Omega`.

        Its inverse is the inertia of the whole mechanism at the contacts: contact forces per relative acceleration of
        tips and object.
        """
        state = self.state(q, None, pose)
        require_fitting(state, tolerance_for(check, q, pose), "grasp.omega", moving=False)
        return Omega(state, compliance(state), rcond)

    def joint_forces(self, q: ArrayLike, forces: ArrayLike, v: Numbers = None, a: Numbers = None) -> tuple[Array, ...]:
        """Return joint forces of each arm, (..., nv), for contact forces (..., l, 6) and a motion (rest by default)."""
        f = numbers(forces, "`forces`", (len(self.contacts), 6))
        rest = np.zeros(self.nv)
        given = (("q", q), ("v", rest if v is None else v), ("a", rest if a is None else a))
        motions = zip(self.arms, *(per_arm(self.arms, x, name) for name, x in given), strict=True)
        found = []
        for arm, *motion in motions:
            tau = arm.robot.inverse_dynamics(*motion)
            for tip, F in zip(arm.tips, np.moveaxis(f[..., arm.contacts, :], -2, 0), strict=True):
                J = arm.robot.jacobian(motion[0], tip, axes="world")
                tau = tau + times(transposed(J), rotate(arm.base.R.T, F))
            found.append(tau)
        return tuple(found)

    # ---- forces

    def grasp_matrix(self, q: Numbers = None, pose: Pose = None, *, check: Check = True) -> Array:
        """Return A^T E, (..., 6, rows), from contact forces, by rows, to the wrench on the object at its origin.

        Positions q in which tips do not fit the object are an error, unless `check` is False.
        """
        return transposed(self._place(q, pose, check, "grasp.grasp_matrix").all_F)

    def distribute(
        self, wrench: ArrayLike, q: Numbers = None, pose: Pose = None, weights: Numbers = None, *, check: Check = True
    ) -> Distribution:
        """Return contact forces that exert `wrench` (moment, force) on the object at its origin, in the world's axes.

        They have the least sum of squares, or of `weights` times squares, with one weight for each contact, (l,), or
        for each component (moment, force) in the contact's axes, (l, 6). See `Distribution`.
        """
        w = numbers(wrench, "`wrench`", (6,))
        return distribute(self._place(q, pose, check, "grasp.distribute"), w, weights)

    def internal_forces(
        self, forces: ArrayLike, q: Numbers = None, pose: Pose = None, weights: Numbers = None, *, check: Check = True
    ) -> Array:
        """Return the part of contact forces (..., l, 6) that squeezes the object and does not move it, (..., l, 6)."""
        f = numbers(forces, "`forces`", (len(self.contacts), 6))
        return internal_forces(self._place(q, pose, check, "grasp.internal_forces"), f, weights)

    def internal_basis(self, q: Numbers = None, pose: Pose = None, *, check: Check = True) -> Array:
        """Return a basis of internal forces: (..., k, l, 6), orthonormal, with no net wrench on the object."""
        return internal_basis(self._place(q, pose, check, "grasp.internal_basis"))

    def _place(self, q: Numbers, pose: Pose, check: Check, what: str) -> GraspState:
        """Return a state of which only the object's pose is used."""
        if pose is not None:
            return self.state(np.concatenate([a.robot.neutral() for a in self.arms]), None, pose)
        if q is None:
            raise ArgumentError("grasp: give the object's `pose`, or the arms' positions `q` from which it follows")
        state = self.state(q)
        require_fitting(state, tolerance_for(check, q), what, moving=False)
        return state

    def monitor(
        self, forces: ArrayLike, q: Numbers = None, pose: Pose = None, t: float = 0.0, *, check: Check = True
    ) -> tuple[Breach, ...]:
        """Return the one-sided contacts that forces (l, 6) of one state would part, slip, spin or tip."""
        from .monitor import breaches

        f = numbers(forces, "`forces`", (len(self.contacts), 6))
        state = self._place(q, pose, check, "grasp.monitor")
        if f.ndim > 2 or state.shape:
            raise ArgumentError(f"grasp: monitor is for one state, not for forces {f.shape} and a batch {state.shape}")
        return breaches(state, f, t)

    # ---- motion

    def project(self, q: ArrayLike, v: Numbers = None, pose: Pose = None, velocity: Numbers = None) -> GraspState:
        """Return the nearest state in which all tips are on the object and move with it."""
        return projected(self.state(q, v, pose, velocity))

    @cached_property
    def robot(self) -> Robot:
        """Arms and object as one robot without the contacts: for energies, figures and the viewer.

        Its positions are those of the arms, and at the end the object's quaternion and position.
        """
        return whole_robot(self)

    @delegated("grasping.simulate")
    def simulate(
        self,
        q0: ArrayLike,
        v0: Numbers = None,
        tau: Force = None,
        until: ArrayLike = 1.0,
        *,
        pose: Pose = None,
        velocity: Numbers = None,
        wrench: Force = None,
        method: str = "dormand-prince-8",
        dynamics: str | None = None,
        step: float | None = None,
        rtol: float = 1e-10,
        atol: float = 1e-10,
        tolerance: str = "motion",
        events: Sequence[Event] = (),
        limits: str = "ignore",
        restitution: float = 0.0,
        project: bool = True,
        breach: str = "warn",
        smoothing: float = 0.01,
        dense: bool = True,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | Callable[[float], Any] | None = None,
        max_steps: int = 10_000_000,
    ) -> Result:
        """Return the motion of arms and object from a state, until a time in seconds (or at a list of times).

        `tau` are joint forces as in `forward_dynamics`, or a function f(t, state) of a `GraspState`; so is `wrench`.
        Springs, dampers and friction of joints act. Tips must be on the object at the start and move with it;
        `grasp.project` returns such a state. After each step the state is projected in the same way, unless `project`
        is False. `breach` is the treatment of a one-sided contact that would part, slip, spin or tip: "warn" (the
        contact is held on), "stop" the run there, or "release" the contact for good. `dynamics` is the method of
        `forward_dynamics`.

        The other arguments are those of `Robot.simulate`: the integrator's `method`, `step`, `rtol`, `atol` and
        `tolerance`, `events` (functions of t, and q and v of `grasp.robot`), `dense`, `checkpoint`, `progress` and
        `max_steps`. `limits` of the arms' joints are ignored (but reported), "stop" the run, or let joints "bounce"
        with a coefficient of `restitution`, and rest. An impact acts on all arms, contacts and the object; a one-sided
        contact whose impulse is too large is a breach.

        The result is one of `grasp.robot`. Breaches are among its `events`. `result["force.<contact>"]` has the contact
        forces, `result["residual"]` the distance between tips and object, `result.report` the energy balance.
        """
