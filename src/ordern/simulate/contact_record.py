"""Contacts in rollouts: their arguments, what is kept of them, and certificates of how exact the steps are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import AnyArray, finite, real
from ..errors import ArgumentError
from ..model.checks import require_closed_forms
from ..model.contacts import CERTIFICATE
from ..records import dataclass
from .rollout_arguments import shared_rows

if TYPE_CHECKING:
    from ..robot import Robot
    from .rollout_arguments import Plan

__all__ = [
    "RESIDUAL", "Certificate", "ContactRecord", "ContactSettings", "certified", "first_impulses", "require_contacts",
    "surfaces", "surfaces_elsewhere",
]  # fmt: skip

RESIDUAL = {"float64": 1e-6, "float32": 1e-4}
"""Steps with larger residuals, in m/s, are not certified."""
_PENETRATION = 1e-3
"""Steps with deeper penetrations, in m, are not certified."""
_LEVELING = 1e-2
"""Steps in which true points are faster by this, in m/s, are not certified: contacts slower than this do not bounce."""


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
    """The largest residual of the contact law, in m/s: by how much a contact's velocity, or its friction, is off.

    Where a loop opens faster than that, it is this rate, in m/s or rad/s."""
    penetration: AnyArray
    """The deepest penetration at the start of a step, in m.

    If larger, the largest opening of a loop or violation of a joint limit at its end, in m or rad."""
    leveling: AnyArray
    """How far the velocities of points that push are from those of the problem that is solved, in m/s.

    Points of one body on the ground, or of two solids, are solved for at one height. This compares them with points at
    their own heights, where their impulses act: they differ in steps in which some gaps close before others."""
    work: AnyArray
    """The work of all impulses, in J: negative, as friction and impacts take energy, but for the pushing apart."""

    @property
    def uncertified(self) -> NDArray[np.bool_]:
        """True where the residual is above 1e-6 m/s (1e-4 in single precision), the penetration above
        1 mm, or the leveling above 1 cm/s."""
        return np.asarray(~certified(self.residual, self.penetration, self.leveling, self.residual.dtype.name))

    def __repr__(self) -> str:
        worst = (float(np.nanmax(x, initial=0.0)) for x in (self.residual, self.penetration, self.leveling))
        residual, depth, leveling = worst
        return (
            f"<Certificate: residual up to {residual:.2g} m/s, penetration up to {depth:.2g} m, "
            f"leveling up to {leveling:.2g} m/s, "
            f"{int(self.uncertified.sum())} of {self.residual.size} uncertified>"
        )


def certified(residual: Any, penetration: Any, leveling: Any, dtype: str) -> Any:
    """Return where steps can be relied on, for arrays of any library."""
    return (residual <= RESIDUAL[dtype]) & (penetration <= _PENETRATION) & (leveling <= _LEVELING)


class ContactRecord:
    """The arrays of contacts of one rollout, and their parts."""

    def __init__(self, robot: Robot, p: Plan, settings: ContactSettings) -> None:
        contacts = robot.contacts
        assert contacts is not None
        self._nc, self.names = len(contacts.pairs), tuple(c.name for c in contacts.pairs)
        self._turning, self._blocks = contacts.turning, contacts.blocks
        width = 3 * self._blocks + (robot.nv if robot.has_stops else 0)
        self._batch, self.dt = p.batch, p.dt
        self.pushes = np.zeros((p.count, p.rows, width), p.dtype)
        self.certificates = np.zeros((p.count, p.rows, len(CERTIFICATE)), p.dtype)
        given = surfaces(robot, p.batch, settings)
        self.surfaces = np.broadcast_to(given, (*p.batch, 3 * self._nc)).reshape((*p.batch, self._nc, 3))
        self._surfaces = shared_rows(given.astype(p.dtype), p.batch)
        self._limits = np.concatenate([robot.lower, robot.upper]).astype(p.dtype)
        self._first = np.zeros((p.count, width), p.dtype)
        if settings.impulses is not None:
            start = first_impulses(settings.impulses, p.batch, self._nc, self._blocks).reshape(p.count, -1)
            self._first[:, : start.shape[1]] = start

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
        found._turning, found._blocks = self._turning, self._blocks
        found._surfaces, found._limits, found._first = self._surfaces, self._limits, self._first
        found.dt, found.surfaces = self.dt, self.surfaces.reshape(math.prod(self._batch), self._nc, 3)[order]
        found.pushes, found.certificates = (x[order.reshape(-1)] for x in (self.pushes, self.certificates))
        return found

    @property
    def impulses(self) -> AnyArray:
        """Impulses of contacts, (..., rows, contacts, 3)."""
        found = self.pushes[..., : 3 * self._nc]
        return found.reshape(*self._batch, *found.shape[1:-1], self._nc, 3)

    @property
    def moments(self) -> AnyArray:
        """Moments of contacts, (..., rows, contacts, 3); zero without torsional and rolling friction."""
        found = np.zeros((*self.pushes.shape[:-1], self._nc, 3), self.pushes.dtype)
        own = self.pushes[..., 3 * self._nc : 3 * self._blocks]
        found[..., list(self._turning), :] = own.reshape(*own.shape[:-1], -1, 3)
        return found.reshape(*self._batch, *found.shape[1:])

    @property
    def stops(self) -> AnyArray | None:
        """Impulses of stops, (..., rows, nv)."""
        found = self.pushes[..., 3 * self._blocks :]
        return found.reshape(*self._batch, *found.shape[1:]) if found.shape[-1] else None

    @property
    def certificate(self) -> Certificate:
        """The certificate of the rollout."""
        found = self.certificates.reshape(*self._batch, *self.certificates.shape[1:])
        return Certificate(*(found[..., k] for k in range(len(CERTIFICATE))))


def first_impulses(given: Any, batch: tuple[int, ...], count: int, blocks: int | None = None) -> AnyArray:
    """Return the impulses from which the solver of the first step begins, (..., contacts, 3).

    If there are more `blocks` than contacts, moments may stand behind the impulses.
    """
    counts = (count,) if blocks is None else (count, blocks)
    x = real(given, "rollout: contact_impulses")
    try:
        if x.shape[-2:] not in [(n, 3) for n in counts] or not np.isfinite(x).all():
            raise ValueError
        return np.broadcast_to(x, (*batch, *x.shape[-2:]))
    except ValueError:
        raise ArgumentError(
            f"rollout: contact_impulses must be finite numbers of shape (..., {count}, 3), three for each contact; "
            f"... is the batch {batch}, and it has shape {x.shape}"
        ) from None


def require_contacts(
    robot: Robot, settings: ContactSettings, method: str, limits: str | None, refused: dict[str, bool]
) -> None:
    """Raise if arguments of a rollout do not go together with contacts, or are for contacts that are not there."""
    if robot.contacts is None:
        if settings.given:
            raise ArgumentError(
                f"rollout: {settings.given[0]} is for robots with contacts; {robot.name!r} has none: "
                "robot.with_contacts(on.Ground(...))"
            )
        return
    require_closed_forms(robot, "rollout")
    refused = {
        f"method={method!r}": method != "semi-implicit-euler",
        f"limits={limits!r}": limits == "bounce",
    } | refused
    for what, is_given in refused.items():
        if is_given:
            advice = "; limits='active' stops joints at their limits" if what.startswith("limits") else ""
            raise ArgumentError(f"rollout of {robot.name!r}, which has contacts: {what} is not supported{advice}")


def surfaces(
    robot: Robot, batch: tuple[int, ...], settings: ContactSettings,
    named: tuple[str, str] = ("rollout: contact_friction", "rollout: ground_height"),
) -> AnyArray:  # fmt: skip
    """Return friction, restitution and ground height of each contact, (..., 3 contacts); messages use the names."""
    contacts = robot.contacts
    assert contacts is not None
    pairs = contacts.pairs
    ground = 0.0 if contacts.ground is None else contacts.ground.height
    usual = np.array([[c.friction, c.restitution, ground] for c in pairs]).reshape(-1, 3)
    varied = settings.friction
    if varied is None and robot.variation is not None and robot.variation.varies("contact_friction"):
        varied = robot.variation.full()["contact_friction"]
    friction = _each(varied, named[0], usual[:, 0], batch)
    height = _each(settings.height, named[1], usual[:, 2], batch)
    if not (friction >= 0.0).all():
        raise ArgumentError(f"{named[0]} must not be negative")
    if settings.height is not None and contacts.ground is None:
        raise ArgumentError(f"{named[1]} is given, but {robot.name!r} has no contacts with the ground")
    both = np.broadcast_arrays(friction, np.broadcast_to(usual[:, 1], friction.shape), height)
    found = np.stack(both, axis=-1)
    return found.reshape(*found.shape[:-2], 3 * len(pairs))


def surfaces_elsewhere(robot: Robot, where: str, friction: Any, height: Any) -> Any:
    """Return the same as (..., contacts, 3), where friction or height is an array of another library.

    Its numbers may not be known yet; they are checked where they are.
    """
    found = surfaces(robot, (), ContactSettings()).reshape(-1, 3)
    for column, (name, x) in enumerate({"friction": friction, "restitution": None, "height": height}.items()):
        if x is None:
            continue
        if not hasattr(x, "ndim") or isinstance(x, np.ndarray):
            x = real(x, f"{where}: {name}")
        if x.ndim and x.shape[-1] not in (1, len(found)):
            raise ArgumentError(
                f"{where}: {name} has shape {tuple(x.shape)}; give a number, or (..., {len(found)}) with one for each "
                "contact, or (..., 1) with one for all"
            )
        _require_numbers(where, name, x)
        unit = np.zeros((len(robot.contacts.pairs), 3))  # type: ignore[union-attr]
        unit[:, column] = 1.0
        found = _constant(found, x) * _constant(1.0 - unit, x) + (x[..., None] if x.ndim else x) * _constant(unit, x)
    return found


def _require_numbers(where: str, name: str, x: Any) -> None:
    """Raise if friction or a height has numbers that it cannot have; a library that traces has none yet."""
    try:
        known = np.asarray(x.detach() if hasattr(x, "detach") else x)
    except (TypeError, ValueError, RuntimeError):
        return
    if known.dtype.kind in "biuf" and not np.isfinite(known).all():
        raise ArgumentError(f"{where}: {name} must be finite")
    if known.dtype.kind in "if" and name == "friction" and (known < 0.0).any():
        raise ArgumentError(f"{where}: friction must not be negative")


def _constant(a: Any, like: Any) -> Any:
    """Return a NumPy array as one that an array of another library can be multiplied with."""
    return like.new_tensor(a) if hasattr(like, "new_tensor") and isinstance(a, np.ndarray) else a


def _each(given: Any, name: str, usual: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """Return a number for each contact, with the shape of the batch before it or without."""
    if given is None:
        return usual
    x, n = finite(real(given, name), name), len(usual)
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
            f"{name} has shape {x.shape}; give a number, or (..., {n}) with one for each contact, or (..., 1) "
            f"with one for all, where ... is the batch {batch}"
        ) from None
    return full if math.prod(x.shape[:-1]) != 1 else np.broadcast_to(x.reshape(x.shape[-1]), (n,))
