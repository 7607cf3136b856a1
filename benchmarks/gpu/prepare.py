"""Write kernels for `measure`: code for H100 and H200, states, and reference answers of this processor in float64.

python -m benchmarks.gpu.prepare FOLDER [REGEX]
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
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


def _threads(*registers: int, piece: int = ANY) -> dict[str, Plan | None]:
    """One state a thread."""
    return {f"threads{r or ''}": Plan(128, r, 100, piece) for r in registers}


def _teams(*registers: int, team: str = "limbs", groups: int = 1, piece: int = ANY) -> dict[str, Plan | None]:
    """Groups of 32 states, in one warp or in one for each limb."""
    end = f"x{groups}" if groups > 1 else ""
    end += "" if piece == ANY else f"p{piece}"
    return {f"{team}{r or ''}{end}": Plan(0, r, 0, piece, team=team, groups=groups) for r in registers}


def cases() -> Iterator[Case]:
    """Every kernel with the plans that could be best for it; the plan None is the automatic choice."""
    fd, dfd, auto = "forward_dynamics", "forward_dynamics_derivatives", {"auto": None}
    large = 1 << 22
    yield Case("panda", fd, "float32", {**auto, **_teams(0, team="rows")})
    yield Case("panda", fd, "float64", {**auto, **_threads(0)})
    yield Case("panda", fd, "float32", {"auto4M": None}, large)
    yield Case("panda", fd, "float64", {"auto4M": None}, large)
    yield Case("talos", fd, "float32", {**auto, **_teams(168), **_teams(128, groups=2)})
    yield Case("talos", fd, "float64", {**auto, **_teams(168)})
    yield Case("g1", fd, "float32", {**auto, **_teams(168), **_threads(0, piece=300)})
    yield Case("g1", fd, "float64", {**auto, **_teams(168)})
    yield Case("panda", dfd, "float32", {**auto, **_threads(0, piece=300)})
    yield Case("go2", dfd, "float32", {**auto, **_threads(168, piece=300)}, batch=1 << 18)
    yield Case("go2", dfd, "float32", {"rolled": None}, 1 << 18, "rolled")
    for dtype in ("float32", "float64"):
        yield Case("go2", fd, dtype, auto)
        yield Case("ur5", fd, dtype, auto)
        yield Case("chain-30", fd, dtype, auto)
        yield Case("panda", "inverse_dynamics", dtype, auto)
        yield Case("talos", "inverse_dynamics", dtype, auto)
        for robot in ("panda", "go2", "talos"):
            yield Case(robot, "mass_matrix", dtype, auto, batch=1 << 18)
        yield Case("stewart-platform", "closed_dynamics", dtype, auto)
    yield Case("talos", dfd, "float32", auto, batch=1 << 17)


ROLLOUTS: dict[str, dict[str, Plan | None]] = {
    "panda": {"auto": None, **_teams(0, team="rows")},
    "go2": {"auto": None, **_teams(96)},
    "talos": {"auto": None, **_teams(168)},
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
        numbers = np.zeros(5 + 3 * robot.nv)
        numbers[:2] = 1e-3, 0.01
        given = {"q0": q, "v0": v, "tau": tau, "numbers": numbers}
        np.savez_compressed(folder / f"{robot_name}.rollout.npz", q=ends.q[:, -1], v=ends.v[:, -1], **given)
        requests = step_requests(robot, method, None, feedback=False, external=False)
        for kind, plan in wanted.items():
            ir, code = write_rollout(robot, requests, lambda m, q, v: fixed_step(m, method, q, v), dtype, ARCH, plan)
            name = f"{robot_name}.rollout.{dtype}.{kind}"
            _assemble(folder, name, assembly(ir, ARCH))
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
            _assemble(folder, name, assembly(written.ir, ARCH))
            (folder / f"{name}.tables").write_bytes(code.tables)
            about = {k: getattr(code, k) for k in ("entry", "block", "states", "shared_bytes", "workspace")}
            about |= {"name": name, "dtype": case.dtype, "reference": reference, "inputs": ports, "batch": case.batch}
            listed.append(about)
            print(name, flush=True)
    listed += rollouts(folder, pattern)
    (folder / "kernels.json").write_text(json.dumps(listed, indent=0))


def _assemble(folder: Path, name: str, text: str) -> None:
    """Write PTX, and what NVIDIA's assembler makes of it, if that is installed."""
    (folder / f"{name}.ptx.gz").write_bytes(gzip.compress(text.encode(), 1))
    package = find_spec("nvidia.cuda_nvcc")
    if package is None or not package.submodule_search_locations:
        return
    program = Path(next(iter(package.submodule_search_locations))) / "bin" / "ptxas"
    with TemporaryDirectory() as scratch:
        source, made = Path(scratch) / "kernel.ptx", Path(scratch) / "kernel.cubin"
        source.write_text(text)
        subprocess.run([str(program), f"-arch={ARCH}", str(source), "-o", str(made)], check=True)
        (folder / f"{name}.cubin.gz").write_bytes(gzip.compress(made.read_bytes(), 1))


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
