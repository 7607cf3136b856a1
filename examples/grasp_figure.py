"""The figures of the chapter about grasps: `python examples/grasp_figure.py FOLDER`; needs Matplotlib."""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import ordern as on

BOX = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def arms_and_box(ax) -> None:
    """Two arms with a box, the forces of the hands on it, and how it falls."""
    arm = on.load("puma560")
    hand = np.array([[0, 0, 1, 0.55], [0, -1, 0, 0.0], [1, 0, 0, 0.9], [0, 0, 0, 1.0]])  # reaching forward
    q, reach = arm.inverse_kinematics(hand, "flange", restarts=20)
    assert reach.reached
    bases = [(0.0, 0.0, 0.0), ((1.6, 0.0, 0.0), (0.0, 0.0, np.pi))]
    two = on.grasp([arm, arm], (6.0, (0, 0, 0), (0.1, 0.1, 0.1)), bases=bases, q=[q, q], pose=(0.8, 0.0, 0.9))
    fall = two.simulate([q, q], until=np.linspace(0.0, 0.45, 4), rtol=1e-8, atol=1e-8)
    for k, (x, shade) in enumerate(zip(fall.q, np.linspace(0.25, 1.0, len(fall.q)), strict=True)):
        for a, color in zip(two.arms, ("tab:blue", "tab:orange"), strict=True):
            names = [f"{a.name}/{b.name}" for b in a.robot.bodies] + [f"{a.name}/flange"]
            points = np.array([a.base.p, *(two.robot.pose(x, n)[:3, 3] for n in names)])
            ax.plot(*points.T, "o-", color=color, alpha=shade, ms=3, lw=3)
        X = two.robot.pose(x, "object")
        corners = (BOX * (0.25, 0.12, 0.1)) @ X[:3, :3].T + X[:3, 3]
        for i in range(8):
            for j in range(i):
                if np.sum(BOX[i] != BOX[j]) == 1:
                    ax.plot(*corners[[i, j]].T, color="0.3", alpha=shade, lw=1.2)
        for c in two.contacts:
            at = X[:3, :3] @ c.at.p + X[:3, 3]
            ax.quiver(*at, *(0.006 * fall[f"force.{c.name}"][k, 3:]), color="tab:red", alpha=shade)
    ax.set(
        xlabel="x in m", ylabel="y in m", zlabel="z in m", title="two arms fall with a box; forces of the hands on it"
    )
    ax.set(yticks=(-0.4, 0.0, 0.4))
    ax.set_aspect("equal")
    ax.view_init(18, -72)


def growth(ax) -> None:
    """Times by the number of arms, for contact forces by arms and dense."""
    counts = (1, 2, 4, 8, 16, 32, 64)
    for joints, color in ((7, "tab:blue"), (1000, "tab:green")):
        for solver, line in (("by-arms", "o-"), ("dense", "s--")):
            ax.loglog(
                counts,
                [1e3 * _seconds(n, joints, solver) for n in counts],
                line,
                color=color,
                ms=4,
                label=f"{joints} joints each, {solver}",
            )
    ax.set(xlabel="arms", ylabel="ms for the forward dynamics of all", title="rccfd2: the time grows with the arms")
    ax.grid(True, which="both", alpha=0.3)
    ax.legend()


def _seconds(arms: int, joints: int, solver: str) -> float:
    arm, rng = on.chain(joints, seed=1), np.random.default_rng(0)
    bases = [((np.cos(x), np.sin(x), 0.0), (0.0, 0.0, float(x))) for x in 2.0 * np.pi * np.arange(arms) / arms]
    q = rng.uniform(-0.5, 0.5, arms * arm.nq)
    grasp = on.grasp([arm] * arms, (5.0, (0, 0, 0.1), (0.3, 0.4, 0.5)), bases=bases, q=q)
    state, tau = grasp.state(q, np.zeros(grasp.nv)), rng.normal(size=grasp.nv)
    best = np.inf
    for _ in range(15 if arms * joints > 2000 else 100):
        began = time.process_time()
        grasp.dynamics(state, tau, solver=solver)
        best = min(best, time.process_time() - began)
    return best


def main(folder: Path) -> None:
    figure = plt.figure(figsize=(7.5, 5.0), layout="constrained")
    arms_and_box(figure.add_subplot(projection="3d"))
    figure.savefig(folder / "grasp.png", dpi=110)
    figure, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    growth(ax)
    figure.savefig(folder / "grasp-growth.png", dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
