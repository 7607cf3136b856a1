"""From graphs and loops to LLVM IR text, and the entry points around it."""
