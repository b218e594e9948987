/* A bot to begin with: it never bluffs, and challenges a claim that is very unlikely.

   What it does, which the starters in the other languages do as well, choice for choice:

   turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
               An attack goes to whoever has most cards, then most coins; a steal to whoever has most coins, and at
               least 1. No action is aimed at who has blocked it in this game, and no foreign aid taken beside them.
   challenge   If the claimant holds the role with a chance below DOUBT, by the cards that we see.
   block       With the first role of `legal` that we hold.
   lose        The card that is worth least.
   exchange    Keep the cards that are worth most; a second card of the same role adds less.
   all else    The first legal move: show the card, have it replaced, hand back what was examined ...

   Where several are equal, the first of `legal` is taken. */

#define COUP_KIT_IMPLEMENTATION
#include "coup_kit.h"

static const double DOUBT = 0.22;
static const int SECOND_COPY = 4; /* a second card of a role is worth this much less */

/* Who may claim the action, and who may block it. */
static const struct {
    const char *action, *roles[2], *blockers[3];
} ACTIONS[] = {
    {"assassinate", {"assassin"}, {"contessa"}},
    {"tax", {"duke"}, {NULL}},
    {"steal", {"captain"}, {"captain", "ambassador", "inquisitor"}},
    {"exchange", {"ambassador", "inquisitor"}, {NULL}},
    {"foreign_aid", {NULL}, {"duke"}},
    {"coup", {NULL}, {NULL}},
};
enum { ASSASSINATE, TAX, STEAL, EXCHANGE, FOREIGN_AID, COUP };

static int value(const char *card) {
    static const struct {
        const char *card;
        int value;
    } VALUES[] = {{"captain", 10}, {"duke", 9}, {"assassin", 8}, {"ambassador", 5}, {"inquisitor", 5}};
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++)
        if (coup_same(card, VALUES[i].card)) return VALUES[i].value;
    return 4;
}

/* How good a hand is. */
static int worth(const coup_cards *cards) {
    int sum = 0;
    for (int i = 0; i < cards->count; i++) {
        sum += value(cards->of[i]);
        for (int before = 0; before < i; before++)
            if (coup_same(cards->of[before], cards->of[i])) {
                sum -= SECOND_COPY;
                break;
            }
    }
    return sum;
}

static bool has_role_for(const coup_game *game, int action) {
    if (!ACTIONS[action].roles[0]) return true;
    for (int i = 0; i < 2; i++)
        if (coup_holds(game, ACTIONS[action].roles[i])) return true;
    return false;
}

static bool has_blocked(const coup_player *player, int action) {
    for (int i = 0; i < 3; i++)
        if (coup_count(&player->blocks, ACTIONS[action].blockers[i]) > 0) return true;
    return false;
}

static int coins(const coup_player *player) { return player->coins; }

static int strength(const coup_player *player) { return 1000 * player->influence + player->coins; }

/* Returns the legal move of an action that scores most at its target, at least `least`, if we hold its role, but none
   that would be blocked again. Without `score` it is the first one; -1 where there is none. */
static int honest(const coup_game *game, int action, int (*score)(const coup_player *), int least) {
    int best = -1;
    if (!has_role_for(game, action)) return -1;
    for (int i = coup_find(game, ACTIONS[action].action); i >= 0; i = coup_next(game, ACTIONS[action].action, i)) {
        int target = game->legal[i].target;
        if (target == COUP_NOBODY) return i;
        if (has_blocked(&game->players[target], action) || score(&game->players[target]) < least) continue;
        if (best < 0 || score(&game->players[target]) > score(&game->players[game->legal[best].target])) best = i;
    }
    return best;
}

static int turn(coup_game *game) {
    int move;
    if ((move = honest(game, COUP, strength, 0)) >= 0) return move;
    if ((move = honest(game, ASSASSINATE, strength, 0)) >= 0) return move;
    if ((move = honest(game, TAX, NULL, 0)) >= 0) return move;
    if ((move = honest(game, STEAL, coins, 1)) >= 0) return move;
    if ((move = honest(game, EXCHANGE, NULL, 0)) >= 0) return move;
    for (int i = 0; i < game->opponent_count; i++)
        if (has_blocked(game->opponents[i], FOREIGN_AID)) return 0;
    return coup_find(game, "foreign_aid");
}

static int challenge(coup_game *game) {
    bool doubtful = coup_odds(game, game->claim.seat, game->claim.role) < DOUBT;
    return coup_find(game, doubtful ? "challenge" : "pass");
}

static int block(coup_game *game) {
    for (int i = coup_find(game, "block"); i >= 0; i = coup_next(game, "block", i))
        if (coup_holds(game, game->legal[i].value)) return i;
    return coup_find(game, "pass");
}

static int lose(coup_game *game) {
    int worst = 0;
    for (int i = 1; i < game->legal_count; i++)
        if (value(game->legal[i].value) < value(game->legal[worst].value)) worst = i;
    return worst;
}

static int exchange(coup_game *game) {
    int best = 0;
    for (int i = 1; i < game->legal_count; i++)
        if (worth(&game->legal[i].cards) > worth(&game->legal[best].cards)) best = i;
    return best;
}

static const coup_bot MY_BOT = {
    .name = "starter-c",
    .turn = turn,
    .challenge = challenge,
    .block = block,
    .lose = lose,
    .exchange = exchange,
};

int main(void) { return coup_run(&MY_BOT); }
