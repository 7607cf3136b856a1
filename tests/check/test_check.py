from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.check import Finding, Report, check
from ordern.check.geometry import solid_of
from ordern.check.kinematics import gap, mass_matrix
from ordern.check.table import CHECKS
from ordern.model import Shape
from ordern.model.poses import body_poses, joint_poses
from ordern.robots.stanford_arm import stanford_arm
from tests.robots import ROBOTS

Z = (0.0, 0.0, 1.0)


def arm(mass: float = 1.0, inertia: Any = (0.01, 0.02, 0.015), com: Any = (0, 0, 0.2), **joint: Any) -> on.Builder:
    """One link of 0.4 m, with a tool at its end."""
    return (
        on.Builder("arm")
        .body("base")
        .body(
            "link",
            mass=mass,
            inertia=inertia,
            com=com,
            parent="base",
            joint=joint.pop("joint", on.Revolute((0, 1, 0))),
            joint_name="hinge",
            where="arm.urdf:7",
            **joint,
        )
        .frame("tool", "link", (0, 0, 0.4))
    )


def bare(mass: float, inertia: float, **more: Any) -> on.Builder:
    """One link of which nothing tells the size, but for what is given."""
    link = {"mass": mass, "inertia": (inertia,) * 3, "where": "arm.urdf:7", **more}
    return on.Builder("arm").body("base").body("link", parent="base", joint=on.Revolute(Z), joint_name="hinge", **link)


def codes(builder: on.Builder, **build: Any) -> dict[str, Finding]:
    return {f.code: f for f in check(builder.build(**build))}


def test_a_good_robot_has_no_findings() -> None:
    report = check(arm().build())
    assert (len(report), report.ok, list(report)) == (0, True, [])
    assert str(report) == "arm: nothing to remark"


