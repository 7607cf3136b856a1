"""Write a request as PTX: choose unrolled or rolled, trace, write IR text, and translate it."""

from __future__ import annotations

from dataclasses import replace

from ...algorithms import methods
from ...errors import CompileError
from ...graph import live
from ...records import dataclass
from ..pipeline import Request, layout_of
from ..program import chosen, read_numbers, reads_numbers, trace_request, uncollected, with_columns
from ..trace.columns import StraightCode
from ..trace.roll import trace_rolled
from ..trace.rolled_count import estimate
from .code import PtxCode
from .columns import write_columns
from .entry import NAME, Entry
from .machine import assembly, thread_target
from .plan import Plan, loop_plan, straight_plan
from .rolled import write_rolled
from .spills import Schedule, spill_schedule
from .straight import StraightWriter, write_straight

__all__ = ["Written", "ptx_code", "write_kernel"]


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
    """Write a request as IR text, with a plan of one's own if given; see `Entry` for `on_device`."""
    _require_text(request)
    way, code = (request.way, None) if request.way else chosen(request)
    if way == "rolled":
        return _rolled(request, dtype, plan or loop_plan(arch), on_device)
    if way != "unrolled":
        raise CompileError(f"{way!r} is not a way to compile; there are 'unrolled' and 'rolled'")
    return _straight(request, code or with_columns(request), dtype, arch, plan, on_device)


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


def _straight(
    request: Request, code: StraightCode, dtype: str, arch: str, plan: Plan | None, on_device: bool
) -> Written:
    """Write straight-line code, with loops over columns if there are any."""
    numbers = read_numbers(request, code)
    layout, target = layout_of(request, 1, "unrolled", numbers), thread_target(dtype)
    work = [node for node in live(code.roots) if node.args]
    plan = plan or straight_plan(work, target.itemsize, arch)
    entry = Entry(target, layout, plan.block, on_device)
    schedule = spill_schedule(work, plan.keep * 4 // target.itemsize) if plan.keep else Schedule()
    slots = entry.slots(schedule.count, plan.space) if schedule.count else None
    write = write_columns if code.loops else write_straight
    workspace = write(entry, code, lambda rows: StraightWriter(entry.e, layout, rows, plan, schedule, slots))
    made = PtxCode(
        text="",
        entry=NAME,
        block=plan.block,
        states=plan.block,
        way="unrolled",
        operations=code.operations,
        shared_bytes=entry.shared * target.itemsize,
        workspace=workspace,
        numbers=numbers,
        registers=plan.registers,
    )
    return Written(entry.text(plan.registers), made)


def _rolled(request: Request, dtype: str, plan: Plan, on_device: bool) -> Written:
    """Write loops over bodies and freedoms."""
    program = trace_request(request, trace_rolled, layout_of(request, 1, "rolled"))
    numbers = None if request.model.variation is None or reads_numbers(request, program) else ()
    entry = Entry(thread_target(dtype), layout_of(request, 1, "rolled", numbers), plan.block, on_device)
    workspace, tables = write_rolled(entry, program)
    operations = estimate(program).total
    made = PtxCode(
        "", NAME, plan.block, plan.block, "rolled", operations, 0, workspace, tables, numbers, plan.registers
    )
    return Written(entry.text(plan.registers), made)
