"""Joint limits in motions of grasps, and runs that go on from a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.grasping import Breach
from tests.grasping.maximal import Maximal
from tests.tolerances import EVENT_TIME, GRASPED

C = on.contacts
MASS, TIP = 2.0, 0.5
ALL = MASS + 2.0 * TIP
STILL = np.zeros(6)
ALONG = np.array([0, 0, 0, 1.0, 0, 0])


def slider(name: str, **limits: float) -> on.Robot:
    joint = {"joint": on.Prismatic((1, 0, 0)), "joint_name": "slide", "mass": TIP, "inertia": (0.01,) * 3}
    return on.Builder(name, gravity=(0, 0, 0)).body("base").body("tip", parent="base", **joint, **limits).build()


def sliders(contact: Any = None, both: bool = True) -> on.Grasp:
    """Two sliders on one line with a block between them: 3 kg that move along x, from -0.2 to 0.3 m.

    Both have these limits, or the first one alone.
    """
    limits = {"lower": -0.2, "upper": 0.3}
    arms = [slider("first", **limits), slider("second", **(limits if both else {}))]
    return on.grasp(arms, (MASS, (0, 0, 0), (0.01,) * 3), contact or C.Rigid(), bases=[(-0.1, 0, 0), (0.1, 0, 0)])


def slide(grasp: on.Grasp, tau: Any = None, until: Any = 1.0, **more: Any) -> Any:
    return grasp.simulate(np.zeros(2), [1.0, 1.0], tau, until, pose=np.eye(4), velocity=ALONG, **more)


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_bounce_goes_through_all_of_it(e: float) -> None:
    """Closed form: all three bodies turn around together, and lose what the restitution says."""
    result = slide(sliders(), limits="bounce", restitution=e)
    assert result.report.impacts == (2 if e == 1.0 else 1)
    assert result.report.dissipated == pytest.approx(0.5 * ALL * (1.0 - e * e), abs=1e-12)
    first = result.events[0]
    assert first.time == pytest.approx(0.3, abs=1e3 * EVENT_TIME)
    assert "limit of " in first.name
    assert "/slide" in first.name
    back = {0.0: 0.0, 0.5: -0.5, 1.0: 1.0}[e]  # with e = 1 it is back from the other limit, too
    assert np.abs(result.v[-1] - back * np.array([1, 1, 0, 0, 0, 1, 0, 0])).max() < GRASPED
    assert result.report.energy_error < 1e-12


@pytest.mark.slow
def test_a_limit_stops_the_run() -> None:
    result = slide(sliders(), limits="stop")
    assert result.report.stopped == "limit"
    assert "upper limit of " in result.report.message
    assert result.t[-1] == pytest.approx(0.3, abs=1e3 * EVENT_TIME)
    seen = slide(sliders())  # ignored, but told
    assert seen.report.stopped == "end"
    assert {v.joint for v in seen.report.violations} == {"first/slide", "second/slide"}
    assert seen.report.violations[0].most == pytest.approx(0.7)


@pytest.mark.slow
def test_a_joint_rests_on_its_stop() -> None:
    """3 N push the three bodies onto the stop of the first slider's joint, which holds them in the end."""
    grasp = sliders(both=False)
    result = slide(grasp, [0.0, 3.0], 3.0, limits="bounce", restitution=0.3)
    assert result.q[-1, 0] == 0.3
    assert np.abs(result.v[-1]).max() < 1e-12
    assert np.abs(result.a[-1]).max() < 1e-12
    # the second slider's 3 N go through the block and the first slider to the stop: the first tip pulls it back
    assert result["force.first"][-1, 3] == pytest.approx(-3.0, abs=GRASPED)
    assert result["force.second"][-1, 3] == pytest.approx(3.0, abs=GRASPED)


