/* Derives what a seat knows for certain, as arena.coup.knowledge does; its comments explain the rules that follow here.

A hand is a number: 0..14 is a pair of roles, 15 is no hand. A set of hands has a bit for each. Worlds, the possible
hands of up to four opponents together, are a bit for each world: the lowest 4 bits of its place are the hand of the
opponent in dimension 0, the next 4 bits that in dimension 1, and so on. So a `lane`, 16 bits, has all hands of dimension
0, and a block of 16 lanes those of dimensions 0 and 1; a dimension that isn't used has hand 15. Unlike in Python, the
dimension of an opponent that is out is removed, with its cards from all counts: its hand is the same in all worlds. */
#include "game.h"

enum { HANDS = 15, EMPTY = 15, ALL = 0x7fff, GUARD = 044444 };  /* GUARD: the highest bit of five fields of 3 bits */

static int8_t count_of[16][ROLES], index_of[ROLES][ROLES];
static uint32_t packed[16];               /* the counts of a hand in fields of 3 bits */
static uint16_t least[ROLES][5];          /* hands with at least n cards of a role */
static uint16_t with[ROLES];              /* hands with a card of a role */
static uint16_t fitting[1024][16];        /* blocks of hands with at most 0..3 cards of each role, 2 bits a role */
static uint16_t many[ROLES][5][16];       /* blocks of hands with at least n cards of a role together */

void make_tables(void) {
    int hand = 0;
    for (int a = 0; a < ROLES; a++)
        for (int b = a; b < ROLES; b++, hand++) {
            index_of[a][b] = index_of[b][a] = (int8_t)hand;
            count_of[hand][a]++, count_of[hand][b]++;
            packed[hand] = (1u << 3 * a) + (1u << 3 * b);
        }
    for (int role = 0; role < ROLES; role++) {
        for (hand = 0; hand < HANDS; hand++)
            for (int n = 0; n <= count_of[hand][role]; n++) least[role][n] |= (uint16_t)(1 << hand);
        with[role] = least[role][1];
        for (int n = 0; n < 5; n++)
            for (int pair = 0; pair < 256; pair++)
                if (count_of[pair & 15][role] + count_of[pair >> 4][role] >= n)
                    many[role][n][pair >> 4] |= (uint16_t)(1 << (pair & 15));
    }
    for (int most = 0; most < 1024; most++)
        for (int pair = 0; pair < 256; pair++) {
            bool fits = true;
            for (int role = 0; role < ROLES; role++)
                fits &= count_of[pair & 15][role] + count_of[pair >> 4][role] <= (most >> 2 * role & 3);
            if (fits) fitting[most][pair >> 4] |= (uint16_t)(1 << (pair & 15));
        }
}

static int blocks_of(int dims) { return dims <= 2 ? 1 : dims == 3 ? 16 : 256; }

/* The numbers that the worlds of a seat take. */
int lanes_for(int seats) { return 16 * blocks_of(seats - 1 < 4 ? seats - 1 : 4); }

/* --- sets of worlds --------------------------------------------------------------------------------------------------- */

/* Remove worlds with more cards of a role than `most`. */
static void fit(uint16_t *w, int dims, const int8_t most[ROLES]) {
    uint32_t bounds = GUARD;
    for (int role = 0; role < ROLES; role++) bounds |= (uint32_t)(most[role] < 0 ? 0 : most[role] > 3 ? 3 : most[role]) << 3 * role;
    for (int q = 0; q < blocks_of(dims); q++, w += 16) {
        /* No field borrows from the next: it is at least 4, and two hands have at most 4 cards of a role. */
        uint32_t left = bounds - (dims > 2 ? packed[q & 15] : 0) - (dims > 3 ? packed[q >> 4] : 0);
        if ((left & GUARD) != GUARD) {
            memset(w, 0, 32);
            continue;
        }
        const uint16_t *fits = fitting[(left & 3) | (left >> 1 & 014) | (left >> 2 & 060) | (left >> 3 & 0300) | (left >> 4 & 01400)];
        for (int lane = 0; lane < 16; lane++) w[lane] &= fits[lane];
    }
}

/* Keep worlds in which the hand of a dimension is one of `hands`. */
static void restrict_to(uint16_t *w, int dims, int at, uint16_t hands) {
    int lanes = 16 * blocks_of(dims);
    for (int lane = 0; lane < lanes; lane++)
        if (!at) w[lane] &= hands;
        else if (!(hands >> (lane >> 4 * (at - 1) & 15) & 1)) w[lane] = 0;
}

