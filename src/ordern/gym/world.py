"""The physics of environments: many robots with a start, actions, rewards and ends, without a word of Gymnasium."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, positive, whole_number
from ..ensembles.distributions import Distribution
from ..ensembles.ensemble import parameter_quantities, require_one_robot, start_quantities
from ..ensembles.quantities import Quantities, Quantity, variant
from ..errors import ArgumentError, ModelError, unknown_name
from ..model.variation import with_values
from .motors import Motors
from .springs import Springs

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["World"]

_ARGUMENTS = (
    "reward", "observation", "terminated", "starts", "parameters", "forces", "scale", "goals", "dt", "hold", "length",
    "autoreset", "dtype",
)  # fmt: skip
"""The arguments of environments, for errors that name the closest one."""
_AHEAD = 8
"""Episodes that are drawn at once, which takes hardly longer than one."""
_EPISODES = 2**40
"""The number of episodes of one environment, whose random numbers are all different."""


class World:
    """A batch of robots that are moved by actions, each in its own episode."""

    def __init__(
        self,
        robot: Robot,
        count: int,
        *,
        reward: Callable[..., Any],
        observation: Callable[..., Any] | None,
        terminated: Callable[..., Any] | None,
        starts: Any,
        parameters: Mapping[str, Any] | None,
        forces: Callable[..., Any] | None,
        scale: Any,
        goals: Any,
        dt: float,
        hold: int,
        length: int,
        dtype: Any,
        settings: dict[str, Any],
    ) -> None:
        require_one_robot(robot, "gym")
        self.robot, self.count, self.dtype = robot, count, _floating(dtype)
        given = {"reward": reward, "observation": observation, "terminated": terminated, "forces": forces}
        for name, function in given.items():
            if function is not None:
                _require_function(name, function)
        _require_settings(settings)
        self._reward, self._terminated = reward, terminated
        self._observation = _states if observation is None else observation
        self.dt = positive(dt, "gym: `dt`")
        self.hold, self.length = whole_number(hold, "gym: `hold`", 1), whole_number(length, "gym: `length`", 1)
        self._settings = settings
        self._forces = forces
        self._springs: Springs | None = None
        self._motors: Motors | None = None
        effort = settings.get("effort", "clip")
        if goals is not None:
            self._springs = Springs(robot, goals, settings.get("feedback"), scale, forces, effort)
        elif forces is None:
            self._motors = Motors(robot, scale, effort)
        self._given: dict[str, Quantity] = {x.name: x for x in start_quantities(robot, starts)}
        varied = parameter_quantities(parameters)
        self._given |= {x.name: x for x in varied}
        for x in self._given.values():
            if x.members is not None:
                raise ArgumentError(f"gym: {x.name} must be one value or a distribution, not an array for each member")
        self._varied = [x.name for x in varied if isinstance(x.given, Distribution)]
        self._fixed = [x.name for x in varied if not isinstance(x.given, Distribution)]
        self._require_drawable()
        self._seen: int | None = None
        """How many numbers an observation has, once there was one."""
        self._seeds: list[int] = [0] * count
        self._later: list[list[dict[str, AnyArray]]] = [[] for _ in range(count)]
        """Parameters drawn for coming episodes of each environment, the next one last."""
        self._episodes = np.zeros(count, np.int64)
        self.steps = np.zeros(count, np.int64)
        """Control steps since the start of each episode."""
        self.q = np.tile(robot.neutral(), (count, 1))
        self.v = np.zeros((count, robot.nv))
        contacts = 0 if robot.contacts is None else len(robot.contacts.pairs)
        self._impulses = np.zeros((count, contacts, 3))
        """Impulses of contacts in the last step, from which the next one begins."""
        self.uncertified = np.zeros(count, bool)
        """Environments in whose last control step a step with contacts cannot be relied on."""
        self._numbers: dict[str, AnyArray] = {}
        self._variant: Robot | None = None
        self._renewed = np.zeros(count, bool)
        """Environments that have begun a new episode since the variant was made."""

    def _require_drawable(self) -> None:
        """Raise if starts have a wrong shape, or parameters name what the robot does not have: draw one episode."""
        drawn = Quantities(self.robot, self._given, 1, 0, "random").drawn(0, 1)
        with contextlib.suppress(ModelError):  # numbers that are impossible by chance
            variant(self.robot, {name: drawn[name][0] for name in (*self._varied, *self._fixed)})

    @property
    def actions(self) -> int:
        """The number of actions: one for each motor; one for each degree of freedom with `forces`."""
        return len(self.ranges[0])

    @property
    def ranges(self) -> tuple[AnyArray, AnyArray]:
        """The least and the largest actions."""
        if self._motors is not None:
            return self._motors.low, self._motors.high
        high = np.ones(self.robot.nv if self._springs is None else len(self._springs.freedoms))
        return -high, high

    def seed(self, seeds: Mapping[int, int]) -> None:
        """Give some environments, by their numbers, new seeds: their episodes are counted anew."""
        for k, x in seeds.items():
            self._seeds[k], self._episodes[k], self._later[k] = x, 0, []

    def begin(self, which: NDArray[np.bool_]) -> None:
        """Begin a new episode in some environments."""
        for k in np.flatnonzero(which).tolist():
            drawn = self._start(k)
            self.q[k], self.v[k], self._impulses[k] = drawn["q"], drawn["v"], 0.0
            for name in (*self._varied, *self._fixed):
                x = drawn[name]
                if name not in self._numbers:
                    self._numbers[name] = np.zeros((self.count, *x.shape))
                self._numbers[name][k] = x
        self._episodes[which] += 1
        self.steps[which] = 0
        self._renewed |= which

    def _start(self, k: int) -> dict[str, AnyArray]:
        """Return what is drawn for the next episode of an environment; that of some episodes is drawn at once."""
        later = self._later[k]
        if not later:
            first = int(self._episodes[k])
            draws = Quantities(self.robot, self._given, _EPISODES, self._seeds[k], "random")
            count = _AHEAD if first else 1  # all environments begin together, and go on one by one
            drawn = draws.drawn(first, first + count)
            later += [{name: x[row % len(x)] for name, x in drawn.items()} for row in reversed(range(count))]
        return later.pop()

    @property
    def moving(self) -> Robot:
        """The robot, with the parameters of each environment. Those of new episodes alone are computed anew."""
        if not self._numbers:
            return self.robot
        if self._variant is None:
            self._variant = variant(self.robot, self._numbers)
        elif self._renewed.any():
            some = variant(self.robot, {name: x[self._renewed] for name, x in self._numbers.items()})
            assert some.variation is not None and some.variation.values is not None
            assert self._variant.variation is not None and self._variant.variation.values is not None
            values = self._variant.variation.values.copy()
            values[self._renewed] = some.variation.values
            self._variant = with_values(self._variant, values)
        self._renewed[:] = False
        return self._variant

    def observed(self) -> AnyArray:
        """Return what `observation` returns, a row of real numbers for each environment."""
        seen = np.asarray(self._observation(self.q, self.v))
        if seen.ndim != 2 or len(seen) != self.count or self._seen not in (None, seen.shape[1]):
            numbers = "numbers" if self._seen is None else self._seen
            raise ArgumentError(
                f"gym: `observation` returned an array of shape {seen.shape}; give ({self.count}, {numbers}), a row "
                "for each environment"
            )
        if seen.dtype.kind not in "biuf":
            raise ArgumentError(f"gym: `observation` returned {seen.dtype}; give real numbers")
        self._seen = seen.shape[1]
        return seen

    def observations(self) -> AnyArray:
        """Return what a policy sees of all environments: finite numbers."""
        seen = self.observed()
        with np.errstate(over="ignore"):
            found = seen.astype(self.dtype)
        fine = np.isfinite(found)
        if not fine.all():
            k, column = np.argwhere(~fine)[0].tolist()
            raise ArgumentError(
                f"gym: `observation` returned {seen[k, column]} in column {column} for environment {k}; give numbers "
                f"that are finite in {self.dtype}"
            )
        return found

    def advance(
        self, actions: AnyArray, frozen: NDArray[np.bool_]
    ) -> tuple[AnyArray, NDArray[np.bool_], NDArray[np.bool_]]:
        """Move all environments but the frozen ones by a control step; return rewards, and which ended how."""
        tau, springs = np.zeros((self.count, self.robot.nv)), dict[str, Any]()
        if self._springs is not None:
            kp, kd, target = self._springs.feedback(np.clip(np.asarray(actions, float), -1.0, 1.0))
            springs = {"feedback": (kp, kd, target[:, None])}  # constant in time, whatever the number of environments
        elif self._forces is not None:
            found = np.asarray(self._forces(self.q, self.v, np.asarray(actions, float)))
            if found.shape != tau.shape or found.dtype.kind not in "biuf":
                raise ArgumentError(
                    f"gym: `forces` returned {found.dtype} {found.shape}; give joint forces of shape {tau.shape}"
                )
            tau[:] = found
        elif self._motors is not None:
            tau = self._motors.forces(np.asarray(actions, float))
        touching = {"contact_impulses": self._impulses} if self.robot.contacts is not None else {}
        settings = {**self._settings, **springs, **touching, "every": self.hold}
        run = self.moving.rollout(self.q, self.v, tau[:, None], self.hold, self.dt, **settings)
        q, v = run.q[:, -1], run.v[:, -1]
        with np.errstate(over="ignore"):  # numbers that are too large for observations count as infinite
            lost = ~np.isfinite(_states(q, v).astype(self.dtype)).all(-1)
        keep = frozen | lost
        self.q = np.where(keep[:, None], self.q, q)
        self.v = np.where(keep[:, None], self.v, v)
        if touching:
            self._impulses = np.where(keep[:, None, None], self._impulses, run.contact_impulses[:, -1])
            self.uncertified = run.uncertified[:, -1] & ~frozen
        self.steps[~frozen] += 1
        if self._springs is not None:
            tau = self._springs.forces(self.q, self.v, springs["feedback"][2][:, 0])
        rewards = self._each("reward", self._reward(self.q, self.v, tau), float)
        bad = ~(np.isfinite(rewards) | keep)
        if bad.any():
            k = int(np.argmax(bad))
            raise ArgumentError(f"gym: `reward` returned {rewards[k]} for environment {k}; give finite numbers")
        ended = np.zeros(self.count, bool)
        if self._terminated is not None:
            ended = self._each("terminated", self._terminated(self.q, self.v), bool)
        ended = (ended | lost) & ~frozen
        cut = (self.steps >= self.length) & ~ended & ~frozen
        return np.where(frozen | lost, 0.0, rewards), ended, cut

    def _each(self, name: str, found: Any, kind: type) -> AnyArray:
        values = np.asarray(found)
        if values.shape != (self.count,):
            raise ArgumentError(f"gym: `{name}` returned an array of shape {values.shape}; give ({self.count},)")
        if values.dtype.kind not in ("b" if kind is bool else "biuf"):
            wanted = "True or False" if kind is bool else "a number"
            raise ArgumentError(f"gym: `{name}` returned {values.dtype}; give {wanted} for each environment")
        return values.astype(kind)


_CALLS = {
    "reward": ("q", "v", "tau"), "observation": ("q", "v"), "terminated": ("q", "v"), "forces": ("q", "v", "actions"),
}  # fmt: skip
"""The arguments of the functions that users give."""
_OWN = {
    **{"q0": "`starts`", "v0": "`starts`", "tau": "actions, or `forces`", "steps": "`hold`", "every": "`hold`"},
    **{"policy": "`forces`", "noise": "noise in `observation` or `forces`", "seed": "reset(seed=...)"},
    **{"events": "`terminated`", "progress": "a function of your own", "out": "the arrays that step returns"},
    "contact_impulses": "nothing: a step begins with those of the last one",
}
"""Settings of `rollout` that an environment gives itself, and what users have in their place.

