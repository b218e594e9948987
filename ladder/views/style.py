"""What a bot does, beside the mean of the bots that play."""

from collections.abc import Mapping
from dataclasses import dataclass

from ladder.access import visible
from ladder.standings import FieldStyle
from ladder.store.database import style_of
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class StyleNumber:
    """A number of `arena stats`, such as "table right": so many of the cases. field: the mean of the bots' shares."""

    name: str
    count: int
    of: int
    field: float | None


@dataclass(frozen=True, slots=True)
class HiddenNumber(StyleNumber):
    """A number that follows from cards that nobody may have seen, or from a seat's wish that didn't count."""


@dataclass(frozen=True, slots=True)
class BotStyle:
    """What a bot did in so many of its newest rated matches. public: by what anybody sees at the table."""

    matches: int
    public: tuple[StyleNumber, ...]
    hidden: tuple[HiddenNumber, ...] | None


def bot_style(reader: Reader, version: int, owner: str, field: FieldStyle | None) -> BotStyle | None:
    """Return what a version of this owner's does, None where nothing of it was counted."""
    style, viewer = style_of(reader.connection, version), reader.viewer
    if not style.matches:
        return None
    public: Mapping[str, float] = field.public if field else {}
    hidden: Mapping[str, float] = (field.hidden if field else None) or {}
    whole = BotStyle(
        style.matches,
        tuple(
            visible(StyleNumber(name, *cases, public.get(name)), viewer, owner) for name, cases in style.public.items()
        ),
        tuple(
            visible(HiddenNumber(name, *cases, hidden.get(name)), viewer, owner) for name, cases in style.hidden.items()
        ),
    )
    return visible(whole, viewer, owner)
