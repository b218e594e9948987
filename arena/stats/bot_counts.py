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

    def joint_counts(self, now: str, before: str) -> Mapping[tuple[str, str], JointCounts]:
        """Return the joint counts of two bots, by (section, name). Raises ValueError if `pair` isn't (now, before)."""
        if self._pair not in ((now, before), (now, None)):
            raise ValueError(f"StatsAccumulator(({now!r}, {before!r})) pairs these bots, not {self._pair!r}")
        return self._joint_counts[before]

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
        for name in header.bots:
            self.bots[name].matches += 1
            self.bots[name].games += len(games)
        self._add_cases({key: (count, int(total)) for key, (count, total) in match.cases.items()}, header.bots)
        for (name, target, action), number in match.attacks.items():
            self.bots[name].attacks[target][action] += number
        for (name, kind), times in match.times.items():
            for key in (ALL, kind):
                self.bots[name].decision_times[key].add(times)
        for (name, code), number in match.faults.items():
            self.bots[name].faults[code] += number
        for (name, turn), number in match.out.items():
            self.bots[name].elimination_turns[turn] += number

    def _add_cases(self, cases: Mapping[tuple[str, str, str], tuple[float, int]], bots: Sequence[str]) -> None:
        """Add a match's cases, (count, total) by (bot, section, name), also to the joint counts of the pair."""
        for (bot, section, name), case in cases.items():
            self.bots[bot].tallies[section, name].add(*case)
        if self._pair is None:
            return
        now, before = self._pair
        others = set(bots) - {now} if before is None else {before}
        for (bot, section, name), case in cases.items():
            if bot in others and (now, section, name) in cases:
                self._joint_counts[bot][section, name].add(cases[now, section, name], case)


@dataclass(slots=True)
class _OpenClaim:
    """A claim that can still be challenged. `role` begins with "not_" if the claim denies the role."""

    seat: int
    role: str
    lie: bool
    challenged: bool = False


