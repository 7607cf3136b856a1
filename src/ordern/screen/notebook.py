"""Notebooks: whether this program runs in one, and outputs that change.

IPython is never imported here first: a program that runs in a notebook has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["in_notebook", "output", "show_in_notebook"]


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook; IPython in a terminal is not."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


def show_in_notebook(thing: Any) -> None:
    """Show an object below the current cell."""
    _display().display(thing)


def output(html: str, text: str) -> Callable[[str, str], None]:
    """Show HTML (and plain text for readers without it) below the cell; return the function that replaces both."""

    def data(html: str, text: str) -> dict[str, str]:
        return {"text/html": html, "text/plain": text}

    handle = _display().display(data(html, text), raw=True, display_id=True)
    return lambda html, text: handle.update(data(html, text), raw=True)


def _display() -> Any:
    from importlib import import_module

    return import_module("IPython.display")
