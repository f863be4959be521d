"""Existing models as graphs, so that they serve as seeds."""
