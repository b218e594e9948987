"""Write a player's view as lines of text: the table, and the start of a game."""

from collections.abc import Mapping
from dataclasses import dataclass

from arena.play.player_view import PlayerView
from protocol.event_text import YOU
from protocol.kits.coup_kit import Player

_HIDDEN = "??"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of the table. `own`: whether it is the viewer's."""

    text: str
    own: bool = False


def make_table_rows(view: PlayerView, columns: int) -> list[TableRow]:
    """Return a line for each player: coins, cards, face-up cards in brackets, and claims if `columns` allow it.

    Where the rules have a reserve, it has the last line.
    """
    game, names = view.game, view.names
    name_width = max(map(len, names))
    rows = []
    for player, name in zip(game.players, names, strict=True):
        is_own = player.seat == game.seat
        mark = ">" if player.seat == game.actor and player.influence else " "
        text = f"{mark} {name.ljust(name_width)}  {_describe_holdings(player, game.cards if is_own else None)}"
        claims = ""
        if player.claims and player.alive and not is_own:
            claims = f"   claimed {_describe_claims(player.claims)}"
        rows.append(TableRow(text + claims if len(text + claims) <= columns else text, is_own))
    if game.rules.get("reformation"):
        rows.append(TableRow(f"  {'reserve'.ljust(name_width)}  {game.state.get('reserve', 0)}"))
    return rows


def _describe_holdings(player: Player, own_cards: list[str] | None) -> str:
    """Return a player's coins, side and cards as text. own_cards: the viewer's, None for another player's."""
    coins = f"{player.coins:>2} {'coin ' if player.coins == 1 else 'coins'}" if player.alive else " out    "
    side = [player.allegiance] if player.allegiance else []
    cards = [_HIDDEN] * player.influence if own_cards is None else own_cards
    face_up = [f"({role})" for role in player.revealed]
    return " ".join([coins, *side, *cards, *face_up])


def _describe_claims(claims: Mapping[str, int]) -> str:
    return ", ".join(role if number == 1 else f"{role} x{number}" for role, number in claims.items())


def announce_game(view: PlayerView, games: int) -> str:
    """Return the announcement of a game: its number among `games`, the person's seat and the first player."""
    game = view.game
    number = f"Game {game.number + 1} of {games}. " if games > 1 else ""
    starter = view.names[game.state["actor"]]
    clause = "You begin" if starter == YOU else f"{starter} begins"
    return f"{number}You are {game.me.handle}, in seat {game.seat} of {len(game.players)}. {clause}."
