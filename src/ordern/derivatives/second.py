"""Derivatives of second order, as methods of robots: products with Hessians, Hessians, and whole second derivatives.

Derivatives are questions, and questions have derivatives: a product with a Hessian is the rate of a gradient along
tangents. Second derivatives of all numbers of an answer are Hessians with unit cotangents, which are a batch; of long
answers, they are the rates of matrices of derivatives along all unit tangents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import questions
from ..algorithms.derivatives.hessian import pairs_of
from ..algorithms.registry import find_question
from ..arguments import AnyArray
from ..compile.run.result_pool import FROM_BYTES, ResultPool
from ..declared import explained_methods
from ..errors import ArgumentError
from ..kernel.declarations import Device, Threads
from ..kernel.place import placed
from ..model.parameter_fields import FIELDS
from .call import CLOSED, Call, Named, named_tuple, require_count
from .methods import DerivativeMethods
from .second_dynamics import SecondDynamics, all_pairs, zeros

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["SecondDerivativeMethods", "SecondDerivatives"]

_MOST_AT_ONCE = 5000
"""The number of first derivatives up to which the matrices are differentiated, not products with two tangents."""


class SecondDerivativeMethods(DerivativeMethods):
    """Derivatives of second order of the answers to questions."""

    @placed
    def hvp(
        self, question: str, arguments: Sequence[ArrayLike] | Named, cotangent: ArrayLike,
        tangents: Sequence[ArrayLike | None] | Named, wrt: str | Sequence[str] | None = None,
        cotangent_tangent: ArrayLike | None = None, method: str | None = None, threads: Threads = None, *,
        device: Device = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the rate of a gradient, as `vjp` returns it, while the arguments vary along tangents.

        This is the product of the tangents with the Hessian of the sum of cotangent times answer. `arguments` and
        `tangents` are as for `jvp`, `cotangent` and `wrt` as for `vjp`: fields of `robot.parameters` take part, except
        for functions that keep loops closed. For a function f of an answer y, give f'(y) as the cotangent, and its rate
        along the tangents, f''(y) J t, as `cotangent_tangent`. Then the result is a product with the Hessian of f,
        which is part of the rate of the gradient.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> product = arm.hvp("potential_energy", ([0.3, 0.2],), 1.0, ([1.0, 0.0],))
        >>> bool(abs(product.q - arm.jvp("gravity_force", ([0.3, 0.2],), ([1.0, 0.0],))).max() < 1e-13)
        True
        """
        call, rows = _called(self, question, arguments, settings, method)
        along = call.by_name("tangents", tangents, FIELDS)
        names = _varied(call, wrt, rows, along)
        missing = [x for x in along if x not in call.given and x not in FIELDS]
        if missing:
            raise ArgumentError(f"hvp of {question}: {missing[0]!r} has a tangent, but is not given")
        given = {"cotangent": cotangent, "cotangent_tangent": cotangent_tangent}
        w = {x: _padded(call, question, y, rows) for x, y in given.items() if y is not None}
        call.require_fit(along, **w)
        gradient = call.derived("vjp", names, w["cotangent"])
        if cotangent_tangent is not None:
            (added,) = gradient.given.keys() - call.given.keys()
            along[added] = w["cotangent_tangent"]
        if not along:
            raise ArgumentError(f"hvp of {question}: give a tangent of at least one argument")
        flat = gradient.ask("jvp", tuple(along), list(along.values()), threads)
        return call.split("HessianProduct", names, ())(flat)

    @placed
    def hessian(
        self, question: str, arguments: Sequence[ArrayLike] | Named, cotangent: ArrayLike,
        wrt: str | Sequence[str] | None = None, method: str | None = None, threads: Threads = None, *,
        device: Device = None, **settings: Any,
    ) -> Any:  # fmt: skip
        """Return the second derivatives of the sum of cotangent times answer: a named tuple by pairs of arguments.

        Pairs are in the order of the arguments, such as `q_q`, `q_v` and `v_v`; `q_v` has the shape of a tangent of q,
        then of v. All arguments are as for `vjp`. Where freedoms of a joint do not commute, as those of a quaternion,
        `q_q[..., i, j]` is the derivative along j of the derivative along i.

        >>> import ordern as on
        >>> arm = on.load("double-pendulum")
        >>> arm.hessian("kinetic_energy", ([0.3, 0.2], [1.0, 0.0]), 1.0)._fields
        ('q_q', 'q_v', 'v_v')
        """
        call, rows = _called(self, question, arguments, settings, method)
        names, w = _varied(call, wrt, rows), _padded(call, question, cotangent, rows)
        call.require_fit(cotangent=w)
        if _is_forward_dynamics(call, names):
            found = SecondDynamics(call, threads, np.shape(w)[:-1]).weighted(names, w)
        else:
            found = _hessians(call, names, [w], threads, spread=False)
        return _by_pairs("Hessian", names)(*found)

    @cached_property
    def second_derivatives(self) -> SecondDerivatives:
        """The second derivatives of each question: `robot.second_derivatives.forward_dynamics(q, v, tau).q_v`."""
        return SecondDerivatives(self)


