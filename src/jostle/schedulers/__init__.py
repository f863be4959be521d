"""Whom do we mutate, how often?"""
