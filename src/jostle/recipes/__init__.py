"""Which parts does each paper compose?"""
