"""The solution of (M + sum of F F^T) y = x in order n: of a robot some of whose bodies are held by stiff constraints.

A stiff constraint that holds a body to the ground in the direction of a force F, with the stiffness |F|^2, adds inertia
to that body in the articulated-body recursion: I + F F^T. Six such forces for each body make any inertia. Then as in
`factors.solve`. Cost: order n, however many constraints there are.

Reference: S. Sathya and J. Carpentier, Constrained articulated body dynamics algorithms, 2024, for the idea; Jain 1991,
eqs. (45), (46) and Lemma 6.4, for the recursion.
"""

from __future__ import annotations

from ...model import Answer, Bodies, Joints, Tree
from ...spatial import ArticulatedInertia, Force
from ..factors.articulated import articulated, solved
from ..method_limits import no_couplings
from ..registry import Port, algorithm, question

__all__ = ["held_solve"]

_q, _x, _forces = Port("q", "q"), Port("x", "f"), [Port(f"hold{k}", "bodies") for k in range(6)]
question("held_solve", (_q, _x, *_forces), "v", "innovations", needs_inertia=True)


@algorithm("held_solve", "innovations", paper="Sathya-Carpentier 2024; Jain 1991", refuses=no_couplings)
def held_solve(tree: Tree, q: Joints, x: Joints, *forces: Bodies) -> Answer:
    """Return (M + sum of F F^T)^-1 x for position q, and six forces F on each body."""
    known = articulated(tree, q, added=lambda i: _squares(tuple(f[i] for f in forces)))
    return solved(tree, known, x, tree.output("v"))


def _squares(forces: tuple[Force, ...]) -> ArticulatedInertia:
    """Return the sum of F F^T."""
    rows = [f.scalars for f in forces]
    return ArticulatedInertia.of_upper(
        {(r, c): sum((f[r] * f[c] for f in rows), 0.0) for r in range(6) for c in range(r, 6)}
    )
