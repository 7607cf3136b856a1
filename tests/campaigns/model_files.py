"""Load every model file in some folders, and compare the dynamics with those of another library.

    python -m tests.campaigns.model_files FOLDER ... [--format mjcf|urdf|sdf] [--limit 60] [--processes 2] [--list]

MJCF is compared with MuJoCo, URDF with Pinocchio, SDF with Drake: mass matrix and bias force at random states, in their
coordinates through `on.convert`. A file counts if the other library reads it; `--list` names all files that do not
agree.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ordern as on
from ordern.records import dataclass
from tests.campaigns.workers import each_in_time

__all__ = ["FORMATS", "Outcome", "compared", "model_files", "report"]

AGREE = 1e-9
"""The largest difference, relative to the largest entry."""
STATES = 2
LARGE = 100
"""Freedoms beyond which mass matrices are compared by their product with a vector."""
OUTCOMES = ("agree", "disagree", "in part", "refused", "not compared", "too slow", "crashed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file."""

    file: str
    found: str
    """One of OUTCOMES, or "unread" if the other library does not read the file; "in part" if bodies are left out."""
    why: str = ""
    error: float = 0.0
    seconds: float = 0.0
    """The time that ordern took to load it."""
    loads: bool = True
    """True if ordern loads it; of files that the other library does not read, too."""
    moves: bool = True
    """True if it has joints."""


def _mujoco(file: str) -> Any:
    import mujoco

    return mujoco.MjModel.from_xml_path(file)


def _mujoco_terms(model: Any, c: on.Converter, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mass matrix and bias force in MuJoCo's coordinates, at one state."""
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = c.to_peer(q, v)
    for step in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_tendon, mujoco.mj_makeM, mujoco.mj_comVel):
        step(model, data)
    M, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, M)
    mujoco.mj_rne(model, data, 0, bias)
    return M, bias


def _pinocchio(file: str) -> Any:
    import pinocchio

    return pinocchio.buildModelFromUrdf(file)


