"""Write a function of a robot as C code: one C99 file that needs only <math.h>.

The code computes one state per call. The comment at its top says how to call it, what its arrays hold, and how many
operations it takes. Robots with up to about 30 joints become straight-line code; --way rolled writes loops over tables,
which are shorter for long robots and need a workspace.

examples:
  ordern c arm.urdf inverse_dynamics -o arm_id.c
  ordern c puma560 forward_dynamics --float32 --name arm_fd -o arm_fd.c
  ordern c arm.urdf jacobian --frame tool --axes world -o jacobian.c
  ordern c anymal.urdf inverse_dynamics --floating --with external -o id.c
  ordern c puma560 mass_matrix | cc -std=c99 -O2 -c -x c - -o mass_matrix.o
"""

from __future__ import annotations

import argparse
import sys

from .outputs import check_folder, show
from .questions import question_arguments, settings
from .source import loaded, robot_argument

__all__ = ["arguments", "run"]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    robot_argument(parser)
    question_arguments(parser)
    parser.add_argument(
        "--with",
        dest="present",
        action="append",
        default=[],
        metavar="NAME",
        help="optional argument that the function takes, such as external; may be repeated",
    )
    parser.add_argument("--float32", action="store_true", help="numbers of type float, not double")
    parser.add_argument(
        "--way", choices=("unrolled", "rolled"), help="straight-line code, or loops; by length unless given"
    )
    parser.add_argument("--name", help="name of the function; ROBOT_QUESTION unless given")
    parser.add_argument("-o", "--out", metavar="FILE.c", default="-", help="file to write; - for stdout, the default")


def run(args: argparse.Namespace) -> int:
    """Write the code."""
    from ..io.writing import replacing

    stdout = args.out == "-"
    if not stdout:
        check_folder(args.out)
    robot = loaded(args)
    kernel = robot.kernel(args.question, args.method, present=args.present, way=args.way, **settings(args, robot))
    text = kernel.c("float32" if args.float32 else "float64", args.name)
    if stdout and not args.json:
        sys.stdout.write(text)
        return 0
    if not stdout:
        with replacing(args.out) as file:
            file.write(text.encode())
    data = {"robot": robot.name, "question": args.question, "method": kernel.algorithm.name}
    data |= {"lines": text.count("\n"), "output": None if stdout else args.out, "code": text if stdout else None}
    show(args, data, [f"{args.question} of {robot.name!r}: {text.count(chr(10))} lines"])
    return 0
