"""Accelerations of the same mechanisms in Pinocchio (proximal constraint dynamics) and in MuJoCo (hard equalities)."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.loops.dynamics import METHODS
from ordern.model import BASE
from tests.loops.closed_systems import closed_robot, motion_state
from tests.loops.mujoco_twin import Twin
from tests.tolerances import HARD_PEER, PROXIMAL_PEER


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


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "kinds"), [(51, ("spherical",)), (52, ("fixed",)), (53, ("spherical", "spherical"))])
def test_pinocchio(seed, kinds):
    robot, q = closed_robot(seed, 9, kinds, joints=(on.Revolute, on.Prismatic))
    v, tau = motion_state(robot, q, seed)
    known = pinocchio_accelerations(robot, q, v, tau)
    for method in METHODS:
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "equality",
    [
        '<connect name="x" body1="d" body2="e" anchor="0.2 0.1 0"/>',
        '<connect name="x" body1="c" anchor="0.2 0.1 0"/>',
        '<joint name="x" joint1="jb" joint2="jf" polycoef="0 1.5 0.7 -0.2 0.1"/>',
        '<weld name="x" body1="a" body2="c"/>',
        '<connect name="x" body1="d" body2="e" anchor="0.2 0.1 0"/>'
        '<joint name="y" joint1="ja" joint2="jc" polycoef="0 -0.5 0 0 0"/>',
    ],
    ids=("bodies", "ground", "gear", "weld", "both"),
)
def test_equalities_of_mujoco(equality):
    """As we read them, in motion: also where a constraint is not linear, and where constraints are redundant."""
    text = MJCF % equality
    robot, q = on.load(text), np.zeros(6)
    assert np.abs(robot.loop_residual(q)).max() < 1e-9  # as far as MuJoCo's own digits go
    v, tau = motion_state(robot, q, 6)
    assert_mujoco_agrees(robot, Twin(robot, text), q, v, tau, plain="<joint" not in equality)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "n", "kinds", "floating", "joints"),
    [
        (1, 7, ("spherical",), False, (on.Revolute, on.Prismatic, on.Spherical)),
        (2, 6, ("fixed",), True, (on.Revolute, on.Prismatic, on.Universal, on.Cylindrical)),
        (3, 7, ("spherical", "spherical"), False, (on.Revolute, on.Spherical, on.Prismatic)),
        (6, 7, ("fixed", "spherical"), True, (on.Revolute, on.Universal)),
        (22, 4, ("fixed", "fixed"), False, (on.Revolute, on.Prismatic)),  # more rows than freedoms
    ],
)
def test_random_mechanisms_in_mujoco(seed, n, kinds, floating, joints):
    """By the two methods that have least in common: all four agree on such mechanisms in `test_oracle`."""
    robot, q = closed_robot(seed, n, kinds, floating, joints)
    assert_mujoco_agrees(robot, Twin(robot), q, *motion_state(robot, q, seed), methods=("multipliers", "null-space"))


def assert_mujoco_agrees(robot, twin, q, v, tau, plain=True, methods=METHODS):
    """With MuJoCo when it is given K' v, and with MuJoCo as it is where it has this by itself."""
    twin.harden(1e-6)
    answers = [twin.accelerations(q, v, tau)] + [twin.plain_accelerations(q, v, tau)] * plain
    for method in methods:
        a = robot.closed_dynamics(q, v, tau, method=method).a
        for known in answers:
            assert np.abs(a - known).max() < HARD_PEER * np.abs(a).max(), method
