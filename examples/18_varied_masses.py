"""Robots that differ in their numbers, all in one call: payloads, and what errors in masses do to a motion."""

import numpy as np

import ordern as on

arm = on.load("puma560")
q = np.array([0.0, 0.6, -0.4, 0.0, 0.3, 0.0])
print(arm.parameters)
print("every number has a name:", ", ".join(arm.parameters.labels[:5]), "...")

# five payloads: the mass of the flange is an array, and the answers have its shape
payload = np.linspace(0.0, 2.0, 5)
loaded = arm.vary(mass={"flange": lambda m: m + payload})
for m, tau in zip(payload, loaded.gravity_force(q), strict=True):
    print(f"payload {m:3.1f} kg: the shoulder holds {abs(tau[1]):6.2f} N m, the elbow {abs(tau[2]):5.2f} N m")

# links that fixed joints merged are varied by their own names
shifted = arm.vary(com={"forearm": lambda c: c + np.array([0.0, 0.0, 0.02])})
more = shifted.gravity_force(q) - arm.gravity_force(q)
print(f"a forearm whose centre moves by 2 cm: {more[2]:+.2f} N m at the elbow")

# a thousand arms with masses known to 10 %, and centres of mass to 5 mm
arms = arm.randomise(0, 1000, mass=0.1, com=0.005, inertia=0.1)
tau = arms.gravity_force(q)
print(f"shoulder of 1,000 arms: {tau[:, 1].mean():.1f} ± {tau[:, 1].std():.1f} N m")

# other numbers do not compile again, and serve any function: the acceleration at rest, then a motion under a controller
other = arm.randomise(1, 1000, mass=0.1, com=0.005, inertia=0.1)
held = arm.gravity_force(q)
a = other.forward_dynamics(q, 0 * q, held)
print(f"accelerations with the forces of the nominal arm: up to {np.abs(a).max():.2f} rad/s²")

gains = np.array([400.0, 400.0, 200.0, 20.0, 20.0, 5.0])
motion = arms.rollout(q, 0 * q, held, steps=500, feedback=(gains, 0.2 * gains, q))
tips = arms.pose(motion.q[:, -1], "flange")[:, :3, 3]
off = np.linalg.norm(tips - arm.pose(q, "flange")[:3, 3], axis=-1)
print(f"after half a second, the tips are off by {1e3 * off.mean():.2f} mm, at most {1e3 * off.max():.2f} mm")

# one of them as an ordinary robot
worst = arms.folded(int(np.argmax(off)))
print(f"the worst weighs {worst.mass:.2f} kg instead of {arm.mass:.2f}, and passes the checks: {worst.check().ok}")
