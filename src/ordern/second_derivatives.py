"""Derivatives of second order as methods of robots: products with Hessians, and whole arrays of second derivatives.

Derivatives are questions, and questions have derivatives: a product with a Hessian is the rate of a gradient along
tangents. Arrays of second derivatives are the rates of matrices of derivatives along all unit tangents, which are
a batch. Those of forward dynamics come from inverse dynamics. With a = a(q, v, tau), and x' along one number of q,
which changes the acceleration as well,

    M a_q = -ID_q      M a_v = -ID_v      M a_tau = 1
    a_q'  = -M^-1 (ID_q' + M' a_q)      a_v' = -M^-1 (ID_v' + M' a_v)      a_tau' = -M^-1 M' a_tau
    a_vv  = -M^-1 ID_vv,        zero by v and tau, and twice by tau

Reference: Singh, Russell and Wensing 2023, On second-order derivatives of rigid-body dynamics: theory and
implementation, sec. V: from inverse to forward dynamics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .algorithms import questions
from .algorithms.registry import find_question
from .arguments import AnyArray
from .derivatives import Call, DerivativeMethods, Named, named_tuple
from .errors import ArgumentError
from .kernel.declarations import Threads

__all__ = ["SecondDerivativeMethods", "SecondDerivatives"]

_ZERO = {
    "inverse_dynamics": (("v", "a"), ("a", "a")),
    "forward_dynamics": (("v", "tau"), ("tau", "tau")),
}
"""Second derivatives that are zero for every robot, by pairs of arguments."""
_MOST_AT_ONCE = 5000
"""The number of first derivatives up to which the matrices are differentiated, not products with two tangents."""
_CHUNK = 2**19
"""The number of rates that are in memory at a time: about what the second cache holds."""


class SecondDerivativeMethods(DerivativeMethods):
    """Derivatives of second order of the answers to questions."""

    def hvp(
        self, question: str, arguments: Sequence[ArrayLike] | Named, cotangent: ArrayLike,
        tangents: Sequence[ArrayLike | None] | Named, wrt: str | Sequence[str] | None = None,
        cotangent_tangent: ArrayLike | None = None, method: str | None = None, threads: Threads = None,
        **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the rate of a gradient, as `vjp` returns it, while the arguments vary along tangents.

        This is the product of the tangents with the Hessian of the sum of cotangent times answer. `arguments` and
        `tangents` are as for `jvp`, `cotangent` and `wrt` as for `vjp`. For a function f of an answer y, give f'(y) as
        the cotangent, and its rate along the tangents, f''(y) J t, as `cotangent_tangent`. Then the result is a product
        with the Hessian of f, which is part of the rate of the gradient.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> product = arm.hvp("potential_energy", ([0.3, 0.2],), 1.0, ([1.0, 0.0],))
        >>> bool(abs(product.q - arm.jvp("gravity_force", ([0.3, 0.2],), ([1.0, 0.0],))).max() < 1e-13)
        True
        """
        call = Call(self, question, arguments, settings, method)
        names, along = call.varied(wrt), call.by_name("tangents", tangents)
        missing = [x for x in along if x not in call.given]
        if missing:
            raise ArgumentError(f"hvp of {question}: {missing[0]!r} has a tangent, but is not given")
        gradient = call.derived("vjp", names, cotangent)
        if cotangent_tangent is not None:
            (added,) = gradient.given.keys() - call.given.keys()
            along[added] = cotangent_tangent
        if not along:
            raise ArgumentError(f"hvp of {question}: give a tangent of at least one argument")
        flat = gradient.ask("jvp", tuple(along), list(along.values()), threads)
        return call.split("HessianProduct", names, ())(flat)

    @cached_property
    def second_derivatives(self) -> SecondDerivatives:
        """The second derivatives of each question: `robot.second_derivatives.forward_dynamics(q, v, tau).q_v`."""
        return SecondDerivatives(self)