class _MatchCounts:
    """The counts of one record. `cases[bot, section, name]` is [count, total]. `_mixes[bot, section]` counts names."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.requests = 0
        self.cases: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0])
        self._mixes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.attacks: Counter[tuple[str, str, str]] = Counter()
        self.times: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.faults: Counter[tuple[str, str]] = Counter()
        self.out: Counter[tuple[str, int]] = Counter()
        self._names: tuple[str, ...] = ()
        self._open: _OpenClaim | None = None
        self._challenger = ""  # the bot whose challenge took effect last

    def count_game(self, game: GameRecord) -> None:
        """Count one game: its requests and events by a replay, then its result for each bot."""
        bots = self.record.header.bots
        self._names = tuple(bots[bot] for bot in game.seating)
        seats_by_number: dict[int, list[int]] = {}  # players left -> their seats; from the first elimination on
        for step in list_steps(self.record.header, game):
            self._count_requests(step)
            for event in step.events:
                self._count_event(event, step.before)
                if isinstance(event, coup.Exiled | coup.Forfeited):
                    living = [seat for seat, cards in enumerate(step.after.board.influence) if cards]
                    seats_by_number[len(living)] = living
        self._close_claim()
        self._count_result(game, seats_by_number)
        for fault in game.faults:
            self.faults[bots[fault.bot], fault.code] += fault.count

    def _count_result(self, game: GameRecord, seats_by_number: Mapping[int, Sequence[int]]) -> None:
        """Count the wins of a game and when its players were out. seats_by_number: the seats of the last players."""
        won = {seat: 1 / len(game.survivors) for seat in game.survivors}
        for seat, name in enumerate(self._names):
            self._count_case(name, "win_rate", ALL, won.get(seat, 0.0))
            self._count_case(name, "win_rate_by_seat", str(seat), won.get(seat, 0.0))
        for number, seats in seats_by_number.items():
            for seat in seats if number > 1 else ():
                self._count_case(self._names[seat], "win_rate_by_players_left", str(number), won.get(seat, 0.0))
        for seat, turn in game.eliminated:
            self.out[self._names[seat], turn] += 1

    def count_mix_shares(self) -> None:
        """Add a case for each name of each mix: its number in the mix, of the mix's sum.

        A mix counts what a bot chose or met, such as its actions by name; also names that never occurred get a case.
        """
        header = self.record.header
        names = {
            "actions": tuple(dict.fromkeys(row.action.value for row in header.settings.rules.actions)),
            "attack_targets": header.bots,
            "losses": LOSSES,
        }
        for (name, section), mix in self._mixes.items():
            for what in names[section]:
                if (section, what) != ("attack_targets", name):  # a bot can't attack itself
                    self.cases[name, section, what] = [mix[what], mix.total()]

    def _count_case(self, name: str, section: str, what: str, count: float) -> None:
        case = self.cases[name, section, what]
        case[0] += count
        case[1] += 1

    # --- requests -----------------------------------------------------------------------------------------------------

    def _count_requests(self, step: ReplayStep) -> None:
        """Count what each asked seat answered, also answers that others didn't see because another one came first."""
        phase = step.before.board.phase
        visible = {
            type(event): event.seat for event in step.events if isinstance(event, coup.Challenged | coup.Blocked)
        }
        for answer in step.answers:
            if answer.move == coup.FORFEIT:
                continue
            name = self._names[answer.seat]
            self.requests += 1
            self.times[name, step.kind].append(answer.time_us)
            if isinstance(phase, coup.ChallengeWindow):
                self._count_challenge(name, answer.move == coup.CHALLENGE, _is_lie(step.before, phase.claim))
                self._count_case(name, "visible_at_table", "challenged", visible.get(coup.Challenged) == answer.seat)
            elif isinstance(phase, coup.BlockWindow):
                is_target = answer.seat == phase.pending.target
                self._count_block(name, answer.move, is_target, step.before.hands[answer.seat])
                self._count_case(name, "visible_at_table", "blocked", visible.get(coup.Blocked) == answer.seat)

    def _count_challenge(self, name: str, challenged: bool, lie: bool) -> None:
        """Count the answer of a seat that was asked whether to challenge a claim, which was a lie or not."""
        self._count_case(name, "challenges", "made", challenged)
        self._count_case(name, "challenges", "of_lies" if lie else "of_truths", challenged)
        if challenged:
            self._count_case(name, "challenges", "right", lie)

    def _count_block(self, name: str, move: object, is_target: bool, hand: Sequence[coup.Role]) -> None:
        """Count the answer of a seat that was asked whether to block."""
        blocks = isinstance(move, coup.Block)
        self._count_case(name, "blocks", "made", blocks)
        if is_target:
            self._count_case(name, "blocks", "as_target", blocks)
        if isinstance(move, coup.Block):
            self._count_case(name, "blocks", "bluffed", move.role not in hand)

    # --- events -------------------------------------------------------------------------------------------------------

    def _count_event(self, event: coup.Event, before: coup.State) -> None:
        """Count what happened at the table. `before`: the state before the step, with all hidden cards."""
        match event:
            case coup.ActionDeclared(seat, action, target, role, denies):
                self._close_claim()
                name = self._names[seat]
                self._mixes[name, "actions"][action.value] += 1
                if target is not None and action in _ATTACKS:
                    self._mixes[name, "attack_targets"][self._names[target]] += 1
                    self.attacks[name, self._names[target], action.value] += 1
                if role is not None:
                    self._open = _make_open_claim(before, coup.Claim(seat, role, block=False, denies=denies))
            case coup.Blocked(seat, role):
                self._close_claim()
                self._open = _make_open_claim(before, coup.Claim(seat, role, block=True))
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

    def _close_claim(self) -> None:
        """Count the open claim, if any. The caller knows that it can no longer be challenged."""
        claim, self._open = self._open, None
        if claim is None:
            return
        name = self._names[claim.seat]
        for what in (ALL, claim.role):
            self._count_case(name, "bluffs", what, claim.lie)
            self._count_case(name, "challenged", what, claim.challenged)
            if claim.lie:
                self._count_case(name, "challenged_bluffs", what, claim.challenged)


def _find_loss_cause(reason: coup.LossReason, seat: int, claim: _OpenClaim | None) -> str:
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

    def format_style(counted: BotCounts) -> str:
        public = {"turns": turns} | _style_counts(counted, _PUBLIC)
        return json.dumps({"public": public, "hidden": _style_counts(counted, _HIDDEN)}, separators=(",", ":"))

    return tuple((name, format_style(counted)) for name, counted in accumulator.bots.items())


def _style_counts(counted: BotCounts, sections: _Sections) -> dict[str, list[int]]:
    return {
        f"{section} {what}": [int(tally.count), tally.total]
        for (section, what), tally in sorted(counted.tallies.items())
        if section in sections and tally.total and what in (sections[section] or (what,))
    }
