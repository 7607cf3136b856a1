"""Files of motions: what is read is what was written, to the last bit; what is no motion is told in clear words."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import robots
from ordern.errors import ArgumentError, ModelError, OrdernError
from ordern.model.json_form import from_plain, to_plain
from ordern.simulate.events import Event
from ordern.simulate.results.formats import rows
from ordern.simulate.results.report import SimulationReport, Violation
from ordern.simulate.results.result import Result
from tests.random_models import LIBRARY_JOINTS, random_robot
from tests.robots import ROBOTS
from tests.simulate.motions import eventful, falling, swinging
from tests.tolerances import EXACT, assert_close

T = np.linspace(0.0, 1.2, 25)
SUFFIXES = ("npz", "csv", "parquet")
FORMATS = (*SUFFIXES[:2], pytest.param("parquet", marks=pytest.mark.needs("pyarrow")))

REPORT = SimulationReport(
    robot="oscillator",
    method="rk4",
    dynamics="articulated-body",
    stopped="limit",
    message="slide at its limit",
    time=1.2,
    steps=24,
    rejected=0,
    evaluations=96,
    work=0.1,
    dissipated=1e-300,
    kinetic=1.0 / 3.0,
    energy_error=5e-324,
    momentum_error=(float("nan"), 0.0, 0.0, float("nan"), 0.0, float("inf")),
    violations=(Violation("slide", 0, 0.5, 0.1, 0.6),),
    impacts=3,
    native=True,
    wall=0.01,
)


def odd_numbers(robot: on.Robot) -> Result:
    """Numbers that are easily lost."""
    rng = np.random.default_rng(0)
    n = 40
    q = rng.normal(size=(n, robot.nq)) * 10.0 ** rng.integers(-300, 300, (n, robot.nq))
    special = [np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 2.0**-1074]
    q[: len(special), 0] = special
    v, a, tau = rng.random((3, n, robot.nv))
    return Result(robot, np.sort(rng.random(n)), q, v, a, tau, work=-rng.random(n))


def bits(result: Result) -> list[bytes]:
    found = [result.t, result.q, result.v, result.a, result.tau, result.work, result.dissipated, *result.extra.values()]
    return [np.where(np.isnan(x), np.nan, x).tobytes() for x in found if x is not None]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_read_is_what_was_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"motion.{suffix}"
    whole = replace(eventful(T), report=REPORT)
    robot = random_robot(1, 10, LIBRARY_JOINTS, floating=True, armature=True, passive=True, mimic=True)
    for r in (whole, swinging(T), falling(T), odd_numbers(robot), whole[:0], whole[:1]):
        r.save(path)
        back = on.load_result(path)
        assert back == r
        assert bits(back) == bits(r)
        assert type(back.robot) is on.Robot
        assert back.robot.__getstate__() == r.robot.__getstate__()
        assert repr(back.report) == repr(r.report)
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", FORMATS)
def test_odd_names(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"motion.{suffix}"
    builder = on.Builder('a "robot",\nthat is odd').body("base")
    for k, name in enumerate(["comma, colon", 'quote "', "new\nline", "# hash", "Gelenk ä 関節", " ", "q.x"]):
        builder.body(f"b{k}", mass=1.0).joint(name, on.Prismatic((1, 0, 0)), "base", f"b{k}")
    robot = builder.build()
    r = Result(robot, T, *np.random.default_rng(0).normal(size=(4, 25, 7)))
    r.save(path)
    assert on.load_result(path) == r


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_joint_type_of_ones_own(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"motion.{suffix}"
    robot = random_robot(0, 16)
    r = Result(robot, [0.0], robot.random(0, 1), *np.ones((3, 1, robot.nv)))
    r.save(path)
    with pytest.raises(ArgumentError, match=r"does not contain its robot.*are its own.*load_result\(path, robot\)"):
        on.load_result(path)
    assert on.load_result(path, robot) == r
    with pytest.raises(ArgumentError, match="whose coordinates are"):
        on.load_result(path, on.load("puma560"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_robot_that_is_given_is_taken(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"motion.{suffix}"
    swinging(T).save(path)
    heavy = replace(swinging(T).robot, gravity=(1.0, 2.0, 3.0))
    assert on.load_result(path, heavy).robot.gravity == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_from_elsewhere(tmp_path: Path, suffix: str) -> None:
    import pandas as pd

    path = tmp_path / f"motion.{suffix}"
    robot = swinging(T).robot
    frame = pd.DataFrame({"v.slide": T + 1, "t": T, "q.slide": T + 2, "volts": T + 3})
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path, index=False)
    r = on.load_result(path, robot)
    np.testing.assert_array_equal(r.q[:, 0], T + 2)
    np.testing.assert_array_equal(r.v[:, 0], T + 1)
    np.testing.assert_array_equal(r.extra["volts"], T + 3)
    assert np.isnan(r.tau).all()
    with pytest.raises(ArgumentError, match="does not say which robot"):
        on.load_result(path)
    with pytest.raises(ArgumentError, match=r"the columns q\.waist.* are missing"):
        on.load_result(path, on.load("puma560"))


def test_other_programs_can_read_them(tmp_path: Path) -> None:
    import pandas as pd

    r = eventful(T)
    for suffix in SUFFIXES:
        r.save(tmp_path / f"motion.{suffix}")
    np.testing.assert_array_equal(np.load(tmp_path / "motion.npz", allow_pickle=False)["q"], r.q)
    for frame in (
        pd.read_csv(tmp_path / "motion.csv", comment="#"),
        pd.read_parquet(tmp_path / "motion.parquet"),
    ):
        assert_close(frame["q.slide"], r.q[:, 0], EXACT)  # pandas may round what it reads from text
        assert_close(frame["reading, in V"], r.extra["reading, in V"], EXACT)


def test_columns_of_a_csv_file_may_change_places(tmp_path: Path) -> None:
    path = tmp_path / "motion.csv"
    r = swinging(T)
    r.save(path)
    about, *rows = path.read_text().splitlines()
    path.write_text("\n".join([about, *(",".join(reversed(row.split(","))) for row in rows)]))
    assert on.load_result(path) == r


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("failure", [RuntimeError("on the way"), KeyboardInterrupt(), OSError(28, "No space left")])
def test_a_file_that_exists_survives(
    tmp_path: Path, suffix: str, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ordern.simulate.results import formats

    path = tmp_path / f"motion.{suffix}"
    swinging(T).save(path)
    before = path.read_bytes()
    module = formats._format(path)
    write = module.write

    def broken(result: Result, about: dict[str, Any], file: Any) -> None:
        write(result, about, file)
        raise failure

    monkeypatch.setattr(module, "write", broken)
    with pytest.raises(type(failure) if not isinstance(failure, OSError) else ModelError):
        falling(T).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_wrong_places_and_suffixes(tmp_path: Path) -> None:
    r = swinging(T)
    for name in ("motion", "motion.txt", "motion.npz.gz"):
        with pytest.raises(ArgumentError, match=r"cannot tell the format.*expected \.npz, \.csv, \.parquet"):
            r.save(tmp_path / name)
        with pytest.raises(ArgumentError, match=r"cannot tell the format.*expected \.npz, \.csv, \.parquet"):
            on.load_result(tmp_path / name)
    with pytest.raises(ModelError, match=r"nowhere.*cannot be written"):
        r.save(tmp_path / "nowhere" / "motion.npz")
    for suffix in SUFFIXES:
        with pytest.raises(ModelError, match=rf"none\.{suffix}: the file cannot be read: No such file"):
            on.load_result(tmp_path / f"none.{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.needs("pyarrow")
def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "motion.parquet"
    swinging(T).save(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for do in (swinging(T).save, on.load_result):
        with pytest.raises(OrdernError, match=r"a Parquet file needs pyarrow: pip install 'ordern\[data\]'"):
            do(path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_damaged_files_are_told(tmp_path: Path, suffix: str) -> None:
    """Cut anywhere, with bits flipped, with pieces of other files: an error that names the file, or the same motion."""
    path, bad = tmp_path / f"motion.{suffix}", tmp_path / f"bad.{suffix}"
    r = eventful(T)
    r.save(path)
    data = path.read_bytes()
    rng = random.Random(4)
    cases = [data[: rng.randrange(len(data))] for _ in range(40)]
    cases += [data[: len(data) - k] for k in range(1, 30)]
    for _ in range(150):
        flipped = bytearray(data)
        for _ in range(rng.choice((1, 1, 4, 30))):
            flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        cases.append(bytes(flipped))
    cases += [b"", b"\0" * 1000, b"PAR1" * 20, b"PK\x05\x06" + bytes(18), data + data, b"# ordern {}\n", b"\xff\xfe"]
    told = 0
    for case in cases:
        bad.write_bytes(case)
        try:
            found = on.load_result(bad)
        except OrdernError as e:
            told += 1
            assert f"bad.{suffix}" in str(e)
        else:
            assert suffix == "csv" or found == r  # who changes a digit of a CSV file has another motion
    assert told > 90


def hostile(**change: Any) -> dict[str, Any]:
    """The header of a motion with something in it replaced."""
    from ordern.simulate.results.formats.header import header

    about = json.loads(json.dumps(header(eventful(T))))
    for key, value in change.items():
        at: Any = about
        *way, last = key.split("__")
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[last] = value
    return about


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "pickle"}, "not a motion"),
        ({"version": 99}, "version 99 of the format"),
        ({"samples": 10**12}, "samples|shape"),
        ({"samples": -1}, "damaged"),
        ({"samples": True}, "damaged"),
        ({"q": 5}, "damaged"),
        ({"q": ["slide", "other"]}, "column|shape"),
        ({"arrays": ["t", "q", "v", "a", "tau", "__class__"]}, "names the arrays"),
        ({"arrays": ["t"]}, "names the arrays"),
        ({"extra": [["x", [10**30]]]}, "damaged"),
        ({"extra": [["x", [2**20, 2**20]]]}, "columns of 'x'|no array"),
        ({"extra": [["energy", []]]}, "column|no array"),
        ({"events": 3}, "no list of events"),
        ({"events": [{"time": "__import__('os')"}]}, "damaged Happened"),
        ({"report": dict.fromkeys(SimulationReport.__dataclass_fields__, "x")}, "damaged SimulationReport"),
        ({"robot": []}, "a Model is a dictionary"),
        ({"robot": {}}, "needs 'name'"),
        ({"robot__gravity": ["nan", 0, 0]}, "gravity of a Model: expected a finite number"),
        ({"robot__bodies__0__mass": -1.0}, "mass"),
        ({"robot__bodies__0__mass": 1e999}, "finite"),
        ({"robot__joints__0__parent": 7}, "parents come before"),
        ({"robot__joints__0__q_start": 7}, "starts at 7"),
        ({"robot__joints__0__q_start": 0.0}, "whole number"),
        ({"robot__joints__0__mimic": {"joint": 50}}, "follows the joint 50"),
        ({"robot__joints__0__mimic": {"joint": 0}}, "cannot follow"),
        ({"robot__joints__0__type__joint": "Joint"}, "one of the joints"),
        ({"robot__joints__0__type__joint": "os.system"}, "one of the joints"),
        ({"robot__joints__0__type__axis": [0, 0, 0]}, "direction"),
        ({"robot__joints__0__type__run": "x"}, "has no 'run'"),
        ({"robot__frames__0__body": 10**9}, "is on body 1000000000"),
        ({"robot__frames__0__body": -2}, "is on body -2"),
        ({"robot__shapes": [{"body": 0, "kind": "teapot", "size": []}]}, "teapot"),
        ({"robot__couplings": [{"name": "c", "joint": 0, "other": 9, "coefficients": [1]}]}, "of body or joint"),
        ({"robot__name": {"a": 1}}, "expected a text"),
    ],
)
@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_hostile_headers_are_refused(tmp_path: Path, suffix: str, change: dict[str, Any], words: str) -> None:
    path = tmp_path / f"motion.{suffix}"
    eventful(T).save(path)
    text = json.dumps(hostile(**change)).encode()
    if suffix == "csv":
        path.write_bytes(b"# ordern " + text + b"\n" + path.read_bytes().partition(b"\n")[2])
    else:
        rewritten(path, {"header.npy": npy(np.frombuffer(text, np.uint8))})
    with pytest.raises(OrdernError, match=words) as caught:
        on.load_result(path)
    assert "motion." in str(caught.value)


def npy(x: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, x)
    return stream.getvalue()


def rewritten(path: Path, members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()} | members
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in found.items():
            archive.writestr(name, data)


class Trap:
    """What a pickle would run."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('a file was executed')",))


