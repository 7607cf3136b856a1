"""Falls of the double pendulum: the time until it flips, as a picture; `python 20_flips.py 1000` is a million."""

import sys
import time

import numpy as np

import ordern as on
from ordern.graph import where_less

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 200  # SIDE^2 members
SECONDS, DT = 10.0, 0.01

robot = on.load("double-pendulum")
angles = np.pi * ((2 * np.arange(SIDE) + 1) / SIDE - 1)
starts = np.stack(np.meshgrid(angles, angles, indexing="ij"), axis=-1).reshape(-1, 2)
starts[:, 1] -= starts[:, 0]  # the second angle from the vertical, too


def flip(t, q, v):
    """Return how far one of the links has gone over the top; it is compiled, so where_less takes the place of max."""
    first, second = abs(q[0]), abs(q[0] + q[1])
    return where_less(first, second, second, first) - np.pi


study = on.Ensemble(
    robot,
    starts=(starts, 0.0),
    steps=round(SECONDS / DT),
    dt=DT,
    method="rk4",
    events=on.Event(flip, direction=1, terminal=True),  # a fall ends there
    keep=on.keep.crossing("flip", state=False),
)
start = time.perf_counter()
times = study.run(progress=True)["flip_time"].reshape(SIDE, SIDE)
print(f"{SIDE * SIDE:,} falls in {time.perf_counter() - start:.0f} s", file=sys.stderr)
print(f"{np.isfinite(times).mean():.0%} flip within {SECONDS:g} s, half of them by {np.nanmedian(times):.1f} s")

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("matplotlib draws the picture: pip install ordern[plot]")
else:
    figure, axes = plt.subplots(figsize=(8, 7.2), layout="constrained")
    edges = np.unique(np.nanquantile(times, np.linspace(0.0, 1.0, 257)))  # every colour covers the same area
    colours = plt.get_cmap("twilight_shifted", len(edges) - 1).with_extremes(bad="black")  # black: no flip
    norm = plt.matplotlib.colors.BoundaryNorm(edges, len(edges) - 1)
    shown = axes.imshow(times.T, origin="lower", extent=(-np.pi, np.pi, -np.pi, np.pi), cmap=colours, norm=norm)
    axes.set(xlabel="first angle at the start (rad)", ylabel="second angle at the start (rad)")
    bar = figure.colorbar(shown, label="time to the first flip (s)", ticks=[0.5, 1, 1.2, 1.5, 2, 3, 5], format="%g")
    bar.minorticks_off()
    figure.savefig("flips.png", dpi=150)
    print("flips.png")
