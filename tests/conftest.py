"""Which tests run: the quick ones by default, all of them with `--all`, the campaigns at full size with `--soak`.

Modules that compare with a peer are left out where the peer has no release for this Python or system. The first lines
of the report say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

PEERS = {
    "mujoco": r"^import mujoco$|^from tests\.loops\.mujoco_twin ",
    "pinocchio": r"^import pinocchio as pin$|^from tests\.peers_util ",
}
"""Peers, and the lines by which a module of tests needs them."""
MISSING = {name: re.compile(lines, re.M) for name, lines in PEERS.items() if find_spec(name) is None}


def pytest_report_header() -> list[str]:
    return [f"left out: tests beside {name}, which is not installed" for name in MISSING]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if MISSING and collection_path.suffix == ".py":
        text = collection_path.read_text(encoding="utf-8")
        return True if any(lines.search(text) for lines in MISSING.values()) else None
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ordern")
    group.addoption("--all", action="store_true", help="run the slow tests and a sample of every campaign too")
    group.addoption("--soak", action="store_true", help="run only the campaigns, at full size")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def runs(item: pytest.Item) -> bool:
        campaign = item.get_closest_marker("campaign") is not None
        if config.getoption("--soak"):
            return campaign
        return everything or not (campaign or item.get_closest_marker("slow"))

    # a test that is named runs, slow or not
    everything = config.getoption("--all") or any("::" in argument for argument in config.args)
    left_out = [item for item in items if not runs(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if runs(item)]


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Return the size of a campaign: `campaign(sample, full)` is `full` under `--soak`, otherwise `sample`."""
    return lambda sample, full: full if request.config.getoption("--soak") else sample
