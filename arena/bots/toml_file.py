"""A TOML file that a user wrote -> its table, or what is wrong with it in two lines.

Must not know what the file is for: its reader gives an example of a line and checks the fields.
"""

import tomllib
from pathlib import Path

from arena.bots.errors import shown

_MOST_BYTES = 65_536  # what users write by hand is some lines; a bigger file is another file
_MOST_DOTS = 100  # of a line: tomllib takes time with the square of a key's parts, 68 s for a file of one key


def read_toml(file: Path, example: str) -> dict[str, object]:
    """Return the table of a TOML file.

    example: a line of such a file, shown to who wrote something else. Raises ValueError, in two lines: what is wrong
    and what to do; OSError if the file can't be read.
    """
    with file.open("rb") as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"larger than {_MOST_BYTES} bytes.\nIt should be some lines such as {example}")
    if any(line.count(b".") > _MOST_DOTS for line in data.split(b"\n")):
        raise ValueError(f"a line has more than {_MOST_DOTS} dots.\nA line looks like {example}")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # -sig: Windows editors write a byte order mark
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"not UTF-8 (line {line}).\nSave it as UTF-8.") from None
    except tomllib.TOMLDecodeError as problem:
        reason = shown(str(problem))
    except ValueError:  # Python reads no number of more than 4,300 digits
        reason = "a number has too many digits"
    except RecursionError:
        reason = "nested too deeply"
    raise ValueError(f"not valid TOML: {reason}.\nA line looks like {example}")
