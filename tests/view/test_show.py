"""What `view` takes, writes and refuses; no browser is needed here."""

from __future__ import annotations

import html
import json
import re
import socket
import sys
import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.io.writing import UnwritableError
from ordern.view import show
from ordern.view.motion import Motion, motion_of, read_motion
from ordern.view.stage import Stage, arrows, joint_forces
from tests.tolerances import ROUNDING, assert_close

pytestmark = pytest.mark.needs("viser")


@pytest.fixture(scope="module")
def puma() -> on.Robot:
    return on.load("puma560")


@pytest.fixture(scope="module")
def swing(puma: on.Robot) -> tuple[Any, Any]:
    t = np.linspace(0.0, 1.0, 21)
    return t, 0.3 * np.sin(t[:, None] * np.arange(1, 7))


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        (((0.0, 1.0), np.zeros((2, 5))), r"motion: q has shape \(2, 5\); expected \(2, 6\)"),
        (((0.0, 1.0), np.zeros((3, 6))), r"q has shape \(3, 6\); expected \(2, 6\)"),
        (((1.0, 0.0), np.zeros((2, 6))), "must not go back"),
        (((), np.zeros((0, 6))), "at least one position"),
        (((0.0, 1.0), np.full((2, 6), np.nan)), "motion: q must be finite; entry 0, 0 is nan"),
        (((0.0, 1.0), [["x"] * 6] * 2), "q must be an array of numbers"),
        (SimpleNamespace(x=1), "has no times `t` and positions `q`"),
        (SimpleNamespace(t=[0.0], q=np.zeros((1, 6)), v=np.zeros((1, 3))), "v has shape"),
    ],
)
def test_bad_motions(puma: on.Robot, motion: Any, words: str) -> None:
    with pytest.raises(on.ArgumentError, match=words):
        show(puma, motion, save="x.html")


def test_bad_positions_and_frames(puma: on.Robot) -> None:
    with pytest.raises(on.ArgumentError, match=r"q has shape \(5,\); expected \(6,\)"):
        puma.view(np.zeros(5), save="x.html")
    with pytest.raises(on.ArgumentError, match=r"several positions are a motion: view\(motion=\(t, q\)\)"):
        puma.view(np.zeros((2, 6)), save="x.html")
    with pytest.raises(on.UnknownNameError, match=r"unknown frame 'flang'.*Did you mean 'flange'"):
        puma.view(motion=([0.0], np.zeros((1, 6))), paths=["flang"], save="x.html")


def test_unknown_forces_are_left_out(puma: on.Robot) -> None:
    unknown = np.full((2, 6), np.nan)
    motion = motion_of(puma, SimpleNamespace(t=[0, 1], q=np.zeros((2, 6)), v=np.ones((2, 6)), a=unknown, tau=unknown))
    assert motion.v is not None and motion.a is None and motion.tau is None


def test_of_two_samples_at_one_time_the_last_counts(puma: on.Robot) -> None:
    q = np.arange(4.0)[:, None] * np.ones(6)
    motion = motion_of(puma, ([0.0, 1.0, 1.0, 2.0], q))
    assert motion.t.tolist() == [0, 1, 2]
    assert motion.q[:, 0].tolist() == [0, 2, 3]


def test_frames_between_samples_stay_on_the_way() -> None:
    robot = on.load("free-top")
    ends = np.array([[1.0, 0, 0, 0], [0.0, 0, 0, 1.0]])  # half a turn about z
    frames = motion_of(robot, ([0.0, 1.0], ends)).frames(robot, 4)
    angle = np.pi * np.linspace(0, 1, 5)
    expected = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=-1)
    assert_close(np.abs(np.sum(frames.q * expected, axis=1)), np.ones(5), ROUNDING)


def test_a_simulation_is_shown_by_its_dense_output(puma: on.Robot) -> None:
    result = puma.simulate([0.3, 1.2, -0.9, 0.2, 0.4, 0.0], np.zeros(6), until=0.5)
    frames = motion_of(puma, result).frames(puma, 40)
    assert_close(frames.q, result.at(frames.t)[0], ROUNDING)


