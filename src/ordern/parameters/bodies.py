"""New inertias of bodies and of links that were merged into them, from masses, centres of mass and inertias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import Array, broadcast_shapes
from ..errors import ArgumentError, ModelError, unknown_name
from ..model import BASE, Body, Link, Model
from ..model.parameter_sets import varied_place
from ..records import dataclass
from .inertias import about_centre, about_origin, centre, in_frame, numbers_of
from .possible import require_inertias
from .rows import Change, Places, Rows, changed, in_one_piece, moment_numbers

__all__ = ["BodyChanges", "varied_bodies"]

_SAME = 1e-9
"""A larger difference between a body and its links together is not rounding."""


@dataclass(frozen=True, slots=True)
class BodyChanges:
    """The changed inertias of all bodies."""

    inertia: Array
    """(..., n, 10)."""
    mask: NDArray[np.bool_]
    """(n, 10): True for numbers that vary."""
    links: dict[str, Body | None]
    """The links that have changed; None for one with sets of numbers."""


def varied_bodies(model: Model, now: Array, changes: Mapping[str, Change]) -> BodyChanges:
    """Return inertias with changes of "mass", "com" and "inertia" of the present ones, by names of bodies and links."""
    index: dict[str, int | slice] = {b.name: k for k, b in enumerate(model.bodies)}
    of_bodies, of_links, links = _told_apart(model, changes, index)
    coms = np.array([b.com for b in model.bodies]).reshape(-1, 3)
    inertia, mask, given = _varied(now, coms, of_bodies, index)
    if not links:
        return BodyChanges(inertia, mask, {})
    for link in links:
        _require_apart(model, link, bool(given[link.body]), now[..., link.body, :])
    return _with_links(inertia, mask, links, of_links)


def _told_apart(
    model: Model, changes: Mapping[str, Change], bodies: Places
) -> tuple[dict[str, Change], dict[str, dict[str, Any]], list[Link]]:
    """Return the changes of bodies, those of links, and the links."""
    of_bodies: dict[str, Change] = {}
    of_links: dict[str, dict[str, Any]] = {}
    links: dict[str, Link] = {}
    for what, change in changes.items():
        if not isinstance(change, Mapping):
            of_bodies[what] = change
            continue
        whole = {}
        for key, value in change.items():
            link = _link_of(model, key, bodies, what)
            if link is None:
                whole[key] = value
            else:
                links[link.name] = link
                of_links.setdefault(what, {})[link.name] = value
        if whole:
            of_bodies[what] = whole
    return of_bodies, of_links, list(links.values())


def _with_links(
    inertia: Array, mask: NDArray[np.bool_], links: list[Link], changes: Mapping[str, Mapping[str, Any]]
) -> BodyChanges:
    """Return inertias of bodies with changes of links that are part of them; the mask of bodies gets their numbers."""
    own = numbers_of([x.own for x in links])
    places: Places = {x.name: k for k, x in enumerate(links)}
    new, _, _ = _varied(own, np.array([x.own.com for x in links]), changes, places)
    require_inertias("link", list(places), own, new)
    bodies: dict[int, Array] = {}
    for k, link in enumerate(links):
        before, after = in_frame(own[k], link.placement), in_frame(new[..., k, :], link.placement)
        bodies[link.body] = bodies.get(link.body, inertia[..., link.body, :]) + (after - before)
        mask[link.body] |= _seen_from_body({x for x in changes if link.name in changes[x]}, before)
    rows = [((..., k, slice(None)), numbers, 1) for k, numbers in bodies.items()]
    known = {x.name: _with_numbers(x.own, new[k]) if new.ndim == 2 else None for k, x in enumerate(links)}
    return BodyChanges(in_one_piece("vary", inertia, rows, 2), mask, known)


def _varied(
    now: Array, coms: Array, changes: Mapping[str, Change], places: Places
) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return new numbers (..., k, 10), True for numbers that vary (k, 10), and for rows that were given (k,).

    A new mass leaves the centre of mass where it is, and multiplies the inertia about it. A new centre of mass leaves
    the inertia about it as it is. `coms` are the centres of bodies without mass.
    """
    m, c, I = now[..., 0], centre(now, coms), about_centre(now)
    none = np.zeros(now.shape[-2], bool)
    masses, centres, moments = Rows(m, none), Rows(c, none), Rows(I, none)
    if "mass" in changes:
        masses = changed("mass", changes["mass"], m, (), places)
    if "com" in changes:
        centres = changed("com", changes["com"], c, (3,), places)
    if "inertia" in changes:
        moments = changed("inertia", changes["inertia"], I, (6,), places, moment_numbers)
    shapes = (masses.numbers.shape[:-1], centres.numbers.shape[:-2], moments.numbers.shape[:-2])
    broadcast_shapes("vary", *shapes, names=("mass", "com", "inertia"))
    massive, leading = m != 0.0, tuple(range(now.ndim - 2))
    factor = np.where(massive, masses.numbers / np.where(massive, m, 1.0), 1.0)[..., None]
    new_moments = np.where(moments.given[:, None], moments.numbers, I * factor)
    new = about_origin(masses.numbers, centres.numbers, new_moments)
    scaled = (masses.given & ~centres.given & ~moments.given & massive.all(axis=leading))[:, None]
    given = masses.given | centres.given | moments.given
    new = np.where(scaled, now * factor, np.where(given[:, None], new, now))
    new[..., 0] = masses.numbers
    present, off_origin = (now != 0.0).any(axis=leading), (c != 0.0).any(axis=leading)
    mask = np.zeros((len(none), 10), bool)
    mask[:, 0] = masses.given
    mask[:, 1:4] = centres.given[:, None] | (masses.given[:, None] & off_origin)
    mask[:, 4:] = np.where(scaled, present[:, 4:], given[:, None])
    return new, mask, given


