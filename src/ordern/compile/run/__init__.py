"""From IR text to functions in memory: LLVM, the cache on disk, NumPy ufuncs, threads."""
