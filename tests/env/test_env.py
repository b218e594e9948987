"""The environment: PettingZoo's own tests, observations, actions, rewards and seeds.

Sources: docs/reference/environment.md; PettingZoo's documentation for the promises of its forms.
"""

import copy
import math
import os
import pickle
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, seed_test

from arena import coup
from arena.env import ObservationEncoder, env, parallel_env, raw_env
from arena.local import LocalPlayer, play, play_match
from arena.referee import MatchSettings, MatchSpec
from protocol.kits.coup_env import Player
from tests.alternate_deals import disguise, redeal
from tests.cases import each
from tests.documents import blocks, document
from tests.games import played, rules_of

Game = tuple[str, int, int]  # the ruleset's name, seats, seed

GAMES: list[Game] = [
    *(("coup", seats, 1) for seats in (2, 3, 6, 10)),
    *(
        (name, seats, 1)
        for name, rules in coup.PRESETS.items()
        if name != "coup"
        for seats in [*coup.seat_counts(rules)][1::5]
    ),
    ("duel", 2, 1),
    *(("duel", 2, seed) for seed in range(2, 6)),
    *((f"random {seed}", 2 + seed % 5, seed) for seed in range(700, 712)),
]
# PettingZoo's test warns of every environment with a mask in its observations, its own board games too.
dictionaries = pytest.mark.filterwarnings("ignore:Observation (space for each agent|is not a NumPy)")


def chosen(mask: Any, rng: random.Random) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


# --- PettingZoo's own tests -------------------------------------------------------------------------------------------


@dictionaries
@pytest.mark.parametrize(("rules", "seats"), [("coup", 4), ("duel", 2), ("treason", 10), ("andy", 3)])
def test_pettingzoo_finds_nothing_in_either_form(rules: str, seats: int) -> None:
    """Every warning of pettingzoo.test is an error but those of `dictionaries`."""
    api_test(env(rules=rules, seats=seats), num_cycles=40)
    parallel_api_test(parallel_env(rules=rules, seats=seats), num_cycles=40)
    seed_test(lambda: env(rules=rules, seats=seats), num_cycles=40)


# --- observations -----------------------------------------------------------------------------------------------------


@each("game", GAMES)
def test_unseen_cards_change_no_number_of_an_observation(game: Game) -> None:
    """Unseen cards are dealt again, and private fields in others' events are replaced: the same bytes."""
    name, seats, seed = game
    rules = rules_of(name, seats)
    rng = random.Random(seed)
    watchers: list[ObservationEncoder] = []
    for step in played(*game):
        state, events = step.before, step.events
        watchers = watchers or [
            ObservationEncoder(state),
            *(ObservationEncoder(redeal(state, seat, rng)) for seat in range(seats)),
        ]
        true, *others = watchers
        for seat in range(seats):
            here = true.observe(coup.view_from_seat(state, seat))
            there = others[seat].observe(coup.view_from_seat(redeal(state, seat, rng), seat))
            assert here.tobytes() == there.tobytes()
        true.add(events)
        for seat in range(seats):
            others[seat].add(disguise(events, seat, rng, rules))


@pytest.mark.parametrize("name", ["coup", "treason", "andy"])
def test_unseen_cards_change_no_observation_and_no_mask(name: str) -> None:
    """The environment adds a mask to the observation of the test above."""
    rng = random.Random(1)
    game = env(rules=name, seats=4)
    game.reset(seed=1)
    inner = game._game  # only a test replaces the state of an environment
    for agent in game.agent_iter():
        observed, _, terminated, truncated, _ = game.last()
        if terminated or truncated:
            game.step(None)
            continue
        state, legal = inner.state, inner._legal
        inner.state, inner._legal = redeal(state, int(agent[-1]), rng), {}
        other = game.observe(agent)
        inner.state, inner._legal = state, legal
        assert other["observation"].tobytes() == observed["observation"].tobytes()
        assert other["action_mask"].tobytes() == observed["action_mask"].tobytes()
        game.step(chosen(observed["action_mask"], rng))


