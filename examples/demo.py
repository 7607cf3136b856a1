"""ordern at a glance: load the PUMA 560, compute its dynamics, let it fall freely, and draw what happened.

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
STEP, SECONDS = 2e-3, 5.0
SWARM, SPREAD = 40, 2e-3
STROBE = 1.5
GRID = np.linspace(-0.72, 0.72, 7)


def main() -> None:
    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.png")
    robot = on.load(URDF)
    title("The robot")
    print(robot.summary())
    dynamics(robot)
    speed(robot)
    draw(robot, *fall(robot), picture)


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


def clock(function, repeat: int = 7) -> float:
    """The shortest of several times, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


# ---------------------------------------------------------------- a simulation


def runge_kutta(robot: on.Robot, q, v, tau, h: float):
    """A step of the classical Runge-Kutta method, for one state or for many.

    Positions move along velocities by `robot.integrate`, which knows where they are not plain numbers. (Then, for
    spherical and free joints, the order is below four; for joints with an axis it is the textbook's method.)
    """
    a1 = robot.forward_dynamics(q, v, tau)
    v2 = v + h / 2 * a1
    a2 = robot.forward_dynamics(robot.integrate(q, v, h / 2), v2, tau)
    v3 = v + h / 2 * a2
    a3 = robot.forward_dynamics(robot.integrate(q, v2, h / 2), v3, tau)
    v4 = v + h * a3
    a4 = robot.forward_dynamics(robot.integrate(q, v3, h), v4, tau)
    return robot.integrate(q, (v + 2 * v2 + 2 * v3 + v4) / 6, h), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def fall(robot: on.Robot):
    """Let go of the arm, upright and turning, without friction or motors; and of a swarm of near copies."""
    title(f"Free fall for {SECONDS:g} s in steps of {STEP * 1e3:g} ms")
    steps = round(SECONDS / STEP)
    rng = np.random.default_rng(2)
    q0 = np.array([-0.5, np.pi / 2 - 0.35, -np.pi / 2, 0.0, 0.5, 0.0])
    q0 = q0 + SPREAD * rng.normal(size=(SWARM + 1, robot.nq)) * (np.arange(SWARM + 1) > 0)[:, None]
    q, v = np.empty((2, steps + 1, SWARM + 1, robot.nv))
    q[0], v[0] = q0, [1.2, 0.0, 0.0, 0.0, 0.0, 0.0]
    tau = np.zeros(robot.nv)

    start = time.perf_counter()
    for k in range(steps):
        q[k + 1], v[k + 1] = runge_kutta(robot, q[k], v[k], tau, STEP)
    took = time.perf_counter() - start

    kinetic, potential = robot.kinetic_energy(q, v), robot.potential_energy(q)
    total = kinetic + potential
    drift = np.abs(total[:, 0] - total[0, 0]).max()
    row(f"{SWARM + 1} arms, {steps} steps, 4 evaluations each", f"{took:.2f} s")
    row("energy at the start", f"{total[0, 0]:.4f} J")
    row("largest drift of the energy", f"{drift:.1e} J, {drift / total[0, 0]:.0e} of it")
    row("fastest joint", f"{np.abs(v[:, 0]).max():.0f} rad/s")
    return q, kinetic[:, 0], potential[:, 0]


# ---------------------------------------------------------------- a report and a picture


def title(text: str) -> None:
    print(f"\n{text}")


def row(name: str, value: str) -> None:
    print(f"  {name:<46}{value}")


def draw(robot: on.Robot, q, kinetic, potential, picture: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        print("\nNo picture: matplotlib is not installed (python -m pip install matplotlib).")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t = STEP * np.arange(len(q))
    ink = "#2b2b33"
    plt.rcParams.update(
        {
            "font.size": 9,
            "axes.edgecolor": "#9a9aa5",
            "axes.labelcolor": ink,
            "text.color": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
        }
    )
    figure = plt.figure(figsize=(10, 5.4), dpi=150)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.25, 1), left=0.0, right=0.975, top=0.93, bottom=0.1, hspace=0.42)
    draw_arm(figure.add_subplot(grid[:, 0], projection="3d"), robot, q, plt.cm.plasma_r)
    draw_energy(figure.add_subplot(grid[0, 1]), t, kinetic, potential)
    draw_angles(figure.add_subplot(grid[1, 1]), robot, t, q)
    heading = f"A PUMA 560, let go: its first {STROBE:g} s"
    figure.text(0.02, 0.942, heading, fontsize=10, fontweight="bold", va="bottom")
    figure.savefig(picture)
    plt.close(figure)
    print(f"\nThe picture is in {picture}")


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


def draw_arm(axes, robot: on.Robot, q, colours) -> None:
    """The arm at equal times, older ones paler; the path of its tip, and its shadow."""
    shown = round(STROBE / STEP)
    arm = skeleton(robot, q[: shown + 1, 0])
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


def draw_energy(axes, t, kinetic, potential) -> None:
    total = kinetic + potential
    axes.fill_between(t, potential, total, color="#f2844b", alpha=0.85, lw=0, label="kinetic")
    axes.fill_between(t, 0.0, potential, color="#6a4fb6", alpha=0.8, lw=0, label="potential")
    axes.plot(t, total, color="#2b2b33", lw=1.4, label="total")
    drift = np.abs(total - total[0]).max() / total[0]
    axes.set_title(f"Energy, conserved to {drift:.0e}")
    axes.set(xlim=(0, t[-1]), ylim=(0, 1.3 * total[0]), ylabel="J", yticks=(0, 50, 100, 150, 200))
    axes.legend(ncols=3, frameon=False, loc="upper right", handlelength=1.2, columnspacing=1.2)


def draw_angles(axes, robot: on.Robot, t, q) -> None:
    """Two joints of the arm and of its near copies: small differences grow."""
    for joint, colour in (("shoulder", "#b5367a"), ("waist", "#3b5bb5")):
        at = robot.joint(joint).q
        axes.plot(t, q[:, 1:, at][..., 0], color=colour, lw=0.5, alpha=0.22)
        axes.plot(t, q[:, 0, at], color=colour, lw=1.8, label=joint)
    axes.set_title(f"The arm, and {SWARM} copies let go about {SPREAD * 1e3:g} mrad apart")
    axes.set(xlim=(0, t[-1]), xlabel="s", ylabel="rad")
    axes.legend(ncols=2, frameon=False, loc="upper left", handlelength=1.2, columnspacing=1.2)


if __name__ == "__main__":
    main()
