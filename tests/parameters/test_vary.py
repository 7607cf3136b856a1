"""Robots with other numbers are the robots that a builder makes of these numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.rotations import exp
from tests.parameters.mechanism import NUMBERS, assert_same_robot, build
from tests.random_models import random_robot
from tests.tolerances import ROUNDING, assert_close

SIX = (0.02, 0.03, 0.04, 0.001, 0.002, -0.003)
TURN = (0.2, -0.3, 0.1)
PAD = np.array([*(build().frame("hand").placement.R @ (0, 0, 0.05)), 0, 0, 0])
"""5 cm along z of the hand, in the axes of its body."""
POSE = np.block([[exp(TURN), np.array([[0.3], [0.1], [0.2]])], [np.zeros((1, 3)), np.ones((1, 1))]])


def scaled(name: str, factor: float) -> dict[str, Any]:
    """The numbers of a link whose mass is multiplied."""
    return {
        f"{name}_mass": factor * NUMBERS[f"{name}_mass"],
        f"{name}_inertia": tuple(factor * x for x in NUMBERS[f"{name}_inertia"]),
    }


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mass of a body": ({"mass": {"a": 3.0}}, scaled("a", 1.5)),
    "mass by a function": ({"mass": {"a": lambda m: 1.5 * m}}, scaled("a", 1.5)),
    "mass of a link": ({"mass": {"hand": 0.9}}, scaled("hand", 1.8)),
    "mass where there was none": ({"mass": {"pad": 0.3}}, {"pad_mass": 0.3}),
    "centre of mass": ({"com": {"a": (0.2, 0, 0.1)}}, {"a_com": (0.2, 0, 0.1)}),
    "centre of mass of a link": ({"com": {"hand": lambda c: c + 0.1 * np.eye(3)[0]}}, {"hand_com": (0.11, 0.02, 0.03)}),
    "inertia": ({"inertia": {"a": SIX}}, {"a_inertia": SIX}),
    "inertia as a matrix": (
        {"inertia": {"hand": [[0.02, 0.001, 0.002], [0.001, 0.03, -0.003], [0.002, -0.003, 0.04]]}},
        {"hand_inertia": SIX},
    ),
    "all of a link": (
        {"mass": {"hand": 0.7}, "com": {"hand": (0, 0, 0.1)}, "inertia": {"hand": SIX}},
        {"hand_mass": 0.7, "hand_com": (0, 0, 0.1), "hand_inertia": SIX},
    ),
    "two links": ({"mass": {"hand": 0.9, "pad": 0.3}}, {**scaled("hand", 1.8), "pad_mass": 0.3}),
    "terms of a joint": (
        {"armature": {"shoulder": 0.1}, "damping": {"shoulder": 0.2}, "joint_friction": {"shoulder": 0.4}}
        | {"stiffness": {"shoulder": 3.0}, "rest": {"shoulder": -0.3}},
        {"armature": 0.1, "damping": 0.2, "friction": 0.4, "stiffness": 3.0, "rest": -0.3},
    ),
    "one number for three freedoms": ({"armature": {"socket": 0.4}}, {"ball_armature": (0.4, 0.4, 0.4)}),
    "numbers for three freedoms": ({"armature": {"socket": (0.4, 0.5, 0.6)}}, {"ball_armature": (0.4, 0.5, 0.6)}),
    "pitch": ({"joint_numbers": {"screw": -0.04}}, {"pitch": -0.04}),
    "mimic": ({"mimic_ratio": {"mirror": 0.5}, "mimic_offset": 0.02}, {"ratio": 0.5, "offset": 0.02}),
    "position of a joint": ({"placement": {"screw": (0, 0, 1)}}, {"b_at": ((0, 0, 1), NUMBERS["b_at"][1])}),
    "pose of a joint": ({"placement": {"screw": POSE}}, {"b_at": POSE}),
    "placement of a frame": ({"placement": {"tool": [0.3, 0.1, 0.2, *TURN]}}, {"tool_at": POSE}),
    "placement of a link that is a frame": ({"placement": {"pad": lambda at: at + PAD}}, {"pad_at": (0.1, 0, 0.25)}),
    "gravity": ({"gravity": (0, 0, -1.62)}, {"gravity": (0, 0, -1.62)}),
    "added inertia": ({"added_inertia": {"ball": 0.3 * np.eye(6)}}, {"added": 0.3 * np.eye(6)}),
}


@pytest.mark.parametrize("case", CASES)
def test_numbers_by_name(case: str) -> None:
    changes, numbers = CASES[case]
    assert_same_robot(build().vary(**changes, fold=True), build(**numbers))


def test_the_name_of_a_body_stands_for_all_that_is_fixed_to_it() -> None:
    robot = build()
    body = robot.body("b")
    found = robot.vary(mass={"b": 2.0 * body.mass}, fold=True)
    assert_close(found.body("b").mass, 2.0 * body.mass, ROUNDING)
    assert_close(found.body("b").com, body.com, ROUNDING)
    assert_close(found.body("b").inertia, 2.0 * np.array(body.inertia), ROUNDING)
    alone = next(link for link in robot.links if link.name == "b")
    assert_same_robot(robot.vary(mass={alone: 2.0}, fold=True), build(**scaled("b", 2.0)))
    with pytest.raises(on.UnknownNameError, match="unknown body or link 'pad'"):  # its share of the body is not known
        found.vary(mass={"pad": 0.1})


def test_a_link_that_is_a_frame_can_be_placed_elsewhere() -> None:
    """It has no mass, and nothing is fixed to it. What comes later finds it in its new place."""
    robot, wanted = build(), build(pad_at=(0.1, 0, 0.25))
    q = robot.random(0)
    assert [x.name for x in robot.links if x.bare] == ["pad"]
    many = robot.vary(placement={"pad": lambda at: at + np.arange(3.0)[:, None] * PAD}, mass={"a": 2.5})
    poses = many.kernel("pose", way="interpreted", frame="pad")(q)
    assert_close(poses[1], wanted.kernel("pose", way="interpreted", frame="pad")(q), ROUNDING)
    placed = robot.vary(placement={"pad": lambda at: at + PAD})
    for found in (placed, placed.folded(), many.folded(1)):
        for name in ("pad", "pad_joint"):
            assert_close(found.frame(name).placement.matrix, wanted.frame(name).placement.matrix, ROUNDING)
    heavy = build(pad_at=(0.1, 0, 0.25), pad_mass=0.3)
    assert_same_robot(placed.vary(mass={"pad": 0.3}, fold=True), heavy)
    assert robot.builder().build().links == robot.links


def test_numbers_for_all() -> None:
    robot = build()
    found = robot.vary(damping=0.7, armature=lambda x: 2.0 * x, mass=np.arange(1.0, 6.0), fold=True)
    assert found.parameters.damping.tolist() == [0.7] * 7
    assert_close(found.parameters.armature, 2.0 * robot.parameters.armature, ROUNDING)
    assert [b.mass for b in found.bodies] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert_close(found.parameters.com, robot.parameters.com, ROUNDING)


def test_changes_of_changes() -> None:
    once = build().vary(mass={"hand": 0.9}, fold=True)
    assert_same_robot(once.vary(com={"hand": (0, 0, 0)}, fold=True), build(**scaled("hand", 1.8), hand_com=(0, 0, 0)))


def test_parts_that_do_not_change_are_the_same() -> None:
    robot = build()
    found = robot.vary(mass={"a": 3.0}, fold=True)
    assert found.bodies[1:] == robot.bodies[1:] and all(x is y for x, y in zip(found.joints, robot.joints, strict=True))
    assert robot.vary(mass={"a": robot.body("a").mass}, fold=True) == robot


def test_with_parameters() -> None:
    robot, wanted = build(), build(armature=0.2, gravity=(0, 0, -1), pitch=0.1)
    record = robot.parameters.replace(gravity=(0, 0, -1), armature=wanted.parameters.armature)
    found = robot.with_parameters(record, joint_numbers=[0.1], fold=True)
    assert_same_robot(found, wanted)
    assert robot.with_parameters(robot.parameters, fold=True) == robot


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda r: r.vary(mass={"hnd": 1.0}), on.UnknownNameError, "unknown body or link 'hnd' .*Did you mean 'hand'"),
        (lambda r: r.vary(mass={"base": 1.0}), on.UnknownNameError, "'base' is fixed to the ground"),
        (lambda r: r.vary(mass={"tool": 1.0}), on.UnknownNameError, "'tool' is a frame on body 'ball'"),
        (lambda r: r.vary(mass={"b": 1.0, "hand": 1.0}), on.ArgumentError, "'hand' is part of body 'b', which"),
        (lambda r: r.vary(armature={"sholder": 1.0}), on.UnknownNameError, "Did you mean 'shoulder'"),
        (lambda r: r.vary(mimic_ratio={"grip": 1.0}), on.UnknownNameError, "Joint 'grip' has no such number"),
        (lambda r: r.vary(armature=[1.0, 2.0]), on.ArgumentError, r"armature has shape \(2,\).*to \(..., 7\)"),
        (lambda r: r.vary(armature={"socket": [1.0, 2.0]}), on.ArgumentError, r"'socket' has .*expected \(..., 3\)"),
        (lambda r: r.vary(com={"a": 1.0}), on.ArgumentError, r"com of 'a' has shape \(\); expected \(..., 3\)"),
        (lambda r: r.vary(inertia={"a": np.arange(9.0).reshape(3, 3)}), on.ArgumentError, "must be symmetric"),
        (lambda r: r.vary(gravity=9.81), on.ArgumentError, "gravity has shape"),
        (lambda r: r.vary(placement=(0, 0, 1)), on.ArgumentError, "give a dictionary"),
        (lambda r: r.vary(placement={"a": (0, 0, 1)}), on.ArgumentError, "'a' is a body; .*its joint, 'shoulder'"),
        (lambda r: r.vary(placement={"hand": (0, 0, 1)}), on.ArgumentError, "a fixed joint merged 'hand'"),
        (lambda r: r.vary(placement={"hand_joint": (0, 0, 1)}), on.ArgumentError, "a fixed joint merged 'hand_joint'"),
        (lambda r: r.vary(placement={"pad_joint": (0, 0, 1)}), on.ArgumentError, "placement of its link, 'pad'"),
        (
            lambda r: r.vary(placement={"pad": (0, 0, 1)}, mass={"pad": 1.0}),
            on.ArgumentError,
            "another place in one call",
        ),
        (
            lambda r: r.vary(mass={"pad": 1.0}).vary(placement={"pad": (0, 0, 1)}),
            on.ArgumentError,
            "joint merged 'pad'",
        ),
        (lambda r: r.vary(mass={"pad": (1, 2)}).vary(placement={"pad": (0, 0, 1)}), on.ArgumentError, "joint merged"),
        (lambda r: r.vary(placement={"pad": np.eye(3)}).vary(mass={"pad": 1.0}), on.ModelError, "cannot vary, too"),
        (
            lambda r: r.attach("tip", to="pad").vary(placement={"pad": (0, 0, 1)}),
            on.ArgumentError,
            "joint merged 'pad'",
        ),
        (lambda r: r.vary(placement={"scrow": (0, 0, 1)}), on.UnknownNameError, "Did you mean 'screw'"),
        (lambda r: r.vary(placement={"screw": (0, 1)}), on.ArgumentError, "expected a position"),
        (
            lambda r: r.vary(mass={"a": [1.0, 2.0]}, com={"a": np.zeros((3, 3))}),
            on.ArgumentError,
            r"mass \(2,\), com \(3,\)",
        ),
        (lambda r: r.vary(mass={"a": [1.0, 2.0], "b": [1.0] * 3}), on.ArgumentError, r"'a' \(2,\), 'b' \(3,\)"),
        (lambda r: r.vary(mass={"a": [1.0, 2.0]}, fold=True), on.ArgumentError, r"the leading shape \(2,\)"),
        *(
            (lambda r, x=x: r.vary(**x), on.ArgumentError, "the function returned None; it must return the new numbers")
            for x in ({"mass": {"a": print}}, {"gravity": print}, {"placement": {"screw": print}}, {"armature": print})
        ),
        (lambda r: r.vary(mass={"a": None}), on.ArgumentError, "mass of 'a' must be numbers of shape .*, not None"),
        (lambda r: r.vary(placement={"tool": -np.eye(4)}), on.ArgumentError, "not a pose: .* reflects"),
        (lambda r: r.vary(mass={"a": "heavy"}), on.ArgumentError, "mass of 'a' must be"),
        (lambda r: r.with_parameters(on.load("puma560").parameters), on.ArgumentError, "parameters of 'puma560'"),
        (lambda r: r.with_parameters({"inertia": 1}), on.ArgumentError, "not a dict"),
        (lambda r: r.with_parameters(inertia=np.zeros((4, 10))), on.ArgumentError, r"expected \(..., 5, 10\)"),
        (
            lambda r: r.vary(masses={"a": 1.0}),
            on.UnknownNameError,
            "unknown argument 'masses' in vary. Did you mean 'mass'",
        ),
        (lambda r: r.vary(friction=1.0), on.UnknownNameError, "Did you mean 'joint_friction'"),
        (lambda r: r.vary(lower=0.0), on.UnknownNameError, r"not parameters; `robot.builder\(\).set_terms"),
        (lambda r: r.with_parameters(mass=1.0), on.UnknownNameError, "`vary` takes masses; .* of `inertia`"),
        (lambda r: r.randomise(0, mas=0.1), on.UnknownNameError, "in randomise. Did you mean 'mass'"),
        (lambda r: r.randomise(0, rest=0.1), on.UnknownNameError, "`vary` takes 'rest'"),
        (lambda r: on.load("puma560").vary(added_inertia=1.0), on.ArgumentError, "no body of 'puma560' is in a fluid"),
        (lambda r: on.load("puma560").vary(mimic_ratio=1.0), on.ArgumentError, "no joint of 'puma560' has such"),
    ],
)
def test_what_cannot_be(change: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        change(build())


IMPOSSIBLE = {
    "mass": ({"mass": {"a": -1.0}}, "body 'a' has mass -1 kg; a mass is not below zero"),
    "mass of a link": ({"mass": {"hand": -0.1}}, "link 'hand' has mass -0.1 kg"),
    "negative inertia": ({"inertia": {"a": (1.0, 1.0, -0.5, 0, 0, 0)}}, "body 'a' has the .* a moment cannot be below"),
    "triangle": ({"inertia": {"a": (1.0, 0.1, 0.1, 0, 0, 0)}}, "body 'a' has the .* no body has one above the sum"),
    "armature": ({"armature": {"shoulder": -0.1}}, "shoulder.armature of 'all' is -0.1; armature is not below zero"),
    "friction": ({"joint_friction": -0.1}, "shoulder.joint_friction of 'all' is -0.1; joint friction is not below"),
    "not a number": ({"com": {"a": (np.nan, 0, 0)}}, "a.mx of 'all' is nan; parameters are finite"),
    "infinite": ({"rest": {"shoulder": np.inf}}, "shoulder.rest of 'all' is inf"),
    "added inertia": ({"added_inertia": {"ball": -np.eye(6)}}, "body 'ball': an added inertia must not be negative"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
@pytest.mark.parametrize("sets", [(), (3,), (2, 3)])
def test_impossible_sets_are_named(case: str, sets: tuple[int, ...]) -> None:
    """The last set is impossible, the others are the robot's own."""
    robot = build()
    (what, change), message = next(iter(IMPOSSIBLE[case][0].items())), IMPOSSIBLE[case][1]
    name, bad = next(iter(change.items())) if isinstance(change, dict) else ("shoulder", change)

    def among_good(now: np.ndarray) -> np.ndarray:
        bad_now = np.asarray(bad, float)
        bad_now = bad_now[np.triu_indices(6)] if bad_now.shape == (6, 6) else bad_now
        found = np.array(np.broadcast_to(now, sets + now.shape))
        found[tuple(n - 1 for n in sets)] = bad_now
        return found

    where = {0: "", 1: "set 2: ", 2: r"set \(1, 2\): "}[len(sets)]
    with pytest.raises(on.ModelError, match=f"^{where}{message}"):
        robot.vary(**{what: {name: among_good}})


