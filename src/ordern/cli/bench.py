"""Measure how fast the main functions are for a robot on this machine, beside other libraries in the same run.

Batches run on one core and on all; one call is one state from Python, everything included. Pinocchio's batches run in
C++ alone, on one core; MuJoCo's functions compute more than needed. Results are compared before they are timed.
Contestants take turns, and the best of all rounds counts. Damping, friction and springs are left out for all.

With `gpu` as the first name, the robots are measured on the first NVIDIA GPU: states per second for batches that are
there, the share of its peaks, and what bounds each function.

examples:
  ordern bench
  ordern bench puma560 arm.urdf
  ordern bench anymal.urdf --floating --batch 65536
  ordern bench puma560 --rounds 3 --json
  ordern bench gpu puma560
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from .outputs import show
from .source import loaded
from .terminal import paint, table
from .values import count

if TYPE_CHECKING:
    from ..robot import Robot

__all__ = ["arguments", "run"]

_QUESTIONS = {"inverse_dynamics": "qva", "forward_dynamics": "qvt", "mass_matrix": "q"}
_USUAL = ("stanford-arm", "kuka-kr5")
_SLICE = 0.02
"""Seconds that a contestant runs in a round."""
_STEPS, _DT = 50, 1e-3
_BATCH = 4096
Call = Callable[[], object]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "robots",
        nargs="*",
        metavar="FILE|NAME",
        help=f"robots; {', '.join(_USUAL)} unless given; gpu measures on a GPU",
    )
    parser.add_argument("--floating", action="store_true", help="let the root float")
    text = f"states in a batch; {_BATCH} unless given, on a GPU a million"
    parser.add_argument("--batch", type=count, metavar="N", help=text)
    parser.add_argument("--rounds", type=count, default=7, metavar="N", help="rounds; 7 unless given")


def run(args: argparse.Namespace) -> int:
    """Measure every robot."""
    from ..screen.progress import Bar

    if args.robots[:1] == ["gpu"]:
        from .bench_gpu import run as run_gpu

        return run_gpu(args, args.robots[1:])
    robots = args.robots or list(_USUAL)
    bar, data = Bar(), []
    for k, source in enumerate(robots):
        robot = _quiet(loaded(args, source))
        data.append(_measured(robot, args.batch or _BATCH, args.rounds, partial(_shown, bar, k, len(robots))))
    notes = (f"{found['robot']}: {text}" for found in data for text in found["notes"])
    show(args, data, [line for found in data for line in _lines(found)], notes)
    return 0


def _shown(bar: Callable[[float], None], done: int, robots: int, part: float) -> None:
    bar((done + part) / robots)


def _quiet(robot: Robot) -> Robot:
    """Return the robot without damping, friction and springs, which not every library knows in its dynamics."""
    still = {"damping": 0.0, "friction": 0.0, "stiffness": 0.0}
    return replace(robot, joints=tuple(replace(c, **still) for c in robot.joints))  # type: ignore[arg-type]


def _measured(robot: Robot, batch: int, rounds: int, progress: Callable[[float], None]) -> dict[str, Any]:
    """Return all figures of one robot, in seconds: per state of a batch, per call."""
    from ..compile import cores
    from .peers import AGREEMENT, difference, peers

    others, notes = peers(robot)
    rows = []
    for k, question in enumerate(_QUESTIONS):
        states = _states(robot, question, batch)
        one = tuple(x[0].copy() for x in states)
        mine = getattr(robot, question)(*one)
        function = getattr(robot, question)  # a compiled function after the first call
        contestants: dict[str, Call | None] = {
            "batch": partial(function, *states, threads=1),
            "batch_all_cores": partial(function, *states),
            "call": partial(function, *one),
        }
        for name, peer in others.items():
            answer = peer.answer(question, one)
            if answer is None:
                continue
            apart = difference(mine, answer)
            if apart > AGREEMENT:
                notes.append(f"{question}: {name} has another answer (by {apart:.1e}), and is not timed")
                continue
            contestants[f"{name}.batch"] = peer.batch(question, states)
            contestants[f"{name}.call"] = peer.single(question, one)
        times = _race({n: c for n, c in contestants.items() if c is not None}, rounds)
        rows.append({"function": question, **{n: t / (batch if "batch" in n else 1) for n, t in times.items()}})
        progress((k + 1) / (len(_QUESTIONS) + 1))
    rows.append(_rollout(robot, batch, rounds, others.get("MuJoCo"), notes))
    progress(1.0)
    about = {"robot": robot.name, "nv": robot.nv, "batch": batch, "cores": cores()}
    return {**about, "peers": {n: p.version for n, p in others.items()}, "seconds": rows, "notes": notes}


def _states(robot: Robot, question: str, batch: int) -> tuple[Any, ...]:
    import numpy as np

    rng = np.random.default_rng(0)
    drawn = {"q": robot.random(rng, (batch,))}
    drawn |= {name: rng.uniform(-1.0, 1.0, (batch, robot.nv)) for name in "vat"}
    return tuple(np.ascontiguousarray(drawn[name]) for name in _QUESTIONS[question])


def _rollout(robot: Robot, batch: int, rounds: int, other: Any, notes: list[str]) -> dict[str, Any]:
    """Measure steps of semi-implicit Euler: seconds per state and step."""
    import numpy as np

    from ..compile import cores
    from .peers import AGREEMENT, difference

    q0, _, _ = _states(robot, "inverse_dynamics", batch)
    v0 = np.zeros((batch, robot.nv))
    tau = robot.gravity_force(q0)

    def ours(threads: int | None) -> Call:
        return lambda: robot.rollout(q0, v0, tau, _STEPS, _DT, threads=threads)

    contestants: dict[str, Call] = {"batch": ours(1), "batch_all_cores": ours(None)}
    if other is not None:
        theirs, last = other.rollout(q0, v0, tau, _STEPS, _DT, cores())
        apart = difference(robot.rollout(q0, v0, tau, _STEPS, _DT, every=_STEPS).q[:, -1], last())
        if apart > AGREEMENT:
            notes.append(f"rollout: MuJoCo ends elsewhere (by {apart:.1e}), and is not timed")
        else:
            contestants["MuJoCo.batch_all_cores"] = theirs
    times = _race(contestants, min(rounds, 3))
    return {"function": "rollout (a step)", **{name: t / (batch * _STEPS) for name, t in times.items()}}


def _race(contestants: dict[str, Call], rounds: int) -> dict[str, float]:
    """Return seconds per call: the best of all rounds, in which all take turns."""
    counts = {}
    for name, call in contestants.items():
        call()  # compiles, and fills the caches
        begun = time.perf_counter()
        call()
        counts[name] = max(1, int(_SLICE / max(time.perf_counter() - begun, 1e-8)))
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, call in contestants.items():
            repeats = range(counts[name])
            begun = time.perf_counter()
            for _ in repeats:
                call()
            best[name] = min(best[name], (time.perf_counter() - begun) / counts[name])
    return best


def _lines(found: dict[str, Any]) -> list[str]:
    """Return one table: times of one state, and the ratios to others."""
    rows = found["seconds"]
    columns = [("batch", "one core"), ("batch_all_cores", f"{found['cores']} cores"), ("call", "one call")]
    others = [key for key in dict.fromkeys(k for row in rows for k in row) if "." in key]
    names = {"batch": "C++", "call": "call", "batch_all_cores": f"{found['cores']} cores"}
    head = ["time per state", *(title for _, title in columns), "states/s"]
    head += [f"{key.partition('.')[0]} {names[key.partition('.')[2]]}" for key in others]
    cells = [head]
    for row in rows:
        mine = [_time(row.get(key)) for key, _ in columns]
        rate = f"{1.0 / row['batch_all_cores']:.3g}"
        theirs = []
        for key in others:
            own = row.get(key.partition(".")[2])
            ratio = f" ({row[key] / own:.3g}x)" if key in row and own else ""
            theirs.append(f"{_time(row.get(key))}{ratio}")
        cells.append([row["function"], *mine, rate, *theirs])
    versions = "".join(f", {name} {version}" for name, version in found["peers"].items())
    title = f"{found['robot']}: {found['nv']} velocities, batches of {found['batch']:,}{versions}"
    return [paint(title, "bold"), *table(cells, right=range(1, len(head))), ""]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"
