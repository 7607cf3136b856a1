"""The result of a simulation: motion, report, tables, files."""
