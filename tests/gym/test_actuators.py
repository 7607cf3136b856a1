"""Actions are the actuators of a file: its order, the signs of its gears, its ranges; against MuJoCo itself."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on

pytestmark = pytest.mark.needs("gymnasium")
LINK = '<body name="{0}" pos="0 0 -0.3"><joint name="{0}" axis="0 1 0"/><geom size="0.05" pos="0 0 -0.3" mass="1"/>'
FILE = f"""
<mujoco><worldbody>{"".join(LINK.format(x) for x in "abc")}</body></body></body></worldbody>
  <tendon><fixed name="t"><joint joint="b" coef="0.5"/><joint joint="c" coef="-2"/></fixed></tendon>
  <actuator>{{}}</actuator></mujoco>"""
MOTORS = """
  <motor name="c" joint="c" gear="-30" ctrlrange="-0.5 0.5"/>
  <motor name="a" joint="a" gear="20" ctrlrange="0 1" forcerange="-0.8 0.8"/>
  <motor name="b" joint="b" gear="2" ctrlrange="-1 3"/>
  <motor name="t" tendon="t" gear="3" ctrlrange="-1 1"/>"""


def env_of(robot: on.Robot, count: int, **more):
    """Return an environment, and a list of the joint forces of its control steps."""
    pushed: list[np.ndarray] = []

    def reward(q, v, tau):
        pushed.append(tau.copy())
        return np.zeros(len(q))

    made = on.gym.VectorEnv(robot, count, reward=reward, dtype=np.float64, **{"dt": 1e-3, "hold": 2, **more})
    made.reset(seed=0)
    return made, pushed


@pytest.mark.needs("mujoco")
def test_actions_push_as_the_controls_of_mujoco():
    import mujoco

    text = FILE.format(MOTORS)
    env, pushed = env_of(on.load(text), 16)
    largest = np.array([0.5, 0.8, 3.0, 1.0])  # controls at action 1
    assert env.single_action_space.low.tolist() == [-1.0, 0.0, -1.0, -1.0]
    actions = np.random.default_rng(0).uniform(-1.2, 1.2, (16, 4))
    env.step(actions)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for action, tau in zip(actions, pushed[0], strict=True):
        data.ctrl[:] = np.clip(action, -1.0, 1.0) * largest
        mujoco.mj_forward(model, data)
        assert tau == pytest.approx(data.qfrc_actuator, abs=1e-12)


def test_a_scale_keeps_order_signs_and_ranges():
    robot = on.load(FILE.format(MOTORS)).with_actuated(["a", "b"])
    env, pushed = env_of(robot, 2, scale=[4.0, 5.0, 4.0])  # N m at action 1: a, b, then the tendon at joint c
    env.step(np.array([[1.0, 1.0, 0.5], [-1.0, -1.0, 0.0]]))
    assert pushed[0] == pytest.approx(np.array([[4.0, 5.5, -2.0], [0.0, -2.0, 0.0]]))


@pytest.mark.parametrize("contacts", [False, True])
@pytest.mark.parametrize("hold", [3, 1])
def test_goals_with_as_many_environments_as_steps(hold: int, contacts: bool):
    servos = '<position name="c" joint="c" gear="-2" ctrlrange="-0.4 0.6"/><position name="a" joint="a"/>'
    robot = on.load(FILE.format(servos))
    robot = robot.with_contacts(on.Ground(height=-9.0), bodies=["a"]) if contacts else robot
    rest, gains = np.array([0.1, 0.2, 0.0]), (np.array([9.0, 0.0, 9.0]), np.array([1.0, 0.0, 1.0]))
    env, pushed = env_of(robot, 3, goals=1.0, hold=hold, feedback=(*gains, rest))
    q, v = env.world.q.copy(), env.world.v.copy()
    env.step(np.array([[0.1, 0.3], [1.0, 0.0], [-1.0, -0.2]]))
    target = rest + np.array([[0.3, 0.0, -0.1], [0.0, 0.0, -0.3], [-0.2, 0.0, 0.2]])  # of c within -0.3 ... 0.2
    for k in range(3):
        one = robot.rollout(q[k], v[k], steps=hold, dt=1e-3, feedback=(*gains, target[k]))
        assert env.world.q[k] == pytest.approx(one.q[-1], abs=1e-12)
    assert pushed[0].shape == (3, 3)


def test_actuators_that_actions_cannot_push_are_named():
    for actuator, message in (
        ('<general name="thrust" site="s"/>', "actuator 'thrust' .*acts on site 's'.*give `forces`"),
        ('<damper name="brake" joint="a" kv="1" ctrlrange="0 1"/>', "actuator 'brake' .*kind 'damper'"),
        ('<motor name="free" joint="a"/>', "actuator 'free' has no effort limit.*give `scale`"),
    ):
        robot = on.load(FILE.format(actuator).replace('<geom size="0.05"', '<site name="s"/><geom size="0.05"', 1))
        with pytest.raises(on.ArgumentError, match=message):
            env_of(robot.with_actuated(["a"]), 1)


def test_actuators_of_one_joint_keep_its_effort_limit_together():
    text = """<mujoco><compiler autolimits="true"/><worldbody><body>
      <joint name="h" axis="0 0 1" actuatorfrcrange="-10 10"/><geom type="box" size=".1 .1 .1" mass="1"/>
      </body></worldbody>
      <actuator><motor joint="h" ctrlrange="-10 10"/><motor joint="h" ctrlrange="-10 10"/></actuator></mujoco>"""
    env, pushed = env_of(on.load(text), 1)
    env.step(np.ones((1, 2)))
    assert pushed[-1].item() == 10.0
