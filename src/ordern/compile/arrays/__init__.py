"""Programs of array operations, recorded from texts that work on all bodies at once, to run on another machine."""
