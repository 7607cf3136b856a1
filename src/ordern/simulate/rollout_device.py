"""Rollouts on a GPU: the loop that `rollout` runs there in the place of machine code of this machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import AnyArray, choice, positive
from ..compile.timeloops.code import varied_forms
from ..compile.timeloops.contact import certifies
from ..errors import ArgumentError
from ..gpu.device import Device, find_device
from ..gpu.dlpack import View
from ..gpu.libraries import Library, is_here, library_of
from ..gpu.program import viewed
from ..gpu.rollout import LOADS, DeviceLoop
from ..kernel.arguments import broadcast_named, external_forces
from ..kernel.bound import bound
from ..model import core_size
from ..model.contacts import CERTIFICATE
from ..records import dataclass
from .contact_record import ContactSettings, first_impulses, require_contacts, surfaces
from .divergence import fastest, stayed
from .efforts import effort_limits
from .integrators.native import loop_kind, step_requests
from .integrators.rk_step import fixed_step
from .integrators.tableaus import TABLEAUS, tableau
from .rollout_arguments import gains_of, require_one_reading, whole_number
from .step_rule import stepped

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["DeviceRollout", "device_loop", "device_parameters", "rollout_there", "steps_there"]


_MOST_FREEDOMS = 150
"""Freedoms up to which the driver compiles the code of a step in some tens of seconds."""


def device_loop(
    robot: Robot, method: str, dynamics: str | None, dtype: np.dtype[Any], given: frozenset[str], device: str | Device
) -> DeviceLoop:
    """Return the loop of a robot on a device; `given` has the names of the arguments over time. It is made once."""
    found = find_device(device)
    if robot.nv > _MOST_FREEDOMS:
        raise ArgumentError(
            f"rollout of {robot.name!r}: it has {robot.nv} freedoms, and steps on a GPU are straight-line code, which "
            f"is for at most {_MOST_FREEDOMS}; leave the device out"
        )
    feedback, external = "goal" in given, "external" in given

    def make() -> DeviceLoop:
        steps = tableau(method)
        requests = step_requests(robot, steps, dynamics, feedback, external)
        if not all(r.algorithm.sweeps or not r.algorithm.pieces for r in requests.values()):
            raise ArgumentError(f"rollout: the dynamics {dynamics!r} of {robot.name!r} are not one piece of code")
        kind = loop_kind("rollout", method)
        return DeviceLoop(robot, requests, lambda m, q, v: fixed_step(m, steps, q, v), kind, dtype, found)

    contacts = "" if robot.contacts is None else robot.contacts.digest
    key = ("rollout on a device", found, method, dynamics, dtype.name, feedback, external, contacts)
    return robot._kernels.shared(key, make)


def device_parameters(
    robot: Robot, method: str, dynamics: str | None, dtype: np.dtype[Any], given: frozenset[str]
) -> AnyArray:
    """Return the numbers (*leading, n) of a varied robot as the loop reads them; without any for other robots."""
    numbers = bound(robot)
    if numbers is None:
        return np.zeros(0, dtype)
    requests = step_requests(robot, tableau(method), dynamics, "goal" in given, "external" in given)
    parts = [numbers.form(*form, None, dtype) for form, size in varied_forms(requests, ()).items() if size]
    return np.concatenate([*parts, np.zeros((*numbers.shape, 0), dtype)], axis=-1)


@dataclass(frozen=True, eq=False)
class DeviceRollout:
    """Trajectories as arrays on a GPU; unpack them as `q, v, t = robot.rollout(...)`, or use the names."""

    q: Any
    """Positions, of shape (..., 1 + steps // every, nq)."""
    v: Any
    """Velocities, of shape (..., 1 + steps // every, nv)."""
    t: AnyArray
    """Times since the start, as a NumPy array."""
    contact_impulses: Any = None
    """Impulses of contacts, of shape (..., rows, contacts, 3), as those of `Rollout`; None without contacts. Behind
    them is a row of moments for each contact with torsional or rolling friction."""
    stop_impulses: Any = None
    """Impulses of joint limits, of shape (..., rows, nv); None without."""
    certificate: Any = None
    """Of shape (..., rows, 4): the largest residual in m/s, penetration in m and leveling in m/s since the kept state
    before, and the work of all impulses in J; None without contacts."""
    fastest: AnyArray | None = None
    """The speeds above which a trajectory counts as diverged, of shape (nv,)."""

    @property
    def diverged(self) -> Any:
        """True for trajectories that became infinite or NaN, or too fast, as a NumPy array: see `Rollout.diverged`."""
        library = library_of({"q": self.q}, "diverged")
        q, v = (self.q, self.v) if library is None else map(library.fetched, (self.q, self.v))
        return ~stayed(np.asarray(q), np.asarray(v), self.fastest).all(-1)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.q, self.v, self.t))


