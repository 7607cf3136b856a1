"""Xacro templates, and robots of the package robot_descriptions."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ordern as on
from ordern.cli import main
from ordern.errors import ModelError

TEMPLATE = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="n" default="2"/><xacro:arg name="mimic" default="false"/>
<xacro:include filename="parts/link.xacro"/>
<link name="link0"/>
<xacro:macro name="chain" params="k">
  <xacro:link k="${k}" m="${0.5 * k}"/>
  <xacro:if value="${k &lt; $(arg n)}"><xacro:chain k="${k + 1}"/></xacro:if>
</xacro:macro>
<xacro:chain k="1"/>
</robot>"""
LINK = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="link" params="k m">
<link name="link${k}"><inertial><mass value="${m}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
</inertial><visual><geometry><mesh filename="package://arm_description/link.stl"/></geometry></visual></link>
<joint name="joint${k}" type="continuous"><parent link="link${k - 1}"/><child link="link${k}"/>
<xacro:if value="$(arg mimic)"><xacro:if value="${k > 1}"><mimic joint="joint1"/></xacro:if></xacro:if></joint>
</xacro:macro></robot>"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "arm_description/urdf"
    (folder / "parts").mkdir(parents=True)
    (folder / "parts/link.xacro").write_text(LINK)
    (file := folder / "arm.urdf.xacro").write_text(TEMPLATE)
    return file


HARMFUL = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="x" value="${[c for c in ().__class__.__base__.__subclasses__()
  if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('touch MARK')}"/><link name="${x}"/></robot>"""


