"""Two arms carry a box: its motion, the contact forces, internal forces, and a contact that slips."""

import numpy as np

import ordern as on

arm, q = on.load("puma560"), np.array([0.3, 1.2, -0.9, 0.2, 0.4, 0.0])
box = (2.0, (0.0, 0.0, 0.05), (0.02, 0.03, 0.04))  # mass, mass centre, inertia, in its own frame
bases = [(0.0, 0.0, 0.0), ((1.2, 0.0, 0.0), (0.0, 0.0, np.pi))]

# The contacts are where the hands are at these positions, with the box at this pose.
two = on.grasp([arm, arm], box, bases=bases, q=[q, q], pose=(0.6, 0.0, 0.3))
print(two)

# Forward dynamics: joint accelerations, the box's acceleration, the forces of the hands on the box.
still = np.zeros(two.nv)
motion = two.forward_dynamics([q, q], still, still)
print(f"let go, the box falls with {motion.object_acceleration[5]:.4f} m/s2; rank {motion.rank} of {motion.rows}")
for method in ("general", "rccfd1", "rccfd3", "direct", "reduced", "closed-form", "appendix-b"):
    other = two.forward_dynamics([q, q], still, still, method)
    print(f"  {method:12} differs by {np.abs(other.forces - motion.forces).max():.0e} N")

# Many states at once: leading dimensions are batches.
many = two.forward_dynamics(np.tile([*q, *q], (1000, 1)), np.zeros((1000, 12)), still)
print("a thousand states:", many.forces.shape)

# Share the weight between the hands: the least forces, plus an internal force of 30 N that moves nothing.
centre = two.object_pose([q, q]) @ [*box[1], 1.0]
weight = np.array([0.0, 0.0, 9.81 * box[0]])
lever = centre[:3] - two.object_pose([q, q])[:3, 3]
shared = two.distribute([*np.cross(lever, weight), *weight], [q, q])
squeeze = two.internal_forces(np.array([[0, 0, 0, 30.0, 0, 0], [0, 0, 0, -30.0, 0, 0]]), [q, q])
tau = two.joint_forces([q, q], shared.forces + squeeze)
held = two.forward_dynamics([q, q], still, tau)
print(f"held: nothing accelerates by more than {np.abs(np.concatenate(held.accelerations)).max():.0e} rad/s2")
print(f"      {shared.internal} ways to squeeze; hand 1 pushes with {held.forces[0, 3]:.1f} N")

# Simulation: both arms fall with the box. The tips stay on it.
fall = two.simulate([q, q], until=0.5)
print(f"fall: {fall.report.steps} steps, tips within {fall['residual'].max():.0e} m of the box")
print(f"      energy wrong by {fall.report.energy_error / fall.report.kinetic:.0e} of the kinetic energy")

# One-sided contacts: two fingers push less and less, until the block between them slips and falls.
finger = on.Builder("finger").body("base").body("tip", parent="base", joint=on.Prismatic((0, 0, 1)), mass=0.3).build()
sides = [((-0.1, 0, 0), (0, np.pi / 2, 0)), ((0.1, 0, 0), (0, -np.pi / 2, 0))]
soft = on.contacts.SoftFinger(surface=on.contacts.Surface(friction=0.5))
block = on.grasp([finger, finger], (2.0, (0, 0, 0), (0.01, 0.01, 0.01)), soft, bases=sides)
slipped = block.simulate(
    np.zeros(2), None, lambda t, state: np.full(2, 40.0 * (1.0 - t)), 0.8, pose=np.eye(4), breach="release"
)
print(slipped.events[0])
print(f"by hand it slips at {1.0 - 2.0 * 9.81 / 40.0:.9g} s; at 0.8 s it is {-slipped.q[-1, -1]:.4f} m lower")
