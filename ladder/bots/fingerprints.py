"""Measure how much of each program's source text is in another program, by winnowing, as MOSS does.

copydetect reduces a text: it replaces names and strings with a letter, and removes comments and blanks. Since the texts
are untrusted, `main` runs in a process with limits. The result is reproducible if PYTHONHASHSEED is set.
"""

import json
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations, starmap
from typing import Any

GRAM_CHARS = 25  # characters of reduced text for each fingerprint: shorter matches are coincidences
WINNOWING_WINDOW = 6  # matches of GRAM_CHARS + WINNOWING_WINDOW - 1 characters are always found
MIN_COMMON_CHARS = 200  # of reduced text, about 10 lines: pairs with less in common are left out
MAX_PROGRAM_CPU_S = 4.0  # to read one program: 128 KB of code take 1 s


def hash_grams(kind: str, text: str) -> Any:
    """Return the hashes of all GRAM_CHARS-grams of the reduced text; kind: a file name with its extension."""
    import numpy as np
    from copydetect.utils import filter_code, hashed_kgrams

    short, _ = filter_code(text.replace("\r\n", "\n").replace("\r", "\n"), kind)
    return np.asarray(hashed_kgrams(short, GRAM_CHARS), dtype=np.int64)  # without grams copydetect returns floats


def count_covered_chars(offsets: Any) -> int:
    """Return how many characters of reduced text the grams at these offsets cover. offsets: an array."""
    from copydetect.utils import get_copied_slices

    starts, ends = get_copied_slices(offsets, GRAM_CHARS)
    return int((ends - starts).sum())


def compare_programs(programs: Sequence[tuple[str, str, str]], common: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Compare programs, (owner, kind, text), of different owners, ignoring text in `common`, (kind, text).

    Return by name:

    - `pairs`: (index, other index, percent of the first in the other, percent of the other in the first).
    - `skipped`: the indices of programs that took too long or could not be parsed.
    - `common`: the indices of programs without any text of their own.
    """
    prints = _make_fingerprints(programs, common)
    pairs = []
    for first, second in combinations(prints, 2):
        (first_owner, _, first_text), (second_owner, _, second_text) = programs[first], programs[second]
        if first_owner == second_owner:
            continue
        first_shared = _count_shared_chars(prints[first], prints[second])
        second_shared = _count_shared_chars(prints[second], prints[first])
        min_chars = 1 if first_text == second_text else MIN_COMMON_CHARS
        if min(first_shared, second_shared) >= min_chars:
            first_percent = 100 * first_shared / count_covered_chars(prints[first][1])
            second_percent = 100 * second_shared / count_covered_chars(prints[second][1])
            pairs.append((first, second, first_percent, second_percent))
    skipped = [index for index in range(len(programs)) if index not in prints]
    without_own_text = [index for index, (hashes, _) in prints.items() if not hashes.size]
    return {"pairs": pairs, "skipped": skipped, "common": without_own_text}


def _make_fingerprints(
    programs: Sequence[tuple[str, str, str]], common: Sequence[tuple[str, str]]
) -> dict[int, tuple[Any, Any]]:
    """Return, by index of a program, arrays of its hashes that aren't in `common`, and of their offsets.

    Offsets are in the reduced text. Programs that took too long or could not be parsed are left out.
    """
    import numpy as np
    from copydetect.utils import winnow

    common_hashes = np.unique(np.concatenate([hash_grams("a.py", ""), *starmap(hash_grams, common)]))
    prints = {}
    for index, (_, kind, text) in enumerate(programs):
        signal.setitimer(signal.ITIMER_PROF, MAX_PROGRAM_CPU_S)
        with suppress(Exception):  # a timeout, or a lexer's error on untrusted text
            hashes, offsets = winnow(hash_grams(kind, text), WINNOWING_WINDOW, remove_duplicates=False)
            is_own = ~np.isin(hashes, common_hashes)
            prints[index] = hashes[is_own], offsets[is_own]
        signal.setitimer(signal.ITIMER_PROF, 0)
    return prints


def _count_shared_chars(program: tuple[Any, Any], other_program: tuple[Any, Any]) -> int:
    """Return how many characters of a program's reduced text another one contains, by their (hashes, offsets)."""
    import numpy as np

    hashes, offsets = program
    return count_covered_chars(offsets[np.isin(hashes, other_program[0])])


def _raise_timeout(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Read the arguments of `compare_programs` as JSON and write its result. Command line: CPU_S MEMORY_BYTES."""
    for kind, limit in zip((resource.RLIMIT_CPU, resource.RLIMIT_AS), map(int, sys.argv[1:]), strict=True):
        with suppress(ValueError, OSError):  # macOS, for example, can't limit the address space
            resource.setrlimit(kind, (limit, limit))
    signal.signal(signal.SIGPROF, _raise_timeout)
    json.dump(compare_programs(**json.load(sys.stdin)), sys.stdout)
