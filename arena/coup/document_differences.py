"""State how the documents of presets, the rulebook and treason's program differ from the rules that are played."""

from arena.coup.rules import Ruleset
from arena.coup.rules_text import RuleTemplate, RuleText, join_words, names_of_actions, talks, texts_of


def list_program_differences(rules: Ruleset) -> tuple[str, ...]:
    """Return differences of treason's program that no field can express."""
    actions = join_words(names_of_actions(rules, lambda row: bool(row.claim) and bool(row.block_roles)))
    return (
        f"The program has one window in which all may challenge or block {actions}, and a blocked action can't be "
        "challenged any more. Here all players are asked first for challenges, then for blocks.",
        "In the program the first answer in time counts; here it is the first answer clockwise.",
        "The program has no turn limit.",
        "A player that leaves the program during a game keeps its coins, and an action on it continues. Here its coins "
        "go to the treasury, and the action ends without effect.",
        "In the program players can send each other messages at any time.",
    )


# What each document says otherwise than is played, or leaves open where the rulebook doesn't help; "" is the rulebook.
_OTHERWISE: dict[str, tuple[RuleTemplate, ...]] = {
    "": (
        RuleTemplate(
            "alone",
            "The rulebook allows 9 and 10 players for Coup alone. Here they can also play with its expansion.",
            "deck",
            lambda rules: rules.reformation or rules.inquisitor,
        ),
        RuleTemplate(
            "any_time", "Around a table players talk at any time. Here they talk with their answers.", "talk", talks
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
            "The review has no rule for an exchange by a player that has lost the ambassador or never "
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
            "A target whose challenge of an assassin fails loses two cards. Here it may still block.",
            "late-blocks",
        ),
    ),
    "treason": (
        RuleTemplate(
            "ten", "The page adds cards for any number of players. Here 10 players are the maximum.", "players"
        ),
    ),
}
_BOX = RuleTemplate("box", "The rulebook's box has 50 coins. Here the treasury is unlimited.", "coins")


def list_document_differences(rules: Ruleset, document: str) -> list[RuleText]:
    """Return differences of a preset's document ("": the rulebook) from these rules, without sentences of fields."""
    rows = (*_OTHERWISE[document], *([] if document == "treason" else [_BOX]))
    return [text for row in rows for text in texts_of(row, rules)]
