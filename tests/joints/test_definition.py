"""Defining a joint: what the base class asks for, and what a user's own joint gets for it."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import ordern as on
from ordern.spatial import Columns, Freedoms, Identity, Motion, Subspace, Transform, Units
from tests.compile.asking import CORE
from tests.joints.custom import Cylindrical, Helical, Universal, turned_about_z
from tests.random_models import ALL_JOINTS, CUSTOM_JOINTS, random_robot, random_state
from tests.tolerances import HUNG, ROUNDING, assert_close

QUESTIONS = {
    "inverse_dynamics": "qva",
    "forward_dynamics": "qva",
    "mass_matrix": "q",
    "bias_force": "qv",
    "gravity_force": "q",
    "passive_force": "qvt",
    "kinetic_energy": "qv",
    "potential_energy": "q",
    "pose": "q",
    "velocity": "qv",
    "acceleration": "qva",
    "jacobian": "q",
    "difference": "qp",
    "integrate": "qvt",
}
OPTIONS = {
    "pose": {"frame": "tool"},
    "velocity": {"frame": "tool", "axes": "world"},
    "acceleration": {"frame": "tool", "axes": "frame", "kind": "classical"},
    "jacobian": {"frame": "tool", "axes": "frame"},
}


class TestBaseClass:
    @pytest.mark.parametrize("missing", ["nq", "nv"])
    def test_the_numbers_of_coordinates_must_be_set(self, missing) -> None:
        present = {"nq": 1, "nv": 1}
        del present[missing]
        with pytest.raises(TypeError, match=f"joint class Half must set the class attribute {missing}"):
            type("Half", (on.Joint,), present)

    def test_they_must_be_whole_numbers(self) -> None:
        with pytest.raises(TypeError, match="must set the class attribute nq"):
            type("Odd", (on.Joint,), {"nq": "one", "nv": 1})

    def test_formulas_must_be_given(self) -> None:
        cls = type("Bare", (on.Joint,), {"nq": 1, "nv": 1})
        with pytest.raises(TypeError, match="abstract"):
            cls()

    def test_what_need_not_be_given(self) -> None:
        joint = Cylindrical()
        assert joint.neutral() == (0.0, 0.0)
        assert joint.integrate(Freedoms((1.0, 2.0)), Freedoms((0.5, 0.25))) == (1.5, 2.25)
        assert joint.difference(Freedoms((1.0, 2.0)), Freedoms((1.5, 2.25))) == (0.5, 0.25)
        assert (joint.working_frame() == np.eye(3)).all()
        assert joint.parameters == ()
        assert joint.with_parameters(()) is joint
        assert joint.kind is Cylindrical

    def test_parameters(self) -> None:
        joint = Helical((1, 0, 0), 0.3)
        assert joint.parameters == (0.3,)
        assert joint.with_parameters((0.5,)) == Helical((1, 0, 0), 0.5)
        assert joint.kind == Helical((0, 1, 0), 0.5).kind


def _two_steps(first: on.Joint, second: on.Joint, name: str) -> on.Builder:
    """The arm below, with two joints and a body without mass in the place of one joint."""
    b = on.Builder(name).body("base")
    b.body("shoulder", parent="base", joint=on.Revolute((1, 2, 3)), at=((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), **_MASS)
    b.body("between", parent="shoulder", joint=first, at=_AT)
    b.body("arm", parent="between", joint=second, **_MASS)
    return _hand(b)


def _one_step(joint: on.Joint, name: str) -> on.Builder:
    b = on.Builder(name).body("base")
    b.body("shoulder", parent="base", joint=on.Revolute((1, 2, 3)), at=((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), **_MASS)
    b.body("arm", parent="shoulder", joint=joint, at=_AT, **_MASS)
    return _hand(b)


def _hand(b: on.Builder) -> on.Builder:
    b.body("hand", parent="arm", joint=on.Revolute((0, 1, 0)), at=(0.3, 0.0, 0.1), **_MASS)
    b.frame("tool", "hand", at=((0.0, 0.1, 0.2), (0.4, 0.5, 0.6)))
    return b


_AT = ((0.2, -0.1, 0.4), (0.7, -0.4, 0.2))
_MASS = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": (0.2, 0.3, 0.25, 0.01, -0.02, 0.03)}


def _same(one: on.Robot, two: on.Robot) -> None:
    """Everything that can be asked of two robots; that compiled code gives the same is tested below."""
    q, v, a = random_state(one, 0, (20,))
    known = {"q": q, "v": v, "a": a, "p": q[::-1], "t": np.full(20, 0.3)}
    for question, letters in QUESTIONS.items():
        arguments, options = [known[letter] for letter in letters], OPTIONS.get(question, {})
        found, wanted = (r.kernel(question, way="interpreted", **options)(*arguments) for r in (one, two))
        assert_close(found, wanted, ROUNDING)


class TestAgainstJointsOfTheLibrary:
    def test_universal_is_two_revolutes(self) -> None:
        pair = _two_steps(on.Revolute((1, 0, 0)), on.Revolute((0, 1, 0)), "two").build()
        _same(_one_step(Universal(), "one").build(), pair)

    def test_cylindrical_is_a_revolute_and_a_prismatic(self) -> None:
        pair = _two_steps(on.Revolute((0, 0, 1)), on.Prismatic((0, 0, 1)), "two").build()
        _same(_one_step(Cylindrical(), "one").build(), pair)

    @pytest.mark.slow
    def test_helical_is_a_constrained_cylinder(self) -> None:
        """With q = B s and a constant B, forces are B^T tau and the mass matrix B^T M B."""
        pitch, axis = 0.37, (2.0, -1.0, 0.5)
        screw = _one_step(Helical(axis, pitch), "screw").build()
        pair = _two_steps(on.Revolute(axis), on.Prismatic(axis), "pair").build()
        B = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, pitch, 0], [0, 0, 1.0]])
        q, v, a = random_state(screw, 1, (20,))
        tau = pair.inverse_dynamics(q @ B.T, v @ B.T, a @ B.T)
        assert_close(screw.inverse_dynamics(q, v, a), tau @ B, ROUNDING)
        assert_close(screw.forward_dynamics(q, v, tau @ B), a, ROUNDING)
        M = pair.kernel("mass_matrix", way="interpreted")
        J = pair.kernel("jacobian", way="interpreted", **OPTIONS["jacobian"])
        assert_close(screw.mass_matrix(q), B.T @ M(q @ B.T) @ B, ROUNDING)
        assert_close(screw.jacobian(q, "tool"), J(q @ B.T) @ B, ROUNDING)

    def test_a_screw_without_pitch_is_a_revolute(self) -> None:
        _same(_one_step(Helical((1, 1, 0), 0.0), "one").build(), _one_step(on.Revolute((1, 1, 0)), "two").build())


@pytest.fixture(scope="module")
def zoo() -> on.Robot:
    """Every custom joint twice, with different parameters, and some joints of the library."""
    return random_robot(7, n=8, joints=(*CUSTOM_JOINTS, on.Spherical), armature=True)


class TestEveryWayOfRunning:
    @pytest.mark.slow
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_custom_joints(self, zoo, question) -> None:
        q, v, a = random_state(zoo, 0, (5,))
        known = {"q": q, "v": v, "a": a, "p": random_state(zoo, 1, (5,))[0], "t": np.full(5, 0.3)}
        arguments = [known[letter] for letter in QUESTIONS[question]]
        options = OPTIONS.get(question, {})
        oracle = zoo.kernel(question, way="interpreted", **options)(*arguments)
        for way in ("unrolled", "rolled"):
            assert_close(zoo.kernel(question, way=way, **options)(*arguments), oracle, ROUNDING)

    def test_every_question_is_asked(self) -> None:
        assert set(QUESTIONS) == CORE


class TestInARobot:
    @pytest.mark.parametrize("type", ALL_JOINTS, ids=lambda t: t.__name__)
    def test_summary_names_it(self, type) -> None:
        robot = random_robot(0, n=1, joints=(type,), merge=False)
        assert f"({type.__name__.lower()}, v[" in robot.summary()

    def test_a_parameter_counts_for_equality(self) -> None:
        def robot(pitch: float) -> on.Robot:
            return _one_step(Helical((0, 0, 1), pitch), "screw").build()

        assert robot(0.1) == robot(0.1)
        assert robot(0.1) != robot(0.2)
        assert robot(0.1).digest != robot(0.2).digest

    def test_fields_that_are_no_parameters_are_not_lost(self) -> None:
        """Two joints of one class that differ in more than axis and parameters are not the same joint."""
        b = on.Builder("gears").body("base")
        b.body("a", parent="base", joint=Geared(2.0), **_MASS)
        b.body("b", parent="a", joint=Geared(5.0), **_MASS)
        robot = b.build()
        assert_close(robot.pose([0.1, 0.0], "b")[:2, :2], _turned(0.2), ROUNDING)
        assert_close(robot.pose([0.0, 0.1], "b")[:2, :2], _turned(0.5), ROUNDING)
        other = on.Builder("gears").body("base").body("a", parent="base", joint=Geared(3.0), **_MASS).build()
        same = on.Builder("gears").body("base").body("a", parent="base", joint=Geared(2.0), **_MASS).build()
        assert other.digest != same.digest, "the cache would mix them up"

    def test_a_class_typed_at_a_prompt(self) -> None:
        """Its text cannot be read again, so its code is not kept on disk; but it works."""
        space: dict[str, object] = {"__name__": "prompt"}
        exec(compile(PROMPT, "<prompt>", "exec"), space)
        assert "<prompt>" not in linecache.cache
        b = on.Builder("typed").body("base")
        robot = b.body("a", parent="base", joint=space["Slide"](), **_MASS).build()
        assert_close(robot.mass_matrix([0.3]), [[1.5]], ROUNDING)


class TestCache:
    """Code is kept on disk for as long as the text it came from does not change."""

    def _mass(self, folder: Path) -> float:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in [str(folder), *sys.path] if p)}
        environment["ORDERN_CACHE_DIR"] = str(folder / "cache")
        command = [sys.executable, "-B", "-c", "import user_robot"]
        done = subprocess.run(command, env=environment, capture_output=True, timeout=HUNG, check=False, cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
        return float(done.stdout)

    @pytest.mark.slow
    @pytest.mark.parametrize("changed", ["user_joint", "user_constants"])
    def test_a_change_in_a_users_module_is_noticed(self, tmp_path, changed) -> None:
        """In the module of the joint, or in one that it takes its numbers from."""
        texts = {"user_joint": USER_JOINT, "user_constants": "RATIO = 2.0\n", "user_robot": USER_ROBOT}
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
        assert self._mass(tmp_path) == 4.0
        assert self._mass(tmp_path) == 4.0
        path = tmp_path / f"{changed}.py"
        path.write_text(path.read_text().replace("RATIO = 2.0", "RATIO = 3.0").replace("SIGN = 1.0", "SIGN = 1.5"))
        assert self._mass(tmp_path) == 9.0


USER_JOINT = """
from dataclasses import dataclass
import ordern as on
from ordern.spatial import Columns, Identity, Motion, Transform
from user_constants import RATIO

