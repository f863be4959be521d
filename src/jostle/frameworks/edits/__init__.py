"""Mutations of models: structure, neurons, weights, parameters, training, inputs."""
