"""The bots of a table in this process: who they are, and the conversation with one of them.

A bot is any object with `reply(message: dict) -> dict | None`, as the kit's `Bot` is. Its replies are held to the
protocol as those of a process are, but a mistake costs no life: it raises.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from arena.coup import Board, Said
from arena.local.sample import sample
from arena.referee import SayError, menus, read_say
from protocol import Malformed, parse_hello, parse_reply

Message = dict[str, Any]


class Replies(Protocol):
    """A bot that gets messages one by one and returns its reply, or None where nothing is asked."""

    def reply(self, message: Message, /) -> Message | None:
        """Take in a message of the protocol, and return the reply to it, if it asks for one."""


Maker = Callable[[], Replies]
# What a caller names as a bot: an object, a class or function that makes one for each match, or "sample:honest".
Given = Replies | Maker | str


class WrongReplyError(Exception):
    """A bot gave a reply that the protocol doesn't allow. Says which bot, at which request, and what it replied."""


def entrants(bots: Sequence[Given] | Mapping[str, Given]) -> dict[str, Replies | Maker]:
    """Return the bots by name: the given one, or that of the class; of equal ones the later get a number.

    Raises ValueError or TypeError for what can't play, BotError for the name of no sample bot.
    """
    if isinstance(bots, str):
        raise TypeError(f"give a list of bots: [{bots!r}]")
    if isinstance(bots, Mapping):
        named = {name: _known(bot) for name, bot in bots.items()}
    else:
        named = {}
        for bot in map(_known, bots):
            name = _name(bot)
            count = 2
            while name in named:
                name, count = f"{_name(bot)}-{count}", count + 1
            named[name] = bot
    objects = [bot for bot in named.values() if not _makes(bot)]
    for name, bot in named.items():
        if not callable(getattr(bot, "reply", None)) and not callable(bot):
            raise TypeError(f"{name!r} is no bot: give a class, or an object, with the method reply(message)")
    if len({id(bot) for bot in objects}) < len(objects):
        raise ValueError("one object can't sit in two seats: give its class, or an object for each seat")
    return named


def refuse_objects(named: Mapping[str, Replies | Maker], when: str) -> None:
    """Raise ValueError for a bot that is an object, since it remembers from match to match; `when` names the option."""
    for name, bot in named.items():
        if not _makes(bot):
            raise ValueError(f"{name!r} is an object, which remembers all matches: {when} give its class")


def _known(bot: Given) -> Replies | Maker:
    if not isinstance(bot, str):
        return bot
    if not bot.startswith("sample:"):
        raise TypeError(f"{bot!r} is no bot: give a class, an object with the method reply(message), or sample:honest")
    return sample(bot)


def _makes(bot: Replies | Maker) -> bool:
    """Tell whether a bot has yet to be made: a class has the method `reply` too, but no object that it is of."""
    return isinstance(bot, type) or not hasattr(bot, "reply")


def _name(bot: Replies | Maker) -> str:
    named = bot if hasattr(bot, "__name__") else type(bot)
    return str(getattr(named, "__name__", "bot"))


class Player:
    """One bot in one match. `number` is the id of its last request."""

    __slots__ = ("_reply", "name", "number", "said")

    def __init__(self, name: str, bot: Replies | Maker) -> None:
        self.name = name
        player: Any = bot() if _makes(bot) else bot  # type: ignore[operator]
        if not callable(getattr(player, "reply", None)):
            raise TypeError(f"{name!r} made a {type(player).__name__}, which has no method reply(message)")
        self._reply = player.reply
        self.number = 0
        self.said: tuple[Said, ...] = ()  # beside the last choice

    def greet(self, message: Message) -> None:
        """Tell the bot which match it plays; it must reply with a hello."""
        greeting = self._said(message)
        if not isinstance(greeting, dict) or isinstance(parse_hello(greeting), Malformed):
            raise WrongReplyError(
                f'bot {self.name!r} replied {greeting!r} to the hello: reply with {{"type": "hello"}}'
            )

    def tell(self, message: Message) -> None:
        """Tell the bot something that asks for nothing."""
        answer = self._said(message)
        if answer is not None:
            raise WrongReplyError(
                f"bot {self.name!r} replied {answer!r} to {message['type']}, which asks for nothing: return None"
            )

    def choice(self, message: Message, menu: menus.Menu, board: Board | None = None) -> int:
        """Return the index of the move that the bot chooses at a request; what it says is read where it is heard.

        board: the present one where there is talk, else None.
        """
        reply = self._said(message)
        answer = parse_reply(reply) if isinstance(reply, dict) else None
        if answer is None:
            raise self._wrong(message, reply, "a reply is a dict with id, and choice or move")
        if isinstance(answer, Malformed):
            raise self._wrong(message, reply, answer.message)
        if answer.id != self.number:
            raise self._wrong(message, reply, f"the request's id is {self.number}")
        index = menu.find(answer.move) if answer.move is not None else answer.choice
        if index is None or not 0 <= index < len(menu.moves):
            raise self._wrong(message, reply, "the move is not in the list of legal moves")
        if board is not None:
            try:
                self.said = read_say(answer.say, board, message["you"]["seat"])
            except SayError as problem:
                raise self._wrong(message, reply, f"say: {problem}") from None
        return index

    def _said(self, message: Message) -> Any:
        try:
            return self._reply(message)
        except Exception as problem:
            problem.add_note(f"This came from the bot {self.name!r}, {_moment(message)}.")
            raise

    def _wrong(self, message: Message, reply: Any, why: str) -> WrongReplyError:
        return WrongReplyError(f"bot {self.name!r} replied {reply!r} {_moment(message)}: {why}")


def _moment(message: Message) -> str:
    """Say at which message something went wrong. The bot may have changed the message, so nothing in it is certain."""
    values = {name: message.get(name) for name in ("kind", "id", "game")}
    if message.get("type") != "request":
        return f"at {message.get('type')!r}"
    state = message.get("state")
    turn = state.get("turn") if isinstance(state, dict) else None
    return (
        f"at the request {values['kind']!r} (id {values['id']!r}, game {values['game']!r}, turn {turn!r}) "
        f"with legal {message.get('legal')!r}"
    )