@pytest.mark.slow
def test_hostile_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "motion.npz"
    trap = io.BytesIO()
    np.lib.format.write_array(trap, np.array([Trap()], object), allow_pickle=True)
    huge = npy(np.zeros(25)).replace(b"(25,)", b"(9**9,)"), npy(np.zeros(25)).replace(b"(25,), ", b"(9999999999999,), ")
    cases = [
        ({"t.npy": trap.getvalue()}, "is damaged: it is of object"),
        ({"t.npy": pickle.dumps(Trap())}, "cannot be read"),
        ({"t.npy": huge[0]}, "cannot be read"),
        ({"t.npy": npy(np.zeros(25)).replace(b"(25,), ", b"(-25,),")}, "is damaged|cannot be read"),
        ({"t.npy": npy(np.zeros(25, np.float32))}, "float32"),
        ({"t.npy": npy(np.zeros(24))}, r"has the shape \(24,\), not \(25,\)"),
        ({"t.npy": b""}, "cannot be read"),
        ({"t.npy": huge[1]}, "is damaged|cannot be read"),
        ({"header.npy": npy(np.frombuffer(b"[" * 100_000, np.uint8))}, "description of the motion cannot be read"),
    ]
    for members, words in cases:
        swinging(T).save(path)
        rewritten(path, members)
        with pytest.raises(ModelError, match=words):
            on.load_result(path)
    swinging(T).save(path)
    rewritten(path, {"q.npy": npy(np.zeros((10**7, 1)))}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ModelError, match="compressed"):
        on.load_result(path)


