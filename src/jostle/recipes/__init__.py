"""Wiring: which parts make which fuzzer. Only here do parts meet."""
