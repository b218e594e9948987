"""Measure how much of each program's source text is in another program, by winnowing, as MOSS does.

copydetect reduces a text: names and strings become a letter, comments and blanks go. `main` is a process with limits,
since the texts are untrusted. With PYTHONHASHSEED set, the answer is the same each time.
"""

import json
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

GRAM_CHARS = 25  # characters of reduced text that a fingerprint is of: shorter matches are chance
WINNOWING_WINDOW = 6  # a match of K + WINDOW - 1 characters is surely found
MIN_COMMON_CHARS = 200  # characters of reduced text, some 10 lines: less in common is no pair
MAX_PROGRAM_CPU_S = 4.0  # of CPU, to read one program: 128 KB of code take 1


def hash_grams(kind: str, text: str) -> Any:
    """Return the hashes of all parts of K characters of a reduced text; kind: a name with the language's ending."""
    import numpy as np
    from copydetect.utils import filter_code, hashed_kgrams

    short, _ = filter_code(text.replace("\r\n", "\n").replace("\r", "\n"), kind)
    return np.asarray(hashed_kgrams(short, GRAM_CHARS), dtype=np.int64)  # copydetect gives floats without any


def count_covered_chars(places: Any) -> int:
    """Return how many characters of reduced text fingerprints cover."""
    from copydetect.utils import get_copied_slices

    starts, ends = get_copied_slices(places, GRAM_CHARS)
    return int((ends - starts).sum())


def compare_programs(programs: Sequence[tuple[str, str, str]], common: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Compare programs of different parties: each is a party, a kind and a text. What is `common` doesn't count.

    Returns `pairs`: two numbers of programs and how many percent of each are in the other; and `skipped` numbers.
    """
    import numpy as np
    from copydetect.utils import winnow

    given = np.unique(np.concatenate([hash_grams("a.py", ""), *(hash_grams(*each) for each in common)]))
    prints: dict[int, tuple[Any, Any]] = {}  # each program's hashes, and their places in the reduced text
    for number, (_, kind, text) in enumerate(programs):
        signal.setitimer(signal.ITIMER_PROF, MAX_PROGRAM_CPU_S)
        with suppress(Exception):  # a time-out, or of a lexer on untrusted text
            hashes, places = winnow(hash_grams(kind, text), WINNOWING_WINDOW, remove_duplicates=False)
            own = ~np.isin(hashes, given)
            prints[number] = hashes[own], places[own]
        signal.setitimer(signal.ITIMER_PROF, 0)
    pairs = []
    for a, b in combinations(prints, 2):
        (one, there), (other, here) = prints[a], prints[b]
        same = count_covered_chars(there[np.isin(one, other)]), count_covered_chars(here[np.isin(other, one)])
        if programs[a][0] != programs[b][0] and min(same) >= MIN_COMMON_CHARS:
            pairs.append((a, b, 100 * same[0] / count_covered_chars(there), 100 * same[1] / count_covered_chars(here)))
    return {"pairs": pairs, "skipped": [number for number in range(len(programs)) if number not in prints]}


def _too_long(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Be the process, CPU_S MEMORY: read what `compare` takes as JSON, write what it returns."""
    for kind, most in zip((resource.RLIMIT_CPU, resource.RLIMIT_AS), map(int, sys.argv[1:]), strict=True):
        with suppress(ValueError, OSError):  # such as macOS, for address space
            resource.setrlimit(kind, (most, most))
    signal.signal(signal.SIGPROF, _too_long)
    json.dump(compare_programs(**json.load(sys.stdin)), sys.stdout)
