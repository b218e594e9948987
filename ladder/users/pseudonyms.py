"""Draw pseudonyms of users: two words, drawn with the ladder's key, for public standings."""

from collections.abc import Collection
from itertools import count

from sqlalchemy import Connection

from arena.coup import derive_key
from ladder import store

ADJECTIVES = """
Able Agile Amber Ample Ancient Azure Bold Brave Brief Bright Brisk Broad Bronze Calm Candid Careful Cheerful Civil
Clear Clever Cosy Crisp Curious Daring Deep Deft Distant Eager Early Easy Even Exact Fair Famous Fast Fine Firm
Fleet Fond Frank Free Fresh Gentle Giant Glad Golden Grand Great Green Happy Hardy Hidden Honest Humble Ideal Jolly
Keen Kind Light Little Lively Long Loud Loyal Lucky Mellow Merry Mighty Mild Modest Neat Nimble Noble Novel Olive
Patient Plain Polite Prompt Proud Pure Quick Quiet Rapid Rare Ready Royal Sage Scarlet Secret Serene Sharp Silent
Silver Sincere Smart Solid Steady Still Sunny Swift Tall Tidy Tranquil True Vivid Warm Wise
"""
ANIMALS = """
Adder Albatross Alpaca Antelope Badger Bat Bear Beaver Bee Beetle Bison Boar Bream Buffalo Camel Carp Cat Cheetah
Chough Cod Condor Coot Cormorant Crab Crane Cricket Crow Curlew Deer Dingo Dolphin Dove Dragonfly Duck Eagle Eel
Egret Elk Falcon Ferret Finch Fox Frog Gazelle Gecko Gibbon Goose Grouse Gull Hare Hawk Hedgehog Heron Hornet Horse
Ibex Ibis Jackal Jackdaw Jay Kestrel Kite Koala Lark Lemur Leopard Linnet Lion Lizard Llama Lobster Lynx Magpie
Marten Mole Moose Moth Mouse Newt Ocelot Octopus Osprey Otter Owl Panda Panther Parrot Pelican Penguin Perch Pike
Plover Pony Puffin Puma Quail Rabbit Raven Robin Salmon Seal Shrew Skylark Sparrow Squid Stoat Stork Swan Tapir Tern
Thrush Tiger Toad Trout Turtle Viper Vole Walrus Weasel Whale Wolf Wombat Wren Yak Zebra
"""
MAX_PAIRS_TRIED = 50  # that are tried before a number is added


def draw_pseudonym(key: bytes, login: str, taken: Collection[str]) -> str:
    """Return a pseudonym that isn't taken. Without the key it reveals nothing about the person.

    taken: pseudonyms in lower case. The first pair of words that isn't taken is returned; after MAX_PAIRS_TRIED, pairs
    get a number.
    """
    adjectives, animals = ADJECTIVES.split(), ANIMALS.split()
    for attempt in count():
        drawn = int.from_bytes(derive_key(key, f"pseudonym|{attempt}|{login}"), "big")
        pairs_drawn, adjective = divmod(drawn, len(adjectives))
        number, animal = divmod(pairs_drawn, len(animals))
        suffix = f" {2 + number % 998}" if attempt >= MAX_PAIRS_TRIED else ""
        name = f"{adjectives[adjective]} {animals[animal]}{suffix}"
        if name.lower() not in taken:
            return name
    raise AssertionError("counting doesn't end")


def fold_name(name: str) -> str:
    """Return a name for a comparison: names that differ in case or in repeated spaces alone look alike on pages."""
    return " ".join(name.split()).casefold()


def is_pseudonym(connection: Connection, name: str, except_ids: Collection[int] = ()) -> bool:
    """Return whether a name is the pseudonym of a user with another id than these; "-" and "_" are spaces."""
    folded_name = fold_name(name.replace("-", " ").replace("_", " "))
    users = (user for user in store.all_users(connection) if user.id not in except_ids)
    return any(fold_name(user.pseudonym) == folded_name for user in users)
