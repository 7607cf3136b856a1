"""A byte fuzzer: mutates good descriptions, and reports what is raised besides ordern's own errors.

    python -m tests.fuzz.bytes --runs 100000 --format urdf
    python -m tests.fuzz.bytes --runs 0 --seconds 3600 --format mjcf --seeds folder/ --crashes found/

With the package atheris installed, --atheris lets it choose the inputs by the code that they reach, until the first
crash:

    python -m tests.fuzz.bytes --atheris --runs 0 --seconds 600 --format sdf --crashes found/
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.fuzz.grammar import FORMATS as XML_FORMATS
from tests.fuzz.grammar import HOSTILE, SEEDS, document
from tests.fuzz.target import attempt

__all__ = ["FORMATS", "Seen", "fuzz", "mutated"]

SUFFIX = {**{name: suffix for name, (_, suffix, _) in XML_FORMATS.items()}, "dh": ".dh"}
FORMATS = tuple(SUFFIX)
SLOW = 2.0
"""Seconds after which an input counts as a hang."""


@dataclass
class Seen:
    """What a run has seen."""

    runs: int = 0
    robots: int = 0
    crashes: dict[str, bytes] = field(default_factory=dict)
    """The shortest input for each place where something was raised."""


def mutated(data: bytes, others: Sequence[bytes], r: Random) -> bytes:
    """A few random changes: of bytes, of pieces, of words between quotes and brackets."""
    out = bytearray(data)
    for _ in range(1 + int(r.expovariate(0.6))):
        at = r.randrange(len(out) + 1)
        n = min(len(out) - at, 1 << r.randrange(9))
        kind = r.randrange(10)
        if kind == 0 and n:
            out[at] = r.randrange(256)
        elif kind == 1:
            out[at:at] = bytes(r.choice(b"\x00\xff<>&\"'/ 0123456789.-eE[](){},:") for _ in range(1 + r.randrange(4)))
        elif kind == 2:
            del out[at : at + n]
        elif kind == 3:
            out[at:at] = out[at : at + n]
        elif kind == 4:
            other = r.choice(others)
            start = r.randrange(len(other))
            out[at : at + n] = other[start : start + n]
        elif kind == 5 and n:
            out[at] ^= 1 << r.randrange(8)
        else:
            _replace_word(out, others, r)
    return bytes(out)


def _replace_word(out: bytearray, others: Sequence[bytes], r: Random) -> None:
    """Put another value, a hostile one, or one of another document, in the place of a word."""
    if not (words := _words(out)):
        return
    start, end = r.choice(words)
    if r.random() < 0.5:
        new = r.choice(HOSTILE).encode()
    else:
        other = r.choice(others)
        found = _words(other)
        a, b = r.choice(found) if found else (0, 0)
        new = other[a:b]
    out[start:end] = new


def _words(data: bytes | bytearray) -> list[tuple[int, int]]:
    """Where there is something between two delimiters."""
    found, start = [], 0
    for k, c in enumerate(data):
        if c in _DELIMITERS:
            if k > start:
                found.append((start, k))
            start = k + 1
    return found


_DELIMITERS = frozenset(b"<>\"' /=,()[]{}:\n")


def fuzz(
    format: str, runs: int, seed: int, seeds: Sequence[bytes] = (), seconds: float = 0.0, report: bool = False
) -> Seen:
    """Try mutated seeds until there were enough runs, or seconds."""
    r, seen, began = Random(seed), Seen(), time.monotonic()
    pool = [*_own_seeds(format), *seeds]
    own = len(pool)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"fuzz{SUFFIX[format]}"
        while (not runs or seen.runs < runs) and (not seconds or time.monotonic() - began < seconds):
            fresh = format in XML_FORMATS and r.random() < 0.2
            data = document(format, r).encode() if fresh else mutated(r.choice(pool), pool, r)
            seen.runs += 1
            if _try(data, path, format, seen) and len(data) < 20_000:
                # what is still a robot is worth mutating on
                pool[own:] = [*pool[own:][-200:], data]
            if report and seen.runs % 10_000 == 0:
                rate = seen.runs / (time.monotonic() - began)
                print(f"{_summary(seen)}, {rate:.0f}/s", flush=True)
    return seen


def _own_seeds(format: str) -> list[bytes]:
    return [f.read_bytes() for f in sorted(SEEDS.glob(f"*{SUFFIX[format]}"))]


def _try(data: bytes, path: Path, format: str, seen: Seen) -> bool:
    began = time.monotonic()
    try:
        path.write_bytes(data)
        good = attempt(path, format)
    except Exception as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        _remember(seen, f"{type(e).__name__} in {Path(last.filename).name}:{last.lineno} {last.name}: {e!s:.100}", data)
        return False
    if time.monotonic() - began > SLOW:
        _remember(seen, f"slow: {len(data)} bytes", data)
        return False
    seen.robots += good
    return good


def _remember(seen: Seen, key: str, data: bytes) -> None:
    key = key.split(": ", maxsplit=1)[0] if key.count(":") > 1 else key
    if key not in seen.crashes or len(data) < len(seen.crashes[key]):
        seen.crashes[key] = data


def _summary(seen: Seen) -> str:
    return f"{seen.runs:,} runs, {seen.robots:,} robots, {len(seen.crashes)} crashes"


def _atheris(format: str, args: argparse.Namespace, pool: Sequence[bytes]) -> None:
    """Let atheris choose the inputs; it ends the process after so many runs or seconds, or at the first crash."""
    import atheris

    folder = Path(tempfile.mkdtemp())
    path, corpus = folder / f"fuzz{SUFFIX[format]}", folder / "corpus"
    corpus.mkdir()
    for k, data in enumerate(pool):
        (corpus / str(k)).write_bytes(data)

    def one(data: bytes) -> None:
        path.write_bytes(data)
        attempt(path, format)

    def change(data: bytes, most: int, seed: int) -> bytes:
        r = Random(seed)
        return (mutated(data, pool, r) if r.random() < 0.5 else bytes(atheris.Mutate(data, len(data) + 8)))[:most]

    for data in pool:  # what is imported when first needed must be there to be instrumented
        one(data)
    atheris.instrument_all()
    found = args.crashes or folder
    found.mkdir(parents=True, exist_ok=True)
    limits = [f"-runs={args.runs or -1}", f"-max_total_time={int(args.seconds)}", f"-seed={args.seed + 1}"]
    more = ["-max_len=20000", f"-artifact_prefix={found}/{format}-", "-print_final_stats=1", str(corpus)]
    atheris.Setup([sys.argv[0], *limits, *more], one, custom_mutator=change)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--runs", type=int, default=10_000, help="0 for no limit")
    parser.add_argument("--seconds", type=float, default=0.0, help="0 for no limit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seeds", type=Path, help="folder with files to mutate, besides the built-in ones")
    parser.add_argument("--crashes", type=Path, help="folder for the inputs that crashed")
    parser.add_argument("--atheris", action="store_true", help="let atheris choose the inputs")
    args = parser.parse_args()
    files = sorted(args.seeds.rglob(f"*{SUFFIX[args.format]}")) if args.seeds else []
    seeds = [data for f in files if 0 < len(data := f.read_bytes()) < 20_000]
    if args.atheris:
        _atheris(args.format, args, [*_own_seeds(args.format), *seeds])
        return 0
    seen = fuzz(args.format, args.runs, args.seed, seeds, args.seconds, report=True)
    print(_summary(seen))
    for k, (key, data) in enumerate(sorted(seen.crashes.items())):
        print(f"\n{key}\n{data[:2000]!r}")
        if args.crashes:
            args.crashes.mkdir(parents=True, exist_ok=True)
            (args.crashes / f"{args.format}-{k}{SUFFIX[args.format]}").write_bytes(data)
    return int(bool(seen.crashes))


if __name__ == "__main__":
    raise SystemExit(main())
