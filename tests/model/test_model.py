from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import math
import pickle
import pydoc

import numpy as np
import pytest

import ordern as on
from tests.random_models import ALL_JOINTS, random_robot, random_state
from tests.tolerances import EXACT, ROUNDING, assert_close


def arm(name: str = "arm", mass: float = 1.0, gravity: tuple[float, ...] = (0, 0, -9.81), **more) -> on.Robot:
    builder = on.Builder(name, gravity=gravity).body("base")
    builder.body("upper", parent="base", joint=on.Revolute((0, 1, 0)), mass=mass, inertia=(1, 2, 2), **more)
    builder.body("lower", parent="upper", joint=on.Prismatic(), at=(1, 0, 0), mass=0.5, inertia=(1, 2, 2))
    builder.body("wheel", parent="upper", joint=on.Spherical(), mass=0.25, inertia=(1, 2, 2))
    return builder.frame("tool", "lower", at=(0, 0, 0.2)).build()


class TestEquality:
    def test_the_same_parts_are_the_same_robot(self) -> None:
        assert arm() == arm()
        assert hash(arm()) == hash(arm())
        assert {arm(): 1}[arm()] == 1

    @pytest.mark.parametrize(
        "other",
        [
            {"name": "leg"},
            {"mass": 1.5},
            {"gravity": (0, 0, -1.62)},
            {"armature": 0.1},
            {"lower": -1.0},
            {"at": (1, 0, 0)},
        ],
        ids=str,
    )
    def test_other_parts_are_another_robot(self, other) -> None:
        assert arm() != arm(**other)

    @pytest.mark.parametrize("seed", range(5))
    def test_random_robots(self, seed) -> None:
        assert random_robot(seed) == random_robot(seed)
        assert hash(random_robot(seed)) == hash(random_robot(seed))
        assert random_robot(seed) != random_robot(seed + 1)

    def test_equal_robots_have_equal_hashes_whatever_their_zeros(self) -> None:
        """-0.0 == 0.0, so robots that differ in nothing else are equal, and must be one key."""
        a, b = arm(gravity=(0.0, 0.0, -9.81)), arm(gravity=(0.0, -0.0, -9.81))
        assert a == b
        assert hash(a) == hash(b)

    def test_where_it_came_from_does_not_matter(self) -> None:
        assert dataclasses.replace(arm(), source="file.urdf") == arm()

    def test_not_equal_to_other_things(self) -> None:
        assert arm() != "arm"
        assert arm() != None  # noqa: E711

    def test_the_digest_is_of_what_moves_it(self) -> None:
        """Names and limits are not part of compiled code."""
        assert arm().digest == arm(name="leg").digest == arm(lower=-1.0).digest
        others = [arm(mass=1.5), arm(gravity=(0, 0, 0)), arm(armature=0.1), arm(at=(1, 0, 0))]
        assert len({r.digest for r in others} | {arm().digest}) == 5


class TestImmutable:
    @pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(on.Model)])
    def test_fields(self, name) -> None:
        robot = arm()
        with pytest.raises(AttributeError):
            setattr(robot, name, None)
        with pytest.raises(AttributeError):
            delattr(robot, name)

    @pytest.mark.parametrize("name", ["nq", "nv", "digest", "mass", "tables", "colour"])
    def test_everything_else(self, name) -> None:
        """A misspelt or computed attribute must not seem to be set."""
        robot = arm()
        with pytest.raises(AttributeError):
            setattr(robot, name, 7)

    def test_parts(self) -> None:
        robot = arm()
        for part in (robot.bodies[0], robot.joints[0], robot.frames[0], robot.joints[0].placement):
            for f in dataclasses.fields(part):
                with pytest.raises(AttributeError):
                    setattr(part, f.name, None)
        for tuples in (robot.bodies, robot.joints, robot.frames, robot.gravity, robot.bodies[0].com):
            assert isinstance(tuples, tuple)

    @pytest.mark.parametrize("name", ["lower", "upper"])
    def test_arrays_that_it_keeps(self, name) -> None:
        robot = arm(lower=-1.0, upper=1.0)
        before = getattr(robot, name).copy()
        with contextlib.suppress(ValueError):  # read-only is as good
            getattr(robot, name)[:] = 99.0
        assert (getattr(robot, name) == before).all()

    def test_arrays_that_it_gives(self) -> None:
        robot = arm()
        robot.neutral()[:] = 99.0
        assert robot.neutral().tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]

    def test_replace_makes_another(self) -> None:
        robot = arm()
        moon = dataclasses.replace(robot, gravity=(0.0, 0.0, -1.62))
        assert type(moon) is on.Robot
        assert robot.gravity == (0.0, 0.0, -9.81)
        q = robot.random(0)
        assert_close(moon.gravity_force(q) * 9.81, robot.gravity_force(q) * 1.62, ROUNDING)


