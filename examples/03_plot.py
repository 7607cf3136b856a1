"""Plots: simulate a motion, draw it, and get at the numbers behind the curves. Needs `pip install 'ordern[plot]'`."""

import numpy as np

import ordern as on
from ordern import plot

robot = on.load("puma560")
result = robot.simulate([0.3, 1.2, -0.9, 0.2, 0.4, 0.0], until=2.0)  # the arm falls, from rest

# Panels by name. The suffix chooses the format: .png, .svg or .pdf.
result.plot("q", "v", "energy", joints=["waist", "shoulder", "elbow"], title="A PUMA 560 falls", save="fall.png")
result.plot("tip", "phase", joints=["shoulder"], save="paths.pdf")
print("written: fall.png, paths.pdf")

# The same series as arrays, at the steps of the integrator or at times of your own.
print("steps", result["q.elbow"].shape, "lowest flange", f"{result['position.flange.z'].min():.3f} m")
even = result.resample(rate=100.0)
print("at 100 Hz", even.q.shape, even["energy"].shape)

# Several motions in one figure: here, how well two methods keep the energy.
pendulum = on.load("double-pendulum")
runs = {name: pendulum.simulate([1.2, 0.5], until=5.0, method=name, step=0.01) for name in ("rk4", "variational")}
plot.compare(runs, "q.elbow", "drift", title="Two methods", save="methods.svg")
print("written: methods.svg")

# A figure is a matplotlib figure, and every number is a NumPy array: draw whatever you like.
figure = result.plot("energy")
figure.axes[0].axvline(result.t[np.argmax(result.kinetic)], color="grey", linestyle=":")
figure.savefig("energy.png")
print(f"largest kinetic energy {result.kinetic.max():.3f} J, at {result.t[np.argmax(result.kinetic)]:.3f} s")
