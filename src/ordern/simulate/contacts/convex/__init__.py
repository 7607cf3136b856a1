"""Contacts of convex shapes: normals by the package coal, and patches of points that share the force."""
