"""The events of one game in the form in which they are told, and what each seat hasn't been told yet."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from arena.coup import PRIVATE, Event, private_to, seen

Form = TypeVar("Form")  # a text for the wire, a dict for bots in this process


class Feed(Generic[Form]):
    """Give each seat every event once, in order, in a form that is made of its number and of what the seat sees."""

    __slots__ = ("_form", "_own", "_private", "_public", "_taken")

    def __init__(self, seats: int, form: Callable[[int, Event], Form]) -> None:
        self._form = form
        self._public: list[Form] = []  # all events, as everybody sees them
        self._private: dict[int, Event] = {}  # by number, those that have more than everybody sees
        self._own: list[dict[int, Form]] = [{} for _ in range(seats)]  # a seat's own form of some of them, by number
        self._taken = [0] * seats

    @property
    def count(self) -> int:
        """Return how many events there were."""
        return len(self._public)

    def add(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        form, public = self._form, self._public
        for number, event in enumerate(events, start=len(public)):
            if type(event) not in PRIVATE:
                public.append(form(number, event))
                continue
            public.append(form(number, seen(event, None)))
            self._private[number] = event
            for seat in private_to(event):
                self._own[seat][number] = form(number, seen(event, seat))

    def take(self, seat: int) -> list[Form]:
        """Return what the seat hasn't had, and count it as sent."""
        first = self._taken[seat]
        self._taken[seat] = len(self._public)
        events = self._public[first:]
        own = self._own[seat]
        if own:
            for number, event in own.items():
                events[number - first] = event
            own.clear()
        return events
