"""ordern at a glance: load the PUMA 560, compute its dynamics, let it fall, and draw what happened.

Run it with `./dev demo`, or `python examples/demo.py [picture.png]`; without matplotlib there is no picture.
"""

import os
import sys
import time
from pathlib import Path

os.environ["ORDERN_CACHE"] = "off"  # compile now, so that the times below are those of a first call

import numpy as np

import ordern as on

URDF = Path(__file__).parent / "robots" / "puma560.urdf"
STATES = 4096
SECONDS = 5.0
STEPS, STEP = 1000, 1e-3
SWARM, SPREAD = 40, 2e-3
START = np.array([-0.5, np.pi / 2 - 0.35, -np.pi / 2, 0.0, 0.5, 0.0])
SPIN = np.array([1.2, 0.0, 0.0, 0.0, 0.0, 0.0])
STROBE = 1.5
GRID = np.linspace(-0.72, 0.72, 7)
INK = "#2b2b33"
HEADING = {"loc": "left", "fontsize": 10, "fontweight": "bold", "color": INK}


def main() -> None:
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png")
    robot = on.load(URDF)
    title("The robot")
    print(robot.summary())
    dynamics(robot)
    speed(robot)
    result, swarm = fall(robot)
    draw(robot, result, swarm, picture)
    print(NEXT.format(python=shortest(sys.executable)))


NEXT = """
What next?
  {python} examples/06_simulate.py
      forces, events, limits, stiff joints and files, in fifty lines
  {python} -m pip install -e '.[view]' && {python} -m ordern view puma560
      the arm in your browser, with a slider for each joint
  {python} -m ordern check your_robot.urdf
      what is suspicious about a robot of yours
  docs/simulation.md
      to read"""


# ---------------------------------------------------------------- what it computes


def dynamics(robot: on.Robot) -> None:
    """Inverse and forward dynamics undo each other; the mass matrix connects them."""
    title(f"Dynamics at {STATES} random states")
    rng = np.random.default_rng(560)
    q = robot.random(rng, STATES)
    v, a = rng.normal(size=(2, STATES, robot.nv))

    tau = robot.inverse_dynamics(q, v, a)
    back = robot.forward_dynamics(q, v, tau)
    row("forward of inverse dynamics, largest error", f"{np.abs(back - a).max():.1e} rad/s²")

    M = robot.mass_matrix(q)
    other = np.einsum("nij,nj->ni", M, a) + robot.bias_force(q, v)
    row("M(q) a + C(q, v) against inverse dynamics", f"{np.abs(other - tau).max():.1e} N m")
    condition = np.linalg.cond(M)
    row("condition number of M, least to greatest", f"{condition.min():,.0f} to {condition.max():,.0f}")
    for question in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        counts = robot.kernel(question).counts()
        row(f"{question}, operations", f"{counts.multiplications} multiplications, {counts.additions} additions")


def speed(robot: on.Robot) -> None:
    """The same function takes one state or many."""
    title("Speed of forward dynamics, one thread")
    rng = np.random.default_rng(1)
    q = robot.random(rng, STATES)
    v, tau = rng.normal(size=(2, STATES, robot.nv))

    fresh = on.load(URDF)
    first = clock(lambda: fresh.forward_dynamics(q[0], v[0], tau[0]), repeat=1)
    row("first call: trace, compile, compute", f"{first * 1e3:,.0f} ms")

    states = list(zip(q, v, tau, strict=True))

    def one_by_one() -> None:
        for state in states:
            robot.forward_dynamics(*state)

    single = clock(one_by_one) / STATES
    row(f"{STATES} calls from Python, each one state", f"{single * 1e9:,.0f} ns per state")
    out = np.empty_like(v)
    batch = clock(lambda: robot.forward_dynamics(q, v, tau, threads=1, out=out)) / STATES
    row(f"one call, {STATES} states", f"{batch * 1e9:,.0f} ns per state, {single / batch:.0f} times as fast")
    q, v, tau, out = (x.astype(np.float32) for x in (q, v, tau, out))
    half = clock(lambda: robot.forward_dynamics(q, v, tau, threads=1, out=out)) / STATES
    row("the same in float32", f"{half * 1e9:,.0f} ns per state")