_REFUSED = ("policy", "noise", "events", "progress", "out")


def rollout_there(
    robot: Robot, q0: Any, v0: Any, tau: Any, steps: int | None, dt: float, *, method: str, every: int, feedback: Any,
    external: Any, dynamics: str | None, smoothing: float, drift: str, limits: str | None, effort: str = "clip",
    contact_friction: Any = None, ground_height: Any = None, contact_impulses: Any = None, **settings: Any,
) -> DeviceRollout:  # fmt: skip
    """Return trajectories for arrays on a GPU, of CuPy or `ordern.gpu`: see `Robot.rollout`."""
    touching = ContactSettings(contact_friction, ground_height, contact_impulses)
    require_contacts(robot, touching, method, limits, {"dynamics": dynamics is not None})
    for name in _REFUSED:
        if settings.get(name) is not None:
            raise ArgumentError(f"rollout: {name}= is for NumPy arrays, and an argument is on a GPU")
    if limits == "bounce" or drift != "baumgarte":
        raise ArgumentError(f"rollout: limits={limits!r}, drift={drift!r} are for NumPy arrays; arguments are on a GPU")
    choice("method", method, TABLEAUS, "rollout")
    robot, _ = stepped(robot, method, limits, feedback is not None, drift, dynamics)
    gains = gains_of(robot, feedback)
    target = None if feedback is None else feedback[2]
    given = _given(robot, {"q0": q0, "v0": v0, "tau": tau, "external": external, "target": target})
    rank = max(len(given[name].shape) for name in ("q0", "v0")) - 1
    read = {x: given[x].shape[: len(given[x].shape) - (x == "external")] for x in given if x not in ("q0", "v0")}
    for name, shape in read.items():
        if len(shape) <= rank + 1:  # the same for all steps
            given[name] = given[name].reshape(*shape[:-1], 1, *given[name].shape[len(shape) - 1 :])
    rows = {name: int(given[name].shape[-3 if name == "external" else -2]) for name in read}
    if steps is None and rows.get("tau", 1) == 1:
        raise ArgumentError("rollout: give `steps`, or a tau with a row for each step")
    steps, every = whole_number("steps", rows["tau"] if steps is None else steps, 0), whole_number("every", every, 1)
    for name, n in rows.items():
        if n not in (1, steps):
            raise ArgumentError(f"rollout: {name} has {n} rows over time, but there are {steps} steps")
    states = broadcast_named("rollout: the batch shapes", {x: given[x].shape[:-1] for x in ("q0", "v0")})
    require_one_reading(read, steps, states, rank)
    library = library_of(given, "rollout")
    assert library is not None
    device = library.device(next(x for x in given.values() if not is_here(x)))
    numbers = [positive(dt, "rollout: `dt`"), positive(smoothing, "rollout: `smoothing`"), 0.0, 0.0, 1.0]
    if robot.contacts is not None:  # feedback is implicit, as in `rollout`
        gains = gains[0], gains[1] + dt * gains[0]
        cores = {"q0": 1, "v0": 1, "external": 3}
        parts = {name: x.shape[: len(x.shape) - cores.get(name, 2)] for name, x in given.items()}
        batch = broadcast_named("rollout: the batch shapes of the arguments", {**parts, "robot": robot.batch_shape})
        given |= _touching(robot, library, batch, touching)
    given["numbers"] = np.concatenate([numbers, *gains, effort_limits(robot, effort)])
    if "target" in given:
        given["goal"] = given.pop("target")
    found = steps_there(robot, library, device, given, (method, dynamics), steps, every)
    return _rolled(robot, found, dt * every * np.arange(1 + steps // every))


def _touching(robot: Robot, library: Library, batch: tuple[int, ...], settings: ContactSettings) -> dict[str, Any]:
    """Return the arguments about contacts; friction and heights are checked here, also those of arrays on a GPU."""
    assert robot.contacts is not None
    count, impulses = core_size(robot, "contact_impulses") // 3, settings.impulses
    here = (None if x is None or is_here(x) else library.fetched(x) for x in (settings.friction, settings.height))
    friction, height = (x if y is None else y for x, y in zip((settings.friction, settings.height), here, strict=True))
    if impulses is None:
        impulses = np.zeros((count, 3))
    elif is_here(impulses):
        start = first_impulses(impulses, batch, len(robot.contacts.pairs), count)
        impulses = np.zeros((*start.shape[:-2], count, 3))
        impulses[..., : start.shape[-2], :] = start
    elif tuple(impulses.shape[-2:]) != (count, 3):
        raise ArgumentError(f"rollout: contact_impulses has shape {tuple(impulses.shape)}; give (..., {count}, 3)")
    return {
        "pushes0": impulses.reshape(*impulses.shape[:-2], 3 * count),
        "surfaces": surfaces(robot, batch, ContactSettings(friction, height)),
        "stops0": np.zeros(robot.nv),
        "limits": np.concatenate([robot.lower, robot.upper]),
    }


def _rolled(robot: Robot, found: Mapping[str, Any], t: AnyArray) -> DeviceRollout:
    """Return the trajectories with what is kept of contacts."""
    if "certificate" not in found:
        return DeviceRollout(found["q"], found["v"], t, fastest=fastest(robot))
    pushes, impulses = found.get("pushes"), None
    if pushes is not None:
        impulses = pushes.reshape((*tuple(pushes.shape)[:-1], pushes.shape[-1] // 3, 3))
    return DeviceRollout(found["q"], found["v"], t, impulses, found.get("stops"), found["certificate"], fastest(robot))


def _given(robot: Robot, named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that are not None, as arrays; raise unless each has the numbers that the robot needs.

    A kernel does not see the shapes of its arrays: it would read beyond the end of one that is too small.
    """
    named["external"] = external_forces(robot, named["external"])
    given = {name: x if hasattr(x, "shape") else np.asarray(x) for name, x in named.items() if x is not None}
    nq, nv = robot.nq, robot.nv
    cores = {"q0": (nq,), "v0": (nv,), "tau": (nv,), "external": (len(robot.bodies), 6), "target": (nq,)}
    for name, core in cores.items():
        shape = tuple(given[name].shape) if name in given else None
        if (shape is None and name in ("q0", "v0")) or (shape is not None and shape[-len(core) :] != core):
            found = "is None" if shape is None else f"has shape {shape}"
            wanted = ", ".join(map(str, core))
            raise ArgumentError(f"rollout: {name} {found}; for {robot.name!r} give an array (..., {wanted})")
    return given


def steps_there(
    robot: Robot, library: Library, device: Device, given: Mapping[str, Any], how: tuple[str, str | None], steps: int,
    every: int, together: bool = False,
) -> Any:  # fmt: skip
    """Return what is stored of all trajectories, by name, as arrays of a library; `together` one array with (q, v).

    `given` has "q0", "v0" and "numbers" with one dimension for a trajectory, and the loads with one more, for steps;
    with contacts, it has "pushes0", "stops0", "surfaces" and "limits" as well.
    """
    cores = {"q0": 1, "v0": 1, "numbers": 1, "tau": 2, "external": 3, "goal": 2}
    touching = dict.fromkeys(("pushes0", "stops0", "surfaces", "limits"), 1)
    fed = "goal" in given, "external" in given
    certified = certifies(robot, step_requests(robot, tableau(how[0]), how[1], *fed))
    if certified and not touching.keys() <= given.keys():
        raise ArgumentError(f"rollout of {robot.name!r}, which has contacts: these arrays are not supported on a GPU")
    read = [x for x in touching if certified and x in given and given[x].shape[-1]]
    given = {name: x for name, x in given.items() if name not in touching or name in read}
    cores |= touching
    given = {"tau": np.zeros((1, robot.nv)), **given}
    views = dict(zip(given, viewed(library, device, "rollout", given, [cores[x] for x in given]), strict=True))
    dtype, names = views["q0"].dtype, frozenset(given)
    loop = device_loop(robot, *how, dtype, names, device)
    parameters = device_parameters(robot, *how, dtype, names)
    if parameters.shape[-1]:
        cores["parameters"] = 1
        views["parameters"] = library.view(library.copied(parameters, dtype, device), device, "rollout", "parameters")
    shapes = {name: v.shape[: v.ndim - cores[name]] for name, v in views.items()}
    batch = broadcast_named("rollout: the batch shapes of the arguments", {**shapes, "robot": robot.batch_shape})
    words = {"steps": steps, "every": every, "n": math.prod(batch)}
    for name, view in views.items():
        words[name], words[f"{name}_stride"] = view.address, _between(name, view, shapes[name], batch)
        if name in LOADS and view.shape[view.ndim - cores[name]] > 1:
            words[f"{name}_step"] = math.prod(view.shape[view.ndim - cores[name] + 1 :])
    rows, nq = 1 + steps // every, robot.nq
    sizes = {"both": nq + robot.nv} if together else {"q": nq, "v": robot.nv}
    sizes |= {name: n for name, n in _contact_sizes(robot).items() if n and certified}
    outs = {name: library.empty((*batch, rows, n), dtype, device) for name, n in sizes.items()}
    for name, x in outs.items():
        address = library.view(x, device, "rollout", "out").address
        for part, shift in (("q", 0), ("v", nq)) if name == "both" else ((name, 0),):
            words[f"{part}_out"] = address + shift * dtype.itemsize
            words |= {f"{part}_stride": rows * sizes[name], f"{part}_row": sizes[name]}
    if words["n"]:
        with device:
            loop.launch(words, library.stream(device))
    found = {name: library.done(list(views.values()), x, device) for name, x in outs.items()}
    return found["both"] if together else found


def _contact_sizes(robot: Robot) -> dict[str, int]:
    """Return the numbers that are stored of contacts, by name; none for a robot without."""
    if robot.contacts is None:
        return {}
    stops = robot.nv if robot.has_stops else 0
    return {"pushes": core_size(robot, "contact_impulses"), "stops": stops, "certificate": len(CERTIFICATE)}


def _between(name: str, view: View, own: tuple[int, ...], batch: tuple[int, ...]) -> int:
    """Return the numbers from one trajectory's row to the next; 0 if one row serves all."""
    if math.prod(own) == 1:
        return 0
    step = view.strides[len(own) - 1]
    for n, s in zip(reversed(own), reversed(view.strides[: len(own)]), strict=True):
        if n != 1 and s != step:
            break
        step *= n
    else:
        if own == batch:
            return view.strides[len(own) - 1]
    raise ArgumentError(
        f"rollout: on a GPU, {name} must have a row for each trajectory of the batch {batch}, without gaps between "
        f"dimensions, or one for all; it has the batch shape {own}"
    )
