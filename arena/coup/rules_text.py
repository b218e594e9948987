"""State the rules of a game in sentences, complete without any other document.

Each sentence cites its section of reference/rules.md, and applies to the rulesets for which its `condition` is true. A
field's name in place of a sentence means the sentence of that field. The sentences describe the behaviour of engine.py:
change both together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from arena.coup.rules import (
    ActionRule,
    AllegianceStart,
    BlockAfterChallenge,
    BlockChallengers,
    Blockers,
    ExaminePick,
    ExchangeReturn,
    FirstPlayer,
    Proof,
    Ruleset,
    ShownCard,
    Talk,
)
from arena.coup.ruleset_schema import FIELD_BY_NAME, no_effect_reason


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
        sentences = [text for row in rows for text in _texts(row, rules)]
        if sentences:
            yield title, sentences


def _texts(row: "RuleTemplate | str", rules: Ruleset) -> Iterator[RuleText]:
    """Yield the sentence of a row if it applies, without fields that have no effect or need no sentence."""
    if isinstance(row, RuleTemplate):
        if row.condition(rules):
            yield RuleText(row.name, row.text if isinstance(row.text, str) else row.text(rules), row.section)
    elif no_effect_reason(rules, row) is None and _needs_sentence(row, rules):
        yield RuleText(row, FIELD_BY_NAME[row].sentence(rules), FIELD_BY_NAME[row].section)


def _needs_sentence(field: str, rules: Ruleset) -> bool:
    if field in ("inquisitor", "reformation"):
        return bool(getattr(rules, field))
    if field == "talk":
        return _talks(rules)
    return field != "exchange_return" or rules.exchange_return is not ExchangeReturn.ANY


# ---------------------------------------------------------------- in which rulesets


def _reformation(rules: Ruleset) -> bool:
    return rules.reformation


def _inquisitor(rules: Ruleset) -> bool:
    return rules.inquisitor


def _talks(rules: Ruleset) -> bool:
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


def join_words(actions: list[str], last: str = "and") -> str:
    """Return names as a list in words: "a, b and c"."""
    return actions[0] if len(actions) == 1 else f"{', '.join(actions[:-1])} {last} {actions[-1]}"


def _named(rules: Ruleset, wanted: Callable[[ActionRule], bool]) -> list[str]:
    return list(dict.fromkeys(row.action.value for row in rules.actions if wanted(row)))


def _answers(rules: Ruleset) -> str:
    silent = _named(rules, lambda row: not row.claim and not row.block_roles)
    free = _named(rules, lambda row: not row.claim and bool(row.block_roles))
    claimed = _named(rules, lambda row: bool(row.claim) and not row.block_roles)
    both = _named(rules, lambda row: bool(row.claim) and bool(row.block_roles))
    then = "or, if nobody challenges," if _never_after_a_challenge(rules) else "and then"
    return (
        f"Nobody can answer {join_words(silent, 'or')}. To {join_words(free)} there can be a block only, to "
        f"{join_words(claimed)} a "
        f"challenge only, to {join_words(both)} a challenge {then} a block."
    )


def _banned(rules: Ruleset) -> str:
    banned = _named(rules, lambda row: row.targeted and not row.own_side)
    return (
        f"While players of both sides live, only the other side can be the target of {join_words(banned, 'or')}, and "
        "only "
        "the other side may block foreign aid."
    )


def _gone(rules: Ruleset) -> str:
    wasted = "an assassination or an examination" if rules.inquisitor else "an assassination"
    return f"If the target is out before the effect, {wasted} does nothing; what was paid stays spent."


def _of_several(rules: Ruleset) -> str:
    first = "the target goes first, then " if _attacks_by_anyone(rules) else ""
    return (
        f"All who may block are asked at once. Of several who block, {first}the first clockwise from the player in "
        "turn counts; what the others answer is never told. There is only one block of an action."
    )


def _shown(rules: Ruleset) -> str:
    card = "is kept or replaced" if rules.shown_card is ShownCard.MAY_KEEP else "is replaced"
    return (
        f"When a challenge fails, the shown card {card} first; then the challenger loses an influence; then the action "
        "goes on, or the block stands."
    )


def _order(rules: Ruleset) -> str:
    if _never_after_a_challenge(rules):
        steps = (
            "the challenge of the claim; if nobody challenged, the block, and the challenge of the block; the effect"
        )
    else:
        steps = "the challenge of the claim, the block, the challenge of the block, the effect"
    return (
        f"Then come, in this order: {steps}. Then the turn is over. An action has its effect unless the challenge of "
        "its claim succeeds or a block stands."
    )


def _one_card(rules: Ruleset) -> str:
    unasked = ", and it isn't asked" if rules.examine_pick is ExaminePick.TARGET else ""
    return (
        f"Of a target with one card, that card is examined{unasked}. A target whose challenge failed is examined on "
        "what it has left."
    )


def _embezzler_with_duke(rules: Ruleset) -> str:
    """A concession reveals nothing only if others could have conceded."""
    loses = "it loses an influence of its choice, and the coins stay in the reserve."
    if _may_concede(rules):
        return f"A challenged embezzler who does have a duke must concede: {loses}"
    return f"A challenged embezzler who does have a duke is caught: {loses} So all know that it had a duke."


def _odd_table(rules: Ruleset) -> str:
    drawn = rules.allegiance_start is AllegianceStart.ASSIGNED
    two = "seat 0 and the last seat" if drawn else "the starter and the player before it"
    return f"With an odd number of players, {two} are on the same side."


def list_program_differences(rules: Ruleset) -> tuple[str, ...]:
    """Return differences of treason's program that no field can express."""
    both = join_words(_named(rules, lambda row: bool(row.claim) and bool(row.block_roles)))
    return (
        f"The program has one window in which all may challenge or block {both}, and what is blocked can't be "
        "challenged any more. Here all are first asked whether they challenge; then come the blocks.",
        "In the program the first to answer counts, here the first clockwise of all who do.",
        "The program has no turn limit.",
        "Who leaves the program in the middle of a game keeps its coins, and an action on it goes on. Here its coins "
        "go to the treasury, and the action ends without effect.",
        "The program's players can write to one another at any time.",
    )


