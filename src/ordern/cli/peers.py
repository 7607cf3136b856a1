"""Other libraries on the same robot and the same states, for `ordern bench`: what they are asked, and their answers.

The robot is handed over as URDF or MJCF text. What a format cannot say may make it another robot; so answers are
compared before anything is timed, and where they differ there is no figure.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..conversion import convert
from ..errors import OrdernError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["AGREEMENT", "MuJoCo", "Pinocchio", "difference", "peers"]

Array = NDArray[Any]
Call = Callable[[], object]

AGREEMENT = 1e-6
"""Relative: another robot is off by far more, rounding by far less."""
_PINOCCHIO = {"inverse_dynamics": "rnea", "forward_dynamics": "aba", "mass_matrix": "crba"}


def peers(robot: Robot) -> tuple[dict[str, Any], list[str]]:
    """Return the peers that can load this robot, and for each other one the reason why it cannot."""
    found: dict[str, Any] = {}
    notes = []
    for cls in (Pinocchio, MuJoCo):
        try:
            found[cls.name] = cls(robot)
        except ImportError:
            notes.append(f"{cls.name} is not installed: pip install {cls.package}")
        except (OrdernError, ValueError, RuntimeError, AssertionError) as e:
            notes.append(f"{cls.name} cannot have {robot.name!r}: {str(e).splitlines()[0][:160]}")
    return found, notes


def difference(mine: Array, theirs: Array) -> float:
    """The largest difference, relative to the largest entry; infinity where something is not finite."""
    apart = float(np.abs(mine - theirs).max(initial=0.0)) / max(float(np.abs(theirs).max(initial=0.0)), 1e-300)
    return apart if np.isfinite(apart) else np.inf


class Pinocchio:
    """Its rnea, aba and crba: called from Python, and in batches in C++ alone."""

    name, package = "Pinocchio", "pin"

    def __init__(self, robot: Robot) -> None:
        pinocchio: Any = import_module("pinocchio")
        self.pin = pinocchio
        self.version = str(pinocchio.__version__)
        self.model = pinocchio.buildModelFromXML(robot.to_urdf(lossy=True))
        self.model.gravity.linear = np.array(robot.gravity)
        self.converter = convert(robot, self.model)
        armature = np.array([x for c in robot.independent for x in c.armature])
        self.model.armature = self.converter.to_peer(robot.neutral(), armature)[1]
        self.pool = pinocchio.ModelPool(self.model, 1)
        self.data = self.model.createData()

    def answer(self, question: str, state: tuple[Array, ...]) -> Array | None:
        """The answer for one of our states, in our coordinates."""
        function = getattr(self.pin, _PINOCCHIO[question])
        found = np.array(function(self.model, self.data, *self._theirs(question, state)))
        if question == "mass_matrix":
            found = np.triu(found) + np.triu(found, 1).T
            B = self.converter.velocity_matrix(state[0])
            return np.asarray(B.T @ found @ B)
        q_, v_, *_ = self._theirs(question, state)
        key = "tau" if question == "inverse_dynamics" else "a"
        return np.asarray(self.converter.from_peer(q_, v_, **{key: found})[-1])

    def single(self, question: str, state: tuple[Array, ...]) -> Call:
        """One state per call, from Python."""
        function, model, data = getattr(self.pin, _PINOCCHIO[question]), self.model, self.data
        theirs = self._theirs(question, state)
        return lambda: function(model, data, *theirs)

    def batch(self, question: str, states: tuple[Array, ...]) -> Call | None:
        """All states in C++, in one thread; there is no such function for the mass matrix.

        Nor is it called for a robot of one freedom: it takes an array of one row for a vector, and writes past its end.
        """
        function = getattr(self.pin, f"{_PINOCCHIO[question]}InParallel", None)
        if function is None or self.model.nv == 1:
            return None
        columns = [np.asfortranarray(x.T) for x in self._theirs(question, states)]
        out, pool = np.empty_like(columns[1]), self.pool
        return lambda: function(1, pool, *columns, out)

    def _theirs(self, question: str, state: tuple[Array, ...]) -> tuple[Array, ...]:
        if question == "mass_matrix":
            return (np.asarray(self.converter.to_peer(state[0])),)
        q, v, x = state
        key = "a" if question == "inverse_dynamics" else "tau"
        return tuple(np.ascontiguousarray(y) for y in self.converter.to_peer(q, v, **{key: x}))


class MuJoCo:
    """Its mj_inverse and mj_forward, called from Python, and its rollout; contacts and constraints are off."""

    name, package = "MuJoCo", "mujoco"

    def __init__(self, robot: Robot) -> None:
        mujoco: Any = import_module("mujoco")
        self.mujoco = mujoco
        self.version = str(mujoco.__version__)
        self.model = mujoco.MjModel.from_xml_string(robot.to_mjcf(lossy=True))
        off = mujoco.mjtDisableBit
        for flag in (off.mjDSBL_CONTACT, off.mjDSBL_CONSTRAINT, off.mjDSBL_EULERDAMP):
            self.model.opt.disableflags |= int(flag)
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
        self.converter = convert(robot, self.model)
        self.data = mujoco.MjData(self.model)

    def answer(self, question: str, state: tuple[Array, ...]) -> Array | None:
        """The answer for one of our states, in our coordinates."""
        call = self.single(question, state)
        if call is None:
            return None
        call()
        d, c = self.data, self.converter
        if question == "inverse_dynamics":
            return np.asarray(c.from_peer(d.qpos, d.qvel, tau=d.qfrc_inverse)[-1])
        return np.asarray(c.from_peer(d.qpos, d.qvel, a=d.qacc)[-1])

    def single(self, question: str, state: tuple[Array, ...]) -> Call | None:
        """One state per call, from Python; what has to be written to its data before is not timed."""
        if question == "mass_matrix":
            return None
        d, (q, v, x) = self.data, state
        key, field, function = {
            "inverse_dynamics": ("a", "qacc", self.mujoco.mj_inverse),
            "forward_dynamics": ("tau", "qfrc_applied", self.mujoco.mj_forward),
        }[question]
        d.qpos[:], d.qvel[:], values = self.converter.to_peer(q, v, **{key: x})
        getattr(d, field)[:] = values
        model = self.model
        return lambda: function(model, d)

    def batch(self, question: str, states: tuple[Array, ...]) -> Call | None:
        """There is none."""
        return None

    def rollout(self, q0: Array, v0: Array, tau: Array, steps: int, dt: float, threads: int) -> tuple[Call, Any]:
        """Trajectories by its thread pool, and what gives their last positions, in our coordinates."""
        rollout: Any = import_module("mujoco.rollout")
        self.model.opt.timestep = dt
        q, v, force = self.converter.to_peer(q0, v0, tau=tau)
        initial = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
        control = np.repeat(np.ascontiguousarray(force[:, None]), steps, axis=1)
        pool, spec = rollout.Rollout(nthread=threads), int(self.mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        datas = [self.mujoco.MjData(self.model) for _ in range(threads)]

        def run() -> Any:
            return pool.rollout(self.model, datas, initial, control, control_spec=spec, nstep=steps)[0]

        nq = self.model.nq
        return run, lambda: self.converter.from_peer(run()[:, -1, 1 : 1 + nq])
