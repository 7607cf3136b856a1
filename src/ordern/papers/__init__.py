"""The papers' tables and figures, made again with our methods: `ordern papers`.

Each module here makes one page: text with tables in Markdown and, where there is something to see, a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

__all__ = ["PAGES", "generate"]

PAGES = {
    "methods": "every method, with its source, its order and what it costs",
    "costs": "operation counts beside Saha's Tables 1 and 2, and where order n pays",
    "times": "times beside Yamane and Nakamura's Figures 6 and 7, and growth with the number of links",
    "accuracy": "errors against arithmetic of 50 digits",
    "saha": "Saha's Figures 5, 6, 8 and 9, checked, and his claim about steps, measured",
    "simulations": "simulations against motions that are known, and Yamane and Nakamura's Figures 4 and 5",
}
"""Pages, which are modules here, and what they show."""


def generate(folder: Path, pages: Iterable[str] = PAGES, say: Callable[[str], object] = print) -> None:
    """Write the pages into a folder. Figures need matplotlib."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        module = import_module(f".{page}", __name__)
        text: str = module.page(folder)
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
        say(f"{folder / page}.md")