def test_a_parquet_file_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "motion.parquet"
    pq.write_table(pa.table({"t": np.zeros(10**7)}), path)
    assert path.stat().st_size < 10**6
    with pytest.raises(ModelError, match="claims 10000000 samples"):
        on.load_result(path, swinging(T).robot)
    pq.write_table(pa.table({"t": ["a", "b"]}), path)
    with pytest.raises(ModelError, match="not numbers"):
        on.load_result(path, swinging(T).robot)


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, suffix: str) -> None:
    """A folder, nothing at all, a name that is none."""
    folder, empty = (tmp_path / f"{name}.{suffix}" for name in ("folder", "empty"))
    folder.mkdir()
    with pytest.raises(ModelError, match=rf"folder\.{suffix}: (this is a directory|the file cannot be read)"):
        on.load_result(folder)
    empty.touch()
    with pytest.raises(ModelError, match=rf"empty\.{suffix}: the file is empty"):
        on.load_result(empty)
    with pytest.raises(ModelError, match="cannot be the name of a file"):
        on.load_result(f"a\0b.{suffix}")
    if os.name == "posix":
        _assert_pipes_and_devices_are_refused(tmp_path, suffix)


def _assert_pipes_and_devices_are_refused(tmp_path: Path, suffix: str) -> None:
    """A pipe that nobody writes to, and one that has something; devices without an end."""
    pipe = tmp_path / f"pipe.{suffix}"
    os.mkfifo(pipe)
    with pytest.raises(ModelError, match=rf"pipe\.{suffix}: this is not a regular file"):
        on.load_result(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)
    os.write(writer, b"t,q.hinge\n0,1\n")
    with pytest.raises(ModelError, match=rf"pipe\.{suffix}: this is not a regular file"):
        on.load_result(pipe)
    os.close(writer)
    os.close(reader)
    for device in ("zero", "random", "null"):
        link = tmp_path / f"{device}.{suffix}"
        link.symlink_to(f"/dev/{device}")
        with pytest.raises(ModelError, match=rf"{device}\.{suffix}: this is not a regular file"):
            on.load_result(link)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_huge_file_is_refused_at_once(tmp_path: Path, suffix: str) -> None:
    """Files with holes, which take no space: more than any memory, and much that is nothing."""
    path = tmp_path / f"huge.{suffix}"
    kinds = "not text|not an NPZ|not a Parquet"
    for size, words in ((1 << 43, "8,796,093,022,208 bytes, which do not fit"), (1 << 30, kinds)):
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(ModelError, match=rf"huge\.{suffix}: .*({words})"):
            on.load_result(path)


