"""Rollouts with contacts against MuJoCo's, from the same states, in one process and on one core: times and errors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import ordern as on

from .harness import Array, Figures, processor_clock, settings
from .mujoco_peer import mujoco

__all__ = ["peer_run", "raced", "stiffest", "touching_model"]


def touching_model(robot: on.Robot, dt: float, friction: float) -> Any:
    """Return MuJoCo's model of a robot with flat ground, and with spheres and boxes where our contacts are."""
    spec = mujoco.MjSpec.from_string(robot.to_mjcf(lossy=True))
    shared = {"friction": [friction, 0.0, 0.0], "condim": 3}
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    ground = robot.contacts.ground
    plane = {"type": mujoco.mjtGeom.mjGEOM_PLANE, "size": [10, 10, 1], "pos": [0, 0, ground.height]}
    spec.worldbody.add_geom(**plane, contype=2, conaffinity=0, **shared)
    boxes = set()
    for contact in robot.contacts.pairs:
        first, second = contact.first, contact.second
        if not first.size[0]:
            continue  # a corner of a box, which touches the plane as a whole
        at = {"pos": list(first.placement.position), "size": [first.size[0], 0, 0], "mass": 0.0}
        touches = {"contype": 0, "conaffinity": 2 if second is None else 4}
        body = spec.body(robot.bodies[first.body].name)
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, **touches, **at, **shared)
        if second is not None and second.body not in boxes:
            boxes.add(second.body)
            half = [side / 2.0 for side in second.size]
            spec.body(robot.bodies[second.body].name).add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=0.0, contype=4, conaffinity=2, **shared
            )
    model = spec.compile()
    model.opt.timestep = dt
    return model


def stiffest(model: Any) -> Any:
    """Return a model with the stiffest contacts that MuJoCo recommends: a time constant of two steps, and no creep."""
    made = copy.copy(model)
    made.geom_solref[:] = made.jnt_solref[:] = 2.0 * model.opt.timestep, 1.0
    made.geom_solimp[:] = made.jnt_solimp[:] = 0.99, 0.9999, 1e-4, 0.5, 2.0
    made.geom_margin[:] = 0.0
    made.opt.iterations, made.opt.tolerance, made.opt.impratio = 100, 1e-12, 100.0
    made.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    return made


def peer_run(robot: on.Robot, model: Any, q: Array, v: Array, steps: int, control: Array | None = None) -> Any:
    """Return a function that runs MuJoCo's rollout from states of ours, and returns its states."""
    from mujoco import rollout as mujoco_rollout

    convert = on.convert(robot, model)
    start = np.concatenate([np.zeros((len(q), 1)), *convert.to_peer(q, v)], axis=1)
    data = [mujoco.MjData(model)]
    given = {} if control is None else {"control": control}
    return lambda: mujoco_rollout.rollout(model, data, start, nstep=steps, **given)


def raced(ours: Mapping[str, Callable[[], Any]], peers: Mapping[str, Callable[[], Any]], total: int) -> Figures:
    """Yield times per step, ratios to each peer, and the errors that our runs tell."""
    contestants = {**ours, **peers}
    runs = {name: run() for name, run in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(2 if settings.quick else 5):
        for name, run in contestants.items():
            started = processor_clock()
            run()
            times[name].append(processor_clock() - started)
    t = {name: np.array(x) for name, x in times.items()}
    for name in ours:
        found = runs[name].certificate
        yield f"{name}.us_per_step", 1e6 * t[name].min() / total
        yield f"{name}.residual_99", float(np.percentile(found.residual, 99))
        yield f"{name}.penetration_max", float(found.penetration.max())
        yield f"{name}.uncertified", int(runs[name].uncertified.sum())
        for peer in peers:
            yield f"{name}.vs_{peer}", float(np.median(t[peer] / t[name]))
    for name in peers:
        yield f"{name}.us_per_step", 1e6 * t[name].min() / total