def planar_arms(lower: float = -np.inf, upper: float = np.inf) -> tuple[on.Grasp, list[np.ndarray]]:
    """Two arms of three hinges that hold a bar in balls; the first arm's elbow has limits."""
    y, bar = on.Revolute((0, 1, 0)), {"mass": 0.7, "com": (0.2, 0.0, 0.02), "inertia": (0.01, 0.02, 0.03)}

    def chain(name: str, **elbow: Any) -> on.Robot:
        b = on.Builder(name).body("base").body("upper", parent="base", joint=y, joint_name="shoulder", **bar)
        b.body("lower", parent="upper", joint=y, joint_name="elbow", at=(0.5, 0, 0), **bar, **elbow)
        b.body("hand", parent="lower", joint=on.Revolute((0, 0, 1)), joint_name="wrist", at=(0.4, 0, 0), **bar)
        return b.frame("tip", "hand", at=(0.2, 0, 0)).build()

    q = [np.array([-0.8, 1.2, 0.1]), np.array([-2.3, -1.1, -0.2])]
    arms = [(chain("left", lower=lower, upper=upper), "tip"), (chain("right"), "tip")]
    held = (1.5, (0.05, 0.0, 0.0), (0.02, 0.03, 0.04))
    return on.grasp(arms, held, C.Point(), bases=[(0, 0, 0), (1.3, 0.05, 0)], q=q, pose=(0.6, 0, 0.1)), q


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_an_impact_against_bodies_one_by_one(e: float) -> None:
    """The velocities after an impact, by an impulse balance of bodies that knows neither joints nor arms."""
    grasp, q = planar_arms(lower=1.2)
    rng = np.random.default_rng(1)
    start = grasp.project(q, rng.normal(size=6), grasp.stands.matrix, rng.normal(size=6))
    v = [x * (-1.0 if start.v[0][1] > 0.0 else 1.0) for x in start.v]  # towards the stop, at which the elbow is
    velocity = start.velocity * (-1.0 if start.v[0][1] > 0.0 else 1.0)
    q = [start.q[0].copy(), start.q[1]]
    q[0][1] = 1.2
    oracle = Maximal(grasp, q, v, start.pose, velocity)
    truth = np.concatenate(oracle.struck(0, 1, e))
    result = grasp.simulate(
        q, v, until=1e-6, pose=start.pose, velocity=velocity, limits="bounce", restitution=e, rtol=1e-9, atol=1e-9
    )
    after = next(k for k in range(len(result)) if not np.array_equal(result.v[k], result.v[0]))
    assert result.t[after] == 0.0
    assert np.abs(result.v[after, :6] - truth).max() < 1e-8
    assert result.v[after, 1] == pytest.approx(-e * v[0][1], abs=1e-12)
    lost = result.kinetic[0] - result.kinetic[after]
    assert lost == pytest.approx(0.0, abs=1e-9) if e == 1.0 else lost > 0.0


@pytest.mark.slow
def test_several_bounces_as_one_robot_with_loops() -> None:
    """The same mechanism as one robot, whose contacts are loops that are closed by balls, in Robot.simulate."""
    grasp, q = planar_arms(lower=0.9, upper=1.25)
    times = np.linspace(0.0, 0.6, 31)
    more = {"limits": "bounce", "restitution": 0.8, "rtol": 1e-10, "atol": 1e-10}
    result = grasp.simulate(q, None, None, times, pose=grasp.stands.matrix, **more)
    builder = grasp.robot.builder()
    for arm, contact in zip(grasp.arms, grasp.contacts, strict=True):
        frame = arm.tips[0]
        builder.loop(
            contact.name, on.Spherical(), f"{arm.name}/hand", "object", at=frame.placement, child_at=contact.at
        )
    truth = builder.build().simulate(result.q[0], None, None, times, **more)
    assert truth.report.impacts == result.report.impacts >= 3
    assert np.abs(result.q - truth.q).max() < 1e-6
    assert [e.name for e in result.events] == [e.name for e in truth.events]
    assert np.allclose([e.time for e in result.events], [e.time for e in truth.events], atol=1e-8)
    assert result.report.dissipated == pytest.approx(truth.report.dissipated, rel=1e-6)


@pytest.mark.slow
def test_an_impact_that_one_sided_contacts_cannot_take() -> None:
    """Closed form: to stop at once, 2.5 kg would have to be pulled back through one contact, 0.5 through the other."""
    normals = [C.Rigid(surface=C.Surface(0.5, normal=n)) for n in ((1, 0, 0), (-1, 0, 0))]
    squeeze = [5.0, -5.0]
    more = {"limits": "bounce", "restitution": 0.0}
    with pytest.warns(on.SimulationWarning, match=r"'first' would part, by 2.5 N s in an impact \(and 1 more"):
        held = slide(sliders(normals, both=False), squeeze, 0.5, breach="warn", **more)
    assert held.v[-1, 5] == pytest.approx(0.0, abs=GRASPED)
    found = {e.contact: e for e in held.events if isinstance(e, Breach)}
    assert {name: (e.kind, e.impulse) for name, e in found.items()} == {
        "first": ("part", True),
        "second": ("part", True),
    }
    assert found["second"].by == pytest.approx(TIP)
    stopped = slide(sliders(normals, both=False), squeeze, 0.5, breach="stop", **more)
    assert stopped.report.stopped == "event"
    assert stopped.v[-1, 5] == pytest.approx(1.0)  # before the impact
    gone = slide(sliders(normals, both=False), squeeze, 0.5, breach="release", **more)
    assert gone.report.stopped == "end"
    assert [e.contact for e in gone.events if isinstance(e, Breach)] == ["first"]  # without it the second one holds
    assert (
        gone.q[-1, 0] == 0.3
    )  # the first slider is pushed onto its stop; the other goes on with the block, and brakes
    brakes = 5.0 / (MASS + TIP)
    assert gone.q[-1, 2 + 4] == pytest.approx(0.3 + 0.2 - 0.5 * brakes * 0.2**2)
    assert gone.v[-1, 5] == pytest.approx(1.0 - 0.2 * brakes)
    assert gone.q[-1, 1] == pytest.approx(gone.q[-1, 2 + 4])