static inline void rewrite_lanes(uint16_t *w, int lanes, int n, const uint16_t from[], const uint16_t to[]) {
    for (int lane = 0; lane < lanes; lane++) {
        uint16_t after = 0;
        for (int k = 0; k < n; k++) after |= w[lane] & from[k] ? to[k] : 0;
        w[lane] = after;
    }
}

/* Replace the hand of a dimension: by any of to[k], in a world where it is one of from[k]. */
static void rewrite(uint16_t *w, int dims, int at, int n, const uint16_t from[], const uint16_t to[]) {
    int lanes = 16 * blocks_of(dims), size = at ? 1 << 4 * (at - 1) : 0;
    if (!at) {
        if (n == 1) rewrite_lanes(w, lanes, 1, from, to);
        else rewrite_lanes(w, lanes, ROLES, from, to);
        return;
    }
    for (uint16_t *group = w; group < w + lanes; group += 16 * size) {  /* a plane of `size` lanes for each hand */
        uint16_t rest[ROLES][256];
        for (int k = 0; k < n; k++) {
            memset(rest[k], 0, 2 * (size_t)size);
            for (int hand = 0; hand < HANDS; hand++)
                if (from[k] >> hand & 1)
                    for (int i = 0; i < size; i++) rest[k][i] |= group[hand * size + i];
        }
        memset(group, 0, 32 * (size_t)size);
        for (int k = 0; k < n; k++)
            for (int hand = 0; hand < HANDS; hand++)
                if (to[k] >> hand & 1)
                    for (int i = 0; i < size; i++) group[hand * size + i] |= rest[k][i];
    }
}

/* Remove a dimension, in which all worlds have the same hand. */
static void remove_dimension(uint16_t *w, int dims, int at, int hand) {
    int blocks = blocks_of(dims);
    if (at >= 2) {
        int size = 16 << 4 * (at - 2), groups = 16 * blocks / (16 * size);
        for (int group = 0; group < groups; group++) memmove(w + group * size, w + (group * 16 + hand) * size, 2 * (size_t)size);
        return;
    }
    uint16_t after[256];  /* a lane for each block: dimensions 0 and 1 are one now */
    for (int q = 0; q < blocks; q++) {
        after[q] = w[16 * q + hand];
        if (!at) {
            after[q] = 0;
            for (int lane = 0; lane < 16; lane++) after[q] |= (uint16_t)((w[16 * q + lane] >> hand & 1) << lane);
        }
    }
    memset(w, 0, 32);
    memcpy(dims > 2 ? w : w + EMPTY, after, 2 * (size_t)blocks);
}

/* The possible hands of each dimension. */
static void project(const uint16_t *w, int dims, uint16_t hands[4]) {
    uint16_t block[16] = {0};
    hands[0] = hands[1] = hands[2] = hands[3] = 0;
    for (int q = 0; q < blocks_of(dims); q++) {
        uint16_t some = 0;
        for (int lane = 0; lane < 16; lane++) block[lane] |= w[16 * q + lane], some |= w[16 * q + lane];
        if (some) hands[2] |= (uint16_t)(1 << (q & 15)), hands[3] |= (uint16_t)(1 << (q >> 4));
    }
    for (int lane = 0; lane < 16; lane++) hands[0] |= block[lane], hands[1] |= (uint16_t)((block[lane] != 0) << lane);
}

/* Whether a world has at least n cards of a role. */
static bool has_world(const uint16_t *w, int dims, int role, int n) {
    if (n <= 0) return true;
    for (int q = 0; q < blocks_of(dims); q++) {
        int need = n - (dims > 2 ? count_of[q & 15][role] : 0) - (dims > 3 ? count_of[q >> 4][role] : 0);
        uint16_t found = 0;
        if (need <= 4)
            for (int lane = 0; lane < 16; lane++) found |= w[16 * q + lane] & many[role][need < 0 ? 0 : need][lane];
        if (found) return true;
    }
    return false;
}

/* --- one observer's knowledge ----------------------------------------------------------------------------------------- */

typedef struct {  /* whose knowledge changes; made for each event */
    const Batch *b;
    Game *g;
    Knowledge *k;
    uint16_t *worlds;
    int seat;
} Observer;

static Observer observer_of(const Batch *b, Game *g, int seat) {
    return (Observer){b, g, &g->knowledge[seat], worlds_of(b, g, seat), seat};
}

/* Whether a seat follows events: it is in the game, and its decisions are observed. */
static bool follows(const Batch *b, const Game *g, int seat) {
    return b->facts && g->nhand[seat] && (g->who[seat] == LEARNER || g->who[seat] >= POLICY);
}

