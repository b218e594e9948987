"""The fields of a ruleset as a table, and a ruleset as plain data: what records, run.json and TOML files hold.

The table says for each field what it settles, which values it takes and which document says so; the checks, `arena
rules`, the messages and the hello line read it. Defaults stand in `Ruleset` alone. Nothing here knows a file, a record
or a bot.

A source is document:line of the rule documents, "ours" where no document says it, "ours:NAME" for a decision of
decisions.py, "treason's program" for what the program that the document `treason` describes is known to do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from arena.coup.rules import (
    AllegianceStart,
    BlockAfterChallenge,
    BlockChallengers,
    Blockers,
    DeadTarget,
    ExaminePick,
    ExamineReplace,
    ExchangeReturn,
    FirstPlayer,
    Proof,
    Ruleset,
    ShownCard,
)

DOCUMENTS = {
    "rulebook": 'the rulebook of Coup and Reformation: "Coup Game Rules", 2024',
    "blog": "a blog's review of the game for 2 to 6 players",
    "classroom": 'a classroom\'s sheet, "Coup Rules", for 3 to 6 players',
    "andy": "Andy's sheet for up to 5 players",
    "treason": 'the page "About Treason Coup" of the game on the web',
}

MOST_SEATS = 10  # rulebook:257
_COUP_COST = next(row.cost for row in Ruleset().actions if row.action == "coup")
_MOST_COINS = 100  # ours: a bound for typing errors; the documents' treasury has no end (treason:9)
_MOST_TURNS = 10_000  # ours: likewise; a game of random bots is over after 40 turns
_ADDED = ("dead_target",)  # fields that earlier records and ladders lack: they played its default
_NAME_CHARACTERS = 40  # ours: a name goes into titles and file names


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a field: the sentence that holds under it, its source, and a word that also stands for it."""

    value: str | bool | int
    sentence: str
    source: str
    word: str | None = None


@dataclass(frozen=True, slots=True)
class FieldRule:
    """One field: what it settles, and its values, which are `options`, the numbers of `span`, or a text if neither.

    `number` is the sentence that holds for a number, `cited` the sources of those that a document names. `unset`: what
    None means, where a ruleset may leave the field open. `needs`: the field that must be true for this one to have an
    effect. `program`: what treason's program plays where its page says something else, or nothing.
    """

    name: str
    about: str
    source: str
    options: tuple[Option, ...] = ()
    span: tuple[int, int] | None = None
    number: str = ""
    cited: tuple[tuple[int, str], ...] = ()
    unset: str = ""
    needs: str = ""
    program: Any = None

    @property
    def default(self) -> Any:
        """Return the value in the base game."""
        return getattr(_BASE, self.name)

    @property
    def allowed(self) -> str:
        """Return the allowed values in words, as they are written in TOML."""
        words = [toml(word) for option in self.options for word in (option.value, option.word) if word is not None]
        if self.span:
            words.append(f"{self.span[0]} to {self.span[1]}")
        return " or ".join(words) or f"a text of 1 to {_NAME_CHARACTERS} printable characters"

    def read(self, value: object) -> Any:
        """Return the field's value for a plain one. Raises ValueError, naming the allowed values, for any other."""
        for option in self.options:
            same = value == option.value and type(value) is type(plain(option.value))  # True == 1, but is no number
            if same or (option.word is not None and value == option.word):
                return option.value
        if self.span and type(value) is int and self.span[0] <= value <= self.span[1]:
            return value
        if not self.options and not self.span and type(value) is str and _is_name(value):
            return value
        if value is None and self.unset:
            return None
        words = [option.value for option in self.options if isinstance(option.value, str)]
        meant = get_close_matches(value, words, n=1) if isinstance(value, str) else []
        hint = f"; did you mean {toml(meant[0])}?" if meant else "."
        raise ValueError(f"{self.name} = {toml(value)} is not allowed{hint}\nAllowed: {self.allowed} ({self.source}).")

    def effective(self, rules: Ruleset, seats: int | None = None) -> Any:
        """Return the field's value in these rules; of what they leave open, what they then play.

        seats: of the table, None if unknown; then a turn limit that the rules leave open is None.
        """
        if self.name == "exchange_draw":
            return rules.draw
        if self.name == "turn_limit" and seats is not None:
            return rules.limit(seats)
        return getattr(rules, self.name)

    def source_of(self, value: object) -> str:
        """Return the source of a value; of a number that no document names, that it is the organiser's."""
        if value is None:
            return self.source
        known = [(option.value, option.source) for option in self.options] + [*self.cited]
        return next((source for cited, source in known if cited == value), "the organiser's")

    def sentence(self, rules: Ruleset) -> str:
        """Return what holds in these rules."""
        value = self.effective(rules)
        for option in self.options:
            if value == option.value:
                return option.sentence
        return self.unset if value is None else self.number.format(value)


