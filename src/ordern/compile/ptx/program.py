"""Write a request as PTX: choose unrolled or rolled, trace, write IR text, and translate it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...algorithms import methods
from ...errors import CompileError
from ...graph import Node, live
from ...records import dataclass
from ..emit.target import Target
from ..pipeline import Request, layout_of
from ..program import chosen, read_numbers, reads_numbers, trace_request, uncollected, with_columns
from ..trace.columns import StraightCode
from ..trace.layout import Layout
from ..trace.repeats import RepeatedCode, repeats, trace_repeated
from ..trace.roll import trace_rolled
from ..trace.rolled_count import estimate
from .code import PtxCode
from .columns import write_columns
from .entry import NAME, Entry, Frame
from .limbs import Division, bodies_of, divided, undivided
from .machine import ASYNCHRONOUS, assembly, generation, thread_target
from .plan import Plan, loop_plan, repeat_plan, straight_plan
from .rolled import write_rolled
from .spills import Schedule, spill_schedule
from .straight import StraightWriter, require_assembled, write_straight
from .team import question_team, write_question

__all__ = ["LONGEST", "Written", "ptx_code", "write_kernel"]

LONGEST = 60_000
"""Operations of straight-line code beyond which loops are written instead. Such code takes a minute to assemble. Loops
take seconds, but compute five to eight times fewer states per second."""


@dataclass(frozen=True, slots=True)
class Written:
    """A kernel as IR text, and its record without the text."""

    ir: str
    code: PtxCode


def ptx_code(request: Request, dtype: str, arch: str = "sm_90") -> PtxCode:
    """Return a request as PTX for a device, such as "sm_90"; later devices run it too."""
    written = write_kernel(request, dtype, arch)
    return replace(written.code, text=assembly(written.ir, arch))


@uncollected()
def write_kernel(
    request: Request, dtype: str, arch: str = "sm_90", plan: Plan | None = None, on_device: bool = True
) -> Written:
    """Write a request as IR text, with a plan of one's own if given; see `Frame` for `on_device`."""
    _require_text(request)
    target = thread_target(dtype)
    if repeats(request):
        return _repeated(request, target, plan or repeat_plan(arch), on_device)
    code = _straight_code(request)
    if code is None:
        return _rolled(request, target, plan or loop_plan(arch), on_device)
    work = [node for node in live(code.roots) if node.args]
    numbers = read_numbers(request, code)
    layout = layout_of(request, 1, "unrolled", numbers)
    found = {"way": "unrolled", "operations": code.operations, "numbers": numbers}
    plan, division = _planned(request, layout, code, work, target, arch, plan)
    if division is not None:
        asynchronous = on_device and generation(arch) >= ASYNCHRONOUS
        team = question_team(target, layout, division, plan, asynchronous, on_device)
        write_question(team, layout, code.results, plan)
        return _written(team, plan, states=team.states, **found)
    entry = Entry(target, layout, plan.block, on_device)
    workspace = _straight(entry, layout, code, work, plan)
    return _written(entry, plan, states=plan.block, workspace=workspace, **found)


def _straight_code(request: Request) -> StraightCode | None:
    """Return straight-line code, or None if loops are asked for, or are better."""
    way, code = (request.way, None) if request.way else chosen(request)
    if way == "rolled":
        return None
    if way != "unrolled":
        raise CompileError(f"{way!r} is not a way to compile; there are 'unrolled' and 'rolled'")
    code = code or with_columns(request)
    if request.way or code.length <= LONGEST or not request.algorithm.sweeps:
        return code
    try:
        trace_request(request, trace_rolled, layout_of(request, 1, "rolled"))
    except CompileError:  # the gradients of some methods keep too many numbers
        return code
    return None


def _planned(
    request: Request,
    layout: Layout,
    code: StraightCode,
    work: list[Node],
    target: Target,
    arch: str,
    plan: Plan | None,
) -> tuple[Plan, Division | None]:
    """Return the plan, chosen if none is given, and the division of the work if warps share it."""

    def division() -> Division:
        model = request.model
        inputs = [bodies_of(model, port.kind) for port in request.ports]
        return divided(model, inputs, bodies_of(model, request.question.output), code.results, work)

    if plan is None and code.loops:
        return loop_plan(arch), None
    if plan is None:
        result = layout.output.size
        rows = sum(x.size for x in layout.inputs) + result
        return straight_plan(work, rows, result, division, target.itemsize, arch)
    if code.loops or not plan.team:
        return plan, None
    return plan, division() if plan.team == "limbs" else undivided(work)


def _require_text(request: Request) -> None:
    """Raise an error if a method is NumPy code around compiled functions."""
    asked, algorithm = request.question, request.algorithm
    if not algorithm.pieces and (algorithm.sweeps or request.way != "rolled"):
        return
    able = [m.name for m in methods(asked.name) if m.sweeps and not (m.pieces or m.alias_of)]
    hint = f"; give the method {able[0]!r}" if able else ""
    raise CompileError(
        f"{asked.name} by the method {algorithm.name!r} is NumPy code around compiled functions, and no kernel{hint}"
    )


def _written(frame: Frame, plan: Plan, **record: Any) -> Written:
    """Return a kernel that is complete, with its record."""
    made = PtxCode(
        text="",
        entry=NAME,
        block=frame.block,
        shared_bytes=frame.shared * frame.e.target.itemsize,
        registers=plan.registers,
        **record,
    )
    return Written(frame.text(plan.registers), made)


def _straight(entry: Entry, layout: Layout, code: StraightCode, work: list[Node], plan: Plan) -> int:
    """Write straight-line code, with loops over columns if there are any; return the numbers of the workspace."""
    itemsize = entry.e.target.itemsize
    schedule = spill_schedule(work, plan.keep * 4 // itemsize) if plan.keep else Schedule()
    slots = entry.slots(schedule.count, plan.space) if schedule.count else None
    write = write_columns if code.loops else write_straight
    return write(entry, code, lambda rows: StraightWriter(entry.e, layout, rows, plan, schedule, slots))


def _repeated(request: Request, target: Target, plan: Plan, on_device: bool) -> Written:
    """Write straight-line code with loops of `repeat`."""
    code: RepeatedCode = trace_request(request, partial(trace_repeated, branches=False), layout_of(request, 1))
    require_assembled(code, request.model)
    numbers = read_numbers(request, code)
    layout = layout_of(request, 1, "unrolled", numbers)
    entry = Entry(target, layout, plan.block, on_device)
    workspace = write_straight(entry, code, lambda rows: StraightWriter(entry.e, layout, rows, plan, Schedule(), None))
    found = {"way": "unrolled", "operations": code.operations, "numbers": numbers}
    return _written(entry, plan, states=plan.block, workspace=workspace, **found)


def _rolled(request: Request, target: Target, plan: Plan, on_device: bool) -> Written:
    """Write loops over bodies and freedoms."""
    program = trace_request(request, trace_rolled, layout_of(request, 1, "rolled"))
    numbers = None if request.model.variation is None or reads_numbers(request, program) else ()
    entry = Entry(target, layout_of(request, 1, "rolled", numbers), plan.block, on_device)
    workspace, tables = write_rolled(entry, program)
    found = {"workspace": workspace, "tables": tables, "operations": estimate(program).total, "numbers": numbers}
    return _written(entry, plan, states=plan.block, way="rolled", **found)
