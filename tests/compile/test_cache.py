"""Compiled code on disk: found again, never trusted, never in the way."""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import registry
from ordern.compile import program
from ordern.compile.run import cache
from ordern.model import Tree
from ordern.spatial import Columns, Motion, Real
from tests.tolerances import HUNG

ROOT = Path(__file__).parent.parent.parent


def robot(mass: float = 1.0, name: str = "pendulum", **build: Any) -> on.Robot:
    return (
        on.Builder(name)
        .body("ground")
        .body("bob", parent="ground", joint=on.Revolute((0, 1, 0)), mass=mass, com=(0, 0, -0.5))
        .frame("tip", "bob", at=((0, 0, -1), (0, 5e-4, 0)))
        .build(**build)
    )


def ask(mass: float = 1.0) -> float:
    """Compiles or loads; 4 (0.5 - 0.5 m g sin(0.1)) / m tells the mass."""
    answer = robot(mass).forward_dynamics(np.array([0.1]), np.array([0.0]), np.array([0.5]))
    assert abs(answer[0] - 4 * (0.5 / mass - 0.5 * 9.81 * np.sin(0.1))) < 1e-12
    return float(answer[0])


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ORDERN_CACHE", raising=False)
    monkeypatch.delenv("ORDERN_CACHE_MB", raising=False)
    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that were traced and compiled since the test began."""
    found: list[str] = []
    real = program.compile_request

    def spy(request: Any, *rest: Any) -> Any:
        found.append(request.question.name)
        return real(request, *rest)

    monkeypatch.setattr(program, "compile_request", spy)
    return found


def entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


def test_a_hit_needs_no_tracing(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ask()
    assert len(entries(directory)) == 1

    def fail(*_: Any) -> None:
        raise AssertionError("traced or compiled in spite of the cache")

    for name in ("trace_unrolled", "trace_rolled", "compile_object", "emit_unrolled"):
        monkeypatch.setattr(program, name, fail)
    assert ask() == before
    assert len(entries(directory)) == 1


def test_names_do_not_matter_but_numbers_do(directory: Path, compiled: list[str]) -> None:
    ask(1.0)
    robot(1.0, "another name").forward_dynamics([0.1], [0.0], [0.5])
    assert len(compiled) == 1
    ask(1.0 + 1e-15)
    assert len(compiled) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda r, x: r.inverse_dynamics(x, x, x),
        lambda r, x: r.forward_dynamics(*np.float32([x, x, x])),
        lambda r, x: r.forward_dynamics(x, x, x, external=np.zeros((1, 6))),
        lambda r, x: r.kernel("forward_dynamics", way="rolled")(x, x, x),
    ],
    ids=["question", "dtype", "external", "way"],
)
def test_other_code_is_another_entry(directory: Path, compiled: list[str], change: Callable[..., Any]) -> None:
    one, x = robot(), np.array([0.1])
    one.forward_dynamics(x, x, x)
    change(one, x)
    assert len(compiled) == len(entries(directory)) == 2


@pytest.mark.slow
def test_frames_and_settings_are_part_of_the_key(directory: Path, compiled: list[str]) -> None:
    one, x = robot(), np.array([0.3])
    answers = [
        one.velocity(x, x, "tip"),
        one.velocity(x, x, "tip", axes="world"),
        one.velocity(x, x, "bob"),
    ]
    assert len(compiled) == len(entries(directory)) == 3
    again = robot()
    assert (again.velocity(x, x, "tip") == answers[0]).all()
    assert (again.velocity(x, x, "tip", axes="world") == answers[1]).all()
    assert (again.velocity(x, x, "bob") == answers[2]).all()
    assert len(compiled) == 3


def test_rounding_of_frames_is_part_of_the_key(directory: Path) -> None:
    """The tip is turned by 5e-4: with snap 1e-3 that is nothing, with snap 0 it is not."""
    x = np.array([0.3])
    rough, exact = robot(snap=1e-3), robot(snap=0.0)
    assert rough.pose(x, "tip")[0, 0] == pytest.approx(np.cos(0.3), abs=1e-14)
    assert exact.pose(x, "tip")[0, 0] == pytest.approx(np.cos(0.3 + 5e-4), abs=1e-14)


def test_gravity_is_part_of_the_key(directory: Path) -> None:
    for g in (9.81, 1.62):
        moon = on.Builder("moon", gravity=(0, 0, -g)).body("stone", mass=1.0).build(floating=True)
        fall = moon.gravity_force(moon.neutral())
        assert fall[5] == g


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_ALGORITHMS", dict(registry._ALGORITHMS))
    yield


def test_what_an_algorithm_closes_over_is_part_of_the_key(directory: Path, own_registry: None) -> None:
    def register(factor: float) -> None:
        @on.algorithm("potential_energy", "scaled")
        def scaled(tree: Tree, q: Any) -> Any:
            E = tree.field(Real)
            for i, _ in tree.outward():
                E[i] = factor * q[i][0]
            for i, p in tree.inward():
                E[p] += E[i]
            return E[tree.base]

    for factor in (2.0, 3.0):
        register(factor)
        assert robot().kernel("potential_energy", "scaled")(np.array([0.5])) == 0.5 * factor


def test_what_a_joint_inherits_is_part_of_the_key(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A joint whose formulas are in a file other than its own: when that file changes, so does the code."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    formulas = (
        "from dataclasses import dataclass\nfrom typing import ClassVar\nimport ordern as on\n"
        "from ordern.spatial import Columns, Motion\n"
        "@dataclass(frozen=True)\nclass Geared(on.Prismatic):\n"
        "    nq: ClassVar[int] = 1\n    nv: ClassVar[int] = 1\n"
        "    def subspace(self, q):\n        return Columns((Motion((0.0, 0.0, 0.0), (0.0, 0.0, {ratio})),))\n"
    )
    (tmp_path / "own_joint.py").write_text(
        "from dataclasses import dataclass\nfrom joint_formulas import Geared\n"
        "@dataclass(frozen=True)\nclass Mine(Geared):\n    pass\n"
    )
    for ratio in (1.0, 2.0):
        (tmp_path / "joint_formulas.py").write_text(formulas.format(ratio=ratio))
        for name in ("own_joint", "joint_formulas"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        joint = importlib.import_module("own_joint").Mine((0, 0, 1))
        one = on.Builder("geared").body("ground").body("block", parent="ground", joint=joint, mass=1.0).build()
        assert one.mass_matrix(np.array([0.0])) == ratio**2
    for name in ("own_joint", "joint_formulas"):
        del sys.modules[name]


def typed(text: str, **known: Any) -> float:
    """Register an algorithm as a console does, which has no file, and return its answer."""
    space: dict[str, Any] = {"__name__": "__console__", **known}
    exec(text, space)
    on.algorithm("potential_energy", "typed")(space["typed"])
    return float(robot().kernel("potential_energy", "typed")(np.array([0.5])))


def test_algorithms_of_ones_own_are_kept(directory: Path, compiled: list[str], own_registry: None) -> None:
    """They are known by their code: other constants, globals, helpers or defaults are other entries."""
    text = "def half(x):\n    return x / {0}\ndef typed(tree, q, *, k=1.0):\n    return gain * k * half({1})"
    for _ in range(2):
        for values in ((2.0, 3.0), (4.0, 3.0), (2.0, 5.0)):
            for gain in (1.0, 7.0):
                assert typed(text.format(*values), gain=gain) == gain * values[1] / values[0]
    assert typed(text.format(2.0, 3.0).replace("k=1.0", "k=2.0"), gain=1.0) == 3.0
    assert len(compiled) == len(entries(directory)) == 7


@pytest.mark.parametrize("seen", [sys.stdout, iter([1.0]), type(sys)("mine")], ids=["file", "generator", "module"])
def test_code_that_sees_what_has_no_text_is_not_kept(
    directory: Path, compiled: list[str], own_registry: None, seen: Any
) -> None:
    for _ in range(2):
        assert typed("def typed(tree, q):\n    return 2.0 if seen else 0.0", seen=seen) == 2.0
    assert compiled == ["potential_energy"] * 2
    assert not directory.exists() or not entries(directory)


READS_OUTSIDE = {
    "environment": "import os\ndef typed(tree, q):\n    return float(os.environ['GAIN'])",
    "function of os": "from os import getenv\ndef typed(tree, q):\n    return float(getenv('GAIN'))",
    "import inside": "def typed(tree, q):\n    from os import environ\n    return float(environ['GAIN'])",
    "command line": "import sys\ndef typed(tree, q):\n    return float(sys.argv[-1])",
    "helper": "import sys\ndef gain():\n    return float(sys.argv[-1])\ndef typed(tree, q):\n    return gain()",
    "file": "def typed(tree, q):\n    with open(file) as f:\n        return float(f.read())",
    "path": "def typed(tree, q):\n    import pathlib\n    return float(pathlib.Path(file).read_text())",
    "array": "import numpy as np\ndef typed(tree, q):\n    return float(np.loadtxt(file))",
    "robot": "import ordern as on\ndef typed(tree, q):\n    return float(on.load(file + '.urdf').mass)",
    "memory": "turn = [2.0, 3.0]\nk = 0\ndef typed(tree, q):\n    global k\n    k += 1\n    return turn[k - 1]",
}


@pytest.mark.parametrize("text", READS_OUTSIDE.values(), ids=READS_OUTSIDE)
def test_definitions_that_read_outside_their_arguments_are_not_kept(
    directory: Path, own_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    space: dict[str, Any] = {"__name__": "__console__", "file": str(tmp_path / "gain")}
    exec(text, space)
    on.algorithm("potential_energy", "typed")(space["typed"])
    link = '<link name="base"/><joint name="j" type="prismatic"><parent link="base"/><child link="x"/></joint>'
    for gain in (2.0, 3.0):
        monkeypatch.setenv("GAIN", str(gain))
        monkeypatch.setattr(sys, "argv", ["study.py", str(gain)])
        (tmp_path / "gain").write_text(str(gain))
        inertia = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        body = f'<link name="x"><inertial><mass value="{gain}"/>{inertia}</inertial></link>'
        (tmp_path / "gain.urdf").write_text(f'<robot name="r">{link}{body}</robot>')
        assert robot().kernel("potential_energy", "typed")(np.array([0.5])) == gain
    assert not directory.exists() or not entries(directory)


def test_decorators_are_part_of_the_key(directory: Path, own_registry: None) -> None:
    def times(gain: float, function: Any) -> Any:
        return functools.wraps(function)(lambda *arguments: gain * function(*arguments))

    def plain(tree: Tree, q: Any) -> Any:
        return q[next(iter(tree.outward()))[0]][0]

    for gain in (2.0, 3.0):
        on.algorithm("potential_energy", "typed")(times(gain, plain))
        one = robot()
        assert one.kernel("potential_energy", "typed")(np.array([0.5])) == gain * 0.5
        assert one.kernel("push potential_energy by q", "typed")(np.array([0.5]), np.array([1.0])) == gain


def test_a_joint_of_ones_own_is_kept(directory: Path, compiled: list[str]) -> None:
    def answer(ratio: float) -> float:
        @dataclass(frozen=True)
        class Geared(on.Prismatic):
            nq: ClassVar[int] = 1
            nv: ClassVar[int] = 1

            def subspace(self, q: Any) -> Columns:
                return Columns((Motion((0.0, 0.0, 0.0), (0.0, 0.0, ratio)),))

        one = on.Builder("geared").body("a").body("b", parent="a", joint=Geared((0, 0, 1)), mass=1.0).build()
        return float(one.mass_matrix(np.array([0.0]))[0, 0])

    for _ in range(2):
        assert [answer(ratio) for ratio in (1.0, 3.0)] == [1.0, 9.0]
    assert len(compiled) == len(entries(directory)) == 2


@pytest.mark.slow
def test_a_hit_imports_nothing_that_traces_or_emits(directory: Path) -> None:
    script = (
        "import sys; import ordern as on; import numpy as np\n"
        "on.load('puma560').forward_dynamics(*np.zeros((3, 6)))\n"
        "print(*sorted(m for m in sys.modules if m.startswith(('ordern.compile.emit.', 'ordern.compile.trace.'))))"
    )
    found = []
    for _ in range(2):
        command = [sys.executable, "-c", script]
        found.append(subprocess.run(command, env=_env(), capture_output=True, text=True, check=True).stdout.split())
    assert "ordern.compile.trace.unroll" in found[0]
    assert found[1] == ["ordern.compile.emit.target", "ordern.compile.trace.layout"]


def damages() -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    yield "empty", lambda b: b""
    yield "foreign", lambda b: b"this is somebody else's file\n" * 100
    yield "header only", lambda b: b[:48]
    yield "half", lambda b: b[: len(b) // 2]
    yield "one byte short", lambda b: b[:-1]
    yield "one byte more", lambda b: b + b"\0"
    yield "other version", lambda b: b.replace(b"ordern kernel 1\n", b"ordern kernel 0\n")
    for k in (0, 20, 48, 57, 80, 400, 2000, -1):
        yield f"byte {k} flipped", lambda b, k=k: _flipped(b, k)


def _flipped(content: bytes, k: int) -> bytes:
    damaged = bytearray(content)
    damaged[k] ^= 0x10
    return bytes(damaged)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [d for _, d in damages()], ids=[name for name, _ in damages()])
def test_damaged_entries_are_rebuilt(directory: Path, compiled: list[str], damage: Callable[[bytes], bytes]) -> None:
    before = ask()
    (entry,) = entries(directory)
    sound = entry.read_bytes()
    entry.write_bytes(damage(sound))
    assert ask() == before
    assert len(compiled) == 2
    assert entry.read_bytes() == sound
    assert ask() == before
    assert len(compiled) == 2


@pytest.mark.slow
def test_an_entry_under_a_wrong_name_is_ignored(directory: Path, compiled: list[str]) -> None:
    ask(1.0)
    (one,) = entries(directory)
    ask(2.0)
    (two,) = set(entries(directory)) - {one}
    two.write_bytes(one.read_bytes())
    ask(2.0)
    assert len(compiled) == 3


def test_a_directory_in_the_place_of_an_entry(directory: Path) -> None:
    before = ask()
    (entry,) = entries(directory)
    entry.unlink()
    entry.mkdir()
    assert ask() == before


def test_the_directory_is_private(tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path / "a" / "b"))
    old = os.umask(0)
    try:
        ask()
    finally:
        os.umask(old)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    (entry,) = entries(tmp_path / "a" / "b")
    assert entry.stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o777, 0o722, 0o770, 0o702])
def test_a_directory_that_others_can_write_is_ignored(directory: Path, compiled: list[str], mode: int) -> None:
    ask()
    directory.chmod(mode)
    ask()
    assert len(compiled) == 2, "an entry that others may have planted was loaded"
    ask(2.0)
    assert len(entries(directory)) == 1, "an entry was written where others can replace it"
    directory.chmod(0o700)
    ask()
    assert len(compiled) == 3


def test_a_directory_of_somebody_else_is_ignored(
    directory: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    ask()
    assert len(compiled) == 2


@pytest.mark.slow
@pytest.mark.parametrize("off", ["off", "OFF", "0", "no", "false"])
def test_turned_off(directory: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, off: str) -> None:
    ask()
    monkeypatch.setenv("ORDERN_CACHE", off)
    ask()
    ask(2.0)
    assert len(compiled) == 3
    assert len(entries(directory)) == 1


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORDERN_CACHE", raising=False)
    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path / "here"))
    assert cache.cache_directory() == tmp_path / "here"
    monkeypatch.delenv("ORDERN_CACHE_DIR")
    if sys.platform.startswith("linux"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache.cache_directory() == tmp_path / "xdg" / "ordern"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache.cache_directory() == tmp_path / ".cache" / "ordern"

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache.cache_directory() is None
    ask()


@pytest.mark.slow
def test_size_is_bounded_and_the_oldest_go_first(
    directory: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(1.0)
    (first,) = entries(directory)
    size = first.stat().st_size
    monkeypatch.setenv("ORDERN_CACHE_MB", str(3.5 * size / 1e6))
    for mass in (2.0, 3.0):
        ask(mass)
    for age, entry in enumerate(entries(directory)):
        os.utime(entry, (time.time() - 1000 - age,) * 2)
    os.utime(first, (time.time() - 5000,) * 2)
    ask(1.0)  # the oldest is used again, so another has to go
    assert len(entries(directory)) == 3 and len(compiled) == 3
    ask(4.0)
    assert len(entries(directory)) == 3
    assert first.exists()
    ask(1.0)
    ask(4.0)
    assert len(compiled) == 4


@pytest.mark.parametrize("limit", ["0", "-1", "nonsense"])
def test_odd_bounds(directory: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setenv("ORDERN_CACHE_MB", limit)
    ask()
    assert len(entries(directory)) == (limit == "nonsense")


def fail_with(error: OSError) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name"), [(os, "replace"), (os, "fdopen"), (tempfile, "mkstemp"), (Path, "mkdir")])
def test_failing_writes_leave_nothing_behind(
    directory: Path, monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    """A full disk, or a directory that is read-only: the answer comes, and no half of a file stays."""
    before = ask()
    for entry in entries(directory):
        entry.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(place, name, fail_with(OSError(28, "No space left on device")))
        assert ask() == before
    assert entries(directory) == []


def test_read_only_directory(directory: Path, compiled: list[str]) -> None:
    ask(1.0)
    directory.chmod(0o500)
    try:
        ask(1.0)
        assert len(compiled) == 1, "what is there can be read"
        ask(2.0)
    finally:
        directory.chmod(0o700)


def test_a_file_in_the_place_of_the_directory(directory: Path) -> None:
    directory.write_text("not a directory")
    ask()
    assert directory.read_text() == "not a directory"


@pytest.mark.slow
def test_no_temporary_files_stay(directory: Path) -> None:
    for mass in (1.0, 2.0, 3.0):
        ask(mass)
    assert {p.suffix for p in entries(directory)} == {".kernel"}


@pytest.mark.slow
def test_clear(directory: Path) -> None:
    ask(1.0)
    ask(2.0)
    assert cache.clear() == 2
    assert entries(directory) == []
    assert cache.clear() == 0


@pytest.mark.slow
def test_processes_at_once(directory: Path) -> None:
    """Both compile, both write, and what stays is sound: a third loads it."""
    text = (
        "import sys; sys.path.insert(0, '.'); from tests.compile.test_cache import ask; import time\n"
        "while time.time() < {start}: pass\n"
        "print(ask().hex())"
    )
    script = text.format(start=time.time() + 1.5)
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=_env())
        for _ in range(2)
    ]
    answers = {p.communicate(timeout=HUNG)[0].strip() for p in running}
    assert [p.returncode for p in running] == [0, 0]
    assert len(entries(directory)) == 1
    assert answers == {ask().hex()}


def _env() -> dict[str, str]:
    paths = [str(Path(on.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def test_a_pickled_robot_finds_its_code(directory: Path, compiled: list[str]) -> None:
    one = robot()
    x = np.array([0.1])
    before = one.forward_dynamics(x, x, x)
    again = pickle.loads(pickle.dumps(one))
    assert again.forward_dynamics(x, x, x) == before
    assert len(compiled) == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has none")
def test_entries_that_never_end(directory: Path, compiled: list[str]) -> None:
    ask()
    (entry,) = entries(directory)
    entry.unlink()
    os.mkfifo(entry)
    ask()
    entry.unlink()
    entry.symlink_to("/dev/zero")
    ask()
    entry.unlink()
    with entry.open("wb") as f:
        f.truncate(1 << 42)  # takes no space on disk
    ask()
    assert len(compiled) == 4
    assert not [e for e in cache.entries() if e.size > 1 << 30]


@pytest.mark.slow
def test_sources_that_cannot_be_seen(directory: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a package in an archive: then nothing is kept."""

    def fail(folder: str) -> Any:
        raise NotADirectoryError(folder)

    cache.source_digest.cache_clear()
    monkeypatch.setattr(cache, "_stamps", fail)
    try:
        ask()
        ask()
    finally:
        cache.source_digest.cache_clear()
    assert compiled == ["forward_dynamics"] * 2
    assert not directory.exists()


def test_all_sources_of_the_package_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(cache, "_stamps", lambda folder: seen.append(folder) or [])
    cache.source_digest.__wrapped__()
    assert seen == [str(Path(on.__file__).parent)]


def test_links_of_editors_are_no_sources(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / ".#a.py").symlink_to("user@host.1234")
    assert [Path(path).name for path, _, _ in cache._stamps(str(tmp_path))] == ["a.py"]


def test_a_home_in_the_name_of_the_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("ORDERN_CACHE", raising=False)
    monkeypatch.setenv("ORDERN_CACHE_DIR", "~/kept")
    assert cache.cache_directory() == tmp_path / "kept"


@pytest.mark.parametrize("bad", ["nan", "abc", ""])
def test_nonsense_bounds_are_the_usual_one(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("ORDERN_CACHE_MB", bad)
    assert cache.limit() == 256e6


@pytest.mark.slow
def test_the_directory_is_not_looked_through_after_every_write(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    real = cache._trim

    def trim(where: Path) -> int:
        looks.append(where)
        return real(where)

    monkeypatch.setattr(cache, "_trim", trim)
    for mass in (1.0, 2.0, 3.0):
        ask(mass)
    assert len(entries(directory)) == 3
    assert looks == [directory]
