/* Trains a strategy for Coup between two players: sampled regret minimisation against a mixture of opponents.
 *
 * The hero learns at every decision of a sampled game. Its opponent is, with chance SELF, a villain that learns to beat
 * the hero in the same way, else one of the styles of play below. That is a restricted Nash response: nearly an
 * equilibrium where SELF is near 1, nearly a best response to the styles where it is near 0.
 *
 * An information set is a key of what a seat sees (function key). Each has keys of three levels, from
 * fine to coarse: a finer entry is made where the coarser one was seen often. bot.py makes the same keys.
 *
 * There is a table for each sort of opponent (CELLS). FILE.0, FILE.1 ... get the SIZE entries of each that were seen most:
 * the key, the odds of seven moves, the visits. The output has the STYLES of bot.py.
 *
 * usage: train SEED ROUNDS FILE SIZE
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { AMB, ASN, CAP, CON, DUK, NONE };                      /* roles, by the alphabet */
enum { INCOME, AID, TAX, STEAL, KILL, SWAP, COUP, ACTIONS }; /* actions */
enum { TURN, DOUBT, BLOCK, DOUBT_BLOCK, LOSE, KEEP, OVER };  /* phases */
enum { END, THEN_BLOCK, THEN_RESOLVE };                      /* what follows a lost card */

static const int CLAIM[ACTIONS] = {NONE, NONE, DUK, CAP, ASN, AMB, NONE};
static const int COST[ACTIONS] = {0, 0, 0, 0, 3, 0, 7};
#define MOST_TURNS 80

typedef struct {
    uint8_t hand[2][2], size[2], dead[2], deads, deck[5];
    int8_t coins[2];
    uint8_t claims[2], caught[2], doubter[2], blocked[2]; /* masks; blocked: the seat's actions that were blocked */
    uint8_t pool[4], pools;
    uint8_t phase, actor, action, role, again, proven, loser, then, turn, winner; /* winner 2: a draw */
} State;

