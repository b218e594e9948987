"""State the rules of a game in sentences, complete without any other document.

Each sentence cites its section of reference/rules.md, and applies to the rulesets for which its `condition` is true. A
field's name in place of a sentence means the sentence of that field. The sentences describe the behaviour of engine.py:
change both together."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from arena.coup.moves import action_table
from arena.coup.rules import (
    ABOUT,
    PRESETS,
    ActionRule,
    AllegianceStart,
    BlockAfterChallenge,
    BlockChallengers,
    Blockers,
    ExaminePick,
    ExchangeReturn,
    FirstPlayer,
    Proof,
    Role,
    Ruleset,
    ShownCard,
    Talk,
)
from arena.coup.ruleset_fields import FIELD_BY_NAME, changed_fields, no_effect_reason, seat_counts


@dataclass(frozen=True, slots=True)
class RuleTemplate:
    """A sentence with its section of docs/reference/rules.md, for rulesets that fulfil `condition`."""

    name: str
    text: str | Callable[[Ruleset], str]
    section: str
    condition: Callable[[Ruleset], bool] = lambda _: True


class RuleText(NamedTuple):
    """A sentence about one ruleset. The sentence of a field has the field's name."""

    name: str
    text: str
    section: str


def rules_sections(rules: Ruleset) -> Iterator[tuple[str, list[RuleText]]]:
    """Yield (title, sentences) of the sections of a game's rules, in reading order."""
    for title, rows in SECTIONS:
        sentences = [text for row in rows for text in texts_of(row, rules)]
        if sentences:
            yield title, sentences


def texts_of(row: "RuleTemplate | str", rules: Ruleset) -> Iterator[RuleText]:
    """Yield the sentence of a row if it applies, without fields that have no effect or need no sentence."""
    if isinstance(row, RuleTemplate):
        if row.condition(rules):
            yield RuleText(row.name, row.text if isinstance(row.text, str) else row.text(rules), row.section)
    elif no_effect_reason(rules, row) is None and _needs_sentence(row, rules):
        field = FIELD_BY_NAME[row]
        sections = [option.section for option in field.options if option.value == getattr(rules, row)]
        yield RuleText(row, field.sentence(rules), "".join(sections) or field.section)


def _needs_sentence(field: str, rules: Ruleset) -> bool:
    if field in ("inquisitor", "reformation"):
        return bool(getattr(rules, field))
    if field == "talk":
        return talks(rules)
    return field != "exchange_return" or rules.exchange_return is not ExchangeReturn.ANY


# ---------------------------------------------------------------- in which rulesets


def _reformation(rules: Ruleset) -> bool:
    return rules.reformation


def _inquisitor(rules: Ruleset) -> bool:
    return rules.inquisitor


def talks(rules: Ruleset) -> bool:
    """Return whether players may talk."""
    return rules.talk is not Talk.OFF


def _attacks_by_anyone(rules: Ruleset) -> bool:
    return rules.attacks_blocked_by is Blockers.ANYONE


def _may_concede(rules: Ruleset) -> bool:
    return rules.reformation and rules.embezzle_concede and rules.prove is Proof.CHOOSE


def _never_after_a_challenge(rules: Ruleset) -> bool:
    return rules.block_after_failed_challenge is BlockAfterChallenge.NEVER


def _must_prove(rules: Ruleset) -> bool:
    """Return whether proofs are automatic, so that no sentence mentions conceding, whatever the field's value is."""
    return rules.reformation and rules.embezzle_concede and rules.prove is Proof.AUTOMATIC


# ---------------------------------------------------------------- made from the table of actions


def join_words(actions: list[str], conjunction: str = "and") -> str:
    """Return names, one or more, as a list in words: "a, b and c"."""
    return actions[0] if len(actions) == 1 else f"{', '.join(actions[:-1])} {conjunction} {actions[-1]}"


def names_of_actions(rules: Ruleset, selects: Callable[[ActionRule], bool]) -> list[str]:
    """Return the names of the actions whose rule `selects` accepts, each once."""
    return list(dict.fromkeys(row.action.value for row in rules.actions if selects(row)))


