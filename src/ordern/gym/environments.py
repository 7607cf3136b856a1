"""Environments of Gymnasium: one robot (`Env`), or thousands in one batch (`VectorEnv`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ..arguments import AnyArray, choice, finite, real, whole_number
from ..errors import ArgumentError, unknown_name
from .world import World

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["Env", "VectorEnv"]

_MODES = {
    "next-step": AutoresetMode.NEXT_STEP,
    "same-step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many copies of a robot in one batch, each in an episode of its own.

    `reward(q, v, tau)`, `terminated(q, v)` and `observation(q, v)` are functions of batched states that return a row
    for each environment; by default, all positions and velocities are observed, and episodes end after `length` control
    steps. A control step is `hold` steps of `dt` seconds by `robot.rollout`, in machine code, whose other settings are
    passed on.

    Actions are between -1 and 1, one for each motor, times `scale`: the effort limits of the joints unless given. For a
    robot of an MJCF file they are its actuators, in the order of the file, with the signs of their gears and within
    their ranges. Or `forces(q, v, actions)` returns joint forces of shape (num_envs, nv). Or actions move the positions
    to which the springs of `feedback=(kp, kd, target)` pull: by `goals` rad or m at action 1, a number or one for each
    motor. Springs and dampers act in each step, implicitly.

    `starts` and `parameters` are as for `on.Ensemble`, and are drawn anew for each episode. An environment whose state
    becomes infinite is terminated. Of robots with contacts, `infos["uncertified"]` is True where a step cannot be
    relied on: see `Rollout.uncertified`.

    Environment k has the seed `seed + k`, as in Gymnasium's own vector environments, so that `VectorEnv` equals a
    `SyncVectorEnv` of `Env`, bit for bit. `autoreset` is "next-step", "same-step" or "disabled". Observations have the
    type `dtype`.
    """

    def __init__(
        self,
        robot: Robot,
        num_envs: Any,
        *,
        reward: Callable[..., Any],
        observation: Callable[..., Any] | None = None,
        terminated: Callable[..., Any] | None = None,
        starts: Any = None,
        parameters: Mapping[str, Any] | None = None,
        forces: Callable[..., Any] | None = None,
        scale: Any = None,
        goals: Any = None,
        dt: float = 1e-3,
        hold: int = 10,
        length: int = 1000,
        autoreset: str = "next-step",
        dtype: Any = np.float32,
        **settings: Any,
    ) -> None:
        self.autoreset_mode = _MODES[choice("autoreset", autoreset, _MODES, "gym")]
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": []}
        self.num_envs = whole_number(num_envs, "gym: `num_envs`", 1)
        self.world = World(
            robot, self.num_envs, reward=reward, observation=observation, terminated=terminated, starts=starts,
            parameters=parameters, forces=forces, scale=scale, goals=goals, dt=dt, hold=hold, length=length,
            dtype=dtype, settings=settings,
        )  # fmt: skip
        self.single_observation_space, self.single_action_space = _spaces(self.world)
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, self.num_envs)
        self.action_space = batch(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, bool)
        self._seeded = False

    def reset(self, *, seed: Any = None, options: Mapping[str, Any] | None = None) -> tuple[AnyArray, dict[str, Any]]:
        """Begin an episode in every environment; in those of the mask `options["reset_mask"]` if it is given.

        `seed` is a whole number, or a list with one for each environment; without it, or where it is None, episodes go
        on with new numbers. Environments outside the mask keep theirs.
        """
        seeds = _seeds(seed, self.num_envs)
        super().reset(seed=seeds[0] if isinstance(seed, (int, np.integer)) else None)
        which = np.ones(self.num_envs, bool)
        _require_options(options, "reset_mask")
        if options is not None and "reset_mask" in options:
            which = np.asarray(options["reset_mask"])
            if which.shape != (self.num_envs,) or which.dtype != bool:
                raise ArgumentError(
                    f"gym: the reset_mask has {which.dtype} {which.shape}; give True or False for each of "
                    f"{self.num_envs} environments"
                )
        if not self._seeded:
            if not which.all():
                raise ArgumentError("gym: the first reset begins all environments; give the reset_mask later")
            seeds = [int(self.np_random.integers(2**62)) if x is None else x for x in seeds]
            self._seeded = True
        self.world.seed({k: x for k, x in enumerate(seeds) if x is not None and which[k]})
        self.world.begin(which)
        self._ended &= ~which
        return self.world.observations(), {}

    def step(self, actions: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, dict[str, Any]]:
        """Move all environments by a control step with `actions` of shape (num_envs, motors)."""
        if not self._seeded:
            raise ArgumentError("gym: call reset() before step()")
        given = finite(real(actions, "gym: actions"), "gym: actions")
        if given.shape != self.action_space.shape:
            raise ArgumentError(f"gym: actions have shape {given.shape}; give {self.action_space.shape}")
        same, waiting = self.autoreset_mode is AutoresetMode.SAME_STEP, np.zeros(self.num_envs, bool)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            waiting = self._ended
        elif self._ended.any():
            raise ArgumentError(
                f"gym: environment {int(np.argmax(self._ended))} has ended; reset it before it moves on"
            )
        rewards, ended, cut = self.world.advance(given, waiting)
        if waiting.any():
            self.world.begin(waiting)
        seen, infos = self.world.observations(), dict[str, Any]()
        if self.world.robot.contacts is not None:
            infos = {"uncertified": self.world.uncertified, "_uncertified": ~waiting}
        over = ended | cut
        if same and over.any():
            infos |= {"final_obs": _objects(seen, over), "_final_obs": over.copy()}
            self.world.begin(over)
            seen = self.world.observations()
        else:
            self._ended = over
        return seen, rewards, ended, cut, infos

    def __repr__(self) -> str:
        return f"<VectorEnv of {self.num_envs} {self.world.robot.name!r}>"