static uint64_t seed_state;
static inline uint64_t rnd(void) {
    uint64_t z = (seed_state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}
static inline double uniform(void) { return (rnd() >> 11) * (1.0 / 9007199254740992.0); }
static inline int below(int n) { return (int)(((rnd() >> 32) * (uint64_t)n) >> 32); }

/* ---- the rules ---- */

static int draw(State *s) {
    int total = 0, role = 0;
    for (int r = 0; r < 5; r++) total += s->deck[r];
    int k = below(total);
    while (k >= s->deck[role]) k -= s->deck[role++];
    s->deck[role]--;
    return role;
}
static void sort_hand(State *s, int p) {
    if (s->size[p] == 2 && s->hand[p][0] > s->hand[p][1]) {
        uint8_t c = s->hand[p][0];
        s->hand[p][0] = s->hand[p][1];
        s->hand[p][1] = c;
    }
}
static inline int holds(const State *s, int p, int role) {
    return s->hand[p][0] == role || (s->size[p] == 2 && s->hand[p][1] == role);
}
static void begin(State *s) {
    memset(s, 0, sizeof *s);
    for (int r = 0; r < 5; r++) s->deck[r] = 3;
    for (int p = 0; p < 2; p++) {
        s->hand[p][0] = draw(s);
        s->hand[p][1] = draw(s);
        s->size[p] = 2;
        sort_hand(s, p);
    }
    s->coins[0] = 1;
    s->coins[1] = 2;
    s->phase = TURN;
    s->turn = 1;
}
static void end_turn(State *s) {
    if (s->turn >= MOST_TURNS) {
        s->phase = OVER;
        s->winner = 2;
        return;
    }
    s->turn++;
    s->actor ^= 1;
    s->phase = TURN;
}
static void resolve(State *s);
static void open_block(State *s) {
    if (s->action == AID || s->action == STEAL || s->action == KILL) s->phase = BLOCK;
    else resolve(s);
}
static void follow(State *s) {
    if (s->then == THEN_BLOCK) open_block(s);
    else if (s->then == THEN_RESOLVE) resolve(s);
    else end_turn(s);
}
static void turn_up(State *s, int p, int place) {
    int role = s->hand[p][place];
    if (place == 0 && s->size[p] == 2) s->hand[p][0] = s->hand[p][1];
    s->size[p]--;
    if (s->size[p]) s->hand[p][1] = NONE;
    s->claims[p] &= ~(1 << role);
    s->blocked[p ^ 1] = 0;
    if (!s->size[p]) {
        s->phase = OVER;
        s->winner = p ^ 1;
        return;
    }
    s->dead[s->deads++] = role;
    follow(s);
}
static void hit(State *s, int p, int then) {
    s->then = then;
    if (s->size[p] == 2 && s->hand[p][0] != s->hand[p][1]) {
        s->phase = LOSE;
        s->loser = p;
    } else turn_up(s, p, 0);
}
static void resolve(State *s) {
    int p = s->actor, o = p ^ 1, taken;
    switch (s->action) {
    case AID: s->coins[p] += 2; break;
    case TAX: s->coins[p] += 3; break;
    case STEAL:
        taken = s->coins[o] < 2 ? s->coins[o] : 2;
        s->coins[p] += taken;
        s->coins[o] -= taken;
        break;
    case KILL: hit(s, o, END); return;
    case SWAP:
        s->pools = s->size[p];
        memcpy(s->pool, s->hand[p], s->pools);
        s->pool[s->pools++] = draw(s);
        s->pool[s->pools++] = draw(s);
        for (int i = 1; i < s->pools; i++)
            for (int j = i; j && s->pool[j - 1] > s->pool[j]; j--) {
                uint8_t c = s->pool[j];
                s->pool[j] = s->pool[j - 1];
                s->pool[j - 1] = c;
            }
        s->phase = KEEP;
        return;
    }
    end_turn(s);
}
static void show(State *s, int p, int role) {
    int place = s->hand[p][0] == role ? 0 : 1;
    s->deck[role]++;
    s->hand[p][place] = draw(s);
    sort_hand(s, p);
    s->claims[p] &= ~(1 << role);
    s->blocked[p ^ 1] = 0;
}
static void claim(State *s, int p, int role) {
    s->again = s->claims[p] >> role & 1;
    s->claims[p] |= 1 << role;
}
static int decider(const State *s) {
    if (s->phase == DOUBT || s->phase == BLOCK) return s->actor ^ 1;
    return s->phase == LOSE ? s->loser : s->actor;
}
/* The distinct hands to keep, in order: each two places of the pool, or one. */
static int keeps(const State *s, int size, uint8_t out[6][2]) {
    int n = 0;
    for (int i = 0; i < s->pools; i++)
        for (int j = size == 2 ? i + 1 : i; j < (size == 2 ? s->pools : i + 1); j++) {
            int a = s->pool[i], b = size == 2 ? s->pool[j] : NONE, seen = 0;
            for (int k = 0; k < n; k++) seen |= out[k][0] == a && out[k][1] == b;
            if (!seen) {
                out[n][0] = a;
                out[n++][1] = b;
            }
        }
    return n;
}
/* A mask of the legal choices. */
static int legal(const State *s) {
    int c, mask;
    uint8_t out[6][2];
    switch (s->phase) {
    case TURN:
        c = s->coins[s->actor];
        if (c >= 10) return 1 << COUP;
        mask = 1 << INCOME | 1 << AID | 1 << TAX | 1 << SWAP;
        if (s->coins[s->actor ^ 1]) mask |= 1 << STEAL;
        if (c >= 3) mask |= 1 << KILL;
        if (c >= 7) mask |= 1 << COUP;
        return mask;
    case BLOCK: return s->action == STEAL ? 7 : 3;
    case KEEP: return (1 << keeps(s, s->size[s->actor], out)) - 1;
    default: return 3;
    }
}
static inline int block_role(int action, int choice) {
    return action == AID ? DUK : action == KILL ? CON : choice == 1 ? AMB : CAP;
}
static void step(State *s, int a) {
    int p = s->actor, o = p ^ 1;
    uint8_t out[6][2];
    switch (s->phase) {
    case TURN:
        s->action = a;
        s->proven = 0;
        s->coins[p] -= COST[a];
        if (a == INCOME) {
            s->coins[p]++;
            end_turn(s);
        } else if (a == COUP) hit(s, o, END);
        else if (a == AID) s->phase = BLOCK;
        else {
            claim(s, p, CLAIM[a]);
            s->phase = DOUBT;
        }
        return;
    case DOUBT:
        if (!a) {
            open_block(s);
            return;
        }
        s->doubter[o] = 1;
        if (holds(s, p, CLAIM[s->action])) {
            show(s, p, CLAIM[s->action]);
            s->proven = 1;
            hit(s, o, THEN_BLOCK);
        } else {
            s->coins[p] += COST[s->action];
            s->claims[p] &= ~(1 << CLAIM[s->action]);
            s->caught[p] |= 1 << CLAIM[s->action];
            hit(s, p, END);
        }
        return;
    case BLOCK:
        if (!a) {
            resolve(s);
            return;
        }
        s->role = block_role(s->action, a);
        claim(s, o, s->role);
        s->blocked[p] |= 1 << s->action;
        s->phase = DOUBT_BLOCK;
        return;
    case DOUBT_BLOCK:
        if (!a) {
            end_turn(s);
            return;
        }
        s->doubter[p] = 1;
        if (holds(s, o, s->role)) {
            show(s, o, s->role);
            hit(s, p, END);
        } else {
            s->claims[o] &= ~(1 << s->role);
            s->caught[o] |= 1 << s->role;
            hit(s, o, THEN_RESOLVE);
        }
        return;
    case LOSE: turn_up(s, s->loser, a); return;
    case KEEP:
        keeps(s, s->size[p], out);
        for (int i = 0; i < s->pools; i++) s->deck[s->pool[i]]++;
        for (int i = 0; i < s->size[p]; i++) {
            s->hand[p][i] = out[a][i];
            s->deck[out[a][i]]--;
        }
        s->claims[p] = 0;
        s->blocked[o] = 0;
        end_turn(s);
        return;
    }
}

/* ---- keys ---- */

static inline int pair(int a, int b) { return a * 5 + b - a * (a + 1) / 2; } /* a <= b: 0..14 */
static inline int hand_code(const State *s, int p) {
    return s->size[p] == 2 ? pair(s->hand[p][0], s->hand[p][1]) : 15 + s->hand[p][0];
}
static inline int dead_code(const State *s) {
    if (!s->deads) return 0;
    if (s->deads == 1) return 1 + s->dead[0];
    int a = s->dead[0], b = s->dead[1];
    return 6 + (a < b ? pair(a, b) : pair(b, a));
}
static const int RANGE[11] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5};
static uint64_t key(const State *s, int p, int coarse) {
    int o = p ^ 1, my = s->coins[p] > 10 ? 10 : s->coins[p], its = s->coins[o] > 10 ? 10 : s->coins[o];
    int hand = hand_code(s, p), extra = 0, theirs = s->claims[o], mine = s->claims[p];
    int flags = s->doubter[o] | (s->caught[o] ? 2 : 0);
    switch (s->phase) {
    case DOUBT: extra = CLAIM[s->action] | s->again << 3; break;
    case BLOCK: extra = s->action | s->proven << 3; break;
    case DOUBT_BLOCK: extra = s->action | (s->role == CAP) << 3 | s->again << 4; break;
    case LOSE: extra = s->then | (s->actor == p) << 2; break;
    case KEEP:
        for (int i = 0; i < s->pools; i++) extra = extra * 6 + 1 + s->pool[i];
        hand = s->size[p];
        break;
    }
    if (s->phase == LOSE || s->phase == KEEP) {
        my = RANGE[my];
        its = RANGE[its];
        mine = 0;
        if (s->phase == KEEP) flags = 0;
        if (coarse) flags = theirs = 0;
        if (coarse == 2) my = its = 0;
    } else if (coarse) {
        my = RANGE[my];
        its = RANGE[its];
        mine = flags = 0;
        if (coarse == 2) theirs = 0;
    }
    uint64_t k = s->phase | coarse << 3;
    k = k * 20 + hand;
    k = k * 21 + (coarse == 2 ? s->deads : dead_code(s));
    k = k * 11 + my;
    k = k * 11 + its;
    k = k * 32 + theirs;
    k = k * 32 + mine;
    k = k * 4 + flags;
    return k * 1300 + extra;
}

