"""Count each bot's behaviour from records, in one pass over their steps.

A case is counted for a bot in a section, under a name: `("bluffs", "duke")`. `arena.stats.report.Profile` describes the
sections. All cards are known: a claim is a lie if the claimant lacks the role that it claims, or has the role that it
denies.

A bot's play style in one match is a small subset of these numbers, as counts and cases. `public` follows from what
everybody at the table sees. `hidden` also uses cards that remained hidden, or intentions that had no effect: only the
bot's owner may see it."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from arena.coup import (
    CHALLENGE,
    FORFEIT,
    Action,
    ActionDeclared,
    ActionOutcome,
    Block,
    Blocked,
    BlockWindow,
    Challenged,
    ChallengeWindow,
    Claim,
    Event,
    Exiled,
    Forfeited,
    HandShown,
    LossReason,
    Lost,
    Resolved,
    Shown,
    State,
    Unproven,
)
from arena.referee import GameRecord, Record
from arena.replay import ReplayStep, list_steps
from arena.run import LatencyHistogram
from arena.stats.proportion import JointCounts, Proportion

ALL = "all"  # the name of a section's sum
LOSSES = ("coup", "assassinate", "unproven", "wrong_challenge", "forfeit")  # what a card is lost by
_ATTACKS = (Action.COUP, Action.ASSASSINATE, Action.STEAL)


@dataclass(slots=True)
class BotCounts:
    """What was counted of one bot."""

    games: int = 0
    matches: int = 0
    tallies: dict[tuple[str, str], Proportion] = field(default_factory=lambda: defaultdict(Proportion))
    attacks: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))  # target -> action
    decision_times: dict[str, LatencyHistogram] = field(
        default_factory=lambda: defaultdict(LatencyHistogram)
    )  # kind of request
    faults: Counter[str] = field(default_factory=Counter)
    elimination_turns: Counter[int] = field(default_factory=Counter)  # turn -> games


class StatsAccumulator:
    """The sum over all records so far; of a pair of bots, also what their rates have in the same matches."""

    def __init__(self, pair: tuple[str, str] | None = None) -> None:
        self._pair = pair
        self._ties: dict[tuple[str, str], JointCounts] = defaultdict(JointCounts)
        self.records = 0
        self.games = 0
        self.draws = 0
        self.requests = 0
        self.turns: Counter[int] = Counter()
        self.rules: dict[str, None] = {}  # names, in the order in which they came
        self.seats: set[int] = set()
        self.clocks: set[str] = set()
        self.bots: dict[str, BotCounts] = defaultdict(BotCounts)

    def add(self, record: Record) -> None:
        """Count a record. Raises RecordError, and counts nothing, where the engine doesn't play it so."""
        match = _Match(record)
        for game in record.games:
            match.play(game)
        match.mix()
        self._take(match)

    def ties(self, now: str, before: str) -> Mapping[tuple[str, str], JointCounts]:
        """Return what rates of the pair have in the same matches, by section and name."""
        if (now, before) != self._pair:
            raise ValueError(f"Fold(({now!r}, {before!r})) ties these bots, not Fold({self._pair!r})")
        return self._ties

    def _take(self, match: "_Match") -> None:
        header, games = match.record.header, match.record.games
        self.records += 1
        self.games += len(games)
        self.draws += sum(game.winner is None for game in games)
        self.requests += match.requests
        self.turns.update(game.turns for game in games)
        self.rules[header.terms.rules.name] = None
        self.seats.update(len(game.seating) for game in games)
        self.clocks.add("own" if header.terms.timing.own else "wall")
        for name in header.bots:
            counted = self.bots[name]
            counted.matches += 1
            counted.games += len(games)
        cases = {key: (count, int(of)) for key, (count, of) in match.cases.items()}
        for (name, section, what), case in cases.items():
            self.bots[name].tallies[section, what].add(*case)
        if self._pair is not None:
            now, before = self._pair
            for (name, section, what), case in cases.items():
                if name == now and (before, section, what) in cases:
                    self._ties[section, what].add(case, cases[before, section, what])
        for (name, target, action), number in match.attacks.items():
            self.bots[name].attacks[target][action] += number
        for (name, kind), took in match.times.items():
            for each in (ALL, kind):
                self.bots[name].decision_times[each].add(took)
        for (name, code), number in match.faults.items():
            self.bots[name].faults[code] += number
        for (name, turn), number in match.out.items():
            self.bots[name].elimination_turns[turn] += number