@explained_methods
class SecondDerivatives:
    """The second derivatives of the answers of a robot: a function for each question, with the question's name.

    It takes the arguments and settings of the question, `wrt` (the names of the arguments that vary, by default all
    that are given, and of fields of `robot.parameters`), `method`, `threads` and `device`. It returns a named tuple
    with an array for each pair of arguments in their order, such as `q_q`, `q_v` and `v_v`: the shape of the answer,
    then that of the first and of the second argument. Arrays that are zero for every robot, such as `tau_tau` of
    forward dynamics, are read-only.
    `q_v` is the derivative by v of the derivative by q. The derivative of `derivatives` along positions is not
    symmetric where freedoms of a joint do not commute, as those of a quaternion: `q_q[..., i, j]` moves along j, and
    the first derivative there is along i.
    """

    def __init__(self, robot: SecondDerivativeMethods) -> None:
        self._robot = robot
        self._pools: dict[tuple[str, str], ResultPool] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(self._of, find_question(name).name)

    def __dir__(self) -> list[str]:
        return [asked.name for asked in questions()]

    def __repr__(self) -> str:
        return f"<SecondDerivatives of {self._robot.name!r}: one function for each question, such as forward_dynamics>"

    @placed
    def _of(
        self, question: str, *arguments: ArrayLike, wrt: str | Sequence[str] | None = None, method: str | None = None,
        threads: Threads = None, **named: Any,
    ) -> Any:  # fmt: skip
        asked = find_question(question)
        inputs = [p.name for p in asked.inputs]
        if self._robot.nc and question in CLOSED and "t" not in inputs:
            inputs.append("t")  # loops may be driven by time
        require_count(asked, inputs, len(arguments))
        given = dict(zip(inputs, arguments, strict=False)) | {x: named.pop(x) for x in inputs if x in named}
        call, rows = _called(self._robot, question, given, named, method)
        names = _varied(call, wrt, rows)
        call.require_fit()
        if _is_forward_dynamics(call, names):
            found = SecondDynamics(call, threads).all(names, self._array)
        else:
            found = _general(call, names, threads)
        if rows is not None:
            ends = [len(call.tangent_shape(x)) + len(call.tangent_shape(y)) for x, y in all_pairs(names)]
            found = [_first(x, rows, end) for x, end in zip(found, ends, strict=True)]
        return _by_pairs("SecondDerivative", names)(*found)

    def _array(self, pair: tuple[str, str], shape: tuple[int, ...], dtype: Any) -> AnyArray:
        """Return an array for a result, with any contents, in memory of an earlier result that nobody holds."""
        pool = self._pools.setdefault(pair, ResultPool())
        kept = math.prod(shape) * np.dtype(dtype).itemsize >= FROM_BYTES
        found = pool.array(shape, np.dtype(dtype)) if kept else None
        return np.empty(shape, dtype) if found is None else found


def _called(
    robot: SecondDerivativeMethods, question: str, arguments: Any, settings: dict[str, Any], method: str | None
) -> tuple[Call, int | None]:
    """Return the call of a question, and how many numbers of its answer count; None if all do.

    Forward dynamics of robots with loops is differentiated with all rows of its equations.
    """
    if not robot.nc or question not in CLOSED:
        return Call(robot, question, arguments, settings, method), None
    from ..loops.second_order import regular_arguments, rows_of

    mechanism = cast("Robot", robot)
    rows = rows_of(mechanism, question)
    given = regular_arguments(mechanism, question, arguments, settings)
    return Call(robot, "closed_dynamics", given, {}, method, title=question), rows


def _padded(call: Call, question: str, cotangent: ArrayLike, rows: int | None) -> ArrayLike:
    """Return a cotangent with zeros for the numbers of the answer that do not count."""
    if rows is None:
        return cotangent
    w = np.asarray(cotangent)
    if w.shape[-1:] != (rows,):
        raise ArgumentError(
            f"second derivatives of {question}: the cotangent has shape {w.shape}; its last dimension must be {rows}"
        )
    return np.concatenate([w, np.zeros((*w.shape[:-1], call.answer[0] - rows), w.dtype)], axis=-1)