@each("game", GAMES)
def test_every_field_agrees_with_the_view(game: Game) -> None:
    name, seats, _ = game
    rules = rules_of(name, seats)
    fields = env(rules=rules, seats=seats).fields
    watcher: ObservationEncoder | None = None
    counts: Counter[tuple[str, int, str]] = Counter()
    for step in played(*game):
        state, events = step.before, step.events
        watcher = watcher or ObservationEncoder(state)
        board = state.board
        for seat in {board.phase.asked[0], (board.actor + 1) % seats}:
            sight = coup.view_from_seat(state, seat)
            array = watcher.observe(sight)
            assert len(array) == max(place.stop for place, _ in fields.values())
            read = {field: array[place].tolist() for field, (place, _) in fields.items()}
            phase = board.phase
            pending, claim = getattr(phase, "pending", None), getattr(phase, "claim", None)
            assert (read["turn"], read["deck"], read["reserve"]) == ([board.turn], [board.deck], [board.reserve])
            assert lit_words(read, fields, "kind") == [KINDS[type(phase).__name__]]
            assert lit_words(read, fields, "action") == ([pending.action.value] if pending else [])
            assert lit_words(read, fields, "reason") == ([phase.reason.value] if hasattr(phase, "reason") else [])
            assert counted_roles(rules, read["claim"]) == ([claim.role] if claim else [])
            assert read["denies"] + read["blocks"] == ([claim.denies, claim.block] if claim else [0, 0])
            assert read["proven"] == [getattr(phase, "proven", False)]
            assert counted_roles(rules, read["cards"]) == sorted(sight.cards)
            assert counted_roles(rules, read["drawn"]) == sorted(sight.drawn)
            assert counted_roles(rules, read["discards"]) == sorted(sight.discards)
            assert counted_roles(rules, read["seen"]) == ([sight.seen] if sight.seen else [])
            assert Counter(counted_roles(rules, read["in_deck"])) <= Counter(state.deck)
            for step in range(seats):
                other = (seat + step) % seats
                row = {
                    field.partition(": ")[2]: value
                    for field, value in read.items()
                    if field.startswith(f"player {step}:")
                }
                assert (row["coins"], row["influence"]) == ([board.coins[other]], [board.influence[other]])
                assert counted_roles(rules, row["revealed"]) == sorted(board.revealed[other])
                side = board.sides[other].value if board.sides else None
                assert row["side"] == [side == "loyalist", side == "reformist"]
                assert row["actor"] == [other == board.actor]
                assert row["target"] == [pending is not None and pending.target == other]
                assert row["claimant"] == [claim is not None and claim.seat == other]
                assert row["challenger"] == [getattr(phase, "challenger", None) == other]
                assert Counter(counted_roles(rules, row["known"])) <= Counter(state.hands[other])
                assert not {*counted_roles(rules, row["lacks"])} & {*state.hands[other]}
                for count in ("claimed", "shown", "caught"):
                    assert row[count] == [counts[count, other, role] for role in rules.roles]
                assert row["denied"] + row["challenges"] == [
                    counts["denied", other, ""],
                    counts["challenges", other, ""],
                ]
        for event in events:
            match event:
                case coup.ActionDeclared(seat, _, _, claimed, denies) if claimed:
                    counts["denied" if denies else "claimed", seat, "" if denies else claimed] += 1
                case coup.Blocked(seat, claimed):
                    counts["claimed", seat, claimed] += 1
                case coup.Challenged(seat):
                    counts["challenges", seat, ""] += 1
                case coup.Shown(seat, role):
                    counts["shown", seat, role] += 1
                case coup.Unproven(seat, role, False):
                    counts["caught", seat, role] += 1
        watcher.add(events)


