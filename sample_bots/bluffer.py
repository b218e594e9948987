"""Claims whatever helps, held or not: taxes as Duke every turn, and blocks everything that can be blocked.

The one caution: after it has been caught with a role it does not claim that role again in this game unless it holds it.
"""

from coup_kit import Answer, Bot, Game, Move, run

# The role that each action claims.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}


def believable(game: Game, role: str) -> bool:
    """Say whether we hold a role, or were not yet caught without it."""
    return role in game.cards or not game.me.caught[role]


class Bluffer(Bot):
    name, version = "bluffer", "1.0"

    def turn(self, game: Game) -> Answer:
        def coins(move: Move) -> int:
            return game.players[move["target"]].coins if "target" in move else 0

        for action in ("coup", "assassinate", "tax", "steal"):
            moves = game.moves(action)
            if moves and believable(game, ROLE_FOR.get(action, "")):
                return max(moves, key=coins)
        return None

    def block(self, game: Game) -> Answer:
        blocks = sorted(game.moves("block"), key=lambda move: move["block"] not in game.cards)
        # A true block comes first: it survives a challenge.
        return next((move for move in blocks if believable(game, move["block"])), None)


if __name__ == "__main__":
    run(Bluffer())
