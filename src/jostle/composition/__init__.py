"""How do the parts that a recipe and a user chose become a campaign?"""