def test_a_csv_file_without_lines_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_LONGEST", 1 << 14)
    robot, path = swinging(T).robot, tmp_path / "motion.csv"
    for text in ("t" * 20_000, "t,q.hinge\n" + "0," * 20_000):
        path.write_text(text)
        with pytest.raises(ModelError, match=r"motion\.csv.*a line of the file has more than 16,384 characters"):
            on.load_result(path, robot)


def everywhere() -> list[on.Robot]:
    found = [on.load(name) for name in robots.names()]
    found += [random_robot(k, 14, LIBRARY_JOINTS, passive=True, mimic=True, floating=bool(k % 2)) for k in range(6)]
    inner = on.Composite((on.Helical((0, 0.6, 0.8), 0.1), (on.Spherical(), (1, 2, 3)), on.RollingDisc(0.3)))
    nested = on.Composite((inner, (on.Universal((1, 0, 0), (0, 1, 0)), ((0, 0, 1), (0.1, 0.2, 0.3)))))
    found.append(on.Builder("nested").body("base").body("b", parent="base", joint=nested, mass=1.0).build())
    files = (
        "talos_data/robots/talos_full_v2.urdf",
        "panda_description/urdf/panda.urdf",
        "pr2_description/urdf/pr2.urdf",
    )
    return found + [on.load(ROBOTS / file) for file in files]


