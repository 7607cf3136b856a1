"""An ensemble: one robot, or many variants of it, run from many starts."""

from __future__ import annotations

import copy
import hashlib
import inspect
import math
import os
import pickle
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, choice, positive, whole_number
from ..declared import explained_methods
from ..errors import ArgumentError, unknown_name
from ..model.checks import require_one_set
from .distributions import Distribution
from .journal import UNKNOWN
from .keep import Kept, kept
from .quantities import SAMPLINGS, Quantities, Quantity, quantity, required_members
from .reductions import Reduction
from .stopping import require_rule

if TYPE_CHECKING:
    from ..robot import Robot
    from .estimate import Estimate
    from .outcome import Outcome

__all__ = ["Ensemble", "parameter_quantities", "require_one_robot", "start_quantities"]

_BLOCK_BYTES = 2**22
_BLOCK_STEPS = 200_000_000
"""Steps of all members of a block, times freedoms: some seconds of one core."""
_LEAST_BLOCK, _MOST_BLOCK = 64, 2**13
_SIMULATED_BLOCK = 16
_SHAPES = {"com": (3,), "inertia": (6,), "added_inertia": (21,), "placement": (3,)}
"""Numbers of one body, joint or frame in a parameter, where they are several."""
_OWN = {
    **{"q0": "`starts`", "v0": "`starts`", "tau": "`forces` or `controller`", "policy": "`controller`"},
    **{"every": "on.keep.series(every=...)", "checkpoint": "`out` of `run`", "out": "`out` of `run`"},
    **{"threads": "`workers` of `run`", "device": "`engine` of `run`", "progress": "`progress` of `run`"},
}
"""Settings of `rollout` and `simulate` that an ensemble gives itself, and what users give in their place."""