/* ---- tables ---- */

typedef struct {
    uint64_t key;
    float regret[7], sum[7];
    uint32_t visits;
} Entry;
#define SLOTS (1u << 22)
static Entry *tables[2]; /* of the hero and of the villain */
static uint32_t used[2];

static Entry *entry(int who, uint64_t k, int make) {
    k++; /* 0 is an empty slot */
    uint32_t i = (uint32_t)((k * 0x9E3779B97F4A7C15ull) >> 42);
    for (;; i = (i + 1) & (SLOTS - 1)) {
        Entry *e = &tables[who][i];
        if (e->key == k) return e;
        if (!e->key) {
            if (!make || used[who] > SLOTS / 10 * 9) return NULL;
            used[who]++;
            e->key = k;
            return e;
        }
    }
}
#define LEVELS 3
#define SPLIT 1000 /* visits of an entry before there are finer ones */

/* The finest entry that there is. With `make`, one level more is made where the coarser was seen often. */
static Entry *finest(int who, const State *s, int p, int make, Entry *levels[LEVELS]) {
    Entry *e = NULL;
    for (int level = LEVELS - 1; level >= 0; level--) {
        Entry *next = entry(who, key(s, p, level), 0);
        if (!next && make && (!e || e->visits >= SPLIT)) {
            next = entry(who, key(s, p, level), 1);
            if (next && e) /* begin with what the coarser one has learnt */
                for (int a = 0; a < 7; a++) {
                    next->regret[a] = e->regret[a] * 0.2f;
                    next->sum[a] = e->sum[a] * 0.02f;
                }
        }
        if (levels) levels[level] = next;
        if (next) e = next;
        else {
            if (levels) while (level-- > 0) levels[level] = NULL;
            break;
        }
    }
    return e;
}

