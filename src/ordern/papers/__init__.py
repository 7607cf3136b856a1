"""The papers' tables and figures, made again with our methods: `ordern papers`.

Each page is made by the module of its name: its text is a Markdown file in `templates/`, with names in braces for the
tables and numbers that the module computes. The module also draws the figures of the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

__all__ = ["NEEDS", "PAGES", "generate"]

PAGES = {
    "methods": "every method, with its source, its order and what it costs",
    "costs": "operation counts beside Saha's Tables 1 and 2, and where order n pays",
    "times": "times beside Yamane and Nakamura's Figures 6 and 7, and growth with the number of links",
    "accuracy": "errors against arithmetic of 50 digits",
    "saha": "Saha's Figures 5, 6, 8 and 9, checked, and his claim about steps, measured",
    "simulations": "simulations against motions that are known, and Yamane and Nakamura's Figures 4 and 5",
}
"""Pages, which are modules here, and their contents."""


NEEDS = {
    "costs": ("matplotlib",),
    "times": ("matplotlib",),
    "accuracy": ("matplotlib", "mpmath"),
    "saha": ("matplotlib", "mpmath", "sympy"),
    "simulations": ("matplotlib", "mpmath"),
}
"""Packages that a page needs."""


def generate(
    folder: Path,
    pages: Iterable[str] = PAGES,
    say: Callable[[str], object] = print,
    progress: Callable[[str], object] | None = None,
    pause: float = 0.0,
) -> None:
    """Write the pages into a folder. `say` is called with the name of each page, `progress` with the current step.

    Within a page, `progress` is called for steps that begin at least `pause` seconds after its last call. Missing
    packages raise an error before any work is done.
    """
    from .text import telling

    chosen = list(pages)
    _require(chosen, folder)
    folder.mkdir(parents=True, exist_ok=True)
    tell = progress or (lambda text: None)
    for k, page in enumerate(chosen, 1):
        place = f"page {k} of {len(chosen)}, {page}"
        tell(f"{place}: {PAGES[page]}")
        begun = time.perf_counter()
        module = import_module(f".{page}", __name__)
        with telling(tell, place, pause):
            text: str = module.page(folder)
        (folder / f"{page}.md").write_text(f"{text}\n", encoding="utf-8")
        tell(f"{place}: done in {time.perf_counter() - begun:.1f} s")
        say(f"{folder / page}.md")


def _require(pages: Iterable[str], folder: Path) -> None:
    """Raise if a package of the pages is missing."""
    from ..io.writing import UnwritableError

    wanting: dict[str, list[str]] = {}
    for page in pages:
        for package in NEEDS.get(page, ()):
            if find_spec(package) is None:
                wanting.setdefault(package, []).append(page)
    if wanting:
        needed = "; ".join(f"{package} for {', '.join(names)}" for package, names in wanting.items())
        rest = [page for page in PAGES if page not in {name for names in wanting.values() for name in names}]
        raise UnwritableError(
            f"packages are missing: {needed}. Install them (pip install {' '.join(wanting)}), or make other pages: "
            f"{', '.join(rest)}",
            str(folder),
        )