CASES: list[tuple[str, str, Callable[[], on.Builder], str]] = [
    ("inertia-negative", "error", lambda: arm(inertia=(0.01, -0.02, 0.01)), "-0.02, 0.01, 0.01"),
    ("inertia-negative", "error", lambda: arm(inertia=(1e-3, 1e-3, 1e-3, 2e-3, 0, 0)), "a moment cannot be below zero"),
    ("inertia-triangle", "error", lambda: arm(inertia=(0.01, 0.01, 0.03)), "here it is 1.5 times that"),
    ("inertia-triangle", "error", lambda: arm(inertia=(0, 0, 0.03)), "no body turns heavily about one axis"),
    ("inertia-all-equal", "error", lambda: arm(inertia=(1e-6,) * 6), "nine entries are all 1e-06"),
    ("inertia-singular", "info", lambda: arm(inertia=(0, 0, 0)), "counts as a point mass"),
    ("inertia-singular", "info", lambda: arm(inertia=(0.01, 0.01, 0)), "there is no inertia about one axis"),
    ("inertia-triangle", "warning", lambda: arm(inertia=(0.01, 0.01, 0.022)), "here it is 1.1 times that"),
    ("inertia-planar", "info", lambda: arm(inertia=(0, 0.03, 0)), "it turns about no other"),
    ("inertia-too-large", "warning", lambda: arm(inertia=(2e4, 2e4, 2e4)), "are within 0.4 m"),
    ("inertia-too-large", "warning", lambda: bare(1.0, 1e4), "100 m from its centre; few bodies of robots are as"),
    ("inertia-too-large", "warning", lambda: bare(2.0, 15.0, com=(0.15, 0, 0)), "2.74 m from its centre; its joints"),
    ("inertia-too-large", "warning", lambda: bare(1.0, 2.0).frame("tool", "link", (0, 0, 0.1)), "are within 0.1 m"),
    ("inertia-too-large", "warning", lambda: bare(1.0, 20.0, at=(0.2, 0, 0)), "are within 0.2 m"),
    ("inertia-too-small", "warning", lambda: bare(2.0, 1.5e-8, com=(0.15, 0, 0)), "within 0.087 mm"),
    ("inertia-too-small", "warning", lambda: bare(2.0, 1.5e-8), "as if all its mass were within 0.087 mm"),
    (
        "inertia-too-large",
        "warning",
        lambda: arm(com=(0, 0, 0), inertia=(0.02, 0.02, 0.02)).shape("link", "box", (0.1, 0.1, 0.1)),
        "0.141 m from its centre; its geometry extends 0.0866 m",
    ),
    (
        "inertia-too-small",
        "warning",
        lambda: arm(com=(0, 0, 0), inertia=(1e-6, 2e-6, 2e-6)).shape("link", "sphere", (0.1,)),
        "a solid of its shape and mass (1 kg) has 0.004",
    ),
    ("inertia-default", "warning", lambda: arm(inertia=(1, 1, 1)), "body 'link' has the inertia 1 kg m^2"),
    ("inertia-without-mass", "warning", lambda: arm(mass=0), "has an inertia but no mass"),
    ("com-far", "warning", lambda: arm(com=(0, 0, 6.0)), "6 m from its origin; the whole robot reaches 0.4 m"),
    (
        "com-far",
        "warning",
        lambda: arm(com=(0, 0, 1.0)).shape("link", "cylinder", (0.05, 0.4), at=(0, 0, 0.2), role="collision"),
        "0.6 m outside of its geometry",
    ),
    ("mass-huge", "warning", lambda: arm(mass=2e5, inertia=(2e3, 2e3, 2.1e3)), "weighs 2e+05 kg"),
    ("mass-zero", "info", lambda: arm(mass=0, inertia=(0, 0, 0), armature=1.0), "moves and has no mass"),
    ("limit-negative", "error", lambda: arm(velocity_limit=-1.0), "velocity limit -1"),
    ("limit-negative", "error", lambda: arm(effort_limit=-2.0), "effort limit -2"),
    ("limit-equal", "warning", lambda: arm(lower=0.0, upper=0.0), "cannot move"),
    ("limit-range", "warning", lambda: arm(lower=-90.0, upper=90.0), "are these degrees?"),
    ("limit-range", "info", lambda: arm(lower=-9.42, upper=9.42), "3 turns"),
    ("limit-range", "warning", lambda: arm(joint=on.Prismatic(Z), lower=-500, upper=0), "are these millimetres?"),
    ("limit-neutral", "info", lambda: arm(lower=1.0, upper=2.0), "leave out its neutral position"),
    ("velocity-limit-zero", "warning", lambda: arm(velocity_limit=0.0), "velocity limit 0"),
    ("effort-limit-zero", "warning", lambda: arm(effort_limit=0.0), "effort limit 0"),
    ("mass-matrix-singular", "error", lambda: arm(mass=0, inertia=(0, 0, 0)), "joint 'hinge' can accelerate"),
    ("mass-matrix-singular", "error", lambda: arm(joint=on.Spherical(), com=(0, 0, 1), inertia=(0, 0, 0)), "'hinge'"),
]