KINDS = {
    "Turn": "turn",
    "ChallengeWindow": "challenge",
    "BlockWindow": "block",
    "Proving": "prove",
    "Losing": "lose",
    "Exchanging": "exchange",
    "DecidingKeepShown": "keep_shown",
    "Revealing": "examine_show",
    "Examining": "examine_decide",
    "Drafting": "draft",
    "ChoosingSide": "allegiance",
}


def lit_words(read: dict[str, list[int]], fields: dict[str, tuple[slice, str]], name: str) -> list[str]:
    """Return the words whose bits are set in a field that lists them."""
    words = fields[name][1].split(": ")[1].split(", ")
    return [word for word, on in zip(words, read[name], strict=True) if on]


def counted_roles(rules: coup.Ruleset, counted: list[int]) -> list[str]:
    return [role for role, count in zip(rules.roles, counted, strict=True) for _ in range(count)]


def test_an_observation_is_a_copy() -> None:
    game = env()
    game.reset(seed=1)
    first = game.observe("player_0")
    kept = first["observation"].copy(), first["action_mask"].copy()
    first["observation"][:] = 9
    first["action_mask"][:] = 0
    again = game.observe("player_0")
    assert (again["observation"] == kept[0]).all()
    assert (again["action_mask"] == kept[1]).all()


def test_a_sealed_answer_changes_no_observation_of_its_window() -> None:
    """Seats of one window are asked in order."""
    compared = 0
    for seed in range(3):
        actions: list[int] = []  # what was done in this game so far
        while len(actions) < 40:
            worlds = [env(seats=5, rules="classroom") for _ in range(2)]
            for world in worlds:
                world.reset(seed=seed)
                for action in actions:
                    world.step(action)
            asked = [f"player_{seat}" for seat in worlds[0]._game.asked]
            if not asked or any(worlds[0].terminations.values()):
                break
            legal = np.flatnonzero(worlds[0].last()[0]["action_mask"]).tolist()
            for place, agent in enumerate(asked[:-1]):
                worlds[0].step(np.flatnonzero(worlds[0].observe(agent)["action_mask"])[0])
                worlds[1].step(np.flatnonzero(worlds[1].observe(agent)["action_mask"])[-1])
                assert worlds[0].agent_selection == worlds[1].agent_selection == asked[place + 1]
                assert worlds[0].rewards == worlds[1].rewards
                for later in asked[place + 1 :]:
                    one, other = (world.observe(later) for world in worlds)
                    assert (one["observation"] == other["observation"]).all()
                    assert (one["action_mask"] == other["action_mask"]).all()
                    compared += 1
            quiet = [worlds[0].action_words.index("-")] * (len(asked) - 1)
            actions += [*quiet, legal[len(actions) % len(legal)] if not quiet else quiet[0]]
    assert compared > 50


# --- actions ----------------------------------------------------------------------------------------------------------


@each("game", GAMES)
def test_the_mask_allows_what_is_legal_and_nothing_else(game: Game) -> None:
    """Words are the moves' notation, with targets counted clockwise from the agent; other agents wait."""
    name, seats, seed = game
    rng = random.Random(seed)
    table = env(rules=rules_of(name, seats), seats=seats)
    table.reset(seed=seed)
    assert table.action_words[0] == "wait"
    assert list(table.action_words[1:]) == sorted(set(table.action_words[1:]))
    for agent in table.agent_iter():
        observed, _, terminated, truncated, _ = table.last()
        if terminated or truncated:
            table.step(None)
            continue
        state = table._game.state
        seat = int(agent.removeprefix("player_"))
        words = {table.action_words[action] for action in np.flatnonzero(observed["action_mask"])}
        assert {notation_of(word, seat, seats) for word in words} == {
            coup.format_move(move) for move in coup.list_legal_moves(coup.view_from_seat(state, seat))
        }
        for other in set(range(seats)) - set(state.board.phase.asked):
            mask = table.observe(f"player_{other}")["action_mask"]
            assert np.flatnonzero(mask).tolist() == [0]
        table.step(chosen(observed["action_mask"], rng))


