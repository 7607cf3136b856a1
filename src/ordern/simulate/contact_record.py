"""Contacts in rollouts: their arguments, what is kept of them, and certificates of how exact the steps are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray
from ..errors import ArgumentError
from ..records import dataclass
from .rollout_arguments import shared_rows

if TYPE_CHECKING:
    from ..robot import Robot
    from .rollout_arguments import Plan

__all__ = ["Certificate", "ContactRecord", "ContactSettings", "require_contacts", "surfaces"]

_RESIDUAL = {"float64": 1e-6, "float32": 1e-4}
"""Steps with larger residuals, in m/s, are not certified."""
_PENETRATION = 1e-3
"""Steps with deeper penetrations, in m, are not certified."""


@dataclass(frozen=True, slots=True)
class ContactSettings:
    """The arguments of a rollout that are about contacts."""

    friction: Any = None
    height: Any = None
    impulses: Any = None

    @property
    def given(self) -> tuple[str, ...]:
        """The names of arguments that are given."""
        named = {"contact_friction": self.friction, "ground_height": self.height, "contact_impulses": self.impulses}
        return tuple(name for name, x in named.items() if x is not None)


@dataclass(frozen=True, eq=False)
class Certificate:
    """How exact the steps of a rollout with contacts were. Arrays (..., rows): a number for each kept state.

    Each number is about all steps since the kept state before; those of the first state are zero.
    """

    residual: AnyArray
    """The largest residual of the contact law, in m/s: by how much a contact's velocity, or its friction, is off."""
    penetration: AnyArray
    """The deepest penetration at the start of a step, in m."""
    work: AnyArray
    """The work of all impulses, in J: negative, as friction and impacts take energy, but for the pushing apart."""

    @property
    def uncertified(self) -> NDArray[np.bool_]:
        """True where the residual is above 1e-6 m/s (1e-4 in single precision), or the penetration above 1 mm."""
        return ~((self.residual <= _RESIDUAL[self.residual.dtype.name]) & (self.penetration <= _PENETRATION))

    def __repr__(self) -> str:
        worst = (float(np.nanmax(x, initial=0.0)) for x in (self.residual, self.penetration))
        residual, depth = worst
        return (
            f"<Certificate: residual up to {residual:.2g} m/s, penetration up to {depth:.2g} m, "
            f"{int(self.uncertified.sum())} of {self.residual.size} uncertified>"
        )


class ContactRecord:
    """The arrays of contacts of one rollout, and their parts."""

    def __init__(self, robot: Robot, p: Plan, settings: ContactSettings) -> None:
        contacts = robot.contacts
        assert contacts is not None
        self._nc, self.names = len(contacts.pairs), tuple(c.name for c in contacts.pairs)
        width = 3 * self._nc + (robot.nv if contacts.limited else 0)
        self._batch = p.batch
        self.pushes = np.zeros((p.count, p.rows, width), p.dtype)
        self.certificates = np.zeros((p.count, p.rows, 3), p.dtype)
        self._surfaces = shared_rows(surfaces(robot, p.batch, settings).astype(p.dtype), p.batch)
        self._limits = np.concatenate([robot.lower, robot.upper]).astype(p.dtype)
        self._first = np.zeros((p.count, width), p.dtype)
        if settings.impulses is not None:
            self._first[:, : 3 * self._nc] = _start(settings.impulses, p.batch, self._nc).reshape(p.count, -1)

    @property
    def arrays(self) -> dict[str, AnyArray]:
        """The arrays that compiled steps read and write."""
        return {
            **{"pushes0": self._first, "pushes_out": self.pushes, "certificate_out": self.certificates},
            **{"surfaces": self._surfaces, "limits": self._limits},
        }

    def some(self, order: NDArray[np.int64]) -> ContactRecord:
        """Return the record of some trajectories, by their numbers; the shape of these is that of the new batch."""
        found = ContactRecord.__new__(ContactRecord)
        found._nc, found.names, found._batch = self._nc, self.names, order.shape
        found._surfaces, found._limits, found._first = self._surfaces, self._limits, self._first
        found.pushes, found.certificates = (x[order.reshape(-1)] for x in (self.pushes, self.certificates))
        return found

    @property
    def impulses(self) -> AnyArray:
        """Impulses of contacts, (..., rows, contacts, 3)."""
        found = self.pushes[..., : 3 * self._nc]
        return found.reshape(*self._batch, *found.shape[1:-1], self._nc, 3)

    @property
    def stops(self) -> AnyArray | None:
        """Impulses of stops, (..., rows, nv)."""
        found = self.pushes[..., 3 * self._nc :]
        return found.reshape(*self._batch, *found.shape[1:]) if found.shape[-1] else None

    @property
    def certificate(self) -> Certificate:
        """The certificate of the rollout."""
        found = self.certificates.reshape(*self._batch, *self.certificates.shape[1:])
        return Certificate(found[..., 0], found[..., 1], found[..., 2])


