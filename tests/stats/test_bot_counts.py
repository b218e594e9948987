"""Tests of counts in games of known players. Source: the descriptions of `Profile` in arena/stats/report.py."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from arena import coup
from arena.referee import Fault, Record
from arena.replay import make_replay_object
from arena.stats import ALL, StatsAccumulator, proportion_difference
from arena.stats.report import Profile, StatsReport, compare_bots, make_stats_report, rates_of
from tests.replay.games import play_game, random_game

TABLES = [(name, seats) for name, rules in coup.PRESETS.items() for seats in (2, 4) if not rules.problem(seats)]


def profiles_of(*records: object) -> StatsReport:
    accumulator = StatsAccumulator()
    for record in records:
        accumulator.add(record)  # type: ignore[arg-type]
    return make_stats_report(accumulator, [], [])


def bot(found: StatsReport, name: str) -> Profile:
    return next(each for each in found.bots if each.bot == name)


def taxes_and_doubts(seen: coup.View, legal: Sequence[coup.Move]) -> coup.Move:
    """Seat 0 always taxes, or must coup seat 1; seat 1 takes income and challenges every claim."""
    for wanted in (
        (coup.ActionMove(coup.Action.TAX), coup.ActionMove(coup.Action.COUP, 1 - seen.seat))
        if seen.seat == 0
        else (coup.CHALLENGE,)
    ):
        if wanted in legal:
            return wanted
    return legal[0]


@pytest.mark.parametrize("rules", ["coup", "reformation"])
def test_counts_use_only_public_events(rules: str) -> None:
    """A seat that wanted to challenge, and came too late, isn't counted: no other seat learns of it."""
    records = [random_game(coup.PRESETS[rules], 4, seed) for seed in range(3)]
    found, seen, wanted = profiles_of(*records), Counter[tuple[str, int]](), 0
    for record in records:
        seating = record.games[0].seating
        for step in make_replay_object(record)["games"][0]["steps"]:
            for event in step["events"]:
                if event["event"] in ("challenge", "block"):
                    seen[event["event"], seating[event["seat"]]] += 1
    for bot_number, name in enumerate(records[0].header.bots):
        numbers = bot(found, name).visible_at_table
        assert numbers["challenged"].count == seen["challenge", bot_number]
        assert numbers["blocked"].count == seen["block", bot_number]
        assert numbers["right"].total == seen["challenge", bot_number] > 0
        wanted += int(bot(found, name).challenges["made"].count)
    assert wanted > sum(count for (what, _), count in seen.items() if what == "challenge")
    lost = sum(profile.losses["unproven"].count for profile in found.bots)
    assert sum(profile.visible_at_table["right"].count for profile in found.bots) == lost


def test_bluffs_and_challenges_are_counted_by_the_held_cards() -> None:
    """Over ten deals, compared to the events of replays with all cards."""
    records = [play_game(coup.COUP, 2, seed, taxes_and_doubts) for seed in range(10)]
    found = profiles_of(*records)
    events = [
        event
        for record in records
        for step in make_replay_object(record)["games"][0]["steps"]
        for event in step["events"]
    ]
    number = Counter(event["event"] for event in events)
    taxes = sum(event["event"] == "action" and event["action"] == "tax" for event in events)
    first, second = bot(found, "bot0"), bot(found, "bot1")
    assert 0 < number["unproven"] < taxes
    for name in (ALL, "duke"):
        assert (first.bluffs[name].count, first.bluffs[name].total) == (number["unproven"], taxes)
        assert first.challenged[name].value == 1
        assert (first.challenged_bluffs[name].count, first.challenged_bluffs[name].total) == (
            number["unproven"],
            number["unproven"],
        )
    assert (second.challenges["made"].count, second.challenges["made"].total) == (taxes, taxes)
    assert (second.challenges["right"].count, second.challenges["right"].total) == (number["unproven"], taxes)
    assert second.challenges["of_lies"].total == number["unproven"]
    assert second.bluffs == {}
    unproven = sum(event["event"] == "lost" and event["seat"] == 0 for event in events)
    assert (first.losses["unproven"].count, first.losses["unproven"].total) == (unproven, unproven)
    wrong = sum(event["event"] == "lost" and event["seat"] == 1 for event in events)
    assert second.losses["wrong_challenge"].count + second.losses["coup"].count == wrong


def steals_and_blocks(seen: coup.View, legal: Sequence[coup.Move]) -> coup.Move:
    """Seat 0 steals from seat 1; seat 1 blocks as the captain, without a challenge."""
    steal, block = (
        coup.ActionMove(coup.Action.STEAL, 1),
        coup.Block(legal[-1].role) if isinstance(legal[-1], coup.Block) else coup.PASS,
    )
    return steal if steal in legal and seen.seat == 0 else block if block in legal else legal[0]


