"""How is an option declared, read and refused?"""
