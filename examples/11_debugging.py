"""Debugging: the interpreter runs the same text. Breakpoints and prints work, and so do other kinds of numbers."""

from pathlib import Path

import numpy as np

import ordern as on
from ordern.spatial import Motion, Real


@on.algorithm("kinetic_energy", "talking")
def talking(tree, q, qd):
    """Return the kinetic energy, with a print in the loop; a breakpoint there shows the same numbers."""
    v, E = tree.field(Motion), tree.field(Real)
    for i, p in tree.outward():
        v[i] = i.transform(q[i]) @ v[p] + i.subspace(q[i]) @ qd[i]
        E[i] = 0.5 * (i.inertia @ v[i]).dot(v[i])
        print(f"  body {i.key}, {type(i.joint).__name__}: {E[i]:.6f} J")
    for i, p in tree.inward():
        E[p] += E[i]
    return E[tree.base]


robot = on.load(Path(__file__).parent / "robots" / "puma560.urdf")
rng = np.random.default_rng(6)
q, v, tau = robot.random(rng), rng.normal(size=robot.nv), np.zeros(robot.nv)

print("the interpreter, body by body:")
total = robot.kernel("kinetic_energy", "talking", way="interpreted")(q, v)
print(f"  in all {total:.6f} J; compiled {robot.kinetic_energy(q, v):.6f} J")

# Arrays of longdouble, or of mpmath numbers, are always interpreted: they show how accurate double precision is.
compiled = robot.forward_dynamics(q, v, tau)
size = np.abs(compiled).max()


def compare(name, found):
    print(f"  {name:<26}{float(np.abs(found - compiled).max() / size):.1e}")


print("forward dynamics, how far from the compiled answer (relative to the largest acceleration):")
compare("interpreted, float64", robot.kernel("forward_dynamics", way="interpreted")(q, v, tau))
wide = [x.astype(np.longdouble) for x in (q, v, tau)]
compare(f"interpreted, {wide[0].dtype.name}", robot.forward_dynamics(*wide))
try:
    import mpmath
except ImportError:
    print("  (mpmath is not installed)")
else:
    mpmath.mp.dps = 50
    compare("interpreted, mpmath", robot.forward_dynamics(*(x.astype(object) * mpmath.mpf(1) for x in (q, v, tau))))
