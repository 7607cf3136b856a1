"""Falls of the double pendulum: the time until it flips, as a picture; `python 20_flips.py 1000` is a million."""

import sys
import time

import numpy as np

import ordern as on

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 200  # SIDE^2 members
SECONDS, DT, EVERY = 10.0, 0.01, 5

robot = on.load("double-pendulum")
angles = np.linspace(-np.pi, np.pi, SIDE)
starts = np.stack(np.meshgrid(angles, angles, indexing="ij"), axis=-1).reshape(-1, 2)
starts[:, 1] -= starts[:, 0]  # the second angle from the vertical, too


def flip_time(members: on.ensembles.Members) -> np.ndarray:
    """Return the time at which one of the links has first gone over the top; NaN if it does not."""
    first = members.q[..., 0]
    second = first + members.q[..., 1]
    over = (np.abs(first) > np.pi) | (np.abs(second) > np.pi)
    return np.where(over.any(axis=1), members.t[over.argmax(axis=1)], np.nan)


study = on.Ensemble(
    robot,
    starts=(starts, 0.0),
    steps=round(SECONDS / DT),
    dt=DT,
    method="rk4",
    keep=on.keep.value("flip", flip_time, unit="s", every=EVERY),
)
start = time.perf_counter()
flip = study.run(progress=True)["flip"].reshape(SIDE, SIDE)
print(f"{SIDE * SIDE:,} falls in {time.perf_counter() - start:.0f} s", file=sys.stderr)
print(f"{np.isfinite(flip).mean():.0%} flip within {SECONDS:g} s, half of them by {np.nanmedian(flip):.1f} s")

try:
    import matplotlib.pyplot as plt
except ImportError:
    print("matplotlib draws the picture: pip install ordern[plot]")
else:
    figure, axes = plt.subplots(figsize=(8, 7.2), layout="constrained")
    shown = axes.imshow(flip.T, origin="lower", extent=(-np.pi, np.pi, -np.pi, np.pi), cmap="twilight_shifted")
    axes.set(xlabel="first angle at the start (rad)", ylabel="second angle at the start (rad)")
    figure.colorbar(shown, label="time to the first flip (s)")
    figure.savefig("flips.png", dpi=150)
    print("flips.png")