class TestText:
    def test_summary(self) -> None:
        assert arm().summary().splitlines() == [
            "arm: 3 bodies, nq 6, nv 5, mass 1.75 kg",
            "base",
            "└─ upper  1 kg  by upper_joint (revolute, v[0])",
            "   ├─ lower  0.5 kg  by lower_joint (prismatic, v[1])",
            "   └─ wheel  0.25 kg  by wheel_joint (spherical, v[2:5])",
        ]

    def test_summary_of_branches(self) -> None:
        builder = on.Builder("tree").body("base")
        for name, parent in (("a", "base"), ("b", "a"), ("c", "base")):
            builder.body(name, parent=parent, joint=on.Revolute(), mass=1.0)
        assert builder.build().summary().splitlines()[1:] == [
            "base",
            "├─ a  1 kg  by a_joint (revolute, v[0])",
            "│  └─ b  1 kg  by b_joint (revolute, v[1])",
            "└─ c  1 kg  by c_joint (revolute, v[2])",
        ]

    def test_summary_of_a_floating_robot(self) -> None:
        text = on.Builder("ball").body("ball", mass=1.0, inertia=(1, 1, 1)).build(floating=True).summary()
        assert text.splitlines() == [
            "ball: 1 body, nq 7, nv 6, mass 1 kg",
            "world",
            "└─ ball  1 kg  by root_joint (free, v[0:6])",
        ]

    def test_summary_of_nothing(self) -> None:
        assert on.Builder("rock").body("base").build().summary().splitlines() == [
            "rock: 0 bodies, nq 0, nv 0, mass 0 kg",
            "base",
        ]

    @pytest.mark.slow
    def test_summary_of_a_long_chain(self) -> None:
        """No recursion: thousands of bodies are no problem."""
        builder = on.Builder("chain").body("b0")
        for k in range(1, 3001):
            builder.body(f"b{k}", parent=f"b{k - 1}", joint=on.Revolute(), mass=1.0)
        assert len(builder.build().summary().splitlines()) == 203

    def test_repr(self) -> None:
        robot = arm()
        assert repr(robot) == "<Robot 'arm': 3 bodies, nq=6, nv=5, 1.75 kg>"
        assert repr(robot.bodies[0]) == "Body('upper', mass=1)"
        assert repr(robot.joints[0]) == "ModelJoint('upper_joint', Revolute)"
        assert repr(robot.frame("tool")) == "Frame('tool', body=1)"
        assert repr(robot.kernel("mass_matrix")) == "<Kernel mass_matrix of 'arm' by 'composite-body'>"
        pose = robot.kernel("pose", frame="tool")
        assert repr(pose) == "<Kernel pose of 'arm' by 'outward', frame='tool'>"


class TestFunctions:
    """From the second call on a robot's functions are machine code; to Python they stay functions."""

    @pytest.fixture(params=["before", "after"])
    def robot(self, request) -> on.Robot:
        robot = arm()
        if request.param == "after":
            robot.mass_matrix(robot.neutral())
        return robot

    def test_help(self, robot) -> None:
        assert "joint-space mass matrix" in pydoc.render_doc(robot.mass_matrix)

    def test_signature(self, robot) -> None:
        assert "method" in inspect.signature(robot.mass_matrix).parameters

    def test_module(self, robot) -> None:
        assert robot.mass_matrix.__module__ == "ordern.robot"
        assert robot.mass_matrix.__name__ == "mass_matrix"

    def test_keywords(self, robot) -> None:
        assert (robot.mass_matrix(q=robot.neutral()) == robot.mass_matrix(robot.neutral())).all()


