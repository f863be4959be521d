"""What is fed to a model, and how far has it changed?"""