def _varied(
    call: Call, wrt: str | Sequence[str] | None, rows: int | None, along: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the names of the arguments that vary, and make fields among them and the tangents arguments of the code.

    Functions that keep loops closed, which have `rows`, are differentiated twice by their arguments only.
    """
    names = call.varied(wrt)
    fields = [x for x in (*names, *along) if x in FIELDS]
    if fields and rows is not None:
        raise ArgumentError(
            f"second derivatives of {call.title} of a robot with loops are by its arguments, not by {fields[0]!r} of "
            "the robot; differences of `robot.derivatives` at other parameters give them"
        )
    call.vary_parameters(fields)
    return names


def _first(x: AnyArray, rows: int, end: int) -> AnyArray:
    """Return the first rows along the dimension that has `end` dimensions after it."""
    index: Any = (..., slice(rows), *(slice(None),) * end)
    return np.asarray(x[index])


def _is_forward_dynamics(call: Call, names: Sequence[str]) -> bool:
    """Return whether a call is one of forward dynamics of one robot, by its position, velocity and joint forces."""
    same = call.asked.name == "forward_dynamics" and set(names) <= {"q", "v", "tau"}
    return same and not call.robot.batch_shape


def _by_pairs(title: str, names: Sequence[str]) -> Any:
    """Return the class of named tuples with a name for each pair of arguments."""
    return named_tuple(title, tuple(f"{x}_{y}" for x, y in all_pairs(names)))


def _general(call: Call, names: Sequence[str], threads: Threads) -> list[AnyArray]:
    """Return the second derivatives by all pairs of arguments, from the graph of the first derivatives."""
    rows, columns = math.prod(call.answer), sum(math.prod(call.tangent_shape(x)) for x in names)
    if rows <= columns and rows * columns <= _MOST_AT_ONCE:
        units = np.eye(rows, dtype=call.dtype).reshape(rows, *call.answer)
        blocks = _hessians(call, tuple(names), [units], threads, spread=True)
        before = len(blocks[0].shape) - len(call.tangent_shape(names[0])) * 2 - 1
        return [x.reshape((*x.shape[:before], *call.answer, *x.shape[before + 1 :])) for x in blocks]
    found: dict[tuple[str, str], AnyArray] = {}
    known = pairs_of(call.asked.name, names)
    for y in names:
        firsts = tuple(x for x in names if (x, y) in known)
        if rows * sum(math.prod(call.tangent_shape(x)) for x in firsts) > _MOST_AT_ONCE:
            found |= {(x, y): _by_two_tangents(call, x, y, threads) for x in firsts}
        elif firsts:
            rates = call.derived("jacobian", firsts).along_units(y, threads)
            parts = call.split("Rates", firsts, call.answer)(rates)
            for x, part in zip(firsts, parts, strict=True):
                found[x, y] = call.moved(part, [y], (*call.answer, *call.tangent_shape(x)))
    ends = {(x, y): (*call.answer, *call.tangent_shape(x), *call.tangent_shape(y)) for x, y in all_pairs(names)}
    return [found.get(pair, zeros((*call.batch, *end), call.dtype)) for pair, end in ends.items()]


def _hessians(
    call: Call, names: tuple[str, ...], cotangents: list[Any], threads: Threads, spread: bool
) -> list[AnyArray]:
    """Return the second derivatives of the sum of cotangent times answer by all pairs of arguments."""
    flat = call.ask("hessian", names, cotangents, threads, spread=spread)
    found, stop = {}, 0
    for x, y in pairs_of(call.asked.name, names):
        shape = (*flat.shape[:-1], *call.tangent_shape(x), *call.tangent_shape(y))
        start, stop = stop, stop + math.prod(shape[flat.ndim - 1 :])
        found[x, y] = flat[..., start:stop].reshape(shape)
    ends = {(x, y): (*call.tangent_shape(x), *call.tangent_shape(y)) for x, y in all_pairs(names)}
    return [found.get(pair, zeros((*flat.shape[:-1], *end), flat.dtype)) for pair, end in ends.items()]


def _by_two_tangents(call: Call, x: str, y: str, threads: Threads) -> AnyArray:
    """Return the second derivatives by two arguments, a product for each two unit tangents."""
    units = call.units(x)
    rates = call.spread().derived("jvp", (x,), units).along_units(y, threads)
    return call.moved(rates, [x, y], call.answer)
