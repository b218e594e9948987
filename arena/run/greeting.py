"""Every bot of a run is started once and greeted before anything is played."""

from dataclasses import dataclass

from arena.bots import Bot
from arena.referee import greet
from arena.run.config import RunConfig, program
from arena.sandbox import Box, Sandbox


@dataclass(frozen=True, slots=True)
class NotStarted:
    """A bot that didn't say hello: why, and what it wrote to standard error."""

    bot: Bot
    problem: str
    stderr: bytes


def greet_all(config: RunConfig, sandbox: Sandbox) -> list[NotStarted]:
    """Start each bot, exchange hellos, end it, and return those that failed. Raises ArenaError if this machine did."""
    failed = []
    for number, bot in enumerate(config.bots):
        others = [other for other in range(len(config.bots)) if other != number][: config.seats - 1]
        spec = config.spec(0, [number, *others])

        def launch(_: int, bot: Bot = bot) -> Box:
            return sandbox.start(program(bot), config.terms.limits)

        greeted = greet(spec, 0, launch)
        if greeted.problem is not None:
            failed.append(NotStarted(bot, greeted.problem, greeted.stderr))
    return failed
