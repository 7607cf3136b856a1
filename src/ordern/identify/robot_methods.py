# mypy: disable-error-code="empty-body"
"""The methods of `Robot` that are about identification."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ..algorithms.closed_loop.rank import TOLERANCE
from ..kernel.declarations import Answering, Array, Device, Out, Threads, answers, delegated
from ..model import BASE, Frame

if TYPE_CHECKING:
    from ..loops.consistent import Check
    from .base import BaseParameters
    from .calibrate import Calibration
    from .estimate import Estimate
    from .exciting import ExcitingTrajectory
    from .identifiability import Identifiability
    from .log import Log

__all__ = ["IdentifyMethods"]

_WORLD = Frame("world", BASE)


class IdentifyMethods(Answering):
    """Regressors and base parameters, as methods of a robot.

    The columns of every regressor belong to the numbers of `parameters.theta`, which `parameters.theta_labels` names.
    """

    @answers
    def inverse_dynamics_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, threads: Threads = None, out: Out = None, *,
        device: Device = None,
        smoothing: ArrayLike = 0.01, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the matrix Y with `inverse_dynamics` - `passive_force` = Y theta, of shape (..., nv, P).

        These are the forces of the actuators: those of `inverse_dynamics`, and those that overcome damping and friction
        in the joints. theta is `robot.parameters.theta`: ten inertial parameters for each body, then armature, damping
        and Coulomb friction of each degree of freedom. Springs and external forces are not linear in theta, and are not
        included. Friction is smoothed as in `passive_force`, with the same default; with `smoothing=0` it is
        `friction * sign(v)`. For a robot with loops it is the regressor of the tree; see `actuation_regressor` for the
        closed mechanism.

        >>> import ordern as on
        >>> arm = on.load("puma560").vary(damping=0.2, joint_friction=0.5, fold=True)
        >>> q, v, a = arm.random(0), [0.1] * 6, [0.2] * 6
        >>> Y = arm.inverse_dynamics_regressor(q, v, a)
        >>> forces = arm.inverse_dynamics(q, v, a) - arm.passive_force(q, v)
        >>> bool(abs(Y @ arm.parameters.theta - forces).max() < 1e-12)
        True
        """

    @answers
    def joint_wrench_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, threads: Threads = None, out: Out = None, *,
        device: Device = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the matrices W with `joint_wrenches` = W theta, of shape (..., n, 6, P).

        Each is the (moment, force) that a joint transmits to its body, about the body's origin and in its axes: what a
        force sensor between the two measures. theta is as in `inverse_dynamics_regressor`; columns of drives are zero.
        """

    @answers
    def base_wrench_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, threads: Threads = None, out: Out = None, *,
        device: Device = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the matrix W with the (moment, force) of the base on the robot = W theta, of shape (..., 6, P).

        It is about the origin of the base and in its axes: what a force plate under the robot measures, but for a
        constant. theta is as in `inverse_dynamics_regressor`; columns of drives are zero.
        """

    @answers
    def momentum_regressor(
        self,
        q: ArrayLike,
        v: ArrayLike,
        frame: str | Frame = _WORLD,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the matrix H with `momentum(q, v, frame)` = H theta, of shape (..., 6, P).

        theta is as in `inverse_dynamics_regressor`; columns of drives are zero.
        """

    @answers
    def kinetic_energy_regressor(
        self, q: ArrayLike, v: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None,
        base_velocity: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the numbers y with `kinetic_energy` = y . theta, of shape (..., P).

        theta is as in `inverse_dynamics_regressor`; columns of damping and friction are zero.
        """

    @answers
    def potential_energy_regressor(
        self, q: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None
    ) -> Array:
        """Return the numbers y with `potential_energy` = y . theta, of shape (..., P).

        theta is as in `inverse_dynamics_regressor`; columns of second moments and of drives are zero.
        """

    @delegated("identify.closed")
    def actuation_regressor(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, actuated: Sequence[str] | None = None,
        weights: ArrayLike | Mapping[str, float] | None = None, *, smoothing: ArrayLike = 0.01,
        t: ArrayLike | None = None, tolerance: float = TOLERANCE, check: Check = True,
    ) -> Array:  # fmt: skip
        """Return the matrix Y with the forces of the `actuated` joints of a mechanism = Y theta, (..., m, P).

        These are the forces `u` of `actuation`, in the order of its `labels`, and those that overcome damping and
        friction in the joints of the tree; the loops alone move all other joints. The motion must keep the loops
        closed. theta is as in `inverse_dynamics_regressor`, the other arguments are as in `actuation`. A motion that
        the drives cannot cause is an error.
        """

    @delegated("identify.excitation")
    def base_parameters(
        self, of: str = "inverse_dynamics", method: str = "numeric", tolerance: float = 1e-9, rng: Any = 0
    ) -> BaseParameters:
        """Return the combinations of parameters that measurements can determine, and what they cannot, in words.

        `of` is the regressor: "inverse_dynamics" (joint forces), "joint_wrench", "base_wrench", "momentum",
        "kinetic_energy" or "potential_energy". The "numeric" method uses the regressor of random motions: the rank is
        the number of pivots of QR with pivoting, its columns scaled to unit length, above `tolerance` times the first
        one. The method "tree" uses the rules of Gautier and Khalil, without any motion. It is exact for arms of hinges
        and slides in general position, and may find too many parameters for other joint types and mimic joints. Both
        are for a base at rest.

        >>> import ordern as on
        >>> base = on.load("planar-3r").base_parameters()
        >>> len(base), base.names[0]
        (17, 'link1.zz + 0.09 link2.mass + 0.09 link3.mass + joint1.armature')
        """

    @delegated("identify.identifiability")
    def identifiability(
        self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None, noise: ArrayLike = 1.0,
        of: str = "inverse_dynamics", smoothing: ArrayLike = 0.01, base: BaseParameters | None = None,
    ) -> Identifiability:  # fmt: skip
        """Return how well motions, (N, ...) samples of q, v and a, determine the base parameters of the robot.

        `noise` is the standard deviation of the measured forces, one number or one for each. The result has the
        condition number, the standard deviation of each parameter that least squares will have, and the parameters that
        the motions do not excite; `report` has all of it in words. No forces need to be measured. `of` and `smoothing`
        are as in `base_parameters` and `inverse_dynamics_regressor`; `base` are base parameters that are known already.
        """

    @delegated("identify.identification")
    def identify(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike, only: Sequence[str] | None = None,
        noise: ArrayLike | None = None, consistent: bool | str = False, prior: float = 0.01,
        smoothing: float = 0.01, held_out: float = 0.0, average: int = 1, exact: bool = False,
        robust: bool = False, instruments: Sequence[ArrayLike] | None = None, offsets: bool = False,
        stribeck: ArrayLike | str | None = None,
    ) -> Estimate:  # fmt: skip
        """Return the parameters of the robot from measured motions, samples (N, ...), and forces of its drives `tau`.

        Weighted least squares estimate the base parameters, in one pass over the samples. Forces are weighted by their
        `noise`, a standard deviation for each; unless given, it is estimated from what the parameters leave of them.
        `only` names what to estimate: bodies, joints, labels of parameters, or "inertia", "armature", "damping" and
        "joint_friction"; all other parameters are taken as they are. With `consistent`, the parameters are such that
        bodies can have them, and those that forces do not determine stay near the robot's own. `prior` is the weight of
        these, in units of the log-likelihood. With `consistent="lmi"`, linear matrix inequalities take the place of the
        prior; this needs Clarabel (`ordern[lmi]`). The part `held_out` of the samples, from the end, judges the
        estimate. With `average`, so many samples in a row are replaced by the means of regressor and forces: noise that
        is correlated from sample to sample averages out, so that deviations are right. Sums of products are taken over
        samples; `exact` takes QR factors instead, which is slower, and is done anyway where the motions are badly
        conditioned. Springs of joints and drag of bodies count as known forces. Coulomb friction is smoothed within the
        velocity `smoothing`, as in `passive_force` and in simulations; with zero it is `friction * sign(v)`. Of a robot
        with loops, `tau` are the forces of `robot.actuated`.

        With `robust`, forces that are far off count less (Huber's weights). `instruments` is the motion (q, v, a) that
        the robot was told to follow, sample by sample: with it, noise in the measured motion does not bias the
        estimate. With `offsets` each joint force has a constant, with `stribeck` friction is larger near rest, by a
        force times exp(-(v / stribeck)^2): a velocity, one for each joint, or "search" to find them. The robot of the
        estimate has neither.
        """

    @delegated("identify.log")
    def read_log(
        self,
        source: str | os.PathLike[str] | Mapping[str, ArrayLike],
        force_scale: Mapping[str, float] | ArrayLike = 1.0,
        topics: str | Sequence[str] | None = None,
    ) -> Log:
        """Return a log of measured motions: a file, or arrays by name.

        Files are `.csv`, `.npz`, `.parquet` (needs `ordern[data]`), `.h5` (needs `ordern[hdf5]`), and recordings:
        `.mcap` (needs `ordern[mcap]`) and bags of ROS 2, a `.db3` file or the folder of a bag. Recordings have messages
        of the type sensor_msgs/JointState, in the `topics` that are named, or in the only one. Other files have
        columns: "t" (seconds), "q.<joint>" and "tau.<joint>", and if they were measured "v.<joint>" and "a.<joint>", in
        any order; a joint's name alone is its position. Arrays have these names, or are whole: "t" (N,), "q" (N, nq),
        "tau" (N, nv). `force_scale` multiplies the forces: gear ratios times torque constants, if they are currents of
        motors, by the names of joints.
        """

    @delegated("identify.calibrate")
    def calibrate(
        self, q: ArrayLike, measured: ArrayLike, frame: str | Frame | None = None, only: Sequence[str] | None = None,
        device: bool = False, target: bool = False,
    ) -> Calibration:  # fmt: skip
        """Return the robot with placements of joints from `measured` poses (N, 4, 4), or positions (N, 3), of a frame.

        `q` (N, nq) are the positions of the joints, and `frame` is the last body unless given. Measurements are in the
        frame of the robot's base. With `device`, they are in the coordinates of a measuring device, whose place is
        found, too; with `target`, so is the place of the measured target on the frame. `only` names the joints whose
        placements may change. Of changes that measurements cannot tell apart, the smallest are taken.
        """

    @delegated("identify.exciting")
    def exciting_trajectory(
        self, duration: float = 10.0, harmonics: int = 5, criterion: str = "determinant", noise: ArrayLike = 1.0,
        middle: ArrayLike | None = None, margin: float = 0.9, velocity_limit: ArrayLike | None = None,
        effort_limit: ArrayLike | None = None, rng: Any = 0, steps: int = 200, shape: str = "fourier",
        frames: Sequence[str] | None = None, least_height: float | None = None, obstacles: Sequence[ArrayLike] = (),
    ) -> ExcitingTrajectory:  # fmt: skip
        """Return a motion that shows the base parameters of the robot best, at rest at both ends.

        Its `shape` is a "fourier" series, so that it can be repeated without a stop, or a "spline", with as many
        coefficients as a series of so many harmonics.

        The criterion is the "determinant" of the covariance of all base parameters, or the "condition" number. The
        motion keeps within the part `margin` of the limits of position, velocity and effort of the robot; others may be
        given. Joints without limits of position keep within half a turn, or a metre, of zero. `middle` is the position
        about which the search begins, `noise` the standard deviation of each force. `steps` are those of the search
        (L-BFGS, with exact gradients), for each of three weights of the limits. Needs SciPy.

        The origins of `frames`, of the last body unless given, stay above `least_height` (m, along z of the world) and
        out of `obstacles`, spheres (x, y, z, radius). Between these origins nothing is checked: name a frame wherever
        the robot may touch something, and make spheres larger by the thickness of the robot.
        """
