"""The rules of Coup, as a pure engine: no clock, no I/O, no logging, no global randomness; imports nothing of ours.

state = deal(COUP, seats=4, chance=Chance(key, deal=0))
while state.board.phase.asked:
    answers = [legal(view(state, seat))[0] for seat in state.board.phase.asked]
    state, events = apply(state, answers, chance)
"""

from arena.coup.card import card, effect
from arena.coup.chance import Chance, derived, draw, permuted
from arena.coup.events import (
    PRIVATE,
    Acted,
    Blocked,
    Challenged,
    CoinReason,
    Coins,
    Converted,
    Drafted,
    Event,
    Examination,
    Exchanged,
    Exiled,
    Forfeited,
    HandShown,
    How,
    LossReason,
    Lost,
    Resolved,
    Said,
    Saying,
    Shown,
    Sided,
    Unproven,
)
from arena.coup.fields import (
    FIELD,
    FIELDS,
    RULES_PAGE,
    FieldRule,
    changed,
    differences,
    from_dict,
    plain,
    seat_counts,
    to_dict,
    toml,
    unknown_field,
    why_idle,
    why_unplayable,
)
from arena.coup.knowledge import NOTHING_KNOWN, Held, Knowledge, Known, concerning
from arena.coup.legal import default, legal
from arena.coup.moves import (
    CHALLENGE,
    DECLINE,
    FORCE_SWAP,
    FORFEIT,
    HAND_BACK,
    KEEP_SHOWN,
    PASS,
    REPLACE_SHOWN,
    SHOW_HAND,
    Act,
    Answer,
    Block,
    Challenge,
    Decline,
    Examined,
    Forfeit,
    Keep,
    Lose,
    Move,
    Pass,
    Pick,
    Retain,
    Reveal,
    Show,
    ShowHand,
    Side,
    notation,
    parse,
)
from arena.coup.odds import Odds, chance_held, chance_of_role, nobody_holds, odds
from arena.coup.play import IllegalMoveError, apply, deal, first_seat
from arena.coup.rules import (
    ABOUT,
    COUP,
    PRESETS,
    Action,
    Allegiance,
    Blockers,
    ExchangeReturn,
    Role,
    Ruleset,
    Talk,
)
from arena.coup.sentences import SECTIONS, SET_UP, Sentence, Told, beyond_document, beyond_fields, sections
from arena.coup.state import (
    BlockWindow,
    Board,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    Drafting,
    Ending,
    Examining,
    Exchanging,
    Losing,
    Over,
    Phase,
    Proving,
    Retaining,
    Revealing,
    State,
    Turn,
)
from arena.coup.view import View, private_to, seen, view