@pytest.mark.slow
def test_robots_as_data_are_the_same_robots() -> None:
    for robot in everywhere():
        text = json.dumps(to_plain(robot), allow_nan=False)
        back = from_plain(json.loads(text), on.Robot)
        assert back == robot
        assert repr(back.__getstate__()) == repr(robot.__getstate__())
        for one, other in zip(back.joints, robot.joints, strict=True):
            assert repr((one.type, one.placement, one.lower)) == repr((other.type, other.placement, other.lower))
        assert back.digest == robot.digest


@pytest.mark.needs("pyarrow")
def test_a_simulation_goes_to_files_and_back(tmp_path: Path) -> None:
    robot = on.load("double-pendulum")
    r = robot.simulate([1.5, 0.3], until=2.0, events=[Event(lambda t, q, v: v[0], name="turns")])
    assert r.events
    fine = np.linspace(0.0, 2.0, 77)
    for suffix in SUFFIXES:
        r.save(tmp_path / f"motion.{suffix}")
        back = on.load_result(tmp_path / f"motion.{suffix}")
        assert back == r
        assert repr(back.report) == repr(r.report)
        if suffix == "npz":
            np.testing.assert_array_equal(back.at(fine)[0], r.at(fine)[0])
    path = tmp_path / "motion.npz"
    for t, c in (((3,), (2, 4, 5)), ((3,), (3, 4, 4)), ((1,), (0, 4, 4)), ((3, 1), (2, 4, 4)), ((3,), (2, 4, 4))):
        rewritten(path, {"dense.t.npy": npy(np.ones(t)), "dense.coefficients.npy": npy(np.ones(c))})
        with pytest.raises(ModelError, match="dense output is damaged"):
            on.load_result(path)
