"""Define the ruleset schema: each field's meaning and values, and its form as plain data.

For each field the table gives its meaning, its accepted values and its section of docs/reference/rules.md. The checks,
`arena rules`, the messages and the hello line read this table. Records, run.json and TOML files contain rulesets in the
plain form. Only `Ruleset` defines defaults. This module must not know files, records or bots."""

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
    Talk,
)

RULES_PAGE = "docs/reference/rules.md"  # the document whose sections are cited

MAX_SEATS = 10  # rules.md#players
_COUP_COST = next(row.cost for row in Ruleset().actions if row.action == "coup")
_MAX_COINS = 100  # more is a typing error: the treasury is unlimited (rules.md#coins)
_ADDED = ("dead_target", "talk")  # fields that older records and ladders lack; they had the defaults
_MAX_NAME_CHARACTERS = 40  # a name goes into titles and file names


@dataclass(frozen=True, slots=True)
class FieldOption:
    """One value of a field: the rule with this value, as a sentence, and an alternative word for the value.

    `section`: the section of the rule, if it isn't the field's.
    """

    value: str | bool | int
    sentence: str
    word: str | None = None
    section: str = ""

    def has_plain_value(self, value: object) -> bool:
        """Return whether a plain value, as of JSON or TOML, is this option's value or its word."""
        is_same_type = type(value) is type(to_json_value(self.value))  # True == 1, but is no number
        return (is_same_type and value == self.value) or (self.word is not None and value == self.word)


@dataclass(frozen=True, slots=True)
class RulesetField:
    """One field of a ruleset. Its values are `options`, the integers of `span` (first, last), or, without both, a text.

    `section`: the section of RULES_PAGE. `number_sentence`: the rule for an integer. `unset_meaning`: the meaning of
    None, if the field may be None. `required_field`: a field that must be true for this one to have an effect.
    `treason_value`: the value of treason's program if its web page has another value, or none.
    """

    name: str
    description: str
    section: str
    options: tuple[FieldOption, ...] = ()
    span: tuple[int, int] | None = None
    number_sentence: str = ""
    unset_meaning: str = ""
    required_field: str = ""
    treason_value: Any = None

    @property
    def default(self) -> Any:
        """The value in the base game."""
        return getattr(_BASE, self.name)

    @property
    def allowed(self) -> str:
        """The allowed values, as text in TOML's syntax."""
        values = [
            to_toml(value) for option in self.options for value in (option.value, option.word) if value is not None
        ]
        if self.span:
            values.append(f"{self.span[0]} to {self.span[1]}")
        return " or ".join(values) or f"a text of 1 to {_MAX_NAME_CHARACTERS} printable characters"

    def read(self, value: object) -> Any:
        """Return the field's value for a plain value. Raises ValueError with the allowed values if it isn't allowed."""
        for option in self.options:
            if option.has_plain_value(value):
                return option.value
        if self._is_plain_value(value):
            return value
        texts = [option.value for option in self.options if isinstance(option.value, str)]
        similar_texts = get_close_matches(value, texts, n=1) if isinstance(value, str) else []
        hint = f"; did you mean {to_toml(similar_texts[0])}?" if similar_texts else "."
        page = f"{RULES_PAGE}#{self.section}"
        raise ValueError(f"{self.name} = {to_toml(value)} is not allowed{hint}\nAllowed: {self.allowed} ({page}).")

    def _is_plain_value(self, value: object) -> bool:
        """Return whether a value that is no option is allowed: an integer of the span, a name, or None."""
        if value is None:
            return bool(self.unset_meaning)
        if self.span:
            return type(value) is int and self.span[0] <= value <= self.span[1]
        return not self.options and type(value) is str and _is_name(value)

    def effective(self, rules: Ruleset, seats: int | None = None) -> Any:
        """Return the field's value in these rules, with None replaced by the value that applies.

        seats: number of seats, None if unknown; then an unset turn limit stays None.
        """
        if self.name == "exchange_draw":
            return rules.draw
        if self.name == "turn_limit" and seats is not None:
            return rules.limit(seats)
        return getattr(rules, self.name)

    def sentence(self, rules: Ruleset) -> str:
        """Return the rule for the field's value in these rules, as a sentence."""
        value = self.effective(rules)
        for option in self.options:
            if value == option.value:
                return option.sentence
        return self.unset_meaning if value is None else self.number_sentence.format(value)


_BASE = Ruleset()

