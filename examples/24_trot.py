"""A quadruped stands, is pushed, and trots: a table of joint angles, followed by a spring and a damper in each motor.

The feet of one diagonal stand while those of the other swing. The springs and dampers act inside the compiled steps,
implicitly, so that stiff ones are stable. Nothing is learned, and nothing measures where the trunk is.
"""

import numpy as np

import ordern as on

robot = on.load("quadruped")
stand = on.robots.positions("quadruped")["stand"]
feet = ["lf_foot", "rf_foot", "lh_foot", "rh_foot"]
walker = robot.with_contacts(on.Ground(friction=0.8), points=feet)

dt, steps, begin, link = 2e-3, 3000, 1.5, 0.2
speed, period, stance, lift = 0.6, 0.25, 0.55, 0.05  # m/s, s, the part of a period on the ground, m

# Where each foot shall be below its hip, from its phase in the gait; it is at rest before the trot begins.
t = dt * np.arange(steps)[:, None]
phase = np.where(t < begin, stance / 2, ((t - begin) / period + [0.0, 0.5, 0.5, 0.0]) % 1.0)
stride = speed * period * stance * np.clip(t - begin, 0.0, 1.0)  # it grows during the first second
s = np.maximum(phase - stance, 0.0) / (1.0 - stance)  # from 0 to 1 in a swing
x = stride * np.where(phase < stance, 0.5 - phase / stance, s - 0.5 - np.sin(2 * np.pi * s) / (2 * np.pi))
z = 0.5 * lift * (1.0 - np.cos(2 * np.pi * s)) - stand[6]

# The angles of hip and knee by which thigh and shin, both of this length, reach there.
target = np.tile(stand, (steps, 1))
knee = -2.0 * np.arccos(np.hypot(x, z) / (2.0 * link))
target[:, 8::3], target[:, 9::3] = np.arctan2(-x, -z) - knee / 2.0, knee

# A push of a tenth of a second, to the side, while it stands; and one from behind while it trots.
push = np.zeros((steps, len(robot.bodies), 6))
push[(t[:, 0] >= 0.6) & (t[:, 0] < 0.7), 0, 4] = 80.0
push[(t[:, 0] >= 4.0) & (t[:, 0] < 4.1), 0, 3] = 60.0
kp, kd = np.repeat([0.0, 250.0], [6, 12]), np.repeat([0.0, 6.0], [6, 12])  # no motors on the trunk
run = walker.rollout(stand, np.zeros(18), steps=steps, dt=dt, feedback=(kp, kd, target), external=push)

trot = run.t >= begin + 1.0
R = on.rotations.matrix_from_quaternion(run.q[:, :4])
ahead, upright = run.q[trot, 4], R[:, 2, 2].min()
forward = (ahead[-1] - ahead[0]) / (run.t[-1] - begin - 1.0)
down = run.contact_forces[:, :, 2] > 0.0
falls = (np.diff(down[trot].astype(int), axis=0) > 0).sum(axis=0)
pair, other = (down[trot][:, 0] == down[trot][:, [3, 1]].T).mean(axis=1)
tau = kp[6:] * (target - run.q[:-1])[:, 7:] - kd[6:] * run.v[1:, 6:]
print(f"pushed while it stands: tilts by {np.degrees(np.arccos(R[run.t < begin, 2, 2].min())):.1f} degrees")
print(f"trots at {forward:.2f} m/s, tilted by at most {np.degrees(np.arccos(upright)):.1f} degrees")
print(f"steps of the feet: {falls}; lf and rh agree {pair:.0%} of the time, lf and rf {other:.0%}")
print(f"height of the trunk {run.q[trot, 6].min():.3f} to {run.q[trot, 6].max():.3f} m", end="")
print(f", torques up to {np.abs(tau).max():.0f} of 35 N m")
print(run.certificate)
walker.view(run.q[-100], motion=run, save="trot.png", size=(480, 360))
