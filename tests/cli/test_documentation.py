"""The page on the command line lists what the parser knows: every command, with every argument and its help."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from ordern.cli import COMMANDS, parsers

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
COMMON = ("--help", "--json", "--floating", "--loops", "--root", "--srdf", "--xacro", "--arg")
"""Options that the page explains once."""


def row(action: argparse.Action) -> str:
    """An argument as a row of a table of the page."""
    metavar = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    values = " ".join(metavar) if isinstance(metavar, tuple) else str(metavar)
    words = [", ".join(action.option_strings)] if action.option_strings else []
    words += [values] if action.nargs != 0 else []
    shown = " ".join(words).replace("|", "\\|")  # a bar in a cell
    return f"| `{shown}` | {action.help} |"


def table(command: str) -> str:
    """The table of a command."""
    actions = [x for x in parsers(command)[1]._actions if not {*x.option_strings} & {*COMMON}]
    return "\n".join(["| argument | |", "|---|---|", *map(row, actions)])


def section(command: str) -> str:
    """The part of the page on a command."""
    found = re.search(rf"^## `ordern {command}\b.*?(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert found, f"{PAGE.name} has no section `ordern {command}`"
    return found[0]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "doctor"])
def test_every_argument_is_listed_with_its_help(command: str) -> None:
    wanted = table(command)
    assert wanted in section(command), f"the table of `ordern {command}` should be:\n{wanted}"


def test_common_options_are_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert section("doctor")
    assert all(option in text[: text.index("## `ordern check")] for option in COMMON)


def test_every_section_is_a_command() -> None:
    named = re.findall(r"^## `ordern (\w+)", PAGE.read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted(COMMANDS)