_BASE = Ruleset()

FIELDS: tuple[FieldRule, ...] = (
    FieldRule("name", "What the ruleset is called in the hello line, in records and in tables.", "ours"),
    FieldRule(
        "min_seats",
        "The fewest players.",
        "rulebook:185; 3 in classroom:2",
        span=(2, MOST_SEATS),
        number="At least {} players.",
        cited=((2, "rulebook:185"), (3, "classroom:2")),
    ),
    FieldRule(
        "max_seats",
        "The most players.",
        "rulebook:257; 2 in rulebook:187; 5 in andy:7; 6 in blog:2; 6 in classroom:2",
        span=(2, MOST_SEATS),
        number="At most {} players.",
        cited=((2, "rulebook:187"), (5, "andy:7"), (6, "blog:2; classroom:2"), (10, "rulebook:257; treason:9")),
    ),
    FieldRule(
        "start_coins",
        "The coins of each player at the start.",
        "rulebook:47",
        span=(0, _MOST_COINS),
        number="Coins of each player at the start: {}.",
        cited=((2, "rulebook:47; blog:4; classroom:6; andy:10; treason:9"),),
    ),
    FieldRule(
        "two_player_starter_coins",
        "The coins of the player who starts a game of two.",
        "rulebook:185; andy:10; 2 in blog:4; 2 in treason:9",
        span=(0, _MOST_COINS),
        number="Coins of the player who starts a game of two: {}.",
        cited=((1, "rulebook:185; andy:10; treason's program; ours:starters_coin"), (2, "blog:4; treason:9")),
        program=1,
    ),
    FieldRule(
        "first_player",
        "Who starts a game.",
        "rulebook:50",
        (
            Option(FirstPlayer.SEAT_0, "Seat 0 starts.", "ours; classroom:13"),
            Option(
                FirstPlayer.LAST_WINNER,
                "The winner of the match's last game starts; seat 0 in the first game and after a draw.",
                "rulebook:50; ours:first_game",
            ),
            Option(FirstPlayer.RANDOM, "A random seat starts.", "treason's program"),
        ),
    ),
    FieldRule(
        "attacks_blocked_by",
        "Who may block an assassination or a steal.",
        "rulebook:141, 149",
        (
            Option(
                Blockers.TARGET,
                "Only its target may block an assassination or a steal.",
                "rulebook:141, 149; blog:44; andy:34; treason:18, 19",
            ),
            Option(
                Blockers.ANYONE,
                "Any living player but the one in turn may block an assassination or a steal.",
                "classroom:28",
            ),
        ),
    ),
    FieldRule(
        "block_challenged_by",
        "Who may challenge a block.",
        "rulebook:156",
        (
            Option(
                BlockChallengers.ANYONE,
                "Any living player but the blocker may challenge a block.",
                "rulebook:156; blog:51; andy:15; treason:29",
            ),
            Option(
                BlockChallengers.ACTOR,
                "Only the player whose action is blocked may challenge the block.",
                "classroom:30",
            ),
        ),
    ),
    FieldRule(
        "prove",
        "Whether a challenged player who has the card must show it.",
        "rulebook:159",
        (
            Option(
                Proof.CHOOSE,
                "A challenged player who has the claimed card shows it, and the challenge fails, or declines. If it "
                "declines or doesn't have the card, the challenge succeeds; others don't learn which it was.",
                "rulebook:159",
            ),
            Option(
                Proof.AUTOMATIC,
                "A challenged player who has the claimed card must show it, and the challenge fails; else it succeeds.",
                "treason:24, 26",
            ),
        ),
    ),
    FieldRule(
        "shown_card",
        "What becomes of a card that proved a claim.",
        "rulebook:163",
        (
            Option(
                ShownCard.REPLACED,
                "A card shown as proof goes back to the court deck, which is shuffled; a random one replaces it.",
                "rulebook:163; blog:53; classroom:35; andy:30; treason:24",
            ),
            Option(
                ShownCard.MAY_KEEP, "A player who showed a card may keep it or have it replaced at random.", "andy:31"
            ),
        ),
    ),
    FieldRule(
        "block_after_failed_challenge",
        "Whether an action can be blocked after a challenge of it failed.",
        "read from rulebook:76, 172; andy:27",
        (
            Option(
                BlockAfterChallenge.YES,
                "After a failed challenge, whoever may block the action still may, the challenger too.",
                "read from rulebook:76, 172; andy:27; treason's program",
            ),
            Option(
                BlockAfterChallenge.NEVER,
                "After a failed challenge, nobody may block the action.",
                "treason:24, 29",
            ),
            Option(
                BlockAfterChallenge.NOT_CHALLENGER,
                "After a failed challenge, whoever may block the action still may, but for the challenger.",
                "blog:59",
            ),
        ),
        program=BlockAfterChallenge.YES,
    ),
    FieldRule(
        "forced_coup",
        "From how many coins on a player must coup.",
        "rulebook:87, 95; classroom:19; andy:17",
        (Option(0, "Nobody has to coup, however rich.", "ours", word="off"),),
        span=(_COUP_COST, _MOST_COINS),
        number="Who starts a turn with {} coins or more must coup.",
        cited=((10, "rulebook:87, 95; classroom:19; andy:17; treason's program"),),
    ),
    FieldRule(
        "exchange_draw",
        "How many cards an exchange draws and returns.",
        "rulebook:122",
        (
            Option(1, "An exchange draws one card and returns one.", "rulebook:245; blog:42; treason:36"),
            Option(
                2, "An exchange draws two cards and returns two.", "rulebook:122; classroom:25, 26; andy:24; treason:17"
            ),
        ),
        unset="1 with the inquisitor, else 2",
    ),
    FieldRule(
        "exchange_return",
        "Which card an exchange of one returns.",
        "rulebook:122",
        (
            Option(ExchangeReturn.ANY, "An exchange returns any of the cards.", "rulebook:122, 245; andy:24"),
            Option(
                ExchangeReturn.CLAIMED_ROLE,
                "An exchange returns the claimed card if the player held it before it drew; else, and if it was shown "
                "as proof this turn and replaced, any card.",
                "blog:42; ours:claimed_role_returns",
            ),
        ),
    ),
    FieldRule(
        "inquisitor",
        "Whether the inquisitor replaces the ambassador.",
        "rulebook:241-252",
        (
            Option(False, "The deck has the ambassador, not the inquisitor.", "rulebook:38"),
            Option(
                True,
                "The inquisitor replaces the ambassador: it exchanges, examines and blocks stealing.",
                "rulebook:241-252; treason:34-38",
            ),
        ),
    ),
    FieldRule(
        "examine_pick",
        "Who picks the card that is examined.",
        "rulebook:250",
        (
            Option(ExaminePick.TARGET, "The target picks which of its cards is examined.", "rulebook:250"),
            Option(ExaminePick.RANDOM, "The card that is examined is picked at random.", "treason:37"),
        ),
        needs="inquisitor",
    ),
    FieldRule(
        "examine_replace",
        "In which order an examined card is replaced.",
        "rulebook:250",
        (
            Option(
                ExamineReplace.DRAW_FIRST,
                "To replace an examined card, the target draws the new one first; then the old one goes back and the "
                "deck is shuffled. So it never draws the same card, but maybe one of the same role.",
                "rulebook:250",
            ),
            Option(
                ExamineReplace.RETURN_FIRST,
                "To replace an examined card, it goes back first and the deck is shuffled; then the target draws, "
                "maybe the same card.",
                "treason's program",
            ),
        ),
        needs="inquisitor",
    ),
    FieldRule(
        "reformation",
        "Whether there are allegiances, conversion and embezzlement.",
        "rulebook:213-237",
        (
            Option(False, "There are no allegiances.", "rulebook:213"),
            Option(True, "Each player has an allegiance: loyalist or reformist.", "rulebook:213-237; treason:41-55"),
        ),
    ),
    FieldRule(
        "allegiance_start",
        "How the first allegiance is settled.",
        "rulebook:220-222",
        (
            Option(
                AllegianceStart.STARTER_CHOOSES,
                "The starter chooses an allegiance; clockwise from there they alternate.",
                "rulebook:220-222",
            ),
            Option(
                AllegianceStart.ASSIGNED,
                "The allegiance of seat 0 is random; clockwise from there they alternate.",
                "treason:41; treason's program",
            ),
        ),
        needs="reformation",
    ),
    FieldRule(
        "embezzle_concede",
        "Whether a challenged embezzler without a duke may concede.",
        "rulebook:235",
        (
            Option(
                True,
                "A challenged embezzler without a duke may concede, too, or shows everybody all its cards, which are "
                "then replaced.",
                "rulebook:235",
            ),
            Option(
                False,
                "A challenged embezzler without a duke can't concede: it shows everybody all its cards, which are then "
                "replaced.",
                "treason's program",
            ),
        ),
        needs="reformation",
    ),
    FieldRule(
        "draft",
        "Whether two players draft: each picks a card of a set of five, the other card is dealt.",
        "rulebook:187-191",
        (
            Option(False, "All cards are shuffled, and two are dealt to each player.", "rulebook:45"),
            Option(
                True,
                "Each of the two players has a set of five, one of each role, picks one of them in secret and discards "
                "four. A third set deals one card to each and is the court deck.",
                "rulebook:187-191",
            ),
        ),
    ),
    FieldRule(
        "turn_limit",
        "After how many turns a game is a draw of the survivors.",
        "ours",
        span=(1, _MOST_TURNS),
        number="After {} turns a game is a draw of the survivors.",
        unset="200 at 2-4 seats, 300 above",
    ),
    FieldRule(
        "dead_target",
        "What a steal takes from a target that is out before it takes effect.",
        "rulebook:78",
        (
            Option(
                DeadTarget.NOTHING,
                "All the coins of a player who is out go back to the treasury. So a steal whose target is out before "
                "the effect takes nothing.",
                "rulebook:78; ours:target_gone",
            ),
            Option(
                DeadTarget.COINS,
                "A player who is out keeps its coins, and they count for nobody. But a steal whose target is out "
                "before the effect takes up to 2 of them, and nobody is asked to block it.",
                "treason's program",
            ),
        ),
        program=DeadTarget.COINS,
    ),
)

