"""Pretends to hold a better hand, and sticks to that story: a Captain or a Duke in place of each weak card.

It doesn't lie while a living player challenges often in this match, nor about a role that it was caught without.
Otherwise it acts as if the story were true, and it blocks every attack on itself.
"""

from __future__ import annotations

from coup_kit import Answer, Bot, Game, Message, Move, Player, run

# The role that each action claims. Other actions (income, foreign_aid, coup) claim nothing.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}
STRONG = ("captain", "duke", "assassin")  # cards that need no story; also the roles of stories, in this order
SELDOM = 0.05  # challenges per claim; with a player that challenges more often, the bot doesn't lie
VALUE = {"captain": 5.0, "duke": 4.5, "assassin": 4.0, "contessa": 2.5, "ambassador": 2.0}  # of keeping a card


class Bluffer(Bot):
    name, version = "bluffer", "2.0"

    def __init__(self) -> None:
        self.claims = 0  # claims of the match so far
        self.latest: tuple[str, int | None] = ("", None)  # the latest action and its target
        self.blocked: dict[tuple[str, int | None], int] = {}  # blocked action and target -> the seat that blocked

    def game_start(self, game: Game) -> None:
        self.latest, self.blocked = ("", None), {}

    def event(self, game: Game, event: Message) -> None:
        name = event["event"]
        self.claims += name == "block" or "claim" in event
        if name == "action":
            self.latest = (event["action"], event.get("target"))
        elif name == "block":
            self.blocked[self.latest] = event["seat"]
        elif name in ("lost", "shown", "exchanged"):  # this seat may have other cards now
            self.blocked = {action: seat for action, seat in self.blocked.items() if seat != event["seat"]}

    def lies_pass(self, game: Game) -> bool:
        """Return whether no living player challenges often. One challenge in a new match doesn't count as often."""

        def often(player: Player) -> bool:
            return player.history.challenges > 1 + SELDOM * self.claims

        return not any(often(player) for player in game.opponents)

    def story(self, game: Game) -> list[str]:
        """Return the hand that we pretend to hold."""
        if not self.lies_pass(game):
            return game.cards
        hand = [card for card in game.cards if card in STRONG]
        for role in (*STRONG, *game.cards):
            if len(hand) < len(game.cards) and role not in hand and not game.me.caught[role]:
                hand.append(role)
        return hand

    def turn(self, game: Game) -> Answer:
        """Choose the best action that fits our story and that no player has blocked."""

        def strength(move: Move) -> tuple[int, int]:
            target = game.players[move["target"]]
            return target.influence, target.coins

        def coins(move: Move) -> int:
            return game.players[move["target"]].coins

        story = self.story(game)

        def moves(action: str) -> list[Move]:
            """Return the legal moves of an action that fit the story and weren't blocked."""
            if ROLE_FOR.get(action) not in (None, *story):
                return []
            return [move for move in game.moves(action) if (action, move.get("target")) not in self.blocked]

        if attacks := moves("coup") or moves("assassinate"):
            return max(attacks, key=strength)
        steals = [move for move in moves("steal") if coins(move) >= (5 if "duke" in story else 2)]
        if steals:
            return max(steals, key=coins)
        quiet = moves("tax") or moves("exchange") or moves("foreign_aid") or game.legal
        return quiet[0]

    def block(self, game: Game) -> Answer:
        """Block with a card that we hold, else with one of the story; block an attack on us with any card."""
        attacked = game.pending.get("target") == game.seat and self.lies_pass(game)
        last = game.pending["action"] == "assassinate" and len(game.cards) == 1  # passing would lose the last card, too
        for roles in (game.cards, self.story(game)):
            for move in game.moves("block"):
                if move["block"] in roles:
                    return move
        free = [move for move in game.moves("block") if last or (attacked and not game.me.caught[move["block"]])]
        return free[0] if free else None

    def lose(self, game: Game) -> Answer:
        return min(game.legal, key=lambda move: VALUE.get(move["lose"], 2.0))

    def exchange(self, game: Game) -> Answer:
        return max(game.legal, key=lambda move: sum(VALUE.get(card, 2.0) for card in set(move["keep"])))


if __name__ == "__main__":
    run(Bluffer())