def notation_of(word: str, seat: int, seats: int) -> str:
    verb, plus, step = word.partition(":+")
    return f"{verb}:{(seat + int(step)) % seats}" if plus else word


@pytest.mark.parametrize("action", [0, 999, -1, None, "tax", 10.5, math.inf])  # 10 is legal
def test_a_masked_action_is_refused(action: object) -> None:
    game = env(seats=2)
    game.reset(seed=1)
    before = game.observe("player_0")["observation"].tobytes()
    kind = "" if isinstance(action, int) else ", which isn't an integer"
    with pytest.raises(ValueError, match=rf"player_0 gave the action [^,]*{kind}; its mask allows .*\(income\)"):
        game.step(action)
    assert game.observe("player_0")["observation"].tobytes() == before
    assert game.agent_selection == "player_0"


@pytest.mark.parametrize(
    "too_early",
    [lambda: env().step(1), lambda: env().observe("player_0"), lambda: parallel_env().step({"player_0": 1})],
)
def test_methods_before_the_first_reset_raise(too_early: Callable[[], object]) -> None:
    with pytest.raises(AttributeError, match=r"call reset\(\) first"):
        too_early()


def test_rules_and_seats_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown preset 'chess'; the presets are coup, duel"):
        env(rules="chess")
    with pytest.raises(ValueError, match="not to 4"):
        env(rules="duel")
    with pytest.raises(ValueError, match="2 to 10 players, not 11"):
        parallel_env(seats=11)
    with pytest.raises(ValueError, match="invalid render_mode 'human'"):
        raw_env(render_mode="human")


# --- the course of a game ---------------------------------------------------------------------------------------------


def play_random_game(game: Any, rng: random.Random) -> dict[str, float]:
    total: Counter[str] = Counter()
    for agent in game.agent_iter():
        observed, reward, terminated, truncated, _ = game.last()
        total[agent] += reward
        game.step(None if terminated or truncated else chosen(observed["action_mask"], rng))
    return dict(total)


@pytest.mark.parametrize("seats", [2, 10])
def test_the_winner_is_rewarded_and_the_others_are_not(seats: int) -> None:
    game = env(seats=seats)
    game.reset(seed=seats)
    rewards = play_random_game(game, random.Random(seats))
    assert sorted(rewards.values()) == [0.0] * (seats - 1) + [1.0]
    assert rewards[f"player_{game._game.state.board.phase.winner}"] == 1.0


def test_a_draw_truncates_the_survivors_who_share_the_reward() -> None:
    """A draw of j survivors is 1/j of a win to each (`Ruleset.limit`)."""
    rules = coup.replace_fields(coup.COUP, {"turn_limit": 2})
    game = env(rules=rules, seats=4)
    game.reset(seed=1)
    while not any(game.truncations.values()):
        game.step(next(a for a, word in enumerate(game.action_words) if word == "income"))
    assert set(game.truncations.values()) == {True}
    assert set(game.terminations.values()) == {False}
    assert set(game.rewards.values()) == {0.25}
    table = parallel_env(rules=rules, seats=4)
    table.reset(seed=1)
    income = {agent: table.action_words.index("income") for agent in table.agents}
    table.step(income)
    _, rewards, terminated, truncated, _ = table.step(income)
    assert (set(rewards.values()), set(terminated.values()), set(truncated.values())) == ({0.25}, {False}, {True})
    assert table.agents == []


def test_the_winner_starts_the_next_game_and_seat_0_after_a_draw() -> None:
    rng = random.Random(5)
    game = env(rules=coup.replace_fields(coup.COUP, {"turn_limit": 14, "first_player": "last_winner"}), seats=3)
    game.reset(seed=5)
    ends: list[int | None] = []
    while not any(ended is None and won for won, ended in pairwise(ends)):
        assert len(ends) < 200, "no draw has come after another seat's victory"
        play_random_game(game, rng)
        ends.append(game._game.state.board.phase.winner)
        game.reset()
        assert game._game.state.board.actor == (ends[-1] or 0)


