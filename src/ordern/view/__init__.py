"""The robot in three dimensions, in a browser."""