class SecondDerivatives:
    """The second derivatives of the answers of a robot: a function for each question, with the question's name.

    It takes the arguments and settings of the question, `wrt` (the names of the arguments that vary, by default all
    that are given), `method` and `threads`. It returns a named tuple with an array for each pair of arguments in their
    order, such as `q_q`, `q_v` and `v_v`: the shape of the answer, then that of the first and of the second argument.
    `q_v` is the derivative by v of the derivative by q. The derivative of `derivatives` along positions is not
    symmetric where freedoms of a joint do not commute, as those of a quaternion: `q_q[..., i, j]` moves along j, and
    the first derivative there is along i.
    """

    def __init__(self, robot: SecondDerivativeMethods) -> None:
        self._robot = robot

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(self._of, find_question(name).name)

    def __dir__(self) -> list[str]:
        return [asked.name for asked in questions()]

    def __repr__(self) -> str:
        return f"<SecondDerivatives of {self._robot.name!r}: one function for each question, such as forward_dynamics>"

    def _of(
        self, question: str, *arguments: ArrayLike, wrt: str | Sequence[str] | None = None, method: str | None = None,
        threads: Threads = None, **named: Any,
    ) -> Any:  # fmt: skip
        inputs = [p.name for p in find_question(question).inputs]
        if len(arguments) > len(inputs):
            raise ArgumentError(f"{question} takes {len(inputs)} arguments, not {len(arguments)}")
        given = dict(zip(inputs, arguments, strict=False)) | {x: named.pop(x) for x in inputs if x in named}
        call = Call(self._robot, question, given, named, method)
        names = call.varied(wrt)
        if question == "forward_dynamics" and set(names) <= {"q", "v", "tau"}:
            found = _OfForwardDynamics(call, threads).all(names)
        else:
            found = _general(call, names, threads)
        return named_tuple("SecondDerivative", tuple(f"{x}_{y}" for x, y in _pairs(names)))(*found)


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return all pairs of arguments, each in their order."""
    return [(x, y) for k, y in enumerate(names) for x in names[: k + 1]]


def _general(call: Call, names: Sequence[str], threads: Threads) -> list[AnyArray]:
    """Return the second derivatives by all pairs of arguments, from the graph of the first derivatives."""
    found: dict[tuple[str, str], AnyArray] = {}
    zero = _ZERO.get(call.asked.name, ())
    for k, y in enumerate(names):
        firsts = tuple(x for x in names[: k + 1] if (x, y) not in zero)
        size = math.prod(call.answer) * sum(math.prod(call.tangent_shape(x)) for x in firsts)
        if size > _MOST_AT_ONCE:
            found |= {(x, y): _by_two_tangents(call, x, y, threads) for x in firsts}
        elif firsts:
            rates = call.derived("jacobian", firsts).along_units(y, threads)
            parts = call.split("Rates", firsts, call.answer)(rates)
            for x, part in zip(firsts, parts, strict=True):
                found[x, y] = call.moved(part, [y], (*call.answer, *call.tangent_shape(x)))
    return [found[pair] if pair in found else _zeros(call, *pair) for pair in _pairs(names)]


def _by_two_tangents(call: Call, x: str, y: str, threads: Threads) -> AnyArray:
    """Return the second derivatives by two arguments, a product for each two unit tangents."""
    units = call.units(x)
    rates = call.spread().derived("jvp", (x,), units).along_units(y, threads)
    return call.moved(rates, [x, y], call.answer)


def _zeros(call: Call, x: str, y: str) -> AnyArray:
    return np.zeros((*call.batch, *call.answer, *call.tangent_shape(x), *call.tangent_shape(y)), call.dtype)


class _OfForwardDynamics:
    """The second derivatives of forward dynamics, from the rates of those of inverse dynamics."""

    def __init__(self, call: Call, threads: Threads) -> None:
        """Solve for the acceleration and its first derivatives."""
        self._call, self._threads, self._n = call, threads, call.robot.nv
        batch = call.batch
        self._given = {name: call.flattened(name, batch) for name in call.given}
        self._batch, self._count = batch, math.prod(batch)

    def all(self, names: Sequence[str]) -> list[AnyArray]:
        """Return the second derivatives by all pairs of arguments."""
        call, n = self._call, self._n
        zero = _ZERO["forward_dynamics"]
        found = {
            pair: (np.zeros if pair in zero else np.empty)((self._count, n, n, n), call.dtype) for pair in _pairs(names)
        }
        step = max(1, _CHUNK // max(1, 3 * n**3))
        for start in range(0, self._count, step):
            part = slice(start, start + step)
            self._chunk({pair: x[part] for pair, x in found.items() if pair not in zero}, part)
        return [x.reshape((*self._batch, n, n, n)) for x in found.values()]

    def _chunk(self, found: dict[tuple[str, str], AnyArray], part: slice) -> None:
        """Set the second derivatives of some states."""
        call, n, threads = self._call, self._n, self._threads
        given = {name: x[part] for name, x in self._given.items()}
        forward = Call(call.robot, "forward_dynamics", given, {}, call.method)
        a, first = forward.answered(threads), forward.ask("jacobian", ("q", "v", "tau"), [], threads)
        J = first.reshape(-1, 3, n, n)
        inverse = {name: x for name, x in given.items() if name != "tau"} | {"a": a}
        asked = Call(call.robot, "inverse_dynamics", inverse, {}, None)
        negative = -J[:, 2]
        if ("v", "v") in found:
            rates = asked.derived("jacobian", ("v",)).along_units("v", threads).reshape(-1, n, n, n)
            np.matmul(negative[:, None], rates, out=rates)
            found["v", "v"][...] = np.moveaxis(rates, 1, -1)
        firsts = [x for x in ("q", "v", "tau") if ("q", x) in found]
        if not firsts:
            return
        dM, dID = self._rates(asked, J, firsts)
        for k, x in enumerate(("q", "v", "tau")):
            if x not in firsts:
                continue
            total = np.matmul(dM, J[:, k][:, None])
            if x != "tau":
                total += dID[x]
            rates = np.matmul(negative[:, None], total, out=total)  # (states, along q, answer, x)
            found["q", x][...] = np.moveaxis(rates, 1, -1) if x == "q" else np.swapaxes(rates, 1, 2)

    def _rates(self, asked: Call, J: AnyArray, firsts: Sequence[str]) -> tuple[AnyArray, dict[str, AnyArray]]:
        """Return the rates of M, and of the derivatives of inverse dynamics, along each number of q."""
        n = self._n
        wrt = (*[x for x in firsts if x != "tau"], "a")
        moving = np.swapaxes(J[:, 0], 1, 2)  # the accelerations change with q
        matrices = asked.derived("jacobian", wrt)
        units = asked.units("q")
        rates = matrices.ask("jvp", ("q", "a"), [units, moving], self._threads, spread=True)
        blocks = rates.reshape(-1, n, len(wrt), n, n)
        return blocks[:, :, -1], {x: blocks[:, :, k] for k, x in enumerate(wrt[:-1])}
