"""How does TensorFlow run a graph?"""
