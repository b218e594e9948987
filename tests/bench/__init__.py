"""Speed and size, measured on the spot: `make bench`, or `python -m tests.bench NAME...` for some of them.

Each figure stands beside its floor or goal from the same run, as a ratio, since machines differ and are never quiet.
Nothing here is a test: a slow machine fails nobody.
"""
