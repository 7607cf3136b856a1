"""Adapters of environments to libraries with interfaces of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from .environments import VectorEnv

__all__ = ["stable_baselines3"]


def stable_baselines3(env: VectorEnv) -> Any:
    """Return a vector environment for stable-baselines3; `env` must have been made with `autoreset="same-step"`."""
    try:
        from stable_baselines3.common.vec_env import VecEnv
    except ImportError:
        raise ArgumentError("this adapter needs stable-baselines3: pip install stable-baselines3") from None
    if not isinstance(env, VectorEnv):
        raise ArgumentError(
            "stable_baselines3: give a VectorEnv; an Env needs no adapter, since stable-baselines3 takes it as it is"
        )
    if env.autoreset_mode.value != "SameStep":
        raise ArgumentError('stable_baselines3: make the environment with autoreset="same-step"')

    class Adapted(VecEnv):  # type: ignore[misc]
        """A `VectorEnv` with the interface of stable-baselines3."""

        def __init__(self) -> None:
            super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
            self._actions: Any = None

        def reset(self) -> Any:
            seeds = self._seeds if any(x is not None for x in self._seeds) else None
            seen, _ = env.reset(seed=seeds)
            self._reset_seeds()
            return seen

        def step_async(self, actions: Any) -> None:
            self._actions = actions

        def step_wait(self) -> Any:
            seen, rewards, ended, cut, infos = env.step(self._actions)
            over = ended | cut
            notes: list[dict[str, Any]] = [{} for _ in range(env.num_envs)]
            for k in np.flatnonzero(over):
                notes[k] = {"terminal_observation": infos["final_obs"][k], "TimeLimit.truncated": bool(cut[k])}
            return seen, rewards.astype(np.float32), over, notes

        def close(self) -> None:
            env.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            found = getattr(env, attr_name)
            return [found for _ in self._get_indices(indices)]

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            raise NotImplementedError("attributes of single environments of a batch cannot be set")

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
            raise NotImplementedError("the environments of a batch have no methods of their own")

        def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
            return [False for _ in self._get_indices(indices)]

    return Adapted()
