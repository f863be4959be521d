"""How does an ONNX runtime run a graph?"""
