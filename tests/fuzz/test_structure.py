from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordern.io.xml import MAX_DEPTH
from tests.fuzz import bytes as byte_fuzzer
from tests.fuzz.grammar import FORMATS, document
from tests.fuzz.target import attempt

EXAMPLES = int(os.environ.get("ORDERN_FUZZ", "60"))
"""For each format; the environment variable ORDERN_FUZZ asks for more."""


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_documents_become_robots_or_errors(format: str) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), derandomize=True
    )
    @given(st.integers(0, 2**64))
    def try_one(seed: int) -> None:
        attempt(document(format, Random(seed)))

    try_one()


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_enough_documents_become_robots(format: str) -> None:
    assert sum(attempt(document(format, Random(seed))) for seed in range(100)) >= 10


@pytest.mark.parametrize("format", byte_fuzzer.FORMATS)
def test_mutated_files_become_robots_or_errors(format: str) -> None:
    seen = byte_fuzzer.fuzz(format, runs=max(EXAMPLES, 60), seed=0)
    assert not seen.crashes
    assert seen.robots > 0


NESTED = {
    "urdf": '<robot name="r">{}</robot>',
    "mjcf": "<mujoco><worldbody>{}</worldbody></mujoco>",
    "sdf": '<sdf version="1.9">{}</sdf>',
}


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("tag", ["body", "model", "default", "link", "frame", "geom"])
def test_deep_nesting_exhausts_nobody(format: str, tag: str) -> None:
    n = MAX_DEPTH - 5
    inside = "".join(f'<{tag} name="{tag}{k}" class="{tag}{k}">' for k in range(n)) + f"</{tag}>" * n
    attempt(NESTED[format].format(inside))
