from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ordern.compile.run import cache
from ordern.gpu import array_programs, code, device, driver, library, rollout

from .stand_in import StandIn, stand_in_array, stand_in_ptx, stand_in_rollout


class NoCache:
    """Keeps nothing: binaries of a stand-in have no place among those of real devices."""

    cache_key = staticmethod(cache.cache_key)

    @staticmethod
    def read(name: str, fields: Any) -> None: ...

    @staticmethod
    def write(name: str, meta: Any, content: bytes) -> None: ...


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., StandIn]:
    """Return a function that puts a stand-in in the place of the driver."""
    monkeypatch.setattr(code, "ptx_of", stand_in_ptx)
    monkeypatch.setattr(rollout, "rollout_ptx", stand_in_rollout)
    monkeypatch.setattr(array_programs, "array_code", stand_in_array)
    monkeypatch.setattr(code, "cache", NoCache)

    def made(**settings: Any) -> StandIn:
        found = StandIn(**settings)
        monkeypatch.setattr(library, "open_library", lambda: found)
        monkeypatch.setattr(driver, "_started", None)
        monkeypatch.setattr(device, "_known", {})
        return found

    return made


@pytest.fixture
def gpu(install: Callable[..., StandIn]) -> StandIn:
    """A machine with two devices of a gigabyte each."""
    return install()
