"""Environments for reinforcement learning: a robot, a reward and a start, as Gymnasium knows them (`on.gym`)."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import ArgumentError

if find_spec("gymnasium") is None:
    raise ArgumentError("ordern.gym needs the package gymnasium: pip install ordern[gym]")

from .adapters import stable_baselines3
from .environments import Env, VectorEnv
from .tasks import register, task

__all__ = ["Env", "VectorEnv", "stable_baselines3", "task"]

register()
