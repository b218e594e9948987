"""Each citation of a sheet has words of the cited line beside it, which say what it is cited for.

QUOTED names the words, by field, by value of a field, or by sentence. The documents are not part of this project:
without them beside it the test that looks the words up is skipped, and the others still demand some.
"""

import re
from collections.abc import Callable, Iterator

import pytest

from arena.coup import DECISIONS, DOCUMENTS, FIELDS, SECTIONS, Sentence

# What a value or a sentence is called -> cited line -> words of that line.
QUOTED: dict[str, dict[str, str]] = {
    # The fields, and their values.
    "min_seats": {"rulebook:185": "with two players", "classroom:2": "3-6"},
    "min_seats = 2": {"rulebook:185": "playing Coup with two players"},
    "min_seats = 3": {"classroom:2": "Number of players: 3-6"},
    "max_seats": {
        "rulebook:257": "9 or 10 players",
        "rulebook:187": "with two players",
        "andy:7": "2-5 player",
        "blog:2": "2-6 players",
        "classroom:2": "3-6",
    },
    "max_seats = 2": {"rulebook:187": "can be played with two players"},
    "max_seats = 5": {"andy:7": "Coup is 2-5 player"},
    "max_seats = 6": {"blog:2": "Coup is for 2-6 players", "classroom:2": "Number of players: 3-6"},
    "max_seats = 10": {"rulebook:257": "played with 9 or 10 players", "treason:9": "9-10 players"},
    "start_coins": {"rulebook:47": "Give each player 2 coins"},
    "start_coins = 2": {
        "rulebook:47": "Give each player 2 coins",
        "blog:4": "Each player takes two coins",
        "classroom:6": "Each player takes two coind",
        "andy:10": "Each player gets $2",
        "treason:9": "Each player also starts with $2",
    },
    "two_player_starter_coins": {
        "rulebook:185": "receives only 1 coin",
        "andy:10": "starting player gets only $1",
        "blog:4": "Each player takes two coins",
        "treason:9": "Each player also starts with $2",
    },
    "two_player_starter_coins = 1": {
        "rulebook:185": "the starting player receives only 1 coin",
        "andy:10": "starting player gets only $1",
    },
    "two_player_starter_coins = 2": {
        "blog:4": "Each player takes two coins",
        "treason:9": "Each player also starts with $2",
    },
    "first_player": {"rulebook:50": "won the last game starts"},
    "first_player = seat_0": {"classroom:13": "Starting with the player to the left of the dealer"},
    "first_player = last_winner": {"rulebook:50": "The person who won the last game starts"},
    "attacks_blocked_by": {
        "rulebook:141": "The player who is being assassinated may",
        "rulebook:149": "The player who is being stolen from",
    },
    "attacks_blocked_by = target": {
        "rulebook:141": "The player who is being assassinated may claim the Contessa",
        "rulebook:149": "The player who is being stolen from may claim",
        "blog:44": "block your attempt to steal from them",
        "andy:34": "only the targeted player can block",
        "treason:18": "If the targeted player has the contessa",
        "treason:19": "If the targeted player has the ambassador",
    },
    "attacks_blocked_by = anyone": {"classroom:28": "any other player may Block it"},
    "block_challenged_by": {"rulebook:156": "Any other player can issue a challenge"},
    "block_challenged_by = anyone": {
        "rulebook:156": "regardless of whether they are involved in the action",
        "blog:51": "any other player, including myself",
        "andy:15": "bluffed or challenged by anyone",
        "treason:29": "If anyone suspects that the blocking player",
    },
    "block_challenged_by = actor": {"classroom:30": "acting player MAY choose to Challenge the Blocking"},
    "prove": {"rulebook:159": "or do not wish to"},
    "prove = choose": {"rulebook:159": "If they can't, or do not wish to, prove it"},
    "prove = automatic": {
        "treason:24": "you must show the role that you claimed",
        "treason:26": "you do not have the role that you claimed",
    },
    "shown_card": {"rulebook:163": "first return that card to the Court deck"},
    "shown_card = replaced": {
        "rulebook:163": "re-shuffle the Court deck and take a random replacement card",
        "blog:53": "you return that card to the deck and draw",
        "classroom:35": "place the revealed card back in the deck",
        "andy:30": "must return card to the court deck",
        "treason:24": "shuffled back into the deck",
    },
    "shown_card = may_keep": {"andy:31": "should be able to choose to keep this card"},
    "block_after_failed_challenge": {
        "rulebook:76": "Challenges are resolved first",
        "rulebook:172": "the successful assassination",
        "andy:27": "you don't block (with Contessa) or successfully challenge",
    },
    "block_after_failed_challenge = yes": {
        "rulebook:76": "Challenges are resolved first before any action or counteraction",
        "rulebook:172": "then 1 influence for the successful assassination",
        "andy:27": "you don't block (with Contessa) or successfully challenge",
    },
    "block_after_failed_challenge = never": {
        "treason:24": "your original action is completed as usual",
        "treason:29": "If your action is not challenged",
    },
    "block_after_failed_challenge = not_challenger": {"blog:59": "you lose both of your cards"},
    "dead_target": {"rulebook:78": "return all their coins"},
    "dead_target = nothing": {"rulebook:78": "return all their coins to the Treasury"},
    "forced_coup": {
        "rulebook:87": "they must launch a Coup",
        "rulebook:95": "you are required to launch a Coup",
        "classroom:19": "you must take this action",
        "andy:17": "you must Coup",
    },
    "forced_coup = 10": {
        "rulebook:87": "with 10 (or more) coins they must launch",
        "rulebook:95": "with 10 (or more) coins you are required",
        "classroom:19": "with 10+ coins, you must take this action",
        "andy:17": "If you have $10 or more, you must Coup",
    },
    "exchange_draw": {"rulebook:122": "First take 2 random cards"},
    "exchange_draw = 1": {
        "rulebook:245": "First take one random card",
        "blog:42": "you draw a random card from the deck",
        "treason:36": "Draw one new role from the deck",
    },
    "exchange_draw = 2": {
        "rulebook:122": "First take 2 random cards from the Court deck",
        "classroom:25": "Draw two Influence cards",
        "classroom:26": "Place two cards back in the deck",
        "andy:24": "Draw two cards, then return any two",
        "treason:17": "can draw two new roles",
    },
    "exchange_return": {"rulebook:122": "Choose which, if any"},
    "exchange_return = any": {
        "rulebook:122": "Choose which, if any, to exchange",
        "rulebook:245": "Choose which, if any to exchange",
        "andy:24": "return any two to the deck",
    },
    "exchange_return = claimed_role": {"blog:42": "put your ambassador back in the deck"},
    "inquisitor": {"rulebook:241": "Inquisitor Variant", "rulebook:252": "the Inquisitor may Block Stealing"},
    "inquisitor = False": {"rulebook:38": "3 Ambassador Cards"},
    "inquisitor = True": {
        "rulebook:241": "Inquisitor Variant",
        "rulebook:252": "the Inquisitor may Block Stealing",
        "treason:34": "a new role, the inquisitor",
        "treason:38": "used instead of the ambassador",
    },
    "examine_pick": {"rulebook:250": "First the selected opponent chooses"},
    "examine_pick = target": {"rulebook:250": "the selected opponent chooses one of their face down cards"},
    "examine_pick = random": {"treason:37": "(picked at random)"},
    "examine_replace": {"rulebook:250": "before returning the given card"},
    "examine_replace = draw_first": {"rulebook:250": "before returning the given card to the Court deck"},
    "reformation": {
        "rulebook:213": "Reformation adds Allegiances",
        "rulebook:237": "If the challenged player does not",
    },
    "reformation = False": {"rulebook:213": "Reformation is an expansion to Coup"},
    "reformation = True": {
        "rulebook:213": "support of the government (Loyalists) or the resistance (Reformists)",
        "rulebook:237": "does not have the Duke",
        "treason:41": "starts off as a loyalist or a reformist",
        "treason:55": "all players are on the same team",
    },
    "allegiance_start": {"rulebook:220": "The start player chooses", "rulebook:222": "each player alternates"},
    "allegiance_start = starter_chooses": {
        "rulebook:220": "The start player chooses an Allegiance",
        "rulebook:222": "each player alternates Allegiance",
    },
    "allegiance_start = assigned": {"treason:41": "Each player starts off as a loyalist"},
    "embezzle_concede": {"rulebook:235": "may concede and lose the challenge"},
    "embezzle_concede = True": {"rulebook:235": "that does not have the Duke may concede"},
    "draft": {"rulebook:187": "As a variant", "rulebook:191": "Shuffle the third set"},
    "draft = False": {"rulebook:45": "Shuffle all the character cards and deal 2"},
    "draft = True": {"rulebook:187": "As a variant", "rulebook:191": "deal one card to each player"},
    # The decisions.
    "ours:no_later_challenge": {"rulebook:157": "challenges cannot be retroactively issued"},
    "ours:one_block": {"classroom:31": "the action goes through as normal"},
    "ours:separate_moves": {"rulebook:242": "only one of which may be taken"},
    "ours:order": {"rulebook:163": "they first return that card"},
    "ours:bans_are_closed": {
        "rulebook:226": "nor block a Foreign Aid attempt",
        "rulebook:254": "A player cannot Examine",
    },
    # The sentences.
    "turns": {"rulebook:73": "played in turns in clockwise order"},
    "one_action": {"rulebook:73": "A player may not pass", "rulebook:84": "any action they want and can afford"},
    "coup_first": {"rulebook:87": "must launch a Coup that turn as their only action"},
    "targets": {"rulebook:110": "against another player"},
    "targets_of_sides": {"rulebook:110": "against another player", "rulebook:231": "of one other player"},
    "paid": {
        "rulebook:95": "Pay 7 coins to the Treasury and launch",
        "rulebook:110": "Pay 3 coins to the Treasury and launch",
        "rulebook:167": "are returned to the player",
    },
    "order": {"rulebook:76": "Challenges are resolved first before any action or counteraction"},
    "answers": {
        "rulebook:94": "Can be blocked by the Duke",
        "rulebook:95": "A Coup is always successful",
        "rulebook:154": "using character influence can be challenged",
    },
    "one_of_two": {"rulebook:242": "only one of which may be taken in a turn"},
    "bluff": {"rulebook:86": "telling the truth or bluffing", "rulebook:127": "telling the truth or bluffing"},
    "anyone_challenges": {"rulebook:156": "regardless of whether they are involved in the action"},
    "own_side_challenges": {
        "rulebook:156": "Any other player can issue a challenge",
        "treason:48": "you can challenge other players on your team",
    },
    "first_challenge": {"rulebook:157": "challenges cannot be retroactively issued"},
    "shown": {
        "rulebook:161": "immediately loses an influence",
        "rulebook:163": "they first return that card",
        "rulebook:165": "Then the action or counteraction is resolved",
    },
    "refund": {"rulebook:161": "Whoever loses the challenge", "rulebook:167": "are returned to the player"},
    "aid_blocked": {"rulebook:133": "Any player claiming the Duke may counteract"},
    "aid_blocked_by_side": {
        "rulebook:133": "Any player claiming the Duke may counteract",
        "rulebook:226": "nor block a Foreign Aid attempt",
    },
    "several_blocks": {"classroom:31": "the action goes through as normal"},
    "block_names": {"rulebook:127": "may claim to influence any of the characters"},
    "block_stands": {
        "rulebook:129": "paid as the cost of the action remain spent",
        "rulebook:143": "remains spent",
        "rulebook:159": "If they can, the challenger loses",
        "rulebook:161": "immediately loses an influence",
    },
    "block_falls": {
        "rulebook:161": "immediately loses an influence",
        "rulebook:174": "bluff about having the Contessa",
        "classroom:31": "the action goes through as normal",
    },
    "influence": {
        "rulebook:61": "Facedown cards in front of a player represent",
        "rulebook:63": "no longer provide influence",
    },
    "loser_picks": {"rulebook:63": "Revealed cards remain face up", "rulebook:65": "Each player always chooses which"},
    "exiled": {"rulebook:78": "return all their coins to the Treasury"},
    "end": {"rulebook:80": "when there is only one player left", "rulebook:182": "There is no second place"},
    "steal": {"rulebook:116": "If they only have one coin, take only one"},
    "exchange": {"rulebook:122": "return two cards to the Court deck"},
    "keep_all": {"rulebook:122": "Choose which, if any"},
    "one_card": {"rulebook:250": "chooses one of their face down cards"},
    "examined": {"rulebook:250": "may either hand that card back"},
    "bans": {"rulebook:226": "A player cannot Coup, Assassinate, Steal from", "treason:41": "on the same team"},
    "bans_with_inquisitor": {
        "rulebook:226": "A player cannot Coup, Assassinate, Steal from",
        "rulebook:254": "cannot Examine another player of the same Allegiance",
        "treason:41": "on the same team",
    },
    "one_side": {
        "rulebook:226": "unless all players are of the same Allegiance",
        "treason:55": "everyone can attack whoever they want",
    },
    "allies_may_block": {"classroom:28": "any other player may Block it"},
    "reserve": {"rulebook:231": "are placed on the Treasury Reserve card"},
    "embezzle": {"rulebook:234": "Unless you have the Duke", "rulebook:235": "Anyone can challenge"},
    "embezzle_duke": {
        "rulebook:235": "return the coins taken to the Treasury Reserve card",
        "treason:53": "must forfeit an influence and return the money",
    },
    "embezzle_proof": {
        "rulebook:237": "they must show their influence card(s)",
        "treason:24": "you must show the role",
    },
    "conceded": {"rulebook:235": "may concede and lose the challenge"},
    "embezzle_shown": {"rulebook:237": "shuffled back into the court deck and replaced randomly"},
    "sealed": {"rulebook:189": "secretly chooses one card and discards the rest"},
    "hidden": {
        "rulebook:45": "must keep them face down",
        "rulebook:47": "must be kept visible",
        "rulebook:63": "visible to everyone",
    },
    "treasury": {"rulebook:41": "50 coins", "treason:9": "an unlimited central store of money"},
    "odd_table": {"rulebook:222": "each player alternates Allegiance from the previous player"},
    "seat_0 says": {"rulebook:50": "won the last game starts", "classroom:13": "the player to the left of the dealer"},
    "turn_limit says": {"rulebook:80": "The game ends when there is only one player left"},
    "block_after": {
        "rulebook:76": "Challenges are resolved first",
        "rulebook:172": "lose 1 influence for the lost challenge",
        "andy:27": "you don't block (with Contessa)",
        "andy:33": "one card for the assassination and one card",
        "treason:29": "If your action is not challenged",
        "treason:31": "two ways to lose both your influences",
    },
    "block_after says": {
        "rulebook:76": "Challenges are resolved first",
        "rulebook:172": "the successful assassination",
        "andy:27": "you don't block (with Contessa)",
        "andy:33": "lose two cards in one turn",
        "treason:29": "a player may instead choose to block",
        "treason:31": "by incorrectly challenging an assassination",
    },
    "block_never": {
        "treason:29": "a player may instead choose to block",
        "treason:31": "by incorrectly challenging an assassination",
    },
    "block_never says": {
        "treason:29": "If your action is not challenged",
        "treason:31": "two ways to lose both your influences",
    },
    "block_not_by_challenger": {"blog:59": "you lose both of your cards"},
    "block_not_by_challenger says": {"blog:59": "you lose both of your cards"},
    "aside": {"andy:31": "not what the rules say"},
    "aside says": {"andy:31": "that's not what the rules say"},
    "sides_drawn": {"treason:41": "Each player starts off"},
    "sides_drawn says": {"treason:41": "Each player starts off"},
    "no_talk": {"rulebook:178": "not allowed to reveal any of their cards", "rulebook:180": "No coins can be given"},
}


