"""Mechanisms with joints in series: whether these close a loop or are in the tree, and another joint closes it.

    ground -- Free -- one -- joints in series -- other -- a ball -- ground

As joints of the tree, joints in series have no closure: nothing of what is tested here is used.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ordern as on
from ordern.joints import joint_placement
from ordern.model.json_form import from_plain, to_plain
from tests.joints.composites import LOCATED, ONE, OPEN, TWO, A, R, Z
from tests.random_models import random_placement
from tests.tolerances import CLOSED_DYNAMICS, LOOP_CLOSED, LOOP_ENERGY

Array = NDArray[np.float64]

MECHANISMS = (
    "R R, meeting",
    "R R, skew",
    "R R R, any through a point",
    "R R P, planar",
    "R R R, two parallel",
    "P U P",
    "S R",
    "R P S, a leg",
    "R R S, a torus",
    "U P U, a shaft",
    "H S",
)


def body(rng: np.random.Generator) -> dict[str, Any]:
    m, x = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3)) * 0.3
    com = m @ x / m.sum()
    d = x - com
    inertia = sum(w * (y @ y * np.eye(3) - np.outer(y, y)) for w, y in zip(m, d, strict=True))
    return {"mass": float(m.sum()), "com": com, "inertia": inertia}


class TwoWays:
    """A mechanism, cut at the ball and cut at the joints in series; and one state of both."""

    def __init__(self, joint: on.Joint, seed: int, **terms: Any) -> None:
        rng = np.random.default_rng(seed)
        one, other = body(rng), body(rng)
        at, there = random_placement(rng), random_placement(rng)
        tip = random_placement(rng)

        def started() -> on.Builder:
            builder = on.Builder("mechanism", gravity=(1.0, -2.0, -9.0)).body("ground")
            return builder.body("one", parent="ground", joint=on.Free(), **one)

        chain = started().body("other", **other)
        placed = on.Composite(((joint, there),))
        chain.joint("series", placed, "one", "other", at=at @ there.inverse, **terms)
        tree = chain.build()
        q = tree.random(rng)
        self.coordinates = q[7:]
        ball = ask(tree, "pose", q, frame="other") @ tip.matrix
        where = on.Placement.of(ball[:3, :3], ball[:3, 3])
        self.carried = chain.loop("ball", on.Spherical(), "ground", "other", at=where, child_at=tip).build()
        hanging = started().body("other", **other)
        hung = on.Composite(((on.Spherical(), tip),))
        hanging.joint("ball", hung, "ground", "other", at=where @ tip.inverse)
        self.closing = hanging.loop("series", joint, "one", "other", at=at, child_at=there, **terms).build()
        self.q = q, np.concatenate([q[:7], (1.0, 0.0, 0.0, 0.0)])
        v = rng.normal(size=self.carried.nv)
        K = ask(self.carried, "loop_jacobian", q)
        v = v - np.linalg.pinv(K) @ (K @ v)
        V = ask(self.carried, "jacobian", q, frame="other", axes="frame") @ v
        J = ask(self.closing, "jacobian", self.q[1], frame="other", axes="frame")[:, 6:]
        self.v = v, np.concatenate([v[:6], np.linalg.lstsq(J, V, rcond=None)[0]])
        push = rng.normal(size=6)
        self.tau = np.r_[push, np.zeros(joint.nv)], np.r_[push, np.zeros(3)]


def ask(robot: on.Robot, question: str, *arguments: Array, **settings: str) -> Array:
    """An answer, without compiling a function for it."""
    return np.asarray(robot.kernel(question, way="interpreted", **settings)(*arguments))


def pose(joint: on.Joint, q: Array) -> Array:
    return joint_placement(joint, q.tolist()).matrix


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_it_does_not_matter_which_joint_closes_the_loop(name: str) -> None:
    joint = on.Composite(LOCATED[name])
    both = TwoWays(joint, 3)
    (q0, q1), (v0, v1), (tau0, tau1) = both.q, both.v, both.tau
    assert np.abs(ask(both.closing, "loop_residual", q1)).max() < LOOP_CLOSED
    assert np.abs(ask(both.closing, "loop_rate", q1, v1)).max() < LOOP_CLOSED * 10.0
    a0 = both.carried.forward_dynamics(q0, v0, tau0)
    a1 = both.closing.forward_dynamics(q1, v1, tau1)
    known = ask(both.carried, "acceleration", q0, v0, a0, frame="other", axes="frame", kind="spatial")
    found = ask(both.closing, "acceleration", q1, v1, a1, frame="other", axes="frame", kind="spatial")
    scale = 1.0 + np.abs(known).max() + np.abs(a0).max()
    assert np.abs(a1[:6] - a0[:6]).max() < CLOSED_DYNAMICS * scale
    assert np.abs(found - known).max() < CLOSED_DYNAMICS * scale
    freedoms = [
        robot.nv - np.linalg.matrix_rank(ask(robot, "loop_jacobian", q), 1e-6)
        for robot, q in ((both.carried, q0), (both.closing, q1))
    ]
    assert freedoms == [joint.nv + 3] * 2
    # the joints in series themselves: where they are, and how fast
    at = ask(both.closing, "loop_coordinates", q1)
    np.testing.assert_allclose(pose(joint, at), pose(joint, both.coordinates), atol=1e-11)
    if np.abs(np.sin(0.5 * (at - both.coordinates)))[list(joint.angles)].max(initial=0.0) < 1e-9:
        np.testing.assert_allclose(ask(both.closing, "loop_velocities", q1, v1), v0[6:], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_dampers_and_springs_in_series_do_the_same_in_a_loop() -> None:
    terms: dict[str, Any] = {"damping": (0.5, 0.3, 2.0), "stiffness": (3.0, 2.0, 40.0), "rest": (0.1, -0.2, 0.05)}
    both = TwoWays(on.Composite(LOCATED["U P"]), 5, **terms)
    (q0, q1), (v0, v1), (tau0, tau1) = both.q, both.v, both.tau
    smoothing = np.array(0.01)
    drag0 = ask(both.carried, "passive_force", q0, v0, smoothing)
    drag1 = ask(both.closing, "loop_passive_force", q1, v1, smoothing)
    assert np.abs(drag0[6:]).min() > 0.1
    a0 = both.carried.forward_dynamics(q0, v0, tau0 + drag0)
    a1 = both.closing.forward_dynamics(q1, v1, tau1 + drag1)
    np.testing.assert_allclose(a1[:6], a0[:6], rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_a_simulation_stays_closed() -> None:
    both = TwoWays(on.Composite(LOCATED["R R, skew"]), 7)
    runs = [
        robot.simulate(q, v, until=0.2)
        for robot, q, v in ((both.carried, both.q[0], both.v[0]), (both.closing, both.q[1], both.v[1]))
    ]
    assert np.abs(both.closing.loop_residual(runs[1].q)).max() < LOOP_CLOSED * 10.0
    np.testing.assert_allclose(runs[1].q[-1, :7], runs[0].q[-1, :7], atol=1e-8)
    assert abs(runs[1].report.energy_drift) < LOOP_ENERGY
    assert both.closing.mobility(runs[1].q[-1]).freedoms == both.carried.mobility(runs[0].q[-1]).freedoms == 5


SKEW = on.Composite(OPEN["R R R, skew"])
"""It has no closure."""


def ring(*order: str, **ends: tuple[str, str]) -> on.Builder:
    """Four bodies in a ring of joints, given in some order."""
    rng = np.random.default_rng(2)
    builder = on.Builder("ring")
    for name in ("ground", "one", "two", "three"):
        builder.body(name, **body(rng))
    where = {"a": ("ground", "one"), "b": ("one", "two"), "series": ("two", "three"), "c": ("ground", "three")} | ends
    for name in order:
        builder.connect(name, SKEW if name == "series" else on.Spherical(), *where[name])
    return builder


@pytest.mark.parametrize("order", [("a", "b", "c", "series"), ("c", "series", "b", "a"), ("series", "c", "b", "a")])
def test_a_graph_is_cut_where_it_can_be(order: tuple[str, ...]) -> None:
    robot = ring(*order).build()
    assert "series" in {c.name for c in robot.joints}
    assert [loop.name for loop in robot.loops] == ["c"]


def test_a_graph_that_cannot_be_cut_elsewhere_says_why() -> None:
    said = r"joint 'series' would close a loop: a Composite of 3 joints.*cannot close a loop"
    with pytest.raises(on.ModelError, match=said):
        ring("a", "c", "series").connect("b", SKEW, "one", "three").connect("d", on.Spherical(), "one", "two").build()
    builder = ring("a", "b", "c")
    builder.connect("series", SKEW, "two", "three", closes=True)
    with pytest.raises(on.ModelError, match=said):
        builder.build()
    with pytest.raises(on.ModelError, match=r"loop 'series': a Composite of 3 joints.*cannot close a loop"):
        ring("a", "b").loop("series", SKEW, "two", "ground")


SDF = """<sdf version="1.9"><model name="m">
  <link name="ground"/><link name="one"><pose>0.1 0.2 0.5 0 0 0</pose></link>
  <link name="two"><pose>0.4 0.2 0.6 0.1 0.2 0.3</pose></link>
  <joint name="fix" type="fixed"><parent>world</parent><child>ground</child></joint>
  <joint name="ball" type="ball"><parent>ground</parent><child>one</child></joint>
  <joint name="bent" type="universal"><parent>one</parent><child>two</child><pose>0.05 0 0.1 0 0 0</pose>
    <axis><xyz>1 0 0</xyz>{first}</axis><axis2><xyz>0.5 1 0.2</xyz></axis2></joint>
  <joint name="end" type="ball"><parent>ground</parent><child>two</child><pose>0.1 0 0 0 0 0</pose></joint>
