"""How is a campaign loaded, run, finished and reopened in its folder?"""
