"""What stands around a campaign: defaults, checks, assembling, finishing, going on?"""