</model></sdf>"""


@pytest.mark.slow
def test_a_bent_cross_closes_a_loop_of_sdf(tmp_path: Path) -> None:
    file = tmp_path / "m.sdf"
    file.write_text(SDF.format(first=""), encoding="utf-8")
    usual, other = on.load(file), on.load(file, cut=["bent"])
    assert [x.name for x in usual.loops] == ["end"] and [x.name for x in other.loops] == ["bent"]
    assert isinstance(other.loops[0].type, on.Composite) and other.nc == 4
    q0, q1 = usual.neutral(), other.neutral()  # the position of the file, where all is closed
    assert np.abs(usual.loop_residual(q0)).max() < LOOP_CLOSED
    assert np.abs(other.loop_residual(q1)).max() < LOOP_CLOSED
    np.testing.assert_allclose(other.loop_coordinates(q1), 0.0, atol=LOOP_CLOSED)
    still0, still1 = np.zeros(usual.nv), np.zeros(other.nv)
    a0, a1 = (r.forward_dynamics(q, s, s) for r, q, s in ((usual, q0, still0), (other, q1, still1)))
    known = usual.acceleration(q0, still0, a0, "two")
    np.testing.assert_allclose(other.acceleration(q1, still1, a1, "two"), known, rtol=1e-9, atol=1e-9)
    away = other.assemble(other.integrate(q1, 0.2 * np.ones(other.nv)))
    assert np.abs(other.loop_residual(away.q)).max() < LOOP_CLOSED
    file.write_text(SDF.format(first="<dynamics><damping>0.5</damping></dynamics>"), encoding="utf-8")
    assert on.load(file, cut=["bent"]).loops[0].damping == (0.5, 0.0)


def test_a_model_with_such_a_loop_is_kept_and_compared() -> None:
    robot = TwoWays(on.Composite((R(Z, ONE), R(A, TWO))), 1).closing
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert from_plain(json.loads(json.dumps(to_plain(robot))), on.Robot) == robot