@dataclass(slots=True)
class _OpenClaim:
    """A claim that was made, and what became of it."""

    seat: int
    role: str
    lie: bool
    challenged: bool = False


class _Match:
    """What one record counts."""

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
        self._made: _OpenClaim | None = None
        self._challenger = ""  # the challenger that counted last

    def play(self, game: GameRecord) -> None:
        """Count a game."""
        bots = self.record.header.bots
        self._names = tuple(bots[bot] for bot in game.seating)
        alive: dict[int, tuple[int, ...]] = {}  # number of players left -> the players, after the first has gone
        for moment in list_steps(self.record.header, game):
            self._asked(moment)
            for event in moment.events:
                self._event(event, moment.before)
                if isinstance(event, Exiled | Forfeited):
                    living = tuple(seat for seat, cards in enumerate(moment.after.board.influence) if cards)
                    alive[len(living)] = living
        self._close()
        won = {seat: 1 / len(game.survivors) for seat in game.survivors}
        for seat, name in enumerate(self._names):
            self._case(name, "win_rate", ALL, won.get(seat, 0.0))
            self._case(name, "win_rate_by_seat", str(seat), won.get(seat, 0.0))
        for left, seats in alive.items():
            for seat in seats if left > 1 else ():
                self._case(self._names[seat], "win_rate_by_players_left", str(left), won.get(seat, 0.0))
        for seat, turn in game.eliminated:
            self.out[self._names[seat], turn] += 1
        for fault in game.faults:
            self.faults[bots[fault.bot], fault.code] += fault.count

    def mix(self) -> None:
        """Turn mixes into cases: each action is a case for every action of the rules, taken or not."""
        header = self.record.header
        names = {
            "actions": tuple(dict.fromkeys(row.action.value for row in header.terms.rules.actions)),
            "attack_targets": header.bots,
            "losses": LOSSES,
        }
        for (name, section), mix in self._mixes.items():
            for what in names[section]:
                if (section, what) != ("attack_targets", name):
                    self.cases[name, section, what] = [mix[what], mix.total()]

    def _case(self, name: str, section: str, what: str, count: float) -> None:
        case = self.cases[name, section, what]
        case[0] += count
        case[1] += 1

    # --- what seats were asked ----------------------------------------------------------------------------------------

    def _asked(self, moment: ReplayStep) -> None:
        phase = moment.before.board.phase
        counts = {type(event): event.seat for event in moment.events if isinstance(event, Challenged | Blocked)}
        for given in moment.answers:
            if given.move == FORFEIT:
                continue
            name = self._names[given.seat]
            self.requests += 1
            self.times[name, moment.kind].append(given.time_us)
            if isinstance(phase, ChallengeWindow):
                doubted = given.move == CHALLENGE
                lie = _lie(moment.before, phase.claim)
                self._case(name, "challenges", "made", doubted)
                self._case(name, "challenges", "of_lies" if lie else "of_truths", doubted)
                if doubted:
                    self._case(name, "challenges", "right", lie)
                self._case(name, "visible_at_table", "challenged", counts.get(Challenged) == given.seat)
            elif isinstance(phase, BlockWindow):
                blocks = isinstance(given.move, Block)
                self._case(name, "blocks", "made", blocks)
                self._case(name, "visible_at_table", "blocked", counts.get(Blocked) == given.seat)
                if given.seat == phase.pending.target:
                    self._case(name, "blocks", "as_target", blocks)
                if isinstance(given.move, Block):
                    self._case(name, "blocks", "bluffed", given.move.role not in moment.before.hands[given.seat])

    # --- what came of it ----------------------------------------------------------------------------------------------

    def _event(self, event: Event, before: State) -> None:
        match event:
            case ActionDeclared(seat, action, target, role, denies):
                self._close()
                name = self._names[seat]
                self._mixes[name, "actions"][action.value] += 1
                if target is not None and action in _ATTACKS:
                    self._mixes[name, "attack_targets"][self._names[target]] += 1
                    self.attacks[name, self._names[target], action.value] += 1
                if role is not None:
                    self._made = _open_claim(before, Claim(seat, role, block=False, denies=denies))
            case Blocked(seat, role):
                self._close()
                self._made = _open_claim(before, Claim(seat, role, block=True))
            case Challenged(seat):
                assert self._made is not None
                self._made.challenged = True
                self._challenger = self._names[seat]
            case Shown() | HandShown() | Unproven():
                self._case(self._challenger, "visible_at_table", "right", isinstance(event, Unproven))
            case Lost(seat, _, reason):
                self._mixes[self._names[seat], "losses"][_loss_cause(reason, seat, self._made)] += 1
            case Forfeited(seat, roles):
                self._mixes[self._names[seat], "losses"]["forfeit"] += len(roles)
            case Resolved(seat, action, _, how):
                self._case(self._names[seat], "effective_actions", action, how is ActionOutcome.DONE)

    def _close(self) -> None:
        """Count the last claim, of which no more will come."""
        claim, self._made = self._made, None
        if claim is None:
            return
        name = self._names[claim.seat]
        for what in (ALL, claim.role):
            self._case(name, "bluffs", what, claim.lie)
            self._case(name, "challenged", what, claim.challenged)
            if claim.lie:
                self._case(name, "challenged_bluffs", what, claim.challenged)


