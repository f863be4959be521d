"""Graphs in the loop: the loop handles numbers, which stand for them."""
