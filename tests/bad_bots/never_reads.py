"""Answers hello, then never reads again and never leaves."""

import signal
import sys

sys.stdin.readline()
print('{"type":"hello"}', flush=True)
signal.pause()
