"""The events of one game in the form in which they are told, what each seat hasn't been told yet, and what it knows."""

from collections.abc import Callable, Container, Sequence
from typing import Generic, TypeVar, get_args

from arena.coup import PRIVATE, Event, Knowledge, Known, View, concerning, private_to, seen

Form = TypeVar("Form")  # a text for the wire, a dict for bots in this process


class Feed(Generic[Form]):
    """Give each seat every event once, in order, in a form that is made of its number and of what the seat sees."""

    __slots__ = ("_concerning", "_form", "_known", "_minds", "_news", "_own", "_private", "_public", "_taken")

    def __init__(self, seats: int, form: Callable[[int, Event], Form]) -> None:
        self._form = form
        self._public: list[Form] = []  # all events, as everybody sees them
        self._private: dict[int, Event] = {}  # by number, those that have more than everybody sees
        self._own: list[dict[int, Form]] = [{} for _ in range(seats)]  # a seat's own form of some of them, by number
        self._taken = [0] * seats
        self._minds: list[Knowledge | None] = [None] * seats
        self._known = [Known()] * seats
        self._concerning: Container[type[Event]] = get_args(Event)  # until the rules are known
        self._news: list[list[Event]] = [[] for _ in range(seats)]  # what matters and a seat's mind hasn't had, by seat

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
                if type(event) in self._concerning:
                    for news in self._news:
                        news.append(event)
                continue
            copy = seen(event, None)
            public.append(form(number, copy))
            self._private[number] = event
            for news in self._news:
                news.append(copy)
            for seat in private_to(event):
                self._news[seat][-1] = mine = seen(event, seat)
                self._own[seat][number] = form(number, mine)

    def known(self, view: View) -> Known:
        """Return what is certain to a seat that is asked; once for each of its requests."""
        seat = view.seat
        mind, news = self._minds[seat], self._news[seat]
        if mind is None:
            mind = self._minds[seat] = Knowledge(view)
            self._concerning = concerning(view.board.rules)
        if news or view.drawn or view.seen is not None:
            self._known[seat] = mind.known(view, news)
            news.clear()
        return self._known[seat]

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