@pytest.mark.parametrize(("code", "severity", "make", "words"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_what_is_found(code: str, severity: str, make: Callable[[], on.Builder], words: str) -> None:
    found = codes(make())
    assert code in found, list(found)
    f = found[code]
    assert f.severity == severity
    assert words in f.message
    assert f.suggestion
    if f.name:
        assert f.name in ("link", "hinge")
        assert f.where == "arm.urdf:7"


@pytest.mark.parametrize(
    "make",
    [
        lambda: arm(inertia=(0.01, 0.01, 0.02)),  # a plate: exactly on the limit
        lambda: arm(inertia=(0.01, 0.01, 0.0200001)),  # and rounded
        lambda: arm(inertia=(-1e-20, 1e-20, 0)),
        lambda: arm(lower=-2 * math.pi, upper=6.28319),
        lambda: arm(lower=-math.inf, upper=0.0),
        lambda: arm(joint=on.Continuous(Z)),
        lambda: bare(1.0, 0.04, com=(0.001, 0, 0)),  # all joints of a wrist are in one place
        lambda: bare(0.5, 2e-4, com=(0.5, 0, 0)),  # a motor at the end of a rod
        lambda: bare(50.0, 80.0),
    ],
)
def test_what_is_let_pass(make: Callable[[], on.Builder]) -> None:
    assert not [f for f in check(make().build()) if f.code != "inertia-singular"]


def test_the_stanford_arm_lies_on_the_triangle_inequality() -> None:
    arm = stanford_arm().build()
    moments = [np.sort(np.linalg.eigvalsh(b.inertia_matrix)) for b in arm.bodies]
    assert any(abs(I[0] + I[1] - I[2]) < 1e-12 for I in moments)  # links 1 and 6 of Saha's Table 3
    assert not check(arm).errors


def test_textbook_links_in_a_plane_are_remarks() -> None:
    """Two links with one moment each; on a joint across, the same inertia is an error."""

    def two(axis: tuple[float, ...]) -> on.Builder:
        first = on.Builder().body("base").body("l1", parent="base", joint=on.Revolute(Z), mass=1, inertia=(0, 0, 0.1))
        more = {"mass": 1, "inertia": (0, 0, 0.1), "com": (0.2, 0, 0), "at": (0.4, 0, 0)}
        return first.body("l2", parent="l1", joint=on.Revolute(axis), **more)

    assert {(f.code, f.severity) for f in check(two(Z).build())} == {("inertia-planar", "info")}
    assert [f.name for f in check(two((0, 1, 0)).build()).errors] == ["l2"]


def test_the_puma_passes() -> None:
    """One of its measured moments is 1.1 times what it can be; the moment of link 1 is known about its axis only."""
    report = on.load("puma560").check()
    assert report.ok
    assert [f.code for f in report.warnings] == ["inertia-triangle"]


def test_defaults_on_many_bodies_are_one_finding() -> None:
    b = on.Builder().body("base")
    for k in range(4):
        parent = "base" if k == 0 else f"l{k - 1}"
        b.body(f"l{k}", parent=parent, joint=on.Revolute(Z), mass=1 + k, inertia=(1e-3,) * 3, at=(0.3, 0, 0))
    (found,) = check(b.build()).warnings
    assert found.code == "inertia-default"
    assert "4 bodies ('l0', 'l1', 'l2', 'l3') have the inertia 0.001" in found.message


def test_bodies_that_do_not_move_harm_nothing() -> None:
    b = on.Builder().body("base").body("box", parent="base", joint=on.Fixed(), mass=1, inertia=(1, 1, 5))
    found = {f.code: f.severity for f in check(b.build(merge=False))}
    assert found == {"inertia-triangle": "info", "no-freedom": "info"}


def test_massless_parts_of_heavy_bodies_are_fine() -> None:
    b = arm().body("flange", parent="link", joint=on.Fixed(), at=(0, 0, 0.1))
    assert not len(check(b.build(merge=False)))


def test_an_ill_conditioned_mass_matrix() -> None:
    b = arm(mass=1e3, inertia=(10, 20, 15))
    b.body("mote", parent="link", joint=on.Revolute(Z), mass=1e-6, inertia=(1e-9, 1e-9, 1e-9), at=(0, 0, 0.4))
    f = codes(b)["mass-matrix-ill-conditioned"]
    assert (f.severity, f.name) == ("warning", "mote_joint")
    assert "e+1" in f.message


@pytest.mark.parametrize(
    ("gravity", "severity"),
    [((0, 0, 0), "info"), ((0, 0, -1.62), "warning"), ((0, -9.81, 0), "info"), ((0, 0, -9.80665), None)],
)
def test_gravity(gravity: tuple[float, ...], severity: str | None) -> None:
    b = arm()
    b.gravity = gravity
    found = codes(b)
    assert (found["gravity"].severity if "gravity" in found else None) == severity


def test_millimetres() -> None:
    b = arm().body("far", parent="link", joint=on.Revolute(Z), mass=1, inertia=(1e-3, 1e-3, 1.1e-3), at=(0, 0, 400))
    assert "400 m from the origin of its parent" in codes(b)["size-huge"].message


def test_names_that_differ_in_case() -> None:
    b = arm().body("LINK", parent="link", joint=on.Revolute(Z), mass=1, inertia=(1e-2,) * 3, joint_name="Hinge")
    found = [f.message for f in check(b.build()) if f.code == "names-alike"]
    assert found == [
        "the bodies 'link' and 'LINK' differ only in case",
        "the joints 'hinge' and 'Hinge' differ only in case",
    ]


def test_joints_that_follow_others() -> None:
    b = arm(lower=-1.0, upper=1.0)
    b.body("a", parent="base", joint=on.Revolute(Z), mass=1, inertia=(1e-2,) * 3, mimic=("hinge", 0.0, 0.0))
    b.body(
        "b",
        parent="base",
        joint=on.Revolute(Z),
        mass=1,
        inertia=(1e-2,) * 3,
        mimic=("hinge", -2.0, 0.5),
        lower=-1,
        upper=3,
    )
    found = codes(b)
    assert (found["mimic-zero"].name, found["mimic-zero"].severity) == ("a_joint", "warning")
    assert (found["mimic-limits"].name, found["mimic-limits"].severity) == ("b_joint", "info")
    assert "from -1.5 to 2.5" in found["mimic-limits"].message


def test_loops_that_are_open() -> None:
    def four_bar(gap: float) -> on.Builder:
        b = arm()
        b.body("rocker", parent="base", joint=on.Revolute((0, 1, 0)), mass=1, inertia=(0.01,) * 3, at=(0.3, 0, 0))
        return b.loop("closing", on.Revolute((0, 1, 0)), "link", "rocker", at=(0.3 + gap, 0, 0.4), child_at=(0, 0, 0.4))

    assert "loop-open" not in codes(four_bar(0.0))
    f = codes(four_bar(0.05))["loop-open"]
    assert (f.severity, f.name) == ("warning", "closing")
    assert "by 0.05 m and 0 degrees" in f.message


def test_couplings() -> None:
    b = arm().body("a", parent="base", joint=on.Revolute(Z), mass=1, inertia=(1e-2,) * 3)
    b.couple("gear", "a_joint", "hinge", (0.5, 0.0), "f:3").couple("lock", "a_joint", None, (0.0,))
    found = codes(b)
    assert found["coupling-open"].where == found["coupling-constant"].where == "f:3"
    assert "requires joint 'a_joint' at 0.5" in found["coupling-open"].message
    assert "to 'hinge' by the ratio 0" in found["coupling-constant"].message


def test_notes_of_the_loader() -> None:
    f = codes(arm().note("<gazebo> is not read", "f:9", "remove it"))["note"]
    assert (f.severity, f.message, f.where, f.suggestion) == ("info", "<gazebo> is not read", "f:9", "remove it")


def test_the_report_as_text_and_as_json() -> None:
    report = check(arm(inertia=(0.1, 0.1, 0.5), effort_limit=0.0, lower=1.0, upper=2.0).build())
    lines = str(report).split("\n")
    assert lines[0] == "arm: 1 error, 1 warning, 1 remark"
    assert lines[1].startswith("  arm.urdf:7: error: body 'link' has the principal moments")
    assert lines[1].endswith("[inertia-triangle]")
    assert lines[2].startswith("    -> compute the inertia")
    assert not report.ok
    assert [len(x) for x in (report.errors, report.warnings, report.infos)] == [1, 1, 1]
    data = json.loads(report.to_json())
    assert data["counts"] == {"error": 1, "warning": 1, "info": 1}
    assert data["findings"][0]["code"] == "inertia-triangle"
    assert set(data["findings"][0]) == {"severity", "code", "name", "message", "suggestion", "where"}


def test_a_suggestion_is_below_what_it_is_for() -> None:
    findings = [
        Finding("info", "note", "", message, suggestion)
        for message, suggestion in [("a", "do x"), ("b", ""), ("c", "do y"), ("d", "do x")]
    ]
    assert str(Report("r", tuple(findings))).split("\n")[1:] == [
        "  info: a [note]",
        "  info: d [note]",
        "    -> do x",
        "  info: b [note]",
        "  info: c [note]",
        "    -> do y",
    ]


def test_a_world_that_floats() -> None:
    b = on.Builder().body("world", mass=1, inertia=(0.1, 0.1, 0.1))
    b.body("link", parent="world", joint=on.Revolute(Z), mass=1, inertia=(0.01, 0.01, 0.01), at=(0, 0, 0.5))
    assert "floating-world" not in codes(b)
    f = codes(b, floating=True)["floating-world"]
    assert (f.severity, f.name) == ("warning", "world")
    assert "floats: joint 'root_joint' moves it" in f.message
    assert "floating-world" not in codes(arm(), floating=True)


def test_a_report_counts() -> None:
    findings = (Finding("warning", "a", "", "x"), Finding("warning", "a", "", "y"), Finding("error", "b", "", "z"))
    assert [[f.message for f in group] for group in Report("r", findings).groups()] == [["z"], ["x", "y"]]


def test_every_check_has_a_docstring_and_is_listed_once() -> None:
    assert len(set(CHECKS)) == len(CHECKS)
    assert all(one.__doc__ for one in CHECKS)


def test_no_check_stumbles_over_a_robot_of_nothing() -> None:
    assert [f.code for f in check(on.Builder().body("base").build())] == ["no-freedom"]


def test_the_mass_matrix_is_that_of_the_algorithms() -> None:
    b = arm(armature=0.3)
    b.body("ball", parent="link", joint=on.Spherical(), mass=2, inertia=(1, 2, 2, 0.1, 0.2, 0.3), com=(0.1, 0.2, 0.3))
    b.body("drawer", parent="ball", joint=on.Prismatic((1, 1, 0)), mass=3, inertia=(1, 2, 2), at=((1, 2, 3), (1, 2, 3)))
    robot = b.build(floating=True)
    for q in robot.random(0, 3):
        np.testing.assert_allclose(mass_matrix(robot, q), robot.mass_matrix(q), atol=1e-12)
        np.testing.assert_allclose(body_poses(robot, q)[-1], robot.pose(q, "drawer"), atol=1e-12)


@pytest.mark.parametrize(
    "joint",
    [
        on.Fixed(),
        on.Revolute((1, 2, 3)),
        on.Prismatic((1, 2, 3)),
        on.Spherical(),
        on.Free(),
        on.Helical((1, 2, 3), 0.1),
        on.Cylindrical((1, 2, 3)),
        on.Universal((1, 0, 0), (0, 1, 0)),
        on.Planar((0, 0, 1)),
    ],
    ids=lambda j: type(j).__name__,
)
def test_a_loop_is_closed_wherever_its_joint_can_go(joint: on.Joint) -> None:
    limit = np.full(joint.nq, 0.8)
    q = joint.random(np.random.default_rng(0), (), -limit, limit)
    T = joint_poses(joint, q)
    assert max(gap(joint, T)) < 1e-8
    wrong = np.eye(4)
    wrong[:3, 3] = (0.03, -0.02, 0.01)
    assert (max(gap(joint, T @ wrong)) > 1e-3) == (joint.nv < 6)


def test_solids_of_shapes_have_the_textbook_inertia() -> None:
    def gyration2(kind: str, *size: float) -> float:
        return solid_of([Shape(0, kind, size)]).gyration ** 2

    assert gyration2("box", 1, 2, 3) == pytest.approx((4 + 9) / 12)
    assert gyration2("sphere", 2) == pytest.approx(0.4 * 4)
    assert gyration2("ellipsoid", 2, 2, 2) == pytest.approx(0.4 * 4)
    assert gyration2("cylinder", 0.5, 4) == pytest.approx((3 * 0.25 + 16) / 12)
    assert gyration2("capsule", 2, 0) == pytest.approx(0.4 * 4)
    assert gyration2("capsule", 1e-4, 4) == pytest.approx(16 / 12, rel=1e-3)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400_000, 3)) * (0.5, 0.5, 1.5)
    inside = np.hypot(x[:, 0], x[:, 1]) ** 2 + np.maximum(np.abs(x[:, 2]) - 1, 0) ** 2 < 0.25
    assert gyration2("capsule", 0.5, 2) == pytest.approx((x[inside] ** 2).mean(axis=0)[1:].sum(), rel=0.01)


@pytest.mark.parametrize(
    ("file", "floating", "expected"),
    [
        ("anymal_b_simple_description/robots/anymal.urdf", True, {"inertia-all-equal": "base"}),
        ("panda_description/urdf/panda.urdf", False, {}),
        ("romeo_description/urdf/romeo.urdf", False, {"mass-matrix-singular": "LHand"}),
    ],
)
@pytest.mark.needs("example_robot_data")
def test_errors_of_real_robots(file: str, floating: bool, expected: dict[str, str]) -> None:
    report = check(on.load(ROBOTS / file, floating=floating, merge=False))
    assert {f.code: f.name for f in report.errors} == expected
    assert all(f.where for f in report.errors)
