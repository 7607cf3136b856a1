"""The record of parameters: numbers, labels, vectors, and what other libraries call them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import ordern as on
from ordern.parameters.inertias import TO_PINOCCHIO
from tests.parameters.mechanism import build
from tests.random_models import random_robot, random_state
from tests.tolerances import EXACT, PEER, ROUNDING, assert_close


def test_numbers_are_those_of_the_model() -> None:
    robot = build()
    p = robot.parameters
    for k, body in enumerate(robot.bodies):
        m, c = body.mass, np.array(body.com)
        about = body.inertia_matrix + m * (c @ c * np.eye(3) - np.outer(c, c))
        wanted = [m, *(m * c), *np.diag(about), about[0, 1], about[0, 2], about[1, 2]]
        assert_close(p.inertia[k], wanted, EXACT)
    assert_close(p.com, [b.com for b in robot.bodies], EXACT)
    assert_close(p.central_inertia, [b.inertia for b in robot.bodies], ROUNDING)
    assert p.mass.tolist() == [b.mass for b in robot.bodies]
    assert p.armature.tolist() == [0.05, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3]
    assert (p.joint_friction[0], p.stiffness[0], p.rest[0]) == (0.2, 4.0, 0.1)
    assert (p.joint_numbers.tolist(), p.mimic_ratio.tolist(), p.mimic_offset.tolist()) == ([0.02], [-0.8], [0.05])
    assert p.gravity.tolist() == [0.3, -0.2, -9.7]
    assert p.added_inertia.shape == (5, 21) and on.load("puma560").parameters.added_inertia.shape == (0, 21)
    for frame, place in zip(robot.frames, p.frame_placement, strict=True):
        assert_close(on.rotations.exp(place[3:]), frame.placement.R, ROUNDING)
        assert_close(place[:3], frame.placement.p, EXACT)


def test_labels_name_every_number() -> None:
    robot = build()
    p = robot.parameters
    values = dict(zip(p.labels, p.flatten().tolist(), strict=True))
    assert len(values) == len(p.labels)
    assert values["a.mass"] == 2.0 and values["shoulder.armature"] == 0.05 and values["socket.armature[2]"] == 0.3
    assert values["screw.pitch"] == 0.02 and values["mirror.mimic_ratio"] == -0.8 and values["gravity.z"] == -9.7
    assert values["screw.placement.z"] == 0.5 and values["tool.frame.y"] == 0.1
    assert_close(values["ball.added[3,3]"], 0.1, EXACT)
    assert_close(values["a.xy"], 0.002 - 2.0 * 0.1 * 0.05, EXACT)
    assert p.labels_of("gravity") == ("gravity.x", "gravity.y", "gravity.z")


@pytest.mark.parametrize("seed", range(3))
def test_vectors_and_back(seed: int) -> None:
    p = random_robot(seed, 8, mimic=True, passive=True, armature=True).parameters
    assert p.unflatten(p.flatten()) == p
    theta = np.random.default_rng(seed).normal(size=(4, p.flatten("inertia", "gravity").size))
    found = p.unflatten(theta, "inertia", "gravity")
    assert found.shape == (4,) and found != p
    assert np.array_equal(found.flatten("inertia", "gravity"), theta)
    assert np.array_equal(found.damping, p.damping)
    assert found.flatten().shape == (4, len(p.labels))


def test_sets_of_parameters() -> None:
    p = build().parameters
    found = p.replace(inertia=p.inertia * np.ones((3, 1, 1, 1)), gravity=np.arange(6.0).reshape(2, 3))
    assert found.shape == (3, 2)
    one = found.at((2, 1))
    assert one.shape == () and one.gravity.tolist() == [3.0, 4.0, 5.0] and np.array_equal(one.inertia, p.inertia)
    assert "sets (3, 2)" in repr(found) and "0 … 3" in found._repr_html_() and "shoulder" in p._repr_html_()
    with pytest.raises(on.ArgumentError, match=r"there is no set \(3, 0\)"):
        found.at((3, 0))
    with pytest.raises(on.ArgumentError, match=r"index 2 does not fit .* \(3, 2\)"):
        found.at(2)


def test_a_record_does_not_change() -> None:
    p = build().parameters
    for again in (p, pickle.loads(pickle.dumps(p)), p.replace(gravity=np.zeros(3))):
        with pytest.raises(ValueError, match="read-only"):
            again.gravity[0] = 1.0
    assert pickle.loads(pickle.dumps(p)) == p
    assert p != p.replace(gravity=np.zeros(3)) and p != 3
    gravity = np.ones(3)
    found = p.replace(gravity=gravity)
    gravity[0] = 5.0
    assert found.gravity.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.replace(inertias=1.0), "unknown parameter 'inertias' .*Did you mean 'inertia'"),
        (lambda p: p.replace(inertia=np.zeros((5, 9))), r"parameter 'inertia' of 'all' has shape \(5, 9\); expected"),
        (
            lambda p: p.replace(inertia=np.zeros((2, 5, 10)), gravity=np.zeros((3, 3))),
            r"of inertia \(2,\), gravity \(3,\) do not fit together",
        ),
        (lambda p: p.unflatten(np.zeros(3)), "its last dimension must be"),
        (lambda p: p.flatten("mass"), "unknown parameter 'mass'.*part of the field 'inertia'"),
    ],
)
def test_wrong_arrays(change, message: str) -> None:
    with pytest.raises((on.ArgumentError, on.UnknownNameError), match=message):
        change(build().parameters)


@pytest.mark.slow
@pytest.mark.needs("pinocchio")
def test_pinocchio_has_the_same_ten_numbers(tmp_path) -> None:
    import pinocchio as pin

    robot = random_robot(3, 6, (on.Revolute, on.Prismatic, on.Fixed)).vary(gravity=(0, 0, -9.81), fold=True)
    path = tmp_path / "robot.urdf"
    robot.save(path)
    model = pin.buildModelFromUrdf(str(path))
    numbers = robot.parameters.to_pinocchio()
    for c, ten in zip(robot.joints, numbers, strict=True):
        assert_close(ten, model.inertias[model.getJointId(c.name)].toDynamicParameters(), ROUNDING)


@pytest.mark.slow
@pytest.mark.needs("pinocchio")
def test_regressors_are_those_of_pinocchio(tmp_path) -> None:
    """Derivatives by inertias, in Pinocchio's order of the ten numbers."""
    import pinocchio as pin

    robot = random_robot(3, 5, (on.Revolute, on.Prismatic), chain=True).vary(gravity=(0, 0, -9.81), fold=True)
    path = tmp_path / "robot.urdf"
    robot.save(path)
    model = pin.buildModelFromUrdf(str(path))
    assert [c.name for c in robot.joints] == list(model.names)[1:]
    q, v, a = random_state(robot, 0)
    Y = robot.derivatives.inverse_dynamics(q, v, a, wrt="inertia").inertia
    wanted = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a)
    assert_close(Y[..., list(TO_PINOCCHIO)].reshape(robot.nv, -1), wanted, PEER)
