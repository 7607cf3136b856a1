"""A fuzzer of calls: random calls of the public functions, with arguments of every wrong kind.

    python -m tests.fuzz.calls --runs 100000
    python -m tests.fuzz.calls --seed 3 --first 1234 --runs 1      # this call alone

What may come out of a call: a result, an error of ordern, an error that the user's own function raised, or a
`TypeError` that is clear (see `is_clear`). Anything else is a finding, and so is a call that takes too long. Each call
draws from its own generator: its number is enough to repeat it.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType, TracebackType
from typing import Any

import ordern as on
from ordern.errors import OrdernError
from tests.fuzz.subjects import TARGETS, Target
from tests.fuzz.values import HOSTILE, UserError, bent, shown

__all__ = ["Seen", "fuzz", "is_clear"]

SLOW = 10.0
"""Seconds after which a call counts as a hang."""
_BINDING = re.compile(
    r"\(\) (takes|got|missing)|missing \d+ required|unexpected keyword|positional argument|multiple values for"
    r"|takes no arguments|takes no keyword|keywords must be strings|instantiate abstract class"
)
"""Python's own words for a call that does not fit a signature."""
_FRONT = ("declared.py", "declarations.py", "keywords.py", "subjects.py", "loading.py", "place.py", "fast_path.py")
"""Files with functions that pass the arguments of a call on as they are."""


class Hang(BaseException):
    """A call that takes too long."""


@dataclass
class Seen:
    """What a run has seen."""

    runs: int = 0
    results: int = 0
    """Calls that returned."""
    found: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The first call, by its number, for each place where something was raised, and the error."""
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def is_clear(error: BaseException, target: Target) -> bool:
    """Return whether an error may come out of a call.

    Errors of ordern may, and what a user's function raised. A `TypeError` may if Python raised it for a call that does
    not fit the signature of the function, or if the library raised it itself, and it names an argument. An
    `ImportError` may if it says what to install.
    """
    if isinstance(error, (OrdernError, UserError)):
        return True
    if isinstance(error, ImportError):
        return "pip install" in str(error)
    if not isinstance(error, TypeError):
        return False
    words, (_, *inside) = str(error), _frames(error.__traceback__)
    if _BINDING.search(words):
        return all(Path(x.f_code.co_filename).name in _FRONT for x in inside)
    if not inside:
        return False
    last = inside[-1]
    line = traceback.extract_tb(error.__traceback__)[-1].line or ""
    ours = "/ordern/" in last.f_code.co_filename.replace(os.sep, "/")
    return ours and "raise" in line and any(re.search(rf"\b{name}\b", words) for name in target.parameters)


def _frames(tb: TracebackType | None) -> list[FrameType]:
    found = []
    while tb is not None:
        found.append(tb.tb_frame)
        tb = tb.tb_next
    return found


def arguments(target: Target, r: Random) -> tuple[list[Any], dict[str, Any]]:
    """Return random arguments: most of them good, one or two of them wrong, sometimes too few or too many."""
    given: dict[str, Any] = {}
    for name, p in target.parameters.items():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        pool = target.good.get(name, ())
        if p.default is p.empty or r.random() < (0.25 if pool else 0.03):
            given[name] = r.choice(pool) if pool else r.choice(HOSTILE)
    for _ in range(r.choices((0, 1, 2, 3), (10, 65, 20, 5))[0]):
        names = [x for x, p in target.parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if not names:
            break
        name = r.choice(names)
        good = given.get(name)
        if good is None and target.good.get(name):
            good = r.choice(target.good[name])
        given[name] = r.choice(HOSTILE) if good is None or r.random() < 0.5 else bent(good, r)
    positional: list[Any] = []
    for name, p in target.parameters.items():
        if p.kind is p.VAR_POSITIONAL:
            pool = target.good.get(name, ())
            positional += [r.choice(pool if pool and r.random() < 0.6 else HOSTILE) for _ in range(r.randrange(3))]
        elif p.kind is p.KEYWORD_ONLY or name not in given or (p.kind is not p.POSITIONAL_ONLY and r.random() < 0.1):
            break
        else:
            positional.append(given.pop(name))
    chance = r.random()
    if chance < 0.01 and positional:
        positional.pop()
    elif chance < 0.02:
        positional.append(r.choice(HOSTILE))
    elif chance < 0.03 or (target.settings and chance < 0.2):
        key = r.choice(target.settings) if target.settings and r.random() < 0.8 else r.choice(("x", "q", "self", "Q"))
        given[key] = r.choice(HOSTILE)
    return positional, given


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Interrupt what takes longer, where the system has such timers."""

    def late(*_: Any) -> None:
        raise Hang(f"longer than {seconds:g} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def fuzz(runs: int, seed: int, first: int = 0, report: bool = False, only: str = "", skip: Sequence[str] = ()) -> Seen:
    """Make so many calls; the generator of each is made from the seed and its number."""
    seen, here = Seen(), os.getcwd()
    timed = hasattr(signal, "setitimer")
    targets = [t for t in TARGETS() if only in t.label and not t.label.startswith(tuple(skip))]
    weights = [t.weight for t in targets]
    for k in range(len(weights) - 1):
        weights[k + 1] += weights[k]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), _limited(SLOW):
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for k in range(first, first + runs):
                r = Random((seed << 40) + k)
                target = r.choices(targets, cum_weights=weights)[0]
                positional, named = arguments(target, r)
                if report and runs <= 10:
                    print(f"{k}: {_call(target, positional, named)}")
                began = time.perf_counter()
                if timed:
                    signal.setitimer(signal.ITIMER_REAL, SLOW)
                try:
                    target.call(*positional, **named)
                    seen.results += 1
                except (Exception, Hang) as e:
                    if timed:
                        signal.setitimer(signal.ITIMER_REAL, 0.0)
                    if report and runs <= 10:
                        traceback.print_exc()
                    if not is_clear(e, target):
                        _remember(seen, k, target, positional, named, e)
                seen.runs += 1
                took = time.perf_counter() - began
                seen.seconds[target.label] = seen.seconds.get(target.label, 0.0) + took
        finally:
            os.chdir(here)
    return seen


