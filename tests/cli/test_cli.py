from __future__ import annotations

import io
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import ordern
from ordern.cli import COMMANDS, main, terminal
from ordern.papers import PAGES

LINK = (
    '<link name="{}"><inertial><mass value="{}"/>'
    '<inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="j" type="revolute"><parent link="a"/><child link="b"/>'
    '<limit lower="-1" upper="1" effort="{}" velocity="2"/></joint>'
)


def robot(path: Path, *, inertia: tuple[float, float, float] = (1e-2, 2e-2, 2e-2), effort: float = 3) -> str:
    lines = ['<robot name="arm">', '<link name="a"/>', LINK.format("b", 1, *inertia), JOINT.format(effort), "</robot>"]
    path.write_text("\n".join(lines))
    return str(path)


@pytest.fixture
def good(tmp_path: Path) -> str:
    return robot(tmp_path / "good.urdf")


@pytest.fixture
def doubtful(tmp_path: Path) -> str:
    return robot(tmp_path / "doubtful.urdf", effort=0)


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    return robot(tmp_path / "wrong.urdf", inertia=(1, 1, 5))


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.urdf"
    path.write_text('<robot name="r">\n<link name="a"/>\n<link name="a"/>\n</robot>')
    return str(path)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out and text in out for name, text in COMMANDS.items())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "examples:" in out
    assert f"ordern {command} " in out
    assert "--json" in out
    assert (import_module(f"ordern.cli.{command}").__doc__ or "").split("\n")[0].rstrip(".") in out


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["check"], ["info"], ["check", "--nonsense", "x"], ["convert", "a.urdf", "b.docx"]],
)
def test_bad_usage_is_2_and_two_lines(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    wrong, hint = err.splitlines()
    command = f" {arguments[0]}" if arguments[0] in COMMANDS else ""
    assert not out and wrong.startswith("ordern: error: ") and hint == f"see `ordern{command} --help`"


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: ordern" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "puma560", "--until", "-0.1"], "argument --until: '-0.1' must be a positive number"),
        (["info"], "the following arguments are required: FILE|NAME"),
        (["plot", "--nonsense", "x.npz"], "unrecognized arguments: --nonsense"),
    ],
)
def test_bad_usage_as_json(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {"error": words, "where": ""}


@pytest.mark.parametrize(
    "arguments",
    [
        ["methods", "forward_dynamic"],
        ["count", "puma560", "forward_dynamic"],
        ["count", "puma560", "forward_dynamics", "--method", "x"],
        ["papers", "cost"],
    ],
)
def test_unknown_names_are_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Known: " in capsys.readouterr().err


def test_counts_of_an_iteration_are_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["count", "puma560", "forward_dynamics", "--method", "conjugate-gradient"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "steps in a random state" in text and "all of one step" in text and "mass_matrix_product" in text
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["count", "puma560", "mass_matrix_product", "--json"]) == 0
    assert found["each_step"] == json.loads(capsys.readouterr().out)


def test_the_help_of_papers_names_every_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(page in out for page in PAGES)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ordern {ordern.__version__}\n"


def test_check_of_a_good_robot(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", good]) == 0
    assert capsys.readouterr().out == f"{good}: nothing to remark\n"


def test_check_of_a_wrong_robot(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", wrong]) == 1
    head, finding, advice = capsys.readouterr().out.rstrip().split("\n")
    assert head == f"{wrong}: 1 error"
    assert finding.startswith("  error    wrong.urdf:3  body 'b' has the principal moments of inertia 1, 1, 5 kg m^2")
    assert finding.endswith("[inertia-triangle]")
    assert advice.strip().startswith("-> compute the inertia")


def test_warnings_are_errors_only_if_strict(doubtful: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", doubtful]) == 0
    assert main(["check", "--strict", doubtful]) == 1
    assert "warning  doubtful.urdf:4  joint 'j' has the effort limit 0 [effort-limit-zero]" in capsys.readouterr().out


def test_what_keeps_a_file_from_loading_is_a_finding(broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", broken, "--json"]) == 1
    ((finding,),) = (report["findings"] for report in json.loads(capsys.readouterr().out))
    assert (finding["severity"], finding["code"], finding["where"]) == ("error", "load", f"{broken}:3")
    assert finding["message"].startswith("body 'a' exists already")


def test_check_goes_on_after_a_missing_file(good: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "missing.urdf", wrong, good, "--json"]) == 2
    out, err = capsys.readouterr()
    assert [(r["source"], r["ok"]) for r in json.loads(out)] == [
        ("missing.urdf", False),
        (wrong, False),
        (good, True),
    ]
    assert json.loads(out)[0]["findings"][0]["message"].startswith("there is no file 'missing.urdf'")
    assert err.startswith("ordern: error: there is no file 'missing.urdf'")


def test_the_root_is_looked_at_when_it_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(f'<robot name="r">{LINK.format("a", 1, 1, 1, 9)}</robot>')
    assert main(["check", str(path)]) == 0
    assert main(["check", "--floating", str(path)]) == 1
    assert "body 'a'" in capsys.readouterr().out


def test_many_findings_of_a_kind_are_cut_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.urdf"
    links = "".join(LINK.format(f"l{k}", 1 + k, 1e-2, 1e-2, 5e-2) for k in range(8))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="base"/><child link="l{k}"/></joint>' for k in range(8)
    )
    path.write_text(f'<robot name="r"><link name="base"/>{links}{joints}</robot>')
    assert main(["check", str(path)]) == 1
    assert "... and 3 more [inertia-triangle]; --all shows them" in capsys.readouterr().out
    assert main(["check", "--all", str(path)]) == 1
    out = capsys.readouterr().out
    assert "more [" not in out
    assert out.count("[inertia-triangle]") == 8


def test_info(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", good]) == 0
    out = capsys.readouterr().out
    assert out.startswith("arm: 1 body, nq 1, nv 1, mass 1 kg\na\n")
    head, row = (line for line in out.split("\n") if line.startswith("j"))
    assert head.split() == ["joint", "type", "q", "v", "motor", "range", "velocity", "effort"]
    assert row.split() == ["j", "revolute", "0", "0", "yes", "-1", "..", "1", "2", "3"]
    assert head.index("range") == row.index("-1")


def test_info_lists_actuators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = '<body><joint name="j"/><geom size=".1"/></body>'
    actuators = '<motor name="m" joint="j" gear="3" ctrlrange="-1 2"/><muscle name="x" tendon="t"/>'
    tendon = '<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>'
    text = f"<mujoco><worldbody>{body}</worldbody>{tendon}<actuator>{actuators}</actuator></mujoco>"
    (file := tmp_path / "a.xml").write_text(text)
    assert main(["info", str(file)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["m", "motor", "j", "3", "-", "-1", "..", "2"] in lines
    assert ["x", "muscle", "j", "by", "tendon", "'t'", "2", "-", "-"] in lines


def test_info_as_json(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", "--floating", good]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["name"], data["nq"], data["nv"], data["base"]) == ("arm", 8, 7, "world")
    assert data["actuated"] == ["j"]
    free, j = data["joints"]
    assert (free["type"], free["q"], free["lower"][0]) == ("Free", [0, 7], None)
    assert (j["parent"], j["child"], j["lower"], j["effort_limit"], j["where"]) == (
        "a",
        "b",
        [-1.0],
        [3.0],
        f"{good}:4",
    )
    assert [b["mass"] for b in data["bodies"]] == [0.0, 1.0]


@pytest.mark.parametrize("command", ["info", "convert"])
def test_a_broken_robot_is_one_line_and_1(command: str, broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, broken, *(["out.urdf"] if command == "convert" else [])]) == 1
    assert capsys.readouterr().err == (
        f"ordern: error: {broken}:3: body 'a' exists already; every body needs a name of its own\n"
    )


@pytest.mark.parametrize("source", ["missing.urdf", ".", ""])
@pytest.mark.parametrize("command", ["check", "info"])
def test_what_cannot_be_read_is_2(command: str, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, source]) == 2
    assert capsys.readouterr().err.startswith("ordern: error: ")


@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".mjcf"])
def test_convert(good: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / f"copy{suffix}"
    assert main(["convert", good, str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: arm, 1 bodies, nv 1\n"
    copy, original = ordern.load(out), ordern.load(good)
    assert [b.name for b in copy.bodies] == [b.name for b in original.bodies]
    q, v, tau = [0.3], [0.4], [0.5]
    np.testing.assert_allclose(copy.forward_dynamics(q, v, tau), original.forward_dynamics(q, v, tau), rtol=1e-12)
    assert main(["convert", good, str(out)]) == 2
    assert "exists already; --force overwrites it" in capsys.readouterr().err
    assert main(["convert", "--force", "--json", good, str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["nv"] == 1


def test_convert_into_a_folder_that_is_not_there(good: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", good, "nowhere/copy.urdf"]) == 2
    assert capsys.readouterr().err == (
        "ordern: error: nowhere/copy.urdf: the file cannot be written: No such file or directory\n"
    )


def test_convert_says_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "puma.urdf"
    assert main(["convert", "puma560", str(out)]) == 1
    err = capsys.readouterr().err
    assert "URDF cannot express all of this robot: armature of joint 'waist', " in err
    assert "with --lossy this is left out" in err
    assert "lossy=True" not in err
    assert not out.exists()
    assert main(["convert", "--lossy", "puma560", str(out)]) == 0
    assert capsys.readouterr().err.startswith("ordern: left out: armature of joint 'waist', ")
    assert main(["convert", "--lossy", "--force", "--json", "puma560", str(out)]) == 0
    left, positions = json.loads(capsys.readouterr().out)["left_out"]
    assert positions.startswith("named position of '")
    assert left.startswith("armature of joint 'waist', ")
    assert left.endswith("joint 'flange_roll'")


def test_the_examples_of_convert_with_bundled_robots_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (import_module("ordern.cli.convert").__doc__ or "").split("\n")
    examples = [line.split("|")[0].split()[1:] for line in lines if "stanford-arm" in line]
    assert len(examples) == 2
    for arguments in examples:
        assert main(arguments) == 0
    assert "<mujoco" in capsys.readouterr().out


def test_convert_moves_meshes_with_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.urdf"
    mesh = '<visual><geometry><mesh filename="meshes/a.stl"/></geometry></visual>'
    path.write_text(f'<robot name="r"><link name="a">{mesh}</link></robot>')
    (tmp_path / "new").mkdir()
    assert main(["convert", str(path), str(tmp_path / "new" / "r.xml")]) == 0
    assert 'file="../meshes/a.stl"' in (tmp_path / "new" / "r.xml").read_text()
    assert main(["convert", "--floating", str(path), str(tmp_path / "new" / "f.xml")]) == 0
    assert 'type="free"' in (tmp_path / "new" / "f.xml").read_text()


class Input:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_standard_input_and_output(
    good: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Path(good).read_bytes()
    for arguments in (["check", "-"], ["info", "-"], ["convert", "-", "-", "--to", "mjcf"]):
        monkeypatch.setattr(sys, "stdin", Input(data))
        assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("<string>: nothing to remark\narm: 1 body")
    assert ordern.load(out[out.index("<?xml") :]).name == "arm"
    assert err == "ordern: left out: velocity limit of joint 'j'\n"
    for wrong, message in ((b"", "is empty"), (b"{}", "begins with '{}'"), (b"<\xff", "is not in UTF-8")):
        monkeypatch.setattr(sys, "stdin", Input(wrong))
        assert main(["info", "-"]) == 2
        assert f"standard input {message}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-"], "--to must name the format"),
        (["-", "--to", "urdf", "--json"], "--json is printed to standard output"),
        (["x.xml", "--to", "urdf"], "x.xml is not the name of a file of the format"),
    ],
)
def test_convert_arguments_that_do_not_fit(
    good: str, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", good, *more]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["info", "convert"])
def test_errors_as_json(command: str, broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["out.urdf"] if command == "convert" else []
    assert main([command, "--json", broken, *more]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data == {"error": "body 'a' exists already; every body needs a name of its own", "where": f"{broken}:3"}
    assert main([command, "--json", "missing.urdf", *more]) == 2
    data = json.loads(capsys.readouterr().out)
    assert data["error"].startswith("there is no file 'missing.urdf'")


@pytest.fixture
def noted(tmp_path: Path) -> str:
    path = Path(robot(tmp_path / "noted.urdf"))
    path.write_text(path.read_text().replace("</robot>", "<gazebo/><transmission/></robot>"))
    return str(path)


def test_a_note_of_the_loader_is_one_finding_and_no_warning(noted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--strict", noted]) == 0
    assert capsys.readouterr().out == (
        f"{noted}: 1 remark\n  info     noted.urdf:5  not read: <gazebo> (1, first in line 5), "
        "<transmission> (1, first in line 5) [note]\n"
    )


def test_info_has_the_notes(noted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", noted]) == 0
    *_, head, note = capsys.readouterr().out.rstrip().split("\n")
    assert head == "noticed while reading"
    assert note.startswith(f"  {noted}:5: not read: <gazebo>")


def test_a_world_that_floats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(robot(tmp_path / "r.urdf"))
    path.write_text(path.read_text().replace('"a"', '"world"'))
    assert main(["check", str(path)]) == 0
    assert "floating-world" not in capsys.readouterr().out
    main(["check", "--floating", str(path)])
    assert "the root 'world', which the description has as the ground, floats" in capsys.readouterr().out


def test_only_the_module_of_the_command_is_imported() -> None:
    code = "import sys, ordern.cli as c; c.main(['--help']); print(sorted(n for n in sys.modules if 'ordern.cli' in n))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip().split("\n")[-1] == "['ordern.cli', 'ordern.cli.streams']"


def test_python_m(good: str) -> None:
    done = subprocess.run([sys.executable, "-m", "ordern", "check", good], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{good}: nothing to remark\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_only_on_a_terminal_and_if_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.paint("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    assert terminal.paint("x", "red", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.paint("x", "red", Terminal()) == "x"
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.paint("x", "red", Terminal()) == "x"


def test_tables_line_up() -> None:
    assert terminal.table([("a", "1"), ("bbb", "22")], right=[1]) == ["a     1", "bbb  22"]


def test_nothing_is_printed_in_colour_to_a_file(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", wrong])
    assert "\x1b" not in capsys.readouterr().out


def test_loops_beside_a_robot(good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "good.loops.json"
    rod = {"name": "rod", "type": "distance", "length": 1.0, "parent": "a", "child": "b", "child_at": [0, 0, 1]}
    file.write_text(json.dumps([rod]))
    for command in (["info"], ["check"], ["count", "mass_matrix"], ["forward", "--q", "0"]):
        assert main([command[0], good, *command[1:], "--loops", str(file)]) == 0
        assert command != ["info"] or "rod" in capsys.readouterr().out
    assert main(["info", good, "--loops", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err
    file.write_text(json.dumps([{**rod, "length": -1}]))
    assert main(["info", good, "--loops", str(file)]) == 1
    assert "loop 'rod'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "info"])
def test_files_are_included_from_a_root(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("models", "parts"):
        (tmp_path / folder).mkdir()
    main_file = tmp_path / "models/main.xml"
    main_file.write_text('<mujoco><include file="../parts/body.xml"/></mujoco>')
    body = '<body name="b"><joint name="j"/><geom size=".1"/></body>'
    (tmp_path / "parts/body.xml").write_text(f"<x><worldbody>{body}</worldbody></x>")
    assert main([command, str(main_file)]) == 1
    captured = capsys.readouterr()
    assert "--root" in captured.out + captured.err
    assert main([command, "--root", str(tmp_path), str(main_file)]) == 0
