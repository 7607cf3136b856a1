"""Named positions: of SRDF files, of builders, and of bundled robots."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.errors import ModelError
from ordern.model.json_form import from_plain, to_plain
from tests.robots import ROBOTS

ARM = """<robot name="arm"><link name="base"/><link name="a"/><link name="b"/><link name="c"/>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/></joint>
<joint name="k" type="prismatic"><parent link="a"/><child link="b"/></joint>
<joint name="f" type="continuous"><parent link="b"/><child link="c"/><mimic joint="j" multiplier="2"/></joint>
</robot>"""


def state(name: str, group: str = "arm", **joints: str) -> str:
    inside = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in joints.items())
    return f'<group_state name="{name}" group="{group}">{inside}</group_state>\n'


def load(*states: str, **options: bool) -> on.Robot:
    return on.load(ARM, srdf=f'<robot name="arm">\n<group name="arm"/>\n{"".join(states)}</robot>', **options)


def listed(robot: on.Robot) -> dict[str, list[float]]:
    return {name: q.tolist() for name, q in robot.positions.items()}


def test_states_are_positions() -> None:
    robot = load(state("home", j="0.5", k="-1"), state("up", k="2"), state("follow", j="1", f="9"))
    assert listed(robot) == {"home": [0.5, -1.0], "up": [0.0, 2.0], "follow": [1.0, 0.0]}


def test_states_of_several_groups() -> None:
    robot = load(
        state("home", "left", j="0.5"), state("home", "right", k="2"), state("x", "l", j="1"), state("x", "r", j="2")
    )
    assert listed(robot) == {
        "home": [0.5, 2.0], "left/home": [0.5, 0.0], "right/home": [0.0, 2.0], "l/x": [1.0, 0.0], "r/x": [2.0, 0.0],
    }  # fmt: skip


def test_a_floating_base_has_the_order_of_the_library() -> None:
    home = state("home", root_joint="1 2 3 0 0 0.6 0.8", j="0.5")
    assert listed(load(home)) == {"home": [0.5, 0.0]}
    assert listed(load(home, floating=True)) == {"home": [0.8, 0, 0, 0.6, 1, 2, 3, 0.5, 0]}


def test_unknown_joints_are_noted() -> None:
    robot = load(state("home", j="0.5", kk="1"))
    assert listed(robot) == {"home": [0.5, 0.0]}
    assert (
        "joints that the robot does not have: 'kk' of group_state 'home'; did you mean 'k'?" in robot.notes[0].message
    )


def rotors(*joints: str) -> str:
    return f"<rotor_params>{''.join(f'<joint {joint}/>' for joint in joints)}</rotor_params>"


def test_rotors_are_armatures() -> None:
    robot = load(rotors('name="j" mass="1e-5" gear_ratio="100."', 'name="kk" mass="1" gear_ratio="1"'))
    assert robot.joint("j").armature == pytest.approx((0.1,)) and robot.joint("k").armature == (0.0,)
    assert "rotors of joints that the robot does not have: 'kk' of rotor_params" in robot.notes[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (rotors('name="j" mass="1"'), r"<string>:3: rotor_params: joint 'j': <joint> has no gear_ratio"),
        (rotors('name="j" mass="-1" gear_ratio="1"'), r'<string>:3: rotor_params: <joint name="j"> has mass="-1"'),
        (rotors('name="j" mass="1" gear_ratio="nan"'), r'<joint> has gear_ratio="nan"; expected'),
        (state("home", j="x"), r'^<string>:3: group_state \'home\': <joint name="j"> has value="x"; expected'),
        (state("home", j="1 2"), r"<string>:3: group_state 'home': joint 'j' has 2 numbers, which do not fit"),
        (state("", j="1"), r"<string>:3: <group_state> has an empty name"),
    ],
)
def test_faults(text: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(text)


def test_another_document() -> None:
    with pytest.raises(ModelError, match="the root element is <sdf>; that of an SRDF document is <robot>"):
        on.load(ARM, srdf="<sdf/>")
    with pytest.raises(on.ArgumentError, match="srdf: the bundled robot 'puma560' has its named positions already"):
        on.load("puma560", srdf="<robot/>")


KEYS = """<mujoco><worldbody><body name="a"><freejoint name="f"/><geom size="1"/>
<body name="b"><joint name="s" type="ball"/><geom size="1"/>
<body><joint name="j" ref="0.5"/><geom size="1"/></body></body>
</body></worldbody><keyframe><key name="home" qpos="1 2 3 0 0 0 2 1 0 0 0 0.7"/><key qpos="{}"/><key name="t" time="1"/>
</keyframe></mujoco>"""


def test_keyframes_are_positions_in_the_order_of_the_library() -> None:
    robot = on.load(KEYS.format("0 0 0 1 0 0 0 0 0 0 3 4"))
    assert listed(robot) == {
        "home": [0, 0, 0, 1, 1, 2, 3, 1, 0, 0, 0, 0.7],
        "key1": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4],
    }


def test_a_keyframe_that_does_not_fit_is_noted() -> None:
    robot = on.load(KEYS.format("0 0 0"))
    assert list(robot.positions) == ["home"]
    (note,) = (n for n in robot.notes if "keyframe" in n.message)
    assert note.quiet
    assert "keyframes that are left out: keyframe 'key1'" in note.message


def test_positions_of_a_builder_are_kept() -> None:
    robot = on.Builder("r").body("base").body("a", parent="base", joint=on.Spherical(), joint_name="s")
    robot.body("b", parent="a", joint=on.Revolute(), joint_name="j", at=(0, 0, 1), mass=1.0)
    built = robot.position("up", {"s": (0.8, 0.6, 0, 0), "j": 2}).build()
    assert listed(built) == {"up": [0.8, 0.6, 0, 0, 2]}
    assert listed(on.Robot.of(from_plain(to_plain(built), on.Robot))) == listed(built)
    assert listed(built.lock("j")) == {"up": [0.8, 0.6, 0, 0]}
    attached = on.load("puma560").attach(built, to="flange", prefix="tool/")
    assert attached.positions["tool/up"][-5:].tolist() == [0.8, 0.6, 0, 0, 2]


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ({"x": 1}, "unknown joint 'x' in position 'p'"),
        ({"j": (1, 2)}, "position 'p' has 2 numbers for joint 'j'; expected 1"),
        ({"j": float("nan")}, "position 'p': the position of joint 'j' must be finite"),
        ({"j": "far"}, "position 'p': positions of joints must be numbers"),
    ],
)
def test_faults_of_a_builder(joints: dict[str, object], message: str) -> None:
    builder = on.Builder("r").body("base").body("a", parent="base", joint=on.Revolute(), joint_name="j")
    with pytest.raises(ModelError, match=message):
        builder.position("p", joints).build()  # type: ignore[arg-type]


def test_bundled_robots_have_theirs() -> None:
    assert on.load("puma560").positions["ready"].tolist() == on.robots.positions("puma560")["ready"].tolist()
    free = on.load("puma560", floating=True)
    assert free.positions["ready"][7:].tolist() == on.robots.positions("puma560")["ready"].tolist()


@pytest.mark.needs("example_robot_data")
@pytest.mark.parametrize(
    ("urdf", "srdf", "floating"),
    [
        ("talos_data/robots/talos_reduced.urdf", "talos_data/srdf/talos.srdf", True),
        ("panda_description/urdf/panda.urdf", "panda_description/srdf/panda.srdf", False),
    ],
)
def test_real_files_agree_with_pinocchio(urdf: str, srdf: str, floating: bool) -> None:
    import pinocchio as pin

    root = [pin.JointModelFreeFlyer()] if floating else []
    model = pin.buildModelFromUrdf(str(ROBOTS / urdf), *root)
    pin.loadReferenceConfigurations(model, str(ROBOTS / srdf), False)
    if "rotor_params" in (ROBOTS / srdf).read_text():
        pin.loadRotorParameters(model, str(ROBOTS / srdf), False)
    robot = on.load(ROBOTS / urdf, srdf=Path(ROBOTS / srdf), floating=floating)
    c = on.convert(robot, model)
    for k in range(1, model.njoints):
        if model.joints[k].nv == 1:
            armature = model.armature[model.joints[k].idx_v]
            assert robot.joint(str(model.names[k])).armature == pytest.approx((armature,))
    theirs = {entry.key(): np.array(entry.data()) for entry in model.referenceConfigurations}
    assert theirs.keys() == robot.positions.keys()
    for name, q in robot.positions.items():
        for k in range(1, model.njoints):
            if robot.joint(str(model.names[k])).mimic is None:
                at = slice(model.joints[k].idx_q, model.joints[k].idx_q + model.joints[k].nq)
                np.testing.assert_allclose(c.to_peer(q)[at], theirs[name][at], atol=1e-12)


def test_keyframes_of_attached_models(tmp_path: Path) -> None:
    """As in MuJoCo: with the prefix of the attachment, and other joints in the position of the file."""
    body = '<body name="x"><joint name="h"/><geom size=".1"/>{}</body>'
    free = '<body name="z" pos="1 0 0"><freejoint name="f"/><geom size=".1"/></body>'
    inner = body.format('<body><joint name="s" type="slide" ref=".3"/><geom size=".1"/></body>') + free
    keys = '<keyframe><key name="home" qpos=".1 .2 1 2 3 1 0 0 0"/><key name="t" time="2"/></keyframe>'
    (tmp_path / "child.xml").write_text(f'<mujoco model="c"><worldbody>{inner}</worldbody>{keys}</mujoco>')
    whole = '<frame pos="0 0 5"><attach model="c" prefix="a_"/></frame>'
    part = '<attach model="c" body="x" prefix="b_"/>'
    own = '<body name="m"><joint name="mj" type="slide" ref="3"/><geom size=".1"/></body>'
    key = '<keyframe><key name="home" qpos="9 1 2 1 2 3 1 0 0 0 3 4"/></keyframe>'
    asset = '<asset><model name="c" file="child.xml"/></asset>'
    (tmp_path / "main.xml").write_text(f"<mujoco>{asset}<worldbody>{own}{whole}{part}</worldbody>{key}</mujoco>")
    robot = on.load(tmp_path / "main.xml")
    q = {name: q.tolist() for name, q in robot.positions.items()}
    assert list(q) == ["home", "a_home", "b_home"] and q["home"][0] == 9.0
    assert q["a_home"] == [3.0, 0.1, 0.2, 1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.3]
    assert q["b_home"] == [3.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 5.0, 0.1, 0.2]


def test_an_unknown_position_is_an_error_that_suggests_another() -> None:
    robot = on.load("puma560")
    with pytest.raises(on.UnknownNameError, match=r"unknown position 'redy' in .*Did you mean 'ready'\?"):
        robot.positions["redy"]
    assert (
        robot.positions.get("redy") is None
        and pickle.loads(pickle.dumps(robot.positions)).keys() == robot.positions.keys()
    )
