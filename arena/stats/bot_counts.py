"""Count each bot's behaviour from records, in one pass over their steps.

Each case counts for a bot under a section and a name, for example `("bluffs", "duke")`. `arena.stats.report.Profile`
documents the sections. Records contain all cards, so lies are known: a claim is a lie if the claimant lacks the role
that it claims, or has the role that it denies.

A bot's play style in one match is a small subset of these numbers, as [count, total]. `public` uses only events that
all players at the table see. `hidden` also uses cards that remained hidden and choices that had no effect, so only the
bot's owner may see it."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from arena import coup
from arena.referee import GameRecord, LatencyHistogram, Record
from arena.replay import ReplayStep, list_steps
from arena.stats.proportion import JointCounts, Proportion

ALL = "all"  # the name of a section's total
LOSSES = ("coup", "assassinate", "unproven", "wrong_challenge", "forfeit")  # causes of a lost card
_ATTACKS = (coup.Action.COUP, coup.Action.ASSASSINATE, coup.Action.STEAL)


@dataclass(slots=True)
class BotCounts:
    """The counts of one bot over all records. `tallies` has the hits and cases of each rate, by (section, name)."""

    games: int = 0
    matches: int = 0
    tallies: dict[tuple[str, str], Proportion] = field(default_factory=lambda: defaultdict(Proportion))
    attacks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # target -> action
    # Kind of request, or ALL -> times in microseconds.
    decision_times: dict[str, LatencyHistogram] = field(default_factory=lambda: defaultdict(LatencyHistogram))
    faults: Counter[str] = field(default_factory=Counter)  # code -> number
    elimination_turns: Counter[int] = field(default_factory=Counter)  # turn -> games


class StatsAccumulator:
    """The counts of all records added so far and, for the bots of `pair`, the joint counts of their rates.

    pair: (a bot, another bot, or None for each of the others).
    """

    def __init__(self, pair: tuple[str, str | None] | None = None) -> None:
        self._pair = pair
        # The other bot -> (section, name) -> counts
        self._joint_counts: dict[str, dict[tuple[str, str], JointCounts]] = defaultdict(
            lambda: defaultdict(JointCounts)
        )
        self.records = 0
        self.games = 0
        self.draws = 0
        self.requests = 0
        self.turns: Counter[int] = Counter()
        self.rules: dict[str, None] = {}  # names, in order of first occurrence
        self.seats: set[int] = set()
        self.clocks: set[str] = set()
        self.bots: dict[str, BotCounts] = defaultdict(BotCounts)

    def add(self, record: Record) -> None:
        """Count a record. Raises RecordError, and counts nothing, if the engine doesn't reproduce it."""
        match = _MatchCounts(record)
        for game in record.games:
            match.count_game(game)
        match.count_mix_shares()
        self._add_match(match)

    def joint_counts(self, bot: str, other: str) -> Mapping[tuple[str, str], JointCounts]:
        """Return the joint counts of two bots, by (section, name). Raises ValueError if `pair` isn't of these bots."""
        if self._pair not in ((bot, other), (bot, None)):
            raise ValueError(f"StatsAccumulator(({bot!r}, {other!r})) pairs these bots, not {self._pair!r}")
        return self._joint_counts[other]

    def _add_match(self, match: "_MatchCounts") -> None:
        """Add a match's counts. Cases are added match by match, because their errors are clustered by match."""
        header, games = match.record.header, match.record.games
        self.records += 1
        self.games += len(games)
        self.draws += sum(game.winner is None for game in games)
        self.requests += match.requests
        self.turns.update(game.turns for game in games)
        self.rules[header.settings.rules.name] = None
        self.seats.update(len(game.seating) for game in games)
        self.clocks.add("own" if header.settings.timing.own else "wall")
        for bot in header.bots:
            self.bots[bot].matches += 1
            self.bots[bot].games += len(games)
        self._add_cases({key: (count, int(total)) for key, (count, total) in match.cases.items()}, header.bots)
        for (bot, target, action), attacks in match.attacks.items():
            self.bots[bot].attacks[target][action] += attacks
        for (bot, kind), times in match.times.items():
            self.bots[bot].decision_times[ALL].add(times)
            self.bots[bot].decision_times[kind].add(times)
        for (bot, code), faults in match.faults.items():
            self.bots[bot].faults[code] += faults
        for (bot, turn), eliminations in match.eliminations.items():
            self.bots[bot].elimination_turns[turn] += eliminations

    def _add_cases(self, cases: Mapping[tuple[str, str, str], tuple[float, int]], bots: Sequence[str]) -> None:
        """Add a match's cases, (count, total) by (bot, section, name), also to the joint counts of the pair."""
        for (bot, section, name), case in cases.items():
            self.bots[bot].tallies[section, name].add(*case)
        if self._pair is None:
            return
        paired_bot, other = self._pair
        partners = set(bots) - {paired_bot} if other is None else {other}
        for (bot, section, name), case in cases.items():
            if bot in partners and (paired_bot, section, name) in cases:
                self._joint_counts[bot][section, name].add(cases[paired_bot, section, name], case)