def lines(source: str) -> set[str]:
    """Return the lines that a source cites: of a range, its first and its last."""
    found = set()
    for document, numbers in re.findall(rf"({'|'.join(DOCUMENTS)}):(\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)", source):
        found |= {f"{document}:{line}" for line in re.split(", |-", numbers)}
    return found


def cited() -> Iterator[tuple[str, set[str]]]:
    """Yield what a field, a value, a sentence or a decision is called, and the lines that it cites, maybe none."""
    for field in FIELDS:
        yield field.name, lines(field.source)
        known = [(option.value, option.source) for option in field.options] + [*field.cited]
        yield from ((f"{field.name} = {value}", lines(source)) for value, source in known)
    for row in (row for _, rows in SECTIONS for row in rows):
        if isinstance(row, Sentence):
            yield row.name, lines(row.source)
            if isinstance(row.text, str):
                yield f"{row.name} says", lines(row.text)
    for name, text in DECISIONS.items():
        yield f"ours:{name}", lines(text)


def test_every_citation_has_its_words_and_every_words_their_citation() -> None:
    """A citation without words can't be checked."""
    expected = {name: found for name, found in cited() if found}
    assert {name: set(words) for name, words in QUOTED.items()} == expected


def test_the_words_stand_in_the_lines_that_are_cited(stands: Callable[[str, str], bool]) -> None:
    """The rule documents, where they are beside the project."""
    quotes = [(name, line, words) for name, quoted in QUOTED.items() for line, words in quoted.items()]
    assert [quote for quote in quotes if not stands(quote[1], quote[2])] == []


