"""The shell script that becomes a program in a container, and what the shells say of its start and its end.

Must not know how the script gets into a container, nor how the words come out.
"""

import os
import shlex
from collections.abc import Sequence

from arena.sandbox.box import Exit, Program, ProgramError
from arena.sandbox.bundle import cwd_inside
from arena.sandbox.limits import Limits

SCRIPT_BYTES = 100_000  # Linux itself takes no word of more than 131,072
JAVA_OPTIONS = "JDK_JAVA_OPTIONS"  # read by the java launcher since JDK 9
SIGNALLED = 128  # a shell adds this to the number of the signal that ended a program
LAST_SIGNAL = 64  # SIGRTMAX


def start_script(program: Program, words: Sequence[str], limits: Limits) -> str:
    """Return the shell script that becomes the program; `words` is its command as it is in the container.

    Raises ProgramError for what a shell can't be told.
    """
    lines = [f"cd {shlex.quote(cwd_inside(program))} 2>/dev/null || {{ echo cwd >&3; exit 127; }}"]
    lines.append("unset HOSTNAME PWD OLDPWD")  # the engine's and the shell's
    if words[0] == "java":
        lines.append(f"export {JAVA_OPTIONS}=-XX:MaxRAM={limits.memory_mb}m")
    first = shlex.quote(words[0])
    lines.append(f"command -v {first} >/dev/null 2>&1 || {{ echo missing >&3; exit 127; }}")
    lines.append("echo go >&3")
    lines.append(f"exec {' '.join(map(shlex.quote, words))} 3>&-")
    script = "\n".join(lines) + "\n"
    if "\0" in script:
        raise ProgramError(f"{words[0]!r}: its command or folder holds a NUL byte")
    try:
        size = len(os.fsencode(script))
    except UnicodeEncodeError as problem:  # half of a surrogate pair, as JSON can write it
        raise ProgramError(f"{words[0]!r}: its command or folder is no text") from problem
    if size > SCRIPT_BYTES:
        raise ProgramError(f"{words[0]!r:.80}: its command is over {SCRIPT_BYTES} bytes long")
    return script


def refused(word: str, program: Program, words: Sequence[str], image: str) -> ProgramError | None:
    """Return what a start script's word before its end says of the program, None if it says nothing."""
    if word == "missing":
        return ProgramError(f"{words[0]}: no such program in the image {image}")
    if word == "cwd":
        return ProgramError(f"{program.cwd}: can't be the working folder")
    return None


def exit_of(code: int) -> Exit:
    """Return how a program ended from its shell's code."""
    number = code - SIGNALLED
    return Exit(None, number) if 0 < number <= LAST_SIGNAL else Exit(code, None)