FIELDS: tuple[RulesetField, ...] = (
    RulesetField("name", "The ruleset's name in the hello line, in records and in tables.", "presets"),
    RulesetField(
        "min_seats", "The fewest players.", "players", span=(2, MAX_SEATS), number_sentence="At least {} players."
    ),
    RulesetField(
        "max_seats", "The most players.", "players", span=(2, MAX_SEATS), number_sentence="At most {} players."
    ),
    RulesetField(
        "start_coins",
        "The coins of each player at the start.",
        "coins",
        span=(0, _MAX_COINS),
        number_sentence="Coins of each player at the start: {}.",
    ),
    RulesetField(
        "two_player_starter_coins",
        "The coins of the player who starts a game of two.",
        "coins",
        span=(0, _MAX_COINS),
        number_sentence="Coins of the player who starts a game of two: {}.",
        treason_value=1,
    ),
    RulesetField(
        "first_player",
        "The player who starts a game.",
        "first-player",
        (
            FieldOption(FirstPlayer.SEAT_0, "Seat 0 starts."),
            FieldOption(
                FirstPlayer.LAST_WINNER,
                "The winner of the match's last game starts; seat 0 in the first game and after a draw.",
            ),
            FieldOption(FirstPlayer.RANDOM, "A random seat starts."),
        ),
    ),
    RulesetField(
        "attacks_blocked_by",
        "The players who may block an assassination or a steal.",
        "who-may-block",
        (
            FieldOption(Blockers.TARGET, "Only its target may block an assassination or a steal."),
            FieldOption(
                Blockers.ANYONE, "Any living player but the one in turn may block an assassination or a steal."
            ),
        ),
    ),
    RulesetField(
        "block_challenged_by",
        "The players who may challenge a block.",
        "challenged-block",
        (
            FieldOption(BlockChallengers.ANYONE, "Any living player but the blocker may challenge a block."),
            FieldOption(BlockChallengers.ACTOR, "Only the player whose action is blocked may challenge the block."),
        ),
    ),
    RulesetField(
        "prove",
        "Whether a challenged player who has the card must show it.",
        "proof",
        (
            FieldOption(
                Proof.CHOOSE,
                "A challenged player who has the claimed card shows it, and the challenge fails, or declines. If it "
                "declines or doesn't have the card, the challenge succeeds; others don't learn which it was.",
            ),
            FieldOption(
                Proof.AUTOMATIC,
                "A challenged player who has the claimed card must show it, and the challenge fails; else it succeeds.",
            ),
        ),
    ),
    RulesetField(
        "shown_card",
        "Whether a card that proved a claim is replaced.",
        "shown-card",
        (
            FieldOption(
                ShownCard.REPLACED,
                "A card shown as proof goes back to the court deck, which is shuffled; a random one replaces it.",
            ),
            FieldOption(ShownCard.MAY_KEEP, "A player who showed a card may keep it or have it replaced at random."),
        ),
    ),
    RulesetField(
        "block_after_failed_challenge",
        "Whether an action can be blocked after a challenge of it failed.",
        "late-blocks",
        (
            FieldOption(
                BlockAfterChallenge.YES,
                "After a failed challenge, players may still block the action, including the challenger.",
            ),
            FieldOption(BlockAfterChallenge.NEVER, "After a failed challenge, the action can't be blocked."),
            FieldOption(
                BlockAfterChallenge.NOT_CHALLENGER,
                "After a failed challenge, players may still block the action, except the challenger.",
            ),
        ),
        treason_value=BlockAfterChallenge.YES,
    ),
    RulesetField(
        "forced_coup",
        "Number of coins from which a player must coup.",
        "forced-coup",
        (FieldOption(0, "No player has to coup.", word="off"),),
        span=(_COUP_COST, _MAX_COINS),
        number_sentence="A player that starts a turn with {} coins or more must launch a coup.",
    ),
    RulesetField(
        "exchange_draw",
        "How many cards an exchange draws and returns.",
        "exchange",
        (
            FieldOption(1, "An exchange draws one card and returns one."),
            FieldOption(2, "An exchange draws two cards and returns two."),
        ),
        unset_meaning="1 with the inquisitor, else 2",
    ),
    RulesetField(
        "exchange_return",
        "Which card an exchange of one returns.",
        "exchange",
        (
            FieldOption(ExchangeReturn.ANY, "An exchange returns any of the cards."),
            FieldOption(
                ExchangeReturn.CLAIMED_ROLE,
                "An exchange returns the claimed card if the player held it before it drew; else, and if it was shown "
                "as proof this turn and replaced, any card.",
            ),
        ),
    ),
    RulesetField(
        "inquisitor",
        "Whether the inquisitor replaces the ambassador.",
        "inquisitor",
        (
            FieldOption(False, "The deck has the ambassador, not the inquisitor."),
            FieldOption(True, "The inquisitor replaces the ambassador: it exchanges, examines and blocks stealing."),
        ),
    ),
    RulesetField(
        "examine_pick",
        "How the examined card is picked.",
        "examine",
        (
            FieldOption(ExaminePick.TARGET, "The target picks which of its cards is examined."),
            FieldOption(ExaminePick.RANDOM, "The card that is examined is picked at random."),
        ),
        required_field="inquisitor",
    ),
    RulesetField(
        "examine_replace",
        "Whether the new card is drawn before or after the examined one goes back.",
        "examine",
        (
            FieldOption(
                ExamineReplace.DRAW_FIRST,
                "To replace an examined card, the target draws the new one first; then the old one goes back and the "
                "deck is shuffled. So it never draws the same card, but maybe one of the same role.",
            ),
            FieldOption(
                ExamineReplace.RETURN_FIRST,
                "To replace an examined card, it goes back first and the deck is shuffled; then the target draws, "
                "maybe the same card.",
            ),
        ),
        required_field="inquisitor",
    ),
    RulesetField(
        "reformation",
        "Whether there are allegiances, conversion and embezzlement.",
        "reformation",
        (
            FieldOption(False, "There are no allegiances."),
            FieldOption(True, "Each player has an allegiance: loyalist or reformist."),
        ),
    ),
    RulesetField(
        "allegiance_start",
        "How the first allegiance is set.",
        "allegiance",
        (
            FieldOption(
                AllegianceStart.STARTER_CHOOSES,
                "The starter chooses an allegiance; clockwise from there they alternate.",
            ),
            FieldOption(
                AllegianceStart.ASSIGNED, "The allegiance of seat 0 is random; clockwise from there they alternate."
            ),
        ),
        required_field="reformation",
    ),
    RulesetField(
        "embezzle_concede",
        "Whether a challenged embezzler without a duke may concede.",
        "embezzlement",
        (
            FieldOption(
                True,
                "A challenged embezzler without a duke may concede, too, or shows everybody all its cards, which are "
                "then replaced.",
            ),
            FieldOption(
                False,
                "A challenged embezzler without a duke can't concede: it shows everybody all its cards, which are then "
                "replaced.",
            ),
        ),
        required_field="reformation",
    ),
    RulesetField(
        "draft",
        "Whether two players draft: each picks a card of a set of five, the other card is dealt.",
        "draft",
        (
            FieldOption(False, "All cards are shuffled, and two are dealt to each player.", section="deal"),
            FieldOption(
                True,
                "Each of the two players has a set of five, one of each role, picks one of them in secret and discards "
                "four. A third set deals one card to each and is the court deck.",
            ),
        ),
    ),
    RulesetField(
        "turn_limit",
        "The number of turns after which a game is a draw of the survivors.",
        "turn-limit",
        span=(1, 10_000),  # more is a typing error; games of random bots take 40 turns
        number_sentence="After {} turns a game is a draw of the survivors.",
        unset_meaning="200 at 2-4 seats, 300 above",
    ),
    RulesetField(
        "dead_target",
        "Whether a steal takes coins from a target that is out before it takes effect.",
        "dead-target",
        (
            FieldOption(
                DeadTarget.NOTHING,
                "All the coins of a player who is out go back to the treasury. So a steal whose target is out before "
                "the effect takes nothing.",
            ),
            FieldOption(
                DeadTarget.COINS,
                "A player who is out keeps its coins, which have no further use. But a steal whose target is out "
                "before the effect takes up to 2 of them, and can't be blocked any more.",
            ),
        ),
        treason_value=DeadTarget.COINS,
    ),
    RulesetField(
        "talk",
        "The statements that players may add to their moves.",
        "talk",
        (
            FieldOption(Talk.OFF, "Players can't talk."),
            FieldOption(
                Talk.STATEMENTS,
                "With each answer a player may make up to four statements about its cards, its plans or another's "
                "cards. They are heard after all asked players have answered. They may be lies and aren't binding.",
            ),
            FieldOption(
                Talk.TEXT,
                "With each answer a player may make up to four statements about its cards, its plans or another's "
                "cards, one of which may be any text of up to 200 characters. All players hear them after all asked "
                "players have answered. They may be lies and aren't binding.",
            ),
        ),
    ),
)