def _answers(rules: Ruleset) -> str:
    unanswered = names_of_actions(rules, lambda row: not row.claim and not row.block_roles)
    blockable = names_of_actions(rules, lambda row: not row.claim and bool(row.block_roles))
    challengeable = names_of_actions(rules, lambda row: bool(row.claim) and not row.block_roles)
    both_kinds = names_of_actions(rules, lambda row: bool(row.claim) and bool(row.block_roles))
    conjunction = "or, if no player challenges," if _never_after_a_challenge(rules) else "and then"
    return (
        f"No player can answer {join_words(unanswered, 'or')}. {join_words(blockable).capitalize()} can be blocked, "
        f"{join_words(challengeable)} can be challenged, and {join_words(both_kinds)} can be challenged {conjunction} "
        "blocked."
    )


def _banned(rules: Ruleset) -> str:
    banned = names_of_actions(rules, lambda row: row.targeted and not row.own_side)
    return (
        f"While players of both sides live, only the other side can be the target of {join_words(banned, 'or')}, and "
        "only the other side may block foreign aid."
    )


def _gone(rules: Ruleset) -> str:
    wasted = "an assassination or an examination" if rules.inquisitor else "an assassination"
    return f"If the target is out before the effect, {wasted} does nothing; the cost isn't returned."


def _of_several(rules: Ruleset) -> str:
    priority = "the target goes first, then " if _attacks_by_anyone(rules) else ""
    return (
        f"All who may block are asked at once. Of several who block, {priority}the first clockwise from the player in "
        "turn counts; other answers stay secret. An action can be blocked only once."
    )


def _shown(rules: Ruleset) -> str:
    card = "is kept or replaced" if rules.shown_card is ShownCard.MAY_KEEP else "is replaced"
    return (
        f"When a challenge fails, the shown card {card} first; then the challenger loses a card; then the action "
        "continues, or the block stands."
    )


def _order(rules: Ruleset) -> str:
    if _never_after_a_challenge(rules):
        steps = "the challenge of the claim; without a challenge, the block, and the challenge of the block; the effect"
    else:
        steps = "the challenge of the claim, the block, the challenge of the block, the effect"
    return (
        f"Then come, in this order: {steps}. Then the turn is over. An action has its effect unless the challenge of "
        "its claim succeeds or it is blocked."
    )


def _one_card(rules: Ruleset) -> str:
    unasked = ", and it isn't asked" if rules.examine_pick is ExaminePick.TARGET else ""
    return (
        f"If the target has one card, that card is examined{unasked}. If the target's own challenge failed, "
        "its remaining card is examined."
    )


def _embezzler_with_duke(rules: Ruleset) -> str:
    """A concession reveals nothing only if others could have conceded."""
    loses = "it loses a card of its choice, and the coins stay in the reserve."
    if _may_concede(rules):
        return f"A challenged embezzler with a duke must concede: {loses}"
    return f"A challenged embezzler with a duke is caught: {loses} All players then know that it had a duke."


def _odd_table(rules: Ruleset) -> str:
    is_assigned = rules.allegiance_start is AllegianceStart.ASSIGNED
    allies = "seat 0 and the last seat" if is_assigned else "the starter and the player before it"
    return f"With an odd number of players, {allies} are on the same side."


# ---------------------------------------------------------------- the sentences

SET_UP = "Set-up"