@pytest.mark.parametrize("kind", ["npz", "saved", "csv", "bare", "named", "parquet"])
def test_motions_from_files(puma: on.Robot, tmp_path: Path, kind: str) -> None:
    t, rng = np.linspace(0, 1, 5), np.random.default_rng(0)
    q, v, a, tau = rng.normal(size=(4, 5, 6))
    path = tmp_path / {"npz": "m.npz", "saved": "m.npz", "parquet": "m.parquet"}.get(kind, "m.csv")
    if kind == "npz":
        np.savez(path, t=t, q=q, v=v)
    elif kind == "bare":
        np.savetxt(path, np.column_stack([t, q]), delimiter=",", fmt="%.17g")
    elif kind == "named":  # in an order of its own, which the names tell
        names = [c.name for c in puma.joints][::-1]
        head = ["volts", *(f"v.{x}" for x in names), "time", *names]
        rows = [[0.0, *z[::-1], x, *y[::-1]] for x, y, z in zip(t, q, v, strict=True)]
        path.write_text("\n".join([", ".join(head), *(",".join(map(repr, map(float, row))) for row in rows)]))
    else:
        from ordern.simulate.results.result import Result

        Result(puma, t, q, v, a, tau).save(path)
    motion, notes = read_motion(puma, path)
    assert np.array_equal(motion.t, t) and np.array_equal(motion.q, q)
    assert motion.v is None if kind == "bare" else np.array_equal(motion.v, v)
    assert (motion.tau is None) == (kind in ("npz", "bare", "named"))
    assert notes == ((f"{path}: not read: volts",) if kind == "named" else ())


