"""Simulation: events, forces, limits, stiff joints, long runs, rollouts, and the energy balance of each."""

from dataclasses import replace

import numpy as np

import ordern as on

robot = on.load("puma560")
q0, v0 = np.array([0.3, 1.2, -0.9, 0.2, 0.4, 0.0]), np.zeros(robot.nv)

# Let it fall. The default is an eighth-order method with error control; print(result.report) shows the details.
fall = robot.simulate(q0, v0, until=2.0)
print(f"fall: {fall.report.steps} steps, energy wrong by {fall.report.energy_drift:.0e} of the kinetic energy")

# Events: zero crossings of functions of the motion. Results have named series, and dense output between the steps.
turns = on.Event(lambda t, q, v: v[1], name="shoulder turns")
low = on.Event.height("flange", 1.0, terminal=True)
result = robot.simulate(q0, v0, until=2.0, events=[turns, low])
print(f"{result.events[-1]}; there z is {result['position.flange.z'][-1]:.12f} m; stopped by: {result.report.stopped}")

# Forces over time: a table, a function, or a controller. The report has their work.
pulse = on.Table([0.0, 0.2, 0.4], [[0.0] * 6, [20.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0] * 6])
pushed = robot.simulate(q0, v0, pulse, until=0.5)
gain = pushed.energy[-1] - pushed.energy[0]
print(f"pulse: {pushed.report.work:.6f} J of work in, {gain:.6f} J more energy")

# Dampers, friction and springs of the model act. Limits are ignored (and reported), stop the run, or are hard stops.
joints = [replace(c, damping=(4.0,) * c.nv, lower=(-0.9,) * c.nq) for c in robot.joints]
bounced = replace(robot, joints=tuple(joints)).simulate(q0, v0, until=3.0, limits="bounce", restitution=0.5, rtol=1e-8)
print(f"bounce: {bounced.report.impacts} impacts, lowest shoulder {bounced['shoulder'].q.min():.3f} rad")
print(f"        {bounced.report.dissipated:.3f} J lost, balance wrong by {bounced.report.energy_error:.0e} J")

# Stiff joints need an implicit method; for very long runs use the structure-preserving one.
stiff = replace(robot, joints=tuple(replace(c, stiffness=(1e5,) * c.nv, damping=(1e4,) * c.nv) for c in robot.joints))
settled = stiff.simulate(q0, v0, until=1.0, method="radau", rtol=1e-6, atol=1e-6)
print(f"stiff: {settled.report.steps} steps of radau")
pendulum = on.load("double-pendulum")
long = pendulum.simulate([0.5, 0.2], until=50.0, method="variational", step=0.01)
first, last = np.abs(long.energy[1:] - long.energy[0]).reshape(2, -1).max(axis=1)
print(f"long: energy within {first:.2e} J in the first half, {last:.2e} J in the second")

# Many motions at once, in machine code: from 1000 random states.
q, v, t = robot.rollout(robot.random(0, 1000), np.zeros((1000, 6)), steps=200, dt=1e-3, every=50)
print(f"rollout: q {q.shape}, v {v.shape}, t = {t[0]:g} ... {t[-1]:g} s")

# Files keep every bit. A figure takes one line: fall.plot("q", "energy", save="fall.pdf")
fall.save("fall.npz")
print("the same when read again:", on.load_result("fall.npz") == fall)
