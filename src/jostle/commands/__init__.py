"""What do commands do besides fuzzing?"""
