"""The example that trains a network by gradients through rollouts learns something."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tolerances import HUNG

EXAMPLE = Path(__file__).parents[2] / "examples" / "learning" / "torch_policy.py"


@pytest.mark.slow
@pytest.mark.needs("torch")
def test_tips_come_near_their_goals() -> None:
    ran = subprocess.run([sys.executable, EXAMPLE, "30"], capture_output=True, text=True, timeout=HUNG, check=True)
    distances = [float(x) for x in re.findall(r"tips end (\S+) m", ran.stdout)]
    assert distances[0] > 1.0
    assert distances[-1] < 0.3
