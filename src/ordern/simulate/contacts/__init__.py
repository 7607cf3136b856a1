"""Contacts in `simulate`: compliant ones, as forces, and rigid ones, by events."""
