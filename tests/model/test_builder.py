from __future__ import annotations

import math

import numpy as np
import pytest

import ordern as on
from tests.tolerances import EXACT, ROUNDING, assert_close

REVOLUTE = on.Revolute((0, 1, 0))
HEAVY = {"mass": 2.0, "com": (0.1, 0.2, 0.3), "inertia": (0.3, 0.4, 0.5)}


def base() -> on.Builder:
    return on.Builder("arm").body("base")


class TestBodies:
    def test_inertia_in_three_six_or_nine_numbers(self) -> None:
        def made(inertia) -> on.Body:
            return base().body("a", parent="base", joint=REVOLUTE, inertia=inertia).build().bodies[0]

        assert made((1, 2, 3)).inertia == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)
        assert made((1, 2, 3, 0.1, 0.2, 0.3)).inertia == (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
        matrix = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]])
        assert made(matrix).inertia == (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
        assert (made(matrix).inertia_matrix == matrix).all()

    @pytest.mark.parametrize("number", [2, np.float64(2), np.float32(2), np.int64(2), np.array(2.0)], ids=repr)
    def test_numbers_of_any_kind(self, number) -> None:
        robot = base().body("a", parent="base", joint=REVOLUTE, mass=number, armature=number, lower=-number).build()
        assert robot.mass == 2.0
        assert robot.joints[0].armature == (2.0,)
        assert robot.lower.tolist() == [-2.0]

    def test_arrays_given_may_change_afterwards(self) -> None:
        com, inertia = np.zeros(3), np.eye(3)
        builder = base().body("a", parent="base", joint=REVOLUTE, mass=1.0, com=com, inertia=inertia)
        com[:] = 9.0
        inertia[:] = 9.0
        assert builder.build().bodies[0] == on.Body("a", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"mass": -1.0}, "body 'a' has mass -1; a mass is a finite number, not below zero"),
            ({"mass": math.inf}, "mass inf; a mass is a finite number"),
            ({"mass": math.nan}, "body 'a'.* mass"),
            ({"mass": "heavy"}, "body 'a'.* mass .*not 'heavy'"),
            ({"com": (0, 0)}, r"body 'a': com must be 3 finite numbers, not \(0, 0\)"),
            ({"com": (0, 0, math.nan)}, "body 'a': com must be 3 finite numbers"),
            ({"com": "abc"}, "body 'a': com must be 3 finite numbers, not 'abc'"),
            ({"com": None}, "body 'a': com must be 3 finite numbers"),
            ({"inertia": (1, 2)}, "body 'a': inertia must be 3 principal values, 6 values"),
            ({"inertia": (1, 2, math.nan)}, "body 'a': inertia must be .* all finite"),
            ({"inertia": (1, 2, math.inf)}, "body 'a': inertia must be .* all finite"),
            ({"inertia": np.arange(9.0).reshape(3, 3)}, "body 'a': inertia must be .* symmetric 3x3"),
            ({"inertia": "round"}, "body 'a': inertia must be"),
        ],
        ids=str,
    )
    def test_what_is_no_body(self, wrong, words) -> None:
        with pytest.raises(on.ModelError, match=words):
            base().body("a", parent="base", joint=REVOLUTE, **wrong)

    @pytest.mark.parametrize("name", ["", None, 3, ["a"]])
    def test_names(self, name) -> None:
        with pytest.raises(on.ModelError, match="a body's name must be a non-empty string, not"):
            base().body(name)

    def test_twice(self) -> None:
        with pytest.raises(on.ModelError, match="body 'base' exists already; every body needs a name of its own"):
            base().body("base")

    def test_a_parent_needs_a_joint_and_a_joint_a_parent(self) -> None:
        for half in ({"parent": "base"}, {"joint": REVOLUTE}):
            with pytest.raises(on.ModelError, match="body 'a': give both `parent` and `joint`, or neither"):
                base().body("a", **half)
        with pytest.raises(on.ModelError, match="body 'a': lower needs `parent` and `joint`"):
            base().body("a", lower=1.0)
        with pytest.raises(on.ModelError, match="body 'a': joint_name needs `parent` and `joint`"):
            base().body("a", joint_name="j")

    def test_a_refused_body_leaves_no_trace(self) -> None:
        """At a prompt one corrects the call and goes on."""
        builder = base()
        with pytest.raises(on.ModelError):
            builder.body("a", parent="base", joint=REVOLUTE, damping=math.nan)
        assert builder.body("a", parent="base", joint=REVOLUTE).build().nv == 1