@dataclass(slots=True)
class _OpenClaim:
    """A claim that can still be challenged. `role` begins with "not_" if the claim denies the role."""

    seat: int
    role: str
    lie: bool
    challenged: bool = False


class _MatchCounts:
    """The counts of one record, by names of bots.

    cases: (bot, section, name of a rate) -> [hits, cases]. attacks: by (bot, target, action). times: in µs, by (bot,
    kind of request). faults: by (bot, code). eliminations: by (bot, turn).
    """

    def __init__(self, record: Record) -> None:
        self.record = record
        self.requests = 0
        # (bot, section, name) -> [count, total]
        self.cases: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0])
        self._mixes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)  # (bot, section) -> name -> number
        self.attacks: Counter[tuple[str, str, str]] = Counter()
        self.times: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.faults: Counter[tuple[str, str]] = Counter()
        self.eliminations: Counter[tuple[str, int]] = Counter()
        self._names: tuple[str, ...] = ()  # of the present game's bots, by seat
        self._open: _OpenClaim | None = None
        self._challenger = ""  # the bot whose challenge took effect last

    def count_game(self, game: GameRecord) -> None:
        """Count one game: its requests and events by a replay, then its result for each bot.

        Raises RecordError if the engine doesn't reproduce it.
        """
        bots = self.record.header.bots
        self._names = tuple(bots[bot] for bot in game.seating)
        seats_by_players_left: dict[int, list[int]] = {}  # from the first elimination on
        for step in list_steps(self.record.header, game):
            self._count_requests(step)
            for event in step.events:
                self._count_event(event, step.before)
                if isinstance(event, coup.Exiled | coup.Forfeited):
                    living = [seat for seat, cards in enumerate(step.after.board.influence) if cards]
                    seats_by_players_left[len(living)] = living
        self._close_claim()
        self._count_result(game, seats_by_players_left)
        for fault in game.faults:
            self.faults[bots[fault.bot], fault.code] += fault.count

    def _count_result(self, game: GameRecord, seats_by_players_left: Mapping[int, Sequence[int]]) -> None:
        """Count the wins of a game, also by number of players left, and the eliminations."""
        won = {seat: 1 / len(game.survivors) for seat in game.survivors}
        for seat, name in enumerate(self._names):
            self._count_case(name, "win_rate", ALL, won.get(seat, 0.0))
            self._count_case(name, "win_rate_by_seat", str(seat), won.get(seat, 0.0))
        for players_left, seats in seats_by_players_left.items():
            for seat in seats if players_left > 1 else ():
                self._count_case(self._names[seat], "win_rate_by_players_left", str(players_left), won.get(seat, 0.0))
        for seat, turn in game.eliminated:
            self.eliminations[self._names[seat], turn] += 1

    def count_mix_shares(self) -> None:
        """Add a case for each name of each mix: its number in the mix, of the mix's sum.

        A mix counts what a bot chose or met, such as its actions by name; also names that never occurred get a case.
        """
        header = self.record.header
        names_by_section = {
            "actions": tuple(dict.fromkeys(row.action.value for row in header.settings.rules.actions)),
            "attack_targets": header.bots,
            "losses": LOSSES,
        }
        for (bot, section), mix in self._mixes.items():
            for name in names_by_section[section]:
                if (section, name) != ("attack_targets", bot):  # a bot can't attack itself
                    self.cases[bot, section, name] = [mix[name], mix.total()]

    def _count_case(self, bot: str, section: str, name: str, count: float) -> None:
        case = self.cases[bot, section, name]
        case[0] += count
        case[1] += 1

    def _count_requests(self, step: ReplayStep) -> None:
        """Count what each asked seat answered, also answers that others didn't see because another one came first."""
        phase = step.before.board.phase
        visible_seats = {
            type(event): event.seat for event in step.events if isinstance(event, coup.Challenged | coup.Blocked)
        }
        for answer in step.answers:
            if answer.move == coup.FORFEIT:
                continue
            bot = self._names[answer.seat]
            self.requests += 1
            self.times[bot, step.kind].append(answer.time_us)
            if isinstance(phase, coup.ChallengeWindow):
                self._count_challenge(bot, answer.move == coup.CHALLENGE, _is_lie(step.before, phase.claim))
                is_visible = visible_seats.get(coup.Challenged) == answer.seat
                self._count_case(bot, "visible_at_table", "challenged", is_visible)
            elif isinstance(phase, coup.BlockWindow):
                is_target = answer.seat == phase.pending.target
                self._count_block(bot, answer.move, is_target, step.before.hands[answer.seat])
                is_visible = visible_seats.get(coup.Blocked) == answer.seat
                self._count_case(bot, "visible_at_table", "blocked", is_visible)

    def _count_challenge(self, bot: str, is_challenge: bool, is_lie: bool) -> None:
        """Count the answer of a bot that was asked whether to challenge a claim, which was a lie or not."""
        self._count_case(bot, "challenges", "made", is_challenge)
        self._count_case(bot, "challenges", "of_lies" if is_lie else "of_truths", is_challenge)
        if is_challenge:
            self._count_case(bot, "challenges", "right", is_lie)

    def _count_block(self, bot: str, move: object, is_target: bool, hand: Sequence[coup.Role]) -> None:
        """Count the answer of a bot that was asked whether to block."""
        is_block = isinstance(move, coup.Block)
        self._count_case(bot, "blocks", "made", is_block)
        if is_target:
            self._count_case(bot, "blocks", "as_target", is_block)
        if isinstance(move, coup.Block):
            self._count_case(bot, "blocks", "bluffed", move.role not in hand)

    def _count_event(self, event: coup.Event, state: coup.State) -> None:
        """Count what happened at the table, and follow the open claim. state: before the step, with all cards."""
        match event:
            case coup.ActionDeclared():
                self._count_action(event)
                if event.claim is not None:
                    claim = coup.Claim(event.seat, event.claim, block=False, denies=event.denies)
                    self._open = _make_open_claim(state, claim)
            case coup.Blocked(seat, role):
                self._close_claim()
                self._open = _make_open_claim(state, coup.Claim(seat, role, block=True))
            case coup.Challenged(seat):
                assert self._open is not None
                self._open.challenged = True
                self._challenger = self._names[seat]
            case coup.Shown() | coup.HandShown() | coup.Unproven():
                self._count_case(self._challenger, "visible_at_table", "right", isinstance(event, coup.Unproven))
            case coup.Lost(seat, _, reason):
                self._mixes[self._names[seat], "losses"][_find_loss_cause(reason, seat, self._open)] += 1
            case coup.Forfeited(seat, roles):
                self._mixes[self._names[seat], "losses"]["forfeit"] += len(roles)
            case coup.Resolved(seat, action, _, outcome):
                self._count_case(self._names[seat], "effective_actions", action, outcome is coup.ActionOutcome.DONE)

    def _count_action(self, event: coup.ActionDeclared) -> None:
        """Count an action and its target; the claim before it can no longer be challenged."""
        self._close_claim()
        bot = self._names[event.seat]
        self._mixes[bot, "actions"][event.action.value] += 1
        if event.target is not None and event.action in _ATTACKS:
            self._mixes[bot, "attack_targets"][self._names[event.target]] += 1
            self.attacks[bot, self._names[event.target], event.action.value] += 1

    def _close_claim(self) -> None:
        """Count the open claim, if any. The caller knows that it can no longer be challenged."""
        claim, self._open = self._open, None
        if claim is None:
            return
        bot = self._names[claim.seat]
        for name in (ALL, claim.role):
            self._count_case(bot, "bluffs", name, claim.lie)
            self._count_case(bot, "challenged", name, claim.challenged)
            if claim.lie:
                self._count_case(bot, "challenged_bluffs", name, claim.challenged)


