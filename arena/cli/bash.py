"""Completion in bash, which cuts words at ":" and "=": `sample:ho` reaches a command as three words."""

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

_BREAKS = (":", "=")


@add_completion_class
class Bash(BashComplete):
    """Joins the words before they are completed, and gives bash what it lacks of the last piece."""

    _before = ""  # the pieces of the last word that bash has already

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words, and the one that is being typed."""
        args, typed = super().get_completion_args()
        words: list[str] = []
        for word in (*args, typed):
            if words and (word[:1] in _BREAKS or words[-1][-1:] in _BREAKS):
                words[-1] += word
            else:
                words.append(word)
        *args, typed = words
        self._before = typed[: 1 + max(typed.rfind(sign) for sign in _BREAKS)]
        return args, typed

    def format_completion(self, item: CompletionItem) -> str:
        """Return an item as bash reads it."""
        return f"{item.type},{item.value.removeprefix(self._before)}"