def test_a_body_keeps_the_impossible_inertia_that_it_has() -> None:
    """Measured inertias may break the triangle inequality a little; they may not break it more."""
    robot = build(a_inertia=(1.0, 0.4, 0.4, 0, 0, 0))
    assert robot.vary(mass={"a": 3.0}, com={"a": (0, 0, 0.3)}, fold=True).body("a").mass == 3.0
    with pytest.raises(on.ModelError, match="no body has one above the sum"):
        robot.vary(inertia={"a": (1.1, 0.4, 0.4, 0, 0, 0)})


def test_numbers_of_joint_types_are_checked() -> None:
    disc = on.Builder().body("ground").body("disc", parent="ground", joint=on.RollingDisc(0.5), mass=1.0).build()
    with pytest.raises(on.ModelError, match=r"joint 'disc_joint': .*radius"):
        disc.vary(joint_numbers={"disc_joint": -1.0})


@pytest.mark.parametrize("seed", range(3))
def test_a_folded_robot_has_the_numbers_of_the_record(seed: int) -> None:
    """On random trees of all joint types, every field at once."""
    robot = random_robot(seed, 12, mimic=True, passive=True, armature=True, floating=seed == 2)
    rng, own = np.random.default_rng(seed), robot.parameters
    inertia = robot.randomise(rng, mass=0.2, com=0.1, inertia=0.2).parameters.inertia
    others = {x: getattr(own, x) for x in ("armature", "damping", "joint_friction", "stiffness", "joint_numbers")}
    changed = {x: a * rng.uniform(0.5, 2.0, a.shape) for x, a in others.items()}
    moved = {
        x: rng.uniform(-1.0, 1.0, getattr(own, x).shape) for x in ("joint_placement", "frame_placement", "gravity")
    }
    followed = {x: getattr(own, x) + 0.1 for x in ("mimic_ratio", "mimic_offset")}
    record = own.replace(inertia=inertia, **changed, **moved, **followed)
    assert_close(robot.with_parameters(record, fold=True).parameters.flatten(), record.flatten(), ROUNDING)