def fall(robot: on.Robot):
    """Let go of the arm, upright and turning, without friction or motors; and of a swarm of near copies."""
    title(f"Free fall for {SECONDS:g} s, with error control")
    start = time.perf_counter()
    result = robot.simulate(START, SPIN, until=SECONDS)
    first, report = time.perf_counter() - start, result.report
    again = clock(lambda: robot.simulate(START, SPIN, until=SECONDS), repeat=3)
    row(f"robot.simulate, {report.method}", f"{report.steps} steps, {report.rejected} rejected")
    row(
        "first run, with compiling; and again",
        f"{first:.1f} s; {again * 1e3:.1f} ms, {SECONDS / again:,.0f} x real time",
    )
    row("energy at the start", f"{result.energy[0]:.4f} J")
    row("largest drift of the energy", f"{report.energy_error:.1e} J, {report.energy_drift:.0e} of the kinetic energy")
    q1, _ = result.at(1.2345)
    row("between the steps too: elbow at 1.2345 s", f"{q1[robot.joint('elbow').q][0]:.9f} rad")

    title(f"{STATES} arms for {STEPS} steps each, all in machine code (robot.rollout)")
    q0, v0 = robot.random(3, STATES), np.zeros((STATES, robot.nv))
    start = time.perf_counter()
    robot.rollout(q0[:8], v0[:8], steps=1, dt=STEP)
    compiled = time.perf_counter() - start
    took = clock(lambda: robot.rollout(q0, v0, steps=STEPS, dt=STEP, every=STEPS), repeat=2)
    row("compiling the time loop", f"{compiled:.1f} s")
    row(
        f"{STATES * STEPS / 1e6:.1f} million steps of semi-implicit Euler",
        f"{took:.2f} s, {took / STATES / STEPS * 1e9:,.0f} ns per step",
    )
    row("that is, for each second on the clock", f"{STATES * STEPS * STEP / took / 60:,.0f} minutes of motion")

    rng = np.random.default_rng(2)
    near = START + SPREAD * rng.normal(size=(SWARM, robot.nq))
    swarm = robot.rollout(near, np.broadcast_to(SPIN, near.shape), steps=2500, dt=2e-3, every=10, method="rk4")
    return result.resample(rate=500.0), swarm


