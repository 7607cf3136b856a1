"""Cassie, a biped whose springs and rods close loops, walks at five speeds at once on rigid ground.

A foot lands where an inverted pendulum needs it. This needs the file of Cassie: pip install example-robot-data.
"""

import sysconfig
from pathlib import Path

import numpy as np

import ordern as on

file = "cmeel.prefix/share/example-robot-data/robots/cassie_description/robots/cassie_v2.sdf"
text, rod = Path(sysconfig.get_paths()["purelib"], file).read_text(), 'achilles-spring-joint" type='
robot = on.load(text.replace(f'{rod}"revolute', f'{rod}"ball'), floating=True)  # rods end in balls, not in hinges
feet, first, T, omega, begun = ["left-foot", "right-foot"], 0.12, 0.32, 3.4, {}  # s, s and 1/s
walker = robot.with_contacts(on.Ground(0.8), bodies=feet, sweeps=40, limits=False)
names = ("roll-op", "yaw-op", "pitch-op", "knee-op", "foot-op", "knee-shin-joint", "tarsus-spring-joint")
joints = [[robot.joint(foot.replace("foot", name)) for name in names] for foot in feet]
Q, V = (np.array([[getattr(joint, x).start for joint in leg[:5]] for leg in joints]) for x in "qv")
q0, (v0, drag), want = robot.neutral(), np.zeros((2, robot.nv)), np.array([-0.3, 0.0, 0.3, 0.6, 0.9])  # m/s
q0[Q], q0[6], drag[V] = (0.0, 0.0, 0.7204, -0.8683, -1.823), 0.86, (8.0, 8.0, 15.0, 15.0, 1.5)
q0 = robot.assemble(q0, ["root_joint", *(joint.name for leg in joints for joint in leg)], tolerance=1e-7).q


def angles(d, side):  # of roll, pitch and knee, for a foot at d in the axes of the pelvis
    A, B, y = 0.0528 - 0.5265j, -0.3026 - 0.398j, d[:, 1] - 0.135 * side  # thigh and tarsus, which are parallel; shin
    p = d[:, 0] + 0.049 + 1j * (0.09 - np.hypot(y, d[:, 2]))
    knee = np.angle(A / B) - np.arccos(np.clip((abs(p) ** 2 - abs(A) ** 2 - abs(B) ** 2) / abs(2 * A * B), -1, 1))
    return np.arctan2(y, -d[:, 2]) + 0.006 * side, np.angle(p / (A + np.exp(1j * knee) * B)), knee


def walk(t, q, v):
    k = int((t - first) // T + 1)  # one foot swings to where the pendulum needs it at the end of this step
    start, end, swing, side = max(first + (k - 1) * T, 0.0), first + k * T, k % 2, 1 - 2 * (k % 2)
    foot, rate, speed = robot.poses(q, feet)[..., :3, 3], robot.com_velocity(q, v), want * min(t, 1.0)
    begin, stand = begun.setdefault(k, foot[:, swing]), foot[:, 1 - swing]
    goal = stand + (robot.com(q) + rate / omega - stand) * np.exp(omega * (end - t))
    goal[:, 0] -= 0.007 + 1.65 * T * speed / (np.exp(omega * T) - 1)
    goal[:, 1] += 0.19 * side / (np.exp(omega * T) + 1)
    u = min((t - start) / (end - start) + 0.08, 1.0)
    goal = begin + (goal - begin) * u**3 * (10 - 15 * u + 6 * u**2)
    goal[:, 2] = 0.058 + 5.7 * (end - start) * u**2 * (1 - u) ** 2 - 0.035 * u
    x, y, z = tilt = on.rotations.vector_from_quaternion(q[:, :4]).T
    roll, pitch, knee = angles(on.rotations.rotate(on.rotations.exp(-tilt.T), goal - q[:, 4:7]), side)
    tau, a, w = np.zeros_like(v), q[:, Q[swing]], v.T  # the other leg holds the pelvis upright and high
    tau[:, V[swing]] = (np.stack([roll, side * z, pitch, knee, y - 1.1026 - a[:, 2]]).T - a) * [600, 180, 600, 600, 20]
    hip = 930 * x + 60 * w[0] - 40 * side, side * (310 * z + 10 * w[2]), -930 * y - 60 * w[1] - 21
    tau[:, V[1 - swing]] = np.stack([*hip, 1000 * (0.978 - q[:, 6]), 50 * (speed - rate[:, 0])]).T
    return tau


run = walker.rollout(np.tile(q0, (5, 1)), v0, steps=16000, dt=5e-4, policy=walk, hold=4, feedback=(v0, drag, q0))
tau, loops = run.tau[:, :-1] - drag * run.v[:, 1:], abs(robot.loop_residual(run.q)).max()
found, height = (run.q[:, -1, 4] - run.q[:, 4000, 4]) / 6.0, robot.poses(run.q[:, 4000:], feet)[..., 2, 3].max(axis=1)
steps = (np.diff(run.contact_impulses[:, 4000:, :, 2].reshape(5, -1, 2, 4).any(-1) * 1, axis=1) > 0).sum(axis=1)
print(f"{want} m/s wanted, {found.round(2)} m/s found in 6 s, by steps {steps[:, 0]} left, {steps[:, 1]} right")
print(f"feet rise by {100 * height.min() - 6:.0f} cm, torques to {abs(tau).max():.0f} N m, loops open by {loops:.0e} m")
print(f"residual of 99 % of the states below {np.percentile(run.certificate.residual, 99):.0e} m/s; {run.certificate}")