def test_templates_are_expanded_on_request_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their expressions run any command: neither a file, nor a study that names one, may start it."""
    mark = tmp_path / "mark"
    (file := tmp_path / "arm.urdf.xacro").write_text(" ".join(HARMFUL.split()).replace("MARK", str(mark)))
    study = tmp_path / "study.toml"
    study.write_text('robot = "arm.urdf.xacro"\nmembers = 2\nsteps = 2\n')
    for bad in (False, None, 1, "yes"):
        with pytest.raises(ModelError, match=r"can run any command.*xacro=True.*--xacro"):
            on.load(file, xacro=bad)  # type: ignore[arg-type]
    for command in (["info", str(file)], ["check", str(file)], ["ensemble", str(study), "--dry-run"]):
        assert main(command) != 0
        output = capsys.readouterr()
        assert "can run any command" in output.out + output.err
    study.write_text("xacro = true\n" + study.read_text())
    assert main(["ensemble", str(study), "--dry-run"]) != 0
    assert not mark.exists()


@pytest.mark.needs("xacrodoc")
def test_the_command_line_expands_on_request(template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(template), "--xacro", "--arg", "n=3", "--json"]) == 0
    assert '"nv": 3' in capsys.readouterr().out
    (study := template.parent / "study.toml").write_text('robot = "arm.urdf.xacro"\nmembers = 2\nsteps = 2\n')
    assert main(["ensemble", str(study), "--dry-run", "--xacro"]) == 0


@pytest.mark.needs("xacrodoc")
class TestXacro:
    def test_a_template_is_expanded(self, template: Path) -> None:
        robot = on.load(template, xacro=True)
        assert (robot.name, robot.nv, [body.mass for body in robot.bodies]) == ("arm", 2, [0.5, 1.0])
        assert robot.source == str(template)
        assert robot.shapes[0].file == "package://arm_description/link.stl"

    def test_arguments(self, template: Path) -> None:
        robot = on.load(template, xacro=True, xacro_args={"n": 4, "mimic": True})
        assert (robot.nv, len(robot.joints)) == (1, 4)

    def test_a_relative_path(self, template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(template.parent.parent)
        assert on.load("urdf/arm.urdf.xacro", xacro=True).nv == 2

    @pytest.mark.parametrize("manifest", [False, True])
    def test_packages_are_found_above_and_beside_the_template(self, template: Path, manifest: bool) -> None:
        """Every call looks anew: a package of one name may be elsewhere the next time."""
        inside = '<xacro:include filename="$(find arm_description)/urdf/parts/link.xacro"/>'
        template.write_text(TEMPLATE.replace('<xacro:include filename="parts/link.xacro"/>', inside))
        package = template.parent.parent
        if manifest:
            (package / "package.xml").write_text("<package><name>arm_description</name></package>")
            package = package.rename(package.with_name("elsewhere"))
        assert on.load(package / "urdf/arm.urdf.xacro", xacro=True).nv == 2
        other = package.parent / "cell"
        other.mkdir()
        (other / "cell.urdf.xacro").write_text(template.read_text() if not manifest else "<robot/>")
        if not manifest:
            with pytest.raises(ModelError, match=r"it needs the package 'arm_description', which is neither a folder"):
                on.load(other / "cell.urdf.xacro", xacro=True)
            assert on.load(other / "cell.urdf.xacro", xacro=True, root=package.parent).nv == 2

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (TEMPLATE.replace("0.5 * k", "weight"), "xacro cannot expand it: name 'weight' is not defined"),
            (
                TEMPLATE.replace('<xacro:arg name="n" default="2"/>', ""),
                "its argument 'n' has no value; give one by xacro_",
            ),
            (TEMPLATE.replace("</robot>", ""), "xacro cannot expand it: "),
            (
                TEMPLATE.replace('<link name="link0"/>', ""),
                "(expanded):18: joint 'joint1' has as its parent an unknown body 'link0'",
            ),
        ],
    )
    def test_faults(self, template: Path, text: str, message: str) -> None:
        template.write_text(text)
        with pytest.raises(ModelError) as e:
            on.load(template, xacro=True)
        assert str(e.value).startswith(str(template))
        assert message in str(e.value)

    @pytest.mark.parametrize(
        ("wrong", "right", "place"),
        [
            ("k - 1", "k - weight", "parts/link.xacro:4"),
            ('value="${m}"', 'value="${m m}"', "parts/link.xacro:2"),
            ('params="k m"', 'params="k"', "arm.urdf.xacro:6"),
            ("</macro>", "</macro", ""),
        ],
    )
    def test_faults_have_a_file_and_a_line(self, template: Path, wrong: str, right: str, place: str) -> None:
        link = template.parent / "parts/link.xacro"
        link.write_text(LINK.replace(wrong, right) if place else LINK.replace("</xacro:macro>", ""))
        with pytest.raises(ModelError) as e:
            on.load(template, xacro=True)
        assert e.value.where.endswith(place or "parts/link.xacro:6"), e.value

    def test_an_argument_of_a_wrong_type(self, template: Path) -> None:
        with pytest.raises(
            on.ArgumentError, match=r"xacro_args: 'n' must be text, a number or a truth value, not \[1\]"
        ):
            on.load(template, xacro=True, xacro_args={"n": [1]})  # type: ignore[dict-item]


def test_only_templates_have_arguments() -> None:
    with pytest.raises(ModelError, match="xacro_args: only xacro templates"):
        on.load('<robot name="r"><link name="a"/></robot>', xacro_args={"n": 1})
    with pytest.raises(on.ArgumentError, match="xacro_args: the bundled robot 'stanford-arm' has no arguments"):
        on.load("stanford-arm", xacro_args={"n": 1})


def test_without_the_package_the_error_names_the_extra(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(ModelError, match=r"not installed .*: pip install 'ordern\[xacro\]', or run `xacro` yourself"):
        on.load(template, xacro=True)
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(ModelError, match=r"^description:panda: robots by name come from .* 'ordern\[descriptions\]'"):
        on.load("description:panda")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: Path) -> None:
    """A package with a URDF, an MJCF and a xacro description; one module cannot fetch its files."""
    urdf, mjcf = tmp_path / "one.urdf", tmp_path / "one.xml"
    urdf.write_text('<robot name="one"><link name="a"/></robot>')
    mjcf.write_text('<mujoco model="two"><worldbody/></mujoco>')
    members: dict[str, dict[str, Any]] = {
        "panda_description": {"URDF_PATH": str(urdf)},
        "panda_mj_description": {"MJCF_PATH": str(mjcf)},
        "ur5_mj_description": {"MJCF_PATH": str(mjcf)},
        "snake_description": {"XACRO_PATH": str(template), "XACRO_ARGS": {"n": "3"}},
        "empty_description": {},
    }
    top = ModuleType("robot_descriptions")
    top.__path__ = [str(tmp_path / "package")]  # type: ignore[attr-defined]
    top.DESCRIPTIONS = {**members, "far_description": None}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "robot_descriptions", top)
    for name, content in members.items():
        module = ModuleType(f"robot_descriptions.{name}")
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    (tmp_path / "package").mkdir()
    (tmp_path / "package/far_description.py").write_text("raise OSError('no route to host')")


@pytest.mark.usefixtures("package")
class TestDescriptions:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("panda", "one"),
            ("panda_description", "one"),
            ("panda_mj_description", "two"),
            ("panda_mj", "two"),
            ("ur5", "two"),
        ],
    )
    def test_robots_by_name(self, name: str, expected: str) -> None:
        assert on.load(f"description:{name}").name == expected

    @pytest.mark.needs("xacrodoc")
    def test_arguments_of_a_template(self) -> None:
        assert on.load("description:snake", xacro=True).nv == 3
        assert on.load("description:snake", xacro=True, xacro_args={"n": 4}).nv == 4

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("pandas", "has no robot 'pandas'; did you mean 'description:panda' or 'description:panda_mj'?"),
            ("xyz", "has no robot 'xyz'. The command `robot_descriptions list` shows all 6"),
            ("far", "could not fetch 'far_description': OSError: no route to host. It needs the internet once"),
            ("empty", "'empty_description' of robot_descriptions has no URDF, MJCF or xacro file"),
        ],
    )
    def test_faults(self, name: str, message: str) -> None:
        with pytest.raises(ModelError, match=f"^description:{name}: ") as e:
            on.load(f"description:{name}")
        assert message in str(e.value)