def _remember(
    seen: Seen, number: int, target: Target, positional: list[Any], named: Mapping[str, Any], e: BaseException
) -> None:
    frames = [x for x in traceback.extract_tb(e.__traceback__) if "ordern" in x.filename and "tests" not in x.filename]
    last = frames[-1] if frames else traceback.extract_tb(e.__traceback__)[-1]
    key = (
        f"{type(e).__name__} at {Path(last.filename).parent.name}/{Path(last.filename).name}:{last.lineno} {last.name}"
    )
    seen.counts[key] = seen.counts.get(key, 0) + 1
    if key not in seen.found:
        seen.found[key] = number, f"{e!s:.150}\n    {_call(target, positional, named)}"


def _call(target: Target, positional: list[Any], named: Mapping[str, Any]) -> str:
    inside = ", ".join([*map(shown, positional), *(f"{k}={shown(x)}" for k, x in named.items())])
    return f"{target.label}({inside})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--only", default="", help="only functions whose names contain this")
    args = parser.parse_args()
    began = time.process_time()
    seen = fuzz(args.runs, args.seed, args.first, report=True, only=args.only)
    for key, (number, text) in sorted(seen.found.items()):
        print(f"\n{key}: {seen.counts[key]} times, first in call {number}\n    {text}")
    slowest = sorted(seen.seconds.items(), key=lambda x: -x[1])[:12]
    print("\n" + ", ".join(f"{name} {s:.2f} s" for name, s in slowest))
    took = time.process_time() - began
    print(f"{seen.runs:,} calls, {seen.results:,} results, {len(seen.found)} findings, {took:.1f} s of CPU")
    return int(bool(seen.found))


if __name__ == "__main__":
    assert on.__file__
    sys.exit(main())