# What each document says otherwise than is played, or leaves open where the rulebook doesn't help; "" is the rulebook.
_OTHERWISE: dict[str, tuple[RuleTemplate, ...]] = {
    "": (
        RuleTemplate(
            "alone",
            "The rulebook has 9 and 10 players for Coup alone. Here they may also play with its expansion.",
            "deck",
            lambda rules: rules.reformation or rules.inquisitor,
        ),
        RuleTemplate(
            "any_time",
            "Around a table players talk whenever they like. Here they talk with their answers.",
            "talk",
            _talks,
        ),
    ),
    "classroom": (
        RuleTemplate(
            "dealer", "The player to the left of the dealer starts. Here seat 0 is that player.", "first-player"
        ),
        RuleTemplate(
            "reveals",
            "A challenged player that has the right character reveals it. Here it may decline, as by the rulebook.",
            "proof",
        ),
    ),
    "blog": (
        RuleTemplate(
            "puts_back",
            "The review has no rule for an exchange by a player that doesn't have the ambassador any more, or never "
            "had it. Here that player returns any card.",
            "exchange",
        ),
    ),
    "andy": (
        RuleTemplate(
            "aid_without_target",
            "The sheet lets only the targeted player block. Foreign aid has no target: here anyone may block it.",
            "foreign-aid",
        ),
        RuleTemplate(
            "both_cards",
            "A target that challenges an assassin in vain loses two cards. Here it may still block.",
            "late-blocks",
        ),
    ),
    "treason": (
        RuleTemplate("ten", "The page adds cards for any number of players. Here 10 players are the most.", "players"),
    ),
}
_BOX = RuleTemplate("box", "The rulebook's box has 50 coins. Here the treasury has no end.", "coins")


