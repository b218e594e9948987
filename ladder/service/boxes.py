"""Whether a ladder's bots may play on this machine."""

from arena.sandbox import why_no_strangers, why_not
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError


def demand_boxes(ladder: Ladder) -> None:
    """Raise LadderError, with what `arena doctor` found, where the ladder's bots may not play on this machine."""
    choice = ladder.play.sandbox
    trouble = why_not(choice.name, choice)
    if trouble is None and choice.isolates:
        trouble = why_no_strangers(choice)
    if trouble is not None:
        raise LadderError(
            f"this ladder's bots play in {choice.name}, which strangers can't be let into here: {trouble}\n"
            "See arena doctor. No other sandbox was taken instead."
        )
