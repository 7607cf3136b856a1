"""The command `ordern`. A subcommand is one module here and one line in the table below.

Such a module has a docstring, whose first line and whose rest (examples) are shown by --help; `arguments(parser)`,
which declares its own; and `run(args)`, which returns the exit status: 0 if all is well, 1 if the robot is not, 2 if
the command was not understood or a file could not be read. It is imported only when its command is run. `streams`
keeps it from the faults of terminals and pipes.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from .streams import guarded, is_of_stream

__all__ = ["COMMANDS", "main", "parsers"]

COMMANDS = {
    "check": "check robots for errors and suspicious values",
    "info": "show a robot: its tree, masses, joints and limits",
    "convert": "write a robot in another format",
    "view": "look at a robot and its motion in the browser",
    "inverse": "joint forces along a trajectory, or along a motion from a file",
    "forward": "accelerations that joint forces cause",
    "simulate": "simulate a robot, and report on the run",
    "identify": "parameters of a robot from a log of its motions and forces",
    "rollout": "many trajectories at once: how fast, and where they end",
    "ensemble": "run a study of many members from a file",
    "plot": "draw a motion from a file",
    "methods": "list the questions about a robot, and their methods",
    "count": "count the operations of a method for a robot",
    "c": "write a function of a robot as C code",
    "papers": "make the papers' tables and figures again",
    "bench": "measure speed on this machine, beside other libraries",
    "cache": "show or clear the compiled code that is kept on disk",
    "doctor": "show what is installed here, and whether it works",
    "completion": "print a script that completes commands in bash, zsh or fish",
}
"""Commands, which are modules of the same names, and their help."""


_DESCRIPTION = "Dynamics of robots and mechanisms on the command line."
_EPILOG = """\
A robot is a file (.urdf, .xml or .mjcf, .sdf), the name of a bundled robot, or - for standard input. `ordern COMMAND
--help` shows the options of a command, and examples.

examples:
  ordern info puma560
  ordern check arm.urdf
  ordern simulate arm.urdf --until 2 --plot fall.png --save fall.html
  ordern inverse puma560 --from ready --to shoulder=45deg --duration 2 --out tau.csv
  ordern c arm.urdf inverse_dynamics -o arm_torques.c
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    return guarded(lambda: _main(arguments))


def _main(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen = next((word for word in given if not word.startswith("-")), "")
    parser, own = parsers(chosen)
    try:
        _require_command(chosen)
        args, unknown = parser.parse_known_args(given)
        _require_known(unknown, own)
    except SystemExit as stop:  # argparse has printed help
        return stop.code if isinstance(stop.code, int) else 2
    except _Misunderstood as e:
        from .terminal import complain

        complain(str(e), as_json="--json" in given)
        print(f"see `ordern {chosen} --help`" if chosen in COMMANDS else "see `ordern --help`", file=sys.stderr)
        return 2
    if "run" not in args:
        parser.print_help()
        return 2
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    """Run a command. An error that the user can correct is one line, not a traceback."""
    from ..errors import ArgumentError, OrdernError, UnknownNameError
    from ..io.source import UnreadableError
    from ..io.writing import UnwritableError
    from .standard import named, stand_ins
    from .terminal import complain

    try:
        with stand_ins(args):
            status: int = args.run(args)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        raise
    except OrdernError as e:
        complain(named(str(e)), named(getattr(e, "where", "")), as_json=getattr(args, "json", False))
        misused = isinstance(e, (ArgumentError, UnknownNameError, UnreadableError, UnwritableError))
        return 2 if misused else 1
    except OSError as e:
        if is_of_stream(e):
            raise
        complain(f"{e.filename or 'a file'}: {e.strerror or e}", as_json=getattr(args, "json", False))
        return 2


def _require_command(name: str) -> None:
    """Raise if there is no command of this name."""
    if name and name not in COMMANDS:
        from ..errors import did_you_mean

        raise _Misunderstood(f"there is no command {name!r}{did_you_mean(name, COMMANDS)}")


def _require_known(unknown: Sequence[str], own: argparse.ArgumentParser) -> None:
    """Raise if there are arguments that the command does not know."""
    if not unknown:
        return
    from ..errors import did_you_mean

    name = next((word.partition("=")[0] for word in unknown if word.startswith("-")), "")
    known = [flag for action in own._actions for flag in action.option_strings]
    raise _Misunderstood(f"unrecognized arguments: {' '.join(unknown)}{did_you_mean(name, known) if name else ''}")


def parsers(chosen: str) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Return the parser, with the arguments of the chosen command only, and that of the command (or the same)."""
    parser = _Parser(prog="ordern", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=_Formatter)
    parser.usage = "ordern COMMAND [arguments] [options]"
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    found: argparse.ArgumentParser = parser
    for name, help in COMMANDS.items():
        own = commands.add_parser(name, help=help, formatter_class=_Formatter)
        if name == chosen:
            found = own
            module = import_module(f".{name}", __name__)
            own.description, _, own.epilog = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
            module.arguments(own)
            own.usage = " ".join([f"ordern {name} [options]", *map(_positional, own._get_positional_actions())])
            from .values import LIST, LIST_HELP

            if any(LIST in str(action.metavar) for action in own._actions):
                own.epilog = f"{LIST_HELP}\n\n{own.epilog}"
            own.add_argument("--json", action="store_true", help="print the result as JSON")
            own.set_defaults(run=module.run, command=name)
    return parser, found


def _positional(action: argparse.Action) -> str:
    """Return a positional argument as the usage shows it."""
    name = str(action.metavar or "{" + ",".join(action.choices or ()) + "}")
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}.get(str(action.nargs), name)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help whose options and texts are in two columns."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


class _Misunderstood(Exception):
    """Arguments that argparse does not understand."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, instead of printing all options and exiting; so do its commands.

    Values may begin with a minus: `--q0 -1,0.5` is a list, not an option.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._negative_number_matcher = re.compile(r"-\.?\d")

    def error(self, message: str) -> NoReturn:
        raise _Misunderstood(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise if a value is not among the choices, and name the closest one."""
        if action.choices is not None and value not in action.choices:
            from ..errors import did_you_mean

            names = [str(x) for x in action.choices]
            message = f"{str(value)!r} is not one of {', '.join(names)}{did_you_mean(str(value), names)}"
            raise argparse.ArgumentError(action, message)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from .. import __version__

        print(f"ordern {__version__}")
        parser.exit()
