"""Kill checkpointed runs at random moments, again and again, and look whether anything is lost.

python -m tests.simulate.kills --kills 50              # a writer of a known sequence
python -m tests.simulate.kills --kills 50 --simulate   # simulations: from Python, and as machine code
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import ordern as on
from ordern.simulate.events import Event
from ordern.simulate.run import run as driver
from ordern.simulate.run.checkpoint import Checkpoint

KEY = "the driven pendulum of tests/simulate/kills.py"
STEP = 1e-3
BLOCK = 16
"""Records in each append."""

Run = tuple[np.ndarray, np.ndarray]


def rates(t: float, y: np.ndarray) -> np.ndarray:
    """A driven, damped pendulum: chaotic, so that one wrong bit would show."""
    return np.array([y[1], -9.81 * np.sin(y[0]) - 0.1 * y[1] + 12.0 * np.cos(2.0 * t)])


def steps(t: float, y: np.ndarray, count: int) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Classical Runge-Kutta steps: the last time and state, and all of them."""
    times, states = np.empty(count), np.empty((count, 2))
    for k in range(count):
        k1 = rates(t, y)
        k2 = rates(t + STEP / 2, y + STEP / 2 * k1)
        k3 = rates(t + STEP / 2, y + STEP / 2 * k2)
        k4 = rates(t + STEP, y + STEP * k3)
        y = y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t = t + STEP
        times[k], states[k] = t, y
    return t, y, times, states


def write(path: str, blocks: int) -> None:
    """Go on from the checkpoint, until it has this many blocks (0: for ever)."""
    with Checkpoint.open(path, KEY) as saved:
        _, state = saved.load()
        t, y = (float(state["t"]), state["y"]) if state else (0.0, np.array([0.5, 0.0]))
        print("ready", flush=True)
        while not blocks or len(saved) < blocks:
            t, y, times, states = steps(t, y, BLOCK)
            saved.append([("rows", [times, states])], {"t": np.array(t), "y": y})


def unbroken(blocks: int) -> Run:
    """The same without a checkpoint."""
    _, _, times, states = steps(0.0, np.array([0.5, 0.0]), blocks * BLOCK)
    return times, states


def kill_at_random(command: list[str], delay: float) -> bool:
    """Start a process and kill it some time after it is ready; False if it had ended by then."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = process.stdout.readline()
    time.sleep(delay)
    code = process.poll()
    process.kill()
    _, trouble = process.communicate()
    if ready != "ready\n" or code not in (None, 0):
        raise RuntimeError(f"the run failed: {trouble}")
    return code is None


def kill_writer(kills: int, folder: Path, seed: int = 0) -> tuple[int, Run, Run]:
    """How many blocks there are after so many kills and a last run to the end; that run, and the unbroken one."""
    rng = random.Random(seed)
    path = str(folder / "writer.ckpt")
    command = [sys.executable, "-m", "tests.simulate.kills", "--write", path]
    for _ in range(kills):
        assert kill_at_random(command, rng.uniform(0.0, 0.05))
    with Checkpoint.open(path, KEY) as saved:
        blocks = len(saved) + 5
    write(path, blocks)
    with Checkpoint.open(path, KEY) as saved:
        found, _ = saved.load()
    t, y = (np.concatenate([arrays[k] for _, arrays in found]) for k in range(2))
    return blocks, (t, y), unbroken(blocks)


def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A force that depends on all."""
    return np.array([0.3 * np.cos(3.0 * t) - 0.05 * v[0], 0.1 * np.sin(q[0])])


def turning(t: float, q: np.ndarray, v: np.ndarray) -> float:
    return float(v[0])


def simulation(path: Path | None, native: bool) -> on.Result:
    """A double pendulum that is pushed, or falls; with its events."""
    robot, events = on.load("double-pendulum"), [Event(turning, name="turns")]
    if native:
        return robot.simulate([1.5, 0.5], until=60.0, method="rk4", step=2e-3, events=events, checkpoint=path)
    return robot.simulate([1.5, 0.5], tau=push, until=5.0, rtol=1e-11, atol=1e-11, events=events, checkpoint=path)


def simulate(path: Path, native: bool) -> None:
    """Go on from the checkpoint to the end, saving all the time."""
    driver._SAVE_EVERY = 0.0
    print("ready", flush=True)
    simulation(path, native)


def kill_simulation(kills: int, folder: Path, native: bool, seed: int = 0) -> tuple[int, int]:
    """Kill simulations so many times, and finish them. Raise if one differs from the unbroken.

    How many simulations they were, and how many kills came when something new had been saved.
    """
    rng = random.Random(seed)
    expected = simulation(None, native)
    assert expected.report.native == native
    runs, left, grown = 0, kills, 0
    while left or not runs:
        path = folder / f"run{runs}.ckpt"
        command = [sys.executable, "-m", "tests.simulate.kills", "--run", str(path), *["--native"] * native]
        size = 0
        while left and kill_at_random(command, rng.uniform(0.0, 3.0)):
            now = sum(file.stat().st_size for file in folder.glob(f"{path.name}*"))
            left, grown, size = left - 1, grown + (now > size), now
        compare(simulation(path, native), expected)
        runs += 1
    return runs, grown


def compare(found: on.Result, expected: on.Result) -> None:
    """Raise unless two results are the same to the last bit, but for the time that they took."""
    assert found == expected, "another motion"
    assert found.dense == expected.dense, "another motion between the samples"
    for name in ("steps", "rejected", "evaluations", "work", "dissipated", "energy_error", "stopped", "message"):
        mine, other = getattr(found.report, name), getattr(expected.report, name)
        assert mine == other, f"{name} is {mine}, not {other}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--simulate", action="store_true", help="simulations, not a writer of a known sequence")
    parser.add_argument("--native", action="store_true", help="of simulations only those that run as machine code")
    parser.add_argument("--write", metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument("--run", metavar="PATH", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        write(args.write, 0)
        return 0
    if args.run:
        simulate(args.run, args.native)
        return 0
    if args.simulate:
        for native in (True,) if args.native else (False, True):
            with tempfile.TemporaryDirectory() as folder:
                runs, grown = kill_simulation(args.kills, Path(folder), native, args.seed)
            way = "as machine code" if native else "from Python"
            print(
                f"{args.kills} kills of {runs} simulations {way}, {grown} of them after something new was saved: ",
                end="",
            )
            print("all identical to an unbroken one", flush=True)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        blocks, (t, y), (t0, y0) = kill_writer(args.kills, Path(folder), args.seed)
    same = bool(np.array_equal(t, t0) and np.array_equal(y, y0))
    print(f"{args.kills} kills, {blocks} blocks of {BLOCK} records: {'identical' if same else 'DIFFERENT'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