def test_limits_that_cannot_be() -> None:
    grasp = sliders()
    with pytest.raises(on.UnknownNameError, match="bounce"):
        slide(grasp, limits="hard")
    with pytest.raises(on.ArgumentError, match="restitution must be between 0"):
        slide(grasp, limits="bounce", restitution=2.0)
    with pytest.raises(on.ArgumentError, match=r"'first/slide' starts at 0.4, beyond its upper limit 0.3"):
        at = on.Placement.xyz_rpy((0.4, 0, 0)).matrix
        grasp.simulate([0.4, 0.4], pose=at, velocity=STILL, limits="stop")


def falling(contact: Any, until: Any, **more: Any) -> Any:
    """A motion with a released contact and several impacts on its way."""
    fading = lambda t, state: np.array([5.0 - 20.0 * t, -5.0])  # noqa: E731
    way = {"breach": "release", "limits": "bounce", "restitution": 0.2, "rtol": 1e-6, "atol": 1e-6}
    return slide(sliders(contact, both=False), fading, until, **way, **more)


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 9])
def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path, steps: int) -> None:
    one_sided = [C.Rigid(surface=C.Surface(0.5, normal=n)) for n in ((1, 0, 0), (-1, 0, 0))]
    whole = falling(one_sided, 0.8)
    assert any(isinstance(e, Breach) for e in whole.events)
    assert whole.report.impacts
    assert whole.report.steps > steps
    file = tmp_path / "run.ckpt"
    with pytest.warns(on.SimulationWarning, match="max_steps"):
        falling(one_sided, 0.8, checkpoint=file, max_steps=steps)
    again = falling(one_sided, 0.8, checkpoint=file)
    assert again == whole
    assert again.report.steps == whole.report.steps
    assert falling(one_sided, 0.8, checkpoint=file) == whole  # and once it is over
    with pytest.raises(on.ModelError, match="contacts"):
        falling(C.Rigid(), 0.8, checkpoint=file)
    with pytest.raises(on.ModelError, match="until"):
        falling(one_sided, 0.9, checkpoint=file)


@pytest.mark.slow
def test_events_progress_and_the_motion_between_steps() -> None:
    grasp, q = planar_arms()
    done: list[float] = []
    low = on.Event(lambda t, q, v: q[-1], name="low", terminal=True)
    result = grasp.simulate(q, until=1.0, pose=grasp.stands.matrix, events=[low], progress=done.append)
    assert result.report.stopped == "event"
    assert result.events[-1].name == "low"
    assert abs(result.q[-1, -1]) < 1e-12
    assert done and done == sorted(done)
    t = np.linspace(0.0, result.t[-1], 50)
    between, rates = result.at(t)
    state = grasp.state(between[:, :6], rates[:, :6], *_object(grasp, between, rates))
    assert np.abs(state.residual).max() < 1e-11
    assert max(np.abs(r).max() for r in state.velocity_residual) < GRASPED
    assert grasp.simulate(q, until=0.1, pose=grasp.stands.matrix, dense=False).dense is None


def _object(grasp: on.Grasp, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X, V = grasp.robot.pose(q, "object"), grasp.robot.velocity(q, v, "object", axes="world")
    return X, V


@pytest.mark.slow
def test_a_stiff_finger_by_radau() -> None:
    """A stiff damped spring in a joint: the implicit method and the explicit one agree."""
    b = on.Builder("finger").body("base")
    b.body(
        "tip", parent="base", joint=on.Prismatic((0, 0, 1)), mass=0.3, inertia=(0.01,) * 3, stiffness=4e4, damping=80.0
    )
    grasp = on.grasp([b.build()], (1.0, (0, 0, 0), (0.01,) * 3))
    given = {"pose": np.eye(4), "velocity": STILL, "until": [0.0, 0.02], "rtol": 1e-8, "atol": 1e-8}
    found = [grasp.simulate([0.0], method=m, **given).q[-1, 0] for m in ("radau", "dormand-prince-8")]
    assert found[0] == pytest.approx(found[1], abs=1e-8)
