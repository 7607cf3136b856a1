"""Threads that load, ask and drop robots under load, with the ordinary allocator and with poisoned ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.memory.test_ownership import POISONED, ROOT

ALLOCATORS: dict[str, dict[str, str]] = {"ordinary": {}, "poisoned": POISONED, "debug": {"PYTHONMALLOC": "debug"}}


@pytest.mark.campaign
@pytest.mark.parametrize("allocator", ALLOCATORS)
@pytest.mark.parametrize("kind", ["drop", "finalise"])
def test_churn(kind: str, allocator: str, campaign: Callable[[int, int], int]) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.memory.churn", kind, "8", str(campaign(4, 60))]
    environment = {**os.environ, **ALLOCATORS[allocator]}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    print(f"{allocator} allocator: {done.stdout.strip()}")
    assert done.returncode == 0, done.stderr[-3000:]