class Env(gymnasium.Env):  # type: ignore[misc]
    """One robot as an environment; the arguments are those of `VectorEnv`, without `num_envs` and `autoreset`."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, robot: Robot, **arguments: Any) -> None:
        self.render_mode = None
        if "autoreset" in arguments:
            raise ArgumentError("gym: an Env has no `autoreset`: call reset() when an episode is over")
        self._batch = VectorEnv(robot, 1, **arguments, autoreset="disabled")
        self.observation_space = self._batch.single_observation_space
        self.action_space = self._batch.single_action_space

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Begin an episode; the same `seed` gives the same episodes. There are no `options`."""
        _require_options(options)
        seen, infos = self._batch.reset(seed=seed)
        super().reset(seed=seed)
        return seen[0], infos

    def step(self, action: AnyArray) -> tuple[AnyArray, float, bool, bool, dict[str, Any]]:
        """Move by a control step with an `action` of shape (motors,)."""
        given = real(action, "gym: the action")
        if given.shape != self.action_space.shape:
            raise ArgumentError(f"gym: the action has shape {given.shape}; give {self.action_space.shape}")
        seen, rewards, ended, cut, infos = self._batch.step(given[None])
        self._batch._ended[:] = False  # Gymnasium leaves it to the user not to go on
        own = {"uncertified": bool(infos["uncertified"][0])} if "uncertified" in infos else {}
        return seen[0], float(rewards[0]), bool(ended[0]), bool(cut[0]), own


def _spaces(world: World) -> tuple[Any, Any]:
    count = world.observed().shape[1]  # the first state may be one that no episode sees
    box = gymnasium.spaces.Box
    low, high = (x.astype(np.float32) for x in world.ranges)
    actions = box(low, high, (world.actions,), np.float32)
    return box(-np.inf, np.inf, (count,), world.dtype.type), actions


def _seeds(seed: Any, count: int) -> list[int | None]:
    """Return a seed for each environment: seed, seed + 1 ..., or as given; None where there is none."""
    what = "gym: `seed`, a whole number or one for each environment,"
    if seed is None:
        return [None] * count
    if not isinstance(seed, (list, tuple, np.ndarray)) or np.ndim(seed) == 0:
        first = whole_number(seed, what, 0)
        return [first + k for k in range(count)]
    if len(seed) != count:
        raise ArgumentError(f"gym: {len(seed)} seeds were given for {count} environments")
    return [None if x is None else whole_number(x, what, 0) for x in seed]


def _require_options(options: Mapping[str, Any] | None, *known: str) -> None:
    """Raise for options of `reset` that an environment does not have."""
    for name in options or {}:
        if name not in known:
            raise unknown_name("option", name, known, "reset")


def _objects(seen: AnyArray, over: AnyArray) -> AnyArray:
    """Return rows as an array of objects, None for those that go on, as Gymnasium has it."""
    found = np.full(len(seen), None, dtype=object)
    for k in np.flatnonzero(over):
        found[k] = seen[k].copy()
    return found
