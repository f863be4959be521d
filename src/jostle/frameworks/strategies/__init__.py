"""Which edits to try next, by what came of them so far."""
