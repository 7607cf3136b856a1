"""Entries of the cache with a right digest, and fields that are missing or odd: they are made anew, and never raise."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.compile.run import cache

Meta = dict[str, Any]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ORDERN_CACHE", raising=False)
    monkeypatch.setenv("ORDERN_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def rewrite(path: Path, change: Callable[[Meta], Any] | bytes, code: bytes | None = None) -> None:
    """Change an entry's description, or its code, and give it the digest that fits."""
    content = path.read_bytes()
    head = len(cache._MAGIC) + cache._DIGEST
    body = content[head:]
    length = int.from_bytes(body[:8], "little")
    meta = change if isinstance(change, bytes) else json.dumps(change(json.loads(body[8 : 8 + length]))).encode()
    body = len(meta).to_bytes(8, "little") + meta + (body[8 + length :] if code is None else code)
    path.write_bytes(cache._MAGIC + hashlib.sha256(body).digest() + body)


def without(name: str) -> Callable[[Meta], Meta]:
    return lambda meta: {k: v for k, v in meta.items() if k != name}


def with_(name: str, value: Any) -> Callable[[Meta], Meta]:
    return lambda meta: {**meta, name: value}


ODD: dict[str, Callable[[Meta], Any] | bytes] = {
    **{f"no {name}": without(name) for name in ("way", "workspace", "operations", "lanes", "freedoms", "key")},
    **{f"way {value!r}": with_("way", value) for value in (None, 1, "sideways", [])},
    **{f"workspace {value!r}": with_("workspace", value) for value in (None, "4", -1, 1.5, True, 10**30, [4])},
    **{f"lanes {value!r}": with_("lanes", value) for value in (None, 0, 3, -2, 4.0, "4", 1 << 20)},
    **{f"freedoms {value!r}": with_("freedoms", value) for value in (None, 1, "yes")},
    "a list": lambda _: [],
    "a number": lambda _: 7,
    "nested without end": b"[" * 100_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_odd_fields_of_a_kernel(directory: Path, name: str) -> None:
    q = np.array([0.3, 0.4])
    expected = on.load("double-pendulum").gravity_force(q)
    (entry,) = directory.iterdir()
    sound = entry.read_bytes()
    rewrite(entry, ODD[name])
    assert entry.read_bytes() != sound
    assert np.array_equal(on.load("double-pendulum").gravity_force(q), expected)
    assert entry.read_bytes() == sound  # made anew
    cache.entries()


@pytest.mark.slow
def test_entries_are_listed_whatever_is_in_them(directory: Path) -> None:
    on.load("double-pendulum").gravity_force(np.zeros(2))
    (entry,) = directory.iterdir()
    for change in ODD.values():
        rewrite(entry, change)
        assert len(cache.entries()) <= 1
        on.load("double-pendulum").gravity_force(np.zeros(2))
        assert [found.robot for found in cache.entries()] == ["double-pendulum"]  # made anew


@pytest.mark.parametrize("code", [b"", b"not machine code", b"MZ\x90\x00"])
def test_code_that_is_no_object(directory: Path, code: bytes) -> None:
    q = np.array([0.3, 0.4])
    expected = on.load("double-pendulum").gravity_force(q)
    (entry,) = directory.iterdir()
    rewrite(entry, lambda meta: meta, code)
    assert np.array_equal(on.load("double-pendulum").gravity_force(q), expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["workspace", "operations", "lanes", "rolled", "freedoms"])
@pytest.mark.parametrize("value", [None, "x", -1, [1], ["nothing"], {}])
def test_odd_fields_of_a_time_loop(directory: Path, name: str, value: Any) -> None:
    q = np.array([0.3, 0.4])
    expected = on.load("double-pendulum").rollout(q, q, steps=5, dt=1e-3).q
    loops = [path for path in directory.iterdir() if b'"rolled"' in path.read_bytes()]
    assert loops
    for path in loops:
        rewrite(path, without(name) if value == {} else with_(name, value))
    assert np.array_equal(on.load("double-pendulum").rollout(q, q, steps=5, dt=1e-3).q, expected)
