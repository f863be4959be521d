"""What scripts, notebooks and test suites call: the commands as functions, on objects as well as on names."""
