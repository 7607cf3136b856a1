"""Factors of the mass matrix, its inverse, and products with them in order n."""
