"""Which framework is wrong, in which operator, shown by how small a model."""
