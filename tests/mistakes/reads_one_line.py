"""Reads one line, answers it, and is done."""

import sys

sys.stdin.readline()
print('{"type":"hello"}', flush=True)
