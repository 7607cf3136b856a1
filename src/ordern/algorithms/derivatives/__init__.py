"""Derivatives of questions by their arguments."""
