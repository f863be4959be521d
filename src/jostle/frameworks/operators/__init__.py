"""Which operators are there, what are their laws, and what are the types of a graph made of them?"""
