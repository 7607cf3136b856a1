"""Measured figures of the documentation: read them from files, write them, and put them into pages.

A file in `figures/` has the figures of one machine, run by run: the command that measured them, the date, and a value
for each name, as `./dev bench` prints it. A figure that several runs gave is a pair, the lowest and the highest.
`./dev bench REGEX --record FILE` writes such a file.

Pages name figures in double braces:

    {{ xeon:panda.rollout.vs_mujoco }}          the value in xeon.json, to three significant digits
    {{ xeon:panda.rollout.ns_per_step : 2 }}    to two
    {{ xeon:panda.rollout.ns_per_step / 1000 }} in another unit
    {{ xeon:a.vs_mujoco, xeon:b.vs_mujoco }}    the range of several figures: 15 to 19
"""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

__all__ = ["FOLDER", "PATTERN", "names_in", "read", "record", "render", "setup"]

FOLDER = Path(__file__).parent / "figures"
NAME = r"[\w-]+:[\w-]+(?:\.[\w-]+)+"
PATTERN = re.compile(
    rf"\{{\{{\s*({NAME}(?:,\s*{NAME})*)(?:\s*/\s*(\d+))?(?:\s*:\s*(\d))?\s*\}}\}}"
)


def read(folder=FOLDER):
    """Return the figures of all machines: a dictionary from FILE:NAME to values."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
            figures = {
                f"{path.stem}:{name}": value for name, value in run["figures"].items()
            }
            if twice := found.keys() & figures.keys():
                raise ValueError(f"{path}: {min(twice)} is there twice")
            found |= figures
    return found


def names_in(text):
    """Return the names of all figures in the text of a page."""
    return {
        name for match in PATTERN.finditer(text) for name in re.split(r",\s*", match[1])
    }


def render(text, figures):
    """Return the text of a page with the values of its figures."""

    def value(match):
        values = []
        for name in re.split(r",\s*", match[1]):
            if name not in figures:
                raise KeyError(f"no file in {FOLDER} has the figure {name!r}")
            given = figures[name]
            values += given if isinstance(given, list) else [given]
        ends = [
            written(end / int(match[2] or 1), int(match[3] or 3))
            for end in (min(values), max(values))
        ]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)

    return PATTERN.sub(value, text)


def written(value, digits):
    """Return a number with so many significant digits: 0.44, 19, 1,370."""
    exact = Decimal(repr(value))
    if exact == 0:
        return "0"
    last = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    number = exact.quantize(last, ROUND_HALF_UP).normalize()
    if -4 <= exact.adjusted() < 7:
        return f"{number:,f}"
    mantissa = number.scaleb(-number.adjusted()).normalize()
    return f"{mantissa:f}e{number.adjusted()}"


def record(path, machine, command, date, figures):
    """Write the figures of a run into the file of a machine, in place of older ones with the same names."""
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
    else:
        known = {"machine": machine, "runs": []}
    for run in known["runs"]:
        for name in figures:
            run["figures"].pop(name, None)
    new = {"command": command, "date": date, "figures": figures}
    runs = [run for run in known["runs"] if run["figures"]]
    known["runs"] = [*runs, new]
    text = json.dumps(known, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def setup(app):
    """Make Sphinx put figures into the pages that it reads."""
    figures = read()

    def put(app, docname, source):
        source[0] = render(source[0], figures)

    app.add_config_value(
        "figures", figures, "env"
    )  # all pages are read anew when one changes
    app.connect("source-read", put)
    return {"parallel_read_safe": True}
