"""Every rolled program keeps the rules, and the checker finds a program that breaks one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ordern as on
from ordern.algorithms import Algorithm, find, registry
from ordern.compile.pipeline import Request, layout_of
from ordern.compile.trace.layout import Layout
from ordern.compile.trace.roll import trace_rolled
from ordern.compile.trace.rolled_program import Block, Fetch, Fetched, Loop, Memory, Place, Position, Program, Store
from ordern.model import Tree
from ordern.spatial import Freedoms, Motion, Real
from tests.compile.rolled_rules import check
from tests.random_models import random_robot

SETTINGS = {"frame": "tool", "frames": ("tool", "tool"), "axes": "world", "kind": "classical"}
ROBOTS = {
    "tree": random_robot(41, 6, (on.Revolute, on.Spherical, on.Planar), armature=True),
    "coupled": random_robot(42, 7, (on.Revolute, on.Prismatic), passive=True, mimic=True),
    "chain": random_robot(43, 5, (on.Revolute,), chain=True),
}
SWEEPS = [m for m in on.methods() if m.sweeps and not m.alias_of and m.function.__module__.startswith("ordern.")]


def traced(robot: on.Robot, method: Algorithm) -> tuple[Program, Layout] | None:
    """A method's program with all arguments that it takes; None if it refuses the robot."""
    question = find(method.question)[0]
    if (method.refuses and method.refuses(robot)) or any(name not in SETTINGS for name in question.options):
        return None
    options = {name: SETTINGS[name] for name in question.options}
    present = frozenset(p.name for p in question.inputs if p.optional and p.name in method.accepts(question))
    request = Request(robot, question, method, present, tuple(sorted(options.items())), "rolled")
    layout = layout_of(request, 1)
    return trace_rolled(request, layout), layout


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_all_methods_keep_the_rules(name: str) -> None:
    found = [traced(ROBOTS[name], method) for method in SWEEPS]
    programs = [x for x in found if x is not None]
    assert len(programs) > 60
    for program, layout in programs:
        check(program, layout)


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("forward_dynamics", "articulated-body"),
        ("mass_matrix", "composite-body"),
        ("mass_matrix", "unit-acceleration"),
        ("jacobian", "inward"),
        ("inverse_dynamics", "newton-euler"),
    ],
)
def test_some_methods_keep_the_rules(question: str, method: str) -> None:
    found = traced(ROBOTS["coupled"], find(question, method)[1])
    assert found is not None
    check(*found)


def program(question: str = "forward_dynamics", method: str = "articulated-body") -> tuple[Program, Layout]:
    found = traced(ROBOTS["tree"], find(question, method)[1])
    assert found is not None
    return found


def loop_of(p: Program, number: int = 0) -> Loop:
    return [section for section in p.sections if isinstance(section, Loop)][number]


def stored(block: Block) -> int:
    """The first step that stores."""
    return next(k for k, step in enumerate(block.steps) if isinstance(step, Store))


def moved(block: Block, change: Any) -> None:
    k = stored(block)
    step = block.steps[k]
    assert isinstance(step, Store)
    block.steps[k] = Store(change(step.place), step.value)


I = Position("row", "i")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda place: place._replace(offset=10**6), r"1000\d+ of \d+ numbers"),
        (lambda place: place._replace(offset=-10), r"is -\d+ \.\.\. "),
        (lambda place: place._replace(terms=((7, I),)), "of 7 numbers"),
        (lambda place: place._replace(terms=((1, Position("freedom", "d0")),)), "there is no freedom d0"),
        (lambda place: place._replace(terms=((1, Position("row", "j")),)), "there is no body j"),
        (lambda place: place._replace(terms=((1, Position("v", "p")),)), "is a number of a parent"),
        (lambda place: place._replace(memory=Memory("input", 0)), "this memory is read only"),
        (lambda place: place._replace(memory=Memory("table")), "this memory is read only"),
        (lambda place: place._replace(memory=Memory("field", 99)), "does not exist"),
    ],
)
def test_places(change: Any, message: str) -> None:
    p, layout = program()
    moved(loop_of(p).blocks[0], change)
    with pytest.raises(AssertionError, match=message):
        check(p, layout)


