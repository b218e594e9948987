/* Opponents: `random` draws a legal action, `honest` plays as sample_bots/honest.py. */
#include "game.h"

static int legal_action(const Batch *b, const Game *g, int verb, int first, int second) {
    int action = b->find[verb][first][second + 1];
    return action >= 0 && g->mask[action] ? action : -1;
}

/* The best legal action of an effect that is true and wasn't blocked; -1 if there is none. Attacks prefer more cards, then
coins; steals take from who has the most coins, at least two. claims: whether the action claims a role. */
static int true_action(const Batch *b, const Game *g, int seat, int effect, bool claims, int *coins) {
    int best = -1, most = -1;
    for (int at = 0; at < b->n_rows; at++) {
        const Row *row = &b->rows[at];
        if (row->effect != effect || (row->claim >= 0) != claims || !row->honest || (claims && !holds(g, seat, row->claim))) continue;
        if (!row->targeted) {
            int action = g->blocked[at][SEATS] ? -1 : legal_action(b, g, TO_act, at, 0);
            if (action >= 0 && (best < 0 || row->gain > most)) best = action, most = row->gain;
        }
        for (int target = 0; row->targeted && target < b->seats; target++) {
            int action = target == seat || g->blocked[at][target] ? -1 : legal_action(b, g, TO_act, at, (target - seat + b->seats) % b->seats);
            int strength = g->coins[target] + (effect == EFFECT_hit ? 1000 * g->nhand[target] : 0);
            if (action < 0 || strength <= most || (effect == EFFECT_steal && strength < 2)) continue;
            best = action, most = strength;
        }
    }
    if (coins) *coins = most;
    return best;
}

static int honest_turn(const Batch *b, const Game *g, int seat) {
    int coins, action;
    if ((action = true_action(b, g, seat, EFFECT_hit, false, NULL)) >= 0) return action;
    if ((action = true_action(b, g, seat, EFFECT_hit, true, NULL)) >= 0) return action;
    int steal = true_action(b, g, seat, EFFECT_steal, true, &coins), tax = true_action(b, g, seat, EFFECT_gain, true, NULL);
    if (steal >= 0 && (tax < 0 || coins >= 5)) return steal;
    if (tax >= 0) return tax;
    if ((action = true_action(b, g, seat, EFFECT_exchange, true, NULL)) >= 0) return action;
    return true_action(b, g, seat, EFFECT_gain, false, NULL);
}

static int hand_value(const Batch *b, int one, int two) {
    return b->value[one] + (two < 0 ? 0 : b->value[two] - (one == two ? 20 : 0));
}

static int honest(const Batch *b, const Game *g, int seat) {
    int best = -1, most = 0;
    switch (g->phase) {
    case IN_turn: return honest_turn(b, g, seat);
    case IN_block:
        for (int role = 0; role < ROLES; role++)
            if (holds(g, seat, role) && (best = legal_action(b, g, TO_block, role, 0)) >= 0) return best;
        return legal_action(b, g, TO_pass, 0, 0);
    case IN_prove:
        best = legal_action(b, g, TO_show, g->claimed, 0);
        return best >= 0 ? best : legal_action(b, g, TO_decline, 0, 0);
    case IN_lose: {
        int first = g->hand[seat][0], second = g->hand[seat][1];
        return legal_action(b, g, TO_lose, b->value[second] < b->value[first] ? second : first, 0);
    }
    case IN_exchange: {  /* the unchanged hand first, then the others in order */
        int one = g->hand[seat][0], two = g->nhand[seat] > 1 ? g->hand[seat][1] : -1;
        best = legal_action(b, g, TO_keep, one, two), most = hand_value(b, one, two);
        for (one = 0; one < ROLES; one++)
            for (two = g->nhand[seat] > 1 ? one : -1; two < (g->nhand[seat] > 1 ? ROLES : 0); two++) {
                int action = legal_action(b, g, TO_keep, one, two);
                if (action >= 0 && hand_value(b, one, two) > most) best = action, most = hand_value(b, one, two);
            }
        return best;
    }
    case IN_examine_show: return legal_action(b, g, TO_reveal, g->hand[seat][0], 0);
    case IN_examine_decide: return legal_action(b, g, TO_hand_back, 0, 0);
    default: return legal_action(b, g, TO_pass, 0, 0);
    }
}

/* The action of an opponent that this file plays. */
int choose(const Batch *b, Game *g, int seat) {
    int legal = 0, action = g->who[seat] == HONEST ? honest(b, g, seat) : -1;
    if (action >= 0) return action;
    for (int i = 0; i < b->actions; i++) legal += g->mask[i];
    for (int nth = (int)roll(g, (uint32_t)legal) + 1; nth;) nth -= g->mask[++action];
    return action;
}
