"""How does JAX run a graph?"""
