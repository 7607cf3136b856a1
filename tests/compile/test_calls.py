"""Emitted functions call each other as they are defined: LLVM itself does not look at that, the processor would."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

import ordern as on
from ordern.compile import program
from ordern.compile.run import engine
from ordern.compile.timeloops import adaptive, fixed

NAMED = re.compile(r"^\s*(define|call|%\S+ = call)\b[^@\n]*@([\w.]+)\((.*)$", re.M)


def arguments(text: str) -> list[str]:
    """The types of what is between parentheses, up to the one that closes them."""
    depth, parts, part = 1, [], ""
    for c in text:
        depth += (c in "(<[{") - (c in ")>]}")
        if not depth:
            break
        if c == "," and depth == 1:
            parts.append(part)
            part = ""
        else:
            part += c
    found = [*parts, part] if part.strip() else parts
    return [re.sub(r"\s+(noalias|%\S+|@\S+|-?\d+|null|true|false).*$", "", x.strip()) for x in found]


def misfits(text: str) -> Iterator[str]:
    defined = {name: arguments(rest) for kind, name, rest in NAMED.findall(text) if kind == "define"}
    for kind, name, rest in NAMED.findall(text):
        if kind != "define" and name in defined and arguments(rest) != defined[name]:
            yield f"{name}({', '.join(defined[name])}) is called with ({', '.join(arguments(rest))})"


def test_the_test_sees_misfits() -> None:
    text = "define internal void @f(ptr %a, i64 %n) #0 {\n  call void @f(ptr %x)\n  call void @f(ptr @y, i64 3)\n}"
    assert list(misfits(text)) == ["f(ptr, i64) is called with (ptr)"]


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def keep(text: str, level: int = 1) -> bytes:
        found.append(text)
        return engine.compile_object(text, level)

    monkeypatch.setenv("ORDERN_CACHE", "off")
    for module in (program, adaptive, fixed):
        monkeypatch.setattr(module, "compile_object", keep)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "free-top", "four-bar", "yamane-branched-30"])
def test_calls_fit(name: str, texts: list[str]) -> None:
    robot = on.load(name)
    q = on.robots.positions(name)["assembled"] if robot.loops else robot.neutral()
    v = np.zeros(robot.nv)
    robot.forward_dynamics(q, v, v)
    robot.mass_matrix(q)
    robot.rollout(q, v, steps=2, dt=1e-3, method="rk4")
    robot.simulate(q, v, 0.001)
    if not robot.loops:
        robot.kernel("inverse_dynamics", way="rolled")(q, v, v)
    assert len(texts) > 3
    assert [x for text in texts for x in misfits(text)] == []
