"""The command of a program, as it is called in a box, and the checks before. Linux only.

bwrap would report a wrong command as a failure of its own, or would hand it to a shell.
"""

import contextlib
import errno
import os
import shutil
from pathlib import Path

from arena.sandbox import bundle
from arena.sandbox.box import Program, ProgramError
from arena.sandbox.bubblewrap import toolchain
from arena.sandbox.child import THEIR_ERRNOS

ARGUMENTS = 8000  # bwrap takes 9,000, of which its options need some hundreds


def command_inside(program: Program) -> str:
    """Return the command as it is called in the box.

    A name that the box's own PATH doesn't have, but ours has (nvm's node), is called by its path.
    """
    command = bundle.argv_inside(program)[0]
    if "/" in command or shutil.which(command, path=toolchain.search_path(list(toolchain.this_python()))):
        return command
    return shutil.which(command) or command


def check(program: Program) -> None:
    """Raise ProgramError for too many arguments."""
    if len(program.argv) > ARGUMENTS:
        raise ProgramError(f"{program.argv[0]}: {THEIR_ERRNOS[errno.E2BIG]}")


def check_format(program: Program, copy: Path) -> bool:
    """Tell whether the command is an existing file of the program, reached without links.

    Raises ProgramError for one that the kernel couldn't execute.
    """
    command = bundle.argv_inside(program)[0]
    if not command.startswith(bundle.INSIDE + "/"):
        return False
    with contextlib.suppress(OSError):
        path = copy
        for part in Path(command).relative_to(bundle.INSIDE).parts:
            path /= part
            if part == ".." or path.is_symlink():  # it may lead to any file of this machine, even a pipe
                return False
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o111 and file.read(2) not in (b"#!", b"\x7fE"):
                raise ProgramError(f"{program.argv[0]}: {THEIR_ERRNOS[errno.ENOEXEC]}")
            return True
    return False
