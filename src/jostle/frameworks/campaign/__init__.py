"""How do graphs go through the loop?"""
