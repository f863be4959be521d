"""Backends in processes of their own, asked for what they make of graphs."""
