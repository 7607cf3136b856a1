"""The viewer: a robot in the browser, its motion in one file that plays anywhere, and a picture.

Run it with --live to serve the page until Ctrl-C; otherwise it writes fall.html, which you can open, mail or publish.
"""

import sys
from pathlib import Path

import numpy as np

import ordern as on

robot = on.load("puma560")

# Let the arm fall from rest.
result = robot.simulate([0.3, 1.2, -0.9, 0.2, 0.4, 0.0], np.zeros(robot.nv), until=2.0)

if "--live" in sys.argv:
    robot.view(motion=result, paths=["flange"])  # waits for Ctrl-C; viewer = robot.view(..., wait=False) does not
    sys.exit()

page = Path("fall.html")
robot.view(motion=result, paths=["flange"], save=page)
print(f"{page}: {result.duration:g} s of motion, {page.stat().st_size / 1e6:.1f} MB, plays without a network")

# Any times and positions are a motion: here, two cycles of a wave through the joints.
t = np.linspace(0.0, 4.0, 200)
q = 0.4 * np.sin(np.pi * t[:, None] - np.arange(robot.nq))
robot.view(motion=(t, q), save="wave.html")
print("wave.html:", q.shape, "positions")

# A robot without a motion has sliders for its joints.
arm, q = on.load("stanford-arm"), [0.6, 1.2, 0.15, 0.4, 0.6, 0.0]
arm.view(q, save="arm.html")
print("arm.html written")

# A picture needs no browser; nor does a film: result.animate("fall.gif").
arm.view(q, save="arm.png", size=(640, 480))
print("arm.png written")
