"""What the rule documents leave unsaid and the engine decides, each with its reason.

The source of each is "ours". A field of a ruleset carries its own source, see fields.py. The scenarios in
tests/conformance cite a decision by name, as in `ours:one_block`. Document lines are those of DOCUMENTS.
"""

DECISIONS: dict[str, str] = {
    # Windows.
    "windows": "Income, a coup and a conversion can't be answered. Foreign aid can be blocked only. Tax, exchange, "
    "examine and embezzle can be challenged only. Steal and assassinate can be challenged, then blocked. No document "
    "lists this in one place; it follows from which actions claim a role and which a role blocks.",
    "one_challenge": "There is one challenge of a claim: the next player clockwise from the claimant who wants it has "
    "it. All are asked at once, because the time in which a program answers must not decide.",
    "no_later_challenge": "A claim that was let stand can't be challenged later: rulebook:157 allows none after the "
    "fact.",
    "one_block": "There is one block of an action. A block that was caught isn't followed by another, as classroom:31 "
    "lets the action go through.",
    "block_names_a_role": "A block names one role and is proven by that role only, else a player could claim two.",
    "blockers_clockwise": "Of several blockers the target comes first, then the next clockwise from the actor. Else a "
    "neighbour's bluff would burn the target's real card.",
    "targets": "A target is another living player. The two-coin conversion takes players of either side.",
    "separate_moves": "Exchange and examine are two moves of a turn: rulebook:242 lets one of them be taken.",
    # Order and endings.
    "order": "A shown card goes back, the deck is shuffled, a card is drawn; then the challenger loses an influence; "
    "then comes the block window. rulebook:163 returns the card first, and a card on its way belongs to nobody.",
    "order_of_a_won_challenge": "Coins are refunded, then the influence is lost, then the player may be out: a player "
    "who is out must not take coins along.",
    "target_gone": "If the target is out when the action is resolved, an assassination or an examination does "
    "nothing, its cost stays spent, and a steal takes what is there: nothing.",
    "one_target": "An action keeps its target. If a third player's block of it is caught, the target still suffers.",
    "end_at_once": "When one player is left the game ends at once, and nothing more is resolved or asked.",
    "keep_the_count": "An exchange keeps as many cards as the player has influence. Keeping all of one's own cards is "
    "allowed and looks like any other exchange.",
    "treasury": "The treasury has no end. The 50 coins of the rulebook are components, not a limit.",
    "bare_roles": "Cards are roles, not places in a hand: no public event tells which card it was.",
    "first_game": "Where the last winner starts, seat 0 starts the first game, and the game after a draw.",
    "starters_coin": "The lower coin of a game of two goes to whoever starts it.",
    # Reformation.
    "odd_tables": "Sides alternate clockwise from the starter who chooses, or from seat 0 where its side is drawn. So "
    "an odd table seats two neighbours on one side: the last in that order and the first.",
    "sides_counted_anew": "Whether all living players are on one side is counted anew after each death, conversion "
    "and forfeit. Bans hold for an action when it is declared, for a block of foreign aid when its window opens.",
    "bans_are_closed": "The bans of rulebook:226, 254 are the only ones: a player of the actor's side may challenge "
    "anything, and block a steal or an assassination if the rules let anyone block. Between two players no ban binds.",
    "empty_reserve": "An empty reserve may be embezzled, and gives nothing.",
    "reserve_ends": "What is in the reserve when a game ends is gone: the next game begins with none.",
    "embezzle_shown": "A challenged embezzler without a duke shows all cards. They return, the deck is shuffled once, "
    "as many are drawn, then the challenger loses an influence, then the coins move.",
    "embezzle_conceded": "A player with a duke can only concede, and the others can't tell that from a concession of a "
    "player without one. The coins return to the reserve before the influence is lost, so an exiled player's own coins "
    "alone go to the treasury. The loser picks the card.",
    "coup_first": "Who must coup can neither convert nor embezzle. There is always somebody to coup, because a side "
    "protects nobody once all are on it.",
    # Draft.
    "draft_sealed": "Both players pick at once and unseen, before the deal. The discards stay out of the game and are "
    "never shown, so three cards are the court deck, and who starts still has one coin.",
    "draft_with_variants": "A draft comes before the choice of allegiance. The inquisitor replaces the ambassador in "
    "each of the three sets. A draft for more than two players is refused before the game.",
    # Variants together.
    "claimed_role_returns": "In an exchange of one, a player who holds the claimed role returns it, and is asked, so "
    "that a request tells nothing. A bluffer, or a player whose card was replaced as proof, returns any card.",
    "keep_shown": "Whether a shown card is kept is asked in public before the challenger loses an influence; for "
    "blocks too, and where proof is automatic. It isn't asked after an embezzlement, where all cards go back, nor if "
    "the game is about to end.",
    "examine_last_card": "A player with one card isn't asked which card is examined: how many cards a player has is "
    "public. After a failed challenge by the target, the card that is left is examined; if none is, the turn ends.",
    # Forfeits.
    "forfeit": "A bot that can't go on turns its cards face up and returns its coins to the treasury. Its own pending "
    "action, block or challenge is cancelled, and what it paid stays spent. An action aimed at it ends.",
    "forfeits_together": "Forfeits in one window are applied clockwise after all answers are in. If all who are left "
    "forfeit at once, the game is a draw.",
}
