"""Many trajectories at once, in native code: their speed, and where they end.

All start at --q0 and --v0, or with --random at random positions within the limits of the joints; closed loops are
closed next to these, and next to the neutral position if there is no --q0. Steps are fixed. The time is that of the
whole computation after compiling, on all cores unless --threads is given.

With --contacts the robot touches the ground: that of its file, or --ground, whose restitution is --restitution. The
report then tells how exact the steps were. Without --q0, free bodies start where the file has them. --save and --plot
are of the first trajectory.

examples:
  ordern rollout puma560 --batch 4096 --steps 1000 --dt 1e-3 --random 0
  ordern rollout arm.urdf --batch 1e5 --steps 100 --method rk4 --float32 --json
  ordern rollout double-pendulum --batch 64 --steps 5000 --random 7 --every 10 --out paths.npz
  ordern rollout quadruped --q0 stand --pd 200 5 --contacts --ground 0.8 --points lf_foot,rf_foot,lh_foot,rh_foot
  ordern rollout scene.xml --contacts --batch 1 --dt 2e-3 --steps 1000 --save run.html --plot contacts.png
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from ..io.writing import replacing
from .contacts import (
    contact_lines,
    contact_options,
    contact_series,
    contact_summary,
    note_overlap,
    start_of_contacts,
    touching,
)
from .outputs import PICTURES, check_output, check_view, note, noted, show
from .source import bundled, loaded, robot_argument, start_options
from .terminal import figures, paint
from .values import LIST, UsageError, count, gain, names_of, positive, vector

if TYPE_CHECKING:
    from ..arguments import Array
    from ..robot import Robot
    from ..simulate.rollout import Rollout

__all__ = ["arguments", "run"]

_PIECE = 0.3
"""Seconds between two looks at the progress bar."""
_MOST = 20
_OPTIONS = ("method", "dynamics", "drift", "limits", "restitution", "effort", "threads")
"""The options that `robot.rollout` takes as they are."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    parser.add_argument("--batch", type=count, default=1024, metavar="N", help="trajectories; 1024 unless given")
    parser.add_argument("--steps", type=count, default=1000, metavar="N", help="steps of each; 1000 unless given")
    parser.add_argument("--dt", type=positive, default=1e-3, metavar="S", help="length of a step; 0.001 s unless given")
    parser.add_argument("--random", type=int, metavar="SEED", help="start at random positions, with this seed")
    start_options(parser)
    parser.add_argument("--tau", metavar=LIST, help="constant joint forces; zero unless given")
    parser.add_argument(
        "--pd",
        nargs=2,
        metavar=("KP", "KD"),
        help="stiffness and damping of springs at joints with motors: a number for all, or a LIST",
    )
    parser.add_argument("--target", metavar=LIST, help="where the springs of --pd pull to; --q0 unless given")
    parser.add_argument(
        "--method", default="semi-implicit-euler", metavar="NAME", help="integrator; semi-implicit-euler unless given"
    )
    parser.add_argument(
        "--dynamics", metavar="NAME", help="method of forward dynamics; `ordern methods forward_dynamics` lists them"
    )
    parser.add_argument(
        "--drift",
        default="baumgarte",
        choices=("baumgarte", "project"),
        help="way to keep loops closed; baumgarte unless given",
    )
    parser.add_argument(
        "--effort",
        default="clip",
        choices=("clip", "ignore"),
        help="effect of effort limits on --pd; clip unless given",
    )
    parser.add_argument(
        "--limits",
        choices=("active", "ignore", "bounce"),
        help="effect of joint limits; active unless given, if --method can hold them",
    )
    parser.add_argument(
        "--restitution",
        type=float,
        default=0.0,
        metavar="E",
        help="speed after a bounce, relative to that before; 0 unless given",
    )
    parser.add_argument("--float32", action="store_true", help="compute in single precision")
    parser.add_argument("--threads", type=count, metavar="N", help="threads; as many as cores unless given")
    parser.add_argument("--every", type=count, metavar="N", help="keep every N-th state in --out; all unless given")
    contact_options(parser)
    out = parser.add_argument_group("output")
    out.add_argument("--out", metavar="FILE.npz", help="write t, q and v of all trajectories, and what contacts did")
    out.add_argument(
        "--plot", metavar="FILE", help=f"with --contacts: draw those of the first trajectory: {', '.join(PICTURES)}"
    )
    out.add_argument(
        "--save", metavar="FILE", help="write a page that plays the first trajectory, or a film: .html, .gif, .mp4"
    )


