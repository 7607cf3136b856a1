"""Completion in shells, and hints for misspelled commands, options and values."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ordern.cli import COMMANDS, main
from ordern.cli.completion import described
from ordern.cli.completion_scripts import SCRIPTS

CASES = {
    "ordern sim": {"simulate"},
    "ordern simulate puma560-": {"puma560-akb"},
    "ordern simulate --until 3 stan": {"stanford-arm"},
    "ordern simulate puma560 --limits ": {"ignore", "stop", "bounce"},
    "ordern simulate puma560 --gr": {"--gravity-compensation", "--ground"},
    "ordern simulate puma560 --contacts ": {"compliant", "rigid"},
    "ordern rollout puma560 --po": {"--points"},
    "ordern c puma560 forw": {"forward_dynamics", "forward_dynamics_derivatives"},
    "ordern check my": {"my_robot.urdf"},
    "ordern inverse planar-3r --motion my": {"my_robot.urdf"},
}


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts and a robot."""
    folder = tmp_path_factory.mktemp("completion")
    commands = described()
    for shell, script in SCRIPTS.items():
        (folder / f"ordern.{shell}").write_text(script(commands), encoding="utf-8")
    (folder / "my_robot.urdf").write_text("<robot/>")
    return folder


@pytest.mark.parametrize("shell", SCRIPTS)
def test_scripts_have_every_command_and_option(shell: str, scripts: Path) -> None:
    text = (scripts / f"ordern.{shell}").read_text(encoding="utf-8")
    assert "@" not in text.replace('"$@"', "")
    for command in described():
        assert command.name in text
        for option in command.options:
            flag = option.flags[-1]
            assert (f"-l {flag[2:]}" if shell == "fish" else flag) in text
    if found := shutil.which(shell):
        subprocess.run([found, "-n", str(scripts / f"ordern.{shell}")], check=True)


def test_bash_completes(scripts: Path) -> None:
    if (bash := shutil.which("bash")) is None:
        return  # the test above has looked at the text
    lines = ["source ordern.bash"]
    for case in CASES:
        *words, last = case.split(" ")
        quoted = " ".join(f"'{word}'" for word in (*words, last))
        lines.append(f'COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _ordern 2>/dev/null; echo "${{COMPREPLY[*]}}"')
    told = subprocess.check_output([bash, "--norc", "-c", "\n".join(lines)], cwd=scripts, text=True)
    for (case, words), line in zip(CASES.items(), told.splitlines(), strict=True):
        assert set(line.split()) == words, case


def test_fish_completes(scripts: Path) -> None:
    if (fish := shutil.which("fish")) is None:
        return
    for case, words in CASES.items():
        code = f"source ordern.fish; complete -C '{case}'"
        told = subprocess.check_output([fish, "--no-config", "-c", code], cwd=scripts, text=True)
        assert {line.partition("\t")[0] for line in told.splitlines()} == words, case


def test_the_command_prints_the_script(scripts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out.rstrip() == (scripts / "ordern.bash").read_text(encoding="utf-8").rstrip()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulte", "puma560"], "there is no command 'simulte'; did you mean 'simulate'?"),
        (["simulate", "puma560", "--untill", "2"], "unrecognized arguments: --untill 2; did you mean '--until'?"),
        (["simulate", "puma560", "--limts=stop"], "unrecognized arguments: --limts=stop; did you mean '--limits'?"),
        (["simulate", "puma560", "--limits", "bonce"], "not one of ignore, stop, bounce; did you mean 'bounce'?"),
        (["info", "puma560", "stanford-arm"], "unrecognized arguments: stanford-arm"),
        (["simulate", "puma50"], "did you mean 'puma560'?"),
        (["c", "puma560", "mas_matrix"], "Did you mean 'mass_matrix'?"),
    ],
)
def test_misspelled_words_have_a_hint(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_every_command_is_described() -> None:
    assert [command.name for command in described()] == list(COMMANDS)
