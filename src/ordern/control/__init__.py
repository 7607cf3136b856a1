"""Trajectories, inverse kinematics and controllers."""