def run(args: argparse.Namespace) -> int:
    """Roll out and report; return 1 if a trajectory diverged."""
    import numpy as np

    _check(args)
    robot = touching(args, loaded(args))
    rolled, seconds, touched = _rolled(args, robot)
    if args.out:
        with replacing(args.out) as file:
            np.savez(file, t=rolled.t, q=rolled.q, v=rolled.v, **touched)
    lost = int(rolled.diverged.sum())
    rate = args.batch * (args.steps // _every(args) * _every(args)) / seconds
    fine = ~rolled.diverged
    ends = rolled.q[fine, -1, :].astype(np.float64), rolled.v[fine, -1, :].astype(np.float64)
    rows = _statistics(robot, *ends) if fine.any() else []
    data = {"robot": robot.name, "method": args.method, "batch": args.batch, "steps": args.steps, "dt": args.dt}
    data |= {"seconds": seconds, "states_per_second": rate, "diverged": lost, "final": rows, "output": args.out}
    about = contact_summary(touched)
    data |= {"contacts": about or None, "plot": args.plot, "page": args.save}
    show(args, data, _lines(args, robot, seconds, rate, rows, about))
    for text in rolled.notes:
        note(text)
    if lost:
        first = int(np.flatnonzero(~fine)[0])
        at = rolled.t[rolled.diverged_at[first]]
        note(f"{lost} of {args.batch} trajectories diverged, number {first} by t = {at:g} s; use a smaller --dt")
    return int(lost > 0)


def _check(args: argparse.Namespace) -> None:
    """Raise early for options that do not go together."""
    if args.plot and not args.contacts:
        raise UsageError("--plot draws contacts: give --contacts, too")
    check_output(args.out, (".npz",))
    check_output(args.plot, PICTURES)
    check_view(args.save)
    if args.every and not args.out:
        raise UsageError("--every selects the states in --out: give a file")
    if args.random is not None and args.q0 is not None:
        raise UsageError("--random and --q0 do not go together: give one of them")
    if args.target is not None and not args.pd:
        raise UsageError("--target is where the springs of --pd pull to: give their stiffness and damping, --pd KP KD")
    if args.pd and args.target is None and args.random is not None:
        raise UsageError("--pd with --random needs a position where the springs pull to: give --target")
    if args.contacts and args.limits == "bounce":
        raise UsageError("--limits bounce does not go with --contacts: limits are active, or ignored")


def _every(args: argparse.Namespace) -> int:
    """Return the interval between kept states; only the last one is kept if no file is written."""
    return int(min(args.every or 1, args.steps) if args.out else args.steps)


def _springs(args: argparse.Namespace, robot: Robot) -> tuple[Array, Array, Array] | None:
    """Return the springs of --pd at joints with motors: stiffness, damping and target."""
    import numpy as np

    if not args.pd:
        return None
    driven = np.zeros(robot.nv)
    for name in robot.actuated:
        driven[robot.joint(name).v] = 1.0
    kp, kd = (driven * gain(text, robot, "--pd") for text in args.pd)
    if args.target is None:
        return kp, kd, start_of_contacts(args, robot, bundled(args))
    return kp, kd, vector(args.target, robot, "q", "--target", bundled(args))


def _rolled(args: argparse.Namespace, robot: Robot) -> tuple[Rollout, float, dict[str, Any]]:
    """Return the trajectories, the seconds they took, and what contacts did; in pieces, for the progress bar."""
    import numpy as np

    from ..screen.progress import Bar
    from ..simulate.rollout import Rollout

    kind: Any = np.float32 if args.float32 else np.float64
    v0 = np.broadcast_to(vector(args.v0, robot, "v", "--v0"), (args.batch, robot.nv)).astype(kind)
    tau = vector(args.tau, robot, "tau", "--tau").astype(kind)
    if args.random is None:
        q0 = np.broadcast_to(start_of_contacts(args, robot, bundled(args)), (args.batch, robot.nq)).astype(kind)
    else:
        if args.random < 0:
            raise UsageError(f"--random: a seed is a whole number from 0 on, not {args.random}")
        q0 = robot.random(np.random.default_rng(args.random), (args.batch,)).astype(kind)
        if robot.nc:
            q0 = robot.assemble(q0).q
            v0 = robot.project_velocity(q0, v0)
    note_overlap(robot, q0)
    every = _every(args)
    options = {name: getattr(args, name) for name in _OPTIONS} | {"feedback": _springs(args, robot)}
    if args.contacts:  # the ground has it
        options["restitution"] = 0.0

    def roll(first: int, end: int, steps: int, every: int) -> Rollout:
        return robot.rollout(q0[first:end], v0[first:end], tau, steps, args.dt, every=every, **options)

    few = min(args.batch, 64), min(args.steps, 20)
    roll(0, few[0], few[1], few[1])  # compiles
    begun = time.perf_counter()
    roll(0, few[0], few[1], few[1])
    guess = (time.perf_counter() - begun) * (args.batch / few[0]) * (args.steps / few[1])
    pieces = max(1, min(args.batch // 512, int(guess / _PIECE)))
    edges = np.linspace(0, args.batch, pieces + 1).astype(int)
    bar, found = Bar() if pieces > 1 else None, []
    begun = time.perf_counter()
    for k in range(pieces):
        found.append(roll(int(edges[k]), int(edges[k + 1]), args.steps, every))
        if bar:
            bar((k + 1) / pieces)
    seconds = time.perf_counter() - begun
    if args.save or args.plot:
        _draw(args, robot, found[0][0] if args.out else roll(0, 1, args.steps, 1)[0])
    touched = contact_series(found)
    if pieces == 1:
        return found[0], seconds, touched
    q, v = np.concatenate([r.q for r in found]), np.concatenate([r.v for r in found])
    return Rollout(q, v, found[0].t), seconds, touched


def _draw(args: argparse.Namespace, robot: Robot, run: Rollout) -> None:
    """Draw one trajectory."""
    if args.plot:
        from ..plot import contacts

        contacts(run, save=args.plot)
    if args.save:
        with noted():
            robot.view(motion=run, save=args.save)


def _statistics(robot: Robot, q: Any, v: Any) -> list[dict[str, Any]]:
    """Return for each coordinate at the end: mean, standard deviation, least, largest."""
    names = [f"{kind}.{name}" for kind in "qv" for name in names_of(robot, kind)]
    return [
        {"name": name, "mean": x.mean(), "deviation": x.std(), "least": x.min(), "largest": x.max()}
        for name, x in zip(names, (*q.T, *v.T), strict=True)
    ]


def _lines(
    args: argparse.Namespace,
    robot: Robot,
    seconds: float,
    rate: float,
    rows: list[dict[str, Any]],
    about: dict[str, Any],
) -> list[str]:
    from ..compile import cores

    kind = "float32" if args.float32 and not robot.nc else "float64"
    dynamics = args.dynamics or ("multipliers" if robot.nc else "articulated-body")
    threads = args.threads or cores()
    lines = [
        paint(f"{robot.name}: {args.batch:,} trajectories of {args.steps:,} steps of {args.dt:g} s", "bold"),
        f"  {args.method}, accelerations by {dynamics}, {kind}, up to {threads} thread{'s' * (threads > 1)}",
        f"  {seconds:.4g} s: {rate:.4g} states per second, {1e9 / rate:.4g} ns each",
        *contact_lines(about, _every(args)),
        "",
    ]
    if rows:
        _, *keys = rows[0]
        numbers = ((row["name"], [row[key] for key in keys]) for row in rows)
        lines += figures(("at the end", *keys), numbers, most=_MOST)
    return lines
