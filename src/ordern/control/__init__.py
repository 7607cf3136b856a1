"""Trajectories, inverse kinematics and controllers.

Users find them as `ordern.trajectories`, `ordern.controllers` and `Robot.inverse_kinematics`.
"""
