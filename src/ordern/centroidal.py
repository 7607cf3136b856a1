"""The centre of mass, the centroidal momentum, energies and wrenches of subtrees as methods of robots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from .errors import ArgumentError, unknown_name
from .kernel.declarations import Answering, Array, Device, Out, Threads
from .model import BASE, Frame, Model
from .model.parts import carried

__all__ = ["CentroidalMethods"]

External = ArrayLike | Mapping[str, ArrayLike]
_WHOLE = Frame("world", BASE)


class CentroidalMethods(Answering, Model):
    """Questions about all mass of a robot, or of a subtree."""

    def com(
        self,
        q: ArrayLike,
        subtree: str | None = None,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the centre of mass in the world, of shape (..., 3).

        `subtree` is the name of a body, and stands for this body with all that it carries. The default is the whole
        robot; links that are fixed to the base do not count.
        """
        return self._ask("com", (q,), {"frame": self._subtree(subtree)}, None, threads, out, device)

    def com_velocity(
        self, q: ArrayLike, v: ArrayLike, subtree: str | None = None, threads: Threads = None, out: Out = None, *,
        device: Device = None,
        base_velocity: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the velocity of the centre of mass in the world's axes, of shape (..., 3). See `com`."""
        named = {"frame": self._subtree(subtree), "base_velocity": base_velocity}
        return self._ask("com_velocity", (q, v), named, None, threads, out, device)

    def com_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, subtree: str | None = None, threads: Threads = None,
        out: Out = None, *,
        device: Device = None, base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the acceleration of the centre of mass in the world's axes, of shape (..., 3). See `com`."""
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        named = {"frame": self._subtree(subtree), **moved}
        return self._ask("com_acceleration", (q, v, a), named, None, threads, out, device)

    def com_jacobian(
        self,
        q: ArrayLike,
        subtree: str | None = None,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the matrix J with `com_velocity` = J v, of shape (..., 3, nv)."""
        return self._ask("com_jacobian", (q,), {"frame": self._subtree(subtree)}, None, threads, out, device)

    def centroidal_momentum(
        self,
        q: ArrayLike,
        v: ArrayLike,
        subtree: str | None = None,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the momentum (angular, linear) about the centre of mass, in the world's axes, of shape (..., 6).

        `subtree` is as for `com`. For the momentum about another point, use `momentum`.
        """
        named = {"frame": self._subtree(subtree)}
        return self._ask("centroidal_momentum", (q, v), named, None, threads, out, device)

    def centroidal_map(
        self,
        q: ArrayLike,
        subtree: str | None = None,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the matrix A with `centroidal_momentum` = A v, of shape (..., 6, nv)."""
        return self._ask("centroidal_map", (q,), {"frame": self._subtree(subtree)}, None, threads, out, device)

    def centroidal_map_rate(
        self,
        q: ArrayLike,
        v: ArrayLike,
        subtree: str | None = None,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
    ) -> Array:
        """Return the rate of change of `centroidal_map` along a motion, of shape (..., 6, nv).

        With it, the rate of the centroidal momentum is A a + A' v.
        """
        named = {"frame": self._subtree(subtree)}
        return self._ask("centroidal_map_rate", (q, v), named, None, threads, out, device)

    def kinetic_energy(
        self, q: ArrayLike, v: ArrayLike, threads: Threads = None, out: Out = None, *, device: Device = None,
        base_velocity: ArrayLike | None = None, subtree: str | None = None,
    ) -> Array:  # fmt: skip
        """Return the kinetic energy of all bodies and drives, of the batch's shape.

        With a `subtree` as for `com`, return that of its bodies and of the drives of its joints.
        """
        return self._energy("kinetic_energy", (q, v), {"base_velocity": base_velocity}, subtree, threads, out, device)

    def potential_energy(
        self,
        q: ArrayLike,
        threads: Threads = None,
        out: Out = None,
        *,
        device: Device = None,
        subtree: str | None = None,
    ) -> Array:
        """Return the potential energy in the field of gravity, zero at the base's origin, of the batch's shape.

        With a `subtree` as for `com`, return that of its bodies.
        """
        return self._energy("potential_energy", (q,), {}, subtree, threads, out, device)

    def supported_wrench(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, subtree: str, axes: str = "frame",
        external: External | None = None, threads: Threads = None, out: Out = None, *, device: Device = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """Return the (moment, force) that a subtree receives from the body that carries it, of shape (..., 6).

        It moves the subtree with accelerations `a` against gravity and `external` forces (see `inverse_dynamics`): the
        reading of a force sensor in the joint. `subtree` is as for `com`; for a link behind a fixed joint, build the
        robot with merge=False. The `axes` are those of the subtree's first body ("frame"), or the world's, about the
        body's origin ("world") or the world's ("origin").
        """
        if self.nc:
            raise ArgumentError(
                f"supported_wrench: {self.name!r} has loops; accelerations `a` alone do not determine their forces. "
                "Use `joint_wrenches` with the joint forces `tau`, or `robot.opened()`"
            )
        if subtree is None:
            raise ArgumentError("supported_wrench: name the body with which the subtree begins")
        moved = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
        named = {"frame": self._subtree(subtree, massless=True), "axes": axes, "external": external, **moved}
        return self._ask("supported_wrench", (q, v, a), named, None, threads, out, device)

    def _energy(
        self, question: str, state: tuple[ArrayLike, ...], named: dict[str, Any], subtree: str | None,
        threads: Threads, out: Out, device: Device,
    ) -> Array:  # fmt: skip
        if subtree is None:
            return self._ask(question, state, named, None, threads, out, device)
        named = {**named, "frame": self._subtree(subtree, massless=True)}
        return self._ask(f"subtree_{question}", state, named, None, threads, out, device)

    def _subtree(self, name: str | None, massless: bool = False) -> Frame:
        """Return the frame of the body with which a subtree begins, or of the base for the whole robot.

        A subtree without mass is an error, unless it may be `massless`.
        """
        if not isinstance(name, str | None):
            raise ArgumentError(f"subtree must be the name of a body, or None for the whole robot, not {name!r}")
        return self._kernels.kept(("subtree", name, massless), lambda: _root(self, name, massless))


def _root(model: Model, name: str | None, massless: bool) -> Frame:
    if name is None:
        root, bodies = _WHOLE, model.bodies
    else:
        root = _body_frame(model, name)
        bodies = tuple(model.bodies[k] for k in carried(model.joints, root.body))
    if not massless and not sum(b.mass for b in bodies):
        raise ArgumentError(f"{name or model.name!r} has no mass, and so no centre of mass")
    return root


def _body_frame(model: Model, name: str) -> Frame:
    """Return the frame of a body that a joint moves by itself."""
    numbers = {b.name: k for k, b in enumerate(model.bodies)}
    if name in numbers:
        return Frame(name, numbers[name])
    found = next((f for f in model.frames if f.name == name), None)
    if found is None:
        raise unknown_name("body", name, numbers, model.name)
    to = "the base" if found.body == BASE else repr(model.bodies[found.body].name)
    raise ArgumentError(
        f"subtree: {name!r} is fixed to {to} of {model.name!r}, and no joint moves it by itself; name a body that a "
        "joint moves, or build the robot with merge=False"
    )