static void matched(const Entry *e, int mask, double out[7]) {
    double total = 0;
    int n = 0;
    for (int a = 0; a < 7; a++) {
        out[a] = mask >> a & 1 && e && e->regret[a] > 0 ? e->regret[a] : 0;
        total += out[a];
        n += mask >> a & 1;
    }
    for (int a = 0; a < 7; a++) out[a] = total > 0 ? out[a] / total : (mask >> a & 1) / (double)n;
}
static void mean(const Entry *e, int mask, double out[7]) {
    double total = 0, top = 0;
    int n = 0;
    for (int a = 0; a < 7; a++) {
        out[a] = mask >> a & 1 && e ? e->sum[a] : 0;
        total += out[a];
        n += mask >> a & 1;
    }
    for (int a = 0; a < 7; a++) {
        out[a] = total > 0 ? out[a] / total : (mask >> a & 1) / (double)n;
        if (out[a] < 0.08) out[a] = 0; /* what is left of the search for it */
        top += out[a];
    }
    for (int a = 0; a < 7; a++) out[a] /= top;
}
static inline int pick(const double *probs) {
    double u = uniform();
    int last = 0;
    for (int a = 0; a < 7; a++)
        if (probs[a] > 0) {
            last = a;
            if ((u -= probs[a]) < 0) return a;
        }
    return last;
}
static int play_current(int who, const State *s, int p) {
    double probs[7];
    Entry *e = finest(who, s, p, 0, NULL);
    matched(e, legal(s), probs);
    return pick(probs);
}
static int play_mean(int who, const State *s, int p) {
    double probs[7];
    Entry *e = finest(who, s, p, 0, NULL);
    mean(e, legal(s), probs);
    return pick(probs);
}

/* ---- styles of play ---- */

enum { HONEST, OPPORTUNIST, BLUFFER, CHALLENGER, COUNTER, TURTLE, RANDOM, STARTER, QUIET_LIAR, DOUBTER, MIXED, CANDID, BLOCKER, STYLES };
static const char *STYLE_NAMES[STYLES] = {"honest", "opportunist", "bluffer",    "challenger", "counter", "turtle",
                                          "random", "starter",     "quiet_liar", "doubter",    "mixed",   "candid", "blocker"};
typedef struct {
    int kind, fakes, tax_first, rich;
    double doubt, below, block_bluff, noise, last_bluff;
} Style;
static double weights[STYLES];

