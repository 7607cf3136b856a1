"""Findings about a robot, and the report of all findings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Literal

from ..arguments import whole_number
from ..declared import explained_methods
from ..records import dataclass

__all__ = ["Finding", "Report", "Severity", "by_suggestion"]

Severity = Literal["error", "warning", "info"]
_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """One likely mistake in a description."""

    severity: Severity
    """"error": cannot be a robot, or cannot be computed with. "warning": probably not meant. "info": good to know."""
    code: str
    """A short name that is stable across versions."""
    name: str
    """The body or joint; empty for the whole robot."""
    message: str
    suggestion: str = ""
    where: str = ""
    """File and line."""

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.severity}: {self.message} [{self.code}]"


@explained_methods
@dataclass(frozen=True)
class Report:
    """The findings about a robot, in order; iterate over it."""

    robot: str
    findings: tuple[Finding, ...]
    source: str = ""
    """The file of the robot."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings of severity "error"."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings of severity "warning"."""
        return self._of("warning")

    @property
    def infos(self) -> tuple[Finding, ...]:
        """The findings of severity "info"."""
        return self._of("info")

    @property
    def ok(self) -> bool:
        """True if there are no errors."""
        return not self.errors

    def _of(self, severity: Severity) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.severity == severity)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def headline(self) -> str:
        """The robot and the number of findings, in one line."""
        counts = {"error": len(self.errors), "warning": len(self.warnings), "remark": len(self.infos)}
        listed = [f"{n} {word}{'s' if n > 1 else ''}" for word, n in counts.items() if n]
        return f"{self.source or self.robot}: {', '.join(listed) or 'nothing to remark'}"

    def groups(self) -> list[list[Finding]]:
        """Return the findings by code, the gravest first."""
        found: dict[tuple[str, str], list[Finding]] = {}
        for f in sorted(self.findings, key=lambda f: _ORDER[f.severity]):
            found.setdefault((f.severity, f.code), []).append(f)
        return list(found.values())

    def __str__(self) -> str:
        lines = [self.headline]
        for group in self.groups():
            for suggestion, findings in by_suggestion(group):
                lines.extend(f"  {f}" for f in findings)
                lines.extend([f"    -> {suggestion}"] if suggestion else [])
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the findings as a table, for notebooks."""
        from ..screen.html import folded, table, titled

        sorted_findings = [f for group in self.groups() for f in group]
        rows = [(f.severity, f.name, f.message, f.suggestion, f.code, f.where) for f in sorted_findings]
        head = ("", "of", "finding", "suggestion", "code", "where")
        return titled(self.headline, folded("all findings", table(head, rows, left=6), len(rows)) if rows else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dictionaries, lists and strings."""
        return {
            "robot": self.robot,
            "source": self.source,
            "ok": self.ok,
            "counts": {"error": len(self.errors), "warning": len(self.warnings), "info": len(self.infos)},
            "findings": [asdict(f) for f in self.findings],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return the report as JSON text."""
        indent = None if indent is None else whole_number(indent, "to_json: `indent`", 0, 1000)
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def by_suggestion(findings: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    """Group the findings with the same advice."""
    found: dict[str, list[Finding]] = {}
    for f in findings:
        found.setdefault(f.suggestion, []).append(f)
    return list(found.items())
