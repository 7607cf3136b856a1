"""All spatial operators of one robot in one state.

Blocks are in the order of the bodies, from the base, and each body's in its own frame. So the papers' phi(k+1, k),
which takes forces from a link to the next one inward, is X_i^T here, with the change of axes in it; `about` has the
papers' own axes and points. H is diag(S_i^T): nv rows, 6 n columns.

Reference: Jain 1991, secs. 2-6; Rodriguez and Kreutz 1988, secs. 3-5 and appendix A.
Differs: trees, joints with any number of freedoms, and armature, an inertia A on the joints alone: the mass matrix is
then H phi M phi* H* + A, and D = H P H* + A. In the filtering dictionary A is the noise of the measurements.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.method_limits import no_couplings
from ..arguments import numbers
from ..declared import explained_methods
from ..errors import ArgumentError, unknown_name
from ..model import Frame, Model
from ..model.checks import require_one_set
from .catalogue import Catalogue
from .expression import Leaf, One, Operator
from .forms import Decoupled, Incidence
from .identities import Rules, parse, rules_of
from .sources import Array
from .state import State, state_of

__all__ = ["Operators", "operators"]

POINTS = ("joint", "mass centre", "base")


def operators(model: Model, q: ArrayLike, v: ArrayLike | None = None) -> Operators:
    """Return the spatial operators of a tree at position q and velocity v, one state; at rest without v."""
    require_one_set(model, "operators")
    if model.nc:
        raise ArgumentError(
            f"operators: the algebra is that of a tree, and {model.name!r} has loops or couplings "
            f"({', '.join(map(repr, model.loop_rows))}); `robot.opened()` is the tree without them"
        )
    reason = no_couplings(model)
    if reason:
        raise ArgumentError(f"operators: the algebra is that of a tree of free joints; {reason}")
    return Operators(model, state_of(model, q, np.zeros(model.nv) if v is None else v))


class _Named:
    """An attribute of `Operators` that is the operator of a name, or the expression of a text."""

    def __init__(self, text: str, doc: str) -> None:
        self._text, self.__doc__ = text, doc

    def __get__(self, operators: Operators | None, owner: type[Operators]) -> Operator:
        found: Any = self
        if operators is not None:
            found = (operators.expression if " " in self._text else operators.leaf)(self._text)
        return found  # type: ignore[no-any-return]


@explained_methods
class Operators:
    """The operators of one state: `ops.H @ ops.phi @ ops.M @ ops.phi.T @ ops.H.T` is the mass matrix.

    In texts, as `ops.expression("H phi M phi* H*")` takes them and `print` gives them, phi_tilde is phi~, psi_tilde is
    psi~, the transpose has a star, and `armature` is A.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        tips: Iterable[str | Frame] | None = None,
        spelling: dict[str, str] | None = None,
    ) -> None:
        self.model, self.state, self.spelling = model, state, spelling or {}
        self.dtype = state.X.dtype
        parents = set(state.parent)
        ends = (Frame(b.name, k) for k, b in enumerate(model.bodies) if k not in parents)
        self.tips = tuple(ends if tips is None else (model.frame(name) for name in tips))
        """The frames at which forces act from outside: those of the last bodies, unless others are chosen by `at`."""
        self._catalogue = Catalogue(state, self.tips)

    # the operators by name

    @property
    def I(self) -> Operator:  # noqa: E743
        """The identity, of whatever space it is used in."""
        return One(self)

    H = _Named("H", "Forces on the bodies to joint forces: diag(S_i^T).")
    X = _Named("X", "diag(X_i): motions of the parents to the bodies' frames; X* is R-K's diag(phi(k+1, k)).")
    E_phi = _Named("E_phi", "Forces from each body to its parent, Jain (19).")
    phi = _Named("phi", "(I - E_phi)^-1, Jain (20): forces from each body to all that carry it. An inward sweep.")
    phi_tilde = _Named("phi~", "phi - I.")
    M = _Named("M", "The inertia of each body by itself.")
    R = _Named("R", "The inertia of each body and all that it carries, as one: Jain (25).")
    P = _Named("P", "The inertia of each body and all that it carries, with loose joints: Jain (45).")
    armature = _Named("A", "A: the inertia of the drives.")
    D = _Named("D", "H P H* + A: the inertia at each joint if all joints beyond it are loose.")
    G = _Named("G", "P H* D^-1: the Kalman gain.")
    K = _Named("K", "E_phi G: the gain at the parent. S L of R-K.")
    tau = _Named("tau", "G H: the part of a force that a loose joint does not transmit.")
    tau_bar = _Named("tau_bar", "I - G H: the part of a force that a loose joint transmits.")
    E_psi = _Named("E_psi", "E_phi tau_bar: forces from each body to its parent through a loose joint.")
    psi = _Named("psi", "(I - E_psi)^-1, Jain (54). An inward sweep.")
    psi_tilde = _Named("psi~", "psi - I.")
    S = _Named("S", "R-K (5.2): from the parent's side of each joint to the parent; its blocks are identities.")
    L = _Named("L", "R-K (4.6): diag(phi(k+1, k) G(k)), the gain on the parent's side of each joint; K = S L.")
    Phi = _Named("phi S", "R-K (4.9): phi S, strictly causal.")
    Psi = _Named("psi S", "R-K (4.10): psi S, strictly causal.")
    B = _Named("B", "R-K (3.7): forces at the tips to forces on their bodies.")
    E = _Named("E", "R-K (3.8): a motion of the base to motions of the bodies that are joined to it.")
    J = _Named("B* phi* H*", "B* phi* H*: the Jacobian of the tips, R-K (3.13).")
    T_J = _Named("T_J", "The constraint forces of each joint: a basis of the null space of H, body by body.")

    @property
    def mass_matrix(self) -> Operator:
        """H phi M phi* H*, with the armature if there is any; `.inv()` is its inverse in factors."""
        return self.expression("H phi M phi* H* + A" if self._has_armature else "H phi M phi* H*")

    # vectors

    @property
    def V(self) -> Array:
        """Velocities of the bodies, phi* H* v, stacked."""
        return self.state.V.reshape(-1)

    @property
    def a(self) -> Array:
        """Velocity-dependent accelerations of the bodies, stacked: Jain (14)."""
        return self.state.a.reshape(-1)

    @property
    def b(self) -> Array:
        """Gyroscopic forces, stacked: Jain (11)."""
        return self.state.b.reshape(-1)

    @property
    def gyration(self) -> Array:
        """The joint forces that turn the momenta of the drives: tau = H f + A qdd + gyration.

        It is zero without armature, and for joints whose velocities are the rates of their positions.
        """
        return np.concatenate([np.zeros(0, self.dtype), *self.state.gyration])

    @property
    def g(self) -> Array:
        """The acceleration of the base that stands for gravity, R-K (3.21)."""
        return np.array([0.0, 0.0, 0.0, *(0.0 - x for x in self.model.gravity)], self.dtype)

    @property
    def _bias(self) -> Array:
        """The bias of velocities and gravity: a + E g, R-K (3.21)."""
        return self.a + self.E @ self.g

    def alpha(self, qdd: ArrayLike) -> Array:
        """Return accelerations of the bodies, phi* (H* qdd + a + E g), with gravity as one of the base. Jain (21)."""
        return self.phi.T @ (self.H.T @ qdd + self._bias)

    def f(self, qdd: ArrayLike) -> Array:
        """Return the forces through the joints: phi (M alpha + b). Jain (21)."""
        return self.phi @ (self.M @ self.alpha(qdd) + self.b)

    def y(self, qdd: ArrayLike) -> Array:
        """Return the force y of f = R alpha + y, due to accelerations of the joints beyond. Jain, Lemma 3.2."""
        return self.phi @ (self.b + self.E_phi @ (self.R @ (self.H.T @ qdd + self._bias)))

    def z(self, tau: ArrayLike) -> Array:
        """Return z of f = P (alpha - a) + z, due to forces of the joints beyond. Jain (60): z = psi (K tau + b + P a).

        Where drives have a `gyration`, it is taken off tau first.
        """
        return self.psi @ (self.K @ (numbers(tau, "tau") - self.gyration) + self.b + self.P @ self._bias)

    def epsilon(self, tau: ArrayLike) -> Array:
        """Return the innovations tau - H z, the forces that accelerate each joint. Jain (46)."""
        return numbers(tau, "tau") - self.gyration - self.H @ self.z(tau)

    def nu(self, tau: ArrayLike) -> Array:
        """Return D^-1 epsilon: the accelerations of the joints if their parents did not accelerate. Jain (46)."""
        return self.D.inv() @ self.epsilon(tau)

    # other expressions, tips and coordinates

    def expression(self, text: str) -> Operator:
        """Return an expression from its text: "(I - H psi K)* D^-1 (I - H psi K)"."""
        try:
            return parse(self, text)
        except SyntaxError as e:
            raise ArgumentError(f"operators: {e}") from None

    def at(self, *frames: str | Frame) -> Operators:
        """Return the operators with these frames as tips, for B and J."""
        return Operators(self.model, self.state, frames, dict(self.spelling))

    def about(self, point: str, **spelling: str) -> Operators:
        """Return the operators in the base's axes, each body about its "joint", its "mass centre", or the "base".

        About the joint is how Jain and Rodriguez-Kreutz write, the mass centre is Saha's point, and about the base's
        origin all transforms are ones. `spelling` has other names for printing.
        """
        if point not in POINTS:
            raise unknown_name("point", point, POINTS)
        return Operators(self.model, self.state.about(point), self.tips, spelling)

    @cached_property
    def incidence(self) -> Incidence:
        """The incidence form of Featherstone and Orin 2000, sec. 3.5."""
        return Incidence.of(self)

    @cached_property
    def decoupled(self) -> Decoupled:
        """The decoupled natural orthogonal complement of Saha 1999."""
        return Decoupled.of(self)

    # the identities

    @cached_property
    def rules(self) -> Rules:
        """The identities of this state."""
        return rules_of(self, self._has_armature)

    @cached_property
    def _has_armature(self) -> bool:
        return any(x.any() for x in self.state.armature)

    def leaf(self, name: str) -> Leaf:
        """Return the operator of this name, as it is printed."""
        return Leaf(self, name, self._catalogue.find(name))

    def __repr__(self) -> str:
        return f"<Operators of {self.model.name!r}: {len(self.state.parent)} bodies, {self.model.nv} freedoms>"