def _start(given: Any, batch: tuple[int, ...], count: int) -> AnyArray:
    """Return the impulses from which the solver of the first step begins, (..., contacts, 3)."""
    try:
        x = np.asarray(given, float)
        if x.shape[-2:] != (count, 3) or not np.isfinite(x).all():
            raise ValueError
        return np.broadcast_to(x, (*batch, count, 3))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"rollout: contact_impulses must be finite numbers of shape (..., {count}, 3), three for each contact; "
            f"... is the batch {batch}, and it has shape {np.shape(given)}"
        ) from None


def require_contacts(
    robot: Robot, settings: ContactSettings, method: str, limits: str, refused: dict[str, bool]
) -> None:
    """Raise if arguments of a rollout do not go together with contacts, or are for contacts that are not there."""
    if robot.contacts is None:
        if settings.given:
            raise ArgumentError(
                f"rollout: {settings.given[0]} is for robots with contacts; {robot.name!r} has none: "
                "robot.with_contacts(on.Ground(...))"
            )
        return
    refused = {
        f"method={method!r}": method != "semi-implicit-euler",
        f"limits={limits!r}": limits != "ignore",
    } | refused
    for what, is_given in refused.items():
        if is_given:
            advice = "; with_contacts(limits=True) stops joints at their limits" if what.startswith("limits") else ""
            raise ArgumentError(f"rollout of {robot.name!r}, which has contacts: {what} is not supported{advice}")


def surfaces(robot: Robot, batch: tuple[int, ...], settings: ContactSettings) -> AnyArray:
    """Return friction, restitution and ground height of each contact, (..., 3 contacts)."""
    contacts = robot.contacts
    assert contacts is not None
    pairs = contacts.pairs
    ground = 0.0 if contacts.ground is None else contacts.ground.height
    usual = np.array([[c.friction, c.restitution, ground] for c in pairs])
    friction = _each(settings.friction, "contact_friction", usual[:, 0], batch)
    height = _each(settings.height, "ground_height", usual[:, 2], batch)
    if not (friction >= 0.0).all():
        raise ArgumentError("rollout: contact_friction must not be negative")
    if settings.height is not None and contacts.ground is None:
        raise ArgumentError(f"rollout: ground_height is given, but {robot.name!r} has no contacts with the ground")
    both = np.broadcast_arrays(friction, np.broadcast_to(usual[:, 1], friction.shape), height)
    found = np.stack(both, axis=-1)
    return found.reshape(*found.shape[:-2], 3 * len(pairs))


def _each(given: Any, name: str, usual: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """Return a number for each contact, with the shape of the batch before it or without."""
    if given is None:
        return usual
    try:
        x = np.asarray(given, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"rollout: {name} is not an array of numbers: {given!r}") from None
    n = len(usual)
    if not np.isfinite(x).all():
        raise ArgumentError(f"rollout: {name} must be finite")
    try:
        if x.ndim == 0:
            return np.broadcast_to(x, (n,))
        if x.shape[-1] not in (1, n):
            raise ValueError
        full = np.broadcast_to(x, (*np.broadcast_shapes(x.shape[:-1], batch), n))
        if full.shape[:-1] != batch:
            raise ValueError
    except ValueError:
        raise ArgumentError(
            f"rollout: {name} has shape {x.shape}; give a number, or (..., {n}) with one for each contact, or (..., 1) "
            f"with one for all, where ... is the batch {batch}"
        ) from None
    return full if math.prod(x.shape[:-1]) > 1 else np.broadcast_to(x.reshape(x.shape[-1]), (n,))
