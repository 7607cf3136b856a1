"""Names that nobody knows: they are looked at once each, and told in one line."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from difflib import get_close_matches

import pytest

import ordern as on
from ordern.errors import close_names
from ordern.io import spelling

KNOWN = ("origin", "inertial", "inertia", "axis", "limit", "mimic", "name", "safety_controller", "dynamics", "x")
DOCUMENTS: dict[str, Callable[[str, str], str]] = {
    "urdf": lambda attributes, children: f'<robot name="r"><link name="a" {attributes}>{children}</link></robot>',
    "sdf": lambda attributes, children: (
        f'<sdf version="1.9"><model name="m"><link name="a" {attributes}>{children}</link></model></sdf>'
    ),
    "mjcf": lambda attributes, children: (
        f'<mujoco><worldbody><body {attributes}><geom size="1"/>{children}</body></worldbody></mujoco>'
    ),
}


def words(count: int) -> list[str]:
    """Different names, close to none that is known."""
    rng = random.Random(0)
    return [f"{''.join(rng.choices(string.ascii_lowercase, k=9))}{k}" for k in range(count)]


@pytest.mark.slow
def test_the_same_names_are_likely_as_difflib_finds() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        name = list(rng.choice(KNOWN))
        for _ in range(rng.randrange(5)):
            name.insert(rng.randrange(len(name) + 1), rng.choice("aeimnorstxyz_"))
            del name[rng.randrange(len(name))]
        if rng.random() < 0.5:
            name += rng.choices("nseil", k=rng.randrange(4))
        given = "".join(name)
        for n in (1, 3):
            for cutoff in (0.6, 0.75):
                assert close_names(given, KNOWN, n, cutoff) == get_close_matches(given, KNOWN, n, cutoff)


@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_unknown_names_are_compared_only_where_they_may_be_close(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("difflib.get_close_matches", lambda name, *rest, **more: asked.append(name) or [])
    some = words(2000)
    spelling._close.cache_clear()
    on.load(DOCUMENTS[kind](" ".join(f'{name}="1"' for name in some), "".join(f"<{name}/>" for name in some)))
    assert len(asked) < 20
    monkeypatch.undo()
    spelling._close.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("kind", DOCUMENTS)
@pytest.mark.parametrize("what", ["attributes", "elements"])
@pytest.mark.filterwarnings("ignore::ordern.ModelWarning")
def test_a_hundred_thousand_unknown_names_are_one_short_note(kind: str, what: str) -> None:
    """Work that grows with the square of their number would take an hour."""
    some = words(100_000)
    attributes = " ".join(f'{name}="1"' for name in some) if what == "attributes" else ""
    robot = on.load(DOCUMENTS[kind](attributes, "".join(f"<{name}/>" for name in some) if not attributes else ""))
    told = [str(note) for note in robot.notes if "not read" in str(note) or "not modelled" in str(note)]
    if kind == "sdf" and attributes:
        assert not told  # extensions of SDF are elements
        return
    assert len(told) == 1 and len(told[0]) < 2000 and "(100000 kinds in all)" in told[0]