def _find_loss_cause(reason: coup.LossReason, seat: int, claim: _OpenClaim | None) -> str:
    """Return one of LOSSES for a lost card. claim: the open one, which tells whose challenge or claim it was."""
    if reason is not coup.LossReason.CHALLENGE:
        return reason.value
    return "unproven" if claim is not None and claim.seat == seat else "wrong_challenge"


def _is_lie(state: coup.State, claim: coup.Claim) -> bool:
    return (claim.role in state.hands[claim.seat]) == claim.denies


def _make_open_claim(state: coup.State, claim: coup.Claim) -> _OpenClaim:
    return _OpenClaim(claim.seat, f"not_{claim.role}" if claim.denies else claim.role.value, _is_lie(state, claim))


# Section -> its names that belong to a play style; None for all names.
_Sections = Mapping[str, tuple[str, ...] | None]
_PUBLIC: _Sections = {"actions": None, "challenged": (ALL,), "visible_at_table": None}
_HIDDEN: _Sections = {
    "bluffs": (ALL,),
    "challenged_bluffs": (ALL,),
    "challenges": ("made", "right"),
    "blocks": ("bluffed",),
}


def count_play_styles(record: Record) -> tuple[tuple[str, str], ...]:
    """Return (bot, play style as JSON) for each bot of a match.

    A style is `{"public": {"challenged all": [3, 4], ...}, "hidden": {...}}`. Each pair is [count, total]; `turns`
    is [turns, games]. Raises RecordError as `StatsAccumulator.add` does.
    """
    accumulator = StatsAccumulator()
    accumulator.add(record)
    turns = [sum(number * games for number, games in accumulator.turns.items()), accumulator.games]
    styles = []
    for bot, counts in accumulator.bots.items():
        public = {"turns": turns} | _list_style_counts(counts, _PUBLIC)
        style = {"public": public, "hidden": _list_style_counts(counts, _HIDDEN)}
        styles.append((bot, json.dumps(style, separators=(",", ":"))))
    return tuple(styles)


def _list_style_counts(counts: BotCounts, sections: _Sections) -> dict[str, list[int]]:
    return {
        f"{section} {name}": [int(tally.count), tally.total]
        for (section, name), tally in sorted(counts.tallies.items())
        if section in sections and tally.total and name in (sections[section] or (name,))
    }