def list_document_differences(rules: Ruleset, document: str) -> list[RuleText]:
    """Return differences of a preset's document ("": the rulebook) from these rules, without sentences of fields."""
    rows = (*_OTHERWISE[document], *([] if document == "treason" else [_BOX]))
    return [text for row in rows for text in _texts(row, rules)]


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
                "The player in turn picks one action of the table that it can pay. Nobody may pass a turn.",
                "turn",
            ),
            "forced_coup",
            RuleTemplate(
                "coup_first",
                "Who must coup can do nothing else, neither convert nor embezzle.",
                "forced-coup",
                lambda rules: rules.reformation and rules.forced_coup > 0,
            ),
            RuleTemplate(
                "targets",
                "The target is any other living player, also one without coins.",
                "targets",
                lambda rules: not rules.reformation,
            ),
            RuleTemplate(
                "targets_of_sides",
                "The target is another living player, also one without coins. A conversion may turn a player of either "
                "side; for the other actions see Allegiances.",
                "targets",
                _reformation,
            ),
            RuleTemplate("paid", "The cost is paid at once, before anybody answers.", "order"),
            RuleTemplate("order", _order, "order"),
            RuleTemplate("answers", _answers, "order"),
            RuleTemplate(
                "one_of_two", "Exchange and examine are two actions: a turn has one of them.", "inquisitor", _inquisitor
            ),
        ),
    ),
    (
        "Challenges",
        (
            RuleTemplate("bluff", "A claim may be true or a bluff.", "challenges"),
            RuleTemplate(
                "anyone_challenges",
                "Any other living player may challenge the claim of an action, also one whom it doesn't concern.",
                "challenges",
            ),
            RuleTemplate("own_side_challenges", "A player may challenge its own side, too.", "own-side", _reformation),
            RuleTemplate(
                "first_challenge",
                "All who may challenge are asked at once. Of several who challenge, the first clockwise from the "
                "claimant counts; what the others answer is never told. There is only one challenge of a claim, and "
                "none later.",
                "windows",
            ),
            "prove",
            "shown_card",
            RuleTemplate("shown", _shown, "order"),
            RuleTemplate(
                "keep_asked",
                "Everybody sees whether it was kept. It isn't asked where the challenger's loss ends the game"
                ", and not of an embezzler.",
                "shown-card",
                lambda rules: rules.shown_card is ShownCard.MAY_KEEP and rules.reformation,
            ),
            RuleTemplate(
                "keep_asked_of_all",
                "Everybody sees whether it was kept. It isn't asked where the challenger's loss ends the game.",
                "shown-card",
                lambda rules: rules.shown_card is ShownCard.MAY_KEEP and not rules.reformation,
            ),
            RuleTemplate(
                "refund",
                "When the challenge of an action's claim succeeds, the action fails: what was paid comes back first, "
                "then the claimant loses an influence, and the turn is over.",
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
                "A block is a claim too, and may be a bluff: it names one card of the table's last column, and only "
                "that card proves it.",
                "blocks",
            ),
            "block_challenged_by",
            RuleTemplate(
                "first_challenge_of_block",
                "Of several who do, the first clockwise from the blocker counts.",
                "windows",
                lambda rules: rules.block_challenged_by is BlockChallengers.ANYONE,
            ),
            RuleTemplate(
                "block_stands",
                "A block stands if nobody challenges it or the challenge fails: it ends the action without effect. "
                "What was paid stays spent. Who challenged it loses an influence.",
                "blocks",
            ),
            RuleTemplate(
                "block_falls",
                lambda rules: (
                    "When the challenge of a block succeeds, the blocker loses an influence, and the action takes "
                    "effect as if it had not been blocked"
                    f"{', on its target, whoever blocked' if _attacks_by_anyone(rules) else ''}. So a target "
                    "that is caught bluffing the contessa loses two influences, or its last."
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
                "A player's cards are those that it has face down; each is an influence. A card turned up "
                "counts no more, and never goes back to the deck.",
                "influence",
            ),
            RuleTemplate(
                "loser_picks",
                "Who loses an influence, in whatever way, picks which of its cards it turns face up for good.",
                "influence",
            ),
            RuleTemplate("exiled", "Who has no card left is out at once.", "out"),
            "dead_target",
            RuleTemplate("gone", _gone, "dead-target"),
            RuleTemplate(
                "end",
                "The last player alive wins, and there is no second place. The game ends at that moment, in the middle "
                "of an action too: nothing more is done or asked.",
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
                "An exchange draws first. Of its own and the drawn cards the player keeps as many as it has influence; "
                "the others go back to the court deck, which is shuffled. Nobody else sees any of them.",
                "exchange",
            ),
            RuleTemplate(
                "keep_all",
                "It may return any of them, also all that it drew.",
                "exchange",
                lambda rules: rules.exchange_return is ExchangeReturn.ANY,
            ),
            "exchange_return",
            "inquisitor",
            "examine_pick",
            RuleTemplate("one_card", _one_card, "examine", _inquisitor),
            RuleTemplate(
                "examined",
                "Only the examiner sees the card, and its owner learns which it was. The examiner hands it back or has "
                "it replaced, and everybody sees which it does; the new card is seen by its owner only.",
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
            RuleTemplate("bans", _banned, "own-side", lambda rules: rules.reformation and not rules.inquisitor),
            RuleTemplate(
                "bans_with_inquisitor", _banned, "own-side", lambda rules: rules.reformation and rules.inquisitor
            ),
            RuleTemplate(
                "one_side",
                "While all who live are on one side, nothing is banned. A conversion may make two sides again.",
                "own-side",
                _reformation,
            ),
            RuleTemplate(
                "ban_time",
                "Whom an action may target, and who may block foreign aid, is settled when the action is taken: who "
                "goes out later in the turn changes neither.",
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
                "The reserve begins empty. Only the cost of conversions goes there, and only embezzling empties it. "
                "What is left when a game ends is gone.",
                "conversion",
                _reformation,
            ),
            RuleTemplate(
                "embezzle",
                "Who embezzles claims to have no duke, and may bluff. An empty reserve may be embezzled too, and gives "
                "nothing. A challenge of an embezzler goes as follows.",
                "embezzlement",
                _reformation,
            ),
            RuleTemplate("embezzle_duke", _embezzler_with_duke, "embezzlement", _reformation),
            "embezzle_concede",
            RuleTemplate(
                "embezzle_proof",
                "A challenged embezzler without a duke shows everybody all its cards, which are then replaced. Nobody "
                "is asked.",
                "embezzlement",
                _must_prove,
            ),
            RuleTemplate(
                "conceded",
                "Who concedes doesn't tell whether it has a duke. It loses an influence of its choice, and the coins "
                "stay in the reserve.",
                "embezzlement",
                _may_concede,
            ),
            RuleTemplate(
                "embezzle_shown",
                "If the cards are shown, the challenge fails: they go back together, the deck is shuffled once, and as "
                "many are drawn. Then the challenger loses an influence; then the embezzler takes the reserve.",
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
                "Both pick at once. What was discarded stays out of the game and is never shown.",
                "draft",
                lambda rules: rules.draft,
            ),
            RuleTemplate(
                "draft_with_variants",
                "The picks come before the choice of a side.",
                "draft",
                lambda rules: rules.draft and rules.reformation,
            ),
            RuleTemplate(
                "hidden",
                "Each player sees only its own cards. Coins, cards that are face up, and how many a player has face "
                "down, are public.",
                "deal",
            ),
            "first_player",
            "start_coins",
            "two_player_starter_coins",
            RuleTemplate("treasury", "The treasury has no end.", "coins"),
            "allegiance_start",
            RuleTemplate("odd_table", _odd_table, "allegiance", _reformation),
        ),
    ),
    (
        "The arena's own choices, and how the rules are read",
        (
            RuleTemplate(
                "at_once",
                "All are asked at once, since no document says who speaks first, and how fast a program answers must "
                "not decide.",
                "windows",
            ),
            RuleTemplate(
                "seat_0",
                "Seat 0 starts, since the bots of a match change seats from game to game. By the "
                "rulebook the winner of the last game starts.",
                "first-player",
                lambda rules: rules.first_player is FirstPlayer.SEAT_0,
            ),
            RuleTemplate(
                "turn_limit",
                "After the turns that the table above allows, counted for all players together, a game is a draw of "
                "those who live. Around a table it goes on until one player is left.",
                "turn-limit",
            ),
            RuleTemplate(
                "block_after",
                "A target whose challenge of an assassin fails loses one influence for that, and a second one unless a "
                "block saves it. Most documents say flatly that it loses two; but the rulebook counts in the "
                "assassination that succeeds, and settles challenges before blocks.",
                "late-blocks",
                lambda rules: rules.block_after_failed_challenge is BlockAfterChallenge.YES,
            ),
            RuleTemplate(
                "block_never",
                "After a failed challenge not even a target that didn't challenge may block: the page has a block only "
                "of an action that isn't challenged, and says that a target whose challenge of an assassin fails loses "
                "two influences.",
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
                "That a shown card may be kept is a wish of its author's, and not what his rules say.",
                "documents",
                lambda rules: rules.shown_card is ShownCard.MAY_KEEP,
            ),
            RuleTemplate(
                "sides_drawn",
                "The sides begin with seat 0, whoever starts, as treason's program lays them.",
                "allegiance",
                lambda rules: rules.reformation and rules.allegiance_start is AllegianceStart.ASSIGNED,
            ),
            "talk",
            RuleTemplate(
                "no_talk",
                lambda rules: (
                    "Cards can't be shown unasked, and coins can't be given away."
                    if _talks(rules)
                    else "Players can't talk, though the rulebook allows it, nor show cards unasked or give coins away."
                ),
                "talk",
            ),
            RuleTemplate(
                "bare_roles",
                "A card is its name: which of the two places in a hand it had, means nothing and is never told.",
                "deal",
            ),
            RuleTemplate(
                "forfeit",
                "A bot that breaks down, or makes too many faults, forfeits: its cards are turned up and its coins go "
                "to the treasury. Its own turn, or an action on it, ends without effect; what was paid stays spent.",
                "forfeit",
            ),
            RuleTemplate(
                "forfeit_elsewhere",
                "Other actions go on, with the others' answers. If the bot was to lose an influence, all is as if it "
                "had; if it was to prove a block, the action takes effect, and the challenger loses nothing.",
                "forfeit",
            ),
            RuleTemplate("forfeits_together", "If all who are left forfeit at once, they share a draw.", "forfeit"),
        ),
    ),
)