def test_blocks_and_attacks_are_counted() -> None:
    """Every steal has the target bot1 and is blocked; some blocks are bluffs."""
    found = profiles_of(*(play_game(coup.COUP, 2, seed, steals_and_blocks) for seed in range(6)))
    first, second = bot(found, "bot0"), bot(found, "bot1")
    assert first.attack_counts["bot1"]["steal"] == first.actions["steal"].count > 0
    assert first.attack_targets["bot1"].value == 1
    assert first.effective_actions["steal"].value == 0
    assert second.blocks["made"].value == second.blocks["as_target"].value == 1
    assert second.blocks["made"].total == first.actions["steal"].count
    assert second.blocks["bluffed"].count == second.bluffs[ALL].count
    assert 0 < second.bluffs[ALL].value < 1
    assert second.challenged[ALL].count == 0


@pytest.mark.parametrize(("name", "seats"), TABLES)
def test_numbers_add_up_in_every_game(name: str, seats: int) -> None:
    """One win a game, one action a turn, one answer a request; only claims are challenged."""
    records = [random_game(coup.PRESETS[name], seats, seed) for seed in range(3)]
    found = profiles_of(*records)
    games = [record.games[0] for record in records]
    assert sum(each.win_rate[ALL].count for each in found.bots) == pytest.approx(3)
    assert sum(each.decision_times[ALL].requests for each in found.bots) == sum(len(game.moves) for game in games)
    for each in found.bots:
        turns = {rate.total for rate in each.actions.values()}
        assert len(turns) == 1
        assert sum(rate.count for rate in each.actions.values()) == turns.pop()
        assert sum(rate.count for rate in each.losses.values()) in {rate.total for rate in each.losses.values()} | {0}
        assert sum(rate.total for role, rate in each.bluffs.items() if role != ALL) == (
            each.bluffs[ALL].total if each.bluffs else 0
        )
        assert sum(sum(made.values()) for made in each.attack_counts.values()) == sum(
            rate.count for rate in each.attack_targets.values()
        )
        assert set(each.win_rate_by_seat) == {each.bot.removeprefix("bot")}
    for section, _, rate in (rates for each in found.bots for rates in rates_of(each)):
        assert rate.low is None or rate.low <= rate.value <= rate.high, section
    acted = sum(
        event["event"] == "action"
        for record in records
        for step in make_replay_object(record)["games"][0]["steps"]
        for event in step["events"]
    )
    assert acted == sum(rate.count for each in found.bots for rate in each.actions.values())


def test_win_rates_by_players_left_are_of_those_players() -> None:
    """Two are left in each game at some time, and one of them wins."""
    records = [random_game(coup.COUP, 4, seed) for seed in range(5)]
    found = profiles_of(*records)
    for left in ("2", "3"):
        rates = [each.win_rate_by_players_left[left] for each in found.bots if left in each.win_rate_by_players_left]
        assert sum(rate.total for rate in rates) == int(left) * len(records)
        assert sum(rate.count for rate in rates) == len(records)
    assert sum(each.elimination_turns.games for each in found.bots if each.elimination_turns) == 3 * len(records)
    assert all(each.bot not in each.attack_targets for each in found.bots)
    blocks = [(name, rate.total) for each in found.bots for name, rate in each.blocks.items()]
    made, aimed = (sum(number for name, number in blocks if name == wanted) for wanted in ("made", "as_target"))
    steals = sum(each.actions[action].count for each in found.bots for action in ("steal", "assassinate"))
    assert 0 < aimed < made
    assert aimed <= steals


def test_a_draw_is_a_part_of_a_win_for_each_survivor() -> None:
    found = profiles_of(random_game(replace(coup.COUP, turn_limit=2), 4, 1))
    assert [each.win_rate[ALL].count for each in found.bots] == [0.25] * 4
    assert found.records.draws == 1


def test_a_forfeit_is_no_answer_and_costs_the_cards_that_were_left() -> None:
    """A seat that leaves at its first turn has answered no request, and its faults are reported."""
    record = play_game(coup.COUP, 2, 1, lambda seen, legal: coup.FORFEIT if seen.seat == 0 else legal[0])
    game = replace(record.games[0], faults=(Fault(0, "exited", step=0),))
    loser = bot(profiles_of(Record(record.header, (game,))), "bot0")
    assert (loser.losses["forfeit"].count, loser.losses["forfeit"].total) == (2, 2)
    assert loser.decision_times == {}
    assert loser.faults_by_code == {"exited": 1}


def test_results_of_two_bots_of_the_same_matches_are_correlated() -> None:
    """Of two seats one wins what the other loses: the interval is wider by about the root of 2."""
    accumulator = StatsAccumulator(("bot0", "bot1"))
    for seed in range(20):
        accumulator.add(random_game(coup.COUP, 2, seed))
    found = make_stats_report(accumulator, [], [])
    pair = bot(found, "bot0"), bot(found, "bot1")
    comparison = compare_bots(found, accumulator, *pair).comparison
    assert comparison
    won = comparison.bots[0].differences["win_rate"][ALL].difference
    _, apart = proportion_difference(
        accumulator.bots["bot0"].tallies["win_rate", ALL], accumulator.bots["bot1"].tallies["win_rate", ALL]
    )
    assert apart is not None
    assert won.low is not None
    assert won.value == pytest.approx(pair[0].win_rate[ALL].value - pair[1].win_rate[ALL].value)
    assert won.high - won.low > 1.3 * (apart[1] - apart[0])
    with pytest.raises(ValueError, match="pairs these bots"):
        compare_bots(found, accumulator, *reversed(pair))
