"""Pages in a real browser: they load, draw, move and play, and ask nobody."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.view.charts import Charts
from ordern.view.closing import Closing
from ordern.view.page import embedded
from ordern.view.stage import Stage
from tests.random_models import random_robot
from tests.tolerances import VIEWED, assert_close
from tests.view.chromium import HOW_TO_GET_ONE, Page, Picture, find_browser, page

pytestmark = [
    pytest.mark.needs("viser"),
    pytest.mark.skipif(find_browser() is None, reason=HOW_TO_GET_ONE),
]

START = np.array([0.3, 1.0, -0.6, 0.2, 0.4, 0.0])


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with page(760, 400) as made:
        yield made


@pytest.fixture(scope="module")
def puma() -> on.Robot:
    return on.load("puma560")


@pytest.fixture(scope="module")
def swing() -> tuple[Any, Any]:
    t = np.linspace(0.0, 2.0, 41)
    return t, START + 0.5 * np.sin(2.0 * t[:, None] * np.arange(1, 7) / 3)


def opened(browser: Page, url: str) -> None:
    """Load a page, and wait until its bodies are there."""
    browser.errors.clear()
    browser.requests.clear()
    browser.open(url)
    browser.until("Object.keys(window.__viserMutable?.nodePoseData ?? {}).some((name) => name.startsWith('/robot/0'))")
    # viser tells of machines without a GPU, in front of the robot
    browser.run(
        "(() => { const style = document.createElement('style');"
        " style.textContent = '.mantine-Notification-root { display: none }';"
        " document.head.append(style); return true })()"
    )


def checked(browser: Page) -> None:
    """Nothing went wrong, and nobody else was asked."""
    assert browser.errors == []
    allowed = re.compile(r"(file:///|data:|blob:(null|http://localhost:\d+)/|(http|ws)://localhost:\d+(/|$))")
    assert [url[:200] for url in browser.requests if not allowed.match(url)] == []
    assert browser.requests


def canvas(picture: Picture) -> Picture:
    """The part of a picture that no panel covers."""
    return picture[20:350, 10:440]


def colours(picture: Picture) -> int:
    return len(np.unique(canvas(picture).reshape(-1, 3), axis=0))


def changed(one: Picture, other: Picture) -> float:
    """How much of two pictures differs."""
    return float((np.abs(canvas(one).astype(int) - canvas(other)).max(axis=-1) > 12).mean())


def poses(browser: Page, robot: on.Robot) -> tuple[Any, Any]:
    """Where the page has the bodies: positions, and quaternions."""
    nodes = browser.run(
        "Object.entries(window.__viserMutable.nodePoseData).filter(([name]) => /^\\/robot\\/\\d+ [^/]*$/.test(name))"
        ".map(([name, pose]) => [parseInt(name.slice(7)), pose.position, pose.wxyz])"
    )
    nodes.sort()
    assert [k for k, _, _ in nodes] == list(range(len(robot.bodies)))
    return np.array([p for _, p, _ in nodes]), np.array([w for _, _, w in nodes])


def assert_at(browser: Page, robot: on.Robot, q: Any, tolerance: float = VIEWED) -> None:
    """The page shows the robot where the dynamics have it."""
    T = np.stack([robot.pose(q, body.name) for body in robot.bodies])
    p, wxyz = poses(browser, robot)
    assert_close(p, T[:, :3, 3], tolerance)
    w, x, y, z = wxyz.T
    third = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z], axis=-1)
    assert_close(third, T[:, :3, 2], tolerance)
    first = np.stack([w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=-1)
    assert_close(first, T[:, :3, 0], tolerance)


@pytest.mark.slow
def test_live_page(browser: Page, puma: on.Robot, swing: tuple[Any, Any]) -> None:
    with puma.view(motion=swing, browser=False, wait=False) as viewer:  # type: ignore[union-attr]
        opened(browser, viewer.url)
        browser.until("document.body.innerText.includes('flange_roll')")
        before = settled(browser)
        assert colours(before) > 300, "nothing is drawn"
        assert_at(browser, puma, swing[1][0])

        # a joint's slider moves the robot
        browser.run("document.querySelectorAll('[role=slider]')[2].focus()")  # after those of time and of the waist
        browser.key("End", 35)
        wait_for(lambda: abs(viewer._values[1] - puma.upper[1]) < 0.01)
        q = swing[1][0].copy()
        q[1] = viewer._values[1]
        moved = settled(browser)
        assert changed(before, moved) > 0.01
        assert_at(browser, puma, q)

        # forces can be shown
        browser.run("[...document.querySelectorAll('label')].find((x) => x.innerText === 'joint forces').click()")
        browser.until("!!window.__viserMutable.nodePoseData['/joint forces']")

        # playing moves it on, and pausing stops it
        click = "[...document.querySelectorAll('button')].find((b) => b.innerText.trim() === '{}').click()"
        browser.run(click.format("Play"))
        browser.until("[...document.querySelectorAll('button')].some((b) => b.innerText.trim() === 'Pause')")
        wait_for(lambda: viewer._time > 0.3)
        browser.run(click.format("Pause"))
        wait_for(lambda: not viewer._playing)
        assert changed(moved, settled(browser)) > 0.01

        # and a moment can be chosen
        viewer.seek(1.0)
        browser.until(
            f"Math.abs(window.__viserMutable.nodePoseData['/robot/5 flange'].position[2] - "
            f"{puma.pose(swing[1][20], 'flange')[2, 3]}) < 1e-4"
        )
        assert_at(browser, puma, swing[1][20])
        checked(browser)
        browser.open("about:blank")  # else the page would miss its server


@pytest.mark.slow
def test_page_in_an_exported_notebook(browser: Page, puma: on.Robot, tmp_path: Path) -> None:
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><body>{embedded(Stage(puma, q=START))}</body>", encoding="utf-8")
    browser.errors.clear()
    browser.requests.clear()
    browser.open(file.as_uri())
    inner = "document.querySelector('iframe')?.contentWindow.__viserMutable"
    browser.until(f"Object.keys({inner}?.nodePoseData ?? {{}}).some((name) => name.startsWith('/robot/5'))")
    at = browser.run(f"{inner}.nodePoseData['/robot/5 flange'].position")
    assert_close(np.array(at), puma.pose(START, "flange")[:3, 3], VIEWED)
    assert browser.errors == []
    assert [url[:80] for url in browser.requests if not re.match(r"file:|data:|blob:|about:", url)] == []


@pytest.mark.slow
def test_saved_page(browser: Page, puma: on.Robot, swing: tuple[Any, Any], tmp_path: Path) -> None:
    file = tmp_path / "motion.html"
    puma.view(motion=swing, save=file)
    opened(browser, file.as_uri())

    # it plays by itself
    clock = "window.__viserMutable.nodePoseData['/clock'].position[0]"
    first = browser.until(f"window.__viserMutable.nodePoseData['/clock'] && {clock}")
    browser.until(f"Math.abs({clock} - {first}) > 0.1")
    pause = "document.querySelector('.tabler-icon-player-pause-filled').closest('button').click()"
    browser.run(pause)
    browser.until("!!document.querySelector('.tabler-icon-player-play-filled')")
    playing = settled(browser)
    assert colours(playing) > 300, "nothing is drawn"

    # one can choose a moment
    x, y, width = browser.run(
        "(() => { const r = [...document.querySelectorAll('.mantine-Slider-track')].at(-1).getBoundingClientRect();"
        " return [r.left, r.top + r.height / 2, r.width] })()"
    )
    browser.click(x + width / 2, y)
    browser.until(f"Math.abs({clock} - 1) < 0.05")
    scrubbed = settled(browser)
    at = browser.run(clock)  # not before: the clock's messages are applied one after the other, as all others are
    motion = np.interp(at, swing[0], np.arange(41))
    k = int(motion)
    q = swing[1][k] + (motion - k) * (swing[1][min(k + 1, 40)] - swing[1][k])
    assert_at(browser, puma, q)
    assert browser.until("document.querySelector('#ordern time').textContent") == f"{at:.2f} s"

    # a joint's slider moves the robot
    shoulder = "document.querySelector('input[data-joint=shoulder]')"
    values = np.array(browser.run("[...document.querySelectorAll('input[data-joint]')].map((s) => Number(s.value))"))
    assert_close(values, q, 0.01)  # sliders have steps
    browser.run(f"{shoulder}.value = 2.5; {shoulder}.dispatchEvent(new Event('input'))")
    by_hand = settled(browser)
    assert changed(scrubbed, by_hand) > 0.01
    q[1] = 2.5
    assert_at(browser, puma, q, 1e-3)  # the panel knows the motion ten times a second

    # switches hide and show
    browser.run("document.querySelector('input[data-show=shapes]').click()")
    assert colours(settled(browser)) < colours(by_hand)
    checked(browser)


@pytest.mark.slow
def test_every_joint_moves_in_a_saved_page(browser: Page, tmp_path: Path) -> None:
    joints = (on.Revolute, on.Prismatic, on.Helical, on.Cylindrical, on.Universal, on.Planar, on.Spherical, on.Free)
    robot = random_robot(3, 9, joints, mimic=True)
    file = tmp_path / "still.html"
    robot.view(save=file)
    opened(browser, file.as_uri())
    charts = Charts(robot, 1.0)
    rng = np.random.default_rng(0)
    values = np.array([rng.uniform(max(s.lower, -1), min(s.upper, 1)) for s in charts.sliders])
    set_all = (
        f"(() => {{ const v = {values.tolist()}; document.querySelectorAll('input[data-joint]').forEach((s, k) => {{"
        " s.step = 'any'; s.value = v[k]; s.dispatchEvent(new Event('input')) }) })()"
    )
    browser.run(set_all)
    settled(browser)
    assert_at(browser, robot, charts.position(values))
    checked(browser)


def settled(browser: Page) -> Picture:
    """What is seen when all messages have been applied and drawn; viser fades pages in."""
    browser.until("window.__viserMutable.messageQueue.length === 0")
    return browser.still()


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)


# ---------------------------------------------------------------- loops


def misfit(browser: Page, robot: on.Robot) -> float:
    """Return how far the loops are open where the page has the bodies, in m and rad."""
    p, wxyz = poses(browser, robot)
    T = np.tile(np.eye(4), (len(p) + 1, 1, 1))  # the base is the last
    T[:-1, :3, :3], T[:-1, :3, 3] = on.rotations.matrix_from_quaternion(wxyz), p
    worst = 0.0
    for x in robot.loop_table.loops:
        one, other = (T[end.frame.body] @ end.frame.placement.matrix for end in (x.parent, x.child))
        between = on.rotations.inverse(one) @ other
        worst = max(worst, *(abs(r) for r in x.type.closure(between[:3, :3].tolist(), between[:3, 3].tolist())))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four-bar", "stewart-platform", "bricard"])
def test_sliders_of_a_saved_page_keep_loops_closed(browser: Page, name: str, tmp_path: Path) -> None:
    robot = on.load(name)
    file = tmp_path / "loops.html"
    robot.view(save=file)
    opened(browser, file.as_uri())
    browser.until("document.querySelectorAll('#ordern input[type=range]').length > 2")
    before = poses(browser, robot)[0]
    assert misfit(browser, robot) < 1e-6
    labels = browser.run("[...document.querySelectorAll('#ordern input[type=range]')].map((x) => x.dataset.joint)")
    assert labels == [slider.label for slider in Charts(robot, 1.0).sliders]
    k = len(labels) - 1  # the last joint: a rod of the platform
    value = browser.run(f"Number(document.querySelectorAll('#ordern input[type=range]')[{k}].value)")

    def slid(to: float) -> float:
        """Move the slider, and return where it is then."""
        place = f"document.querySelectorAll('#ordern input[type=range]')[{k}]"
        browser.run(f"(() => {{ const x = {place}; x.value = {to}; x.dispatchEvent(new Event('input')); }})()")
        browser.until("window.__viserMutable.messageQueue.length === 0")
        browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        return float(browser.run(f"Number({place}.value)"))

    assert slid(value + 0.1) == pytest.approx(value + 0.1, abs=2e-3)
    assert misfit(browser, robot) < 1e-6
    assert np.abs(poses(browser, robot)[0] - before).max() > 0.01
    slid(value - 10.0)  # to the end of the slider, or to where the loops hold it
    assert misfit(browser, robot) < 1e-6
    checked(browser)


@pytest.mark.slow
def test_sliders_of_a_served_page_keep_loops_closed() -> None:
    robot = on.load("five-bar")
    charts = Charts(robot, 1.0)
    closing = Closing(robot, charts)
    q = Stage(robot).q
    assert np.abs(robot.loop_residual(q)).max() < 1e-9
    moved = closing.moved(q, 0, q[0] + 0.2)
    assert moved[0] == pytest.approx(q[0] + 0.2) and np.abs(robot.loop_residual(moved)).max() < 1e-9
    opened_q = q + 0.1
    np.testing.assert_allclose(closing.moved(opened_q, 0, 0.5), [0.5, *opened_q[1:]])  # open loops stay as they are

    crank = on.load("slider-crank")
    q = Stage(crank).q
    reach = float(np.linalg.norm(crank.joints[1].placement.p) + crank.loops[0].child_placement.p[0])  # crank and rod
    far = Closing(crank, Charts(crank, 1.0)).moved(q, 2, 1.0)
    assert np.abs(crank.loop_residual(far)).max() < 1e-9
    assert far[2] == pytest.approx(reach, abs=2e-3) and far[2] < reach
