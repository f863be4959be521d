"""How does PaddlePaddle run a graph?"""
