"""The C back end: a kernel as one C99 file."""