FIELD: dict[str, FieldRule] = {rule.name: rule for rule in FIELDS}


def toml(value: object) -> str:
    """Return a value as it is written in TOML, cut if it is long, with nothing in it that acts on a terminal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**60:  # Python doesn't print numbers of more than 4,300 digits
        return "a number of more than 60 digits"
    # TOML's strings are written as JSON's.
    text = json.dumps(value, ensure_ascii=not value.isprintable()) if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain(value: object) -> object:
    """Return a field's value as JSON has it: an enum's member as its text."""
    return value.value if isinstance(value, StrEnum) else value


def _is_name(text: str) -> bool:
    return 1 <= len(text) <= _NAME_CHARACTERS and text.isprintable() and text == text.strip()


def to_dict(rules: Ruleset) -> dict[str, Any]:
    """Return all fields of a ruleset as plain values (texts, numbers, booleans, None), in the table's order."""
    return {rule.name: plain(getattr(rules, rule.name)) for rule in FIELDS}


def from_dict(data: Mapping[str, object]) -> Ruleset:
    """Return the ruleset that `to_dict` wrote, also in an earlier version; the inverse.

    Raises ValueError (one or two lines) for a missing or unknown field, a wrong value, and for rules that nobody can
    play.
    """
    missing = [rule.name for rule in FIELDS if rule.name not in data and rule.name not in _ADDED]
    if missing:
        raise ValueError(f"the ruleset has no field {missing[0]}")
    rules = changed(_BASE, data)
    conflict = why_unplayable(rules)
    if conflict:
        raise ValueError(conflict)
    return rules


