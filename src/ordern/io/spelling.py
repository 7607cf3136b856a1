"""Names that look misspelt: close to one that could be there, and is not."""

from __future__ import annotations

from collections.abc import Container, Iterable
from difflib import get_close_matches
from functools import lru_cache

from ..errors import ModelError
from .xml import Element

__all__ = ["likely", "refuse_misspelt_attributes", "refuse_misspelt_child"]

_CUTOFF = 0.75
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
            raise ModelError(
                f"{_called(parent)} has the unknown element <{child.tag}>; did you mean <{meant}>?",
                child.where,
            )


def refuse_misspelt_attributes(element: Element, known: Iterable[str]) -> None:
    """Raise if an unknown attribute is close to a known one that the element does not have."""
    names = tuple(known)
    for name in element.attributes:
        if name not in names:
            for meant in _close(name, names):
                if meant not in element.attributes:
                    raise ModelError(
                        f"{_called(element)} has the unknown attribute {name!r}; did you mean {meant!r}?",
                        element.where,
                    )


def likely(name: str, known: tuple[str, ...], n: int = 3) -> list[str]:
    """Return the known names that may be meant, at most n, the closest first.

    The same as `difflib.get_close_matches`, which is asked only about names that have enough letters in common: a file
    may have a hundred thousand unknown names.
    """
    letters = frozenset(name)
    near = [
        other
        for other, own in _of_length(known, len(name))
        if _enough(min(len(name) - len(letters - own), len(other) - len(own - letters)), len(name) + len(other))
    ]
    return get_close_matches(name, near, n=n, cutoff=_CUTOFF) if near else []


@lru_cache(maxsize=4096)
def _of_length(known: tuple[str, ...], length: int) -> tuple[tuple[str, frozenset[str]], ...]:
    """The known names that may be close to one of this length, each with its letters."""
    return tuple((name, frozenset(name)) for name in known if _enough(min(len(name), length), len(name) + length))


def _enough(common: int, both: int) -> bool:
    """Whether two names, of so many letters in all, may be close if they have so many in common."""
    return 2 * common >= _CUTOFF * both


@lru_cache(maxsize=1024)
def _close(name: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The known names that may be meant, the closest first."""
    if ":" in name:  # a prefix belongs to an extension, which is no mistake
        return ()
    parts = name.split("_")
    return tuple(meant for meant in likely(name.lower(), known) if meant not in parts)  # gear_velocity is no velocity


def _called(element: Element) -> str:
    name = element.attributes.get("name")
    return f"{element.tag} {name!r}" if name else f"<{element.tag}>"