@explained_methods
class Ensemble:
    """Many runs of one robot that differ in start, forces or parameters.

    With `steps` and `dt`, members are run by `robot.rollout`, thousands at once; with `until`, each by
    `robot.simulate`, with events, limits and adaptive steps. Further settings are those of these functions.

    What varies is an array with a row for each member, a distribution (`on.distributions.normal(0, 0.1)`), or a
    function of a seed. `starts` are {"q": ..., "v": ...} or a pair (q, v); `parameters` are those of `robot.vary`, such
    as {"mass": {"link7": on.distributions.uniform(1, 2)}}; `forces` are constant joint forces, or a table
    (1, steps, nv) for all. A `controller` is a policy of `rollout`, or a controller of `simulate`.

    `keep` names what is kept of each member ("final", "series", "energy", "drawn", "events"), or has things of
    `on.keep`, also reductions over all members; a dictionary names them. The same `seed` gives the same members, bit
    for bit, whatever the engine, the number of workers, and interruptions. `sampling` is "random" (the default),
    "latin-hypercube" or "sobol"; the reductions `sobol` and `morris` have their own, "saltelli" and "morris". `stop`
    ends the run when an answer is good enough: see `on.keep.precise`. `target="x86-64-v3"` compiles for all processors
    of that level, so that the machines of a mixed cluster compute the same bits. A `block` of members is run, stored
    and reduced at once; its size is chosen unless it is given. A member that `simulate` runs for longer than
    `time_limit` seconds fails; since that depends on the machine, `max_steps` is the better limit where bits count.

    >>> import ordern as on
    >>> study = on.Ensemble(on.load("double-pendulum"), members=1000, starts={"q": on.distributions.uniform(-3, 3)},
    ...                     steps=100, dt=1e-2, keep=["final", on.keep.moments("energy_change")])
    >>> result = study.run()
    >>> result["q_final"].shape
    (1000, 2)
    """

    def __init__(
        self,
        robot: Robot,
        *,
        members: int | None = None,
        starts: Any = None,
        parameters: Mapping[str, Any] | None = None,
        forces: Any = None,
        controller: Any = None,
        steps: int | None = None,
        dt: float = 1e-3,
        until: float | None = None,
        keep: Any = ("final",),
        seed: int = 0,
        sampling: str | None = None,
        stop: Any = None,
        target: str | None = None,
        block: int | None = None,
        time_limit: float | None = None,
        **settings: Any,
    ) -> None:
        require_one_robot(robot, "Ensemble")
        if (steps is None) == (until is None):
            _require_known(settings, "rollout", "simulate")
            both = "" if steps is None else ", not both"
            raise ArgumentError(f"Ensemble: give `steps` (and `dt`) for `rollout`, or `until` for `simulate`{both}")
        if target is not None:  # a copy, which has no code for this very processor
            robot = pickle.loads(pickle.dumps(robot))
        self.robot, self.controller, self.settings, self.stop = robot, controller, dict(settings), stop
        self.target = target
        """The level of the architecture that code is compiled for; None for this very processor."""
        self.steps = None if steps is None else whole_number(steps, "Ensemble: `steps`", 1)
        self.until = None if until is None else positive(until, "Ensemble: `until`")
        self.dt = positive(dt, "Ensemble: `dt`")
        self.time_limit = None if time_limit is None else positive(time_limit, "Ensemble: `time_limit`")
        self.seed = whole_number(seed, "Ensemble: `seed`", 0)
        self.kept: tuple[Kept, ...]
        self.reductions: tuple[Reduction, ...]
        self.kept, self.reductions = kept(keep)
        self.sampling = choice("sampling", _sampling(sampling, self.reductions), SAMPLINGS, "Ensemble")
        self._require_settings()
        if stop is not None:
            require_rule(stop, [x.name for x in self.reductions])
        self.quantities: dict[str, Quantity] = {
            x.name: x
            for x in (
                *start_quantities(robot, starts),
                *_forces(robot, forces, self.steps),
                *parameter_quantities(parameters),
            )
        }
        self.members = required_members(self.quantities, members)
        self._block = None if block is None else whole_number(block, "Ensemble: `block`", 1)
        if self.draws.design is not None:
            self.draws.design.required("members", self.members)
            if self._block is not None:
                self.draws.design.required("block", self._block)
        self.every = self._every()

    def _require_settings(self) -> None:
        """Raise for settings that an ensemble has another word for, or that the function does not have."""
        if self.time_limit is not None and self.until is None:
            raise ArgumentError("Ensemble: `time_limit` is for `until`; with `steps`, all members take as many steps")
        name = "rollout" if self.steps is not None else "simulate"
        for setting in self.settings:
            if setting in _OWN:
                raise ArgumentError(
                    f"Ensemble: {setting!r} is a setting of {name} that the ensemble gives itself; give {_OWN[setting]}"
                )
        _require_known(self.settings, name)
        if self.until is None and not self.event_names and any(x.name == "events" for x in self.kept):
            raise ArgumentError(
                "Ensemble: `keep` has 'events', but there are none: give events=[on.Event(...)], or give `until` in "
                "place of `steps` for the limits of joints"
            )
        for x in self.kept:
            x.require(self.event_names)
        if self.until is not None and any(n != 1 for n in self._asked()):
            raise ArgumentError("Ensemble: `every` counts steps of a rollout; with `until`, `dt` separates the samples")
        longest = max(self._asked(), default=0)
        if self.steps is not None and longest > self.steps:
            raise ArgumentError(f"Ensemble: `keep` has every={longest}, more than the {self.steps} steps of a member")

    @cached_property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events that are watched."""
        from ..simulate.events import Event, listed

        given = self.settings.get("events")
        return tuple(x.name for x in listed("events", given, Event, "[on.Event(function, name=...)]"))

    def _every(self) -> int:
        """Return the number of steps between stored states: the largest that serves all that is kept."""
        if self.steps is None:
            return 0
        return reduce(math.gcd, self._asked(), self.steps)

    def _asked(self) -> list[int]:
        """Return the numbers of steps between states that are asked for."""
        both: list[Kept | Reduction] = [*self.kept, *self.reductions]
        return [x.every for x in both if x.every]

    @cached_property
    def block(self) -> int:
        """The number of members that are run, stored and reduced together. It depends on the study alone."""
        if self._block is not None:
            return self._block
        size = 1 if self.draws.design is None else self.draws.design.size
        return max(size, self._fitting_block // size * size)

    @property
    def _fitting_block(self) -> int:
        """The number of members that fit into a block."""
        if self.until is not None:
            return _SIMULATED_BLOCK
        assert self.steps is not None
        states = 1 + self.steps // self.every
        size = max(1, 8 * states * (self.robot.nq + self.robot.nv))
        most = min(_BLOCK_BYTES // size, _BLOCK_STEPS // (self.steps * max(1, self.robot.nv)))
        fitting: int = 2 ** int(math.log2(max(1, most)))
        return min(_MOST_BLOCK, max(_LEAST_BLOCK, fitting))

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.members // self.block)

    @cached_property
    def draws(self) -> Quantities:
        """The values of all quantities, for any range of members."""
        return Quantities(self.robot, self.quantities, self.members, self.seed, self.sampling)

    @cached_property
    def parts(self) -> dict[str, str]:
        """Fingerprints of everything that the results depend on, by name; `renew` them before a run.

        A part whose content cannot be known has a text of its own that begins with `UNKNOWN` and says why.
        """
        plain = {
            **{"members": self.members, "steps": self.steps, "dt": self.dt, "until": self.until},
            **{"seed": self.seed, "sampling": self.sampling, "block": self.block, "target": self.target},
            "time_limit": self.time_limit,
        }
        found = {name: str(x) for name, x in plain.items()}
        found["robot"] = _print(self.robot)
        found |= {name: _print(x.given) for name, x in self.quantities.items()}
        found["controller"] = _print(self.controller)
        found["settings"] = _print(tuple(sorted(self.settings.items())))
        found["keep"] = _print([x.key for x in self.kept] + [x.key for x in self.reductions])
        return found

    def renew(self) -> None:
        """Forget the fingerprints: what the controller holds, such as weights, may have changed since."""
        for name in ("parts", "key"):
            self.__dict__.pop(name, None)

    @cached_property
    def key(self) -> str:
        """A fingerprint of the study: runs with the same key have the same results."""
        return hashlib.sha256(repr(sorted(self.parts.items())).encode()).hexdigest()

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        engine: Any = "threads",
        workers: int | None = None,
        format: str | None = None,
        task: str | None = None,
        shard: float = 2.0,
        progress: bool | Callable[..., Any] | None = None,
    ) -> Outcome:
        """Run all members, or those that an interrupted run has left, and return the results.

        `out` is where results are stored while they come: "name.zarr", "name.parquet" (a folder of files) or
        "name.csv"; None keeps them in memory. `engine` is "threads", "gpu" (rollouts on an NVIDIA GPU;
        "cuda:1" is the second), a `dask.distributed.Client` or "dask" (the current client, or a local cluster), or any
        `concurrent.futures.Executor`; `workers` is how many threads or processes it has. `format` ("zarr",
        "parquet", "csv") is for names with another ending; "lerobot" makes a folder that is a LeRobot dataset of
        episodes, whose `task` is a sentence. A `shard` of work takes about so many seconds.
        `progress` is True for a bar, or a function of the fraction done.
        """
        from .formats import store_of
        from .run import run

        return run(self, store_of(out, format, task), engine, workers, shard, progress)

    def estimate(
        self, out: str | os.PathLike[str] | None = None, *, format: str | None = None, task: str | None = None
    ) -> Estimate:
        """Return the time and the size of the study, from a part of its first block.

        With `out`, `format` and `task` as for `run`, the time is that of what an interrupted run has left.
        """
        from .estimate import estimate
        from .formats import store_of

        return estimate(self, store_of(out, format, task)[0])

    def fresh_controller(self) -> Any:
        """Return a copy of the controller, for the members of one block."""
        try:
            return copy.deepcopy(self.controller)
        except TypeError as e:
            raise ArgumentError(
                f"Ensemble: the controller {self.controller!r} holds something that cannot be copied ({e}), and each "
                "block of members has its own copy; define its __deepcopy__, or make it a function of (t, q, v)"
            ) from e

    def labels(self, dim: str) -> Sequence[str] | None:
        """Return the names along the dimension `dim` of results, if it has some."""
        if dim == "velocity":
            return _coordinates(self.robot, "v")
        return _coordinates(self.robot, "q") if dim == "position" else None

    def times(self) -> AnyArray:
        """Return the times of stored states."""
        if self.steps is not None:
            return np.asarray(self.dt * self.every * np.arange(1 + self.steps // self.every))
        assert self.until is not None
        whole = round(self.until / self.dt)
        return np.linspace(0.0, self.until, max(1, whole) + 1)

    def __repr__(self) -> str:
        how = f"{self.steps} steps of {self.dt:g} s" if self.steps is not None else f"{self.until:g} s each"
        varied = [name for name, x in self.quantities.items() if x.varies]
        vary = f"; {', '.join(varied)} vary" if varied else ""
        return f"<Ensemble of {self.members:,} runs of {self.robot.name!r}, {how}{vary}>"


def _require_known(settings: Mapping[str, Any], *functions: str) -> None:
    """Raise if a setting is neither one of these functions of a robot nor an argument of ensembles."""
    from ..robot import Robot

    known = set().union(*(inspect.signature(getattr(Robot, x)).parameters for x in functions)) - {"self"}
    own = [x for x in inspect.signature(Ensemble).parameters if x not in ("robot", "settings")]
    for name in settings:
        if name not in known:
            listed = (*own, *sorted(known - {*own, *_OWN}))
            raise unknown_name("setting", name, listed, f"Ensemble by {' or '.join(functions)}")


def _sampling(given: str | None, reductions: Sequence[Reduction]) -> str:
    """Return the sampling: as given, or as reductions need it; raise if they disagree."""
    asked = {x.sampling: x.name for x in reductions if x.sampling is not None}
    if len(asked) > 1:
        raise ArgumentError(
            f"Ensemble: {' and '.join(asked.values())} need members of different designs; run two studies"
        )
    if not asked:
        return "random" if given is None else given
    [(needed, name)] = asked.items()
    if given not in (None, needed):
        raise ArgumentError(f"Ensemble: {name} needs sampling={needed!r}, which is its default, not {given!r}")
    other = next((x.name for x in reductions if x.sampling is None), None)
    if needed == "morris" and other is not None:
        raise ArgumentError(
            f"Ensemble: {other} is not for the walks of {name}, whose members are not independent; run two studies"
        )
    return needed


def require_one_robot(robot: Any, what: str) -> None:
    """Raise unless this is a robot without sets of parameters."""
    from ..model import Model

    if not isinstance(robot, Model):
        raise ArgumentError(f"{what}: give a robot, such as on.load('puma560'), not {robot!r}")
    require_one_set(robot, what)


def start_quantities(robot: Robot, starts: Any) -> list[Quantity]:
    """Return positions and velocities; by default neutral and at rest."""
    if starts is None:
        starts = {}
    if isinstance(starts, tuple) and len(starts) == 2:
        starts = dict(zip("qv", starts, strict=True))
    if not isinstance(starts, Mapping):
        what = f"an array of shape {starts.shape}" if isinstance(starts, np.ndarray) else repr(starts)
        raise ArgumentError(
            f"Ensemble: `starts` must be a pair (q, v) or {{'q': ..., 'v': ...}}, not {what}; positions alone are "
            "starts={'q': ...}"
        )
    for name in starts:
        if name not in ("q", "v"):
            raise unknown_name("name in `starts`", name, ("q", "v"), "Ensemble")
    found = [quantity("q", (robot.nq,), robot.neutral() if starts.get("q") is None else starts["q"])]
    return [*found, quantity("v", (robot.nv,), 0.0 if starts.get("v") is None else starts["v"])]


def _forces(robot: Robot, forces: Any, steps: int | None) -> list[Quantity]:
    if forces is None:
        return []
    table = not isinstance(forces, Distribution) and not callable(forces) and np.ndim(forces) == 3
    if table and steps is None:
        raise ArgumentError("Ensemble: with `until`, forces are constant; give a Table as the controller")
    if table:
        given = np.asarray(forces, float)
        if given.shape[1:] != (steps, robot.nv):
            raise ArgumentError(
                f"Ensemble: forces have shape {given.shape}; a table for all members has (1, {steps}, {robot.nv}), one "
                f"for each (members, {steps}, {robot.nv})"
            )
        shape = (given.shape[1], robot.nv)
        return [quantity("forces", shape, given[0] if len(given) == 1 else given)]
    return [quantity("forces", (robot.nv,), forces)]


@cache
def _fields() -> tuple[str, ...]:
    """Return the parameters that `robot.vary` takes."""
    from ..robot import Robot

    return tuple(x for x in inspect.signature(Robot.vary).parameters if x not in ("self", "fold"))


def parameter_quantities(parameters: Mapping[str, Any] | None) -> list[Quantity]:
    """Return the parameters that vary, each by the name of its field and of its body or joint."""
    found = []
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"Ensemble: `parameters` must be a dictionary such as {{'mass': {{'link7': ...}}}}, not {parameters!r}"
        )
    for field, given in parameters.items():
        if field not in _fields():
            raise unknown_name("parameter", field, _fields(), "the parameters that vary")
        if field == "gravity":
            found.append(quantity("parameters.gravity", (3,), given))
            continue
        if not isinstance(given, Mapping):
            raise ArgumentError(
                f"Ensemble: the parameter {field!r} is given by names of bodies or joints, such as "
                f"{{{field!r}: {{'link': ...}}}}, not as {given!r}"
            )
        for name, x in given.items():
            found.append(quantity(f"parameters.{field}.{name}", _shape_of(field, x), x))
    return found


def _shape_of(field: str, given: Any) -> tuple[int, ...]:
    """Return the shape of one member's value of a parameter; a placement has 3 numbers, or 6 if these are given."""
    if field == "placement" and not callable(given):
        shape = given.shape if isinstance(given, Distribution) else np.shape(given)
        if shape[-1:] == (6,):
            return (6,)
    return _SHAPES.get(field, ())


def _print(x: Any) -> str:
    """Return the fingerprint of a value, or a text that no other value has, with the reason, if there is none."""
    from ..simulate.run.fingerprint import Unknown, fingerprint

    def plain(x: Any) -> Any:
        if isinstance(x, Distribution):  # its kind and numbers
            return (type(x).__name__, *x.words)
        return [plain(y) for y in x] if isinstance(x, (tuple, list)) else x

    try:
        return fingerprint(plain(x))
    except Unknown as e:
        return f"{UNKNOWN} {uuid.uuid4().hex}: {e}"


def _coordinates(robot: Robot, which: str) -> list[str]:
    """Return the name of each coordinate: that of its joint, and its place if the joint has several."""
    names: list[str] = []
    for c in robot.independent:
        count = c.nq if which == "q" else c.nv
        names += [c.name] if count == 1 else [f"{c.name}[{k}]" for k in range(count)]
    return names
