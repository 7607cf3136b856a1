"""Random parameters around those of a robot, physically possible by construction.

The mass of a body is distributed over space with the second moments S = tr(I) / 2 - I about its centre. A random body
is the same distribution after a random affine map: S' = f A S A^T, with the factor f of the mass and an upper
triangular matrix A that has exp(d) on its diagonal and s above it. S' is possible again whatever d, s and f > 0 are:
they are the log-Cholesky parameters of the new inertia relative to the old one.

Reference: Rucker and Wensing 2022, Smooth parameterization of rigid-body inertia.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import Array, choice, positive
from ..errors import ArgumentError
from ..model import BASE, Model
from ..rotations import exp, log
from .inertias import about_centre, centre, matrix, numbers_of, six
from .names import FREEDOM_FIELDS
from .record import Parameters

__all__ = ["Spread", "random_changes"]

Spread = float | Mapping[str, float]
"""A standard deviation for all, or by name."""
_ROUNDING = 1e-9
"""A negative second moment of this part of the largest one is rounding."""
_UPPER = ((0, 0, 1), (1, 2, 2))


def random_changes(
    model: Model, now: Parameters, rng: np.random.Generator, shape: tuple[int, ...], spreads: Mapping[str, Any]
) -> dict[str, Any]:
    """Return changes for `vary` with random numbers of a leading shape; `spreads` are those of `randomise`."""
    changes: dict[str, Any] = {}
    of_bodies = {x: _by_name(spreads[x], x) for x in ("mass", "com", "inertia") if x in spreads}
    if of_bodies:
        changes |= _random_bodies(model, now, rng, shape, of_bodies)
    for field in (*FREEDOM_FIELDS, "contact_friction"):
        if field in spreads:
            changes[field] = _random_terms(model, now, field, _by_name(spreads[field], field), rng, shape)
    if "placement" in spreads:
        changes["placement"] = _random_places(model, now, spreads["placement"], rng, shape)
    if "gravity" in spreads:
        s = positive(spreads["gravity"], "randomise: gravity", zero=True)
        changes["gravity"] = now.gravity + s * rng.normal(size=(*shape, 3))
    return changes


def _by_name(spread: Spread, what: str) -> dict[str, float] | float:
    """Return a standard deviation for all, or by name, checked."""
    if not isinstance(spread, Mapping):
        return positive(spread, f"randomise: {what}", zero=True)
    return {name: positive(x, f"randomise: {what} of {name!r}", zero=True) for name, x in spread.items()}


def _random_bodies(
    model: Model, now: Parameters, rng: np.random.Generator, shape: tuple[int, ...], spreads: Mapping[str, Any]
) -> dict[str, Any]:
    """Return new masses, centres of mass and inertias of bodies and links, by name."""
    bodies = {name: (now.inertia[..., k, :], model.bodies[k].com) for k, name in enumerate(now.names.bodies)}
    links = {
        x.name: (numbers_of([x.own])[0], x.own.com) for x in model.links if x.body != BASE and x.name not in bodies
    }
    known = bodies | links
    heavy = [name for name, (ten, _) in bodies.items() if ten.any()]
    if not heavy and any(isinstance(x, float) for x in spreads.values()):
        raise ArgumentError(f"randomise: no moving body of {model.name!r} has mass")
    spread = {what: dict.fromkeys(heavy, x) if isinstance(x, float) else x for what, x in spreads.items()}
    for what, by_name in spread.items():
        for name in by_name:
            choice("body or link", name, known, model.name)
            if not known[name][0].any():
                raise ArgumentError(
                    f"randomise: {name!r} has no mass, so a spread of its {what} changes nothing; give it a mass first"
                )
    found: dict[str, dict[str, Array]] = {"mass": {}, "com": {}, "inertia": {}}
    for name in dict.fromkeys(name for by_name in spread.values() for name in by_name):
        ten, massless = known[name]
        given = {what: by_name[name] for what, by_name in spread.items() if name in by_name}
        f = np.exp(given["mass"] * rng.normal(size=shape)) if "mass" in given else np.ones(())
        if "mass" in given:
            found["mass"][name] = ten[..., 0] * f
        if "com" in given:
            found["com"][name] = centre(ten, np.array(massless)) + given["com"] * rng.normal(size=(*shape, 3))
        if "inertia" in given:
            A = _affine(given["inertia"], rng, shape, _is_possible(ten))
            found["inertia"][name] = _mapped(about_centre(ten), f, A)
    return {what: by_name for what, by_name in found.items() if by_name}


def _is_possible(ten: Array) -> bool:
    """Return True if a mass distribution can have these moments of inertia."""
    values = np.linalg.eigvalsh(_second_moments(about_centre(ten)))
    return bool((values[..., 0] >= -_ROUNDING * np.abs(values[..., 2])).all())


def _second_moments(moments: Array) -> Array:
    """Return tr(I) / 2 - I of moments of inertia (..., 6)."""
    I = matrix(moments)
    return np.asarray(0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I)


def _affine(s: float, rng: np.random.Generator, shape: tuple[int, ...], possible: bool) -> Array:
    """Return random upper triangular matrices; multiples of one if the distribution does not exist, as in a plane."""
    d, off = s * rng.normal(size=(*shape, 3)), s * rng.normal(size=(*shape, 3))
    if not possible:
        return np.exp(d[..., :1])[..., None] * np.eye(3)
    A = np.exp(d)[..., None] * np.eye(3)
    A[..., _UPPER[0], _UPPER[1]] = off
    return A


def _mapped(moments: Array, f: Array, A: Array) -> Array:
    """Return the moments of inertia (..., 6) after an affine map of the mass, times a factor."""
    S = f[..., None, None] * (A @ _second_moments(moments) @ A.swapaxes(-1, -2))
    return six(np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S)


def _random_terms(
    model: Model, now: Parameters, field: str, spread: dict[str, float] | float, rng: np.random.Generator,
    shape: tuple[int, ...],
) -> dict[str, Array]:  # fmt: skip
    """Return new numbers of joints, by name: each is multiplied by a random factor, and zero stays zero."""
    present = {name: getattr(now, field)[..., part] for name, part in now.names.places(field)}
    nonzero = [name for name, x in present.items() if x.any()]
    word, kind = field.replace("_", " "), "contact" if field == "contact_friction" else "joint"
    if isinstance(spread, float):
        if not nonzero:
            raise ArgumentError(
                f"randomise: no {kind} of {model.name!r} has {word}, so {field}={spread:g} changes nothing; `vary` "
                "sets it"
            )
        spread = dict.fromkeys(nonzero, spread)
    found = {}
    for name, s in spread.items():
        choice(kind, name, present, model.name, model.constraint_hint(name))
        if name not in nonzero:
            raise ArgumentError(
                f"randomise: {kind} {name!r} has no {word}, so a spread of it changes nothing; `vary` sets it"
            )
        new = present[name] * np.exp(s * rng.normal(size=(*shape, present[name].shape[-1])))
        found[name] = new[..., 0] if new.shape[-1] == 1 else new
    return found


def _random_places(
    model: Model, now: Parameters, spread: Any, rng: np.random.Generator, shape: tuple[int, ...]
) -> dict[str, Array]:
    """Return new placements of joints, by name: shifted and turned by random vectors."""
    names = [c.name for c in now.names.joints]
    by_name = spread if isinstance(spread, Mapping) else dict.fromkeys(names, spread)
    found = {}
    for name, s in by_name.items():
        k = names.index(choice("joint", name, names, model.name))
        metres, radians = _pair(s, f"randomise: placement of {name!r}")
        place = now.joint_placement[..., k, :]
        shift, turn = (x * rng.normal(size=(*shape, 3)) for x in (metres, radians))
        position = place[..., :3] + shift
        if radians:
            rotation = log(exp(place[..., 3:]) @ exp(turn), check=False)
            lead = np.broadcast_shapes(position.shape, rotation.shape)
            position = np.concatenate([np.broadcast_to(x, lead) for x in (position, rotation)], axis=-1)
        found[name] = position
    return found


def _pair(s: ArrayLike, what: str) -> tuple[float, float]:
    """Return the standard deviations of a placement, in metres and radians; one number is in metres."""
    given: list[Any] = [s, 0.0] if np.ndim(s) == 0 else list(s)  # type: ignore[arg-type]
    if len(given) != 2:
        raise ArgumentError(f"{what}: give one number, in metres, or two, in metres and radians; not {s!r}")
    return positive(given[0], what, zero=True), positive(given[1], what, zero=True)
