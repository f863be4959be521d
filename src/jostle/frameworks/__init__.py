"""Fuzzing deep-learning libraries: one model, many frameworks, and who disagrees."""