FIELD_BY_NAME: dict[str, RulesetField] = {rule.name: rule for rule in FIELDS}


def to_toml(value: object) -> str:
    """Return a value in TOML's syntax, cut to 60 characters, without control characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**60:  # Python doesn't print numbers of more than 4,300 digits
        return "a number of more than 60 digits"
    # TOML's strings have the syntax of JSON's.
    text = json.dumps(value, ensure_ascii=not value.isprintable()) if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def to_json_value(value: object) -> object:
    """Return a field's value for JSON: members of enums become texts."""
    return value.value if isinstance(value, StrEnum) else value


def _is_name(text: str) -> bool:
    return 1 <= len(text) <= _MAX_NAME_CHARACTERS and text.isprintable() and text == text.strip()


def to_dict(rules: Ruleset) -> dict[str, Any]:
    """Return all fields of a ruleset as plain values (texts, numbers, booleans, None), in the table's order."""
    return {rule.name: to_json_value(getattr(rules, rule.name)) for rule in FIELDS}


def from_dict(data: Mapping[str, object]) -> Ruleset:
    """Return the ruleset in a dict of `to_dict`, also of an older version.

    Raises ValueError (one or two lines) for a missing or unknown field, a wrong value, and unplayable rules.
    """
    missing = [rule.name for rule in FIELDS if rule.name not in data and rule.name not in _ADDED]
    if missing:
        raise ValueError(f"the ruleset has no field {missing[0]}")
    rules = replace_fields(_BASE, data)
    conflict = unplayable_reason(rules)
    if conflict:
        raise ValueError(conflict)
    return rules


