"""The place of a fault in a xacro template: xacro itself names the expression, but neither file nor line.

When xacro fails, its functions are still on the stack of the exception. The element and the text that they work on, and
the files that they read, are among their variables; the line is that of the first such element in these files.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ModelError
from .source import open_source
from .xml import Element, parse_xml

__all__ = ["place_of"]


def place_of(error: Exception, xacro: Any) -> tuple[str, int]:
    """Return the file and line of the fault that made xacro raise an error; line 0 if it is not known."""
    files = list(_files(error, xacro))
    line = getattr(error, "lineno", None)
    if line is not None and files:  # not well-formed: the parser knows the line
        return files[0], int(line)
    tag, text = _at_work(error)
    for file in files:
        try:
            root = parse_xml(open_source(Path(file)).data, file)
        except ModelError:
            continue
        elements = list(_walk(root))
        matches = [e for e in elements if text and (text in e.attributes.values() or text.strip() == e.text != "")]
        matches = [e for e in matches if e.tag == tag] or matches or [e for e in elements if e.tag == tag and not text]
        if matches:
            return file, matches[0].line
    return (files[0] if files else ""), 0


def _files(error: Exception, xacro: Any) -> Iterator[str]:
    """Yield the files that may have the fault: those of the macros at work, innermost first, then those around them."""
    macros = [*getattr(error, "macros", ()), *reversed(getattr(xacro, "macrostack", None) or [])]
    found: dict[str, None] = {}
    for macro in macros:
        history = getattr(macro, "history", None) or [()]
        for file in reversed(history[-1]):
            if isinstance(file, str):
                found[file] = None
            elif isinstance(file, list):
                found |= dict.fromkeys(name for name in reversed(file) if isinstance(name, str))
    found |= dict.fromkeys(str(name) for name in reversed(getattr(xacro, "filestack", None) or []) if name)
    yield from found


def _at_work(error: Exception) -> tuple[str, str]:
    """Return the tag of the element, and the text, that xacro worked on when it failed."""
    tag = text = ""
    trace = error.__traceback__
    while trace is not None:
        name, variables = trace.tb_frame.f_code.co_name, trace.tb_frame.f_locals
        found = str(getattr(variables.get("node", variables.get("elt")), "tagName", ""))
        if found:
            tag, text = found, ""
        elif name == "eval_text" and not text:
            text = str(variables.get("text", ""))
        trace = trace.tb_next
    return tag, text


def _walk(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))
