"""What do we try next?"""
