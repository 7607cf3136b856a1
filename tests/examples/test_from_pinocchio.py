"""The examples for users of Pinocchio: Pinocchio, asked for the same, has the same numbers."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

import ordern as on
from tests.tolerances import PEER, assert_close

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "from_pinocchio"
ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]


def names_of(example: str) -> dict[str, Any]:
    """The variables of an example at its end."""
    return runpy.run_path(str(FOLDER / example))


def puma() -> tuple[Any, Any]:
    model = pin.buildModelFromUrdf(str(EXAMPLES / "robots/puma560.urdf"))
    return model, model.createData()


def test_every_example_is_tested() -> None:
    examples = {path.name for path in FOLDER.glob("*.py")}
    text = Path(__file__).read_text(encoding="utf-8")
    assert len(examples) == 5
    assert {name for name in examples if f'names_of("{name}")' not in text} == set()
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in FOLDER.glob("*.py")) < 60


def test_kinematics(capsys: pytest.CaptureFixture[str]) -> None:
    n, (model, data) = names_of("kinematics.py"), puma()
    pin.framesForwardKinematics(model, data, n["q"])
    ids = [model.getFrameId(name, pin.FrameType.BODY) for name in n["links"]]
    assert_close(n["poses"], [data.oMf[f].homogeneous for f in ids], PEER)
    J = [pin.computeFrameJacobian(model, data, n["q"], f, pin.LOCAL_WORLD_ALIGNED)[ANGULAR_FIRST] for f in ids]
    assert_close(n["jacobians"], J, PEER)
    assert "velocities are J v: True" in capsys.readouterr().out


def test_inverse_dynamics(capsys: pytest.CaptureFixture[str]) -> None:
    n, (model, data) = names_of("inverse_dynamics.py"), puma()
    q, v, a = n["q"], n["v"], n["a"]
    assert_close(n["tau"], pin.rnea(model, data, q, v, a), PEER)
    forces = pin.StdVec_Force()
    for _ in range(model.njoints):
        forces.append(pin.Force.Zero())
    flange = model.frames[model.getFrameId("flange", pin.FrameType.BODY)]
    push = np.array(n["push"])
    forces[flange.parentJoint] = flange.placement.act(pin.Force(push[3:], push[:3]))
    assert_close(n["pushed"], pin.rnea(model, data, q, v, a, forces), PEER)
    assert capsys.readouterr().out.count("True") == 2


def test_inverse_kinematics() -> None:
    n, (model, data) = names_of("inverse_kinematics.py"), puma()
    target, q = pin.SE3(n["target"]), n["start"].copy()
    frame = model.getFrameId("flange", pin.FrameType.BODY)
    for step in range(1000):  # noqa: B007
        pin.framesForwardKinematics(model, data, q)
        error = pin.log6(data.oMf[frame].actInv(target)).vector
        if np.linalg.norm(error) < 1e-4:
            break
        J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL)
        q = pin.integrate(model, q, 0.1 * J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), error))
    assert step == n["steps"] < 999
    assert_close(n["q"], q, PEER)
    assert n["info"].reached
    pin.framesForwardKinematics(model, data, n["found"])
    assert_close(data.oMf[frame].homogeneous, n["target"], 1e-8)  # within the tolerance of the search


def test_reduced_model(capsys: pytest.CaptureFixture[str]) -> None:
    n, (model, _) = names_of("reduced_model.py"), puma()
    at = pin.neutral(model)
    locked = []
    for name, angle in n["fixed"].items():
        joint = model.getJointId(name)
        at[model.joints[joint].idx_q] = angle
        locked.append(joint)
    reduced = pin.buildReducedModel(model, locked, at)
    theirs = pin.rnea(reduced, reduced.createData(), n["q"], np.ones(3), np.zeros(3))
    assert_close(n["torques"], theirs, PEER)
    assert capsys.readouterr().out.count("True") == 2


def test_static_contacts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    n = names_of("static_contacts.py")
    robot = n["robot"]
    file = tmp_path / "quadruped.urdf"
    file.write_text(robot.to_urdf(), encoding="utf-8")  # with a floating joint
    model = pin.buildModelFromUrdf(str(file))
    data, c = model.createData(), on.convert(robot, model)
    q, B = c.to_peer(n["q"]), c.velocity_matrix(n["q"])
    g = pin.computeGeneralizedGravity(model, data, q)
    ids = [model.getFrameId(foot) for foot in n["feet"]]
    J = np.concatenate([pin.computeFrameJacobian(model, data, q, f, pin.LOCAL_WORLD_ALIGNED)[:3] for f in ids])
    forces = np.linalg.lstsq(J[:, :6].T, g[:6], rcond=None)[0]
    assert_close(n["forces"].ravel(), forces, PEER)
    assert_close(n["tau"], B.T @ (g - J.T @ forces), PEER)
    assert "left for the trunk: True" in capsys.readouterr().out
