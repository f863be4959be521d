"""Every operator by name, and what a graph made of them computes."""