def test_an_agent_without_cards_is_terminated_at_once() -> None:
    rng = random.Random(3)
    game = env(seats=4)
    game.reset(seed=3)
    left = []
    for agent in game.agent_iter():
        observed, reward, terminated, truncated, _ = game.last()
        influence = game._game.state.board.influence
        assert terminated == (influence[int(agent[-1])] == 0 or game._game.over is not None)
        if terminated and game._game.over is None:
            left.append((agent, reward))
        game.step(None if terminated or truncated else chosen(observed["action_mask"], rng))
    assert [reward for _, reward in left] == [0.0, 0.0]


def test_both_forms_play_the_same_game() -> None:
    for seed in range(5):
        one, other = env(seats=4, rules="treason"), parallel_env(seats=4, rules="treason")
        one.reset(seed=seed)
        observed, _ = other.reset(seed=seed)
        rng = random.Random(seed)
        total = dict.fromkeys(other.possible_agents, 0.0)
        while other.agents:
            asked = [agent for agent in other.agents if not observed[agent]["action_mask"][0]]
            actions: dict[str, Any] = {agent: 999 for agent in other.agents if agent not in asked}
            for _ in range(len(asked)):
                while any(one.terminations[agent] for agent in [one.agent_selection]):
                    one.step(None)
                agent = one.agent_selection
                mine = one.observe(agent)
                assert (mine["observation"] == observed[agent]["observation"]).all()
                assert (mine["action_mask"] == observed[agent]["action_mask"]).all()
                actions[agent] = chosen(mine["action_mask"], rng)
                one.step(actions[agent])
            observed, rewards, *_ = other.step(actions)
            for agent, reward in rewards.items():
                total[agent] += reward
        assert {agent: total[agent] for agent in one.agents} == one.rewards


def test_in_the_parallel_form_every_asked_agent_must_act() -> None:
    game = parallel_env(seats=3)
    game.reset(seed=1)
    with pytest.raises(ValueError, match="player_0 gave the action None"):
        game.step({"player_1": 0})
    game.step({"player_0": game.action_words.index("foreign_aid")})
    with pytest.raises(ValueError, match="player_2 gave the action None"):
        game.step({"player_1": game.action_words.index("-")})
    game.step({agent: game.action_words.index("-") for agent in ("player_1", "player_2")})
    assert game._game.state.board.coins == (4, 2, 2)


def test_a_seed_repeats_games_and_no_seed_continues_them() -> None:
    def hands(game: raw_env, seed: int | None) -> Any:
        game.reset(seed=seed)
        return game._game.state.hands

    one, other = env(), env()
    first = [hands(one, 7), hands(one, None), hands(one, None)]
    assert first == [hands(other, 7), hands(other, None), hands(other, None)]
    assert len(set(first)) == 3
    assert hands(one, 8) not in first
    assert hands(one, np.int64(7)) == first[0]  # type: ignore[arg-type]
    one, other = env(), env()  # four hands are alike in one pair of 30,000 games
    assert [hands(one, None) for _ in range(4)] != [hands(other, None) for _ in range(4)]


