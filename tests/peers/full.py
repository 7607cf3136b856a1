"""Agreement with Pinocchio on many states, as a table: `python -m tests.peers.full [states] [frames] [snap]`.

With snap 0, which is usual here, both libraries have the same numbers; "default" is what `on.load` does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.peers_util import CASES, Pair, relative_errors


def rows(states: int, frames: int, snap: float | None) -> Iterator[tuple[str, int, str, float]]:
    """Robot, nv, function, worst relative error."""
    for case in CASES:
        pair = Pair(case, snap)
        worst: dict[str, float] = {}
        for what, mine, theirs in pair.answers(pair.states(states), pair.frames(frames)):
            worst[what] = max(worst.get(what, 0.0), float(relative_errors(mine, theirs).max()))
        for what, error in worst.items():
            yield case.name, pair.robot.nv, what, error


def main(states: str = "1000", frames: str = "3", snap: str = "0") -> None:
    print(f"{states} states, up to {frames} frames, snap {snap}")
    print("| robot | nv | function | worst relative error |\n|---|---|---|---|")
    for robot, nv, what, error in rows(int(states), int(frames), None if snap == "default" else float(snap)):
        print(f"| {robot} | {nv} | {what} | {error:.1e} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
