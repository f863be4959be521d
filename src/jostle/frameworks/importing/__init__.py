"""How do models that exist already, ONNX files and torch modules, become graphs?"""