static const double VALUE[6] = {2.5, 4.0, 5.0, 2.0, 4.5, 0};

static Style styled(int kind) {
    Style t = {kind, 0, 0, 5, 0, 0, 0, 0, 0};
    double lie = 0;
    if (kind == COUNTER) t.below = 0.25;
    if (kind == STARTER) t.below = 0.22, t.tax_first = 1, t.rich = 1;
    if (kind == QUIET_LIAR) { /* lies, seldom doubts */
        lie = 0.2 + 0.6 * uniform();
        t.doubt = 0.04 * uniform();
        t.block_bluff = uniform();
    }
    if (kind == DOUBTER) { /* doubts much, lies seldom */
        lie = 0.15 * uniform();
        t.doubt = 0.3 + 0.6 * uniform();
        t.block_bluff = 0.3 * uniform();
    }
    if (kind == MIXED) {
        lie = 0.5 * uniform();
        t.doubt = 0.3 * uniform();
        t.below = below(2) ? 0.35 * uniform() : 0;
        t.block_bluff = 0.7 * uniform();
    }
    if (kind == CANDID || kind == BLOCKER) { /* true actions; blocks true or not */
        t.doubt = 0.06 * uniform();
        t.below = below(2) ? 0.3 * uniform() : 0;
        t.block_bluff = kind == CANDID ? 0.1 * uniform() : 0.5 + 0.5 * uniform();
    }
    if (kind >= QUIET_LIAR) {
        for (int r = 0; r < 5; r++)
            if (uniform() < lie) t.fakes |= 1 << r;
        t.tax_first = below(2);
        t.rich = 1 + below(5);
        t.noise = 0.06 * uniform();
        t.last_bluff = uniform();
    }
    return t;
}
static Style any_style(void) {
    double total = 0;
    for (int i = 0; i < STYLES; i++) total += weights[i];
    double u = uniform() * total;
    int kind = 0;
    while (kind < STYLES - 1 && (u -= weights[kind]) >= 0) kind++;
    return styled(kind);
}
static int unseen(const State *s, int p, int role) {
    int n = 3;
    for (int i = 0; i < s->size[p]; i++) n -= s->hand[p][i] == role;
    for (int i = 0; i < s->deads; i++) n -= s->dead[i] == role;
    return n;
}
static double held_chance(const State *s, int p, int role) {
    double all = 15 - s->size[p] - s->deads, none = 1;
    int copies = unseen(s, p, role);
    for (int i = 0; i < s->size[p ^ 1]; i++) none *= (all - copies - i) / (all - i);
    return 1 - none;
}
static int may_bluff(const State *s, int p, int role) {
    return !(s->caught[p] >> role & 1) && unseen(s, p, role) > 0 && !s->doubter[p ^ 1];
}
static int uniform_choice(int mask) {
    int n = __builtin_popcount(mask), k = below(n), a = 0;
    for (;; a++)
        if (mask >> a & 1 && !k--) return a;
}
static int style_turn(const State *s, int p, const Style *t, int mask) {
    int its = s->coins[p ^ 1], kind = t->kind;
    if (mask >> COUP & 1) return COUP;
    if (kind == TURTLE) return INCOME;
    if (kind == CHALLENGER) return AID;
    int can = 0; /* roles that it plays as held */
    for (int r = 0; r < 5; r++)
        if (holds(s, p, r) || ((t->fakes >> r & 1 || kind == BLUFFER) && !(s->caught[p] >> r & 1))) can |= 1 << r;
    if (kind == BLUFFER) {
        if (mask >> KILL & 1 && can >> ASN & 1) return KILL;
        return can >> DUK & 1 ? TAX : can >> CAP & 1 && mask >> STEAL & 1 ? STEAL : INCOME;
    }
    if (kind == COUNTER) {
        if (mask >> KILL & 1 && can >> ASN & 1) return KILL;
        return can >> DUK & 1 ? TAX : can >> CAP & 1 && mask >> STEAL & 1 ? STEAL : AID;
    }
    int open = mask & ~s->blocked[p];
    if (open >> KILL & 1 && can >> ASN & 1) return KILL;
    int tax = can >> DUK & 1 || (kind == OPPORTUNIST && s->turn >= 16 && may_bluff(s, p, DUK));
    int steal = can >> CAP & 1 && open >> STEAL & 1 && its >= (kind == STARTER ? 1 : 2);
    if (steal && (!tax || (!t->tax_first && its >= t->rich))) return STEAL;
    if (tax) return TAX;
    if (can >> AMB & 1) return SWAP;
    return open >> AID & 1 ? AID : INCOME;
}
static int style_play(const State *s, int p, const Style *t) {
    int mask = legal(s), kind = t->kind;
    double top;
    int best = 0;
    uint8_t out[6][2];
    if (kind == RANDOM || (t->noise > 0 && uniform() < t->noise)) return uniform_choice(mask);
    switch (s->phase) {
    case TURN: return style_turn(s, p, t, mask);
    case DOUBT:
    case DOUBT_BLOCK: {
        int role = s->phase == DOUBT ? CLAIM[s->action] : s->role;
        if (kind == CHALLENGER) return 1;
        if (kind == HONEST || kind == BLUFFER || kind == TURTLE) return 0;
        if (!unseen(s, p, role)) return 1;
        if (kind == OPPORTUNIST) return 0;
        return held_chance(s, p, role) < t->below || (t->doubt > 0 && uniform() < t->doubt);
    }
    case BLOCK: {
        if (kind == TURTLE || kind == CHALLENGER) return 0;
        int most = 0, choice = 0;
        for (int a = 1; a < (s->action == STEAL ? 3 : 2); a++) {
            int role = block_role(s->action, a);
            if (holds(s, p, role)) return a;
            int lost = s->action == KILL && s->size[p] == 1, bluff = 0;
            if (kind == BLUFFER) bluff = !(s->caught[p] >> role & 1);
            if (kind == OPPORTUNIST) bluff = s->action != AID && (lost || may_bluff(s, p, role));
            if (kind >= QUIET_LIAR)
                bluff = (t->fakes >> role & 1 && !(s->caught[p] >> role & 1)) || uniform() < t->block_bluff ||
                        (lost && uniform() < t->last_bluff);
            int n = kind == BLUFFER ? 1 : 1 + unseen(s, p, role);
            if (bluff && n > most) most = n, choice = a;
        }
        return choice;
    }
    case LOSE: return VALUE[s->hand[p][0]] <= VALUE[s->hand[p][1]] ? 0 : 1;
    case KEEP:
        top = -1;
        for (int k = keeps(s, s->size[p], out); k--;) {
            double v = VALUE[out[k][0]] + VALUE[out[k][1]] - (out[k][0] == out[k][1] ? 2 : 0);
            if (v > top) top = v, best = k;
        }
        return best;
    }
    return 0;
}