class TestJoints:
    def test_limits_and_coefficients(self) -> None:
        robot = (
            base()
            .body("a", parent="base", joint=REVOLUTE, lower=-1, upper=2, velocity_limit=3, effort_limit=4)
            .body("b", parent="a", joint=on.Spherical(), damping=0.1, friction=(1, 2, 3), armature=[0.1, 0.2, 0.3])
            .build()
        )
        a, b = robot.joints
        assert (a.lower, a.upper, a.velocity_limit, a.effort_limit) == ((-1.0,), (2.0,), (3.0,), (4.0,))
        assert (a.damping, a.friction, a.armature) == ((0.0,), (0.0,), (0.0,))
        assert (b.damping, b.friction, b.armature) == ((0.1,) * 3, (1.0, 2.0, 3.0), (0.1, 0.2, 0.3))
        assert b.lower == (-math.inf,) * 4
        assert b.upper == (math.inf,) * 4
        assert b.velocity_limit == b.effort_limit == (math.inf,) * 3
        assert robot.lower.tolist() == [-1.0] + [-math.inf] * 4

    def test_where_their_coordinates_are(self) -> None:
        builder = base()
        for k, joint in enumerate((REVOLUTE, on.Free(), on.Spherical(), on.Prismatic())):
            builder.body(f"b{k}", parent=f"b{k - 1}" if k else "base", joint=joint)
        robot = builder.build()
        assert [(c.q_start, c.v_start) for c in robot.joints] == [(0, 0), (1, 1), (8, 7), (12, 10)]
        assert (robot.joints[2].q, robot.joints[2].v) == (slice(8, 12), slice(7, 10))
        assert (robot.nq, robot.nv) == (13, 11)

    @pytest.mark.parametrize(
        ("wrong", "words"),
        [
            ({"armature": -0.1}, "armature must be finite and not below zero"),
            ({"armature": math.inf}, "armature must be finite and not below zero"),
            ({"armature": (1, 2)}, "armature must be one number, not"),
            ({"damping": "much"}, "damping must be one number, not 'much'"),
            ({"friction": math.nan}, "friction is not a number"),
            ({"lower": math.nan}, "lower is not a number"),
            ({"upper": (1, 2, 3)}, "upper must be one number"),
            ({"velocity_limit": ()}, "velocity_limit must be one number"),
            ({"at": (1, 2)}, "cannot read|give a position of 3 numbers"),
            ({"at": (0, 0, math.inf)}, "a placement must be finite"),
            ({"at": "here"}, "cannot read 'here' as a placement"),
        ],
        ids=str,
    )
    def test_what_is_no_joint(self, wrong, words) -> None:
        with pytest.raises(on.ModelError, match=f"joint 'a_joint': .*({words})"):
            base().body("a", parent="base", joint=REVOLUTE, **wrong)

    def test_limits_that_leave_nothing(self) -> None:
        with pytest.raises(on.ModelError, match=r"joint 'a_joint'.*lower.*upper"):
            base().body("a", parent="base", joint=on.Prismatic(), lower=2.0, upper=1.0).build()

    @pytest.mark.parametrize("thing", ["revolute", on.Revolute, None, 3])
    def test_types(self, thing) -> None:
        builder = base().body("a")
        with pytest.raises(on.ModelError, match=r"joint 'j': its type must be a joint such as Revolute\(axis\), not"):
            builder.joint("j", thing, "base", "a")

    def test_twice(self) -> None:
        builder = base().body("a").body("b").joint("j", REVOLUTE, "base", "a")
        with pytest.raises(on.ModelError, match="joint 'j' exists already; every joint needs a name of its own"):
            builder.joint("j", REVOLUTE, "base", "b")

    def test_an_unknown_limit(self) -> None:
        with pytest.raises(TypeError, match="elasticity"):
            base().body("a", parent="base", joint=REVOLUTE, elasticity=1.0)


