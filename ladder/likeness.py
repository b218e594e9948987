"""How much of each program's source text is in another program: fingerprints by winnowing, as MOSS takes them.

copydetect reduces a text (names and strings become a letter, comments and blanks go) and picks its fingerprints. Here
the files of a program are taken together, what is common to all is left out, and passages are paired.

`main` is a process: strangers wrote the texts, so what takes long to read is skipped, and all has limits. With
PYTHONHASHSEED set, the answer is the same each time.
"""

import json
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

K = 25  # characters of reduced text that a fingerprint is of: shorter likeness is chance
WINDOW = 6  # likeness of K + WINDOW - 1 characters is surely found
LEAST = 200  # characters of reduced text, some 10 lines: less in common is no pair
PROGRAM_S = 4.0  # of CPU, to read one program: 128 KB of code take 1
NEAR = 75  # characters of reduced text between places that are told as one passage

Lines = tuple[str, int, int]  # a file, its first and its last line


@dataclass(frozen=True, slots=True)
class Prints:
    """A file's fingerprints: hashes and their places in the reduced text, in order; and the line of each place."""

    name: str
    hashes: Any
    places: Any
    line_at: Any

    def where(self, start: int, end: int) -> Lines:
        """Return the lines that a part of the reduced text is on."""
        return self.name, int(self.line_at[start]), int(self.line_at[end - 1])


def reduce_text(kind: str, text: str) -> tuple[str, Any]:
    """Return a text without what can be changed easily, and the line on which each of its characters stood.

    kind: a file name with the ending of the language.
    """
    import numpy as np
    from copydetect.utils import filter_code

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    body = text.lstrip("\n")  # as lexers take it
    short, offsets = filter_code(body, kind)
    places = np.arange(len(short))
    if len(offsets):
        removed = np.maximum.accumulate(offsets[:, 1])  # copydetect 0.5.0 doesn't add up at the names of classes
        places = places + removed[np.searchsorted(offsets[:, 0], places).clip(0, len(removed) - 1)]
    ends = np.array([place for place, letter in enumerate(body) if letter == "\n"])
    return short, 1 + len(text) - len(body) + np.searchsorted(ends, places)


def prints(name: str, kind: str, text: str, common: Any) -> Prints:
    """Return the fingerprints of a file that aren't among the common ones."""
    import numpy as np
    from copydetect.utils import winnow

    short, line_at = reduce_text(kind, text)
    hashes, places = winnow(grams(short), WINDOW, remove_duplicates=False)
    own = ~np.isin(hashes, common)
    return Prints(name, hashes[own], places[own], line_at)


def likeness(one: Sequence[Prints], other: Sequence[Prints]) -> tuple[float, int, int]:
    """Return how many percent of one program are in the other; the characters, reduced, and lines that these are."""
    import numpy as np
    from copydetect.utils import get_copied_slices

    theirs = np.concatenate([each.hashes for each in other])
    whole, length, lines = 0, 0, set()
    for file in one:
        starts, ends = get_copied_slices(file.places, K)
        whole += int((ends - starts).sum())
        same = get_copied_slices(file.places[np.isin(file.hashes, theirs)], K)
        for start, end in same.T.astype(int):
            length += int(end - start)
            name, first, last = file.where(start, end)
            lines |= {(name, line) for line in range(first, last + 1)}
    return 100 * length / whole if whole else 0.0, length, len(lines)


def passages(one: Sequence[Prints], other: Sequence[Prints]) -> list[tuple[Lines, Lines]]:
    """Return what of one program is in the other, each with where it is there, in the order of the first."""
    places: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, file in enumerate(other):
        for hash, place in zip(file.hashes.tolist(), file.places.tolist(), strict=True):
            places[hash].append((number, place))
    runs: list[list[Any]] = []  # a file, first and last place there; of the other file number, first and last place
    for file in one:
        for hash, place in zip(file.hashes.tolist(), file.places.tolist(), strict=True):
            last = runs[-1] if runs and runs[-1][0] is file and place - runs[-1][2] <= NEAR else None
            there = places.get(hash, [])
            goes_on = next((at for at in there if last and at[0] == last[3] and 0 < at[1] - last[5] <= NEAR), None)
            if last and goes_on:
                last[2], last[5] = place, goes_on[1]
            elif there:
                runs.append([file, place, place, *there[0], there[0][1]])
    return [(file.where(a, b + K), other[number].where(c, d + K)) for file, a, b, number, c, d in runs]


def grams(short: str) -> Any:
    """Return the hashes of all parts of K characters; copydetect gives floats where there are none."""
    import numpy as np
    from copydetect.utils import hashed_kgrams

    return np.asarray(hashed_kgrams(short, K), dtype=np.int64)


def compare(
    programs: Sequence[tuple[str, Mapping[str, tuple[str, str]]]], common: Sequence[tuple[str, str]], deep: bool = False
) -> dict[str, Any]:
    """Compare programs of different parties: each is a party, and its files' names with kind and text.

    Returns `pairs` of numbers of programs, for each direction (percent, characters, lines); `skipped` files with the
    program's number and why; with `deep`, for two programs, their `passages`, whoever wrote them.
    """
    import numpy as np

    given = np.unique(np.concatenate([grams(""), *(grams(reduce_text(*each)[0]) for each in common)]))
    skipped: list[tuple[int, str, str]] = []
    taken: list[list[Prints]] = [[] for _ in programs]
    for number, (_, files) in enumerate(programs):
        signal.setitimer(signal.ITIMER_PROF, PROGRAM_S)
        for name, (kind, text) in files.items():
            try:
                taken[number].append(prints(name, kind, text, given))
            except TimeoutError:
                skipped.append((number, name, "to read it takes too long, and what follows wasn't read"))
                break
            except Exception:  # of a lexer, on a stranger's text
                skipped.append((number, name, "it can't be read as a program"))
        signal.setitimer(signal.ITIMER_PROF, 0)
    pairs = []
    for a, b in combinations(range(len(programs)), 2):
        if taken[a] and taken[b] and (deep or programs[a][0] != programs[b][0]):
            ways = likeness(taken[a], taken[b]), likeness(taken[b], taken[a])
            if deep or min(length for _, length, _ in ways) >= LEAST:
                pairs.append((a, b, ways))
    places = passages(*taken) if deep and all(taken) else []
    return {"pairs": pairs, "skipped": skipped, "passages": places}


def _too_long(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Be the process, CPU_S MEMORY: read what `compare` takes as JSON, write what it returns."""
    for kind, most in zip((resource.RLIMIT_CPU, resource.RLIMIT_AS), map(int, sys.argv[1:]), strict=True):
        with suppress(ValueError, OSError):  # such as macOS, for address space
            resource.setrlimit(kind, (most, most))
    signal.signal(signal.SIGPROF, _too_long)
    json.dump(compare(**json.load(sys.stdin)), sys.stdout)
