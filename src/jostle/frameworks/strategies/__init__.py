"""Which edits are tried next, by what came of them so far?"""
