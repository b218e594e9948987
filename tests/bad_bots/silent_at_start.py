"""Reads everything and never says a word, not even hello."""

import sys

for _ in sys.stdin:
    pass