def clock(function, repeat: int = 7) -> float:
    """The shortest of several times, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


# ---------------------------------------------------------------- a report and a picture


def title(text: str) -> None:
    print(f"\n{text}")


def shortest(path: str) -> str:
    """A path as seen from here, if that is shorter."""
    here = str(Path.cwd()) + os.sep
    return path.removeprefix(here)


def row(name: str, value: str) -> None:
    print(f"  {name:<46}{value}")


def draw(robot: on.Robot, result: on.Result, swarm, picture: Path) -> None:
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture: matplotlib is not installed (python -m pip install 'ordern[plot]').")
        return
    figure = Figure(figsize=(10, 5.4), dpi=150)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1), left=0.0, right=0.975, top=0.93, bottom=0.1, hspace=0.42)
    draw_arm(figure.add_subplot(grid[:, 0], projection="3d"), robot, result, colormaps["plasma_r"])
    draw_energy(dressed(figure.add_subplot(grid[0, 1])), result)
    draw_angles(dressed(figure.add_subplot(grid[1, 1])), result, swarm)
    heading = f"A PUMA 560, let go: its first {STROBE:g} s"
    figure.text(0.02, 0.942, heading, fontsize=10, fontweight="bold", va="bottom", color=INK)
    figure.savefig(picture)
    print(f"\nThe picture is in {picture}")


def dressed(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#9a9aa5")
    axes.tick_params(labelsize=9, color="#9a9aa5", labelcolor=INK)
    return axes


def skeleton(robot: on.Robot, q):
    """Points along the arm, from the floor to the tip, of shape (..., 6, 3)."""
    points = [
        ("base", (0.0, 0.0, 0.0)),
        ("upper_arm", (0.0, 0.0, 0.0)),
        ("upper_arm", (0.0, 0.0, 0.15005)),
        ("upper_arm", (0.4318, 0.0, 0.15005)),
        ("hand", (0.0, 0.0, 0.0)),
        ("flange", (0.0, 0.0, 0.1)),
    ]
    return np.stack([robot.pose(q, frame)[..., :3, :] @ np.array([*p, 1.0]) for frame, p in points], axis=-2)


def draw_arm(axes, robot: on.Robot, result: on.Result, colours) -> None:
    """The arm at equal times, older ones paler; the path of its tip, and its shadow."""
    arm = skeleton(robot, result.between(0.0, STROBE).q)
    shown = len(arm) - 1
    tip = arm[:, -1]
    axes.plot(tip[:, 0], tip[:, 1], 0.0, color="#b9b9c4", lw=0.9, zorder=1)  # its shadow
    for age in np.linspace(0.0, 1.0, 26):
        pose = arm[round(age * shown)]
        style = {"color": colours(0.1 + 0.82 * age), "solid_capstyle": "round", "solid_joinstyle": "round"}
        axes.plot(*pose[1:].T, lw=1.3 + 2.7 * age**3, alpha=0.3 + 0.7 * age**2, **style)
    for k in range(0, shown, 3):
        axes.plot(*tip[k : k + 4].T, color=colours(0.1 + 0.82 * k / shown), lw=1.2)
    axes.plot(*arm[-1][:2].T, color="#6d6d78", lw=6, solid_capstyle="round")
    axes.scatter(*arm[-1][1:].T, s=16, color="white", edgecolor=colours(0.95), depthshade=False, zorder=9)
    axes.set(xlim=(-0.72, 0.72), ylim=(-0.72, 0.72), zlim=(0.0, 1.44), xticks=GRID, yticks=GRID, zticks=GRID + 0.72)
    axes.set_box_aspect((1, 1, 1), zoom=1.28)
    axes.view_init(elev=14, azim=-62)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((0.965, 0.965, 0.975, 1.0))
        axis._axinfo["grid"]["color"] = "#e3e3ea"
        axis._axinfo["tick"].update(inward_factor=0.0, outward_factor=0.0)
        axis.set_ticklabels([])
        axis.line.set_color("#d0d0d8")


def draw_energy(axes, result: on.Result) -> None:
    t, total = result.t, result.energy
    axes.fill_between(t, result.potential, total, color="#f2844b", alpha=0.85, lw=0, label="kinetic")
    axes.fill_between(t, 0.0, result.potential, color="#6a4fb6", alpha=0.8, lw=0, label="potential")
    axes.plot(t, total, color=INK, lw=1.4, label="total")
    axes.set_title(f"Energy, conserved to {result.report.energy_drift:.0e}", **HEADING)
    axes.set(xlim=(0, t[-1]), ylim=(0, 1.3 * total[0]), ylabel="J", yticks=(0, 50, 100, 150, 200))
    axes.legend(ncols=3, frameon=False, loc="upper right", handlelength=1.2, columnspacing=1.2, fontsize=9)


def draw_angles(axes, result: on.Result, swarm) -> None:
    """Two joints of the arm and of its near copies: small differences grow."""
    for joint, colour in (("shoulder", "#b5367a"), ("waist", "#3b5bb5")):
        at = result.robot.joint(joint).q
        axes.plot(swarm.t, swarm.q[..., at][..., 0].T, color=colour, lw=0.5, alpha=0.22)
        axes.plot(result.t, result[joint].q, color=colour, lw=1.8, label=joint)
    axes.set_title(f"The arm, and {SWARM} copies let go about {SPREAD * 1e3:g} mrad apart", **HEADING)
    axes.set(xlim=(0, result.t[-1]), xlabel="s", ylabel="rad")
    axes.legend(ncols=2, frameon=False, loc="upper left", handlelength=1.2, columnspacing=1.2, fontsize=9)


if __name__ == "__main__":
    main()
