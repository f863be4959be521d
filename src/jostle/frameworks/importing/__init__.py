"""Models that exist already, as graphs to mutate."""