class TestTree:
    def test_any_order(self) -> None:
        """Children before parents, joints before bodies: the same robot."""
        sorted_ = base().body("a", parent="base", joint=REVOLUTE, **HEAVY)
        sorted_.body("b", parent="a", joint=on.Prismatic(), **HEAVY)
        mixed = on.Builder("arm").joint("b_joint", on.Prismatic(), "a", "b").body("b", **HEAVY)
        mixed.joint("a_joint", REVOLUTE, "base", "a").body("a", **HEAVY).body("base")
        assert mixed.build() == sorted_.build()

    def test_parents_before_children_and_branches_in_one_piece(self) -> None:
        builder = base()
        for name, parent in (("l1", "base"), ("r1", "base"), ("l2", "l1"), ("r2", "r1"), ("l3", "l2"), ("m", "l1")):
            builder.body(name, parent=parent, joint=REVOLUTE)
        robot = builder.build()
        assert [b.name for b in robot.bodies] == ["l1", "l2", "l3", "m", "r1", "r2"]
        assert [c.parent for c in robot.joints] == [-1, 0, 1, 0, -1, 4]

    def test_an_unknown_parent(self) -> None:
        builder = base().body("forearm", parent="base", joint=REVOLUTE)
        builder.body("hand", parent="forarm", joint=REVOLUTE)
        words = "joint 'hand_joint' has as its parent an unknown body 'forarm'. Did you mean 'forearm'?"
        with pytest.raises(on.ModelError, match=words.replace(".", r"\.").replace("?", r"\?")):
            builder.build()

    def test_an_unknown_child(self) -> None:
        with pytest.raises(on.ModelError, match="joint 'j' has as its child an unknown body 'a'"):
            base().joint("j", REVOLUTE, "base", "a").build()

    def test_two_parents(self) -> None:
        builder = base().body("a", parent="base", joint=REVOLUTE).body("b", parent="base", joint=REVOLUTE)
        words = (
            "joint 'j': joint 'b_joint' carries body 'b' already; a body has one parent, and a joint that closes a loop"
        )
        with pytest.raises(on.ModelError, match=words):
            builder.joint("j", REVOLUTE, "a", "b")

    def test_a_cycle(self) -> None:
        builder = base().body("a").body("b").joint("ab", REVOLUTE, "a", "b").joint("ba", REVOLUTE, "b", "a")
        with pytest.raises(on.ModelError, match=r"the joints 'ab', 'ba' form a cycle: .*body 'b' leads back to it"):
            builder.build()

    def test_a_body_on_itself(self) -> None:
        with pytest.raises(on.ModelError, match="the joints 'j' form a cycle"):
            base().body("a").joint("j", REVOLUTE, "a", "a").build()

    def test_nothing_but_a_cycle(self) -> None:
        builder = on.Builder().body("a").body("b").joint("ab", REVOLUTE, "a", "b").joint("ba", REVOLUTE, "b", "a")
        with pytest.raises(on.ModelError, match="form a cycle"):
            builder.build()

    def test_several_roots(self) -> None:
        builder = base().body("a", parent="base", joint=REVOLUTE).body("stray").body("other")
        words = "'arm' has 3 bodies that no joint carries .'base', 'stray', 'other'.: connect all but one"
        with pytest.raises(on.ModelError, match=words):
            builder.build()

    def test_no_bodies(self) -> None:
        with pytest.raises(on.ModelError, match="'arm' has no bodies"):
            on.Builder("arm").build()

    def test_errors_say_where(self) -> None:
        with pytest.raises(on.ModelError, match=r"^arm\.urdf:7: body 'a' has mass -1") as caught:
            base().body("a", mass=-1.0, where="arm.urdf:7")
        assert caught.value.where == "arm.urdf:7"
        with pytest.raises(on.ModelError, match=r"^arm\.urdf:9: joint 'j' has as its child an unknown body"):
            base().joint("j", REVOLUTE, "base", "a", where="arm.urdf:9").build()

    def test_errors_are_value_errors(self) -> None:
        assert issubclass(on.ModelError, ValueError)
        assert issubclass(on.ModelError, on.OrdernError)


