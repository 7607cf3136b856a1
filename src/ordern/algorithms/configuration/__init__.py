"""What do joints do by themselves: how do their positions and velocities fit together, what forces have they?"""

from .passive import passive_force
from .step import difference, integrate, position_rate, project

__all__ = ["difference", "integrate", "passive_force", "position_rate", "project"]
