"""`make bench`: what a script measures is kept in `benchmarks/measured`, and stands in a block of `docs/results.md`.

A script has a function `measure(data)` that yields rows, and ends in `run_script(__file__, measure)`.
"""