class TestFrames:
    def test_every_body_and_every_name_has_one(self) -> None:
        robot = base().body("a", parent="base", joint=REVOLUTE).frame("tool", "a", at=(1, 2, 3)).build()
        assert [f.name for f in robot.frames] == ["base", "a", "tool", "world"]
        assert [f.body for f in robot.frames] == [-1, 0, 0, -1]
        assert robot.frame("tool").placement == on.Placement(position=(1.0, 2.0, 3.0))

    def test_twice(self) -> None:
        with pytest.raises(on.ModelError, match="frame 'f' exists already"):
            base().frame("f", "base").frame("f", "base")

    def test_the_name_of_a_body(self) -> None:
        with pytest.raises(on.ModelError, match="frame 'base' has the name of a body"):
            base().frame("base", "base").build()

    def test_on_an_unknown_body(self) -> None:
        with pytest.raises(on.ModelError, match=r"unknown body 'bas' in frame 'f'\. Did you mean 'base'\?"):
            base().frame("f", "bas").build()

    def test_a_placement_that_is_none(self) -> None:
        with pytest.raises(on.ModelError, match="frame 'f': "):
            base().frame("f", "base", at=(1, 2))


class TestFloating:
    def test_the_root_gets_a_free_joint(self) -> None:
        robot = base().body("a", parent="base", joint=REVOLUTE, **HEAVY).build(floating=True)
        assert robot.base == "world"
        assert [b.name for b in robot.bodies] == ["base", "a"]
        assert robot.joints[0].name == "root_joint"
        assert robot.joints[0].type == on.Free()
        assert (robot.nq, robot.nv) == (8, 7)

    def test_its_name_is_free(self) -> None:
        robot = base().body("a", parent="base", joint=REVOLUTE, joint_name="root_joint").build(floating=True)
        assert len({c.name for c in robot.joints}) == 2

    def test_a_builder_builds_again(self) -> None:
        builder = base().body("a", parent="base", joint=REVOLUTE, **HEAVY)
        assert builder.build() == builder.build()
        assert builder.build(floating=True).nv == 7
        assert builder.build().nv == 1


class TestGravity:
    def test_given(self) -> None:
        assert on.Builder("moon", gravity=(0, 0, -1.62)).body("a").build().gravity == (0.0, 0.0, -1.62)
        assert on.Builder().body("a").build().gravity == (0.0, 0.0, -9.81)

    @pytest.mark.parametrize("gravity", [(0, 0), (0, 0, math.nan), 9.81, "down"], ids=repr)
    def test_what_is_none(self, gravity) -> None:
        with pytest.raises(on.ModelError, match="gravity must be 3 finite numbers"):
            on.Builder("a", gravity=gravity)


class TestSnapping:
    def _robot(self, snap: float) -> on.Robot:
        builder = base().body("a", parent="base", joint=on.Revolute(), at=((0, 0, 1e-13), (np.pi / 2, 0, 0)), **HEAVY)
        return builder.build(snap=snap)

    def test_rounded_quarters_become_exact(self) -> None:
        """cos(pi/2) is 6e-17 in a file; as zero it costs nothing."""
        row = self._robot(1e-10).tables.rows[0]
        assert set(np.abs(row[:9]).tolist()) == {0.0, 1.0}
        assert (row[9:12] == 0.0).all()

    def test_may_be_turned_off(self) -> None:
        row = self._robot(0.0).tables.rows[0]
        assert np.abs(row[:9]).min() == 0.0
        assert 6.123233995736766e-17 in np.abs(row[:9])
        assert row[11] == 1e-13

    def test_changes_next_to_nothing(self) -> None:
        q = [0.3]
        assert_close(self._robot(1e-10).mass_matrix(q), self._robot(0.0).mass_matrix(q), ROUNDING)
        assert_close(self._robot(1e-10).pose(q, "a"), self._robot(0.0).pose(q, "a"), EXACT * 10 + 1e-12)


def test_terms_of_a_joint_can_be_changed() -> None:
    builder = on.Builder("b").body("g").body("a", parent="g", joint=on.Revolute(), mass=1.0, upper=2.0, damping=3.0)
    joint = builder.set_terms("a_joint", damping=4.0, stiffness=5.0).build().joints[0]
    assert (joint.damping, joint.stiffness, joint.upper) == ((4.0,), (5.0,), (2.0,))
    with pytest.raises(on.ModelError, match="damping must be finite and not below zero"):
        builder.set_terms("a_joint", damping=-1.0)
    with pytest.raises(on.ModelError, match="unknown keyword 'dampling'"):
        builder.set_terms("a_joint", dampling=1.0)
