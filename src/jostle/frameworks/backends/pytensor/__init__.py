"""How does PyTensor run a graph?"""
