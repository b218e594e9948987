/* The rules of the presets `coup` and `inquisitor`, as arena.coup.engine and arena.coup.legal_moves have them, and the
observations of protocol/kits/coup_env.py. `events` counts the engine's events, because an event's number labels draws. */
#include <stddef.h>

#include "game.h"

static void resolve(const Batch *b, Game *g);

static int next_living(const Batch *b, const Game *g, int seat) {
    do seat = (seat + 1) % b->seats;
    while (!g->nhand[seat]);
    return seat;
}

int living(const Batch *b, const Game *g) {
    int n = 0;
    for (int seat = 0; seat < b->seats; seat++) n += g->nhand[seat] > 0;
    return n;
}

static const Row *row_of(const Batch *b, const Game *g) { return &b->rows[g->pending]; }

static int16_t *count(const Batch *b, Game *g, int seat, int place) { return &g->rows[seat][place - b->places.coins]; }

bool holds(const Game *g, int seat, int role) {
    return (g->nhand[seat] > 0 && g->hand[seat][0] == role) || (g->nhand[seat] > 1 && g->hand[seat][1] == role);
}

static void remove_card(Game *g, int seat, int role) {
    if (g->hand[seat][0] == role) g->hand[seat][0] = g->hand[seat][1];
    g->nhand[seat]--;
}

static void add_card(Game *g, int seat, int role) {
    int n = g->nhand[seat]++;
    if (n && g->hand[seat][0] > role) g->hand[seat][1] = g->hand[seat][0], n = 0;
    g->hand[seat][n] = (int8_t)role;
}

static int draw_card(Game *g) { return g->deck[--g->ndeck]; }

static void put_back(Game *g, int role) { g->deck[g->ndeck++] = (int8_t)role; }

/* --- phases ----------------------------------------------------------------------------------------------------------- */

static void ask(Game *g, int phase, int seat) {
    g->phase = (int8_t)phase;
    g->asked[0] = (int8_t)seat;
    g->n_asked = 1;
    g->answered = 0;
}

static void ask_others(const Batch *b, Game *g, int phase, int seat) {
    ask(g, phase, seat);
    g->n_asked = 0;
    for (int other = next_living(b, g, seat); other != seat; other = (other + 1) % b->seats)
        if (g->nhand[other]) g->asked[g->n_asked++] = (int8_t)other;
}

static void end_game(Game *g, int winner) {
    g->phase = OVER;
    g->winner = (int8_t)winner;
    g->n_asked = g->answered = 0;
}

static void end_action(const Batch *b, Game *g) {
    g->events++;  /* resolved */
    if (g->turn >= b->rules.turn_limit) {
        end_game(g, -1);
        return;
    }
    g->turn++;
    g->actor = (int8_t)next_living(b, g, g->actor);
    ask(g, IN_turn, g->actor);
}

static void open_challenges(const Batch *b, Game *g, int seat, int role, bool is_block) {
    g->claimant = (int8_t)seat;
    g->claimed = (int8_t)role;
    g->is_block = is_block;
    ++*count(b, g, seat, b->places.claimed + role);
    ask_others(b, g, IN_challenge, seat);
}

static void open_blocks(const Batch *b, Game *g, bool proven) {
    const Row *row = row_of(b, g);
    if (!row->block_roles || (row->targeted && !g->nhand[g->target])) {
        resolve(b, g);
        return;
    }
    if (row->targeted) ask(g, IN_block, g->target);
    else ask_others(b, g, IN_block, g->actor);
    g->proven = proven;
}

static void pay(Game *g, int seat, int coins) {
    g->coins[seat] = (int16_t)(g->coins[seat] + coins);
    g->events++;
}

static void after_loss(const Batch *b, Game *g) {
    if (g->then == THEN_BLOCK) open_blocks(b, g, true);
    else if (g->then == THEN_RESOLVE) resolve(b, g);
    else end_action(b, g);
}

/* Forget whom `seat` blocked: it may have other cards now (sample_bots/honest.py). */
static void forget_blocks(const Batch *b, Game *g, int seat) {
    for (int row = 0; row < b->n_rows; row++)
        for (int target = 0; target <= SEATS; target++)
            if (g->blocked[row][target] == seat + 1) g->blocked[row][target] = 0;
}

static void lose(const Batch *b, Game *g, int seat, int role) {
    remove_card(g, seat, role);
    ++*count(b, g, seat, b->places.revealed + role);
    g->events++;
    know_lost(b, g, seat, role);
    forget_blocks(b, g, seat);
    if (!g->nhand[seat]) {
        g->events++;  /* exiled */
        if (g->coins[seat]) pay(g, seat, -g->coins[seat]);
        if (living(b, g) == 1) {
            end_game(g, next_living(b, g, seat));
            return;
        }
    }
    after_loss(b, g);
}