def replace_fields(rules: Ruleset, fields: Mapping[str, object]) -> Ruleset:
    """Return the rules with some fields set to plain values. Raises ValueError for unknown fields and wrong values."""
    for name in fields:
        if name not in FIELD_BY_NAME:
            raise ValueError(unknown_field_message(name, FIELD_BY_NAME))
    return replace(rules, **{name: FIELD_BY_NAME[name].read(value) for name, value in fields.items()})


def unknown_field_message(name: str, known_fields: Mapping[str, object]) -> str:
    """Return two lines about an unknown field: the problem, with the most similar known name, and the known names."""
    similar_names = get_close_matches(name, known_fields, n=1)
    hint = f"; did you mean {similar_names[0]}?" if similar_names else "."
    return f"unknown field {to_toml(name)}{hint}\nThe fields are {', '.join(known_fields)}."


def seat_counts(rules: Ruleset) -> list[int]:
    """Return the numbers of players with which the rules can be played, ascending; may be empty."""
    return [seats for seats in range(2, MAX_SEATS + 1) if rules.problem(seats) is None]


def unplayable_reason(rules: Ruleset) -> str | None:
    """Return why these rules can't be played with any number of players, in one line; None if they can."""
    if rules.draft and rules.min_seats > 2:
        return f"draft = true is for two players ({RULES_PAGE}#draft), and min_seats = {rules.min_seats}"
    if rules.min_seats > rules.max_seats:
        return f"min_seats = {rules.min_seats} is more than max_seats = {rules.max_seats}"
    return None if seat_counts(rules) else rules.problem(rules.min_seats)


def no_effect_reason(rules: Ruleset, name: str) -> str | None:
    """Return why this field has no effect in these rules, as in "without inquisitor = true"; None if it has one."""
    required_field = FIELD_BY_NAME[name].required_field
    if required_field and not getattr(rules, required_field):
        return f"without {required_field} = true"
    if name == "two_player_starter_coins" and rules.min_seats > 2:
        return f"with min_seats = {rules.min_seats}: no game has two players"
    if name == "max_seats" and rules.draft and rules.max_seats > 2:
        return f"with draft = true: a draft is for two players ({RULES_PAGE}#draft)"
    if name == "embezzle_concede" and rules.embezzle_concede and rules.prove is Proof.AUTOMATIC:
        return 'with prove = "automatic": no player is asked whether to concede'
    return None


def changed_fields(rules: Ruleset, base: Ruleset = _BASE) -> list[RulesetField]:
    """Return the fields, other than the name, whose values differ from those of `base`, by default the base game."""
    return [rule for rule in FIELDS if rule.name != "name" and getattr(rules, rule.name) != getattr(base, rule.name)]