def test_leaves() -> None:
    p, layout = program()
    block = loop_of(p).blocks[0]
    node = block.graph.leaf(Place(Memory("result"), 0))
    with pytest.raises(AssertionError, match="this memory cannot be read"):
        check(p, layout)
    node.data = "a word"
    with pytest.raises(AssertionError, match="is no place"):
        check(p, layout)


def test_values_of_another_block() -> None:
    p, layout = program()
    one, other = loop_of(p).blocks[:2]
    one.steps.append(other.steps[stored(other)])
    with pytest.raises(AssertionError, match="stores a value of another block"):
        check(p, layout)


def test_fetches_come_before_their_use() -> None:
    p, layout = program("mass_matrix", "unit-acceleration")
    for block in (b for section in p.sections for b in section.all()):
        fetched = [step for step in block.steps if isinstance(step, Fetch)]
        if fetched:
            assert isinstance(fetched[0].value.data, Fetched)
            block.steps.remove(fetched[0])
            break
    with pytest.raises(AssertionError, match="fetched later"):
        check(p, layout)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda loop: setattr(loop, "of", "d0"), "d0 is no freedom of a loop around it"),
        (lambda loop: loop.blocks.pop(), "a kind has no block"),
        (lambda loop: loop.blocks.reverse(), "is for other kinds"),
        (lambda loop: loop.blocks[0].steps.append(Loop("bodies", "i")), "stands inside of a loop over bodies"),
        (lambda loop: loop.blocks[0].steps.append(Loop("ancestors", "i")), "the name i is in use"),
        (lambda loop: loop.blocks[0].steps.append(Loop("same joint", "d0")), "has 0 blocks"),
    ],
)
def test_nesting(change: Any, message: str) -> None:
    p, layout = program()
    change(loop_of(p))
    with pytest.raises(AssertionError, match=message):
        check(p, layout)


def rolled(function: Any, question: str = "potential_energy") -> Any:
    on.algorithm(question, "too early")(function)
    robot = ROBOTS["chain"]
    return on.Kernel(robot, question, "too early", way="rolled")(robot.random(0))


class TestReadsBeforeSets:
    """Algorithms of one's own are checked whenever they are traced."""

    @pytest.fixture(autouse=True)
    def _own_registry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "_ALGORITHMS", dict(registry._ALGORITHMS))

    def test_a_field_of_a_later_loop(self) -> None:
        def early(tree: Tree, q: Any) -> Any:
            E = tree.field(Real)
            for i, p in tree.inward():
                E[p] += E[i]
            return E[tree.base]

        with pytest.raises(on.TraceError, match="a field is read at a body before it was set there"):
            rolled(early)

    def test_a_child_is_not_set_yet(self) -> None:
        def early(tree: Tree, q: Any) -> Any:
            v = tree.field(Motion)
            for i, p in tree.inward():
                v[i] = v[p] + i.subspace(q[i]) @ Freedoms((1.0,))
            return v[tree.base].angular[0]

        with pytest.raises(on.TraceError, match="a field is read at a body before it was set there"):
            rolled(early)

    def test_a_parent_is_set_already(self) -> None:
        def chained(tree: Tree, q: Any) -> Any:
            E, total = tree.field(Real), tree.output("v")
            for i, p in tree.outward():
                E[i] = E[p] + q[i][0]
                total[i] = Freedoms((E[i],))
            return total

        q = ROBOTS["chain"].random(0)
        np.testing.assert_allclose(rolled(chained, "gravity_force"), np.cumsum(q), rtol=1e-14)

    def test_a_result_that_nothing_set(self) -> None:
        def early(tree: Tree, q: Any) -> Any:
            x, total = tree.output("v"), tree.output("v")
            for d in tree.freedoms():
                total[d] = x[d]
            return total

        with pytest.raises(on.TraceError, match="a result of an algorithm is read before any of it was set"):
            rolled(early, "gravity_force")
