"""Progress bars, and tables in HTML, for terminals, logs and notebooks."""
