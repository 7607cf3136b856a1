"""Print a script that lets a shell complete commands, options, names of robots and files.

bash, in ~/.bashrc:
  eval "$(ordern completion bash)"
zsh, in ~/.zshrc after compinit:
  eval "$(ordern completion zsh)"
fish:
  ordern completion fish > ~/.config/fish/completions/ordern.fish

examples:
  ordern completion bash
  ordern completion zsh > ~/.zfunc/_ordern
"""

from __future__ import annotations

import argparse

from .completion_scripts import SCRIPTS, Argument, Command
from .outputs import show

__all__ = ["arguments", "described", "run"]

_ROBOTS = {"robot", "input"}
_FILES = ("FILE", "PAGE", "OUT")
_METHODS = {"inverse": "inverse_dynamics", "forward": "forward_dynamics", "count": None, "c": None}
"""The question whose methods --method selects, by command; None for those of all questions."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="the shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    script = SCRIPTS[args.shell](described())
    show(args, {"shell": args.shell, "script": script}, [script])
    return 0


def described() -> list[Command]:
    """Return all commands, with their options and what these complete to."""
    from . import COMMANDS, parsers

    found = []
    for name, help in COMMANDS.items():
        actions = parsers(name)[1]._actions
        found.append(Command(name, help, tuple(_argument(name, action) for action in actions)))
    return found


def _argument(command: str, action: argparse.Action) -> Argument:
    takes = action.nargs != 0
    many = not action.option_strings and action.nargs in ("*", "+")
    words, files = _values(command, action) if takes else ((), False)
    return Argument(tuple(action.option_strings), action.help or "", takes, many, words, files)


def _values(command: str, action: argparse.Action) -> tuple[tuple[str, ...], bool]:
    """Return the words that can be given, and whether the name of a file can."""
    from ..algorithms import methods
    from ..algorithms.questions import COMMON
    from ..robots import names
    from ..simulate.integrators.tableaus import TABLEAUS

    place, metavar = action.dest, str(action.metavar or "")
    if action.choices is not None:
        return tuple(map(str, action.choices)), False
    if place == "question":
        return COMMON, False
    if place in _ROBOTS or (command, place) in (("check", "file"), ("bench", "robots")):
        return tuple(names()), True
    if place == "dynamics" or (place == "method" and command in _METHODS):
        asked = "forward_dynamics" if place == "dynamics" else _METHODS[command]
        return tuple(dict.fromkeys(m.name for m in methods(asked))), False
    if place == "method":
        return (*TABLEAUS, "variational"), False
    if place == "pages":
        from ..papers import PAGES

        return tuple(PAGES), False
    if (command, place) == ("plot", "what"):
        return ("q", "v", "a", "tau", "energy", "momentum", "phase", "tip", "tip-3d"), False
    return (), any(word in metavar for word in _FILES) or (place == "out" and command == "papers")
