"""From an algorithm's text to arithmetic: interpreted, unrolled into a graph, or rolled into loops over tables."""
