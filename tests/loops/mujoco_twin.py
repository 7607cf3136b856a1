"""A robot with loops in MuJoCo: written as MJCF by us, with equality constraints as hard as they can be made there.

MuJoCo's constraints are springs with dampers: without other forces, a residual r dies out as r'' = -b r' - k r, and
beyond that constraints give way to forces by R, a share of what the mechanism gives way in all. R is made small by
letting MuJoCo believe that the mechanism gives way less than it does (`harden`); b and k follow from a time constant.

What velocities alone do to r'', K' v (the `loop_bias` of ours), MuJoCo knows since release 3.7 for `connect` and
`weld`, and in 4.0 still not for couplings of joints: such ones are pulled along by their springs, and accelerations are
those of another motion. `accelerations` gives MuJoCo the term: the rate of its own Jacobian, by differences.

Free joints differ: MuJoCo has q = (position, quaternion), v = (linear in the world's axes, angular in the body's).
"""

from __future__ import annotations

import mujoco
import numpy as np

import ordern as on

Array = np.ndarray

_OFF = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_REFSAFE
_HARDEST = (mujoco.mjMAXIMP, mujoco.mjMAXIMP, 0.001, 0.5, 2.0)
_STEP = 2e-4
"""Of the differences, in seconds: by Richardson's extrapolation their error is of fourth order."""


class Twin:
    """One mechanism in MuJoCo; joints are those of the robot, in its order."""

    def __init__(self, robot: on.Robot, text: str = "") -> None:
        """Of MJCF, by default the robot's own."""
        self.m = m = mujoco.MjModel.from_xml_string(text or robot.to_mjcf())
        m.opt.disableflags |= _OFF
        m.opt.solver, m.opt.jacobian = mujoco.mjtSolver.mjSOL_NEWTON, mujoco.mjtJacobian.mjJAC_DENSE
        m.opt.tolerance, m.opt.iterations, m.opt.ls_tolerance = 1e-15, 20, 1e-12
        m.eq_solimp[:] = _HARDEST
        self.d = mujoco.MjData(m)
        assert (m.nq, m.nv) == (robot.nq, robot.nv)
        names = [mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_JOINT, j) for j in range(m.njnt)]
        for name, at in zip(names, m.jnt_dofadr, strict=True):
            (own,) = (c for c in robot.joints if c.v.start <= at < c.v.stop)
            assert name.startswith(own.name)
        free = m.jnt_type == mujoco.mjtJoint.mjJNT_FREE
        self.free = list(zip(m.jnt_qposadr[free].tolist(), m.jnt_dofadr[free].tolist(), strict=True))

    def harden(self, factor: float) -> Twin:
        """Let constraints give way less, by a factor."""
        self.m.body_invweight0[:] *= factor
        self.m.dof_invweight0[:] *= factor
        return self

    # ---- their coordinates

    def positions(self, q: Array) -> Array:
        """Ours as MuJoCo's."""
        out = np.array(q, float)
        for at, _ in self.free:
            out[at : at + 7] = np.roll(q[at : at + 7], 3)
        return out

    def from_positions(self, qpos: Array) -> Array:
        """MuJoCo's as ours."""
        out = np.array(qpos, float)
        for at, _ in self.free:
            out[at : at + 7] = np.roll(qpos[at : at + 7], -3)
        return out

    def velocities(self, qpos: Array, v: Array) -> Array:
        """Ours as MuJoCo's: forces are converted alike, since axes are orthonormal."""
        out = np.array(v, float)
        for at, k in self.free:
            out[k : k + 6] = (*_rotation(qpos[at + 3 : at + 7]) @ v[k + 3 : k + 6], *v[k : k + 3])
        return out

    def from_accelerations(self, qpos: Array, qvel: Array, qacc: Array) -> Array:
        """MuJoCo's as ours, whose linear part is the rate of numbers in axes that turn."""
        out = np.array(qacc, float)
        for at, k in self.free:
            back = _rotation(qpos[at + 3 : at + 7]).T
            turning = np.cross(qvel[k + 3 : k + 6], back @ qvel[k : k + 3])
            out[k : k + 6] = (*qacc[k + 3 : k + 6], *back @ qacc[k : k + 3] - turning)
        return out

    # ---- what it does

    def accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """Ours, of a closed state in motion."""
        m, d, qpos = self.m, self.d, self.positions(q)
        qvel = self.velocities(qpos, v)
        once, twice = self._bias(qpos, qvel, _STEP), self._bias(qpos, qvel, _STEP / 2)
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = qpos, qvel, self.velocities(qpos, tau)
        mujoco.mj_forward(m, d)
        d.efc_aref[:] = -(4.0 * twice - once) / 3.0
        for _ in range(3):  # each starts from what the one before has found
            mujoco.mj_fwdConstraint(m, d)
        return self.from_accelerations(qpos, qvel, d.qacc)

    def plain_accelerations(self, q: Array, v: Array, tau: Array) -> Array:
        """The same as MuJoCo itself would have them."""
        d, qpos = self.d, self.positions(q)
        qvel = self.velocities(qpos, v)
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = qpos, qvel, self.velocities(qpos, tau)
        mujoco.mj_forward(self.m, d)
        return self.from_accelerations(qpos, qvel, d.qacc)

    def _bias(self, qpos: Array, qvel: Array, h: float) -> Array:
        """How fast J v changes while v stays."""
        m, d, found = self.m, self.d, []
        for step in (-h, h):
            there = np.array(qpos)
            mujoco.mj_integratePos(m, there, qvel, step)
            d.qpos[:], d.qvel[:] = there, qvel
            mujoco.mj_fwdPosition(m, d)
            found.append(np.zeros(d.nefc))
            mujoco.mj_mulJacVec(m, d, found[-1], qvel)
        return (found[1] - found[0]) / (2.0 * h)

    def end(self, q: Array, v: Array, until: float, step: float) -> Array:
        """Where a motion ends, in our coordinates: Runge-Kutta steps, and springs as stiff as these can follow."""
        m, d = self.m, mujoco.MjData(self.m)
        m.opt.integrator, m.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, step
        m.eq_solref[:] = (2.0 * step, 1.0)
        d.qpos[:] = self.positions(q)
        d.qvel[:] = self.velocities(d.qpos, v)
        mujoco.mj_step(m, d, round(until / step))
        assert abs(d.time - until) < 1e-9 and np.isfinite(d.qpos).all()
        return self.from_positions(d.qpos)


def _rotation(quaternion: Array) -> Array:
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quaternion)
    return R.reshape(3, 3)
