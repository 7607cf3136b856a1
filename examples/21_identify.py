"""Identification: from a log of motions and torques to an arm with the right masses, friction and payload."""

import numpy as np

import ordern as on

# the real arm, which we do not know: friction in its joints, and a tool in its hand
file = on.load("puma560")
real = file.vary(damping=0.4, joint_friction=0.6, mass={"flange": 1.5}, com={"flange": (0, 0.02, 0.06)}, fold=True)

# 20 s of a motion that moves all joints at several frequencies, sampled at 500 Hz
rng = np.random.default_rng(0)
t = np.arange(0.0, 20.0, 0.002)
rate = 2.0 * np.pi * 0.1 * np.arange(1, 6)
phase = rng.uniform(0.0, 2.0 * np.pi, (5, 6))
angle = rate[:, None, None] * t[:, None] + phase[:, None]
size = 0.6 / np.arange(1, 6)[:, None, None]
q = file.neutral() + (size * np.sin(angle)).sum(axis=0)
v = (size * rate[:, None, None] * np.cos(angle)).sum(axis=0)
a = -(size * rate[:, None, None] ** 2 * np.sin(angle)).sum(axis=0)

# the torques of its motors, with 3 % of noise
tau = real.inverse_dynamics_regressor(q, v, a) @ real.parameters.theta
tau += 0.03 * tau.std(axis=0) * rng.normal(size=tau.shape)

# what can be known at all, and what this motion tells
base = file.base_parameters()
print(f"{len(base)} combinations of {len(base.labels)} parameters can be identified")
print(f"cannot be identified: {', '.join(base.silent[:4])} ...")
excitation = file.identifiability(q, v, a, noise=0.03 * tau.std(axis=0))
print(f"condition number of the motion: {excitation.condition:.0f}")

# estimate all parameters; the last quarter of the log judges the result
found = file.identify(q, v, a, tau, consistent=True, held_out=0.25)
truth = found.base.of_theta(real.parameters.theta)
print(f"largest error: {np.abs((found.values - truth) / found.deviations).max():.1f} standard deviations")
print(found.held_out.report)

for name, before, after in zip(file.parameters.theta_labels, file.parameters.theta, found.theta, strict=True):
    if name in ("shoulder.damping", "shoulder.joint_friction"):
        print(f"{name}: {before:.2f} in the file, {after:.2f} measured, {0.4 if 'damping' in name else 0.6} in truth")

# the payload by itself: an arm whose other parameters are known
known = file.vary(damping=0.4, joint_friction=0.6, fold=True)
held = known.identify(q, v, a, tau, only=["flange"], consistent=True)
flange = held.robot.body("flange")
print(f"the flange carries {flange.mass - file.body('flange').mass:.2f} kg; in truth 1.41 kg")

# the measured arm predicts torques of other motions; the file does not
other = file.random(1, 200), rng.normal(size=(200, 6)), rng.normal(size=(200, 6))
torques = real.inverse_dynamics(*other)
for name, robot in (("file", file), ("measured", found.robot)):
    off = np.sqrt(((robot.inverse_dynamics(*other) - torques) ** 2).mean())
    print(f"{name}: torques of other motions are off by {off:.3f} N m")
