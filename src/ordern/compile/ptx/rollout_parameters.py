"""The parameters of the kernel of a rollout.

They are 64 bits each: addresses, and strides in numbers. Each
trajectory has a row of positions `q0` and one of velocities `v0`, `stride` from the next trajectory's, or 0 if one row
serves all. `tau`, `external` and `goal` have a row for each step, `step` apart; 0 if one row is for all steps.
`numbers` has the step, the smoothing of friction, three numbers that are not read, the gains kp and kd of feedback, and
the limits of its forces.
Arguments that the steps do not use may have the address 0.

Steps with contacts begin with the impulses `pushes0` of contacts and `stops0` of joint limits. `surfaces` has friction,
restitution and the height of the ground for each contact, and `limits` the lower and the upper limits of joints, one
row for all trajectories. The certificate of a stored state is about all steps since the one before.

Row 0 of a result is the first state, row k the state after k times `every` steps. Rows are `row` apart: 0 keeps only
the last state. What comes after the last multiple of `every` steps is not stored.
"""

from __future__ import annotations

from .emitter import GLOBAL

__all__ = ["ROLLOUT_PARAMETERS", "TIMED", "declared"]

TIMED = ("tau", "external", "goal")
"""The arguments that may have a row for each step."""
TOUCHING = ("pushes", "stops", "certificate")
"""What is stored of contacts."""
ROLLOUT_PARAMETERS = (
    *("q0", "q0_stride", "v0", "v0_stride"),
    *(f"{name}{end}" for name in TIMED for end in ("", "_stride", "_step")),
    *("numbers", "parameters", "parameters_stride"),
    *("q_out", "q_stride", "q_row", "v_out", "v_stride", "v_row"),
    *(f"{name}{end}" for name in ("pushes0", "stops0", "surfaces") for end in ("", "_stride")),
    "limits",
    *(f"{name}{end}" for name in TOUCHING for end in ("_out", "_stride", "_row")),
    *("steps", "every", "n"),
)
"""The parameters of the entry, in order."""
_POINTERS = (
    *("q0", "v0", *TIMED, "numbers", "parameters", "q_out", "v_out"),
    *("pushes0", "stops0", "surfaces", "limits", *(f"{name}_out" for name in TOUCHING)),
)


def declared() -> list[str]:
    """Return the parameters with their types."""
    return [f"{GLOBAL} noalias %{name}" if name in _POINTERS else f"i64 %{name}" for name in ROLLOUT_PARAMETERS]