/* ---- learning ---- */

static double now_weight;
static long nodes;

/* Play on; the learner is the seat `p` with table `who`. `reach`: its own chance to have come here. */
static double learn(State *s, int p, int who, const Style *style, int forks, double reach) {
    for (;;) {
        if (s->phase == OVER) return s->winner == 2 ? 0.5 : s->winner == p;
        int d = decider(s);
        if (d != p) {
            step(s, style ? style_play(s, d, style) : play_current(who ^ 1, s, d));
            continue;
        }
        int mask = legal(s);
        if (!(mask & (mask - 1))) {
            step(s, __builtin_ctz(mask));
            continue;
        }
        nodes++;
        Entry *levels[LEVELS];
        int fork = forks && uniform() < 0.4;
        Entry *e = finest(who, s, p, fork, levels);
        double probs[7];
        matched(e, mask, probs);
        if (fork) {
            double value[7], v = 0;
            for (int a = 0; a < 7; a++)
                if (mask >> a & 1) {
                    State after = *s;
                    step(&after, a);
                    value[a] = learn(&after, p, who, style, forks - 1, reach * probs[a]);
                    v += probs[a] * value[a];
                }
            for (int i = 0; i < LEVELS; i++) {
                Entry *t = levels[i];
                if (!t) continue;
                for (int a = 0; a < 7; a++)
                    if (mask >> a & 1) {
                        t->regret[a] += now_weight * (value[a] - v);
                        if (t->regret[a] < 0) t->regret[a] = 0;
                        t->sum[a] += now_weight * now_weight * reach * probs[a];
                    }
                t->visits++;
            }
            return v;
        }
        int a;
        if (uniform() < 0.08) {
            a = uniform_choice(mask);
            reach = 0; /* not its own way */
        } else a = pick(probs);
        step(s, a);
    }
}