/* Hands of an opponent that hide at least n cards of a role, next to its face-up card. */
static uint16_t hides(const Game *g, int seat, int role, int n) {
    return least[role][n + (g->nup[seat] > 0 && g->up[seat][0] == role)];
}

/* Rule out hands that hide more cards of a role than are unseen, while worlds aren't joined. */
static void fit_apart(Observer o, int role, int but) {
    int spare = o.k->unseen[role] - o.k->located[role];
    if (o.k->mode != APART || spare >= 2) return;
    for (int seat = 0; seat < o.b->seats; seat++)
        if (o.k->at[seat] >= 0 && seat != but) o.k->apart[seat] &= (uint16_t)~hides(o.g, seat, role, spare == 0 ? 1 : 2);
}

/* Make worlds if there are none; join them when four opponents are left. */
static void learn(Observer o) {
    Knowledge *k = o.k;
    uint16_t hands[4] = {1 << EMPTY, 1 << EMPTY, 1 << EMPTY, 1 << EMPTY};
    int8_t most[ROLES], before = k->mode;
    int living = 0;
    k->changed = 1;
    for (int seat = 0; seat < o.b->seats; seat++) living += seat != o.seat && o.g->nup[seat] < 2;
    if (before == JOINED || (before == APART && living > 4)) return;
    k->mode = living > 4 ? APART : JOINED;
    k->dims = 0;
    for (int seat = 0; seat < o.b->seats; seat++) {
        k->at[seat] = -1;
        if (seat == o.seat || o.g->nup[seat] > 1) continue;
        if (before == NO_WORLDS) k->apart[seat] = ALL;
        k->at[seat] = k->dims++;
        if (o.g->nup[seat]) {
            int role = o.g->up[seat][0];
            k->apart[seat] &= with[role];
            if (k->mode == JOINED) k->unseen[role]++, k->face_up[role]++;
        }
        if (k->mode == JOINED) hands[k->at[seat]] = k->apart[seat];
    }
    if (k->mode == APART) {
        for (int role = 0; role < ROLES; role++) fit_apart(o, role, -1);
        return;
    }
    for (int q = 0; q < blocks_of(k->dims); q++)
        for (int lane = 0; lane < 16; lane++) {
            bool in = (k->dims < 3 || hands[2] >> (q & 15) & 1) && (k->dims < 4 || hands[3] >> (q >> 4) & 1);
            o.worlds[16 * q + lane] = in && hands[1] >> lane & 1 ? hands[0] : 0;
        }
    for (int role = 0; role < ROLES; role++) most[role] = (int8_t)(k->unseen[role] - k->located[role]);
    fit(o.worlds, k->dims, most);
}

static void hide(Observer o, int seat, int role) {
    learn(o);
    if (o.k->mode == APART) o.k->apart[seat] &= hides(o.g, seat, role, 1);
    else restrict_to(o.worlds, o.k->dims, o.k->at[seat], hides(o.g, seat, role, 1));
}

/* An opponent returns a card of one of `backs` (bits of roles) and draws any, while the deck has a card of `role` (-1: any).
With all = true it returns both cards. */
static void swap(Observer o, int seat, int backs, int role, bool all) {
    uint16_t from[ROLES] = {ALL}, to[ROLES] = {ALL};
    int n = 0;
    for (int stays = 0; stays < ROLES && !all; stays++) {
        if (o.g->nup[seat] && o.g->up[seat][0] != stays) continue;
        from[n] = 0, to[n] = with[stays];
        for (int back = 0; back < ROLES; back++)
            if (backs >> back & 1) from[n] |= (uint16_t)(1 << index_of[stays][back]);
        n++;
    }
    n = all ? 1 : n;
    if (o.k->mode == JOINED) {
        int8_t most[ROLES];
        memcpy(most, o.k->unseen, sizeof most);
        if (role >= 0) most[role]--;
        rewrite(o.worlds, o.k->dims, o.k->at[seat], n, from, to);
        fit(o.worlds, o.k->dims, most);
        return;
    }
    rewrite_lanes(&o.k->apart[seat], 1, n, from, to);
    for (int each = 0; each < ROLES; each++) {
        int spare = o.k->unseen[each] - o.k->located[each] - (each == role);
        if (spare < 2) o.k->apart[seat] &= (uint16_t)~hides(o.g, seat, each, spare == 0 ? 1 : 2);
    }
}

