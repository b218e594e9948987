"""What a bot met first in a request, and why its move is illegal. Source: docs/reference/protocol/requests.md."""

import pytest

from arena.checks import explain_illegal_move, list_features

REQUEST = {
    "kind": "turn",
    "game": 1,
    "legal": [{"action": "income"}, {"action": "tax"}, {"action": "steal", "target": 2}],
    "you": {"seat": 0, "cards": ["duke", "duke"]},
    "state": {"players": [{"influence": 2}, {"influence": 0}, {"influence": 1}]},
    "events": [{"event": "action", "target": 1}],
}
LOSE = {"kind": "lose", "legal": [{"lose": "duke"}, {"lose": "captain"}]}


def test_features_are_what_differs_between_requests() -> None:
    found = list(list_features(REQUEST))
    assert found == ["the kind turn", "3 players", "2 players left", "2 own cards, 1 different", "own seat 0"]
    forced = {**REQUEST, "legal": [{"action": "coup", "target": 2}], "pending": {"action": "tax"}, "claim": {"seat": 1}}
    assert [each for each in list_features(forced) if each not in found] == [
        "only coup is legal",
        "tax is pending",
        "the claim of an action",
    ]
    assert list(list_features({"type": "game_start"})) == []


@pytest.mark.parametrize(
    ("request_", "move", "words"),
    [
        (REQUEST, {"action": "steal", "target": 0}, "the target 0 is the bot's own seat"),
        (REQUEST, {"action": "steal", "target": 1}, "the target 1 is out of the game"),
        (REQUEST, {"action": "steal", "target": "B"}, 'steal has the target "B"; legal targets: 2'),
        (REQUEST, {"action": "steal"}, "steal has no target; legal targets: 2"),
        ({"legal": [{"action": "steal", "target": 0}]}, {"action": "steal"}, "no target (if it is 0: omitempty"),
        (REQUEST, {"action": "tax", "score": 1}, "fields that no legal move has: score"),
        (REQUEST, {"action": "coup", "target": 2}, "coup isn't legal now"),
        ({**REQUEST, "legal": [{"action": "coup"}]}, {"action": "tax"}, "only coup, because at 10 coins"),
        (LOSE, {"lose": "contessa"}, """{"lose": "contessa"} isn't legal now"""),
        (LOSE, {"pass": True}, "answers another kind of request than lose"),
        ({**LOSE, "kind": "prove"}, {"show": "captain"}, "the bot shows a captain, but doesn't hold one"),
        (LOSE, {}, ""),
        (LOSE, "duke", ""),
    ],
)
def test_an_illegal_move_has_its_reason(request_: dict[str, object], move: object, words: str) -> None:
    assert words in explain_illegal_move(request_, move)
    assert bool(explain_illegal_move(request_, move)) == bool(words)