def test_an_archive_of_another_robot_is_not_taken_by_order(puma: on.Robot, tmp_path: Path) -> None:
    """A saved motion names its coordinates; those of another robot may be as many."""
    from ordern.simulate.results.result import Result

    Result(puma, [0.0], *np.zeros((4, 1, 6))).save(tmp_path / "m.npz")
    with pytest.raises(on.ArgumentError, match="the motion is of 'puma560', whose coordinates are waist"):
        read_motion(on.load("stanford-arm"), tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.txt", b"", "is read from .npz, .csv, .parquet, not from '.txt'"),
        ("m.npz", None, "m.npz: the file cannot be read: No such file"),
        ("m.npz", b"PK\x03\x04 no archive", "not an archive of arrays"),
        ("m.csv", b"", "m.csv: the file has no rows of numbers"),
        ("m.csv", b"t,q\n1,2\n1\n", "m.csv:3: the line has 1 columns, those before 2"),
        ("m.csv", b"\xff\xfe\x00", "not UTF-8 text"),
        ("m.csv", b"t,q1\n0,1\n", "a motion needs columns of positions, such as q.waist; the file has t, q1"),
        ("m.csv", b"waist,q.elbow\n0,1\n", "none for q.shoulder, q.wrist_roll, q.wrist_pitch, q.flange_roll"),
        ("m.csv", b"t,q.wiast\n0,1\n", "column 'q.wiast': unknown joint 'wiast' in puma560. Did you mean 'waist'"),
        ("m.csv", b"t,Waist\n0,1\n", "column 'Waist': unknown joint 'Waist' in puma560. Did you mean 'waist'"),
        ("m.csv", b"0,1,2\n", "the columns have no names, and 3 of them are not t and those of 'puma560'"),
    ],
)
def test_bad_files(puma: on.Robot, tmp_path: Path, name: str, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(on.OrdernError, match=words):
        read_motion(puma, tmp_path / name)


def test_joint_forces_at_rest_carry_the_weight() -> None:
    robot = on.load("double-pendulum")
    forces = joint_forces(robot, Motion(np.zeros(1), np.zeros((1, 2))))
    weights = [sum(b.mass for b in robot.bodies) * 9.81, robot.bodies[1].mass * 9.81]
    assert_close(forces[0], np.array([[0, 0, weights[0]], [0, 0, weights[1]]]), ROUNDING)
    poses = np.stack([robot.pose(np.zeros(2), b.name) for b in robot.bodies])
    segments = arrows(poses, forces[0], 0.01, 0.0)
    assert_close(segments[:, 0], poses[:, :3, 3], 0)
    assert_close(segments[:, 1] - segments[:, 0], 0.01 * forces[0], ROUNDING)
    assert len(arrows(poses, forces[0], 0.01, 0.01 * weights[1] + 1e-9)) == 1  # the shorter one is left out


def test_paths_are_those_of_the_frames(puma: on.Robot, swing: tuple[Any, Any]) -> None:
    stage = Stage(puma, swing, paths=["flange", "forearm"])
    paths = stage.paths()
    assert list(paths) == ["flange", "forearm"]
    for name, points in paths.items():
        assert_close(points[[0, -1]], puma.pose(swing[1][[0, -1]], name)[:, :3, 3], ROUNDING)


def told(text: str) -> dict[str, Any]:
    """What a saved page's panel knows."""
    found = re.search(r"window\.__ORDERN__=(\{.*?\});</script>", text)
    assert found
    return dict(json.loads(found[1]))


def test_saved_pages(puma: on.Robot, swing: tuple[Any, Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert puma.view(motion=swing, save=path) is None
    text = path.read_text("utf-8")
    assert "<title>puma560</title>" in text
    assert not re.search(r"""<(script|link|img)[^>]*(src|href)=["']?(https?:)?//""", text)
    panel = told(text)
    assert [s["label"] for s in panel["sliders"]] == [c.name for c in puma.joints]
    assert panel["motion"]["t"][-1] == 1.0
    assert list(panel["curves"]) == ["positions"]
    assert list(tmp_path.iterdir()) == [path]


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    builder = on.Builder(evil).body("base").body(evil, parent="base", joint=on.Revolute((0, 0, 1)), mass=1.0)
    robot = builder.build()
    robot.view(save=tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert evil not in text
    assert told(text)["name"] == evil


def test_missing_meshes_are_one_warning(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    mesh = '<visual><geometry><mesh filename="no.stl"/></geometry></visual>'
    file.write_text(f'<robot name="r"><link name="a">{mesh}{mesh}</link></robot>')
    robot = on.load(file)
    with pytest.warns(on.ModelWarning, match=r"r: meshes that are not shown: no.stl \(no such file\)$") as caught:
        robot.view(save=tmp_path / "page.html")
    assert len(caught) == 1


def test_pages_that_cannot_be_written(puma: on.Robot, tmp_path: Path) -> None:
    with pytest.raises(UnwritableError, match="the file cannot be written"):
        puma.view(save=tmp_path / "none" / "page.html")
    with pytest.raises(on.ArgumentError, match=r"must end in \.html"):
        puma.view(save=tmp_path / "page.txt")
    assert not list(tmp_path.iterdir())


def test_a_port_in_use(puma: on.Robot) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(on.OrdernError, match=f"port {port} cannot be used .*: give another one"):
            puma.view(port=port, browser=False, wait=False)
    with pytest.raises(on.ArgumentError, match="from 1 to 65535"):
        puma.view(port=70000, browser=False, wait=False)


def test_without_viser(puma: on.Robot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'ordern[view]'")):
        puma.view(save=tmp_path / "page.html")


def test_a_served_page_ends_cleanly(puma: on.Robot, capsys: pytest.CaptureFixture[str]) -> None:
    before = threading.active_count()
    with show(puma, browser=False, wait=False) as viewer:  # type: ignore[union-attr]
        assert re.fullmatch(r"http://localhost:\d+", viewer.url)
        with urllib.request.urlopen(viewer.url, timeout=10) as answer:
            assert b"<html" in answer.read()
        viewer.pose(0.1 * np.ones(6))
        with pytest.raises(on.ArgumentError, match=r"q has shape \(3,\); expected \(6,\)"):
            viewer.pose(np.zeros(3))
        assert viewer.url in repr(viewer)
    assert "closed" in repr(viewer)
    viewer.close()
    with pytest.raises(OSError):
        urllib.request.urlopen(viewer.url, timeout=2)
    assert threading.active_count() <= before + 2
    assert capsys.readouterr().out == ""


def test_a_notebook_gets_the_whole_page_and_no_server(
    puma: on.Robot, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["ordern.view.show"], "in_notebook", lambda: True)
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("opened a tab"))
    viewer = puma.view()
    assert viewer is not None and "not served" in repr(viewer)
    viewer.pose(0.1 * np.ones(6))
    shown = viewer._repr_html_()
    (frame,) = re.findall(r'<iframe srcdoc="([^"]*)"', shown)
    page = html.unescape(frame)
    values = json.loads(re.search(r"window.__ORDERN__=(.*?);</script>", page)[1])["values"]  # type: ignore[index]
    assert values == 6 * [0.1]
    assert "not served" in repr(viewer) and capfd.readouterr() == ("", "")
    with viewer:
        assert re.fullmatch(r"http://localhost:\d+", viewer.url) and viewer.url in repr(viewer)
    unused = puma.view()
    assert unused is not None
    unused.close()
    with pytest.raises(on.OrdernError, match="is closed"):
        print(unused.url)


def test_external_forces_are_drawn(puma: on.Robot) -> None:
    stage = Stage(puma, external={"flange": [0, 0, 0, 0, 0, 50.0]})
    found = stage.arrows(Motion(np.zeros(1), stage.q[None]))
    (segment,) = found["external forces"][0]
    pose = puma.pose(stage.q, "flange")
    assert_close(segment[0], pose[:3, 3], ROUNDING)
    direction = (segment[1] - segment[0]) / np.linalg.norm(segment[1] - segment[0])
    assert_close(direction, pose[:3, 2], ROUNDING)
