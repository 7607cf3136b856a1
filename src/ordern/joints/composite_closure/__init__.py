"""Close a loop by a composite joint: residuals and coordinates of joints in series."""
