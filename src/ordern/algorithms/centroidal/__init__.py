"""The centre of mass and the centroidal momentum of a robot, or of a body with all that it carries."""
