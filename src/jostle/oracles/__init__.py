"""Is this a defect?"""
