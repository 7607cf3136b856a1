"""Which joints files say are driven: actuators of MJCF, transmissions of URDF, and both written and read back."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import ordern as on
from tests.robots import ROBOTS

BODY = '<inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/>'


def mjcf(actuators: str) -> str:
    """A floating trunk with a hinge, a slide and a ball."""
    parts = "".join(
        f'<body name="{name}_link" pos="0 0 .1"><joint name="{name}" type="{kind}"/>{BODY}</body>'
        for name, kind in (("hip", "hinge"), ("lift", "slide"), ("wrist", "ball"))
    )
    trunk = f'<body name="trunk"><freejoint name="base"/>{BODY}<site name="nozzle"/>{parts}</body>'
    tendon = '<tendon><fixed name="cable"><joint joint="hip" coef="1"/></fixed></tendon>'
    return f'<mujoco model="m"><worldbody>{trunk}</worldbody>{tendon}<actuator>{actuators}</actuator></mujoco>'


def motors(joint: str, count: int) -> str:
    gears = [" ".join("1" if k == i else "0" for k in range(6)) for i in range(count)]
    return "".join(f'<motor joint="{joint}" gear="{gear}"/>' for gear in gears)


BALL, FREE = motors("wrist", 3), motors("base", 6)


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
@pytest.mark.parametrize(
    ("actuators", "expected"),
    [
        ("", ("hip", "lift", "wrist")),
        ('<motor joint="hip"/>', ("hip",)),
        ('<position joint="lift" kp="3"/><velocity joint="hip" gear="20"/>', ("hip", "lift")),
        ('<general joint="hip"/><motor joint="hip"/>', ("hip",)),
        ('<motor joint="hip"/><motor jointinparent="lift"/>', ("hip", "lift")),
        ('<motor joint="hip"/><damper joint="lift" kv="1" ctrlrange="0 1"/>', ("hip",)),
        ('<motor joint="hip" gear="0"/><motor joint="lift"/>', ("lift",)),
        (f'{BALL}<motor joint="lift"/>', ("lift", "wrist")),
        (FREE, ("base",)),
        ('<orientation joint="wrist" kp="3"/>', ("wrist",)),  # a servo of all three
        ('<motor tendon="cable"/><motor site="nozzle"/>', ("hip", "lift", "wrist")),
    ],
)
def test_actuators_of_mjcf(actuators: str, expected: tuple[str, ...]) -> None:
    text = mjcf(actuators)
    mujoco.MjModel.from_xml_string(text)  # what is tested is MJCF
    assert on.load(text).actuated == expected


def test_actuators_that_drive_less_than_a_joint_are_noted() -> None:
    with pytest.warns(on.ModelWarning, match=r"actuators of joint 'wrist' push along 2 of its 3 freedoms"):
        robot = on.load(mjcf(f'{motors("wrist", 2)}<motor joint="hip"/>'))
    assert robot.actuated == ("hip",)
    robot = on.load(mjcf('<motor joint="lift"/><motor tendon="cable"/><motor site="nozzle"/>'))
    message = "2 actuators act on other things than joints (tendons, sites, bodies)"
    assert any(message in note.message and note.quiet for note in robot.notes)
    assert robot.actuated == ("lift",)


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_gears_and_limits_are_those_of_mujoco() -> None:
    actuators = (
        '<position name="servo" joint="hip" gear="-4" forcerange="-3 5" ctrlrange="-1 1"/>'
        f'{motors("wrist", 2)}<motor name="pull" tendon="cable" gear="3" forcelimited="true" forcerange="0 9"/>'
        '<motor joint="base" gear="1 2 3 4 5 6"/><motor site="nozzle" gear="0 0 1"/>'
        '<motor joint="lift" forcelimited="false" forcerange="-1 1"/>'
    )
    text = mjcf(actuators).replace('coef="1"/>', 'coef=".5"/><joint joint="lift" coef="-2"/>')
    robot, model = on.load(text), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    moment = np.zeros((model.nu, model.nv))
    mujoco.mju_sparse2dense(moment, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind)
    assert [x.kind for x in robot.actuators] == ["position", *["motor"] * 6]
    assert (robot.actuators[0].name, robot.actuators[1].name) == ("servo", "wrist_motor")
    for k, x in enumerate(robot.actuators):
        row = np.zeros(robot.nv)
        for joint, gear in zip(x.joints, x.gear, strict=True):
            row[robot.joint(joint).v] = gear
        row[:6] = np.roll(row[:6], 3)  # of the free joint: angular first here, linear first there
        if x.joints:
            assert row == pytest.approx(moment[k])
        for limits, limited, theirs in (
            (x.force_limits, model.actuator_forcelimited[k], model.actuator_forcerange[k]),
            (x.control_limits, model.actuator_ctrllimited[k], model.actuator_ctrlrange[k]),
        ):
            assert limits == (tuple(theirs) if limited else (-np.inf, np.inf))
    assert robot.actuators[3].through == "tendon 'cable'" and robot.actuators[5].through == "site 'nozzle'"
    assert robot.actuators[5].joints == ()
    efforts = {c.name: c.effort_limit for c in robot.joints if c.nv == 1}
    assert efforts == {"hip": (20.0,), "lift": (np.inf,)}  # the largest force of all actuators, through their gears
    text = text.replace('name="hip"', 'name="hip" actuatorfrcrange="-7 7"')
    assert on.load(text).joint("hip").effort_limit == (7.0,)


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_actuators_are_written_and_read_back() -> None:
    actuators = (
        '<motor name="hips" joint="hip" gear="-4" forcerange="-3 5" ctrlrange="-1 1"/>'
        f'{motors("wrist", 3)}<motor name="pull" tendon="cable" gear="3" forcerange="0 9"/>'
        '<position name="servo" joint="lift" ctrlrange="0 1"/><motor name="jet" site="nozzle" gear="0 0 1"/>'
        '<motor name="push" joint="base" gear="1 2 3 4 5 6"/>'
    )
    robot = on.load(mjcf(actuators).replace('coef="1"/>', 'coef=".5"/><joint joint="lift" coef="-2"/>'))
    text = robot.to_mjcf()
    mujoco.MjModel.from_xml_string(text)
    back = {x.name: x for x in on.load(text).actuators}
    assert on.load(text).actuated == robot.actuated == ("hip", "lift", "wrist")
    # "jet" is on a site, and "push" drives a joint only in part
    assert back.keys() == {x.name for x in robot.actuators} - {"jet", "push"}
    for x in robot.actuators:
        y = back.get(x.name, x)
        assert (y.joints, y.gear, y.force_limits) == (x.joints, x.gear, x.force_limits)
        assert x.name == "servo" or y.control_limits == x.control_limits
    assert "left out: the kind 'position', written as a motor, of actuator 'servo'" in text
    assert "left out: the actuator of actuator 'jet', actuator 'push'" in text
    other = on.load(robot.with_actuated(["lift", "wrist"]).to_mjcf())
    assert other.actuated == ("lift", "wrist") and "hips" not in {x.name for x in other.actuators}


def test_gears_are_written_as_urdf_and_read_back() -> None:
    gear = '<actuator name="m"><mechanicalReduction>-50.5</mechanicalReduction></actuator>'
    text = urdf(simple("tilt").replace('<actuator name="m"/>', gear))
    (back,) = on.load(on.load(text).to_urdf()).actuators
    assert (back.name, back.joints, back.gear) == ("m", ("tilt",), ((-50.5,),))


def test_an_actuator_of_an_unknown_joint_is_an_error() -> None:
    with pytest.raises(on.ModelError, match=r"unknown joint 'hop' in <motor>\. Did you mean 'hip'"):
        on.load(mjcf('<motor joint="hop"/>'))


def test_actuators_of_replicas() -> None:
    leg = f'<body name="leg" pos=".1 0 0"><joint name="hip"/>{BODY}</body>'
    fixed = f'<body name="arm"><joint name="elbow"/>{BODY}</body>'
    text = f'<mujoco><worldbody>{fixed}<replicate count="3" euler="0 0 1">{leg}</replicate></worldbody>'
    robot = on.load(f'{text}<actuator><motor name="m" joint="hip"/></actuator></mujoco>')
    assert [(x.name, x.joints) for x in robot.actuators] == [(f"m{k}", (f"hip{k}",)) for k in range(3)]
    assert robot.actuated == ("hip0", "hip1", "hip2")


def urdf(transmissions: str) -> str:
    joint = '<joint name="{0}" type="{1}"><parent link="base"/><child link="{0}_link"/></joint>'
    inertia = '<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>'
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial></link>'
        for name in ("base", "pan_link", "tilt_link", "lens_link")
    )
    joints = joint.format("pan", "continuous") + joint.format("tilt", "continuous") + joint.format("lens", "fixed")
    return f'<robot name="camera">{links}{joints}{transmissions}</robot>'


def simple(joint: str) -> str:
    return f'<transmission name="t_{joint}"><type>S</type><joint name="{joint}"/><actuator name="m"/></transmission>'


def test_transmissions_of_urdf() -> None:
    assert on.load(urdf("")).actuated == ("pan", "tilt")
    robot = on.load(urdf(simple("tilt") + simple("lens")))
    assert robot.actuated == ("tilt",) and not robot.notes
    with pytest.warns(on.ModelWarning, match=r"joints that the robot does not have: 'pann'; did you mean"):
        robot = on.load(urdf(simple("pann") + simple("tilt")))
    assert robot.actuated == ("tilt",)
    with pytest.warns(on.ModelWarning, match="robot does not have"):
        assert on.load(urdf(simple("wheel"))).actuated == ("pan", "tilt")


def test_a_real_robot() -> None:
    robot = on.load(ROBOTS / "talos_data/robots/talos_reduced.urdf", floating=True)
    assert len(robot.actuated) == 32
    assert "root_joint" not in robot.actuated and "leg_left_1_joint" in robot.actuated


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
@pytest.mark.parametrize("motors_at", [None, ["hip"], ["base", "wrist", "lift"]])
def test_written_as_mjcf_and_read_back(motors_at: list[str] | None) -> None:
    robot = on.load(mjcf('<motor joint="hip"/>')).with_actuated(motors_at)
    text = robot.to_mjcf()
    assert ("<actuator>" in text) == (motors_at is not None)
    known = mujoco.MjModel.from_xml_string(text)
    assert known.nu == sum(robot.joint(name).nv for name in motors_at or ())
    back = on.load(text)
    assert back.motors == robot.motors and back.actuated == robot.actuated


@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_a_joint_of_several_freedoms_has_several_motors_in_mjcf() -> None:
    cross = on.Universal((1, 0, 0), (0, 1, 0))
    mass = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    builder = (
        on.Builder("u", actuated=["cross"]).body("g").body("b", parent="g", joint=cross, joint_name="cross", **mass)
    )
    builder.body("c", parent="b", joint=on.Revolute(), joint_name="loose", **mass)
    assert on.load(builder.build().to_mjcf()).actuated == ("cross_1", "cross_2")


def test_written_as_urdf_and_read_back() -> None:
    robot = on.load(urdf(simple("tilt")))
    text = robot.to_urdf()
    assert '<joint name="tilt">' in text and "transmission_interface/SimpleTransmission" in text
    assert on.load(text) == robot and on.load(text).actuated == ("tilt",)
    usual = robot.with_actuated(None)
    assert "transmission" not in usual.to_urdf() and on.load(usual.to_urdf()) == usual
    assert "left out: the statement that no joint has a motor" in robot.with_actuated([]).to_urdf()