static void take_influence(const Batch *b, Game *g, int seat, int reason_at, int then) {
    g->reason = (int8_t)reason_at;
    g->then = (int8_t)then;
    if (g->nhand[seat] > 1) ask(g, IN_lose, seat);
    else lose(b, g, seat, g->hand[seat][0]);
}

static void examine(const Batch *b, Game *g, int role) {
    g->seen = (int8_t)role;
    ask(g, IN_examine_decide, g->actor);
    know_request(b, g, g->actor);
}

static void resolve(const Batch *b, Game *g) {
    const Row *row = row_of(b, g);
    int target = g->target, taken;
    if (row->targeted && !g->nhand[target]) {
        end_action(b, g);
        return;
    }
    switch (row->effect) {
    case EFFECT_gain: pay(g, g->actor, row->gain); break;
    case EFFECT_steal:
        taken = g->coins[target] < row->gain ? g->coins[target] : row->gain;
        pay(g, target, -taken);
        pay(g, g->actor, taken);
        break;
    case EFFECT_hit: take_influence(b, g, target, row->reason_at, THEN_END); return;
    case EFFECT_exchange:
        for (g->ndrawn = 0; g->ndrawn < b->rules.draw && g->ndeck;) g->drawn[g->ndrawn++] = (int8_t)draw_card(g);
        ask(g, IN_exchange, g->actor);
        know_request(b, g, g->actor);
        return;
    case EFFECT_examine:
        if (g->nhand[target] > 1) ask(g, IN_examine_show, target);
        else examine(b, g, g->hand[target][0]);
        return;
    }
    end_action(b, g);
}

/* --- answers ---------------------------------------------------------------------------------------------------------- */

/* A seat returns a card, the deck is shuffled, and it draws another. */
static void swap_card(const Batch *b, Game *g, int seat, int role, int examiner) {
    int came = -1;
    if (examiner >= 0 && b->rules.draws_first) came = draw_card(g);
    remove_card(g, seat, role);
    put_back(g, role);
    shuffle_deck(g, "reshuffle");
    if (came < 0) came = draw_card(g);
    add_card(g, seat, came);
    g->events++;
    know_swapped(b, g, seat, role, came, examiner);
}

static void prove(const Batch *b, Game *g, Move move) {
    int seat = g->claimant, role = g->claimed, reason = b->places.reason_challenge;
    if (move.verb == TO_decline) {
        ++*count(b, g, seat, b->places.caught + role);
        g->events++;
        if (!g->is_block && row_of(b, g)->cost) pay(g, g->actor, row_of(b, g)->cost);
        take_influence(b, g, seat, reason, g->is_block ? THEN_RESOLVE : THEN_END);
        return;
    }
    ++*count(b, g, seat, b->places.shown + role);
    swap_card(b, g, seat, role, -1);
    forget_blocks(b, g, seat);
    take_influence(b, g, g->challenger, reason, g->is_block ? THEN_END : THEN_BLOCK);
}

static void keep(const Batch *b, Game *g, Move move) {
    int seat = g->actor, counts[ROLES] = {0}, n = g->ndrawn;
    int8_t back[4], returned = 0;
    for (int i = 0; i < g->nhand[seat]; i++) counts[g->hand[seat][i]]++;
    for (int i = 0; i < n; i++) counts[g->drawn[i]]++;
    g->nhand[seat] = g->ndrawn = 0;
    add_card(g, seat, move.a);
    counts[move.a]--;
    if (move.b >= 0) add_card(g, seat, move.b), counts[move.b]--;
    for (int role = 0; role < ROLES; role++)
        while (counts[role]-- > 0) back[returned++] = (int8_t)role, put_back(g, role);
    shuffle_deck(g, "reshuffle");
    g->events++;
    know_exchanged(b, g, seat, back, n);
    forget_blocks(b, g, seat);
    end_action(b, g);
}

static void decide_examined(const Batch *b, Game *g, Move move) {
    const Places *at = &b->places;
    int seat = g->actor, target = g->target, role = g->seen, swaps = move.verb == TO_force_swap;
    int steps = (target - seat + b->seats) % b->seats, size = b->secret_numbers;
    g->seen = -1;
    ++*count(b, g, seat, swaps ? at->force_swaps : at->hands_back);
    ++*count(b, g, target, swaps ? at->swapped : at->examined);
    g->knowledge[seat].secret[steps * size + at->looked - at->known + role]++;
    g->knowledge[target].secret[(b->seats - steps) * size + at->knows - at->known + role]++;
    if (swaps) swap_card(b, g, target, role, seat);
    else g->events++, know_examined(b, g, seat, target, role);
    end_action(b, g);
}

