"""What if the target takes its process with it?"""
