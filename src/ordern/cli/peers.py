"""Other libraries on the same robot and the same states, for `ordern bench`: their functions and results.

They load the robot from URDF or MJCF text. Parts that a format cannot express may make it another robot; so results
are compared before anything is timed, and where they differ there is no figure.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Array
from ..conversion import convert
from ..errors import OrdernError

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["AGREEMENT", "MuJoCo", "Pinocchio", "difference", "peers"]

Call = Callable[[], object]

AGREEMENT = 1e-6
"""The largest relative difference between results for one robot: rounding is far below, another robot far above."""
_PINOCCHIO = {"inverse_dynamics": "rnea", "forward_dynamics": "aba", "mass_matrix": "crba"}
_TERMS = {"inverse_dynamics": ("a", "tau"), "forward_dynamics": ("tau", "a")}
"""The third argument of each function, and its result."""


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
            notes.append(f"{cls.name} cannot load {robot.name!r}: {str(e).splitlines()[0][:160]}")
    return found, notes


def difference(mine: Array, theirs: Array) -> float:
    """Return the largest difference, relative to the largest entry; infinity where something is not finite."""
    apart = float(np.abs(mine - theirs).max(initial=0.0)) / max(float(np.abs(theirs).max(initial=0.0)), 1e-300)
    return apart if np.isfinite(apart) else np.inf


class Pinocchio:
    """Pinocchio's rnea, aba and crba: called from Python, and in batches in C++ alone."""

    name, package = "Pinocchio", "pin"

    def __init__(self, robot: Robot) -> None:
        self.pin: Any = import_module("pinocchio")
        self.version = str(self.pin.__version__)
        self.model = self.pin.buildModelFromXML(robot.to_urdf(lossy=True))
        self.model.gravity.linear = np.array(robot.gravity)
        self.converter = convert(robot, self.model)
        armature = np.array([x for c in robot.independent for x in c.armature])
        self.model.armature = self.converter.to_peer(robot.neutral(), armature)[1]
        self.pool = self.pin.ModelPool(self.model, 1)
        self.data = self.model.createData()

    def answer(self, question: str, state: tuple[Array, ...]) -> Array | None:
        """Return the result for one of our states, in our coordinates."""
        theirs = self._theirs(question, state)
        found = np.array(getattr(self.pin, _PINOCCHIO[question])(self.model, self.data, *theirs))
        if question == "mass_matrix":
            found = np.triu(found) + np.triu(found, 1).T
            B = self.converter.velocity_matrix(state[0])
            return np.asarray(B.T @ found @ B)
        return np.asarray(self.converter.from_peer(*theirs[:2], **{_TERMS[question][1]: found})[-1])

    def single(self, question: str, state: tuple[Array, ...]) -> Call:
        """Return a call for one state, from Python."""
        function, model, data = getattr(self.pin, _PINOCCHIO[question]), self.model, self.data
        theirs = self._theirs(question, state)
        return lambda: function(model, data, *theirs)

    def batch(self, question: str, states: tuple[Array, ...]) -> Call | None:
        """Return a call for all states in C++, in one thread; there is no such function for the mass matrix.

        For a robot of one freedom it takes an array of one row for a vector, and writes past its end: it is not called.
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
        theirs = self.converter.to_peer(q, v, **{_TERMS[question][0]: x})
        return tuple(map(np.ascontiguousarray, theirs))


class MuJoCo:
    """MuJoCo's mj_inverse and mj_forward, called from Python, and its rollout; contacts and constraints are off."""

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
        """Return the result for one of our states, in our coordinates."""
        call = self.single(question, state)
        if call is None:
            return None
        call()
        d, key = self.data, _TERMS[question][1]
        found = {key: d.qfrc_inverse if key == "tau" else d.qacc}
        return np.asarray(self.converter.from_peer(d.qpos, d.qvel, **found)[-1])

    def single(self, question: str, state: tuple[Array, ...]) -> Call | None:
        """Return a call for one state, from Python; writing the state to its data beforehand is not timed."""
        if question == "mass_matrix":
            return None
        d, (q, v, x) = self.data, state
        inverse, model = question == "inverse_dynamics", self.model
        function = self.mujoco.mj_inverse if inverse else self.mujoco.mj_forward
        term = d.qacc if inverse else d.qfrc_applied
        d.qpos[:], d.qvel[:], term[:] = self.converter.to_peer(q, v, **{_TERMS[question][0]: x})
        return lambda: function(model, d)

    def batch(self, question: str, states: tuple[Array, ...]) -> Call | None:
        """Return None: MuJoCo has no function for batches."""
        return None

    def rollout(self, q0: Array, v0: Array, tau: Array, steps: int, dt: float, threads: int) -> tuple[Call, Any]:
        """Return a call for trajectories by its thread pool, and one for their last positions, in our coordinates."""
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