@pytest.mark.parametrize("name", ["coup", "treason", "andy"])
def test_an_observation_does_not_depend_on_earlier_ones(name: str) -> None:
    """Knowledge is updated at every step; a copy that observes late gets the same."""
    rng = random.Random(7)
    certain = 0
    for seed in range(4):
        looking, idle = (env(rules=name, seats=4) for _ in range(2))
        for game in (looking, idle):
            game.reset(seed=seed)
        deduced = [at for field, (at, _) in looking.fields.items() if field.endswith((": known", ": lacks", "in_deck"))]
        for agent in looking.agent_iter():
            seen = {each: looking.observe(each)["observation"] for each in looking.possible_agents}
            if rng.random() < 0.15:
                late = copy.deepcopy(idle)
                for each in looking.possible_agents:
                    assert late.observe(each)["observation"].tobytes() == seen[each].tobytes()
                certain += int(sum(array[place].sum() for array in seen.values() for place in deduced))
            out = looking.terminations[agent] or looking.truncations[agent]
            action = None if out else chosen(looking.observe(agent)["action_mask"], rng)
            looking.step(action)
            idle.step(action)
    assert certain


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_a_copy_observes_the_same_and_plays_independently(way: Callable[[raw_env], raw_env]) -> None:
    rng = random.Random(5)
    game = env(rules="reformation", seats=3)
    game.reset(seed=1)
    while len(game._game.asked) < 2 or game._answers_left == len(game._game.asked):
        game.step(chosen(game.last()[0]["action_mask"], rng))
    before, twin = game.last()[0]["observation"], way(game)

    def rest(each: raw_env) -> list[Any]:
        seen, rng = [], random.Random(7)
        while each.agents:
            observed, reward, over, cut, _ = each.last()
            assert observed is not None
            seen.append((observed["observation"].tolist(), observed["action_mask"].tolist(), reward, over, cut))
            each.step(None if over or cut else chosen(observed["action_mask"], rng))
        return seen

    past = rest(twin)
    assert game.last()[0]["observation"].tolist() == before.tolist()
    assert rest(game) == past


def test_a_reset_within_a_game_leaves_nothing_for_the_next() -> None:
    rng = random.Random(5)
    game = env(seats=3)
    game.reset(seed=5)
    while not any(game.terminations.values()):
        game.step(chosen(game.last()[0]["action_mask"], rng))
    game.reset(seed=6)
    assert game.agents == game.possible_agents
    assert game.agent_selection == "player_0"
    assert sum(play_random_game(game, rng).values()) == 1.0


def test_the_table_is_rendered_as_text() -> None:
    game = env(seats=2, render_mode="ansi")
    game.reset(seed=1)
    assert game.render() == "turn 1: Turn asks 0\n> 0: 1 coins, 2 cards\n  1: 2 coins, 2 cards"
    plain = env()
    plain.reset()
    assert plain.render() is None
    plain.close()


# --- opponents --------------------------------------------------------------------------------------------------------


class Dice:
    """A bot that chooses at random. It saves its messages, but no hello, handles and seeds, which a match draws."""

    def __init__(self, seat: int) -> None:
        self.rng = random.Random(seat)
        self.heard: list[dict[str, Any]] = []
        self.seeds: list[str] = []

    def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message["type"] == "hello":
            return {"type": "hello"}
        if message["type"] == "game_start":
            self.seeds.append(message["game_seed"])
        self.heard.append({**message, "players": None, "game_seed": None})
        if message["type"] != "request":
            return None
        return {"id": message["id"], "choice": self.rng.randrange(len(message["legal"]))}


@each("form", [env, parallel_env])
@each("rules, seats", [("coup", 2), ("coup", 5), ("reformation", 4), ("inquisitor", 3)])
def test_an_opponent_gets_the_messages_of_a_match(form: Any, rules: str, seats: int) -> None:
    """`arena.local` deals the same cards. An opponent gets the end of the last game in the next one."""
    spec = MatchSpec(
        match=0,
        key=coup.derive_key(b"arena.env", "seed|3"),
        bots=tuple(map(str, range(seats))),
        seatings=(tuple(range(seats)),) * 4,
        settings=MatchSettings(rules=coup.PRESETS[rules]),
    )
    there = [Dice(seat) for seat in range(seats)]
    play_match(spec, [LocalPlayer(str(seat), dice) for seat, dice in enumerate(there)], keep_moves=False)
    here = [Dice(seat) for seat in range(seats)]
    game = form(rules=rules, seats=seats)
    opponents = {agent: game.opponent(agent, dice) for agent, dice in zip(game.possible_agents, here, strict=True)}
    for number in range(4):
        game.reset(seed=None if number else 3)
        while game.agents:
            if form is parallel_env:
                game.step({agent: opponents[agent].action() for agent in game.agents})
                continue
            agent = game.agent_selection
            over = game.terminations[agent] or game.truncations[agent]
            game.step(None if over else opponents[agent].action())
    for opponent, bot in zip(here, there, strict=True):
        assert opponent.heard == bot.heard[:-2]
        assert sum(message["type"] == "request" for message in opponent.heard) > 3
    assert len({seed for opponent in here for seed in opponent.seeds}) == 4 * seats


