"""How a command is asked to end from outside: by a polite kill, or by a terminal that is closed."""

import signal


def end_like_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP end this command as Ctrl-C does; not what nohup has it ignore."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