/* ---- measuring and writing ---- */

static double share(int games, int kind) {
    double won = 0;
    for (int g = 0; g < games; g++) {
        State s;
        begin(&s);
        Style t;
        if (kind >= 0) t = styled(kind);
        while (s.phase != OVER) {
            int d = decider(&s);
            if (d == (g & 1)) step(&s, play_mean(0, &s, d));
            else step(&s, kind >= 0 ? style_play(&s, d, &t) : play_current(1, &s, d));
        }
        won += s.winner == 2 ? 0.5 : s.winner == (g & 1);
    }
    return won / games;
}
static int by_visits(const void *a, const void *b) {
    uint32_t x = (*(Entry *const *)a)->visits, y = (*(Entry *const *)b)->visits;
    return x < y ? 1 : x > y ? -1 : 0;
}
/* Write "key p0..p6" of the entries that were seen most. */
static void save(const char *file, long size) {
    Entry **all = malloc(sizeof *all * (used[0] + 1));
    long n = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        Entry *e = &tables[0][i];
        double total = 0;
        for (int a = 0; a < 7; a++) total += e->sum[a];
        if (e->key && total > 0) all[n++] = e;
    }
    qsort(all, n, sizeof *all, by_visits);
    fprintf(stderr, "%ld entries could be kept\n", n);
    if (n > size) n = size;
    FILE *f = fopen(file, "wb");
    for (long i = 0; i < n; i++) {
        uint64_t k = all[i]->key - 1;
        float total = 0, p[7];
        for (int a = 0; a < 7; a++) total += all[i]->sum[a];
        for (int a = 0; a < 7; a++) p[a] = all[i]->sum[a] / total;
        fwrite(&k, 8, 1, f);
        fwrite(p, 4, 7, f);
        fwrite(&all[i]->visits, 4, 1, f);
    }
    fclose(f);
}

/* How often a style does what bot.py counts of an opponent: doubts a claim; is caught of its action claims and of its
 * block claims when challenged or turned up; blocks attacks; blocks foreign aid; claims a role in its turn. */
enum { DOUBTS, LIES, BLOCK_LIES, BLOCKS, BLOCKS_AID, CLAIMS, SIGNS };
static void signs(int kind, double out[SIGNS]) {
    long done[SIGNS] = {0}, all[SIGNS] = {0};
    for (int g = 0; g < 20000; g++) {
        State s;
        begin(&s);
        Style t = styled(kind);
        int open[5] = {0}; /* by role: 1 claimed by an action, 2 by a block */
        while (s.phase != OVER) {
            int d = decider(&s), mask = legal(&s), hero = d == (g & 1), o = (g & 1) ^ 1, before = s.size[o];
            int phase = s.phase, deads = s.deads;
            int a = hero ? play_mean(0, &s, d) : style_play(&s, d, &t);
            if (!hero && phase == TURN && mask & 1) {
                all[CLAIMS]++;
                done[CLAIMS] += CLAIM[a] != NONE;
            }
            if (!hero && phase == TURN && CLAIM[a] != NONE && !open[CLAIM[a]]) open[CLAIM[a]] = 1;
            if (!hero && phase == BLOCK) {
                int sign = s.action == AID ? BLOCKS_AID : BLOCKS;
                all[sign]++;
                done[sign] += a > 0;
                if (a && !open[block_role(s.action, a)]) open[block_role(s.action, a)] = 2;
            }
            if (!hero && (phase == DOUBT || phase == DOUBT_BLOCK)) {
                all[DOUBTS]++;
                done[DOUBTS] += a;
            }
            if (!hero && phase == KEEP) memset(open, 0, sizeof open);
            if (hero && a && (phase == DOUBT || phase == DOUBT_BLOCK)) {
                int role = phase == DOUBT ? CLAIM[s.action] : s.role, true_claim = holds(&s, o, role);
                int sign = phase == DOUBT ? LIES : BLOCK_LIES;
                all[sign]++;
                done[sign] += !true_claim;
                if (true_claim) memset(open, 0, sizeof open);
                else open[role] = 0;
            }
            step(&s, a);
            int lost = s.size[o] < before ? (s.deads > deads ? s.dead[s.deads - 1] : NONE) : -1;
            if (lost >= 0 && lost < NONE && open[lost]) {
                all[open[lost] == 1 ? LIES : BLOCK_LIES]++;
                open[lost] = 0;
            }
            if (s.phase == OVER && s.size[o] == 0)
                for (int r = 0; r < 5; r++)
                    if (open[r]) {
                        all[open[r] == 1 ? LIES : BLOCK_LIES]++;
                        done[open[r] == 1 ? LIES : BLOCK_LIES] += s.hand[o][0] != r;
                    }
        }
    }
    for (int i = 0; i < SIGNS; i++) out[i] = (done[i] + 1.0) / (all[i] + 2.0);
}