class TestNames:
    def test_found(self) -> None:
        robot = arm()
        assert robot.body("lower") is robot.bodies[1]
        assert robot.joint("lower_joint") is robot.joints[1]
        assert robot.frame("tool") is robot.frames[-2]
        assert robot.frame(robot.frames[2]) is robot.frames[2]

    @pytest.mark.parametrize(
        ("ask", "words"),
        [
            (
                lambda r: r.body("uper"),
                r"unknown body 'uper' in arm\. Did you mean 'upper'\? Known: upper, lower, wheel",
            ),
            (lambda r: r.joint("uper_joint"), r"unknown joint 'uper_joint' in arm\. Did you mean 'upper_joint'\?"),
            (lambda r: r.frame("toool"), r"unknown frame 'toool' in arm\. Did you mean 'tool'\? Known: base, upper"),
            (lambda r: r.pose(r.neutral(), "toool"), r"unknown frame 'toool' in arm\. Did you mean 'tool'\?"),
            (lambda r: r.frame(3), "unknown frame 3 in arm"),
            (lambda r: r.frame(["tool"]), "unknown frame"),
            (lambda r: r.body(None), "unknown body None in arm"),
            (lambda r: r.frame(on.Frame("far", 17)), "unknown body index 17 in arm"),
            (lambda r: r.frame("zzz"), r"unknown frame 'zzz' in arm\. Known: base, upper, lower, wheel, tool, world"),
            (lambda r: r.kernel("forward_dinamics"), "unknown question 'forward_dinamics'. Did you mean 'forward_dyn"),
            (lambda r: r.mass_matrix(r.neutral(), method="composite"), "unknown method 'composite' in mass_matrix"),
        ],
        ids=range(11),
    )
    def test_not_found(self, ask, words) -> None:
        with pytest.raises(on.UnknownNameError, match=words):
            ask(arm())

    def test_many_names_are_not_all_listed(self) -> None:
        builder = on.Builder("chain").body("b0")
        for k in range(1, 61):
            builder.body(f"b{k}", parent=f"b{k - 1}", joint=on.Revolute(), mass=1.0)
        with pytest.raises(on.UnknownNameError, match=r"b38, b39, b40, \.\.\. \(60 in all\)\."):
            builder.build().body("zzz")

    def test_is_a_lookup_error(self) -> None:
        assert issubclass(on.UnknownNameError, LookupError)


class TestPositions:
    def test_neutral(self) -> None:
        assert arm().neutral().tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
        assert on.Builder().body("a").build().neutral().shape == (0,)

    def test_neutral_puts_every_child_where_its_joint_is(self) -> None:
        robot = random_robot(3, n=9, joints=ALL_JOINTS)
        q = robot.neutral()
        poses = {-1: np.eye(4)}
        for k, c in enumerate(robot.joints):
            poses[k] = poses[c.parent] @ c.placement.matrix
            found = robot.kernel("pose", way="interpreted", frame=robot.bodies[k].name)(q)
            assert_close(found, poses[k], ROUNDING)

    @pytest.mark.parametrize(("shape", "wanted"), [((), (6,)), (3, (3, 6)), ((2, 3), (2, 3, 6)), (0, (0, 6))])
    def test_random_shapes(self, shape, wanted) -> None:
        assert arm().random(0, shape).shape == wanted

    def test_random_is_repeated_by_its_seed(self) -> None:
        robot = random_robot(1)
        assert (robot.random(5, 3) == robot.random(np.random.default_rng(5), 3)).all()
        assert (robot.random(5, 3) != robot.random(6, 3)).any()
        assert (robot.random(None, 3) != robot.random(None, 3)).any()

    def test_a_generator_goes_on(self) -> None:
        rng, robot = np.random.default_rng(0), arm()
        assert (robot.random(rng) != robot.random(rng)).any()

    @pytest.mark.parametrize("seed", range(4))
    def test_random_within_limits(self, seed) -> None:
        robot = random_robot(seed)
        q = robot.random(0, 200)
        assert (q >= robot.lower).all()
        assert (q <= robot.upper).all()
        limited = np.isfinite(robot.lower)
        assert limited.any()
        spread = np.ptp(q[:, limited], axis=0) / (robot.upper - robot.lower)[limited]
        assert (spread > 0.9).all()

    def test_random_quaternions_are_units(self) -> None:
        robot = random_robot(2)
        q = robot.random(0, 20)
        for c in robot.joints:
            if c.nq > c.nv:
                assert_close(np.linalg.norm(q[:, c.q][:, :4], axis=1), np.ones(20), EXACT)


