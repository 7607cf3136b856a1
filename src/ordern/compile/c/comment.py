"""The comment at the top of a C file: how to call the function, what its arrays hold, and what it costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from ...algorithms import Port
from ...model import Frame, Model
from ...model.ports import port_kind
from ...records import dataclass
from ..pipeline import Request
from ..trace.layout import Layout, Operand

if TYPE_CHECKING:
    from .source import Written

__all__ = ["comment"]

_LONGEST = 60
"""Joints or bodies that are listed by name."""
_WIDTH = 110


def comment(
    request: Request, layout: Layout, element: str, signature: str, written: Written, work: tuple[str, str]
) -> str:
    """Return the comment. `work` is the name of the workspace, and that of its size."""
    model, asked = request.model, request.question
    settings = "".join(f", {name} = {_setting(value)}" for name, value in request.options)
    precision = "double" if element == "double" else "single"
    method = f"by the method {request.algorithm.name!r}{settings}, in {precision} precision"
    lines = [
        f"{asked.name} of the robot {model.name!r}",
        method,
        "",
        f"    {signature};",
        "",
    ]
    ports = [p for p in asked.inputs if not p.optional or p.name in request.present]
    rows = [_Row.of(x, p.kind) for x, p in zip(layout.inputs, ports, strict=True)]
    rows.append(_Row.of(layout.output, asked.output, "result, "))
    if written.workspace is not None:
        what = f"workspace of {work[1]} numbers; nothing is kept in it between calls"
        rows.append(_Row(work[0], str(written.workspace), what))
    names, sizes = max(len(r.name) for r in rows), max(len(r.size) for r in rows)
    lines += [f"    {r.name.ljust(names)}  {r.size.rjust(sizes)}  {r.meaning}" for r in rows]
    lines += ["", *_order(model, ports, asked.output)]
    lines += [
        "Units are SI, angles are in radians. Matrices are stored row by row. The result must not overlap an argument.",
        "Numbers of the robot are constants of the code.",
        *(
            ["Loops and couplings are left out: these are numbers of the tree alone."]
            if model.nc and not asked.loops
            else []
        ),
        "",
        f"Operations of a call: {_cost(written)}.",
        "Straight-line code." if written.workspace is None else "Loops over tables.",
    ]
    text = "\n".join(f" * {line}".rstrip() for line in lines)
    return f"/*{_safe(text)[2:]}\n */"


def _setting(value: object) -> str:
    """Return a setting as text: frames by their names."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_setting, value))})"
    return repr(value.name if isinstance(value, Frame) else value)


@dataclass(frozen=True, slots=True)
class _Row:
    """An array of the function: its name, its size and its contents."""

    name: str
    size: str
    meaning: str

    @classmethod
    def of(cls, operand: Operand, kind: str, role: str = "") -> _Row:
        """Return the row of an argument or of the result."""
        size = " x ".join(map(str, operand.shape)) if operand.shape else "1"
        return cls(operand.name, size, f"{role}{port_kind(kind).meaning.partition(':')[0]}")


def _order(model: Model, ports: list[Port], output: str) -> list[str]:
    """Return lines that say where each joint and body is in the arrays."""
    axes = {axis for kind in (*(p.kind for p in ports), output) for axis in port_kind(kind).axes}
    orders = {
        "q": ("positions", _joints(model, [c.type.nq for c in model.independent])),
        "v": ("freedoms", _joints(model, [c.type.nv for c in model.independent])),
        "body": ("bodies", [f"{k} {b.name}" for k, b in enumerate(model.bodies)]),
    }
    shown = [orders[axis] for axis in orders if axis in axes and orders[axis][1]]
    if len(shown) > 1 and shown[0][1] == shown[1][1]:
        shown[:2] = [(f"{shown[0][0]} and {shown[1][0]}", shown[0][1])]
    return [line for what, parts in shown for line in _wrapped(f"Order of {what}:", parts)]


def _joints(model: Model, sizes: list[int]) -> list[str]:
    """Return the joints with their places in an array, in which they have these sizes."""
    parts, at = [], 0
    for c, n in zip(model.independent, sizes, strict=True):
        if n:
            parts.append(f"{at} {c.name}" if n == 1 else f"{at}-{at + n - 1} {c.name}")
        at += n
    return parts


def _wrapped(head: str, parts: list[str]) -> list[str]:
    """Return parts as lines of limited width."""
    shown = parts if len(parts) <= _LONGEST else [*parts[:_LONGEST], f"... {len(parts) - _LONGEST} more"]
    lines = [head]
    for k, part in enumerate(shown):
        text = part + ("," if k < len(shown) - 1 else "")
        if len(lines[-1]) + len(text) > _WIDTH:
            lines.append("   ")
        lines[-1] += f" {text}"
    return lines


def _cost(written: Written) -> str:
    """Return the counts that are not zero."""
    parts = [f"{n} {name}" for name, n in asdict(written.counts).items() if n]
    return ", ".join(parts).replace("other", "others (sines, roots, choices)") or "none"


def _safe(text: str) -> str:
    """Return text in ASCII, which every compiler reads, that does not end the comment."""
    plain = "".join(x if x == "\n" or x.isprintable() else " " for x in text.replace("*/", "* /"))
    return plain.encode("ascii", "backslashreplace").decode()