/* Continue after the answers of all asked seats. */
static void apply(const Batch *b, Game *g) {
    Move move = b->moves[g->answers[0]];
    int seat = g->asked[0], i = 0;
    switch (g->phase) {
    case IN_turn: {
        const Row *row = &b->rows[move.a];
        g->pending = (int8_t)move.a;
        g->target = row->targeted ? (int8_t)((seat + move.b) % b->seats) : -1;
        g->events++;
        if (row->cost) pay(g, seat, -row->cost);
        if (row->claim >= 0) open_challenges(b, g, seat, row->claim, false);
        else open_blocks(b, g, false);
        return;
    }
    case IN_challenge:
        while (i < g->n_asked && b->moves[g->answers[i]].verb != TO_challenge) i++;
        if (i < g->n_asked) {
            g->challenger = g->asked[i];
            ++*count(b, g, g->challenger, b->places.challenges);
            g->events++;
            ask(g, IN_prove, g->claimant);
        } else if (g->is_block) end_action(b, g);
        else open_blocks(b, g, false);
        return;
    case IN_block:
        while (i < g->n_asked && b->moves[g->answers[i]].verb != TO_block) i++;
        if (i < g->n_asked) {
            g->blocked[g->pending][g->target < 0 ? SEATS : g->target] = (int8_t)(g->asked[i] + 1);
            g->events++;
            open_challenges(b, g, g->asked[i], b->moves[g->answers[i]].a, true);
        } else resolve(b, g);
        return;
    case IN_prove: prove(b, g, move); return;
    case IN_lose: lose(b, g, seat, move.a); return;
    case IN_exchange: keep(b, g, move); return;
    case IN_examine_show: examine(b, g, move.a); return;
    case IN_examine_decide: decide_examined(b, g, move); return;
    }
}

/* --- masks ------------------------------------------------------------------------------------------------------------ */

static void allow(const Batch *b, Game *g, int verb, int first, int second) { g->mask[b->find[verb][first][second + 1]] = 1; }

static void allow_actions(const Batch *b, Game *g, int seat) {
    bool forced = g->coins[seat] >= b->rules.forced_coup;
    for (int at = 0; at < b->n_rows; at++) {
        const Row *row = &b->rows[at];
        if (row->cost > g->coins[seat] || (forced && !row->forced)) continue;
        if (!row->targeted) allow(b, g, TO_act, at, 0);
        for (int step = 1; row->targeted && step < b->seats; step++)
            if (g->nhand[(seat + step) % b->seats]) allow(b, g, TO_act, at, step);
    }
}

static void allow_kept(const Batch *b, Game *g, int seat) {
    int8_t pool[4], n = 0;
    for (int i = 0; i < g->nhand[seat]; i++) pool[n++] = g->hand[seat][i];
    for (int i = 0; i < g->ndrawn; i++) pool[n++] = g->drawn[i];
    for (int i = 0; i < n; i++) {
        if (g->nhand[seat] == 1) allow(b, g, TO_keep, pool[i], -1);
        for (int j = i + 1; j < n && g->nhand[seat] > 1; j++)
            if (pool[i] < pool[j]) allow(b, g, TO_keep, pool[i], pool[j]);
            else allow(b, g, TO_keep, pool[j], pool[i]);
    }
}

/* Set the mask of the seat that is asked now. */
static void set_mask(const Batch *b, Game *g) {
    int seat = g->asked[g->answered];
    memset(g->mask, 0, sizeof g->mask);
    switch (g->phase) {
    case IN_turn: allow_actions(b, g, seat); return;
    case IN_challenge:
        allow(b, g, TO_pass, 0, 0);
        allow(b, g, TO_challenge, 0, 0);
        return;
    case IN_block:
        allow(b, g, TO_pass, 0, 0);
        for (int role = 0; role < ROLES; role++)
            if (row_of(b, g)->block_roles >> role & 1) allow(b, g, TO_block, role, 0);
        return;
    case IN_prove:
        allow(b, g, TO_decline, 0, 0);
        if (holds(g, seat, g->claimed)) allow(b, g, TO_show, g->claimed, 0);
        return;
    case IN_lose:
    case IN_examine_show:
        for (int i = 0; i < g->nhand[seat]; i++) allow(b, g, g->phase == IN_lose ? TO_lose : TO_reveal, g->hand[seat][i], 0);
        return;
    case IN_exchange: allow_kept(b, g, seat); return;
    case IN_examine_decide:
        allow(b, g, TO_hand_back, 0, 0);
        allow(b, g, TO_force_swap, 0, 0);
        return;
    }
}

