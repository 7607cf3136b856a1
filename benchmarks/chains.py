"""Chains of many links: first call, time per joint, and whether the answers are right.

Answers are compared with the interpreter on longdouble, and with Pinocchio, up to 300 links: its memory grows with
the cube. Beyond 3000 links, which take the interpreter seconds, forces are put in and computed back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

import ordern as on

from .harness import Figures, benchmark, difference, processor_clock, race, ratio, settings
from .peer import Peer, pin
from .robots import random_state

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 100_000)
PINOCCHIO_LIMIT, LONGDOUBLE_LIMIT = 300, 3000


def chain(n: int, joint: on.Joint | None = None, *, denavit_hartenberg: bool = False) -> on.Robot:
    """n links in series that are all different; neither placements nor inertias are aligned with any axis.

    With `denavit_hartenberg`, frames are chosen as in the papers: the next joint is further along z and x, and turned
    about x; the first is at the base.
    """
    rng = np.random.default_rng(n)
    builder = on.Builder(f"chain{n}").body("0")
    axes = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    principal = axes * rng.uniform(0.01, 0.02, (n, 1, 3)) @ axes.transpose(0, 2, 1)
    xyz, rpy, com = rng.uniform(-1, 1, (3, n, 3))
    mass = rng.uniform(0.5, 1.5, n)
    if denavit_hartenberg:
        xyz[:, 1] = rpy[:, 1:] = xyz[0] = rpy[0] = 0.0
    for k in range(n):
        builder.body(
            str(k + 1),
            parent=str(k),
            joint=joint or on.Revolute((0, 0, 1)),
            at=(0.1 * xyz[k], rpy[k]),
            mass=mass[k],
            com=0.1 * com[k],
            inertia=principal[k],
        )
    return builder.build()


@lru_cache(2)
def built(n: int) -> tuple[on.Robot, float]:
    """Return a chain, and the seconds that it took to build."""
    start = processor_clock()
    return chain(n), processor_clock() - start


@lru_cache(1)
def peer_of(n: int) -> Peer | None:
    return Peer.of_robot(built(n)[0]) if pin and n <= PINOCCHIO_LIMIT else None


@contextmanager
def cache_off() -> Iterator[None]:
    before = os.environ.get("ORDERN_CACHE")
    os.environ["ORDERN_CACHE"] = "off"
    try:
        yield
    finally:
        os.environ.pop("ORDERN_CACHE")
        if before is not None:
            os.environ["ORDERN_CACHE"] = before


@benchmark(
    "chain{n}.{question}",
    n=SIZES,
    question=("forward_dynamics", "inverse_dynamics"),
    quick={"n": SIZES[:-1], "question": ("forward_dynamics",)},
)
def links(n: int, question: str) -> Figures:
    (original, seconds), peer = built(n), peer_of(n)
    robot = on.Robot.of(original)  # it has computed nothing yet
    ask = getattr(robot, question)
    one = random_state(robot, question)
    start = processor_clock()
    with cache_off():
        answer = ask(*one)
    first = processor_clock() - start
    if question == "forward_dynamics":
        yield "build_s", seconds
    yield "first_call_s", first
    yield from _errors(robot, question, one, answer, peer)

    size = 64 if n <= 10_000 else 8
    many = random_state(robot, question, size)
    ask = getattr(robot, question)  # has become the short cut for one state
    scope: dict[str, Any] = {"ask": ask, "one": one, "many": many}
    contestants: dict[str, Any] = {"single": "ask(*one)", "batch": "ask(*many, threads=1)"}
    if peer:
        contestants["python"], names = peer.call(question, one)
        contestants["cpp"] = peer.batch(question, many)[0]
        scope |= names
    t = race(contestants, scope)
    yield "single.ns_per_joint", 1e9 * t["single"].min() / n
    if peer:
        yield "single.vs_pinocchio_python", ratio(t["python"], t["single"])
        yield "single.vs_pinocchio_cpp", ratio(t["cpp"] / size, t["single"])
    yield f"batch{size}.ns_per_joint", 1e9 * t["batch"].min() / n / size
    if peer:
        yield f"batch{size}.vs_pinocchio_cpp", ratio(t["cpp"], t["batch"])


def _errors(robot: on.Robot, question: str, state: Any, answer: Any, peer: Peer | None) -> Figures:
    if peer:
        theirs = peer.batch(question, tuple(a[None] for a in state))[1][0]
        yield "difference_from_pinocchio", difference(answer, theirs)
    limit = LONGDOUBLE_LIMIT // 10 if settings.quick else LONGDOUBLE_LIMIT
    if len(robot.bodies) <= limit:
        exact = getattr(robot, question)(*(a.astype(np.longdouble) for a in state))
        yield "error", difference(answer, exact)
    elif question == "forward_dynamics":
        q, v, tau = state
        back = robot.inverse_dynamics(q, v, answer)
        scale = np.abs(robot.inverse_dynamics(q, v, np.zeros_like(v))).max()  # the forces that had to cancel
        yield "residual", float(np.abs(back - tau).max() / scale)


@benchmark("chains.forward_dynamics.linearity", quick=False)
def linearity() -> Figures:
    """Return the exponent p of time ~ n^p, from 100 to 10,000 links; 1 is linear."""
    sizes = [n for n in SIZES if 100 <= n <= 10_000]
    scope: dict[str, Any] = {}
    for n in sizes:
        robot = chain(n)
        scope[f"one{n}"] = random_state(robot, "forward_dynamics")
        robot.forward_dynamics(*scope[f"one{n}"])
        scope[f"ask{n}"] = robot.forward_dynamics
    t = race({str(n): f"ask{n}(*one{n})" for n in sizes}, scope)
    yield "exponent", float(np.polyfit(np.log(sizes), np.log([t[str(n)].min() for n in sizes]), 1)[0])


@benchmark("spherical_chain{n}.forward_dynamics", n=(10, 100))
def spherical(n: int) -> Figures:
    """Measure a chain on which articulated inertias that are not kept symmetric fail."""
    robot = chain(n, on.Spherical())
    state = random_state(robot, "forward_dynamics")
    exact = robot.forward_dynamics(*(a.astype(np.longdouble) for a in state))
    yield "error", difference(robot.forward_dynamics(*state), exact)
    if pin:
        peer = Peer.of_robot(robot)
        q, v, tau = peer.convert(state)
        yield "pinocchio_aba.error", difference(pin.aba(peer.model, peer.data, q, v, tau)[peer.order], exact)
        bias = pin.rnea(peer.model, peer.data, q, v, 0 * v)
        solved = np.linalg.solve(pin.crba(peer.model, peer.data, q), tau - bias)
        yield "pinocchio_crba_and_solve.error", difference(solved[peer.order], exact)
