"""One long motion with controlled error: Talos falls, against SciPy's solve_ivp around Pinocchio at equal tolerance.

Both integrate the same equations, y = (q, v) with the quaternion's rate, without joint friction, which Pinocchio's aba
does not know. Errors are those of the final state against a run with a hundredth of the tolerance. `simulate` is what
users call: all included, dense output, energies and the report too; it holds each step to a share of the tolerance.
`simulate_step` holds each step to all of it and leaves out dense output, which is what `solve_ivp` does with the same
numbers. `scipy_share` is `solve_ivp` at the tolerance of `simulate`'s steps, so that both err alike. The other figures
are those of the compiled loop alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ordern as on
from ordern.simulate.integrators.native import Native
from ordern.simulate.options import share_of_a_step

from .harness import Figures, benchmark, settings, wall_clock
from .peer import Peer, pin
from .robots import without_passive

try:
    from scipy.integrate import solve_ivp
except ImportError:
    solve_ivp = None

METHODS = {"dormand-prince-8": "DOP853", "dormand-prince": "RK45"}
RTOL = 1e-8
UNTIL = 2.0
FIRST = 1e-3


@benchmark("{robot}.simulate.{method}", robot=("talos",), method=tuple(METHODS))
def adaptive(robot: str, method: str) -> Figures:
    machine, peer = without_passive(robot)
    rng = np.random.default_rng(0)
    q0, v0 = machine.neutral(), rng.uniform(-3, 3, machine.nv)

    def ours(rtol: float = RTOL, dense: bool = False) -> Any:
        segments, t, q, v, h = [], 0.0, q0, v0, FIRST
        native = Native(machine, method, rtol=rtol, atol=rtol)
        while True:
            segment = native.advance(t, q, v, h, UNTIL, dense=dense)
            segments.append(segment)
            if segment.status != "full":
                return segments
            t, q, v, h = float(segment.t[-1]), segment.q[-1], segment.v[-1], segment.h

    end, best = ours()[-1], ours(RTOL / 100)[-1]
    assert end.status == "end", end.status
    yield "steps", sum(len(s.t) for s in ours())
    yield "error", float(np.abs(end.v[-1] - best.v[-1]).max() / np.abs(best.v[-1]).max())
    contestants: dict[str, Any] = {"ours": ours, "ours_dense": lambda: ours(dense=True)}
    contestants["simulate"] = lambda: machine.simulate(
        q0, v0, until=UNTIL, method=method, rtol=RTOL, atol=RTOL, limits="ignore"
    )
    contestants["simulate_step"] = lambda: machine.simulate(
        q0, v0, until=UNTIL, method=method, rtol=RTOL, atol=RTOL, tolerance="step", dense=False
    )
    whole, step = contestants["simulate"](), contestants["simulate_step"]()
    yield "simulate_step.steps", step.report.steps
    yield "simulate_step.error", float(np.abs(step.v[-1] - best.v[-1]).max() / np.abs(best.v[-1]).max())
    yield "simulate.steps", whole.report.steps
    yield "simulate.error", float(np.abs(whole.v[-1] - best.v[-1]).max() / np.abs(best.v[-1]).max())
    if peer and solve_ivp:
        theirs = _scipy(machine, peer, q0, v0, METHODS[method])
        found = theirs()
        v1 = found.y[machine.nq :, -1][peer.order]
        yield "scipy.steps", len(found.t) - 1
        yield "scipy.error", float(np.abs(v1 - best.v[-1]).max() / np.abs(best.v[-1]).max())
        contestants["scipy"] = theirs
        share = share_of_a_step(RTOL, method)
        contestants["scipy_share"] = _scipy(machine, peer, q0, v0, METHODS[method], share)
        v1 = contestants["scipy_share"]().y[machine.nq :, -1][peer.order]
        yield "scipy_share.error", float(np.abs(v1 - best.v[-1]).max() / np.abs(best.v[-1]).max())
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(2 if settings.quick else 5):
        for name, run in contestants.items():
            started = wall_clock()
            run()
            times[name].append(wall_clock() - started)
    t = {name: np.array(x) for name, x in times.items()}
    yield "ms", 1e3 * t["ours"].min()
    yield "dense.ms", 1e3 * t["ours_dense"].min()
    yield "simulate.ms", 1e3 * t["simulate"].min()
    yield "simulate_step.ms", 1e3 * t["simulate_step"].min()
    if "scipy" in t:
        yield "simulate_step.vs_scipy", float(np.median(t["scipy"] / t["simulate_step"]))
        yield "simulate.vs_scipy_share", float(np.median(t["scipy_share"] / t["simulate"]))
        yield "simulate.vs_scipy", float(np.median(t["scipy"] / t["simulate"]))
        yield "scipy.ms", 1e3 * t["scipy"].min()
        yield "scipy_share.ms", 1e3 * t["scipy_share"].min()
        yield "vs_scipy", float(np.median(t["scipy"] / t["ours"]))
        yield "dense.vs_scipy", float(np.median(t["scipy"] / t["ours_dense"]))


def _scipy(robot: on.Robot, peer: Peer, q0: Any, v0: Any, method: str, rtol: float = RTOL) -> Any:
    """The same motion in Pinocchio's coordinates: position first, quaternion x y z w, linear velocity first."""
    model, data, nq, nv = peer.model, peer.data, robot.nq, robot.nv
    y0 = np.concatenate([peer.positions(q0), peer.velocities(v0)])
    still = np.zeros(nv)
    free = model.joints[1].nq == 7
    rate = np.empty(nq + nv)

    def rates(_: float, y: Any) -> Any:
        q, v = y[:nq], y[nq:]
        if free:
            x, y_, z, w = q[3:7]
            a, b, c = 0.5 * v[3:6]
            R = pin.Quaternion(q[3:7]).matrix()  # not normalised: as smooth an extension as any
            rate[:3] = R @ v[:3]
            rate[3:7] = (w * a + y_ * c - z * b, w * b + z * a - x * c, w * c + x * b - y_ * a, -x * a - y_ * b - z * c)
            rate[7:nq] = v[6:]
        else:
            rate[:nq] = v
        rate[nq:] = pin.aba(model, data, q, v, still)
        return rate.copy()

    return lambda: solve_ivp(rates, (0.0, UNTIL), y0, method=method, rtol=rtol, atol=rtol, first_step=FIRST)