SECTIONS: tuple[tuple[str, tuple[RuleTemplate | str, ...]], ...] = (
    (
        "A turn",
        (
            RuleTemplate(
                "turns",
                "Turns go clockwise: to the next higher seat that is alive, and from the last seat to the lowest.",
                "turn",
            ),
            RuleTemplate(
                "one_action",
                "The player in turn chooses one action of the table that it can pay. A turn can't be passed.",
                "turn",
            ),
            "forced_coup",
            RuleTemplate(
                "coup_first",
                "A player that must launch a coup can't choose another action, not even convert or embezzle.",
                "forced-coup",
                lambda rules: rules.reformation and rules.forced_coup > 0,
            ),
            RuleTemplate(
                "targets",
                "The target is any other living player, even without coins.",
                "targets",
                lambda rules: not rules.reformation,
            ),
            RuleTemplate(
                "targets_of_sides",
                "The target is another living player, even without coins. A conversion may turn a player of either "
                "side; for the other actions see Allegiances.",
                "targets",
                _reformation,
            ),
            RuleTemplate("paid", "The cost is paid immediately, before any answer.", "order"),
            RuleTemplate("order", _order, "order"),
            RuleTemplate("answers", _answers, "order"),
            RuleTemplate(
                "one_of_two",
                "Exchange and examine are separate actions: a turn has one of them.",
                "inquisitor",
                _inquisitor,
            ),
        ),
    ),
    (
        "Challenges",
        (
            RuleTemplate("bluff", "A claim may be true or a bluff.", "challenges"),
            RuleTemplate(
                "anyone_challenges",
                "Any other living player may challenge the claim of an action, even if the action doesn't affect it.",
                "challenges",
            ),
            RuleTemplate("own_side_challenges", "A player may challenge its own side, too.", "own-side", _reformation),
            RuleTemplate(
                "first_challenge",
                "All players that may challenge are asked at once. If several challenge, the first clockwise from the "
                "claimant counts; other answers stay secret. A claim can be challenged only once, and not "
                "later.",
                "windows",
            ),
            "prove",
            "shown_card",
            RuleTemplate("shown", _shown, "order"),
            RuleTemplate(
                "keep_asked",
                lambda rules: (
                    "All players see whether it was kept. The player isn't asked if the challenger's loss ends the game"
                    f"{', and not of an embezzler' if rules.reformation else ''}."
                ),
                "shown-card",
                lambda rules: rules.shown_card is ShownCard.MAY_KEEP,
            ),
            RuleTemplate(
                "refund",
                "When the challenge of an action's claim succeeds, the action fails: first the cost is returned, "
                "then the claimant loses a card, and the turn is over.",
                "lost-challenge",
            ),
        ),
    ),
    (
        "Blocks",
        (
            "attacks_blocked_by",
            RuleTemplate(
                "aid_blocked",
                "Any other living player may block foreign aid.",
                "foreign-aid",
                lambda rules: not rules.reformation,
            ),
            RuleTemplate(
                "aid_blocked_by_side",
                "Any living player of the other side may block foreign aid; any other living player while all are on "
                "one side.",
                "own-side",
                _reformation,
            ),
            RuleTemplate("several_blocks", _of_several, "windows"),
            "block_after_failed_challenge",
            RuleTemplate(
                "block_names",
                "A block is a claim too, and may be a bluff: it names one role that blocks the action, and only a card "
                "of that role proves it.",
                "blocks",
            ),
            "block_challenged_by",
            RuleTemplate(
                "first_challenge_of_block",
                "If several do, the first clockwise from the blocker counts.",
                "windows",
                lambda rules: rules.block_challenged_by is BlockChallengers.ANYONE,
            ),
            RuleTemplate(
                "block_stands",
                "A block succeeds if no player challenges it or the challenge fails: the action has no effect. "
                "The cost isn't returned. The challenger of the block loses a card.",
                "blocks",
            ),
            RuleTemplate(
                "block_falls",
                lambda rules: (
                    "When the challenge of a block succeeds, the blocker loses a card, and the action takes "
                    "effect as if it had not been blocked"
                    f"{', on its target, whichever player blocked' if _attacks_by_anyone(rules) else ''}. So a target "
                    "that is caught bluffing the contessa loses two cards, or its last."
                ),
                "blocks",
            ),
        ),
    ),
    (
        "Influence",
        (
            RuleTemplate(
                "influence",
                "A player's face-down cards are its influence. A card turned up no longer "
                "counts, and never returns to the deck.",
                "influence",
            ),
            RuleTemplate(
                "loser_picks",
                "A player that loses a card chooses which of its cards to turn face up permanently.",
                "influence",
            ),
            RuleTemplate("exiled", "A player without face-down cards is out immediately.", "out"),
            "dead_target",
            RuleTemplate("gone", _gone, "dead-target"),
            RuleTemplate(
                "end",
                "The last player alive wins, and there is no second place. The game ends immediately, even during "
                "an action: no further effects or requests follow.",
                "end",
            ),
        ),
    ),
    (
        "Actions",
        (
            RuleTemplate(
                "steal",
                "A steal takes one coin from a target that has one, and none from a target that has none.",
                "steal",
            ),
            RuleTemplate(
                "exchange",
                "An exchange draws first. The player keeps as many of these cards and its own as it had face down; "
                "the others return to the court deck, which is shuffled. Other players see none of them.",
                "exchange",
            ),
            RuleTemplate(
                "keep_all",
                "It may return any of them, even all drawn cards.",
                "exchange",
                lambda rules: rules.exchange_return is ExchangeReturn.ANY,
            ),
            "exchange_return",
            "inquisitor",
            "examine_pick",
            RuleTemplate("one_card", _one_card, "examine", _inquisitor),
            RuleTemplate(
                "examined",
                "Only the examiner sees the card, and its owner learns which it was. The examiner returns it or has "
                "it replaced; all players see this choice. Only its owner sees the new card.",
                "examine",
                _inquisitor,
            ),
            "examine_replace",
        ),
    ),
    (
        "Allegiances",
        (
            "reformation",
            RuleTemplate("bans", _banned, "own-side", _reformation),
            RuleTemplate(
                "one_side",
                "While all living players are on one side, nothing is banned. A conversion may create two sides again.",
                "own-side",
                _reformation,
            ),
            RuleTemplate(
                "ban_time",
                "Possible targets and blockers of foreign aid are fixed when the action is chosen. Players that "
                "go out later in the turn change neither.",
                "own-side",
                _reformation,
            ),
            RuleTemplate(
                "allies_may_block",
                "A player of the same side may block a steal or an assassination.",
                "own-side",
                lambda rules: rules.reformation and _attacks_by_anyone(rules),
            ),
            RuleTemplate(
                "reserve",
                "The reserve starts empty. Only the cost of conversions goes there, and only embezzling empties it. "
                "The remaining coins are lost when a game ends.",
                "conversion",
                _reformation,
            ),
            RuleTemplate(
                "embezzle",
                "A player that embezzles claims to have no duke, and may bluff. Embezzling an empty reserve gives "
                "nothing. A challenge of an embezzler goes as follows.",
                "embezzlement",
                _reformation,
            ),
            RuleTemplate("embezzle_duke", _embezzler_with_duke, "embezzlement", _reformation),
            "embezzle_concede",
            RuleTemplate(
                "embezzle_proof",
                "A challenged embezzler without a duke shows all its cards, which are then replaced. No player "
                "is asked.",
                "embezzlement",
                _must_prove,
            ),
            RuleTemplate(
                "conceded",
                "A player that concedes doesn't show whether it has a duke. It loses a card of choice; the coins "
                "stay in the reserve.",
                "embezzlement",
                _may_concede,
            ),
            RuleTemplate(
                "embezzle_shown",
                "If the cards are shown, the challenge fails: they return together, the deck is shuffled once, and as "
                "many are drawn. Then the challenger loses a card; then the embezzler takes the reserve.",
                "embezzlement",
                _reformation,
            ),
        ),
    ),
    (
        SET_UP,
        (
            "draft",
            RuleTemplate(
                "sealed",
                "Both players choose at the same time. Discarded cards stay out of the game and are never shown.",
                "draft",
                lambda rules: rules.draft,
            ),
            RuleTemplate(
                "draft_with_variants",
                "They choose cards before the choice of a side.",
                "draft",
                lambda rules: rules.draft and rules.reformation,
            ),
            RuleTemplate(
                "hidden",
                "Each player sees only its own cards. Coins, face-up cards, and the number of cards that a player has "
                "face down are public.",
                "deal",
            ),
            "first_player",
            "start_coins",
            "two_player_starter_coins",
            RuleTemplate("treasury", "The treasury is unlimited.", "coins"),
            "allegiance_start",
            RuleTemplate("odd_table", _odd_table, "allegiance", _reformation),
        ),
    ),
    (
        "Where the rulebook is unclear",
        (
            RuleTemplate(
                "at_once",
                "All players are asked at once: no document says who speaks first, and the speed of programs must "
                "not decide.",
                "windows",
            ),
            RuleTemplate(
                "seat_0",
                "Seat 0 starts, because the bots of a match change seats from game to game. By the "
                "rulebook the winner of the last game starts.",
                "first-player",
                lambda rules: rules.first_player is FirstPlayer.SEAT_0,
            ),
            RuleTemplate(
                "turn_limit",
                "After the turn limit above, counted for all players together, a game is a draw between "
                "the living players. Around a table it continues until one player is left.",
                "turn-limit",
            ),
            RuleTemplate(
                "block_after",
                "A target whose challenge of an assassin fails loses one card for that, and a second one unless a "
                "block saves it. Most documents only say that it loses two; but the rulebook includes the "
                "assassination that succeeds, and settles challenges before blocks.",
                "late-blocks",
                lambda rules: rules.block_after_failed_challenge is BlockAfterChallenge.YES,
            ),
            RuleTemplate(
                "block_never",
                "After a failed challenge not even a target that didn't challenge may block: the page has a block only "
                "of an action that isn't challenged, and says that a target whose challenge of an assassin fails loses "
                "two cards.",
                "late-blocks",
                lambda rules: rules.block_after_failed_challenge is BlockAfterChallenge.NEVER,
            ),
            RuleTemplate(
                "block_not_by_challenger",
                "A target whose challenge of an assassin fails can't block any more: it loses both cards. A target "
                "that didn't challenge still can.",
                "late-blocks",
                lambda rules: rules.block_after_failed_challenge is BlockAfterChallenge.NOT_CHALLENGER,
            ),
            RuleTemplate(
                "aside",
                "The author wishes that a shown card may be kept; the written rules don't say so.",
                "documents",
                lambda rules: rules.shown_card is ShownCard.MAY_KEEP,
            ),
            RuleTemplate(
                "sides_drawn",
                "The sides start with seat 0, whichever seat starts, as in treason's program.",
                "allegiance",
                lambda rules: rules.reformation and rules.allegiance_start is AllegianceStart.ASSIGNED,
            ),
            "talk",
            RuleTemplate(
                "no_talk",
                lambda rules: (
                    "Cards can't be shown unasked, and coins can't be given away."
                    if talks(rules)
                    else "Players can't talk, though the rulebook allows it, nor show cards unasked or give coins away."
                ),
                "talk",
            ),
            RuleTemplate(
                "bare_roles",
                "A card is only its name: its position in a hand has no meaning and is never revealed.",
                "deal",
            ),
            RuleTemplate(
                "forfeit",
                "A bot that crashes, or commits too many faults, forfeits: its cards are turned up and its coins go "
                "to the treasury. Its own turn, or an action on it, ends without effect; the cost isn't returned.",
                "forfeit",
            ),
            RuleTemplate(
                "forfeit_elsewhere",
                "Other actions continue with the others' answers. If the bot had to lose a card, it is lost. "
                "If it had to prove a block, the action takes effect, and the challenger loses nothing.",
                "forfeit",
            ),
            RuleTemplate(
                "forfeits_together", "If all remaining players forfeit at once, they share a draw.", "forfeit"
            ),
        ),
    ),
)