def test_quotations_are_short() -> None:
    """The documents belong to others: a few words are enough to find the line."""
    assert [words for quotes in QUOTED.values() for words in quotes.values() if len(words.split()) > 10] == []


# ---------------------------------------------------------------- what the sheets hold


def test_every_field_stands_in_the_sheet_once() -> None:
    """The table of actions, the table of the deck and the title show the others."""
    shown = {"name", "min_seats", "max_seats", "turn_limit", "exchange_draw"}
    placed = [row for _, rows in SECTIONS for row in rows if isinstance(row, str)]
    assert len(placed) == len(set(placed))
    assert {*placed} == {field.name for field in FIELDS} - shown


@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision_of_ours_stands_in_a_sheet(name: str) -> None:
    """What no document says is found out from the sheet, or nowhere."""
    sources = [option.source for field in FIELDS for option in field.options]
    sources += [source for field in FIELDS for _, source in field.cited]
    sources += [row.source for _, rows in SECTIONS for row in rows if isinstance(row, Sentence)]
    assert any(re.search(rf"ours:{name}\b", source) for source in sources)


def test_every_decision_that_is_cited_exists() -> None:
    """A decision that went, or was misspelt."""
    sources = [row.source for _, rows in SECTIONS for row in rows if isinstance(row, Sentence)]
    sources += [option.source for field in FIELDS for option in field.options]
    assert {name for source in sources for name in re.findall(r"ours:(\w+)", source)} - {*DECISIONS} == set()


def test_every_sentence_has_a_name_of_its_own() -> None:
    """The scenarios cite them by name."""
    names = [row.name for _, rows in SECTIONS for row in rows if isinstance(row, Sentence)]
    assert len(names) == len(set(names))