/* A table for each sort of opponent. The first one is for all; the others go on from it. */
typedef struct {
    const char *name;
    double rounds, self;
    double weights[STYLES];
} Cell;
static const Cell CELLS[] = {
    /*                              honest opp bluf chal count turt rand start liar doubt mixed candid blocker */
    {"all",      1.0,  0.30, {1.0, 1.0, 1.0, 0.7, 1.0, 0.5, 0.5, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0}},
    {"truthful", 0.35, 0.15, {1.5, 0.0, 0.0, 0.0, 1.5, 0.3, 0.0, 1.5, 0.0, 0.0, 0.2, 2.0, 0.2}},
    {"blocker",  0.35, 0.15, {0.1, 2.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.1, 0.1, 0.0, 0.2, 0.1, 2.0}},
};
#define CELL_COUNT (int)(sizeof CELLS / sizeof *CELLS)

static void train(const Cell *cell, double rounds) {
    memcpy(weights, cell->weights, sizeof weights);
    for (long n = 1; n <= (long)rounds; n++) {
        now_weight = n / rounds;
        State s;
        begin(&s);
        int seat = n & 1;
        if (uniform() < cell->self) {
            learn(&s, seat, 0, NULL, 2, 1);
            begin(&s);
            learn(&s, seat ^ 1, 1, NULL, 2, 1);
        } else {
            Style t = any_style();
            learn(&s, seat, 0, &t, 2, 1);
        }
        if (n % ((long)rounds / 4) == 0) {
            fprintf(stderr, "%s: %ld rounds, %.0f s, %u + %u keys:", cell->name, n, clock() / (double)CLOCKS_PER_SEC, used[0], used[1]);
            for (int k = -1; k < STYLES; k++)
                fprintf(stderr, " %s %.3f", k < 0 ? "villain" : STYLE_NAMES[k], share(10000, k));
            fprintf(stderr, "\n");
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    seed_state = strtoull(argv[1], NULL, 10);
    double rounds = atof(argv[2]);
    char file[1000];
    for (int who = 0; who < 2; who++) tables[who] = calloc(SLOTS, sizeof(Entry));
    for (int c = 0; c < CELL_COUNT; c++) {
        /* A child works on a copy of the tables of the first cell. */
        if (c && fork()) {
            wait(NULL);
            continue;
        }
        if (c)
            for (int who = 0; who < 2; who++)
                for (uint32_t i = 0; i < SLOTS; i++) {
                    Entry *e = &tables[who][i];
                    if (!e->key) continue;
                    for (int a = 0; a < 7; a++) {
                        e->regret[a] *= 0.05f;
                        e->sum[a] *= 0.0005f;
                    }
                    e->visits = e->visits > SPLIT ? SPLIT : e->visits;
                }
        train(&CELLS[c], rounds * CELLS[c].rounds);
        snprintf(file, sizeof file, "%s.%d", argv[3], c);
        save(file, atol(argv[4]));
        if (c) return 0;
    }
    for (int kind = 0; kind < STYLES; kind++) {
        double out[SIGNS];
        signs(kind, out);
        printf("(");
        for (int i = 0; i < SIGNS; i++) printf("%.3f, ", out[i]);
        printf("),  # %s\n", STYLE_NAMES[kind]);
    }
    return 0;
}