class TestInertiaIsRequired:
    """For accelerations every joint must move some; the message names joint and body."""

    def _tip(self, joint: on.Joint, **body) -> on.Robot:
        builder = on.Builder("arm").body("base")
        builder.body("heavy", parent="base", joint=on.Revolute(), mass=1.0, inertia=(1, 1, 1))
        return builder.body("tip", parent="heavy", joint=joint, joint_name="wrist", **body).build()

    def _refused(self, robot: on.Robot, words: str) -> None:
        q, v, _ = random_state(robot, 0)
        with pytest.raises(on.ModelError, match=words):
            robot.forward_dynamics(q, v, v)
        assert np.isfinite(robot.inverse_dynamics(q, v, v)).all()
        assert np.isfinite(robot.mass_matrix(q)).all()

    @pytest.mark.parametrize("joint", [on.Revolute(), on.Prismatic(), on.Spherical(), on.Free()], ids=str)
    def test_nothing_at_the_tip(self, joint) -> None:
        words = "joint 'wrist' moves nothing that has mass .body 'tip' and all that it carries are massless.*armature"
        self._refused(self._tip(joint), words)

    def test_nothing_in_a_whole_branch(self) -> None:
        builder = on.Builder("arm").body("base")
        builder.body("a", parent="base", joint=on.Revolute((1, 0, 0)), joint_name="first")
        builder.body("b", parent="a", joint=on.Revolute((0, 1, 0)), joint_name="second")
        self._refused(builder.build(), "joint 'second' moves nothing that has mass")

    def test_nothing_at_a_base_that_floats(self) -> None:
        """Each joint moves some, but there is a motion that moves none: two arms turn about one line of masses."""
        self._refused(on.load("double-pendulum", floating=True), "meets no inertia.* that joints move: 'base'")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("joint", "body"),
        [
            (on.Revolute((0, 0, 1)), {"mass": 1.0}),
            (on.Revolute((0, 0, 1)), {"mass": 1.0, "com": (0, 0, 0.5)}),
            (on.Revolute((1, 2, 3)), {"mass": 1.0, "com": (1, 2, 3)}),
            (on.Revolute((0, 0, 1)), {"mass": 1.0, "inertia": (1, 1, 0)}),
            (on.Spherical(), {"mass": 1.0, "com": (0.1, 0, 0)}),
            (on.Free(), {"mass": 1.0}),
        ],
        ids=range(6),
    )
    def test_nothing_along_the_freedoms(self, joint, body) -> None:
        """A point mass on the axis has mass, but none that the joint must turn."""
        self._refused(
            self._tip(joint, **body), "joint 'wrist' meets no inertia along its freedoms .body 'tip' has mass 1"
        )

    @pytest.mark.parametrize(
        ("joint", "body"),
        [
            (on.Revolute((0, 0, 1)), {"mass": 1.0, "com": (0.1, 0, 0)}),
            (on.Revolute((0, 0, 1)), {"armature": 0.1}),
            (on.Prismatic(), {"mass": 1.0}),
            (on.Spherical(), {"mass": 1.0, "inertia": (1, 1, 1)}),
            (on.Spherical(), {"armature": 0.1}),
            (on.Free(), {"mass": 1e-3, "inertia": (1e-9, 1e-9, 1e-9)}),
            (on.Free(), {"mass": 1e6, "inertia": (1e-3, 1e-3, 1e-3)}),
        ],
        ids=range(7),
    )
    def test_enough(self, joint, body) -> None:
        robot = self._tip(joint, **body)
        q, v, _ = random_state(robot, 0)
        assert np.isfinite(robot.forward_dynamics(q, v, v)).all()

    def test_a_massless_body_that_carries_others(self) -> None:
        builder = on.Builder("arm").body("base").body("a", parent="base", joint=on.Revolute((1, 0, 0)))
        robot = builder.body("b", parent="a", joint=on.Revolute((0, 1, 0)), mass=1.0, inertia=(1, 2, 3)).build()
        q, v, a = random_state(robot, 0)
        assert_close(robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a)), a, ROUNDING)

    def test_the_source_is_to_blame(self) -> None:
        robot = dataclasses.replace(self._tip(on.Revolute()), source="arm.urdf")
        with pytest.raises(on.ModelError, match=r"^arm\.urdf: joint 'wrist'"):
            robot.require_inertia()


class TestCopies:
    def test_pickle(self) -> None:
        robot = random_robot(0)
        again = pickle.loads(pickle.dumps(robot))
        assert type(again) is on.Robot
        assert again == robot
        assert hash(again) == hash(robot)
        assert again.digest == robot.digest

    def test_use_does_not_weigh_on_a_pickle(self) -> None:
        robot = arm()
        before = pickle.dumps(robot)
        robot.forward_dynamics(robot.neutral(), np.zeros(5), np.zeros(5))
        assert robot.tables
        assert pickle.dumps(robot) == before

    @pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["shallow", "deep"])
    def test_copies_work_on_their_own(self, copied) -> None:
        robot = arm()
        q, v, a = random_state(robot, 0)
        wanted = robot.forward_dynamics(q, v, a)
        again = copied(robot)
        assert again == robot
        assert (again.forward_dynamics(q, v, a) == wanted).all()

    def test_a_model_becomes_a_robot(self) -> None:
        robot = arm()
        model = on.Model(**robot.__getstate__())
        assert on.Robot.of(model) == robot
        assert math.isclose(model.mass, 1.75)
