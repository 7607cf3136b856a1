"""The same mechanisms in Pinocchio (proximal constraint dynamics) and in MuJoCo (stiff equality constraints)."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import ordern as on
from ordern.model import BASE
from tests.loops.closed_systems import closed_robot, motion_state
from tests.tolerances import PROXIMAL_PEER, STIFF_PEER


def pinocchio_accelerations(robot, q, v, tau):
    """By `constraintDynamics`, with loops as contacts in three or six directions."""
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromXML(robot.opened().to_urdf(lossy=True))
    model.gravity.linear = np.array(robot.gravity)
    order = [model.joints[model.getJointId(c.name)] for c in robot.joints]

    def theirs(x):
        y = np.zeros(model.nv)
        for c, j in zip(robot.joints, order, strict=True):
            y[j.idx_v] = x[c.v_start]
        return y

    models = []
    for loop in robot.loops:
        sides = []
        for body, at in ((loop.parent, loop.parent_placement), (loop.child, loop.child_placement)):
            joint = 0 if body == BASE else model.getJointId(robot.joints[body].name)
            sides += [joint, pin.SE3(np.array(at.R), np.array(at.p))]
        kind = pin.ContactType.CONTACT_3D if isinstance(loop.type, on.Spherical) else pin.ContactType.CONTACT_6D
        models.append(pin.RigidConstraintModel(kind, model, *sides, pin.ReferenceFrame.LOCAL))
        if hasattr(models[-1], "corrector"):  # later releases have none unless asked for
            models[-1].corrector.Kp[:] = 0.0
            models[-1].corrector.Kd[:] = 0.0
    data = model.createData()
    all_models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    all_models.extend(models)
    datas.extend([m.createData() for m in models])
    try:
        pin.initConstraintDynamics(model, data, all_models, datas)
    except TypeError:  # before release 4
        pin.initConstraintDynamics(model, data, all_models)
    settings = pin.ProximalSettings(1e-12, 1e-10, 200)
    a = pin.constraintDynamics(model, data, theirs(q), theirs(v), theirs(tau), all_models, datas, settings)
    out = np.zeros(robot.nv)
    for c, j in zip(robot.joints, order, strict=True):
        out[c.v_start] = a[j.idx_v]
    return out


@pytest.mark.parametrize(("seed", "kinds"), [(51, ("spherical",)), (52, ("fixed",)), (53, ("spherical", "spherical"))])
def test_pinocchio(seed, kinds):
    robot, q = closed_robot(seed, 9, kinds, joints=(on.Revolute, on.Prismatic))
    v, tau = motion_state(robot, q, seed)
    known = pinocchio_accelerations(robot, q, v, tau)
    for method in ("multipliers", "kkt", "null-space", "proximal"):
        motion = robot.closed_dynamics(q, v, tau, method=method)
        assert np.abs(motion.a - known).max() < PROXIMAL_PEER * (1.0 + np.abs(known).max()), method


MJCF = """<mujoco model="loops"><option gravity="1 -2 -9.81"/><worldbody>
  <body name="a" pos="0 0 0"><joint name="ja" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.8 0 0.3"/>
    <body name="b" pos="0.8 0 0.3"><joint name="jb" axis="0.1 1 0"/>
      <geom type="capsule" size="0.04" fromto="0 0 0 0.5 0.1 -0.4"/>
      <body name="c" pos="0.5 0.1 -0.4"><joint name="jc" axis="0 1 0.2"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0.2"/>
        <body name="d" pos="0.3 0 0.2"><joint name="jd" axis="1 0 0"/>
          <geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0"/></body>
      </body>
    </body>
  </body>
  <body name="e" pos="1 0.5 0"><joint name="je" axis="0 0 1"/><joint name="jf" axis="1 0 0"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0.4"/></body>
</worldbody><equality>%s</equality></mujoco>"""
STIFF = 'solref="0.02 1" solimp="0.9999 0.9999 0.001"'


@pytest.mark.parametrize(
    "equality",
    [
        f'<connect name="x" body1="d" body2="e" anchor="0.2 0.1 0" {STIFF}/>',
        f'<connect name="x" body1="c" anchor="0.2 0.1 0" {STIFF}/>',
        f'<joint name="x" joint1="jb" joint2="jf" polycoef="0 1.5 0 0 0" {STIFF}/>',
        f'<connect name="x" body1="d" body2="e" anchor="0.2 0.1 0" {STIFF}/>'
        f'<joint name="y" joint1="ja" joint2="jc" polycoef="0 -0.5 0 0 0" {STIFF}/>',
    ],
    ids=("bodies", "ground", "gear", "both"),
)
def test_mujoco_at_rest(equality):
    """At rest, since its equality constraints have no velocity terms. Its softness, of 1e-4 of the compliance that it
    assumes, is made less by assuming less."""
    robot = on.load(MJCF % equality)
    model = mujoco.MjModel.from_xml_string(MJCF % equality)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.tolerance, model.opt.iterations = 1e-14, 500
    model.body_invweight0[:] *= 1e-4
    model.dof_invweight0[:] *= 1e-4
    data = mujoco.MjData(model)
    tau = np.array([3.0, -2.0, 1.0, 0.5, -1.0, 2.0])
    data.qfrc_applied[:] = tau
    mujoco.mj_forward(model, data)
    q = robot.neutral()
    assert np.abs(robot.loop_residual(q)).max() < 1e-9
    for method in ("multipliers", "kkt", "null-space", "proximal"):
        a = robot.closed_dynamics(q, np.zeros(6), tau, method=method).a
        assert np.abs(a - data.qacc).max() < STIFF_PEER * np.abs(a).max()
