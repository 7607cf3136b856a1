"""Contacts of robots with the ground and between bodies, as methods of `Robot`."""
