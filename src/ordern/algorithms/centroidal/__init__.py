"""The centre of mass and the centroidal momentum of a robot, or of a body with all that it carries."""

from .centre import com, com_acceleration, com_jacobian, com_velocity
from .momentum import centroidal_map, centroidal_map_rate, centroidal_momentum

__all__ = [
    "centroidal_map",
    "centroidal_map_rate",
    "centroidal_momentum",
    "com",
    "com_acceleration",
    "com_jacobian",
    "com_velocity",
]