def _pinocchio_terms(model: Any, c: on.Converter, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mass matrix and bias force in Pinocchio's coordinates, at one state.

    Pinocchio does not read the inertia of rotors, which Drake adds to URDF: it is added here.
    """
    import pinocchio

    theirs, B = c.to_peer(q, v), c.velocity_matrix(q)
    M = pinocchio.crba(model, model.createData(), theirs[0])
    armature = np.zeros(c.robot.nv)
    for joint in c.robot.joints:
        armature[joint.v] += joint.armature
    M = np.triu(M) + np.triu(M, 1).T + B * armature @ B.T
    return M, pinocchio.nle(model, model.createData(), *theirs)


_LOOKS = re.compile(rb"<(visual|collision|sensor|plugin|light)\b(?:[^>]*/>|.*?</\1\s*>)", re.DOTALL)


def _drake(file: str) -> Any:
    """Return the plant of a file; where Drake refuses the looks, of the file without them."""
    try:
        return _plant(file, None)
    except Exception:  # of any kind
        return _plant(file, _LOOKS.sub(b"", Path(file).read_bytes()).decode(errors="replace"))


def _plant(file: str, text: str | None) -> Any:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    for around in Path(file).parents[:4]:  # where Gazebo finds `model://name`
        for config in around.glob("*/model.config"):
            if not parser.package_map().Contains(config.parent.name):
                parser.package_map().Add(config.parent.name, str(config.parent))
    if text is None:
        parser.AddModels(file)
    else:
        parser.AddModelsFromString(text, "sdf")
    plant.Finalize()
    return plant


def _drake_terms(plant: Any, c: on.Converter, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mass matrix and bias force in Drake's coordinates, at one state."""
    context = plant.CreateDefaultContext()
    theirs = c.to_peer(q, v)
    plant.SetPositions(context, theirs[0])
    plant.SetVelocities(context, theirs[1])
    return plant.CalcMassMatrix(context), plant.CalcBiasTerm(context) - plant.CalcGravityGeneralizedForces(context)


Terms = Callable[[Any, on.Converter, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
FORMATS: dict[str, tuple[tuple[str, ...], bytes, Callable[[str], Any], Terms]] = {
    "mjcf": ((".xml", ".mjcf"), b"<mujoco", _mujoco, _mujoco_terms),
    "urdf": ((".urdf",), b"<robot", _pinocchio, _pinocchio_terms),
    "sdf": ((".sdf", ".world"), b"<sdf", _drake, _drake_terms),
}
"""The suffixes of files, their root element, and the other library: how it loads a file, and its answers."""


PEERS = {"mjcf": "mujoco", "urdf": "pinocchio", "sdf": "pydrake"}
"""The module of the other library."""


def model_files(folders: Iterable[str | Path], format: str) -> list[str]:
    """Return the files of a format in some folders, in order."""
    suffixes, root, _, _ = FORMATS[format]
    found = (path for folder in folders for path in Path(folder).resolve().rglob("*") if path.suffix in suffixes)
    return sorted(str(path) for path in found if path.is_file() and root in path.read_bytes())


def compared(file: str, format: str) -> Outcome:
    """Load a file in both libraries, and compare them."""
    _, _, peer, terms = FORMATS[format]
    os.chdir(tempfile.gettempdir())  # MuJoCo writes its log into the current folder
    try:
        model, why = peer(file), ""
    except Exception as e:  # of any kind: each library has its own
        model, why = None, str(e)
    start = time.perf_counter()
    try:
        robot = _loaded(file, model if format == "sdf" else None)
    except on.OrdernError as e:
        return Outcome(file, "unread" if model is None else "refused", why or str(e), loads=False)
    seconds = time.perf_counter() - start
    if model is None:
        return Outcome(file, "unread", why, moves=robot.nv > 0)
    left_out = [
        str(note)
        for note in robot.notes
        if "left out" in note.message and "transmissions" not in note.message and robot.nv < _freedoms(model)
    ]
    if left_out:
        return Outcome(file, "in part", left_out[0], seconds=seconds)
    try:
        error = max(_difference(robot, on.convert(robot, model), model, terms, seed) for seed in range(STATES))
    except on.OrdernError as e:
        return Outcome(file, "not compared", str(e), seconds=seconds)
    found = "agree" if error <= AGREE else "disagree"
    return Outcome(file, found, f"{error:.1e}", error, seconds, moves=robot.nv > 0)


def _freedoms(model: Any) -> int:
    return int(model.num_velocities() if hasattr(model, "num_velocities") else model.nv)


def _loaded(file: str, plant: Any) -> on.Robot:
    """Load a file without warnings; as a robot that floats where it does in a plant of Drake."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = on.load(file)
        if plant is not None and plant.num_velocities() == robot.nv + 6:
            robot = on.load(file, floating=True)
    return robot


def _difference(robot: on.Robot, c: on.Converter, model: Any, terms: Terms, seed: int) -> float:
    """Return the largest difference of mass matrix and bias force at a random state, relative to the largest entry."""
    rng = np.random.default_rng(seed)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    if not robot.nv:
        return 0.0
    B = c.velocity_matrix(q)
    M, bias = terms(model, c, q, v)
    # Their accelerations are B a + drift, so that M' drift belongs to our bias.
    drift = c.to_peer(q, v, np.zeros(robot.nv))[2]
    theirs = B.T @ M @ B
    their_bias, our_bias = B.T @ (bias + M @ drift), robot.kernel("bias_force", way="interpreted")(q, v)
    if robot.nv <= LARGE:
        ours = robot.kernel("mass_matrix", way="interpreted")(q)
    else:  # the matrix times a vector
        a = rng.normal(size=robot.nv)
        ours = robot.kernel("inverse_dynamics", way="interpreted")(q, v, a) - our_bias
        theirs = theirs @ a
    scale = np.abs(theirs).max() or 1.0  # of robots without mass
    forces = max(np.abs(their_bias).max(), scale)  # velocities are of size one; a bias may be zero but for rounding
    return float(max(np.abs(theirs - ours).max() / scale, np.abs(their_bias - our_bias).max() / forces))


def report(outcomes: Sequence[Outcome], *, names: bool = False) -> str:
    """Return tables: counts by folder, and the reasons why files are refused."""
    read = [x for x in outcomes if x.found != "unread"]
    lines = [f"{'folder':<24}{'files':>7}{'read':>7}" + "".join(f"{name:>14}" for name in OUTCOMES)]
    top = os.path.commonpath([os.path.dirname(x.file) for x in outcomes]) if outcomes else ""
    groups = sorted({_folder(x, top) for x in outcomes})
    for group in (*groups, "all"):
        here = [x for x in outcomes if group in ("all", _folder(x, top))]
        counts = Counter(x.found for x in here)
        row = "".join(f"{counts[name]:>14}" for name in OUTCOMES)
        lines.append(f"{group:<24}{len(here):>7}{len(here) - counts['unread']:>7}{row}")
    reasons = Counter((x.found, _reason(x)) for x in read if x.found not in ("agree", "disagree"))
    lines += ["", "reasons:", *(f"{n:>5}  {found}: {why}" for (found, why), n in reasons.most_common())]
    unread = [x for x in outcomes if x.found == "unread"]
    lines += ["", f"not read by the other library: {len(unread)}, of which ordern loads {sum(x.loads for x in unread)}"]
    lines += [f"of those that agree, {sum(x.found == 'agree' and x.moves for x in read)} have joints"]
    slow = sorted(read, key=lambda x: -x.seconds)[:5]
    lines += ["", "slowest:", *(f"{x.seconds:>7.2f} s  {os.path.relpath(x.file, top)}" for x in slow)]
    if names:
        left = [x for x in read if x.found != "agree"]
        lines += ["", "files:", *(f"{x.found}: {os.path.relpath(x.file, top)}: {x.why}" for x in left)]
    return "\n".join(lines)


def _folder(outcome: Outcome, top: str) -> str:
    return os.path.relpath(outcome.file, top).split(os.sep)[0] or "."


def _reason(outcome: Outcome) -> str:
    """Return the reason without names, numbers and places, which differ from file to file."""
    text = outcome.why.replace(outcome.file, "FILE")
    text = re.sub(r"^\S+:\d+: ", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", text)
    return re.sub(r"[-+]?\d[\d.,e+-]*", "#", text)[:200]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign, and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--format", choices=FORMATS, default="mjcf")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each file")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="name all files that do not agree")
    args = parser.parse_args(arguments)
    if importlib.util.find_spec(PEERS[args.format]) is None:
        parser.error(f"--format {args.format} needs the package {PEERS[args.format]!r}, to compare with")
    files = model_files(args.folder, args.format)
    outcomes = run(files, args.format, limit=args.limit, processes=args.processes)
    print(report(outcomes, names=args.list))
    return int(any(x.found == "disagree" for x in outcomes))


def run(files: Sequence[str], format: str, *, limit: float = 60.0, processes: int = 2) -> list[Outcome]:
    """Return what became of each file, in order."""
    found = []
    for file, result in each_in_time(partial(compared, format=format), files, limit=limit, processes=processes):
        if isinstance(result, Exception):
            result = Outcome(file, "too slow" if isinstance(result, TimeoutError) else "crashed", str(result))
        found.append(result)
        if len(found) % 100 == 0:
            print(f"{len(found)} of {len(files)} files", file=sys.stderr, flush=True)
    return sorted(found, key=lambda x: x.file)


if __name__ == "__main__":
    sys.exit(main())
