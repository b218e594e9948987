/* Many games of Coup at once, for arena.env.batch: what the files of this folder share.

chance.c draws as arena.coup.keyed_rng does, knowledge.c derives what arena.coup.knowledge derives, game.c has the rules, the
masks and the observations, players.c has opponents, module.c is the Python module. The engine in Python defines the
rules; tests/env/test_batches.py compares every number.

A Batch is one block of memory without pointers into itself, so that its bytes can be copied and pickled (_LAYOUT in
batches.py increases when they mean another game): for each game a Game, then for each seat a set of worlds (knowledge.c)
of `lanes` numbers. Roles, actions, words and the places of numbers in an observation come from Python: the lists X(...)
below name what the constructor wants, in order. */
#ifndef ARENA_GAME_H
#define ARENA_GAME_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SEATS = 6, ROLES = 5, ROWS = 10, ACTIONS = 128, COPIES = 3, ROW_NUMBERS = 64, SECRET_NUMBERS = 32 };

#define RULES(X) X(copies) X(draw) X(start_coins) X(starter_coins) X(forced_coup) X(turn_limit) X(draws_first)
/* A row of the action table. claim: a role, -1 for none; block_roles: bits of roles; forced: 1 if it stays legal when a coup
is forced; honest: 1 if sample:honest knows the action; shown_at, reason_at: the places in the observation of the pending
action and of its loss as a reason. */
#define ROW(X) X(effect) X(cost) X(gain) X(targeted) X(claim) X(block_roles) X(forced) X(honest) X(shown_at) X(reason_at)
#define EFFECTS(X) X(gain) X(steal) X(hit) X(exchange) X(examine)
#define PHASES(X) X(turn) X(challenge) X(block) X(prove) X(lose) X(exchange) X(examine_show) X(examine_decide)
/* A move: its verb, an action's row or a role, and an action's steps to its target or the second role (-1: none). */
#define VERBS(X) X(wait) X(pass) X(challenge) X(decline) X(act) X(block) X(lose) X(show) X(keep) X(reveal) X(hand_back) X(force_swap)
/* Places of fields in an observation, those of players for player 0. */
#define PLACES(X) \
    X(turn) X(deck) X(kind_turn) X(kind_challenge) X(kind_block) X(kind_prove) X(kind_lose) X(kind_exchange) \
    X(kind_examine_show) X(kind_examine_decide) X(claim) X(blocks) X(proven) X(reason_challenge) X(cards) X(drawn) X(seen) \
    X(in_deck) X(coins) X(influence) X(revealed) X(actor) X(target) X(claimant) X(challenger) X(claimed) X(shown) X(caught) \
    X(challenges) X(examined) X(swapped) X(hands_back) X(force_swaps) X(known) X(lacks) X(looked) X(knows)

#define MEMBER(name) int16_t name;
typedef struct { RULES(MEMBER) } Rules;
typedef struct { ROW(MEMBER) } Row;
typedef struct { PLACES(MEMBER) } Places;
#undef MEMBER
typedef struct { int16_t verb, a, b; } Move;
#define MEMBER(name) EFFECT_##name,
enum { EFFECTS(MEMBER) N_EFFECTS };
#undef MEMBER
#define MEMBER(name) IN_##name,
enum { PHASES(MEMBER) OVER };
#undef MEMBER
#define MEMBER(name) TO_##name,
enum { VERBS(MEMBER) N_VERBS };
#undef MEMBER

enum { THEN_BLOCK, THEN_RESOLVE, THEN_END };  /* what follows a loss */
enum { NO_WORLDS, APART, JOINED };            /* what a seat's knowledge has; see knowledge.c */
enum { LEARNER, RANDOM, HONEST, POLICY };     /* who plays a seat; POLICY + k: the caller's policy k */

typedef struct {
    int8_t mode, changed, dims;                              /* changed: since the facts were written into `secret` */
    int8_t at[SEATS];                                        /* the dimension of each living opponent; else -1 */
    int8_t unseen[ROLES], located[ROLES], face_up[ROLES];    /* as in Knowledge */
    uint16_t apart[SEATS];                                   /* the possible hands of each opponent, while APART */
    int16_t secret[SEATS * SECRET_NUMBERS], in_deck[ROLES];  /* as in the observation */
} Knowledge;

typedef struct {
    uint32_t inner[8], outer[8];  /* SHA-256 after the blocks of HMAC's keys */
    uint64_t dice;                /* of opponents and of random moves, never of cards */
    int64_t number;               /* of the game after the key; -1 before the first */
    int32_t turn, events;
    int8_t phase, actor, pending, target, claimant, claimed, is_block, challenger, reason, then, proven, winner;
    int8_t asked[SEATS], n_asked, answered, ndeck, ndrawn, seen, acted_last, decided, learner;
    int8_t who[SEATS], nhand[SEATS], nup[SEATS], hand[SEATS][2], up[SEATS][2], drawn[2], deck[ROLES * COPIES];
    int8_t blocked[ROWS][SEATS + 1];  /* 1 + the seat that blocked an action by row and target (SEATS: none); 0: none */
    int16_t answers[SEATS], coins[SEATS];
    uint8_t mask[ACTIONS];                /* of the seat that is asked now */
    int16_t rows[SEATS][ROW_NUMBERS];     /* public counts, as in the observation */
    Knowledge knowledge[SEATS];
} Game;

typedef struct {
    int64_t games;
    int seats, n_rows, actions, numbers, lanes, facts, opponents, roster[64];  /* roster: who an opponent can be */
    int row_numbers, secret_numbers;
    size_t stride;  /* bytes of a game */
    Rules rules;
    Row rows[ROWS];
    Move moves[ACTIONS];
    Places places;
    int16_t find[N_VERBS][ROWS][SEATS + 1];  /* the action of a move (verb, a, b + 1), -1 for none */
    int16_t value[ROLES];                    /* honest's ten times the value of a card */
    uint8_t *memory;
} Batch;

static inline Game *game_at(const Batch *b, int64_t at) { return (Game *)(b->memory + (size_t)at * b->stride); }
static inline uint16_t *worlds_of(const Batch *b, Game *g, int seat) { return (uint16_t *)(g + 1) + seat * b->lanes; }

/* chance.c */
void set_key(Game *g, const uint8_t key[32]);
void shuffle_deck(Game *g, const char *purpose);
void seed_dice(Game *g);
uint32_t roll(Game *g, uint32_t below);

/* knowledge.c: `observer` learns of what `seat` did */
void make_tables(void);
int lanes_for(int seats);
void begin_knowledge(const Batch *b, Game *g);
void know_lost(const Batch *b, Game *g, int seat, int role);
void know_swapped(const Batch *b, Game *g, int seat, int back, int came, int examiner);
void know_exchanged(const Batch *b, Game *g, int seat, const int8_t back[], int count);
void know_request(const Batch *b, Game *g, int seat);
void know_examined(const Batch *b, Game *g, int examiner, int seat, int role);
void write_facts(const Batch *b, Game *g, int observer);

/* game.c */
void deal(const Batch *b, Game *g, int64_t at);
void play(const Batch *b, Game *g, int action);
void observe(const Batch *b, Game *g, int seat, int16_t *numbers);
double reward(const Batch *b, const Game *g, int seat);
int living(const Batch *b, const Game *g);
bool holds(const Game *g, int seat, int role);

/* players.c */
int choose(const Batch *b, Game *g, int seat);
#endif
