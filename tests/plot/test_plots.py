"""Figures have the numbers, names and units of what they draw, and leave nothing behind."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern import plot
from ordern.model.units import coordinate_units
from ordern.plot.curves import balance, ends, smooth
from ordern.plot.matrix import coupled
from ordern.plot.style import FAINT
from tests.random_models import random_robot
from tests.tolerances import HUNG, ROUNDING

pytestmark = pytest.mark.needs("matplotlib")


@pytest.fixture(scope="module")
def puma() -> on.Robot:
    return on.load("puma560")


@pytest.fixture(scope="module")
def fall(puma: on.Robot) -> on.Result:
    return puma.simulate([0.3, 1.2, -0.9, 0.2, 0.4, 0.0], until=0.5)


def curve(ax: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    (line,) = (x for x in ax.get_lines() if x.get_label() == label)
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def titles(figure: Any) -> list[str]:
    return [t for t in (ax.get_title(loc="left") for ax in figure.axes) if t]


# ---------------------------------------------------------------- motions


@pytest.mark.slow
def test_curves_go_through_the_samples(fall: on.Result) -> None:
    figure = fall.plot("q", "v", "tau")
    q, v, tau = figure.axes
    assert [ax.get_ylabel() for ax in figure.axes] == ["rad", "rad/s", "N m"]
    for ax, series in ((q, "q"), (v, "v"), (tau, "tau")):
        t, y = curve(ax, "elbow")
        at = np.searchsorted(t, fall.t)
        np.testing.assert_array_equal(t[at], fall.t)
        np.testing.assert_array_equal(y[at], fall[f"{series}.elbow"])
    assert tau.get_xlabel() == "time, s" and not q.get_xlabel()


def test_curves_between_samples_are_the_motion(fall: on.Result) -> None:
    """Steps of the eighth-order method are long: straight lines between them would be seen."""
    t, y = curve(fall.plot("q").axes[0], "shoulder")
    assert len(fall) < 60
    assert len(t) > 1000
    np.testing.assert_array_equal(y, fall.at(t)[0][:, 1])


@pytest.mark.slow
def test_usual_panels(fall: on.Result) -> None:
    assert titles(fall.plot()) == ["Position", "Velocity", "Energy"]
    driven = fall.robot.simulate(tau=np.ones(6), until=0.1)
    assert titles(driven.plot()) == ["Position", "Velocity", "Joint force", "Energy"]
    assert fall.plot(title="Let go").get_suptitle() == "Let go"
    assert fall.plot().get_suptitle() == "puma560"


def test_what_is_not_a_motion(fall: on.Result) -> None:
    robot = fall.robot
    with pytest.raises(on.ArgumentError, match=r"not an array \(6,\); `ordern.plot.mechanism\(robot, q\)` draws"):
        robot.plot(np.zeros(6))  # type: ignore[arg-type]
    with pytest.raises(on.ArgumentError, match=r"not an array \(2,\) of them; plot one"):
        robot.plot(np.array([fall, None], object))  # type: ignore[arg-type]
    with pytest.raises(on.ArgumentError, match=r"a motion is a Result, such as `robot.simulate` returns, not a dict"):
        robot.plot({"q": 1})  # type: ignore[arg-type]


def test_chosen_joints(fall: on.Result) -> None:
    (ax,) = fall.plot("q", joints=["elbow", "waist"]).axes
    assert [x.get_label() for x in ax.get_lines()] == ["waist", "elbow"]
    with pytest.raises(on.UnknownNameError, match=r"unknown joint 'elbw'.*Did you mean 'elbow'"):
        fall.plot("q", joints="elbw")


@pytest.mark.slow
def test_units_split_panels() -> None:
    result = on.load("stanford-arm").simulate(until=0.1)
    figure = result.plot("q", "tau")
    assert [ax.get_ylabel() for ax in figure.axes] == ["rad", "m", "N m", "N"]
    np.testing.assert_array_equal(curve(figure.axes[1], "joint3")[1][-1], result.q[-1, 2])


def test_energy_and_its_error() -> None:
    """The error on the second scale is that of the balance: here a made-up leak of 2e-3 J per second."""
    robot = on.load("double-pendulum")
    t = np.linspace(0.0, 1.0, 50)
    q, zero = np.tile([0.3, -0.2], (50, 1)), np.zeros((50, 2))
    still = on.Result(robot, t, q, zero, zero, zero, work=2e-3 * t, dissipated=np.zeros(50))
    np.testing.assert_allclose(balance(still), -2e-3 * t, atol=1e-13)
    ax, error = still.plot("energy").axes
    assert error.get_ylabel() == "balance error, $10^{-3}$ J"
    (line,) = error.get_lines()
    np.testing.assert_allclose(line.get_ydata(), -2.0 * t, atol=1e-9)
    np.testing.assert_allclose(curve(ax, "potential")[1], robot.potential_energy([0.3, -0.2]), rtol=ROUNDING)
    np.testing.assert_array_equal(curve(ax, "kinetic")[1], 0.0)


def test_series_of_any_name(fall: on.Result) -> None:
    figure = fall.plot("position.flange", "q.elbow", "work", "central_momentum")
    assert [ax.get_ylabel() for ax in figure.axes] == ["m", "rad", "J", "N m s", "N s"]
    assert [x.get_label() for x in figure.axes[0].get_lines()] == ["x", "y", "z"]
    assert "Linear momentum about the mass centre" in titles(figure)
    extra = replace(fall, extra={"gauge": np.linspace(0.0, 1.0, len(fall))})
    np.testing.assert_array_equal(curve(extra.plot("gauge").axes[0], "gauge")[1][-1], 1.0)


def test_references_and_errors(fall: on.Result) -> None:
    robot = on.load("stanford-arm")
    t = np.linspace(0.0, 1.0, 9)
    q, v = np.outer(t, np.arange(6.0)), np.tile(np.arange(6.0), (9, 1))
    extra = {"q_reference": q + 0.5, "v_reference": q, "q_error": np.full(q.shape, 0.5), "v_error": q}
    result = on.Result(robot, t, q, v, np.zeros(v.shape), v, extra=extra)
    figure = result.plot("tracking", "q_error", "v_error", joints=["joint2", "joint3"])
    assert [ax.get_ylabel() for ax in figure.axes] == ["rad", "m", "rad", "m", "rad/s", "m/s"]
    actual, desired, _ = figure.axes[0].get_lines()
    np.testing.assert_allclose(desired.get_ydata() - actual.get_ydata(), 0.5)
    assert actual.get_color() == desired.get_color() and desired.get_linestyle() == "--"
    np.testing.assert_allclose(curve(figure.axes[3], "joint3")[1], 0.5)
    with pytest.raises(on.ArgumentError, match="this motion has no reference"):
        fall.plot("tracking")


@pytest.mark.slow
def test_many_joints_get_axes_of_their_own() -> None:
    robot = on.load("yamane-branched-30")
    t = np.linspace(0.0, 1.0, 20)
    v = np.outer(t, np.arange(30.0))
    q = robot.integrate(np.broadcast_to(robot.neutral(), (20, robot.nq)), v, 0.1)
    result = on.Result(robot, t, q, v, v, v)
    figure = result.plot("q", "v")
    assert len(figure.axes) == 20  # ten spherical joints, twice
    assert [x.get_label() for x in figure.axes[0].get_lines()] == ["qw", "qx", "qy", "qz"]
    assert {ax.get_ylim() for ax in figure.axes[10:]} == {figure.axes[10].get_ylim()}  # one scale


def test_very_many_coordinates_are_an_image() -> None:
    robot = on.chain(60)
    t = np.linspace(0.0, 1.0, 9)
    q = np.outer(t, np.arange(60.0))
    ax, bar = on.Result(robot, t, q, q, q, q).plot("q").axes
    (image,) = ax.collections
    assert image.get_array().shape[0] == 60
    np.testing.assert_allclose(image.get_array()[-1][-1], 59.0)
    assert bar.get_ylabel() == "rad"


@pytest.mark.slow
def test_phase_portrait(fall: on.Result) -> None:
    figure = fall.plot("phase", joints=["waist", "elbow"])
    assert titles(figure) == ["waist", "elbow"]
    start, end = figure.axes[1].get_lines()
    assert (start.get_xdata()[0], start.get_ydata()[0]) == (fall["elbow"].q[0], fall["elbow"].v[0])
    assert (end.get_xdata()[0], end.get_ydata()[0]) == (fall["elbow"].q[-1], fall["elbow"].v[-1])
    top = on.load("free-top")
    spun = top.simulate(v0=np.ones(top.nv), until=0.05)
    with pytest.raises(on.ArgumentError, match="no joint has a phase portrait"):
        spun.plot("phase")


def test_path_of_the_tip(fall: on.Result) -> None:
    flat = fall.plot("tip")
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in flat.axes] == [
        ("x, m", "y, m"),
        ("x, m", "z, m"),
        ("y, m", "z, m"),
    ]
    assert titles(flat) == ["Path of flange"]
    _, end = flat.axes[1].get_lines()
    np.testing.assert_array_equal([end.get_xdata()[0], end.get_ydata()[0]], fall.position("flange")[-1][[0, 2]])
    two = fall.plot("tip", "tip-3d", frames=["flange", "forearm"])
    assert two.axes[-1].name == "3d"
    x, y, z = (
        np.asarray(d) for d in next(a for a in two.axes[-1].get_lines() if a.get_label() == "forearm").get_data_3d()
    )
    np.testing.assert_array_equal(np.stack([x, y, z], axis=1)[-1], fall.position("forearm")[-1])
    with pytest.raises(on.UnknownNameError, match="unknown frame 'flang'"):
        fall.plot("tip", frames="flang")


@pytest.mark.slow
def test_planar_motion_has_one_plane() -> None:
    result = on.load("planar-3r").simulate([0.3, 0.2, 0.1], until=0.2)
    (ax,) = result.plot("tip").axes
    moving = np.ptp(result.position(ends(result.robot)[0]), axis=0) > 1e-9
    expected = [f"{a}, m" for a, m in zip("xyz", moving, strict=True) if m]
    assert [ax.get_xlabel(), ax.get_ylabel()] == expected


@pytest.mark.slow
def test_events_and_jumps() -> None:
    robot = on.load("double-pendulum")
    hard = replace(robot, joints=tuple(replace(c, lower=(-0.3,), upper=(0.3,)) for c in robot.joints))
    result = hard.simulate([0.2, 0.0], [1.0, 0.0], until=1.0, limits="bounce", restitution=0.5)
    assert result.report.impacts > 0
    ax, other = result.plot("v", "q").axes
    marks = [x.get_xdata()[0] for x in ax.get_lines() if x.get_color() == FAINT]
    assert {e.time for e in result.events} == set(marks)
    assert result.events[0].name in [x.get_text() for x in ax.texts] and not other.texts
    fine = smooth(result)
    k = int(np.searchsorted(fine.t, result.events[0].time))
    before, after = result.v[result.t == result.events[0].time]
    np.testing.assert_allclose(fine.v[k], after)
    np.testing.assert_allclose(fine.v[k - 1], before, atol=1e-9)


# ---------------------------------------------------------------- other figures


def test_compare(puma: on.Robot) -> None:
    pendulum = on.load("double-pendulum")
    runs = {m: pendulum.simulate([1.0, 0.4], until=1.0, method=m, step=0.02) for m in ("rk4", "semi-implicit-euler")}
    q, drift = plot.compare(runs, "q.elbow", "drift").axes
    assert drift.get_yscale() == "log"
    run = runs["rk4"]
    expected = np.abs(run.energy - run.energy[0])[-1] / run.kinetic.max()
    np.testing.assert_allclose(curve(drift, "rk4")[1][-1], expected, rtol=1e-6)
    assert curve(q, "semi-implicit-euler")[1][-1] == runs["semi-implicit-euler"].q[-1, 1]
    with pytest.raises(on.ArgumentError, match="'q' is 2 numbers; choose one"):
        plot.compare(runs, "q")
    with pytest.raises(on.ArgumentError, match="give motions"):
        plot.compare({}, "drift")
    with pytest.raises(on.ArgumentError, match="8 motions are too many"):
        plot.compare({str(k): run for k in range(8)}, "drift")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_grey_entries_are_zero_and_others_are_not(seed: int) -> None:
    robot = random_robot(seed, 7)
    M = robot.mass_matrix(robot.random(0, 5))
    scale = np.sqrt(np.einsum("nii->ni", M))
    size = np.abs(M / (scale[:, :, None] * scale[:, None, :])).max(axis=0)
    there = coupled(robot)
    assert (size[~there] == 0.0).all()
    image = plot.mass_matrix(robot).axes[0].images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(image), ~there)
    np.testing.assert_allclose(np.diagonal(np.ma.filled(image, 0.0)), 1.0)


def test_branches_are_not_coupled() -> None:
    figure = plot.mass_matrix(on.load("yamane-branched-30"))
    # a hub, and three branches of three spherical joints: 3^2 + 2 * 3 * 27 + 3 * 9^2
    assert figure.axes[0].get_title(loc="left") == f"yamane-branched-30: {9 + 162 + 243} of 900 entries"


def test_complexity() -> None:
    robots = [on.chain(n) for n in (8, 2, 4)]
    figure = plot.complexity(robots, methods=["articulated-body", "composite-body"], count="multiplications")
    x, y = curve(figure.axes[0], "articulated-body")
    np.testing.assert_array_equal(x, [2, 4, 8])
    expected = [on.count(on.chain(n), "forward_dynamics", "articulated-body").multiplications for n in (2, 4, 8)]
    np.testing.assert_array_equal(y, expected)
    assert figure.axes[0].get_ylabel() == "multiplications"
    with pytest.raises(on.ArgumentError, match="at least two robots"):
        plot.complexity(robots[:1])
    with pytest.raises(on.ArgumentError, match="there is no count 'moves'"):
        plot.complexity(robots, methods=["articulated-body"], count="moves")
    with pytest.raises(on.UnknownNameError, match="articulated-bodies"):
        plot.complexity(robots, methods=["articulated-bodies"])


def test_units_fit_every_joint() -> None:
    for seed in range(8):
        robot = random_robot(seed, 6)
        assert len(coordinate_units(robot, "q")) == robot.nq
        assert len(coordinate_units(robot, "tau")) == robot.nv


# ---------------------------------------------------------------- files, errors, manners


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_save(fall: on.Result, tmp_path: Path, suffix: str, start: bytes) -> None:
    path = tmp_path / f"fall{suffix}"
    fall.plot("q", "tip-3d", save=path)
    first = path.read_bytes()
    assert first.startswith(start)
    fall.plot("q", "tip-3d", save=path)
    assert path.read_bytes() == first  # the same figure, the same bytes
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_save_errors(fall: on.Result, tmp_path: Path) -> None:
    figure = fall.plot("q")
    with pytest.raises(on.ArgumentError, match=r"must end in \.png, \.svg, \.pdf"):
        plot.save(figure, tmp_path / "fall.jpeg")
    with pytest.raises(on.ModelError, match="cannot be written"):
        plot.save(figure, tmp_path / "nowhere" / "fall.png")
    assert not list(tmp_path.iterdir())


def test_errors(fall: on.Result) -> None:
    with pytest.raises(on.UnknownNameError, match=r"unknown plot 'energies'.*Did you mean 'energy'"):
        fall.plot("energies")
    with pytest.raises(on.ArgumentError, match="1 samples is not a curve"):
        fall[:1].plot("q")
    with pytest.raises(on.ArgumentError, match="width is in inches"):
        fall.plot("q", width=0.0)
    with pytest.raises(on.ArgumentError, match=r"q has shape \(5,\)"):
        plot.mass_matrix(fall.robot, np.zeros(5))


def test_numbers_that_are_not_known_are_gaps(fall: on.Result) -> None:
    """Of a table from elsewhere, accelerations and forces are nan."""
    gaps = replace(fall, tau=np.full_like(fall.tau, np.nan), a=np.full_like(fall.a, np.nan))
    figure = gaps.plot("q", "tau", "a")
    assert np.isnan(curve(figure.axes[1], "elbow")[1]).all()


@pytest.mark.slow
def test_no_global_state(tmp_path: Path) -> None:
    """No pyplot, no backend, no changed settings; and no matplotlib at all before it is needed."""
    code = (
        "import sys, numpy as np, ordern as on\n"
        "robot = on.load('double-pendulum')\n"
        "result = robot.simulate([1.0, 0.5], until=0.2)\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import matplotlib\n"
        "def settings():  # but for the backend, which is settled when it is looked at\n"
        "    return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != 'backend'}\n"
        "before = settings()\n"
        "result.plot('q', 'energy', 'tip', save='a.png')\n"
        "assert settings() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=HUNG)


def test_without_matplotlib(fall: on.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(on.OrdernError, match=r"pip install 'ordern\[plot\]'"):
        fall.plot("q")


# ---------------------------------------------------------------- on the screen


def test_a_figure_shows_itself(fall: on.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    figure = fall.plot("q")
    assert figure._repr_png_().startswith(b"\x89PNG")
    matplotlib.use("agg")  # no windows
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: not opened.append(url))
    figure.show()
    (url,) = opened
    path = Path(url.removeprefix("file://"))
    assert path.read_bytes().startswith(b"\x89PNG")
    path.unlink()
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    with pytest.raises(on.OrdernError, match="cannot be shown"):
        figure.show()
