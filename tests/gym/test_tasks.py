"""Tasks of legged robots: Gymnasium knows and accepts them, and a trot earns what standing does not."""

from __future__ import annotations

import numpy as np
import pytest

import ordern as on
from ordern.errors import ArgumentError, UnknownNameError

pytestmark = [pytest.mark.needs("gymnasium"), pytest.mark.slow]
STAND = on.robots.positions("quadruped")["stand"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # positions and velocities have no limits
@pytest.mark.parametrize(("known", "size"), [("Ant", (26, 8)), ("Quadruped", (34, 12))])
def test_gymnasium_knows_and_accepts_them(known: str, size: tuple[int, int]) -> None:
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    import ordern.gym

    env = gymnasium.make(f"ordern/{known}-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert (env.observation_space.shape, env.action_space.shape) == tuple((n,) for n in size)
    several = gymnasium.make_vec(f"ordern/{known}-v0", num_envs=3, vectorization_mode="vector_entry_point", length=9)
    assert isinstance(several, ordern.gym.VectorEnv)
    one_by_one = gymnasium.vector.SyncVectorEnv([lambda: on.gym.task(known.lower(), length=9)] * 3)
    first, second = one_by_one.reset(seed=3)[0], several.reset(seed=3)[0]
    rng = np.random.default_rng(0)
    for _ in range(12):
        assert first.tobytes() == second.tobytes()
        actions = rng.uniform(-1.0, 1.0, (3, size[1])).astype(np.float32)
        (first, *_), (second, *_) = one_by_one.step(actions), several.step(actions)


@pytest.mark.parametrize("name", ["ant", "quadruped"])
def test_no_foot_begins_below_the_ground(name: str) -> None:
    env = on.gym.task(name, 500)
    env.reset(seed=0)
    assert env.world.robot.contact_points(env.world.q).gap.min() >= 0.0


@pytest.mark.parametrize(("name", "most"), [("ant", 0.06), ("quadruped", 0.001)])
def test_steps_are_certified_under_random_actions(name: str, most: float) -> None:
    env = on.gym.task(name, 64)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(60):
        *_, infos = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        world = env.world
        assert infos["uncertified"].shape == infos["_uncertified"].shape == (64,)
        given = {"contact_impulses": world._impulses}
        run = world.robot.rollout(world.q, world.v, steps=world.hold, dt=world.dt, **given)
        shares.append(run.uncertified[:, 1:].mean())
    assert np.mean(shares) < most


def test_an_environment_tells_steps_that_are_not_certified() -> None:
    env = on.gym.task("ant")
    env.reset(seed=0)
    *_, infos = env.step(np.zeros(8))
    assert infos == {"uncertified": False}
    both = [on.gym.task("quadruped", 3, length=4, autoreset=mode) for mode in ("next-step", "same-step")]
    for env in both:
        env.reset(seed=0)
        seen = [env.step(np.zeros((3, 12)))[4] for _ in range(6)]
        waits = [not x["_uncertified"].all() for x in seen]
        assert waits == [False] * 4 + [env is both[0], False]


def test_friction_differs_between_episodes() -> None:
    feet = {f"foot_{k}": on.distributions.uniform(0.3, 1.0) for k in range(1, 5)}
    env = on.gym.task("ant", 4, parameters={"contact_friction": feet})
    env.reset(seed=0)
    env.step(np.zeros((4, 8)))
    found = env.world.moving.variation.full()["contact_friction"]
    assert len(np.unique(found[:, :4])) == 16
    assert (found[:, 4:] == 1.0).all()  # the ball


def trot(k: int) -> np.ndarray:
    """Return the goals of a trot in the k-th control step, as actions: see examples/24_trot.py."""
    period, stance, link = 0.24, 0.55, 0.2
    phase = (0.02 * k / period + np.array([0.0, 0.5, 0.5, 0.0])) % 1.0
    stride = 1.3 * period * stance * min(0.02 * k, 1.0)
    s = np.maximum(phase - stance, 0.0) / (1.0 - stance)
    x = stride * np.where(phase < stance, 0.5 - phase / stance, s - 0.5 - np.sin(2 * np.pi * s) / (2 * np.pi))
    z = 0.03 * (1.0 - np.cos(2 * np.pi * s)) - STAND[6]
    knee = -2.0 * np.arccos(np.hypot(x, z) / (2.0 * link))
    found = np.zeros((4, 3))
    found[:, 1], found[:, 2] = np.arctan2(-x, -z) - knee / 2.0 - 0.7, knee + 1.4
    return found.ravel() / 0.5


def test_a_trot_earns_more_than_standing() -> None:
    env = on.gym.task("quadruped", 4)
    earned = []
    for walks in (False, True):
        env.reset(seed=0)
        actions = (np.tile(trot(k) * walks, (4, 1)).astype(np.float32) for k in range(150))
        steps = [env.step(a) for a in actions]
        assert not any(terminated.any() for _, _, terminated, _, _ in steps)
        earned.append(np.mean([rewards for _, rewards, *_ in steps[80:]]))
    assert earned[0] < 0.4
    assert earned[1] > 0.7


def test_goals_are_targets_of_springs() -> None:
    arm = on.load("double-pendulum")
    springs, reach = (np.array([50.0, 40.0]), 2.0, [0.1, 0.2]), np.array([0.5, 0.3])
    seen = []

    def reward(q, v, tau):
        seen.append(tau.copy())
        return np.zeros(len(q))

    given = {"reward": reward, "feedback": springs, "starts": {"q": np.array([0.3, -0.2])}, "dt": 1e-3, "hold": 7}
    env = on.gym.VectorEnv(arm, 2, goals=reach, dtype=np.float64, **given)
    env.reset(seed=0)
    actions = np.array([[1.0, -0.5], [-2.0, 0.0]])  # the third number is cut at -1
    found = env.step(actions)[0]
    target = np.array(springs[2]) + reach * np.clip(actions, -1.0, 1.0)
    start = np.tile([0.3, -0.2], (2, 1))
    run = arm.rollout(start, np.zeros((2, 2)), steps=7, feedback=(springs[0], np.full(2, 2.0), target))
    np.testing.assert_allclose(found, np.concatenate([run.q[:, -1], run.v[:, -1]], axis=1), rtol=1e-12)
    np.testing.assert_allclose(seen[-1], springs[0] * (target - run.q[:, -1]) - 2.0 * run.v[:, -1], rtol=1e-9)


def test_wrong_goals_and_names_are_told() -> None:
    arm, reward = on.load("double-pendulum"), lambda q, v, tau: q[:, 0]
    for more, words in (
        ({"goals": 0.5}, "need feedback"),
        ({"goals": 0.5, "scale": 1.0}, "exclude each other"),
        ({"goals": -1.0, "feedback": (1.0, 1.0, [0.0, 0.0])}, "above zero"),
        ({"goals": 1.0, "feedback": (1.0, 1.0, [0.0])}, "target of feedback"),
    ):
        with pytest.raises(ArgumentError, match=words):
            on.gym.VectorEnv(arm, 2, reward=reward, **more)
    with pytest.raises((ArgumentError, UnknownNameError), match="ant"):
        on.gym.task("and")
