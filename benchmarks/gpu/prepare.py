"""Write kernels for `measure`: PTX for H100 and H200, states, and reference answers in double precision.

python -m benchmarks.gpu.prepare FOLDER [REGEX]
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ordern as on
from ordern.compile.ptx.machine import assembly
from ordern.compile.ptx.plan import Plan
from ordern.compile.ptx.program import write_kernel
from ordern.compile.ptx.rollout import ROLLOUT_PARAMETERS, write_rollout
from ordern.simulate.integrators.native import step_requests
from ordern.simulate.integrators.rk_step import fixed_step
from ordern.simulate.integrators.tableaus import tableau
from tests.robots import ROBOTS

ARCH = "sm_90"
STATES = 256
FILES = {
    "panda": ("panda_description/urdf/panda.urdf", False),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", False),
    "go2": ("go2_description/urdf/go2.urdf", True),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    "talos": ("talos_data/robots/talos_reduced.urdf", True),
}
ANY = 1 << 30


class Case(NamedTuple):
    robot: str
    question: str
    dtype: str
    plans: dict[str, Plan | None]
    batch: int = (1 << 20) - 5
    way: str | None = None


def robot_of(name: str) -> on.Robot:
    if name in FILES:
        file, floating = FILES[name]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return on.load(ROBOTS / file, floating=floating)
    kind, _, size = name.partition("-")
    return on.chain(int(size)) if kind == "chain" else on.load(name)


def _threads(*registers: int, pieces: tuple[int, ...] = (ANY,)) -> dict[str, Plan | None]:
    """One state a thread."""
    return {f"threads{r or ''}p{p if p != ANY else ''}": Plan(128, r, 100, p) for r in registers for p in pieces}


def _teams(*registers: int, teams: tuple[str, ...] = ("rows", "limbs"), piece: int = ANY) -> dict[str, Plan | None]:
    """32 states a block, in one warp or in one for each limb."""
    end = "" if piece == ANY else f"p{piece}"
    return {f"{t}{r or ''}{end}": Plan(0, r, 0, piece, team=t) for t in teams for r in registers}


def cases() -> Iterator[Case]:
    """Every kernel with the plans that could be best for it; the plan None is the automatic choice."""
    fd, dfd = "forward_dynamics", "forward_dynamics_derivatives"
    early = {"early64": Plan(64, 0, ANY, ANY), "early256": Plan(256, 128, ANY, ANY)}
    yield Case("panda", fd, "float32", {"auto": None, **early, **_threads(0, 96, pieces=(ANY, 200)), **_teams(0)})
    yield Case("panda", fd, "float64", {"auto": None, **_threads(0, 168, 128, pieces=(ANY, 200)), **_teams(0, 168)})
    for dtype in ("float32", "float64"):
        yield Case("ur5", fd, dtype, {"auto": None})
        yield Case("chain-7", fd, dtype, {"auto": None})
        yield Case(
            "go2", fd, dtype, {"auto": None, **_threads(0, 168, 128), **_teams(0, 128, 96), **_teams(0, piece=150)}
        )
        yield Case(
            "chain-30",
            fd,
            dtype,
            {"auto": None, **_threads(0, 168, 128, pieces=(300,)), **_teams(0, 168, teams=("rows",), piece=300)},
        )
        for robot in ("talos", "g1"):
            slots = {"slots": Plan(64, 0, 100, ANY, 200, "shared")}
            some = {**slots, **_threads(0, 168, 128, pieces=(300,)), **_teams(0, 168, 128, 96, teams=("limbs",))}
            more = _teams(168, 128, teams=("limbs",), piece=200), _teams(0, 128, teams=("rows",), piece=300)
            yield Case(robot, fd, dtype, {"auto": None, **some, **more[0], **more[1]})
        yield Case(
            "panda",
            dfd,
            dtype,
            {"auto": None, **_threads(0, 128, pieces=(300,)), **_teams(0, teams=("rows",), piece=300)},
        )
        yield Case("go2", dfd, dtype, {"auto": None, **_threads(128, pieces=(300,))}, batch=1 << 17)
        yield Case("panda", "inverse_dynamics", dtype, {"auto": None})
        yield Case("panda", "mass_matrix", dtype, {"auto": None})
        yield Case("talos", "inverse_dynamics", dtype, {"auto": None, **_teams(0, 128, teams=("limbs",))})
        yield Case("chain-100", fd, dtype, {"rolled": None}, 1 << 17, "rolled")
        yield Case("chain-1000", fd, dtype, {"rolled": None}, 1 << 14, "rolled")
        yield Case("stewart-platform", "closed_dynamics", dtype, {"auto": None, **_threads(0, 128, pieces=(300,))})


ROLLOUTS = {
    "panda": {
        "threads": Plan(128, 0, ANY, ANY),
        "threadsp200": Plan(128, 0, ANY, 200),
        "rows": Plan(0, 0, 0, ANY, team="rows"),
    },
    "go2": {
        "threads": Plan(128, 0, 100, ANY),
        "rows": Plan(0, 0, 0, ANY, team="rows"),
        **_teams(0, 128, 96, teams=("limbs",)),
    },
    "talos": {"threads": Plan(128, 0, 100, 300), **_teams(0, 168, 128, 96, teams=("limbs",))},
}
CHECKED = 20
"""Steps after which a rollout is compared with the reference."""


def rollouts(folder: Path, pattern: str) -> Iterator[dict[str, Any]]:
    """Write the kernels of rollouts, and references after some steps."""
    method = tableau("semi-implicit-euler")
    for (robot_name, plans), dtype in product(ROLLOUTS.items(), ("float32", "float64")):
        wanted = {k: x for k, x in plans.items() if re.search(pattern, f"{robot_name}.rollout.{dtype}.{k}")}
        if not wanted:
            continue
        robot, rng = robot_of(robot_name), np.random.default_rng(0)
        q = robot.random(rng, (STATES,)).astype(np.float32).astype(float)
        v, tau = (0.1 * rng.normal(size=(STATES, robot.nv)).astype(np.float32).astype(float) for _ in range(2))
        ends = robot.rollout(q, v, tau[:, None], CHECKED, 1e-3, every=CHECKED)
        numbers = np.zeros(5 + 2 * robot.nv)
        numbers[:2] = 1e-3, 0.01
        given = {"q0": q, "v0": v, "tau": tau, "numbers": numbers}
        np.savez_compressed(folder / f"{robot_name}.rollout.npz", q=ends.q[:, -1], v=ends.v[:, -1], **given)
        requests = step_requests(robot, method, None, feedback=False, external=False)
        for kind, plan in wanted.items():
            ir, code = write_rollout(robot, requests, lambda m, q, v: fixed_step(m, method, q, v), dtype, ARCH, plan)
            name = f"{robot_name}.rollout.{dtype}.{kind}"
            (folder / f"{name}.ptx.gz").write_bytes(gzip.compress(assembly(ir, ARCH).encode(), 1))
            about = {k: getattr(code, k) for k in ("entry", "block", "states", "shared_bytes", "workspace")}
            about |= {"name": name, "dtype": dtype, "reference": f"{robot_name}.rollout", "batch": 65_536}
            yield about | {"parameters": ROLLOUT_PARAMETERS, "steps": 1000, "checked": CHECKED}
            print(name, flush=True)


def main(folder: Path, pattern: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, Any]] = []
    for case in cases():
        short = {"forward_dynamics": "fd", "forward_dynamics_derivatives": "dfd"}.get(case.question, case.question)
        start = f"{case.robot}.{short}.{case.dtype}"
        wanted = {k: plan for k, plan in case.plans.items() if re.search(pattern, f"{start}.{k}")}
        if not wanted:
            continue
        robot = robot_of(case.robot)
        kernel = robot.kernel(case.question, way=case.way)
        reference = f"{case.robot}.{short}"
        ports = _reference(folder, reference, robot, kernel)
        for name, plan in wanted.items():
            written = write_kernel(kernel.request, case.dtype, ARCH, plan)
            code, name = written.code, f"{start}.{name}"
            (folder / f"{name}.ptx.gz").write_bytes(gzip.compress(assembly(written.ir, ARCH).encode(), 1))
            (folder / f"{name}.tables").write_bytes(code.tables)
            about = {k: getattr(code, k) for k in ("entry", "block", "states", "shared_bytes", "workspace")}
            about |= {"name": name, "dtype": case.dtype, "reference": reference, "inputs": ports, "batch": case.batch}
            listed.append(about)
            print(name, flush=True)
    listed += rollouts(folder, pattern)
    (folder / "kernels.json").write_text(json.dumps(listed, indent=0))


def _reference(folder: Path, name: str, robot: on.Robot, kernel: Any) -> int:
    """Write states and answers; return the number of arguments."""
    rng = np.random.default_rng(0)
    if robot.loops:
        q = np.stack([robot.assemble().q] * STATES)
        given = [q, np.zeros((STATES, robot.nv)), rng.normal(size=(STATES, robot.nv))]
    else:
        more = [rng.normal(size=(STATES, robot.nv)) for _ in range(2)]
        given = [robot.random(rng, (STATES,)), *more][: len(kernel.ports)]
    given = [x.astype(np.float32).astype(float) for x in given]
    np.savez_compressed(folder / f"{name}.npz", out=kernel(*given), **{f"in{k}": x for k, x in enumerate(given)})
    return len(given)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
