"""Which framework is wrong about a graph, and in which operator?"""
