"""How does each framework run a graph, and what does it show of itself?"""
