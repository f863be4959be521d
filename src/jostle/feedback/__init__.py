"""Did we see something new?"""