def make_rules_object(rules: Ruleset) -> dict[str, Any]:
    """Return the rules of a game as a page shows them, JSON-compatible.

    - name; about: a preset's description, None for other rules; players: a sentence.
    - roles, in the order of the rules: each with the actions that it `allows` and those that it `blocks`.
    - actions: the rows of `action_table`. decks: [numbers of players, sentence]. sections: [title, sentences].
    - differences: sentences on what differs from the base game. facts: sentences for a new player.
    """
    decks = _describe_decks(rules)
    deck_sentences = [sentence for _, sentence in decks]
    changed = [field for field in changed_fields(rules) if no_effect_reason(rules, field.name) is None]
    return {
        "name": rules.name,
        "about": ABOUT[rules.name] if rules == PRESETS.get(rules.name) else None,
        "players": f"{_span(seat_counts(rules))} players. The last one alive wins.",
        "roles": [_describe_role(rules, role) for role in rules.roles],
        "actions": [asdict(row) for row in action_table(rules)],
        "differences": [field.sentence(rules) for field in changed],
        "facts": [FIELD_BY_NAME[field].sentence(rules) for field in ("shown_card", "forced_coup")],
        "decks": [[counts, sentence] for counts, sentence in decks],
        "sections": [
            [title, [*(deck_sentences if title == SET_UP else ()), *(text.text for text in texts)]]
            for title, texts in rules_sections(rules)
        ],
    }


def _describe_decks(rules: Ruleset) -> list[tuple[list[int], str]]:
    """Return (numbers of players, sentence) of each different deck and turn limit, ascending."""
    seats_by_setup: dict[tuple[int, int], list[int]] = {}
    for seats in seat_counts(rules):
        seats_by_setup.setdefault((rules.copies(seats), rules.limit(seats)), []).append(seats)
    return [
        (counts, f"{_span(counts)} players: {copies} cards of each role, and a draw after {limit} turns.")
        for (copies, limit), counts in seats_by_setup.items()
    ]


def _describe_role(rules: Ruleset, role: Role) -> dict[str, Any]:
    def allows(row: ActionRule) -> bool:
        return row.claim is role and not row.denies

    return {
        "role": role.value,
        "allows": names_of_actions(rules, allows),
        "blocks": names_of_actions(rules, lambda row: role in row.block_roles),
    }


def _span(counts: list[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