def _loss_cause(reason: LossReason, seat: int, claim: _OpenClaim | None) -> str:
    if reason is not LossReason.CHALLENGE:
        return reason.value
    return "unproven" if claim is not None and claim.seat == seat else "wrong_challenge"


def _lie(state: State, claim: Claim) -> bool:
    return (claim.role in state.hands[claim.seat]) == claim.denies


def _open_claim(state: State, claim: Claim) -> _OpenClaim:
    return _OpenClaim(claim.seat, f"not_{claim.role}" if claim.denies else claim.role.value, _lie(state, claim))


# Section -> the names in it that are kept, None for all.
_Sections = Mapping[str, tuple[str, ...] | None]
_PUBLIC: _Sections = {"actions": None, "challenged": (ALL,), "visible_at_table": None}
_HIDDEN: _Sections = {
    "bluffs": (ALL,),
    "challenged_bluffs": (ALL,),
    "challenges": ("made", "right"),
    "blocks": ("bluffed",),
}


def count_play_styles(record: Record) -> tuple[tuple[str, str], ...]:
    """Return (bot, its style as JSON) of each bot of a match: `{"public": {"challenged all": [3, 4], ...}, ...}`.

    `turns` and `games` are totals. Raises RecordError where the engine doesn't play it so.
    """
    fold = StatsAccumulator()
    fold.add(record)
    turns = [sum(number * games for number, games in fold.turns.items()), fold.games]

    def style(counted: BotCounts) -> str:
        public = {"turns": turns} | _numbers(counted, _PUBLIC)
        return json.dumps({"public": public, "hidden": _numbers(counted, _HIDDEN)}, separators=(",", ":"))

    return tuple((name, style(counted)) for name, counted in fold.bots.items())


def _numbers(counted: BotCounts, sections: _Sections) -> dict[str, list[int]]:
    return {
        f"{section} {what}": [int(tally.count), tally.total]
        for (section, what), tally in sorted(counted.tallies.items())
        if section in sections and tally.total and what in (sections[section] or (what,))
    }