def changed(rules: Ruleset, fields: Mapping[str, object]) -> Ruleset:
    """Return the rules with some fields set to plain values. Raises ValueError for unknown fields and wrong values."""
    for name in fields:
        if name not in FIELD:
            raise ValueError(unknown_field(name, FIELD))
    return replace(rules, **{name: FIELD[name].read(value) for name, value in fields.items()})


def unknown_field(name: str, known: Mapping[str, object]) -> str:
    """Return the message for a field that isn't known: two lines."""
    meant = get_close_matches(name, known, n=1)
    hint = f"; did you mean {meant[0]}?" if meant else "."
    return f"unknown field {toml(name)}{hint}\nThe fields are {', '.join(known)}."


def seat_counts(rules: Ruleset) -> list[int]:
    """Return for how many players the rules can be played, ascending; empty if for none."""
    return [seats for seats in range(2, MOST_SEATS + 1) if rules.problem(seats) is None]


def why_unplayable(rules: Ruleset) -> str | None:
    """Return why no number of players can play these rules, in one line; None if some can."""
    if rules.draft and rules.min_seats > 2:
        return f"draft = true is for two players (rulebook:187), and min_seats = {rules.min_seats}"
    if rules.min_seats > rules.max_seats:
        return f"min_seats = {rules.min_seats} is more than max_seats = {rules.max_seats}"
    return None if seat_counts(rules) else rules.problem(rules.min_seats)


def why_idle(rules: Ruleset, name: str) -> str | None:
    """Return why this field has no effect in these rules, as in "without inquisitor = true"; None if it has one."""
    needs = FIELD[name].needs
    if needs and not getattr(rules, needs):
        return f"without {needs} = true"
    if name == "two_player_starter_coins" and rules.min_seats > 2:
        return f"with min_seats = {rules.min_seats}: no game has two players"
    if name == "max_seats" and rules.draft and rules.max_seats > 2:
        return "with draft = true: a draft is for two players (rulebook:187)"
    if name == "embezzle_concede" and rules.embezzle_concede and rules.prove is Proof.AUTOMATIC:
        return 'with prove = "automatic": nobody is asked whether to concede'
    return None


def differences(rules: Ruleset, base: Ruleset = _BASE) -> list[FieldRule]:
    """Return the fields, other than the name, whose values differ from those of `base`, by default the base game."""
    return [rule for rule in FIELDS if rule.name != "name" and getattr(rules, rule.name) != getattr(base, rule.name)]