def _seen_from_body(given: set[str], before: Array) -> NDArray[np.bool_]:
    """Return the numbers (10,) of a body that vary with those of a link on it, which are `before` in its frame."""
    if given == {"mass"} and before[0]:
        return np.asarray(before != 0.0)  # all of them are multiplied by a factor
    mass, moves = "mass" in given, bool(given & {"mass", "com"})
    return np.array([mass, moves, moves, moves, *(True,) * 6])


def _link_of(model: Model, key: Any, bodies: Places, what: str) -> Link | None:
    """Return the merged link of a name, or that was given itself; None for the name of a body."""
    if isinstance(key, Link):
        if key not in model.links:
            raise ArgumentError(f"{what}: {key!r} is not one of the links of {model.name!r}")
        found: Link | None = key
    elif key in bodies:
        return None
    else:
        found = next((x for x in model.links if x.name == key), None)
    if found is not None and found.body != BASE:
        return found
    known = [*bodies, *(x.name for x in model.links if x.body != BASE and x.name not in bodies)]
    raise unknown_name("body or link", getattr(key, "name", key), known, model.name, _hint(model, key))


def _hint(model: Model, key: Any) -> str:
    """Return why a name has no inertia that can vary."""
    name = getattr(key, "name", key)
    frame = next((f for f in model.frames if f.name == name), None)
    if name == model.base or (frame is not None and frame.body == BASE):
        return f"{name!r} is fixed to the ground, and its mass has no part in the dynamics"
    if frame is not None:
        return f"{name!r} is a frame on body {model.bodies[frame.body].name!r}, and not a link that was merged into it"
    return ""


def _require_apart(model: Model, link: Link, whole: bool, now: Array) -> None:
    """Raise if the link's part in the inertia of its body is not known."""
    body = model.bodies[link.body]
    if link.bare and model.batch_shape and varied_place(model, model.frame(link.name)) is not None:
        raise ModelError(
            f"vary: the placement of link {link.name!r} has sets of numbers, so its mass cannot vary, too. Load the "
            "robot with merge=False, which keeps the link as a body of its own"
        )
    if whole:
        raise ArgumentError(
            f"vary: link {link.name!r} is part of body {body.name!r}, which is varied as a whole in the same call. "
            "Vary all of its links instead: a link of `robot.links`, in place of a name, is the link alone"
        )
    parts = [x for x in model.links if x.body == link.body]
    total = sum((in_frame(numbers_of([x.own])[0], x.placement) for x in parts), np.zeros(10))
    if np.abs(total - now).max() > _SAME * np.abs(now).max(initial=1e-300):
        raise ModelError(
            f"vary: the inertia of body {body.name!r} is not that of its links together, since the body has changed as "
            f"a whole, or varies already. Its link {link.name!r} cannot be varied apart; vary all links of a body in "
            "one call"
        )


def _with_numbers(link: Body, numbers: Array) -> Body:
    """Return a link with another inertia."""
    (mass, *_), moments = numbers.tolist(), about_centre(numbers)
    x, y, z = centre(numbers).tolist() if mass else link.com
    return replace(link, mass=mass, com=(x, y, z), inertia=tuple(moments.tolist()))
