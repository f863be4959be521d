"""Which deep-learning library is wrong about a model?"""
