"""The questions about robots: inputs, results, settings and default methods."""

from __future__ import annotations

from .registry import Port, question, questions

__all__ = ["COMMON"]

_q, _v, _a, _tau = Port("q", "q"), Port("v", "v"), Port("a", "v"), Port("tau", "f")
_external = Port("external", "bodies", optional=True)
_v0, _a0 = Port("base_velocity", "motion", optional=True), Port("base_acceleration", "motion", optional=True)

question("inverse_dynamics", (_q, _v, _a, _external, _v0, _a0), "f", "newton-euler")
question("forward_dynamics", (_q, _v, _tau, _external, _v0, _a0), "v", "articulated-body", needs_inertia=True)
question("mass_matrix", (_q,), "symmetric", "composite-body")
question("mass_matrix_inverse", (_q,), "symmetric", "innovations", needs_inertia=True)
question("mass_matrix_factor", (_q,), "matrix", "innovations", needs_inertia=True)
question("mass_matrix_pivots", (_q,), "symmetric", "innovations", needs_inertia=True)
question("mass_matrix_root_product", (_q, Port("x", "v")), "f", "innovations", needs_inertia=True)
question("mass_matrix_root_solve", (_q, Port("x", "f")), "v", "innovations", needs_inertia=True)
question("mass_matrix_product", (_q, Port("x", "v")), "f", "newton-euler")
question("mass_matrix_solve", (_q, Port("x", "f")), "v", "innovations", needs_inertia=True)
question("inverse_dynamics_derivatives", (_q, _v, _a, _external, _v0, _a0), "matrices", "common-frame")
question(
    "forward_dynamics_derivatives",
    (_q, _v, _tau, _external, _v0, _a0),
    "matrices",
    "common-frame",
    needs_inertia=True,
)
question("coriolis_matrix", (_q, _v), "matrix", "christoffel")
question("joint_wrenches", (_q, _v, _a, _external, _v0, _a0), "wrenches", "newton-euler")
question("supported_wrench", (_q, _v, _a, _external, _v0, _a0), "motion", "newton-euler", options=("frame", "axes"))
question("constraint_forces", (_q, _v, _tau, _external, _v0, _a0), "wrenches", "articulated-body", needs_inertia=True)
question("momentum", (_q, _v), "motion", "composite-body", options=("frame",))
question("operational_inertia", (_q,), "spatial", "innovations", options=("frame", "axes"), needs_inertia=True)
question("operational_inertia_inverse", (_q,), "spatial", "innovations", options=("frame", "axes"), needs_inertia=True)
question("frame_response", (_q,), "spans", "innovations", options=("frame", "axes"), needs_inertia=True)
question("dynamic_inverse", (_q,), "spans", "innovations", options=("frame", "axes"), needs_inertia=True)
question("operational_bias", (_q, _v), "motion", "innovations", options=("frame", "axes"), needs_inertia=True)
question("bias_force", (_q, _v, _external, _v0, _a0), "f", "newton-euler")
question("gravity_force", (_q,), "f", "newton-euler")
_smoothing = Port("smoothing", "scalar")
question("passive_force", (_q, _v, _smoothing), "f", "joint-by-joint")
question("kinetic_energy", (_q, _v, _v0), "scalar", "body-sum")
question("potential_energy", (_q,), "scalar", "body-sum")
question("subtree_kinetic_energy", (_q, _v, _v0), "scalar", "body-sum", options=("frame",))
question("subtree_potential_energy", (_q,), "scalar", "body-sum", options=("frame",))
question("inverse_dynamics_regressor", (_q, _v, _a, _smoothing, _v0, _a0), "force_regressor", "body-by-body")
question("joint_wrench_regressor", (_q, _v, _a, _v0, _a0), "wrench_regressor", "body-by-body")
question("base_wrench_regressor", (_q, _v, _a, _v0, _a0), "spatial_regressor", "body-by-body")
question("momentum_regressor", (_q, _v), "spatial_regressor", "body-by-body", options=("frame",))
question("kinetic_energy_regressor", (_q, _v, _v0), "scalar_regressor", "body-by-body")
question("potential_energy_regressor", (_q,), "scalar_regressor", "body-by-body")
question("pose", (_q,), "pose", "outward", options=("frame",))
question("velocity", (_q, _v, _v0), "motion", "outward", options=("frame", "axes"))
question("acceleration", (_q, _v, _a, _v0, _a0), "motion", "outward", options=("frame", "axes", "kind"))
question("jacobian", (_q,), "columns", "inward", options=("frame", "axes"))
question("poses", (_q,), "poses", "outward", options=("frames",))
question("velocities", (_q, _v, _v0), "motions", "outward", options=("frames", "axes"))
question("accelerations", (_q, _v, _a, _v0, _a0), "motions", "outward", options=("frames", "axes", "kind"))
question("jacobians", (_q,), "frame_columns", "outward", options=("frames", "axes"))
question("body_poses", (_q,), "body_poses", "outward")
question("body_velocities", (_q, _v, _v0), "body_motions", "outward", options=("axes",))
question("body_accelerations", (_q, _v, _a, _v0, _a0), "body_motions", "outward", options=("axes", "kind"))
question("jacobian_rate", (_q, _v), "columns", "inward", options=("frame", "axes"))
question("kinematic_hessian", (_q,), "column_rates", "inward", options=("frame", "axes"))
question("delassus_matrix", (_q,), "frame_matrix", "innovations", options=("frames", "axes"), needs_inertia=True)
question("point_delassus_matrix", (_q,), "point_matrix", "innovations", options=("frames", "axes"), needs_inertia=True)
question("com", (_q,), "point", "composite-body", options=("frame",))
question("com_velocity", (_q, _v, _v0), "point", "body-sum", options=("frame",))
question("com_acceleration", (_q, _v, _a, _v0, _a0), "point", "body-sum", options=("frame",))
question("com_jacobian", (_q,), "point_columns", "composite-body", options=("frame",))
question("centroidal_momentum", (_q, _v), "motion", "composite-body", options=("frame",))
question("centroidal_map", (_q,), "columns", "composite-body", options=("frame",))
question("centroidal_map_rate", (_q, _v), "columns", "composite-body", options=("frame",))
question("integrate", (_q, _v, Port("dt", "scalar")), "q", "joint-by-joint")
question("difference", (Port("q0", "q"), Port("q1", "q")), "v", "joint-by-joint")
question("position_rate", (_q, _v), "q_rate", "joint-by-joint")
question("normalize", (_q,), "q", "joint-by-joint")
_t = Port("t", "scalar", optional=True)
question("loop_residual", (_q, _t), "rows", "outward", loops=True)
question("loop_rate", (_q, _v, _t), "rows", "outward", loops=True)
question("loop_jacobian", (_q, _t), "row_columns", "inward", loops=True)
question("loop_bias", (_q, _v, _t), "rows", "outward", loops=True)
question("loop_wrenches", (_q, _t), "row_wrenches", "outward", loops=True)
question("loop_coordinates", (_q,), "loop_q", "outward", loops=True)
question("loop_velocities", (_q, _v), "loop_v", "outward", loops=True)
question("loop_force", (_q, Port("along", "loop_v")), "f", "inward", loops=True)
question("loop_passive_force", (_q, _v, _smoothing), "f", "inward", loops=True)
question(
    "closed_dynamics",
    (_q, _v, _tau, _external, _v0, _a0, _t, Port("correction", "rows", optional=True), Port("drop", "scalar", True)),
    "closed",
    "multipliers",
    loops=True,
)

COMMON = tuple(asked.name for asked in questions())
"""The names of these questions, in this order. Modules of algorithms add others when they are imported."""
