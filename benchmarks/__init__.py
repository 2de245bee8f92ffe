"""Benchmarks of the store beside its peers and bare sqlite3; `python -m benchmarks` runs them all.

Not installed with the package, and never a test: what they say depends on the machine, so that each target
is a ratio to something else measured in the same run.
"""
