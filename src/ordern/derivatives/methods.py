"""Products of derivatives with tangents and cotangents, as methods of robots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ArgumentError
from ..kernel.declarations import Answering, Array, Device, Threads, delegated
from ..kernel.elsewhere import is_elsewhere
from ..kernel.place import PLACE, placed
from ..model import Model
from ..model.parameter_fields import FIELDS
from .call import CLOSED, Call, Named
from .matrices import Derivatives

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulate.linearise import Linearisation

__all__ = ["DerivativeMethods"]


class DerivativeMethods(Answering, Model):
    """Derivatives of the answers to questions by their arguments."""

    @placed
    def jvp(
        self, question: str, arguments: Sequence[ArrayLike] | Named, tangents: Sequence[ArrayLike | None] | Named,
        method: str | None = None, threads: Threads = None, *, device: Device = None, **settings: Any,
    ) -> Array:  # fmt: skip
        """Return the rate of an answer while its arguments vary along tangents: J t, in the shape of the answer.

        `arguments` are those of the question, in order or by name. `tangents` are in the same order, None for an
        argument that is constant, or by name, fields of `robot.parameters` included. The tangent of a position is a
        velocity of shape (..., nv), along which `integrate` moves it; that of a pose is the velocity of the frame in
        its own axes, (..., 6). `settings` are those of the question, such as the frame.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> arm.jvp("gravity_force", ([0.3, 0.2],), ([1.0, 0.0],)).shape
        (2,)
        """
        key = None
        if type(tangents) is tuple and threads is None and not settings:
            key = _key("jvp", question, arguments, tuple(x is not None for x in tangents), method)
            if (fast := self._usual_products.get(key)) is not None:
                try:
                    found: Array = fast(*arguments, *[x for x in tangents if x is not None])
                    return found
                except ArgumentError:
                    key = None  # below, the error has the words of the caller
        closed = self._closed(question, arguments, settings, method, threads)
        if closed is not None:
            return np.asarray(closed.jvp(tangents))
        call = Call(self, question, arguments, settings, method)
        along = call.by_name("tangents", tangents, FIELDS)
        if not along:
            raise ArgumentError(f"jvp of {question}: give a tangent of at least one argument")
        call.vary_parameters(along)
        call.require_fit(along)
        rate = call.ask("jvp", tuple(along), list(along.values()), threads)
        if key is not None and (kernel := call.plain_kernel("jvp", tuple(along))) is not None:
            self._usual_products[key] = kernel.single
        return rate

    @placed
    def vjp(
        self, question: str, arguments: Sequence[ArrayLike] | Named, cotangent: ArrayLike,
        wrt: str | Sequence[str] | None = None, method: str | None = None, threads: Threads = None, *,
        device: Device = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the gradient of the sum of cotangent times answer by the arguments: J^T w, a named tuple.

        `arguments` are as for `jvp`; `wrt` names those that vary, by default all that are given; it may name fields of
        `robot.parameters`, such as "inertia", as well. The cotangent has the shape of the answer; that of a position
        has the shape of a velocity, and so has a gradient by a position.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> g = arm.vjp("potential_energy", ([0.3, 0.2],), 1.0)
        >>> bool(abs(g.q - arm.gravity_force([0.3, 0.2])).max() < 1e-14)
        True
        """
        key = None
        if threads is None and not settings and (wrt is None or isinstance(wrt, (str, tuple, list))):
            key = _key("vjp", question, arguments, wrt if wrt is None or isinstance(wrt, str) else tuple(wrt), method)
            if (fast := self._usual_products.get(key)) is not None:
                try:
                    return fast(*arguments, cotangent)
                except ArgumentError:
                    key = None  # below, the error has the words of the caller
        closed = self._closed(question, arguments, settings, method, threads)
        if closed is not None:
            return closed.vjp(cotangent, wrt)
        call = Call(self, question, arguments, settings, method)
        names = call.varied(wrt)
        call.vary_parameters(names)
        call.require_fit(cotangent=cotangent)
        split = call.split("Gradient", names, ())
        found = split(call.ask("vjp", names, [cotangent], threads))
        if key is not None and (kernel := call.plain_kernel("vjp", names)) is not None:
            single = kernel.single
            self._usual_products[key] = lambda *given: split(single(*given))
        return found

    @delegated("simulate.linearise", sets=True, composed=True)
    def linearise(  # type: ignore[empty-body]
        self, q: ArrayLike, v: ArrayLike | None = None, tau: ArrayLike | None = None, dt: float | None = None, *,
        method: str | None = None, external: Any = None, smoothing: float = 0.01,
        independent: Sequence[str] | None = None,
    ) -> Linearisation:  # fmt: skip
        """Return the linearised motion near a state, as the matrices A and B of dx/dt = A x + B u.

        x are small changes of position, in the tangent of `integrate`, and of velocity: 2 nv numbers. u is a change of
        the joint forces tau, which are zero unless given, as the velocity is. With `dt`, the matrices are those of one
        step of `rollout` by `method`, which is "semi-implicit-euler" unless given: x' = A x + B u, exactly. Dampers,
        friction (with its `smoothing`), springs and drag take part, as in rollouts; `external` forces on bodies are
        constant. Batches broadcast. Steps of semi-implicit Euler in which dry friction or a limit holds a joint are
        differentiated as such: small forces do not move this joint. Other methods, and the matrices without `dt`, have
        smoothed friction and no limits.

        For a robot with loops, x has changes of some freedoms only, which determine all others: those of the joints
        in `independent`, or freedoms that are chosen well. The result's `positions` and `velocities` are their indices,
        and `lift @ x` are the changes of all positions and velocities.

        >>> import ordern as on
        >>> A, B = on.load("double-pendulum").linearise([3.14, 0.0])
        >>> A.shape, B.shape
        ((4, 4), (4, 2))
        """

    def _closed(
        self, question: str, arguments: Any, settings: dict[str, Any], method: str | None, threads: Threads
    ) -> Any:
        """Return the derivatives of a function that keeps loops closed; None for another function or a tree."""
        if question not in CLOSED or not (self.nc or question == "actuation"):
            return None
        if is_elsewhere(list(arguments.values() if isinstance(arguments, Mapping) else arguments)):
            raise ArgumentError(
                f"derivatives of {question} of {self.name!r}, which keeps loops closed, are for NumPy arrays; other "
                "array libraries differentiate `forward_dynamics` and `closed_dynamics` themselves"
            )
        from ..loops.derivatives import closed_derivatives

        return closed_derivatives(cast("Robot", self), question, arguments, settings, method, threads)

    @delegated("simulate.rollout_derivatives", sets=True)
    def rollout_vjp(
        self, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None = None, steps: int | None = None, dt: float = 1e-3,
        *, q: ArrayLike | None = None, v: ArrayLike | None = None, wrt: str | Sequence[str] | None = None,
        threads: Threads = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the gradient of the sum of weights times the states of a rollout by its arguments: a named tuple.

        The arguments and settings are those of `rollout`; `q`, `v` and `wrt` are those of `Rollout.vjp`, whose result
        is the same. Use this function where the states are not needed, or were computed elsewhere: it takes the steps
        itself.
        """

    @delegated("simulate.rollout_derivatives", sets=True)
    def rollout_jvp(
        self, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike | None = None, steps: int | None = None, dt: float = 1e-3,
        *, tangents: Named, threads: Threads = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the rates (q, v) of the states of a rollout while arguments vary along tangents.

        The arguments and settings are those of `rollout`; `tangents` are by the names of arguments, as in
        `Rollout.jvp`.
        """

    @cached_property
    def _usual_products(self) -> dict[Any, Callable[..., Any]]:
        """The functions of earlier calls of `jvp` and `vjp`: calls like them skip all checks but those of arguments."""
        return {}

    @cached_property
    def derivatives(self) -> Derivatives:
        """The derivatives of each question: `robot.derivatives.forward_dynamics(q, v, tau).q` is (..., nv, nv)."""
        return Derivatives(self)


def _key(mode: str, question: str, arguments: Any, varied: Any, method: str | None) -> tuple[Any, ...] | None:
    """Return what a usual call depends on, beside its numbers: arguments in order, on this machine; None for others."""
    if type(arguments) is not tuple or any(x is None for x in arguments) or PLACE.device is not None:
        return None
    return mode, question, len(arguments), varied, method
