"""Limits of joints that close loops: impacts, rest, release; and what such a run says where it cannot go on."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ordern as on
from ordern.robots.mechanisms import four_bar_chain
from tests import tolerances as tol

G = 9.81
BARS = {"one": 0.3, "two": 0.4, "three": 0.4, "four": 0.3}
"""A five-bar in the plane x-z: its feet are 0.4 m apart, and its hinges are a, b, pin, d, e from left to right."""
HINGES = {"a": ("ground", "one"), "b": ("one", "two"), "pin": ("two", "three"), "d": ("four", "three")}
HINGES["e"] = ("ground", "four")


def five_bar(cut: str, **limits: dict[str, float]) -> on.Robot:
    """The five-bar, cut at a hinge; bodies' x axes are along the bars."""
    builder = on.Builder(f"five-bar cut at {cut}").body("ground")
    for name, x in BARS.items():
        builder.body(name, mass=2.0 * x, com=(0.5 * x, 0, 0), inertia=(1e-3, 2.0 * x**3 / 12, 2.0 * x**3 / 12))
    for name, (parent, child) in HINGES.items():
        at = (BARS[parent], 0, 0) if parent != "ground" else (0.4 if name == "e" else 0.0, 0, 0)
        ends = {"at": at} | ({"child_at": (BARS["three"], 0, 0)} if name == "pin" else {})
        builder.connect(name, on.Revolute((0, 1, 0)), parent, child, closes=name == cut, **ends, **limits.get(name, {}))
    return builder.build()


