"""Environments: they pass the checks of Gymnasium, and a batch is the same as its members one by one."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on

pytestmark = pytest.mark.needs("gymnasium")
d = on.distributions


def arguments(**more):
    return {
        "reward": lambda q, v, tau: np.cos(q[:, 0]) - 0.01 * (tau**2).sum(-1),
        "terminated": lambda q, v: np.abs(q[:, 0]) > 1.5,
        "starts": {"q": d.uniform(-1.0, 1.0), "v": d.normal(0.0, 0.1)},
        "scale": 3.0,
        "length": 12,
        "hold": 5,
        "dt": 5e-3,
        **more,
    }


@pytest.mark.filterwarnings("ignore::UserWarning")  # positions have no limits
def test_gymnasium_accepts_an_environment():
    from gymnasium.utils.env_checker import check_env

    check_env(on.gym.Env(on.load("double-pendulum"), **arguments()), skip_render_check=True)


@pytest.mark.parametrize("autoreset", ["next-step", "same-step"])
@pytest.mark.parametrize("varied", [False, True])
def test_a_batch_equals_its_members(autoreset, varied):
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    robot = on.load("double-pendulum")
    link = robot.bodies[-1].name
    more = {"parameters": {"mass": {link: d.uniform(0.5, 2.0)}}} if varied else {}
    mode = AutoresetMode.NEXT_STEP if autoreset == "next-step" else AutoresetMode.SAME_STEP
    one_by_one = SyncVectorEnv([lambda: on.gym.Env(robot, **arguments(**more))] * 5, autoreset_mode=mode)
    batch = on.gym.VectorEnv(robot, 5, autoreset=autoreset, **arguments(**more))
    a, b = one_by_one.reset(seed=7)[0], batch.reset(seed=7)[0]
    assert a.tobytes() == b.tobytes()
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(40):
        actions = rng.uniform(-1.0, 1.0, (5, 2)).astype(np.float32)
        first, second = one_by_one.step(actions), batch.step(actions)
        for x, y in zip(first[:4], second[:4], strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).astype(np.asarray(x).dtype).tobytes()
        over = second[2] | second[3]
        ends += int(over.sum())
        if autoreset == "same-step" and over.any():
            assert (first[4]["_final_obs"] == second[4]["_final_obs"]).all()
            for k in np.flatnonzero(over):
                assert (first[4]["final_obs"][k] == second[4]["final_obs"][k]).all()
    assert ends > 5


def test_some_environments_begin_anew():
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    robot = on.load("double-pendulum")
    link = robot.bodies[-1]
    varied = {"mass": {link.name: d.uniform(0.5, 2.0)}, "com": {link.name: d.normal(link.com, 0.02)}}
    more = arguments(parameters={**varied, "gravity": (0.0, 0.5, -5.0)})
    one_by_one = SyncVectorEnv([lambda: on.gym.Env(robot, **more)] * 5, autoreset_mode=AutoresetMode.DISABLED)
    batch = on.gym.VectorEnv(robot, 5, autoreset="disabled", **more)
    assert one_by_one.reset(seed=3)[0].tobytes() == batch.reset(seed=3)[0].tobytes()
    rng, resets = np.random.default_rng(0), 0
    for _ in range(60):
        actions = rng.uniform(-1.0, 1.0, (5, 2)).astype(np.float32)
        first, second = one_by_one.step(actions), batch.step(actions)
        for x, y in zip(first[:4], second[:4], strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).astype(np.asarray(x).dtype).tobytes()
        over = second[2] | second[3]
        if over.any():
            resets += int(over.sum())
            seed = resets if resets % 3 == 0 else [None, resets, None, None, 1] if resets % 3 == 1 else None
            a, b = (x.reset(seed=seed, options={"reset_mask": over.copy()})[0] for x in (one_by_one, batch))
            assert a.tobytes() == b.tobytes()
    assert resets > 10  # more episodes than are drawn at once
    with pytest.raises(on.ArgumentError, match=r"environment \d has ended"):
        while True:
            batch.step(np.zeros((5, 2)))


def test_seeds_and_episodes():
    env = on.gym.VectorEnv(on.load("double-pendulum"), 3, **arguments())
    first, _ = env.reset(seed=1)
    other, _ = env.reset()
    again, _ = env.reset(seed=1)
    assert (first == again).all()
    assert not (first == other).any()
    shifted, _ = env.reset(seed=[2, 3, 9])
    assert (shifted[:2] == first[1:]).all()


@pytest.mark.needs("stable_baselines3")
def test_stable_baselines3_takes_environments():
    from stable_baselines3.common.vec_env import VecMonitor

    robot = on.load("double-pendulum")
    plain = on.gym.VectorEnv(robot, 4, autoreset="same-step", **arguments())
    env = VecMonitor(on.gym.stable_baselines3(on.gym.VectorEnv(robot, 4, autoreset="same-step", **arguments())))
    env.seed(7)
    assert (env.reset() == plain.reset(seed=7)[0]).all()
    rng, ends = np.random.default_rng(0), 0
    for _ in range(40):
        actions = rng.uniform(-1.0, 1.0, (4, 2)).astype(np.float32)
        seen, rewards, over, notes = env.step(actions)
        expected = plain.step(actions)
        assert (seen == expected[0]).all() and (rewards == expected[1].astype(np.float32)).all()
        assert (over == (expected[2] | expected[3])).all()
        for k in np.flatnonzero(over):
            ends += 1
            assert (notes[k]["terminal_observation"] == expected[4]["final_obs"][k]).all()
            assert notes[k]["TimeLimit.truncated"] == expected[3][k] and "episode" in notes[k]
    assert ends > 5
    with pytest.raises(AttributeError, match="nonsense"):
        env.get_attr("nonsense")
    with pytest.raises(on.ArgumentError, match="same-step"):
        on.gym.stable_baselines3(on.gym.VectorEnv(robot, 4, **arguments()))
    with pytest.raises(on.ArgumentError, match="an Env needs no adapter"):
        on.gym.stable_baselines3(on.gym.Env(robot, **arguments()))


def test_motors_limits_and_forces():
    arm = on.load("puma560")
    pushed = []

    def reward(q, v, tau):
        pushed.append(tau)
        return np.zeros(len(q))

    env = on.gym.VectorEnv(arm, 2, reward=reward, scale=[1, 2, 3, 4, 5, 6])
    env.reset(seed=0)
    env.step(np.array([[0.5] * 6, [2.0] * 6]))
    assert (pushed[-1] == [[0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [1, 2, 3, 4, 5, 6]]).all()
    env = on.gym.VectorEnv(arm, 2, reward=reward, forces=lambda q, v, a: arm.gravity_force(q) + a)
    env.reset(seed=0)
    env.step(np.zeros((2, 6)))
    assert np.abs(pushed[-1] - arm.gravity_force(np.zeros((2, 6)))).max() < 1e-12


def test_states_that_become_infinite_end():
    env = on.gym.VectorEnv(
        on.load("double-pendulum"),
        2,
        reward=lambda q, v, tau: v[:, 0],
        forces=lambda q, v, a: 1e300 * a,
        hold=100,
        dt=1.0,
    )
    env.reset(seed=0)
    seen, rewards, ended, _, _ = env.step(np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert ended.tolist() == [True, False]
    assert np.isfinite(seen).all() and rewards[0] == 0.0


def steps_of(robot, **more):
    env = on.gym.VectorEnv(robot, 4, **arguments(**more))
    env.reset(seed=0)
    env.step(np.ones((4, 2)))


def test_wrong_arguments_are_named():
    robot = on.load("double-pendulum")
    for given, message in (
        ({"scale": -1.0}, "`scale` must be above zero"),
        ({"scale": None}, "has no effort limit"),
        ({"hold": 0}, "`hold`"),
        ({"reward": 3}, "`reward` must be a function"),
        ({"autoreset": "never"}, "autoreset"),
        ({"starts": (np.zeros((4, 2)), 0.0)}, "must be one value or a distribution"),
        ({"observation": lambda q, v: q[:, 0]}, "`observation` returned"),
        ({"parameters": {"mas": {}}}, "Did you mean 'mass'"),
        ({"parameters": {"mass": {"lowr": d.uniform(1.0, 2.0)}}}, "Did you mean 'lower'"),
        ({"starts": {"q": d.uniform([-1.0] * 3, [1.0] * 3)}}, "do not fit a quantity"),
        ({"lenght": 5}, "Did you mean 'length'"),
        ({"render_mode": "human"}, "draw no pictures"),
        ({"every": 2}, "gives itself; use `hold`"),
        ({"noise": {"tau": 0.1}}, "use noise in `observation` or `forces`"),
        ({"events": on.Event(lambda t, q, v: q[0])}, "use `terminated`"),
        ({"dtype": int}, "`dtype` must be a type of real numbers"),
        ({"observation": lambda q, v: q + 1j}, "`observation` returned complex128"),
        ({"parameters": [1.0]}, "`parameters` must be a dictionary"),
        ({"reward": lambda q, v: q[:, 0]}, r"is called with \(q, v, tau\), but takes \(q, v\)"),
    ):
        with pytest.raises(on.OrdernError, match=message):
            on.gym.VectorEnv(robot, 4, **arguments() | given)
    with pytest.raises(on.ArgumentError, match="sets of parameters"):
        on.gym.VectorEnv(robot.vary(gravity=np.zeros((4, 3))), 4, **arguments())
    for bad, message in (
        ({"terminated": lambda q, v: q[:, 0]}, "give True or False"),
        ({"reward": lambda q, v, tau: np.array(["a"] * 4)}, "give a number"),
        ({"reward": lambda q, v, tau: np.where(np.arange(4) == 2, np.nan, 0.0)}, "nan for environment 2"),
        ({"forces": lambda q, v, a: q[:, 0]}, r"`forces` returned float64 \(4,\)"),
    ):
        env = on.gym.VectorEnv(robot, 4, **arguments(**bad))
        env.reset(seed=0)
        with pytest.raises(on.ArgumentError, match=message):
            env.step(np.zeros((4, 2)))
    with pytest.raises(on.ArgumentError, match=r"reset_mask has bool \(1,\)"):
        env.reset(options={"reset_mask": [True]})
    with pytest.raises(on.ArgumentError, match=r"`observation` returned an array of shape \(4, 2\); give \(4, 4\)"):
        steps_of(robot, observation=lambda q, v: q if v.any() else np.concatenate([q, v], axis=-1))
    with pytest.raises(on.ArgumentError, match="`observation` returned nan in column 1 for environment 2"):
        steps_of(robot, observation=lambda q, v: np.where(np.indices(q.shape).sum(0) == 3, np.nan, q))
    with pytest.raises(on.ArgumentError, match="an Env has no `autoreset`"):
        on.gym.Env(robot, **arguments(autoreset="same-step"))
    env = on.gym.VectorEnv(robot, 4, **arguments(reward=lambda q, v, tau: 0.0))
    for seed in (-1, 1.5, "a", [0, 1, 2, -3], [0, 1, 2, "a"]):
        with pytest.raises(on.ArgumentError, match="whole number"):
            env.reset(seed=seed)
    with pytest.raises(on.ArgumentError, match="the first reset begins all"):
        env.reset(seed=0, options={"reset_mask": np.arange(4) < 2})
    with pytest.raises(on.UnknownNameError, match="Did you mean 'reset_mask'"):
        env.reset(options={"mask": np.ones(4, bool)})
    with pytest.raises(on.ArgumentError, match="before step"):
        env.step(np.zeros((4, 2)))
    env.reset(seed=0)
    with pytest.raises(on.ArgumentError, match=r"actions have shape \(4,\)"):
        env.step(np.zeros(4))
    with pytest.raises(on.ArgumentError, match="actions must be finite; entry 0, 0 is nan"):
        env.step(np.full((4, 2), np.nan))
    with pytest.raises(on.ArgumentError, match=r"`reward` returned an array of shape \(\)"):
        env.step(np.zeros((4, 2)))
    one = on.gym.Env(robot, **arguments())
    one.reset(seed=0)
    with pytest.raises(on.ArgumentError, match=r"the action has shape \(3,\); give \(2,\)"):
        one.step(np.zeros(3))