SIGN = 1.0

@dataclass(frozen=True)
class Geared(on.Joint):
    nq = 1
    nv = 1
    def transform(self, q):
        return Transform(Identity(), (0.0, 0.0, SIGN * RATIO * q[0]))
    def subspace(self, q):
        return Columns((Motion((0.0, 0.0, 0.0), (0.0, 0.0, SIGN * RATIO)),))
"""

USER_ROBOT = """
import ordern as on
from user_joint import Geared

robot = on.Builder("user").body("base").body("a", parent="base", joint=Geared(), mass=1.0).build()
print(robot.mass_matrix([0.1])[0, 0])
"""

PROMPT = """
from dataclasses import dataclass
import ordern as on
from ordern.spatial import Identity, Transform, Units

@dataclass(frozen=True)
class Slide(on.Joint):
    nq = 1
    nv = 1
    def transform(self, q):
        return Transform(Identity(), (q[0], 0.0, 0.0))
    def subspace(self, q):
        return Units((3,))
"""


def _turned(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@dataclass(frozen=True)
class Geared(on.Joint):
    """As short as a user may write it: a number in the formulas, and nothing said of parameters or kinds."""

    ratio: float = 1.0
    label: str = field(default="", compare=False)

    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def transform(self, q: Freedoms) -> Transform:
        return Transform(turned_about_z(q[0] * self.ratio), (0.0, 0.0, 0.0))

    def subspace(self, q: Freedoms) -> Subspace:
        return Columns((Motion((0.0, 0.0, self.ratio), (0.0, 0.0, 0.0)),))


def test_fixed_has_no_freedom() -> None:
    joint = on.Fixed()
    assert joint.subspace(Freedoms()) == Units(())
    assert joint.transform(Freedoms()) == Transform(Identity(), (0.0, 0.0, 0.0))
    assert joint.integrate(Freedoms(), Freedoms()) == joint.difference(Freedoms(), Freedoms()) == ()
