"""Prints a traceback and exits with code 3 before it says hello."""

import sys
import traceback

try:
    raise FileNotFoundError("weights.bin")
except FileNotFoundError:
    traceback.print_exc()
    sys.exit(3)
