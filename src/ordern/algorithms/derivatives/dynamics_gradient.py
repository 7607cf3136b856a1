"""The gradient of forward dynamics in four sweeps.

    w . qdd is to be differentiated by q, qd, tau and external forces:    mu = M^-1 w,    gradient = -d/dx (mu . ID),

with inverse dynamics ID at the accelerations qdd that forward dynamics gives (see `implicit`). The gradient by tau is
mu. The articulated-body sweeps serve both right sides, tau and w:

    outward   X, S, w, r, c, IA, pA                                            as in `articulated_body`
    inward    D, G, nu, IA_p, pA_p                                             as there, and
              e_i = weight_i - S_i^T z_i,    z_p += X_i^T (z_i + G_i e_i)
    outward   qdd, a                                                           as there, and
              m' = X_i m_p,    mu_i = D_i^-1 e_i - G_i^T m',    m_i = m' + S_i mu_i
              f_i = I_i a_i + b_i - external_i
    inward    L_i = abar_i . a_i + wbar_i . w_i - m_i . f_i' - mu_i . (S_i^T f_i + g_i) - m_p . X_i^T f_i
              qbar_i, qdbar_i, wbar_p, abar_p  +=  the derivatives of L_i by q_i, qd_i, w_p, a_p
              f_p += X_i^T f_i

m is the motion of the bodies at joint velocities mu, -m the adjoint of the forces. In L_i, the motion w_i, a_i of body
i and the force f_i' on it alone are functions of q_i, qd_i, w_p and a_p; all else is constant. Reverse mode
differentiates it, one body at a time. Cost: order n, twice the operations of forward dynamics. Four sweeps use each
value again soon: inverse dynamics, M^-1 w and reverse mode one after the other would be nine.

Reference: Carpentier and Mansard 2018, sec. III, for the gradient by mu; Jain 1991, eqs. (45), (46), for the sweeps;
Griewank and Walther 2008, chapter 3, for reverse mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ...graph import OPS, Node, Scalar, live
from ...graph.derive import reverse
from ...model import Base, Bodies, ConcreteTree, Index, Input, Joints, Model, Output, Tree
from ...spatial import ArticulatedInertia, Force, Freedoms, Motion, Spin, eliminate, leaves, rebuild
from ...spatial.linear import dot

__all__ = ["dynamics_gradient", "has_dynamics_gradient", "swept_gradient"]

T = TypeVar("T")


def has_dynamics_gradient(model: Model) -> bool:
    """Return True if the sweeps hold for a robot: no joint follows another, and no body is in a fluid."""
    return not model.tables.couplings and not model.in_fluid


def dynamics_gradient(
    tree: Tree, q: Joints, qd: Joints, tau: Joints, weights: Joints, external: Bodies, v0: Base, a0: Base,
    gradients: Mapping[str, Output], accelerations: Joints | None = None, coordinates: bool = False,
) -> tuple[Spin, Force]:  # fmt: skip
    """Fill in the gradients of the sum of weights times qdd by q, v, tau and external, those that `gradients` names.

    Positions vary along velocities, or with `coordinates` by their numbers. If the `accelerations` that belong to tau
    are known, tau is not used. Return the gradients by the angular velocity and by the acceleration of the base.
    """
    w = tree.field(Spin, base=Spin(v0[tree.base].angular))
    a = tree.field(Motion, base=tree.base_acceleration + a0[tree.base])
    IA, pA, z, f = tree.field(ArticulatedInertia), tree.field(Force), tree.field(Force), tree.field(Force)
    m, abar, wbar = tree.field(Motion), tree.field(Force), tree.field(Spin)
    X, S, r, c, G, D, nu, e, qdd, mu = (tree.own() for _ in range(10))

    for i, p in tree.outward():
        X[i], S[i] = i.transform(q[i]), i.subspace(q[i])
        vJ = S[i] @ qd[i]
        w[i] = X[i] @ w[p] + vJ
        r[i] = X[i].centripetal(w[p])
        c[i] = w[i].coriolis(vJ) + i.bias(q[i], qd[i])
        IA[i] = i.articulated_inertia
        z[i] = Force.zero()
        if accelerations is None:
            pA[i] = w[i].gyroscopic(i.rigid_inertia) - external[i]

    for i, p in tree.inward():
        G[i], D[i], Ia = eliminate(IA[i], S[i], i.armature)
        innovation = weights[i] - S[i].T @ z[i]
        e[i] = D[i].solve(innovation)
        Ip = X[i].T @ Ia @ X[i]
        IA[p] += Ip
        z[p] += X[i].T @ (z[i] + G[i] @ innovation)
        if accelerations is None:
            u = tau[i] - S[i].T @ pA[i] - i.gyration(q[i], qd[i])
            nu[i] = D[i].solve(u)
            pA[p] += X[i].T @ (pA[i] + Ia @ c[i] + G[i] @ u) + Ip @ r[i]

    for i, p in tree.outward():
        a_, m_ = X[i] @ (a[p] + r[i]) + c[i], X[i] @ m[p]
        qdd[i] = nu[i] - G[i].T @ a_ if accelerations is None else accelerations[i]
        mu[i] = e[i] - G[i].T @ m_
        a[i], m[i] = a_ + S[i] @ qdd[i], m_ + S[i] @ mu[i]
        f[i] = i.rigid_inertia @ a[i] + w[i].gyroscopic(i.rigid_inertia) - external[i]
        abar[i], wbar[i] = Force.zero(), Spin.zero()
        if "tau" in gradients:
            gradients["tau"][i] = mu[i]
        if "external" in gradients:
            gradients["external"][i] = Force(m[i].angular, m[i].linear)

    for i, p in tree.inward():
        held = _Held()
        x, u, w_p, a_p = held(q[i]), held(qd[i]), held(w[p]), held(a[p])
        step, force = _Step(i, x, u, held(qdd[i]), w_p, a_p), held(f[i])
        work = _dot(held(m[i]), step.force) + _dot(held(m[p]), step.X.T @ force)
        work = work + _product(held(mu[i]), step.S.T @ force + i.gyration(x, u))
        L = _dot(step.a, held(abar[i])) + dot(step.w.w, held(wbar[i]).w) - work
        held.know((step.X, X[i]), (step.S, S[i]), (step.w, w[i]), (step.a, a[i]))
        qbar, qdbar, wbar_p, abar_p = held.derivatives(L, (x, u, w_p, a_p))
        if "q" in gradients and coordinates:
            gradients["q"][i] = qbar
        elif "q" in gradients:
            rates = [i.joint.rate(q[i], unit) for unit in _units(len(qd[i]))]
            gradients["q"][i] = Freedoms(_product(qbar, rate) for rate in rates)
        if "v" in gradients:
            gradients["v"][i] = qdbar
        wbar[p] = Spin(tuple(x + y for x, y in zip(wbar[p].w, wbar_p.w, strict=True)))
        abar[p] += Force(abar_p.angular, abar_p.linear)
        f[p] += X[i].T @ f[i]
    return wbar[tree.base], abar[tree.base]


def swept_gradient(
    tree: ConcreteTree, inputs: Sequence[Input], weights: Sequence[Scalar], kinds: Mapping[str, str],
    accelerations: Sequence[Scalar] | None = None,
) -> list[Scalar]:  # fmt: skip
    """Return the gradients by some arguments of forward dynamics, one after the other, for its inputs in order.

    `kinds` has the kind of each gradient by the name of its argument. With the known `accelerations`, positions vary by
    their numbers.
    """
    q, qd, tau, external, v0, a0 = inputs
    outputs = {x: tree.output(kind) for x, kind in kinds.items() if kind != "motion"}
    known = None if accelerations is None else tree.input("v", accelerations)
    spin, force = dynamics_gradient(
        tree, q, qd, tau, tree.input("v", weights), external, v0, a0, outputs, known, known is not None
    )
    found = {x: list(output.scalars) for x, output in outputs.items()}
    found |= {"base_velocity": [*spin.w, 0.0, 0.0, 0.0], "base_acceleration": list(force.scalars)}
    return [scalar for x in kinds for scalar in found[x]]


class _Step:
    """The motion of a body, and the force on it alone, from the motion of its parent."""

    def __init__(self, i: Index, q: Freedoms, qd: Freedoms, qdd: Freedoms, w: Spin, a: Motion) -> None:
        self.X, self.S = i.transform(q), i.subspace(q)
        vJ = self.S @ qd
        self.w = self.X @ w + vJ
        r, c = self.X.centripetal(w), self.w.coriolis(vJ) + i.bias(q, qd)
        self.a = self.X @ (a + r) + c + self.S @ qdd
        self.force = i.rigid_inertia @ self.a + self.w.gyroscopic(i.rigid_inertia)


class _Held:
    """Values that are leaves while a function of them is differentiated, and what they are afterwards.

    In loops, values that come from fields are leaves in any case. In straight-line code they are results of other
    operations, through which differentiation must not pass.
    """

    def __init__(self) -> None:
        self._values: dict[int, Scalar] = {}

    def __call__(self, value: T) -> T:
        """Return a value with leaves in the place of its scalars."""
        return rebuild(value, iter([self._leaf(x) for x in leaves(value)]))

    def _leaf(self, x: Scalar) -> Scalar:
        if not isinstance(x, Node) or x.op == "leaf":
            return x
        leaf = x.graph.leaf(("held", len(x.graph.nodes)))
        self._values[leaf.index] = x
        return leaf

    def know(self, *pairs: tuple[Any, Any]) -> None:
        """Take known values in the place of equal ones that were computed from leaves."""
        for one, other in pairs:
            for x, y in zip(leaves(one), leaves(other), strict=True):
                if isinstance(x, Node):
                    self._values[x.index] = y

    def derivatives(self, L: Scalar, by: Sequence[Any]) -> list[Any]:
        """Return the derivatives of L by values that are leaves; numbers among them are constants."""
        at = [x for value in by for x in leaves(value)]
        found = iter(reverse([L], [1.0], [x for x in at if isinstance(x, Node)]))
        bars = [next(found) if isinstance(x, Node) else 0.0 for x in at]
        values = self._values
        for node in live(x for x in bars if isinstance(x, Node)):
            if node.index not in values:
                operands = (values[x.index] for x in node.args)
                values[node.index] = OPS[node.op].evaluate(*operands) if node.args else node
        scalars = iter([values[x.index] if isinstance(x, Node) else x for x in bars])
        return [rebuild(value, scalars) for value in by]


def _dot(m: Motion, f: Force) -> Scalar:
    return dot(m.angular, f.angular) + dot(m.linear, f.linear)


def _product(a: Freedoms, b: Freedoms) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _units(n: int) -> list[Freedoms]:
    return [Freedoms(float(k == d) for k in range(n)) for d in range(n)]
