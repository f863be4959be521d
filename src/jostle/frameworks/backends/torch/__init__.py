"""How does PyTorch run a graph?"""