`noise` would draw the same numbers in each control step, which is a rollout of its own.
"""


def _require_function(name: str, function: Any) -> None:
    """Raise unless this is a function that takes the arguments it is called with."""
    if not callable(function):
        raise ArgumentError(f"gym: `{name}` must be a function of batched states, not {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of extension modules have no signature
        return
    try:
        signature.bind(*_CALLS[name])
    except TypeError as e:
        called = ", ".join(_CALLS[name])
        raise ArgumentError(f"gym: `{name}` is called with ({called}), but takes {signature}: {e}") from None


def _require_settings(settings: Mapping[str, Any]) -> None:
    """Raise for settings that `rollout` does not have, or that an environment gives itself."""
    from ..robot import Robot

    known = [x for x in inspect.signature(Robot.rollout).parameters if x not in ("self", *_ARGUMENTS, *_OWN)]
    for name in settings:
        if name in _OWN:
            raise ArgumentError(
                f"gym: {name!r} is a setting of rollout that the environment gives itself; use {_OWN[name]}"
            )
        if name not in known:
            hint = "Environments draw no pictures; robot.view(q) shows a state" if name == "render_mode" else ""
            raise unknown_name("setting", name, (*_ARGUMENTS, *known), "gym", hint)


def _floating(dtype: Any) -> np.dtype[Any]:
    """Return the type of observations."""
    with contextlib.suppress(TypeError):
        found: np.dtype[Any] = np.dtype(dtype)
        if found.kind == "f":
            return found
    raise ArgumentError(f"gym: `dtype` must be a type of real numbers, such as numpy.float32, not {dtype!r}")


def _states(q: AnyArray, v: AnyArray) -> AnyArray:
    """Return positions and velocities: the usual observation."""
    return np.concatenate([q, v], axis=-1)