/* An opponent draws cards, which may be any that are certainly in the deck. */
static void reduce_located(Observer o, int count) {
    for (int role = 0; role < ROLES; role++) o.k->located[role] = (int8_t)(o.k->located[role] > count ? o.k->located[role] - count : 0);
}

static void replace_unseen(Observer o, int seat, int count) {
    if (o.k->mode == NO_WORLDS) return;
    o.k->changed = 1;
    reduce_located(o, count);
    if (count) swap(o, seat, 037, -1, count == 2);
}

/* Whether nothing follows from a card that an opponent showed and replaced: the others could have only that role. */
static bool rules_out_nothing(Observer o, int seat, int role) {
    int spaces = 0, others = 0;
    for (int other = 0; other < o.b->seats; other++)
        if (other != seat && other != o.seat && o.g->nup[other] < 2) spaces += 2 - o.g->nup[other], others++;
    return o.k->unseen[role] > (others < 4 ? spaces : 2);
}

/* An opponent returns a card of a role, -1 if unknown, and draws another: before it returns the card, or after. */
static void replace_card(Observer o, int seat, int role, bool draws_first) {
    if (role < 0 && (!draws_first || o.k->mode == NO_WORLDS)) {
        replace_unseen(o, seat, 1);
        return;
    }
    if (role >= 0 && o.k->mode == NO_WORLDS && !draws_first && rules_out_nothing(o, seat, role)) return;
    learn(o);
    if (draws_first) reduce_located(o, 1);
    if (draws_first && role < 0) {  /* the union over all roles that it can return */
        uint16_t before[16 * 256], after[16 * 256] = {0}, *w = o.k->mode == JOINED ? o.worlds : &o.k->apart[seat];
        int lanes = o.k->mode == JOINED ? 16 * blocks_of(o.k->dims) : 1;
        memcpy(before, w, 2 * (size_t)lanes);
        for (int back = 0; back < ROLES; back++) {
            memcpy(w, before, 2 * (size_t)lanes);
            swap(o, seat, 1 << back, back, false);
            for (int lane = 0; lane < lanes; lane++) after[lane] |= w[lane];
        }
        memcpy(w, after, 2 * (size_t)lanes);
        return;
    }
    if (draws_first) swap(o, seat, 1 << role, role, false);
    o.k->located[role]++;
    fit_apart(o, role, seat);
    if (draws_first) return;
    reduce_located(o, 1);
    swap(o, seat, 1 << role, -1, false);
}

static void fit_own(Observer o) {
    if (o.k->mode == NO_WORLDS) return;
    o.k->changed = 1;
    for (int role = 0; role < ROLES; role++) fit_apart(o, role, -1);
    if (o.k->mode == JOINED) fit(o.worlds, o.k->dims, o.k->unseen);
}

static void draw_own(Observer o, int role) {
    o.k->unseen[role]--;
    if (o.k->located[role]) o.k->located[role]--;
}