def test_sample_bots_are_opponents_by_name_and_a_seed_restarts_their_match() -> None:
    """Asked twice at one request they answer once; a bot that isn't asked waits."""
    game = env(seats=3)
    names = ("sample:honest", "sample:opportunist", "sample:python")
    opponents = {agent: game.opponent(agent, name) for agent, name in zip(game.possible_agents, names, strict=True)}

    def actions(seed: int) -> list[int]:
        chosen = []
        for reset in (seed, None, None):
            game.reset(seed=reset)
            for agent in game.agent_iter():
                over = game.terminations[agent] or game.truncations[agent]
                if not over:
                    chosen.append(opponents[agent].action())
                    assert chosen[-1] == opponents[agent].action()
                game.step(None if over else chosen[-1])
        return chosen

    assert actions(1) == actions(1) != actions(2)
    game.reset(seed=1)
    assert opponents["player_1"].action() == 0
    with pytest.raises(ValueError, match="n't a sample bot that plays in this process"):
        game.opponent("player_0", "sample:shell.sh")
    with pytest.raises(AttributeError, match=r"call reset\(\) first"):
        env().opponent("player_0", "sample:turtle").action()


def test_without_the_extra_the_error_names_it() -> None:
    script = "import sys; sys.modules['pettingzoo'] = None; import arena.env"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert "arena.env needs pettingzoo: pip install '.[env]' in a clone" in done.stderr.splitlines()[-1]


# --- docs/reference/environment.md

ROOT = Path(__file__).parents[2]
DOCUMENT = document("docs/reference/environment.md")
TRAINING = blocks("python", document("docs/tutorials/train-a-policy.md"))
EXAMPLES = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


def test_the_loops_of_the_document_play_games() -> None:
    names: dict[str, Any] = {}
    exec(EXAMPLES[0], names)
    assert names["game"].agents == []
    exec(EXAMPLES[1].replace("games=256", "games=8, in_c=False"), names)
    assert names["terminated"].shape == (8,)


def test_the_player_of_the_document_learns(capsys: pytest.CaptureFixture[str]) -> None:
    """It plays few of the games; all is seeded, and it begins at random."""
    exec(TRAINING[0].replace('"honest")', '"honest", in_c=False)').replace("256", "16").replace("0.03", "0.1"), {})
    before, after = (float(share) for share in re.findall(r"([\d.]+) % \(", capsys.readouterr().out))
    assert before < 40 < after


TORCH = "def set_num_threads(count): pass\n"
VEC_ENV = """
class VecEnv:
    def __init__(self, num_envs, observation_space, action_space):
        self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space
        assert self.get_attr("render_mode") == [None] * num_envs
        self._reset_seeds()

    def seed(self, seed): self._seeds = [seed + row for row in range(self.num_envs)]
    def _reset_seeds(self): self._seeds = [None] * self.num_envs
"""
SB3 = """
import numpy as np
from types import SimpleNamespace

class Tensor(np.ndarray):
    def detach(self): return self
    def numpy(self): return np.array(self)

def layer(inputs, outputs):
    return SimpleNamespace(weight=np.ones((outputs, inputs)).view(Tensor), bias=np.ones(outputs).view(Tensor))

class MaskablePPO:
    def __init__(self, policy, table, **settings):
        self.table, size, actions = table, table.observation_space.shape[0], table.action_space.n
        net = SimpleNamespace(policy_net=[layer(size, 8), SimpleNamespace()])
        self.policy = SimpleNamespace(mlp_extractor=net, action_net=layer(8, actions))

    def learn(self, steps):
        rng, table = np.random.default_rng(1), self.table
        table.seed(1)
        seen = table.reset()
        assert (seen != table.reset()).any()
        table.seed(1)
        assert (seen == table.reset()).all()
        for _ in range(steps):
            assert seen.shape == (table.num_envs, *table.observation_space.shape)
            assert all(map(table.observation_space.contains, seen))
            (masks,) = np.stack([table.env_method("action_masks")])
            table.step_async((rng.random(masks.shape) * masks).argmax(1))
            seen, rewards, done, infos = table.step_wait()
            assert not rewards[~done].any()
            assert [row for row, info in enumerate(infos) if info] == np.flatnonzero(done).tolist()
            assert all(0 < info['episode']['l'] <= steps for info in infos if info)
"""


