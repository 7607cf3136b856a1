"""Which tests run: the quick ones by default, all of them with `--all`, the campaigns at full size with `--soak`.

Tests that need an optional package are left out where it is not installed; the last lines of the report say so. The
quick run needs no optional package, and `./dev test --all` installs them, but for the largest (lerobot and
stable-baselines3).
"""

from __future__ import annotations

import inspect
import re
import signal
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from .robots import ROBOTS

OPTIONAL = {
    "PIL": "pillow",
    "clarabel": "clarabel",
    "coal": "coal",
    "collada": "pycollada",
    "distributed": "dask[distributed]",
    "example_robot_data": "example-robot-data",
    "flatbuffers": "flatbuffers",
    "gymnasium": "gymnasium",
    "h5py": "h5py",
    "imageio_ffmpeg": "imageio-ffmpeg",
    "jax": "jax",
    "lerobot": "lerobot",
    "matplotlib": "matplotlib",
    "mcap": "mcap",
    "mujoco": "mujoco",
    "nvidia.cuda_nvcc": "nvidia-cuda-nvcc-cu12",
    "pandas": "pandas",
    "pinocchio": "pin",
    "pxr": "usd-core",
    "pyarrow": "pyarrow",
    "rerun": "rerun-sdk",
    "scipy": "scipy",
    "stable_baselines3": "stable-baselines3",
    "sympy": "sympy",
    "torch": "torch",
    "viser": "viser",
    "websockets": "viser",
    "xacrodoc": "xacrodoc",
    "xarray": "xarray",
    "zarr": "zarr",
}
"""Modules that tests may need beyond the extra `test`, and the packages that have them."""
HELPERS = {
    "websockets": r"tests\.view\.chromium",
    "pinocchio": r"tests\.peers_util",
    "mujoco": r"tests\.loops\.mujoco_twin",
}
"""Modules of the tests that import an optional one."""


def _is_installed(name: str) -> bool:
    """Tell whether a module exists; of "package.module" the package may be missing."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


MISSING = {
    name: re.compile(rf"^\s*(?:import|from) (?:{name}|{HELPERS.get(name, name)})\b", re.M)
    for name in OPTIONAL
    if not (ROBOTS.exists() if name == "example_robot_data" else _is_installed(name))
}


def pytest_configure() -> None:
    """Let SIGINT interrupt: jobs in the background start with it ignored, and so would programs that tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if MISSING:
        packages = ", ".join(sorted({OPTIONAL[name] for name in MISSING}))
        terminalreporter.write_line(f"left out: tests that need {packages} (./dev test --all installs most of them)")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules that import a package that is not installed."""
    if MISSING and collection_path.suffix == ".py":
        text = re.sub(r"^[ \t].*$", "", collection_path.read_text(encoding="utf-8"), flags=re.M)
        return True if any(lines.search(text) for lines in MISSING.values()) else None
    return None


def needs_missing(item: pytest.Item) -> bool:
    """Return whether a test needs a package that is not installed: by its marker `needs`, or by an import in it."""
    needed = {name for marker in item.iter_markers("needs") for name in marker.args}
    code = getattr(inspect.unwrap(getattr(item, "function", needs_missing)), "__code__", None)
    imported = {name.partition(".")[0] for name in code.co_names} if code else set()
    return not MISSING.keys().isdisjoint(needed | imported)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ordern")
    group.addoption("--all", action="store_true", help="run the slow tests and a sample of every campaign too")
    group.addoption("--soak", action="store_true", help="run only the campaigns, at full size")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def runs(item: pytest.Item) -> bool:
        if needs_missing(item):
            return False
        campaign = item.get_closest_marker("campaign") is not None
        if config.getoption("--soak"):
            return campaign
        return everything or not (campaign or item.get_closest_marker("slow"))

    # a test that is named runs, slow or not
    everything = config.getoption("--all") or any("::" in argument for argument in config.args)
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (kept if runs(item) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    items[:] = sorted(kept, key=turn)


def turn(item: pytest.Item) -> int:
    """Return when a test runs: JAX warns of forks in its process, so tests that fork come first, those of JAX last."""
    if item.get_closest_marker("forks"):
        return 0
    return 2 if any("jax" in marker.args for marker in item.iter_markers("needs")) else 1


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Return the size of a campaign: `campaign(sample, full)` is `full` under `--soak`, otherwise `sample`."""
    return lambda sample, full: full if request.config.getoption("--soak") else sample