/* --- games ------------------------------------------------------------------------------------------------------------ */

/* Deal the next game of a key. The learner's seat moves on by one; opponents are drawn for the other seats. */
void deal(const Batch *b, Game *g, int64_t at) {
    g->number++;
    memset((char *)g + offsetof(Game, turn), 0, sizeof *g - offsetof(Game, turn));
    g->turn = 1, g->winner = g->seen = g->target = g->learner = g->acted_last = -1;
    seed_dice(g);
    if (b->opponents) {
        g->learner = (int8_t)((at + g->number) % b->seats);
        for (int seat = 0; seat < b->seats && seat < SEATS; seat++)
            if (seat != g->learner) g->who[seat] = (int8_t)b->roster[roll(g, (uint32_t)b->opponents)];
    }
    for (int role = 0; role < ROLES; role++)
        for (int i = 0; i < b->rules.copies; i++) put_back(g, role);
    shuffle_deck(g, "deal");
    for (int seat = 0; seat < b->seats; seat++) {
        g->coins[seat] = b->rules.start_coins;
        for (int i = 0; i < 2; i++) add_card(g, seat, draw_card(g));
    }
    if (b->seats == 2) g->coins[0] = b->rules.starter_coins;
    begin_knowledge(b, g);
    ask(g, IN_turn, 0);
    set_mask(b, g);
}

/* Play a legal action of the seat that is asked now. */
void play(const Batch *b, Game *g, int action) {
    g->acted_last = g->asked[g->answered];
    g->answers[g->answered++] = (int16_t)action;
    if (g->answered == g->n_asked) apply(b, g);
    if (g->phase != OVER) set_mask(b, g);
}

double reward(const Batch *b, const Game *g, int seat) {
    if (g->phase != OVER || !g->nhand[seat]) return 0;
    return 1.0 / living(b, g);
}

void observe(const Batch *b, Game *g, int seat, int16_t *numbers) {
    const Places *at = &b->places;
    const int16_t kinds[] = {at->kind_turn, at->kind_challenge, at->kind_block, at->kind_prove, at->kind_lose,
        at->kind_exchange, at->kind_examine_show, at->kind_examine_decide};
    const Row *row = row_of(b, g);
    Knowledge *k = &g->knowledge[seat];
    bool pending = g->phase != IN_turn && g->phase != OVER, claims = g->phase == IN_challenge || g->phase == IN_prove;
    memset(numbers, 0, sizeof *numbers * (size_t)at->coins);
    numbers[at->turn] = (int16_t)g->turn;
    numbers[at->deck] = g->ndeck;
    if (g->phase != OVER) numbers[kinds[g->phase]] = 1;
    if (pending) numbers[row->shown_at] = 1;
    if (claims) numbers[at->claim + g->claimed] = 1, numbers[at->blocks] = g->is_block;
    if (g->phase == IN_block) numbers[at->proven] = g->proven;
    if (g->phase == IN_lose) numbers[g->reason] = 1;
    for (int i = 0; i < g->nhand[seat]; i++) numbers[at->cards + g->hand[seat][i]]++;
    if (seat == g->actor) {
        for (int i = 0; i < g->ndrawn; i++) numbers[at->drawn + g->drawn[i]]++;
        if (g->seen >= 0) numbers[at->seen + g->seen] = 1;
    }
    for (int step = 0; step < b->seats; step++) {
        int other = (seat + step) % b->seats;
        int16_t *own = numbers + step * b->row_numbers;
        memcpy(own + at->coins, g->rows[other], sizeof *own * (size_t)b->row_numbers);
        own[at->coins] = g->coins[other];
        own[at->influence] = g->nhand[other];
        own[at->actor] = other == g->actor;
        own[at->target] = pending && other == g->target;
        own[at->claimant] = claims && other == g->claimant;
        own[at->challenger] = g->phase == IN_prove && other == g->challenger;
    }
    if (b->facts && g->nhand[seat]) {
        write_facts(b, g, seat);
        memcpy(numbers + at->in_deck, k->in_deck, sizeof k->in_deck);
    }
    memcpy(numbers + at->known, k->secret, sizeof *numbers * (size_t)(b->seats * b->secret_numbers));
    if (b->facts && !g->nhand[seat])  /* a seat that is out knows nothing for certain */
        for (int step = 0; step < b->seats; step++)
            for (int role = 0; role < ROLES; role++)
                numbers[at->known + step * b->secret_numbers + role] = numbers[at->lacks + step * b->secret_numbers + role] = 0;
}