static void return_own(Observer o, int role) {
    learn(o);
    o.k->unseen[role]++, o.k->located[role]++;
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

void begin_knowledge(const Batch *b, Game *g) {
    for (int seat = 0; seat < b->seats; seat++) {
        Knowledge *k = &g->knowledge[seat];
        memset(k->at, -1, sizeof k->at);
        for (int role = 0; role < ROLES; role++) k->unseen[role] = (int8_t)b->rules.copies;
        for (int i = 0; i < 2; i++) k->unseen[g->hand[seat][i]]--;
    }
}

/* A seat turned a card up, which g->up doesn't contain yet. */
void know_lost(const Batch *b, Game *g, int seat, int role) {
    for (int step = 0; step < 2; step++) {  /* before and after it is added */
        for (int observer = 0; observer < b->seats; observer++) {
            if (observer == seat || !follows(b, g, observer)) continue;
            Observer o = observer_of(b, g, observer);
            Knowledge *k = o.k;
            if (!step) {
                if (k->mode != NO_WORLDS) hide(o, seat, role);
                continue;
            }
            if (k->mode == JOINED) k->face_up[role]++;
            else k->unseen[role]--;
            if (k->mode == NO_WORLDS) continue;
            k->changed = 1;
            if (g->nup[seat] == 2) {
                int at = k->at[seat];
                k->at[seat] = -1;
                if (k->mode == JOINED) {
                    remove_dimension(o.worlds, k->dims--, at, index_of[g->up[seat][0]][g->up[seat][1]]);
                    for (int other = 0; other < b->seats; other++)
                        if (k->at[other] > at) k->at[other]--;
                    for (int i = 0; i < 2; i++) k->unseen[g->up[seat][i]]--, k->face_up[g->up[seat][i]]--;
                } else learn(o);
            }
            fit_apart(o, role, -1);
        }
        if (!step) g->up[seat][g->nup[seat]++] = (int8_t)role;
    }
}

/* A seat showed a card and replaced it, or had to replace it after an examiner (-1: none) saw it. */
void know_swapped(const Batch *b, Game *g, int seat, int back, int came, int examiner) {
    bool draws_first = examiner >= 0 && b->rules.draws_first;
    for (int observer = 0; observer < b->seats; observer++) {
        if (!follows(b, g, observer)) continue;
        Observer o = observer_of(b, g, observer);
        if (observer != seat) replace_card(o, seat, examiner < 0 || observer == examiner ? back : -1, draws_first);
        else if (draws_first) draw_own(o, came), fit_own(o), return_own(o, back), fit_own(o);
        else return_own(o, back), draw_own(o, came), fit_own(o);
    }
}

/* A seat exchanged `count` cards; only itself knows those that it returned. */
void know_exchanged(const Batch *b, Game *g, int seat, const int8_t back[], int count) {
    for (int observer = 0; observer < b->seats; observer++) {
        if (!follows(b, g, observer)) continue;
        Observer o = observer_of(b, g, observer);
        if (observer != seat) {
            replace_unseen(o, seat, count < 2 - g->nup[seat] ? count : 2 - g->nup[seat]);
            continue;
        }
        for (int i = 0; i < count; i++) return_own(o, back[i]);
        fit_own(o);
    }
}

/* The seat that is asked sees cards that no event shows: those that it has drawn, or that it examines. */
void know_request(const Batch *b, Game *g, int seat) {
    if (!follows(b, g, seat)) return;
    Observer o = observer_of(b, g, seat);
    for (int i = 0; i < g->ndrawn; i++) draw_own(o, g->drawn[i]);
    if (g->ndrawn) {
        fit_own(o);
        if (g->ndeck < b->rules.copies) learn(o);
    }
    if (g->seen >= 0) hide(o, g->target, g->seen);
}

/* An examiner handed a card back. */
void know_examined(const Batch *b, Game *g, int examiner, int seat, int role) {
    if (follows(b, g, examiner)) hide(observer_of(b, g, examiner), seat, role);
}

/* --- what follows ----------------------------------------------------------------------------------------------------- */

/* Write the certain facts of a seat into `secret` and `in_deck` of its knowledge, if they changed. */
void write_facts(const Batch *b, Game *g, int observer) {
    Observer o = observer_of(b, g, observer);
    Knowledge *k = o.k;
    int hidden = 0, held[ROLES] = {0};  /* held: cards of a role that hands certainly have, less spaces that can't have it */
    uint16_t hands[4];
    if (!k->changed) return;
    k->changed = 0;
    if (k->mode == JOINED) project(o.worlds, k->dims, hands);
    for (int step = 1; step < b->seats; step++) {
        int seat = (observer + step) % b->seats, size = 2 - g->nup[seat], found = 0;
        int16_t *known = k->secret + step * b->secret_numbers, *lacking = known + b->places.lacks - b->places.known;
        int8_t has[ROLES], lacks[ROLES];
        memset(known, 0, ROLES * sizeof *known);
        memset(lacking, 0, ROLES * sizeof *lacking);
        if (k->at[seat] < 0) continue;
        uint16_t possible = k->mode == JOINED ? hands[k->at[seat]] : k->apart[seat];
        for (int role = 0; role < ROLES; role++) {
            uint16_t one = hides(g, seat, role, 1), two = hides(g, seat, role, 2);
            has[role] = (int8_t)(possible & ~one ? 0 : possible & ~two ? 1 : 2);
            lacks[role] = !has[role] && !(possible & one);
            found += has[role];
            known[role] = has[role];
            lacking[role] = lacks[role] && k->unseen[role] > k->face_up[role];
        }
        hidden += size;
        for (int role = 0; role < ROLES; role++) held[role] += has[role] - (lacks[role] ? size : found);
    }
    for (int role = 0; role < ROLES; role++) {
        int unseen = k->unseen[role], up = k->face_up[role], most = unseen < up + hidden ? unseen : up + hidden;
        k->in_deck[role] = k->located[role];
        if (k->mode != JOINED || !unseen || (most > 0 && has_world(o.worlds, k->dims, role, most))) continue;
        for (most = most > 0 ? most - 1 : 0; !has_world(o.worlds, k->dims, role, most);) most--;
        if (unseen - most > unseen - up - hidden - held[role]) k->in_deck[role] = (int16_t)(unseen - most);
    }
}
