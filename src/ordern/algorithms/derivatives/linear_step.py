"""The linearised motion of a tree whose velocities are the rates of its positions, or one step of semi-implicit Euler.

    da = M^-1 (dtau - d(forces_left))        at the acceleration a, with dampers, friction, springs and drag

    motion    [ A B ] = [  0   1    0   ]       step    [ A B ] = [ 1 + h a_q h ...   rows of velocities times h ]
                        [ a_q a_v a_tau ]                         [ h a_q,  1 + h a_v,  h a_tau               ]

All of it is one piece of straight-line code, whose numbers are the rows of (A, B). Cost: order n^2 columns, as that of
the derivatives of forward dynamics.

Reference: Carpentier and Mansard 2018, Analytical derivatives of rigid body dynamics algorithms, sec. III.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import Graph, Node, Scalar
from ...graph.derive import evaluate, forward
from ...joints import Joint
from ...model import ConcreteTree, Input, Model
from ...spatial import Freedoms
from ..configuration.passive import passive_force
from ..factors.inverse import innovations_inverse
from ..forward_dynamics.articulated_body import articulated_body
from ..registry import Port, algorithm, question
from .step import forces_left

__all__ = ["linear_step", "turning"]

_INPUTS = (
    *(Port("q", "q"), Port("v", "v"), Port("tau", "f"), Port("dt", "scalar"), Port("smoothing", "scalar")),
    Port("external", "bodies", optional=True),
)
question("linear_step", _INPUTS, "linear", "innovations", options=("step",), needs_inertia=True)


def turning(model: Model) -> str:
    """Return the reason why a robot has no such step: a joint whose velocities are not rates of its coordinates."""
    for c in model.joints:
        if type(c.type).integrate is not Joint.integrate or type(c.type).rate is not Joint.rate:
            return f"the velocities of joint {c.name!r} are not the rates of its coordinates"
    return ""


@algorithm("linear_step", "innovations", paper="Carpentier-Mansard 2018", sweeps=False, refuses=turning)
def linear_step(
    tree: ConcreteTree, q: Input, v: Input, tau: Input, dt: Input, smoothing: Input, external: Input, step: bool
) -> Freedoms:
    """Return the rows of (A, B): of one step of length dt, or of the motion."""
    inputs = (q, v, tau, dt, smoothing, external)
    given = [list(x.scalars) if x.given else None for x in inputs]
    flat = [x for scalars in given if scalars is not None for x in scalars]
    if all(isinstance(x, Node) for x in flat):
        return Freedoms(_rows(tree, given, flat[0].graph, step))
    graph = Graph("linear")
    leaves = [None if x is None else [graph.leaf((k, n)) for n in range(len(x))] for k, x in enumerate(given)]
    results = _rows(ConcreteTree(tree.model), leaves, graph, step)
    pairs = zip((x for some in leaves if some for x in some), flat, strict=True)
    return Freedoms(evaluate(results, {leaf.index: x for leaf, x in pairs}))


def _rows(tree: ConcreteTree, given: Sequence[Any], graph: Graph, step: bool) -> list[Scalar]:
    """Return the numbers of (A, B), row by row, for nodes of the arguments."""
    q, v, tau, dt, smoothing, external = given
    n, still = len(v), tree.zeros("motion")
    at = {"q": tree.input("q", q), "v": tree.input("v", v), "s": tree.input("scalar", smoothing)}
    loads = tree.zeros("bodies") if external is None else tree.input("bodies", external)
    passive = passive_force(tree, at["q"], at["v"], at["s"]).scalars
    forces = tree.input("f", [x + y for x, y in zip(tau, passive, strict=True)])
    answer = articulated_body(tree, at["q"], at["v"], forces, loads, still, still).scalars
    # accelerations are leaves while the forces are differentiated, since they are constant there
    a = [graph.leaf(("acceleration", k)) for k in range(n)]
    left = list(forces_left(tree, at["q"], at["v"], tree.input("v", a), at["s"], loads).scalars)
    values: dict[int, Scalar] = {node.index: node for node in graph.nodes if node.op == "leaf"}
    values |= {leaf.index: x for leaf, x in zip(a, answer, strict=True)}
    inverse = list(innovations_inverse(tree, at["q"]).scalars)
    rows = [inverse[n * r : n * r + n] for r in range(n)]
    columns = []
    for leaf in (*q, *v):
        column = evaluate(forward(left, {leaf.index: 1.0}), values)
        columns.append([-sum((x * y for x, y in zip(row, column, strict=True)), 0.0) for row in rows])
    whole = [[*(column[r] for column in columns), *rows[r]] for r in range(n)]
    if not step:
        return [*(x for r in range(n) for x in _unit(n + r, 3 * n)), *(x for row in whole for x in row)]
    h = dt[0]
    fast = [[h * x + one for x, one in zip(row, _unit(n + r, 3 * n), strict=True)] for r, row in enumerate(whole)]
    slow = [[h * x + one for x, one in zip(row, _unit(r, 3 * n), strict=True)] for r, row in enumerate(fast)]
    return [x for row in (*slow, *fast) for x in row]


def _unit(k: int, n: int) -> list[Scalar]:
    return [1.0 if i == k else 0.0 for i in range(n)]
