"""A quadruped stands on the ground and shifts its weight: feet held by loops, and a whole-body balance controller."""

import numpy as np

import ordern as on

LEGS = ("lf", "rf", "lh", "rh")
robot = on.load("quadruped")
q0 = on.robots.positions("quadruped")["stand"]

# Each foot is a point on the ground: a ball between the world and the end of the shin closes a loop.
builder = robot.builder()
for leg in LEGS:
    foot = robot.pose(q0, f"{leg}_foot")[:3, 3]
    builder.loop(f"{leg}_ground", on.Spherical(), "world", f"{leg}_shin", at=foot, child_at=(0, 0, -0.2))
standing = builder.build()
print(f"{standing.nv} velocities, {standing.nc} constraints: {standing.mobility(q0).freedoms} freedoms are left")


class Balance(on.controllers.Controller):
    """Move the centre of mass along a path and keep the trunk level, by forces of the feet of least squares."""

    period = 0.004

    def __init__(self, shift, duration):
        self.start, self.shift, self.duration = robot.com(q0), np.array(shift), duration

    def __call__(self, t, q, v):
        x, T, still = min(t / self.duration, 1.0), self.duration, np.zeros(robot.nv)
        s = 10 * x**3 - 15 * x**4 + 6 * x**5
        ds, dds = 30 * (x - x**2) ** 2 / T, 60 * x * (1 - x) * (1 - 2 * x) / T**2
        # Accelerations: of the centre of mass, of the trunk's rotation, and of the feet, which do not move.
        com = dds * self.shift + 20 * (ds * self.shift - robot.com_velocity(q, v))
        com += 100 * (self.start + s * self.shift - robot.com(q)) - robot.com_acceleration(q, v, still)
        turn = 100 * robot.difference(q, q0)[:3] - 20 * v[:3]
        J = np.concatenate([robot.jacobian(q, f"{leg}_foot", axes="world")[3:] for leg in LEGS])
        bend = np.concatenate([robot.acceleration(q, v, still, f"{leg}_foot", axes="world")[3:] for leg in LEGS])
        tasks = np.concatenate([robot.com_jacobian(q), np.eye(robot.nv)[:3], J])
        a = np.linalg.solve(tasks, np.concatenate([com, turn, -bend]))
        # M a + C = tau + J^T f: nothing drives the trunk, so its six rows determine f, and the others tau.
        needed = robot.inverse_dynamics(q, v, a)
        f = np.linalg.lstsq(J.T[:6], needed[:6], rcond=None)[0]
        return np.concatenate([np.zeros(6), (needed - J.T @ f)[6:]])


result = standing.simulate(q0, tau=Balance([0.03, 0.04, -0.02], 0.8), until=1.2)
print("centre of mass moved by", (result.mass_centre[-1] - result.mass_centre[0]).round(4), "m")
print(f"{result.report.steps} steps, energy balance wrong by {result.report.energy_drift:.0e}")

# The forces of the loops on the feet, in the world's axes. Loops can pull, the ground cannot: so check the forces.
turns = [result.pose(f"{leg}_foot")[:, :3, :3] for leg in LEGS]
forces = [result.loop_forces(f"{leg}_ground")[:, 3:] for leg in LEGS]
f = np.stack([on.rotations.rotate(R, x) for R, x in zip(turns, forces, strict=True)], axis=1)
print("load of the feet at first", f[0, :, 2].round(1), "and at last", f[-1, :, 2].round(1), "N")
print(f"at least {f[..., 2].min():.1f} N, friction at least {(np.hypot(f[..., 0], f[..., 1]) / f[..., 2]).max():.2f}")
