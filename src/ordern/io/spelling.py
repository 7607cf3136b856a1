"""Names that look misspelt: close to one that could be there, and is not."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import lru_cache

from ..errors import close_names
from .xml import Element

__all__ = ["CUTOFF", "refuse_misspelt_attributes", "refuse_misspelt_child"]

CUTOFF = 0.75
"""How alike two names are, from 0 to 1, if one may be meant by the other; `axes` and `axis` are just so."""


def refuse_misspelt_child(
    child: Element, parent: Element, present: Container[str], known: Iterable[str], repeated: Container[str] = ()
) -> None:
    """Raise if an unknown element is close to a known one that its parent does not have.

    `present` are the names of all children of the parent, put together once for all of them. Of those that are
    `repeated`, a parent may have any number, and they are looked for in any case.
    """
    for meant in _close(child.tag, tuple(known)):
        if meant in repeated or meant not in present:
            raise child.error(f"{_called(parent)} has the unknown element <{child.tag}>; did you mean <{meant}>?")


def refuse_misspelt_attributes(element: Element, known: Iterable[str]) -> None:
    """Raise if an unknown attribute is close to a known one that the element does not have."""
    names = tuple(known)
    for name in element.attributes:
        if name not in names:
            for meant in _close(name, names):
                if meant not in element.attributes:
                    raise element.error(
                        f"{_called(element)} has the unknown attribute {name!r}; did you mean {meant!r}?"
                    )


@lru_cache(maxsize=1024)
def _close(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the known names that may be meant, the closest first."""
    if ":" in name:  # a prefix belongs to an extension, which is no mistake
        return ()
    parts = name.split("_")
    close = close_names(name.lower(), known, 3, CUTOFF)
    return tuple(meant for meant in close if meant not in parts)  # gear_velocity is not a misspelt velocity


def _called(element: Element) -> str:
    name = element.attributes.get("name")
    return f"{element.tag} {name!r}" if name else f"<{element.tag}>"