def angles(robot: on.Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    """All five angles, within half a turn of zero."""
    at = robot.loop_coordinates(q)
    found = {x.loop.name: at[..., x.q.start] for x in robot.loop_table.loops}
    found |= {c.name: q[..., c.q_start] for c in robot.independent}
    return {name: np.remainder(x + math.pi, 2.0 * math.pi) - math.pi for name, x in found.items()}


def start() -> dict[str, np.ndarray]:
    robot = five_bar("pin")
    return angles(robot, robot.assemble([-2.2, 1.1, -0.9, -1.1]).q)


def run(cut: str, limits: dict[str, dict[str, float]], restitution: float, until: float, **more: object) -> tuple:
    robot, at = five_bar(cut, **limits), start()
    q = robot.assemble([at[c.name] for c in robot.independent], limits=False).q
    return robot, robot.simulate(q, until=until, limits="bounce", restitution=restitution, **more)


# ---- bounces


@pytest.mark.slow
@pytest.mark.parametrize(("restitution", "until"), [(1.0, 1.0), (0.6, 1.0)])
def test_where_the_loop_is_cut_does_not_change_its_bounces(restitution: float, until: float) -> None:
    """The joint in the tree, and the same joint as the one that closes the loop; another joint has stops too."""
    limits = {"pin": {"lower": start()["pin"] - 0.25, "upper": start()["pin"] + 0.05}, "a": {"lower": -1.95}}
    times = np.linspace(0.0, until, 201)
    found = []
    for cut in ("pin", "d"):
        robot, result = run(cut, limits, restitution, until)
        assert result.report.impacts >= 4 and result.report.ok and not result.report.violations
        assert result.report.energy_drift < tol.LOOP_ENERGY and result.report.loops.violation < 1e-9
        if restitution == 1.0:
            assert abs(result.report.dissipated) < tol.LOOP_ENERGY * result.report.kinetic
        found.append((angles(robot, result.at(times)[0]), result))
    (one, first), (two, second) = found
    assert [e.name for e in first.events] == [e.name for e in second.events]
    assert {e.name for e in first.events} >= {"lower limit of pin", "lower limit of a"}
    assert [e.time for e in first.events] == pytest.approx([e.time for e in second.events], abs=tol.LOOP_BOUNCES)
    for name, x in one.items():
        assert np.abs(np.remainder(x - two[name] + 3.0, 2.0 * math.pi) - 3.0).max() < tol.LOOP_BOUNCES, name


def planar(at: dict[str, float], v: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of four free bars in the plane: masses, the Jacobian of their five pins, and velocities (x, z, turn) of each."""
    way = {"one": at["a"], "two": at["a"] + at["b"], "four": at["e"], "three": at["e"] + at["d"]}
    spin = {"one": v["a"], "two": v["a"] + v["b"], "four": v["e"], "three": v["e"] + v["d"]}
    names = list(BARS)
    across = {n: np.array([-math.sin(way[n]), -math.cos(way[n])]) for n in names}  # a turn about y leads x to -z

    def point(name: str, x: float) -> np.ndarray:
        """(2, 12): the velocity of a point of a bar, x from its middle."""
        J, k = np.zeros((2, 12)), 3 * names.index(name)
        J[:, k : k + 2], J[:, k + 2] = np.eye(2), x * across[name]
        return J

    half = {n: 0.5 * x for n, x in BARS.items()}
    rows = [
        point("one", -half["one"]),
        point("one", half["one"]) - point("two", -half["two"]),
        point("two", half["two"]) - point("three", half["three"]),
        point("four", half["four"]) - point("three", -half["three"]),
        point("four", -half["four"]),
    ]
    M = np.concatenate([[2.0 * x, 2.0 * x, 2.0 * x**3 / 12] for x in BARS.values()])
    starts = {n: np.zeros(2) for n in ("one", "four")}  # the velocity of each bar's near end
    starts |= {n: BARS[m] * spin[m] * across[m] for n, m in (("two", "one"), ("three", "four"))}
    speed = np.concatenate([[*(starts[n] + half[n] * spin[n] * across[n]), spin[n]] for n in names])
    return M, np.concatenate(rows), speed


@pytest.mark.slow
def test_an_impact_is_a_balance_of_impulses() -> None:
    """Free bars in the plane, held together by impulses at their pins, and one couple between the bars of the pin."""
    restitution = 0.7
    robot, result = run("pin", {"pin": {"lower": start()["pin"] - 0.25}}, restitution, 0.6)
    jumps = np.flatnonzero(np.diff(result.t) == 0.0)
    assert len(jumps)
    for k in jumps:
        at = {name: float(x) for name, x in angles(robot, result.q[k]).items()}
        speeds = [{c.name: result.v[n, c.v_start] for c in robot.independent} for n in (k, k + 1)]
        M, J, before = planar(at, speeds[0])
        after = planar(at, speeds[1])[2]
        assert np.abs(J @ before).max() < 1e-9 and np.abs(J @ after).max() < 1e-9
        couple = np.zeros(12)
        couple[[5, 8]] = -1.0, 1.0  # the pin's angle is that of bar three less that of bar two
        speed = -restitution * (couple @ before)
        assert couple @ after == pytest.approx(speed if speed > 1e-5 else 0.0, rel=1e-9, abs=1e-13)
        # M (after - before) = J^T of pins + p couple, and no more
        causes = np.column_stack([J.T, couple])
        impulses = np.linalg.lstsq(causes, M * (after - before), rcond=None)[0]
        assert np.abs(causes @ impulses - M * (after - before)).max() < 1e-10
        assert impulses[-1] > 0.0  # the stop pushes, away from the lower limit


@pytest.mark.slow
def test_a_joint_rests_on_its_stop_and_leaves_it() -> None:
    """A bead that falls, comes to rest, and is pulled up again by a growing force: a closed form of pieces."""
    builder = on.Builder("bead").body("ground")
    builder.body("bead", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    robot = builder.loop("wire", on.Prismatic((0, 0, 1)), "ground", "bead", lower=(-1.0,)).build()
    pull = on.Table([0.0, 2.0, 4.0], [[0.0], [0.0], [40.0]])
    result = robot.simulate([0.0], tau=pull, until=3.5, limits="bounce", restitution=0.5)
    rest = math.sqrt(2.0 / G) * 3.0  # a fall, and bounces of halves, quarters ... of its speed
    still = (result.t > rest + 0.01) & (result.t < 2.0)
    assert still.any() and np.abs(result.q[still] + 1.0).max() < 1e-11 and np.abs(result.v[still]).max() < 1e-11
    leaves = 2.0 + G / 20.0
    assert result.q[-1, 0] == pytest.approx(-1.0 + 20.0 * (3.5 - leaves) ** 3 / 6.0, abs=1e-6)
    assert result.report.energy_drift < tol.LOOP_ENERGY
    assert result.report.dissipated == pytest.approx(G, rel=1e-6) and not result.report.violations


@pytest.mark.slow
@pytest.mark.parametrize("drift", ["baumgarte", "none"])
def test_rest_without_projection(drift: str) -> None:
    limits = {"pin": {"lower": start()["pin"] - 0.25}}  # it rests from 0.08 s to 0.68 s, while the others move
    one, two = (run("pin", limits, 0.0, 0.7, drift=x)[1] for x in ("project", drift))
    assert two.q[-1] == pytest.approx(one.q[-1], abs=tol.LOOP_MOTION)
    assert two.v[-1] == pytest.approx(one.v[-1], abs=10.0 * tol.LOOP_MOTION)


@pytest.mark.slow
def test_angles_of_joints_that_close_loops_are_counted_through_full_turns() -> None:
    """An upper limit that the pin leaves downward, by more than three quarters of a turn: it is not above it then."""
    result = run("pin", {"pin": {"upper": start()["pin"] + 0.25}}, 0.0, 0.5)[1]
    assert result.report.impacts == 0 and not result.report.violations
    a, b, d, e = (result[f"q.{name}"] for name in ("a", "b", "d", "e"))
    turned = (e + d) - (a + b)
    assert turned.min() < turned[0] - 1.5 * math.pi + 0.25  # the tree's angles do count


@pytest.mark.slow
def test_a_bounce_at_a_singular_position_goes_back_the_way_it_came() -> None:
    """Restitution 1: after twice the time the flat chain is where it was, at the opposite velocity."""
    robot = on.load("four-bar-chain-1")
    q, v = four_bar_chain.assembled_position(1), four_bar_chain.initial_velocity(1)
    for lower in (0.0, 1e-4):
        joints = tuple(replace(c, lower=(lower,)) if k == 0 else c for k, c in enumerate(robot.joints))
        (hit,) = replace(robot, joints=joints).simulate(q, v, until=1.0, limits="stop").events
        back = replace(robot, joints=joints).simulate(q, v, until=2.0 * hit.time, limits="bounce", restitution=1.0)
        assert back.report.impacts == 1 and back.report.energy_drift < tol.LOOP_SINGULAR
        assert back.q[-1] == pytest.approx(np.asarray(q, float), abs=tol.LOOP_TURNED)
        assert back.v[-1] == pytest.approx(-np.asarray(v, float), abs=tol.LOOP_TURNED)


@pytest.mark.slow
def test_what_time_drives_into_a_limit_is_told() -> None:
    builder = on.Builder("driven").body("ground")
    builder.body("mass", parent="ground", joint=on.Prismatic((0, 0, 1)), joint_name="z", mass=2.0, upper=1.0)
    builder.loop("drive", on.Driven(on.Prismatic((0, 0, 1)), coefficients=(0.0, 0.0, 0.5)), "ground", "mass")
    with pytest.warns(on.SimulationWarning, match=r"upper limit of z .* nothing can stop it.*limits='stop'"):
        result = builder.build().simulate(until=2.0, limits="bounce")
    assert result.report.stopped == "blocked" and result.t[-1] == pytest.approx(math.sqrt(2.0), abs=1e-9)


def test_a_coordinate_without_a_velocity_of_its_own_cannot_bounce() -> None:
    builder = on.Builder("plate").body("ground")
    builder.body("plate", parent="ground", joint=on.Free(), mass=1.0, inertia=(1, 1, 1))
    builder.loop("table", on.Planar(), "ground", "plate", lower=(-math.inf, -1.0, -1.0))
    with pytest.raises(on.ArgumentError, match=r"coordinate 1 of loop 'table'.*'stop' or 'ignore'"):
        builder.build().simulate(until=0.1, limits="bounce")


# ---- limits of loops that open and close


def bead(lower: float) -> on.Robot:
    builder = on.Builder("bead").body("ground")
    builder.body("bead", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    return builder.loop("wire", on.Prismatic((0, 0, 1)), "ground", "bead", lower=(lower,)).build()


@pytest.mark.slow
def test_an_opened_loop_has_no_stop() -> None:
    result = bead(-1.0).simulate([-1.0], until=1.0, limits="bounce", switches=on.Switch(at=0.5, open="wire"))
    assert result.q[-1, 0] == pytest.approx(-1.0 - 0.5 * G * 0.25, abs=1e-9)


@pytest.mark.slow
def test_a_loop_that_closes_at_its_stop_strikes_it_and_beyond_it_does_not_close() -> None:
    robot = bead(-1.0).with_loops({"wire": False})
    falls = on.Event(lambda t, q, v: q[0] + 1.0, direction=-1)
    result = robot.simulate([0.0], until=0.6, limits="bounce", restitution=1.0, switches=on.Switch(falls, close="wire"))
    t = 0.6 - math.sqrt(2.0 / G)
    assert result.q[-1, 0] == pytest.approx(-1.0 + math.sqrt(2.0 * G) * t - 0.5 * G * t**2, abs=1e-8)
    with pytest.warns(
        on.SimulationWarning, match=r"loop 'wire' was to be closed at t = 0.5 s.* 0\.226 beyond the lower"
    ):
        robot.simulate([0.0], until=0.6, limits="bounce", switches=on.Switch(at=0.5, close="wire"))


@pytest.mark.slow
def test_springs_of_open_loops_store_nothing() -> None:
    builder = on.Builder("sprung").body("ground")
    builder.body("mass", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=1.0)
    builder.loop("spring", on.Prismatic((1, 0, 0)), "ground", "mass", stiffness=(100.0,))
    result = builder.build().simulate([0.1], until=0.2, switches=on.Switch(at=0.05, open="spring"))
    x = 0.1 * math.cos(0.5)
    for motion in (result, result.resample(rate=1000.0)):
        held = motion.extra["loops_closed"][:, 0] == 1.0
        assert motion.elastic[held] == pytest.approx(50.0 * motion.q[held, 0] ** 2) and not motion.elastic[~held].any()
    assert result.energy[-1] == pytest.approx(0.5 * (1.0 * math.sin(0.5)) ** 2, abs=1e-10)
    assert result.report.dissipated == pytest.approx(50.0 * x**2, abs=1e-9)  # let go with the spring


# ---- what a run says


@pytest.mark.slow
def test_a_dead_point_is_named() -> None:
    """A rocker that time turns farther than crank and coupler let it."""
    hinge = on.Revolute((0, 1, 0))
    builder = on.Builder("pushed").body("ground")
    for name, parent, at, x in (
        ("crank", "ground", 0.0, 0.2),
        ("coupler", "crank", 0.2, 0.5),
        ("rocker", "ground", 0.6, 0.4),
    ):
        shape = {"mass": 1.0, "com": (0.5 * x, 0, 0), "inertia": (1e-3, x**2 / 12, x**2 / 12)}
        builder.body(name, parent=parent, joint=hinge, joint_name=f"{name} hinge", at=(at, 0, 0), **shape)
    builder.loop("pin", on.PointOnLine((0, 1, 0)), "rocker", "coupler", at=(0.4, 0, 0), child_at=(0.5, 0, 0))
    q = builder.build().assemble([-1.0, 0.5, -1.5], keep="crank hinge").q
    builder.loop("motor", on.Driven(hinge, coefficients=(q[2], -1.0)), "ground", "rocker", at=(0.6, 0, 0))
    driven = builder.build()
    v = driven.project_velocity(q, np.zeros(3), 0.0)
    # crank and coupler in line, one upon the other: the pin is 0.3 m from the left foot, 0.4 m from the right one
    dead = q[2] + math.pi - math.acos((0.6**2 + 0.4**2 - 0.3**2) / (2 * 0.6 * 0.4))
    words = (
        r"t = 0\.99.*loops 'pin' and 'motor' are at a dead point.* rank is 2 instead of 3\. "
        r"Time drives loop 'motor'"
    )
    with pytest.warns(on.SimulationWarning, match=words):
        result = driven.simulate(q, v, until=2.0, rtol=1e-7, atol=1e-7)
    assert result.report.stopped == "step-too-small" and result.t[-1] == pytest.approx(dead, abs=1e-6)
    with pytest.warns(on.SimulationWarning, match=r"dead point.*on\.Switch"):
        driven.simulate(q, v, until=2.0, method="rk4", step=1e-3)


@pytest.mark.slow
def test_energy_drift_of_slow_motions_has_a_scale() -> None:
    """A weight lifted by time within 100 s: what its kinetic energy is does not matter."""
    builder = on.Builder("lift").body("ground")
    builder.body("weight", parent="ground", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    builder.loop("winch", on.Driven(on.Prismatic((0, 0, 1)), coefficients=(0.0, 1e-8)), "ground", "weight")
    report = builder.build().simulate(until=100.0).report
    assert report.potential == pytest.approx(G * 1e-6, rel=1e-9)
    assert report.energy_scale == pytest.approx(G * 1e-6, rel=1e-9) and report.energy_drift < 1e-6
    assert report.kinetic < 1e-15
    assert "of the change of potential energy" in str(report) or "of the work" in str(report)
    fall = on.load("double-pendulum").simulate([1.0, 0.0], until=1.0).report
    assert fall.energy_scale == fall.kinetic and "of the largest kinetic energy" in str(fall)


def test_the_mistake_that_matters_is_told_first() -> None:
    with pytest.raises(on.ArgumentError, match="variational' is for trees"):
        bead(-1.0).simulate(method="variational")
    with pytest.raises(on.ArgumentError, match="'bounce' is not for the method 'variational'"):
        on.load("double-pendulum").simulate(method="variational", limits="bounce")
    with pytest.raises(on.ArgumentError, match="give step="):
        on.load("double-pendulum").simulate(method="variational")


# ---- external forces, files, checkpoints


@pytest.mark.slow
def test_external_forces_act_on_closed_loops() -> None:
    """A force up that is the weight of the point at the end of a rod: it keeps its speed along the circle."""
    builder = on.Builder("held point").body("ground")
    builder.body("x", parent="ground", joint=on.Prismatic((1, 0, 0)), mass=1e-9)
    builder.body("point", parent="x", joint=on.Prismatic((0, 0, 1)), mass=1.0)
    robot = builder.loop("rod", on.Distance(1.0), "ground", "point").build()
    up = np.zeros((len(robot.bodies), 6))
    up[-1, 5] = G
    for external in (up, lambda t, q, v: up):
        result = robot.simulate([1.0, 0.0], [0.0, 2.0], until=1.0, external=external)
        turn = 2.0 * result.t
        assert np.abs(result.q - np.stack([np.cos(turn), np.sin(turn)], axis=-1)).max() < tol.LOOP_MOTION
        force = np.linalg.norm(result.loop_forces("rod")[:, 3:], axis=1)
        assert np.abs(force - 4.0).max() < tol.LOOP_FORCE  # m v^2 / l, and nothing of what is outside
        assert result.report.work == pytest.approx(G * math.sin(2.0), abs=1e-8)
        assert result.report.energy_drift < tol.LOOP_ENERGY


@pytest.mark.slow
def test_series_and_tables_of_mechanisms(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    result = bead(-1.0).simulate([0.0], until=0.6, limits="bounce", switches=on.Switch(at=0.55, open="wire"))
    assert {"loop_force", "loops_closed"} <= set(result.names)
    assert np.array_equal(result.series("loops_closed")[:, 0], result.extra["loops_closed"][:, 0])
    result.save(tmp_path / "motion.parquet")
    again = on.load_result(tmp_path / "motion.parquet")
    assert again == result and again.report == result.report
    assert np.array_equal(again.loop_forces("wire"), result.loop_forces("wire"))
    assert np.array_equal(again.elastic, result.elastic)
    table = result.to_arrow()
    assert any(name.startswith("loop_force") for name in table.column_names) and table.num_rows == len(result)


@pytest.mark.slow
def test_a_run_goes_on_from_a_checkpoint_inside_of_a_singular_band(tmp_path: Path) -> None:
    robot = on.load("four-bar-chain-1")
    q, v = four_bar_chain.assembled_position(1), four_bar_chain.initial_velocity(1)
    whole = robot.simulate(q, v, until=1.0)
    (flat,) = whole.report.loops.singular
    inside = np.flatnonzero(np.abs(whole.t - flat.time) < 1e-3)
    assert inside.size > 1  # steps that end in the band
    for k in inside.tolist():
        path = tmp_path / f"{k}.ckpt"
        with pytest.warns(on.SimulationWarning, match="max_steps"):
            robot.simulate(q, v, until=1.0, checkpoint=path, max_steps=k)
        again = robot.simulate(q, v, until=1.0, checkpoint=path)
        assert np.array_equal(again.t, whole.t) and np.array_equal(again.q, whole.q)
        assert np.array_equal(again.v, whole.v) and again.report.loops == whole.report.loops


@pytest.mark.slow
@pytest.mark.parametrize("part", [0.3, 0.8])
def test_a_run_goes_on_from_a_checkpoint_between_bounces_and_at_rest(part: float, tmp_path: Path) -> None:
    options = {"until": 1.6, "limits": "bounce", "restitution": 0.5}
    whole = bead(-1.0).simulate([0.0], **options)
    some = int(part * whole.report.steps)
    with pytest.warns(on.SimulationWarning, match="max_steps"):
        bead(-1.0).simulate([0.0], **options, checkpoint=tmp_path / "run", max_steps=some)
    again = bead(-1.0).simulate([0.0], **options, checkpoint=tmp_path / "run")
    assert np.array_equal(again.t, whole.t) and np.array_equal(again.q, whole.q)
    assert again.report.impacts == whole.report.impacts
