"""How are models mutated: structure, neurons, weights, parameters, training, inputs?"""
