"""How each framework is told to compute a graph: programs in its own API, made without importing it."""
