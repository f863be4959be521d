"""Who runs a graph on a framework, in which process?"""
