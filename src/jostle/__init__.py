"""Jostle: coverage-guided fuzzing for neural networks and for the frameworks that run them."""

from importlib.metadata import version

__version__ = version("jostle")
