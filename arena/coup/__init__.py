"""The rules of Coup, as a pure engine: no clock, no I/O, no logging, no global randomness; imports nothing of ours.

chance = KeyedRng(key, deal=0)
state = deal_game(COUP, seats=4, chance=chance)
while state.board.phase.asked:
    answers = [list_legal_moves(view_from_seat(state, seat))[0] for seat in state.board.phase.asked]
    state, events = apply_moves(state, answers, chance)
"""

from arena.coup.deal import deal_game, first_seat
from arena.coup.document_differences import list_document_differences, list_program_differences
from arena.coup.engine import IllegalMoveError, apply_moves
from arena.coup.events import (
    PRIVATE,
    ActionDeclared,
    ActionOutcome,
    Blocked,
    CardExamined,
    Challenged,
    CoinReason,
    Coins,
    Converted,
    Drafted,
    Event,
    Exchanged,
    Exiled,
    Forfeited,
    HandShown,
    LossReason,
    Lost,
    Resolved,
    Shown,
    Sided,
    StatementKind,
    StatementMade,
    Unproven,
)
from arena.coup.keyed_rng import KeyedRng, derive_key, draw_number, permute
from arena.coup.knowledge import NOTHING_KNOWN, CertainCards, CertainHand, Knowledge, concerning
from arena.coup.legal_moves import list_legal_moves, pick_default_move
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
    ActionMove,
    Block,
    Challenge,
    Decline,
    ExamineDecision,
    Forfeit,
    Keep,
    KeepShown,
    Lose,
    Move,
    MoveOrForfeit,
    Pass,
    Pick,
    Reveal,
    Show,
    ShowHand,
    Side,
    action_table,
    format_move,
    parse_move,
)
from arena.coup.odds import Odds, chance_held, chance_of_role, odds
from arena.coup.rules import ABOUT, COUP, PRESETS, Action, ActionRule, Allegiance, Blockers, Role, Ruleset, Talk
from arena.coup.rules_text import SECTIONS, SET_UP, make_rules_object, rules_sections
from arena.coup.ruleset_fields import (
    FIELD_BY_NAME,
    FIELDS,
    RULES_PAGE,
    RulesetField,
    changed_fields,
    from_dict,
    no_effect_reason,
    replace_fields,
    seat_counts,
    to_dict,
    to_json_value,
    to_toml,
    unknown_field_message,
    unplayable_reason,
)
from arena.coup.state import (
    BlockWindow,
    Board,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    DecidingKeepShown,
    Drafting,
    Examining,
    Exchanging,
    GameEnding,
    Losing,
    Over,
    Phase,
    Proving,
    Revealing,
    State,
    Turn,
)
from arena.coup.visibility import View, event_for_seat, list_private_seats, view_from_seat