@pytest.mark.parametrize("trainer", ["own", "stand-in", *(["MaskablePPO"] if find_spec("sb3_contrib") else [])])
def test_the_policy_of_the_document_is_a_bot(tmp_path: Path, trainer: str) -> None:
    """`own` is the player that learns, and then beats honest. MaskablePPO itself learns where it is installed."""
    example = "\n".join(TRAINING[:2]) if trainer == "own" else TRAINING[-1]
    few = (
        {"256": "32", "0.03": "0.1"}
        if trainer == "own"
        else {"learn(60_000)": "learn(64)", "n_steps=32, batch_size=256": "n_steps=2, batch_size=64"}
    )
    for text, shorter in few.items():
        example = example.replace(text, shorter)
    stubs, work = tmp_path / "stubs", tmp_path / "work"
    stubs.mkdir()
    work.mkdir()
    if trainer == "stand-in":
        (stubs / "torch.py").write_text(TORCH)
        (stubs / "sb3_contrib.py").write_text(SB3)
        (stubs / "stable_baselines3" / "common").mkdir(parents=True)
        (stubs / "stable_baselines3" / "common" / "vec_env.py").write_text(VEC_ENV)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=work,
        env={**os.environ, "PYTHONPATH": f"{stubs}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    (folder,) = work.iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [
        *("bot.py", "bot.toml", "coup_env.py", "coup_kit.py", "weights.json")
    ]
    lines = (ROOT / "protocol" / "examples" / "to_bot.jsonl").read_bytes()
    bot = subprocess.run([sys.executable, "bot.py"], cwd=folder, input=lines, capture_output=True, timeout=60)
    assert bot.stdout.count(b"\n") > 5
    if trainer == "own":
        policy = Player(folder / "weights.json")

        def reply(message: Any) -> Any:
            choice = policy.choice(message)
            if message["type"] == "hello":
                return {"type": "hello", "name": "scores", "version": "1"}
            return None if choice is None else {"id": message["id"], "choice": choice}

        games = play({"scores": SimpleNamespace(reply=reply), "honest": "sample:honest"}, 96, seed=1)
        assert games.win_rates["scores"].value > 0.6


def test_an_agent_that_is_out_before_a_draw_is_terminated_without_reward() -> None:
    for limit in range(8, 60):
        game = env(rules=coup.replace_fields(coup.COUP, {"turn_limit": limit}), seats=3)
        game.reset(seed=1)
        while not any((*game.truncations.values(), *game.terminations.values())):
            mask = game.last()[0]["action_mask"]
            legal = [
                (not word.startswith("coup"), word != "income", a)
                for a, word in enumerate(game.action_words)
                if mask[a]
            ]
            game.step(min(legal)[2])
        if any(game.truncations.values()):
            survivors = game._game.over.survivors
            seats = {agent: game._seat[agent] for agent in game.agents}
            if len(survivors) < 3 and set(seats.values()) - set(survivors):
                break
    else:
        raise AssertionError("no limit falls on the turn in which a player loses its last card")
    for agent, seat in seats.items():
        out = seat not in survivors
        assert (game.terminations[agent], game.truncations[agent]) == (out, not out)
        assert game.rewards[agent] == (0.0 if out else 0.5)
