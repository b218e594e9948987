/* coup_kit.h - a bot for the Coup arena in C11, with nothing but libc (and of POSIX what every Unix has).

   One file, kit version 6. In ONE source file of your bot write

       #define COUP_KIT_IMPLEMENTATION
       #include "coup_kit.h"

   and in others, if there are any, the #include alone. A whole bot:

       static int turn(coup_game *game) {
           return coup_holds(game, "duke") ? coup_find(game, "tax") : 0;
       }

       int main(void) {
           coup_bot bot = {.turn = turn};
           return coup_run(&bot);
       }

   A function of the bot gets the game, and returns the move it plays as an index into game->legal. One that you leave
   out plays game->legal[0], which is always a quiet move (income, pass, show the card), and so does -1, which is what
   coup_find() gives where there is no such move. The arena's SPEC.md says what is sent; here it is in structs.

   coup_log() writes to standard error, and while coup_run runs so does printf: it can't break the conversation.

   A move that isn't there, and a COUP_CHECK that fails, say on standard error at which request they came and end the
   program; with .careful = true the bot plays legal[0] instead and goes on. A crash (SIGSEGV, SIGFPE, abort) says at
   which request it came, too, but C can't go on after it.

   What you may keep: strings of roles, handles and sides, and players, live until coup_run returns (players until the
   number of seats changes). Everything that begins with coup_json, and the word of a move, lives until your function
   returns; hello lives as long as the match. */

#ifndef COUP_KIT_H
#define COUP_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#error "coup_kit.h is C; for C++ there is coup_kit.hpp"
#endif

#define COUP_NOBODY (-1) /* in place of a seat: none, or not known */

enum { COUP_MAX_CARDS = 16, COUP_MAX_ROLES = 16 }; /* of a hand; of a tally. What is beyond is left out. */

#if defined(__GNUC__)
#define COUP_LIKE_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define COUP_LIKE_PRINTF(text, first)
#endif

/* ---- JSON: for the fields that the structs below don't have, and those of rule variants to come ---- */

typedef enum { COUP_NULL, COUP_FALSE, COUP_TRUE, COUP_NUMBER, COUP_STRING, COUP_ARRAY, COUP_OBJECT } coup_type;

typedef struct coup_json coup_json;

struct coup_json {
    coup_type type;
    const char *key;        /* its name, if it lies in an object; else NULL */
    const char *text;       /* of a string: UTF-8, ended by a NUL; of a number: its digits and what follows them */
    size_t length;          /* of text, in bytes */
    int count;              /* how many elements an array or object has */
    const coup_json *first; /* the first of them; else NULL */
    const coup_json *next;  /* the one after this; else NULL */
};

/* Each of these takes NULL, and what has another type, and then gives what you pass last (or NULL):
   coup_int(coup_get(game->rules, "deck"), "duke", 3) is the number of dukes. */
const coup_json *coup_get(const coup_json *object, const char *key);
const coup_json *coup_at(const coup_json *array, int index);
long long coup_int(const coup_json *object, const char *key, long long otherwise);
double coup_number(const coup_json *object, const char *key, double otherwise);
bool coup_bool(const coup_json *object, const char *key, bool otherwise);
const char *coup_text(const coup_json *object, const char *key, const char *otherwise);

/* ---- The game ---- */

/* Cards, or roles, by name. */
typedef struct {
    int count;
    const char *of[COUP_MAX_CARDS];
} coup_cards;

/* How often, for each role. Ask it with coup_count(). */
typedef struct {
    int count;
    struct {
        const char *role;
        int times;
    } of[COUP_MAX_ROLES];
} coup_tally;

/* A legal move, whatever its shape on the wire. */
typedef struct {
    const char *word;     /* the action ("steal"), else the key: "challenge", "pass", "block", "show", "keep" ... */
    int target;           /* the seat an action is aimed at, or COUP_NOBODY */
    const char *value;    /* what the key stands for: the role of {"block":"duke"}, "true" of {"pass":true}; else "" */
    coup_cards cards;     /* of {"keep":[...]}; else none */
    const coup_json *raw; /* as it was sent */
} coup_move;

/* What is known of a player from all games of the match. */
typedef struct {
    int claimed;        /* claims of a role, for an action or a block */
    int challenged;     /* those that were challenged */
    int proven, caught; /* and what came of it */
    int challenges;     /* challenges that it made */
    int won_challenges;
    int blocks;
} coup_history;

typedef struct {
    int seat;
    const char *handle;
    int coins, influence;
    bool alive;
    coup_cards revealed;
    const char *allegiance; /* "loyalist", "reformist"; "" where there are no sides */
    coup_tally claims;      /* roles it has claimed since its cards last could have changed */
    coup_tally caught;      /* roles that it couldn't or wouldn't prove, in this game */
    coup_tally shown;       /* roles that it proved, in this game */
    coup_tally blocks;      /* roles that it blocked with, in this game */
    coup_cards known;       /* cards that it certainly holds now */
    coup_cards lacks;       /* roles that it certainly doesn't hold now */
    coup_history *history;  /* the whole match's; bluff_rate is coup_bluff_rate(player) */
} coup_player;

/* The game as your seat sees it. In game_over your cards, and the coins, cards and sides of all, are those of the end. */
typedef struct coup_game {
    /* Of the request; between requests there is nothing to decide, and no legal move. */
    const char *kind; /* "turn", "challenge", "block", "prove", "lose", "exchange", or a variant's; else "" */
    const coup_move *legal;
    int legal_count;
    struct {
        int actor; /* COUP_NOBODY in a turn */
        const char *action;
        int target;
    } pending; /* the action that is being decided */
    struct {
        int seat; /* COUP_NOBODY unless the kind is challenge, prove or keep_shown */
        const char *role;
        bool block; /* it is the claim of a block, not of the action */
    } claim;
    bool proven;        /* block: the action's claim was challenged, and proven */
    int challenger;     /* prove: who challenges you */
    const char *reason; /* lose: "coup", "assassinate", "challenge"; in game_over: why it ended */
    const char *seen;   /* examine_decide: the card you look at; else "" */
    const coup_json *request; /* the line as it came, also where it is game_start, game_over or error */
    const coup_json *state;   /* its public state, if it has one */

    /* Of the game. */
    int number; /* of the game in the match, from 0 */
    char game_seed[33]; /* empty before the first game, and where the arena is too old to send it */
    int seat;   /* yours */
    int turn, actor, deck, reserve;
    coup_cards cards;    /* yours, face down */
    coup_cards drawn;    /* exchange: what you drew */
    coup_cards discards; /* with a draft: what you discarded */
    coup_cards certain;  /* cards that certainly lie in the court deck */
    int seats;
    coup_player *players;    /* by seat */
    coup_player *me;         /* players + seat */
    coup_player **opponents; /* the living others, clockwise from you */
    int opponent_count;
    int winner; /* in game_over; COUP_NOBODY before, and for a draw, whose are coup_get(request, "survivors") */

    /* Of the match. */
    const coup_json *hello, *rules, *limits, *match;
    const char *bot_seed;
    uint64_t random; /* the state of coup_random, seeded anew by each game_seed, before the first game by bot_seed */
    void *memory;    /* the bot's: whatever you put into coup_bot.memory */
} coup_game;

/* The first legal move of an action or key, as an index into game->legal, or -1. */
int coup_find(const coup_game *game, const char *word);
/* The same for one target: coup_find_at(game, "steal", 2). */
int coup_find_at(const coup_game *game, const char *word, int target);
/* The same for one value: coup_find_as(game, "block", "duke"). */
int coup_find_as(const coup_game *game, const char *word, const char *value);
/* All of them: for (int i = coup_find(game, "steal"); i >= 0; i = coup_next(game, "steal", i)). */
int coup_next(const coup_game *game, const char *word, int after);

/* Whether you hold a role, and how often a role, a card or a count is among others. */
bool coup_holds(const coup_game *game, const char *role);
bool coup_same(const char *a, const char *b);
int coup_copies(const coup_cards *cards, const char *role);
int coup_count(const coup_tally *tally, const char *role);

/* How likely a seat holds at least one card of a role, from the cards that you see: 1 - C(U-d, k) / C(U, k), where of U
   unseen cards d are of the role and k are the seat's. It takes no account of what players claim. It is 0 or 1 where
   that is certain: of yourself, of a card that a player showed and kept, or you looked at, of a role that it couldn't
   show where proving is automatic, and of cards that you know to lie in the deck. For the claim "not_duke" it is how
   likely the seat has no duke. After a draft, where cards are chosen and half of them are away, it is a guess where it
   is neither 0 nor 1. */
double coup_odds(const coup_game *game, int seat, const char *role);

/* The share of a player's challenged claims that were lies, in this match; NAN before the first. */
double coup_bluff_rate(const coup_player *player);

/* Says something beside your next answer; all hear it, and nobody is bound. `what` is a role or a text, else NULL;
   `target` a seat, else COUP_NOBODY: coup_say(game, "hold", "duke", COUP_NOBODY), likewise "lack";
   coup_say(game, "attack", NULL, 2), likewise "spare"; coup_say(game, "doubt", "duke", 2); and where the rules allow it,
   coup_say(game, "text", "Peace?", COUP_NOBODY). At most 4, one of them a text, in UTF-8. Without talk it isn't sent.
   Others' words are events, "say". */
void coup_say(const coup_game *game, const char *says, const char *what, int target);

/* A number from 0 to below - 1, and one from 0 to below 1. The same game gives the same numbers. */
int coup_random(coup_game *game, int below);
double coup_chance(coup_game *game);

/* Writes a line to standard error. */
void coup_log(const char *format, ...) COUP_LIKE_PRINTF(1, 2);

/* Like assert, but it says at which request, and with .careful the bot goes on. Only in functions of the bot. */
#define COUP_CHECK(condition) ((condition) ? (void)0 : coup_fail(__FILE__, __LINE__, #condition))
_Noreturn void coup_fail(const char *file, int line, const char *condition);

/* ---- The bot ---- */

typedef int coup_choose(coup_game *game);  /* returns an index into game->legal, or -1 for the first */
typedef void coup_notice(coup_game *game); /* returns nothing */

typedef struct {
    const char *name, *version; /* for logs; may be left out */
    bool careful;     /* play legal[0] instead of ending where a move isn't legal or a check fails */
    void *memory;     /* becomes game->memory */

    coup_choose *turn, *challenge, *block, *prove, *lose, *exchange;
    coup_choose *keep_shown, *examine_show, *examine_decide, *draft, *allegiance; /* only in rule variants */
    coup_choose *other; /* a kind that this kit doesn't know */

    coup_notice *match_start, *game_start, *game_over, *match_over;
    void (*event)(coup_game *game, const coup_json *event); /* each event once, after the game took it in */
    void (*fault)(coup_game *game, const coup_json *error); /* something you did was a fault: see its "message" */
} coup_bot;

/* Plays until the match is over, or the input ends. Returns what main should return. */
int coup_run(const coup_bot *bot);

/* For tests: a match of the bot without pipes. Any number may go on at once, in any threads, a match in one of them.

       coup_match *match = coup_begin(&bot);
       const char *answer = coup_reply(match, line);
       coup_end(match);

   coup_reply takes one line, and returns the bot's answer, or NULL where the line wants none. It stays until the
   match's next line. coup_end frees all that the match holds; the bot has to live until then. */
typedef struct coup_match coup_match;
coup_match *coup_begin(const coup_bot *bot);
const char *coup_reply(coup_match *match, const char *line);
void coup_end(coup_match *match);

#endif /* COUP_KIT_H */

/* ==== The implementation ==== */

#ifdef COUP_KIT_IMPLEMENTATION

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUP__MAX_DEPTH = 200 }; /* of brackets; the protocol promises at most 32 */

/* A line and its parse. Both buffers are used again for the next line, and grow with the longest. */
typedef struct {
    char *line;
    size_t length, line_room;
    coup_json *nodes;
    size_t nodes_room;
} coup__document;

typedef struct coup__word {
    struct coup__word *next;
    char text[];
} coup__word;

typedef struct coup__known {
    struct coup__known *next;
    const char *handle;
    coup_history history;
} coup__known;

struct coup_match {
    coup_game game; /* first, so that a pointer to it is one to the match */
    const coup_bot *bot;
    coup__document hello, message;
    coup__word *words;   /* each string that outlives its line, once */
    coup__known *known;  /* the players of the match */
    coup_move *legal;
    int seats_room, legal_room;
    int challenger;      /* who made the latest challenge, */
    const char *doubted; /* and of which role */
    coup_cards hand;     /* your cards before the latest events */
    coup_cards drawn;    /* what you drew to exchange */
    long long id;        /* of the request */
    const char *method;  /* which of the bot's functions runs, if one does */
    jmp_buf escape;      /* out of it, if the bot is careful */
    char reply[3200];    /* the latest line to the arena, or "" */
    char said[3000];     /* what is said beside the next answer, or ""; a text takes at most 1,600 */
    bool over;           /* the match is */
};

/* The match whose line this thread takes: functions of a bot, and handlers of signals, aren't told it otherwise. */
static _Thread_local coup_match *coup__now;

/* ---- Memory ---- */

static void *coup__resize(void *old, size_t count, size_t size) {
    void *new = count > SIZE_MAX / size ? NULL : realloc(old, count * size);
    if (!new) {
        fputs("coup_kit: out of memory\n", stderr);
        exit(1);
    }
    return new;
}

/* Returns a copy of a string that stays: the same pointer for the same string, so that copies don't add up. */
static const char *coup__keep(const char *text) {
    for (coup__word *word = coup__now->words; word; word = word->next)
        if (strcmp(word->text, text) == 0) return word->text;
    size_t size = strlen(text) + 1;
    coup__word *word = coup__resize(NULL, 1, sizeof *word + size);
    memcpy(word->text, text, size);
    word->next = coup__now->words;
    coup__now->words = word;
    return word->text;
}

static coup_history *coup__history(const char *handle) {
    for (coup__known *known = coup__now->known; known; known = known->next)
        if (known->handle == handle) return &known->history; /* handles are kept: one string, one pointer */
    coup__known *known = coup__resize(NULL, 1, sizeof *known);
    *known = (coup__known){.next = coup__now->known, .handle = handle};
    coup__now->known = known;
    return &known->history;
}

void coup_end(coup_match *match) {
    if (!match) return;
    while (match->words) {
        coup__word *next = match->words->next;
        free(match->words);
        match->words = next;
    }
    while (match->known) {
        coup__known *next = match->known->next;
        free(match->known);
        match->known = next;
    }
    free(match->hello.line);
    free(match->hello.nodes);
    free(match->message.line);
    free(match->message.nodes);
    free(match->game.players);
    free(match->game.opponents);
    free(match->legal);
    free(match);
}

/* ---- JSON: strings are unescaped where they stand, so a parse needs nothing but its nodes ---- */

typedef struct {
    char *at;        /* what is read next; the text ends with a NUL */
    coup_json *node; /* the next node that is free */
    int depth;
} coup__parser;

static void coup__blanks(coup__parser *parser) { parser->at += strspn(parser->at, " \t\r\n"); }

/* Reads four hexadecimal digits at `at`; returns -1 if they aren't. */
static long coup__hex(const char *at) {
    long code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = tolower((unsigned char)at[i]); /* stops at a NUL, which is no digit */
        if (!isxdigit(digit)) return -1;
        code = code * 16 + (isdigit(digit) ? digit - '0' : digit - 'a' + 10);
    }
    return code;
}

static char *coup__utf8(char *out, long code) {
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *out++ = (char)((0xFF << (7 - more) & 0xFF) | (code >> 6 * more));
    while (more--) *out++ = (char)(0x80 | (code >> 6 * more & 0x3F));
    return out;
}

/* Reads what stands behind "\u". Half of a surrogate pair becomes U+FFFD. */
static bool coup__unicode(coup__parser *parser, char **out) {
    long code = coup__hex(parser->at);
    if (code < 0) return false;
    parser->at += 4;
    if (code >= 0xD800 && code < 0xDC00 && parser->at[0] == '\\' && parser->at[1] == 'u') {
        long low = coup__hex(parser->at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            parser->at += 6;
        }
    }
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    *out = coup__utf8(*out, code);
    return true;
}

/* Reads a string behind its first quote, into itself: what it becomes is never longer than what is written. */
static const char *coup__string(coup__parser *parser, size_t *length) {
    static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t"; /* pairs: what is written, what it means */
    char *start = parser->at, *out = start;
    while (*parser->at != '"') {
        if ((unsigned char)*parser->at < ' ') return NULL; /* the end of the text, too */
        if (*parser->at != '\\') {
            *out++ = *parser->at++;
            continue;
        }
        char escape = parser->at[1];
        if (!escape) return NULL;
        parser->at += 2;
        if (escape == 'u') {
            if (!coup__unicode(parser, &out)) return NULL;
            continue;
        }
        const char *pair = escapes;
        while (*pair && *pair != escape) pair += 2;
        if (!*pair) return NULL;
        *out++ = pair[1];
    }
    parser->at++;
    *out = '\0';
    *length = (size_t)(out - start);
    return start;
}

static bool coup__digits(coup__parser *parser) {
    size_t count = strspn(parser->at, "0123456789");
    parser->at += count;
    return count > 0;
}

static bool coup__numeral(coup__parser *parser) {
    if (*parser->at == '-') parser->at++;
    if (*parser->at == '0') parser->at++;
    else if (!coup__digits(parser)) return false;
    if (*parser->at == '.') {
        parser->at++;
        if (!coup__digits(parser)) return false;
    }
    if (*parser->at == 'e' || *parser->at == 'E') {
        parser->at++;
        if (*parser->at == '+' || *parser->at == '-') parser->at++;
        if (!coup__digits(parser)) return false;
    }
    return true;
}

static bool coup__skip(coup__parser *parser, const char *word) {
    size_t length = strlen(word);
    if (strncmp(parser->at, word, length) != 0) return false;
    parser->at += length;
    return true;
}

static coup_json *coup__value(coup__parser *parser);

/* Reads the elements of an array or object behind its bracket. */
static bool coup__elements(coup__parser *parser, coup_json *parent, char close) {
    const coup_json **tail = &parent->first;
    coup__blanks(parser);
    if (*parser->at == close) {
        parser->at++;
        return true;
    }
    for (;;) {
        const char *key = NULL;
        size_t length;
        if (close == '}') {
            coup__blanks(parser);
            if (*parser->at++ != '"' || !(key = coup__string(parser, &length))) return false;
            coup__blanks(parser);
            if (*parser->at++ != ':') return false;
        }
        coup_json *child = coup__value(parser);
        if (!child) return false;
        child->key = key;
        *tail = child;
        tail = &child->next;
        parent->count++;
        coup__blanks(parser);
        char then = *parser->at++;
        if (then == close) return true;
        if (then != ',') return false;
    }
}

/* Reads a value; returns NULL where there is none. */
static coup_json *coup__value(coup__parser *parser) {
    coup__blanks(parser);
    coup_json *node = parser->node++;
    *node = (coup_json){.text = ""};
    bool good = true;
    switch (*parser->at) {
    case '{':
    case '[':
        if (++parser->depth > COUP__MAX_DEPTH) return NULL;
        node->type = *parser->at++ == '{' ? COUP_OBJECT : COUP_ARRAY;
        good = coup__elements(parser, node, node->type == COUP_OBJECT ? '}' : ']');
        parser->depth--;
        break;
    case '"':
        parser->at++;
        node->type = COUP_STRING;
        good = (node->text = coup__string(parser, &node->length)) != NULL;
        break;
    case 't':
        node->type = COUP_TRUE;
        good = coup__skip(parser, "true");
        break;
    case 'f':
        node->type = COUP_FALSE;
        good = coup__skip(parser, "false");
        break;
    case 'n':
        good = coup__skip(parser, "null");
        break;
    default:
        node->type = COUP_NUMBER;
        node->text = parser->at;
        good = coup__numeral(parser);
        node->length = (size_t)(parser->at - node->text);
    }
    return good ? node : NULL;
}

/* Parses the document's line in place; returns NULL if it isn't one JSON value. */
static const coup_json *coup__parse(coup__document *document) {
    size_t most = 1; /* values: each but the first stands behind one of these */
    for (const char *at = document->line; *at; at++) most += *at == '[' || *at == ',' || *at == ':';
    if (most > document->nodes_room) {
        document->nodes = coup__resize(document->nodes, 2 * most, sizeof *document->nodes);
        document->nodes_room = 2 * most;
    }
    coup__parser parser = {document->line, document->nodes, 0};
    const coup_json *root = coup__value(&parser);
    if (!root) return NULL;
    coup__blanks(&parser);
    return parser.at == document->line + document->length ? root : NULL;
}

const coup_json *coup_get(const coup_json *object, const char *key) {
    if (!object || object->type != COUP_OBJECT) return NULL;
    for (const coup_json *child = object->first; child; child = child->next)
        if (strcmp(child->key, key) == 0) return child;
    return NULL;
}

const coup_json *coup_at(const coup_json *array, int index) {
    if (!array || index < 0 || index >= array->count) return NULL;
    const coup_json *child = array->first;
    while (index--) child = child->next;
    return child;
}

static long long coup__integer(const coup_json *node, long long otherwise) {
    if (!node || node->type != COUP_NUMBER) return otherwise;
    if (node->length == strspn(node->text, "-0123456789")) return strtoll(node->text, NULL, 10); /* at most LLONG_MAX */
    double number = strtod(node->text, NULL);
    return number >= -9e18 && number <= 9e18 ? (long long)number : otherwise;
}

long long coup_int(const coup_json *object, const char *key, long long otherwise) {
    return coup__integer(coup_get(object, key), otherwise);
}

double coup_number(const coup_json *object, const char *key, double otherwise) {
    const coup_json *node = coup_get(object, key);
    return node && node->type == COUP_NUMBER ? strtod(node->text, NULL) : otherwise;
}

bool coup_bool(const coup_json *object, const char *key, bool otherwise) {
    const coup_json *node = coup_get(object, key);
    return node && (node->type == COUP_TRUE || node->type == COUP_FALSE) ? node->type == COUP_TRUE : otherwise;
}

static const char *coup__string_of(const coup_json *node, const char *otherwise) {
    return node && node->type == COUP_STRING ? node->text : otherwise;
}

const char *coup_text(const coup_json *object, const char *key, const char *otherwise) {
    return coup__string_of(coup_get(object, key), otherwise);
}

/* A seat, a number of coins: what fits an int, or `otherwise`. */
static int coup__small(const coup_json *object, const char *key, int otherwise) {
    long long number = coup_int(object, key, otherwise);
    return number >= INT_MIN && number <= INT_MAX ? (int)number : otherwise;
}

/* ---- What a bot asks ---- */

bool coup_same(const char *a, const char *b) { return a && b && strcmp(a, b) == 0; }

int coup_next(const coup_game *game, const char *word, int after) {
    for (int i = after + 1; i < game->legal_count; i++)
        if (coup_same(game->legal[i].word, word)) return i;
    return -1;
}

int coup_find(const coup_game *game, const char *word) { return coup_next(game, word, -1); }

int coup_find_at(const coup_game *game, const char *word, int target) {
    int i = coup_find(game, word);
    while (i >= 0 && game->legal[i].target != target) i = coup_next(game, word, i);
    return i;
}

int coup_find_as(const coup_game *game, const char *word, const char *value) {
    int i = coup_find(game, word);
    while (i >= 0 && !coup_same(game->legal[i].value, value)) i = coup_next(game, word, i);
    return i;
}

int coup_copies(const coup_cards *cards, const char *role) {
    int copies = 0;
    for (int i = 0; i < cards->count; i++) copies += coup_same(cards->of[i], role);
    return copies;
}

bool coup_holds(const coup_game *game, const char *role) { return coup_copies(&game->cards, role) > 0; }

int coup_count(const coup_tally *tally, const char *role) {
    for (int i = 0; i < tally->count; i++)
        if (coup_same(tally->of[i].role, role)) return tally->of[i].times;
    return 0;
}

double coup_bluff_rate(const coup_player *player) {
    const coup_history *history = player->history;
    return history->challenged ? (double)history->caught / history->challenged : (double)NAN;
}

/* SplitMix64, by Sebastiano Vigna (public domain). */
static uint64_t coup__bits(coup_game *game) {
    uint64_t bits = game->random += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

double coup_chance(coup_game *game) { return (double)(coup__bits(game) >> 11) / 9007199254740992.0; /* 2^53 */ }

int coup_random(coup_game *game, int below) { return below > 0 ? (int)(coup_chance(game) * below) : 0; }

void coup_log(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
}

/* ---- What the kit takes from the lines ---- */

static void coup__add_card(coup_cards *cards, const char *role) {
    if (cards->count < COUP_MAX_CARDS) cards->of[cards->count++] = coup__keep(role);
}

static void coup__drop_card(coup_cards *cards, const char *role) {
    for (int i = 0; i < cards->count; i++)
        if (strcmp(cards->of[i], role) == 0) {
            cards->of[i] = cards->of[--cards->count];
            return;
        }
}

static void coup__drop_cards(coup_cards *cards, const coup_cards *gone) {
    for (int i = 0; i < gone->count; i++) coup__drop_card(cards, gone->of[i]);
}

static void coup__add_cards(coup_cards *cards, const coup_cards *more) {
    for (int i = 0; i < more->count; i++) coup__add_card(cards, more->of[i]);
}

static coup_cards coup__cards(const coup_json *object, const char *key) {
    coup_cards cards = {0};
    const coup_json *array = coup_get(object, key);
    for (const coup_json *card = array ? array->first : NULL; card; card = card->next)
        if (card->type == COUP_STRING) coup__add_card(&cards, card->text);
    return cards;
}

static void coup__tally(coup_tally *tally, const char *role) {
    for (int i = 0; i < tally->count; i++)
        if (strcmp(tally->of[i].role, role) == 0) {
            tally->of[i].times++;
            return;
        }
    if (tally->count < COUP_MAX_ROLES) {
        tally->of[tally->count].role = coup__keep(role);
        tally->of[tally->count++].times = 1;
    }
}

static void coup__untally(coup_tally *tally, const char *role) {
    for (int i = 0; i < tally->count; i++)
        if (strcmp(tally->of[i].role, role) == 0) {
            tally->of[i] = tally->of[--tally->count];
            return;
        }
}

static void coup__know(coup_player *player, const char *role) {
    if (!coup_copies(&player->known, role)) coup__add_card(&player->known, role);
}

static coup_player *coup__player(const coup_json *object, const char *key) {
    int seat = coup__small(object, key, COUP_NOBODY);
    return seat >= 0 && seat < coup__now->game.seats ? &coup__now->game.players[seat] : NULL;
}

/* Makes room for so many seats, and forgets what was known of them in the game before. */
static void coup__seat(int seats, const coup_json *handles) {
    coup_game *game = &coup__now->game;
    if (seats > coup__now->seats_room) {
        game->players = coup__resize(game->players, (size_t)seats, sizeof *game->players);
        game->opponents = coup__resize(game->opponents, (size_t)seats, sizeof *game->opponents);
        coup__now->seats_room = seats;
    }
    game->seats = seats;
    for (int seat = 0; seat < seats; seat++) {
        const char *handle = coup__keep(coup__string_of(coup_at(handles, seat), "?"));
        game->players[seat] = (coup_player){
            .seat = seat, .handle = handle, .allegiance = "", .history = coup__history(handle)};
    }
}

/* A game begins: of the court deck nothing is known. */
static void coup__deal(void) {
    coup__now->hand = coup__now->game.cards;
    coup__now->drawn.count = coup__now->game.certain.count = 0;
}

/* Finds you, and those who are in the game. */
static void coup__look_round(void) {
    coup_game *game = &coup__now->game;
    game->me = game->seat >= 0 && game->seat < game->seats ? &game->players[game->seat] : NULL;
    game->opponent_count = 0;
    for (int seat = 0; seat < game->seats; seat++) game->players[seat].alive = game->players[seat].influence > 0;
    for (int step = 1; game->me && step < game->seats; step++) {
        coup_player *player = &game->players[(game->seat + step) % game->seats];
        if (player->alive) game->opponents[game->opponent_count++] = player;
    }
}

/* Takes in `you` and `state` of a line, where it has them. */
static void coup__state(const coup_json *line) {
    coup_game *game = &coup__now->game;
    const coup_json *you = coup_get(line, "you"), *state = coup_get(line, "state");
    const coup_json *players = coup_get(state, "players");
    if (you) {
        game->seat = coup__small(you, "seat", game->seat);
        game->cards = coup__cards(you, "cards");
        game->drawn = coup__cards(you, "drawn");
        game->discards = coup__cards(you, "discards");
        game->seen = coup__keep(coup_text(you, "seen", ""));
    }
    game->number = coup__small(line, "game", game->number);
    game->turn = coup__small(state, "turn", game->turn);
    game->actor = coup__small(state, "actor", game->actor);
    game->deck = coup__small(state, "deck", game->deck);
    game->reserve = coup__small(state, "reserve", game->reserve);
    if (players && players->count > game->seats) { /* no game_start came */
        coup__seat(players->count, NULL);
        coup__deal();
    }
    coup_player *player = game->players;
    for (const coup_json *sent = players ? players->first : NULL; sent; sent = sent->next, player++) {
        player->coins = coup__small(sent, "coins", 0);
        player->influence = coup__small(sent, "influence", 0);
        player->revealed = coup__cards(sent, "revealed");
        player->allegiance = coup__keep(coup_text(sent, "allegiance", ""));
    }
    coup__look_round();
}

static coup_move coup__move(const coup_json *raw) {
    const coup_json *first = raw->first, *action = coup_get(raw, "action");
    coup_move move = {.word = "", .target = coup__small(raw, "target", COUP_NOBODY), .value = "", .raw = raw};
    if (action) {
        move.word = coup__string_of(action, "");
    } else if (raw->type == COUP_OBJECT && first) {
        move.word = first->key;
        const char *plain = first->type == COUP_TRUE ? "true" : first->type == COUP_FALSE ? "false" : "";
        move.value = coup__string_of(first, plain);
        move.cards = coup__cards(raw, first->key);
    }
    return move;
}

/* Takes in what only a request has; of a line that is none, that there is nothing to decide. */
static void coup__request(const coup_json *line) {
    coup_game *game = &coup__now->game;
    const coup_json *pending = coup_get(line, "pending"), *claim = coup_get(line, "claim");
    const coup_json *legal = coup_get(line, "legal");
    game->request = line;
    game->state = coup_get(line, "state");
    game->kind = coup_text(line, "kind", "");
    game->pending.actor = coup__small(pending, "actor", COUP_NOBODY);
    game->pending.action = coup_text(pending, "action", "");
    game->pending.target = coup__small(pending, "target", COUP_NOBODY);
    game->claim.seat = coup__small(claim, "seat", COUP_NOBODY);
    game->claim.role = coup_text(claim, "role", "");
    game->claim.block = coup_bool(claim, "block", false);
    game->proven = coup_bool(line, "proven", false);
    game->challenger = coup__small(line, "challenger", COUP_NOBODY);
    game->reason = coup_text(line, "reason", "");
    game->legal_count = legal ? legal->count : 0;
    if (game->legal_count > coup__now->legal_room) {
        coup__now->legal = coup__resize(coup__now->legal, (size_t)game->legal_count, sizeof *coup__now->legal);
        coup__now->legal_room = game->legal_count;
    }
    game->legal = coup__now->legal;
    coup_move *move = coup__now->legal;
    for (const coup_json *raw = legal ? legal->first : NULL; raw; raw = raw->next) *move++ = coup__move(raw);
    coup__now->id = coup_int(line, "id", 0);
}

/* All its cards may be others now. */
static void coup__renewed(coup_player *player) {
    player->claims.count = player->known.count = player->lacks.count = 0;
}

/* One card of this role has gone; its other card is the same as before. */
static void coup__forget(coup_player *player, const char *role) {
    coup__untally(&player->claims, role);
    coup__drop_card(&player->known, role);
}

static void coup__claimed(coup_player *player, const char *role) {
    coup__tally(&player->claims, role);
    player->history->claimed++;
}

static void coup__proven(coup_player *player, const char *role) {
    coup__tally(&player->shown, role);
    player->history->proven++;
}

/* Somebody drew cards that you don't see: of each role as many fewer are certain to lie in the deck. */
static void coup__thin(int drawn) {
    coup_cards *deck = &coup__now->game.certain, before = *deck;
    deck->count = 0;
    for (int i = 0; i < before.count; i++) {
        int earlier = 0;
        for (int j = 0; j < i; j++) earlier += coup_same(before.of[j], before.of[i]);
        if (earlier >= drawn) coup__add_card(deck, before.of[i]);
    }
}

/* Cards of a player go to the deck, and as many come from it. */
static void coup__swap(const coup_player *player, const coup_cards *back, const coup_json *event, bool draw_first) {
    coup_cards *deck = &coup__now->game.certain, *hand = &coup__now->hand;
    if (!draw_first) coup__add_cards(deck, back);
    if (player->seat == coup__now->game.seat && coup_get(event, "cards")) {
        const coup_cards cards = coup__cards(event, "cards");
        coup_cards came = cards;
        coup__drop_cards(hand, back);
        coup__drop_cards(&came, hand);
        coup__drop_cards(deck, &came);
        *hand = cards;
    } else {
        coup__thin(back->count);
    }
    if (draw_first) coup__add_cards(deck, back);
}

/* A card of this role goes to the deck, and another comes from it. */
static void coup__swap_one(coup_player *player, const char *role, const coup_json *event, bool draw_first) {
    const coup_cards back = {1, {role}};
    coup__forget(player, role);
    player->lacks.count = 0;
    coup__swap(player, &back, event, draw_first);
}

static void coup__exchanged(coup_player *player, const coup_json *event) {
    coup__renewed(player);
    if (!coup_get(event, "cards") || !coup__now->drawn.count) {
        coup__thin(coup__small(event, "count", COUP_MAX_CARDS));
        return;
    }
    const coup_cards kept = coup__cards(event, "cards");
    coup_cards back = coup__now->hand;
    coup__add_cards(&back, &coup__now->drawn);
    coup__drop_cards(&back, &kept);
    coup__add_cards(&coup__now->game.certain, &back);
    coup__now->hand = kept;
    coup__now->drawn.count = 0;
}

static void coup__unproven(coup_player *player, const char *role) {
    const coup_json *rules = coup__now->game.rules;
    const bool automatic = coup_same(coup_text(rules, "prove", ""), "automatic");
    coup__tally(&player->caught, role);
    coup__untally(&player->claims, role);
    player->history->caught++;
    if (coup__now->challenger != COUP_NOBODY)
        coup__now->game.players[coup__now->challenger].history->won_challenges++;
    if (strncmp(role, "not_", 4) == 0) {
        if (automatic || !coup_bool(rules, "embezzle_concede", true)) coup__know(player, role + 4);
    } else if (automatic && !coup_copies(&player->lacks, role)) {
        coup__add_card(&player->lacks, role);
    }
}

/* Takes in one event. */
static void coup__follow(const coup_json *event) {
    coup_player *player = coup__player(event, "seat"), *other;
    const char *name = coup_text(event, "event", ""), *role = coup_text(event, "role", NULL);
    if (!player) return;
    if (coup_same(name, "action")) {
        if ((role = coup_text(event, "claim", NULL))) coup__claimed(player, role);
    } else if (coup_same(name, "drafted")) {
        if (coup_get(event, "cards")) coup__now->hand = coup__cards(event, "cards");
    } else if (coup_same(name, "exchanged")) {
        coup__exchanged(player, event);
    } else if (coup_same(name, "forfeit")) {
        coup__renewed(player);
    } else if (coup_same(name, "shown_hand")) {
        const coup_cards hand = coup__cards(event, "roles");
        coup__proven(player, coup__now->doubted);
        coup__renewed(player);
        coup__swap(player, &hand, event, false);
    } else if (coup_same(name, "examined")) {
        if (!(other = coup__player(event, "target"))) return;
        const char *order = coup_text(coup__now->game.rules, "examine_replace", "");
        if (!coup_bool(event, "replaced", false)) {
            if (role) coup__know(other, role);
        } else if (role) {
            coup__swap_one(other, role, event, coup_same(order, "draw_first")); /* you know which card went */
        } else {
            coup__renewed(other);
            coup__thin(1);
        }
    } else if (!role) {
        return; /* the others have one */
    } else if (coup_same(name, "block")) {
        coup__claimed(player, role);
        coup__tally(&player->blocks, role);
        player->history->blocks++;
    } else if (coup_same(name, "challenge")) {
        coup__now->challenger = player->seat;
        coup__now->doubted = coup__keep(role);
        player->history->challenges++;
        if ((other = coup__player(event, "claimant"))) other->history->challenged++;
    } else if (coup_same(name, "shown")) {
        coup__proven(player, role);
        if (coup_bool(event, "replaced", true)) coup__swap_one(player, role, event, false);
        else coup__know(player, role);
    } else if (coup_same(name, "unproven")) {
        coup__unproven(player, role);
    } else if (coup_same(name, "lost")) {
        coup__forget(player, role);
        if (player->seat == coup__now->game.seat) coup__drop_card(&coup__now->hand, role);
    }
}

/* Makes the table that the last events of a game leave. */
static void coup__finish(const coup_json *line) {
    coup_game *game = &coup__now->game;
    const coup_json *events = coup_get(line, "events");
    for (const coup_json *event = events ? events->first : NULL; event; event = event->next) {
        const char *name = coup_text(event, "event", "");
        coup_player *player = coup__player(event, "seat"), *target = coup__player(event, "target");
        const coup_json *sides = coup_get(event, "sides");
        for (int seat = 0; seat < game->seats && coup_same(name, "allegiances"); seat++)
            game->players[seat].allegiance = coup__keep(coup__string_of(coup_at(sides, seat), ""));
        if (target && coup_same(name, "converted")) target->allegiance = coup__keep(coup_text(event, "allegiance", ""));
        if (!player) continue;
        if (coup_same(name, "coins")) {
            player->coins += coup__small(event, "delta", 0);
        } else if (coup_same(name, "drafted")) {
            player->influence = 2;
        } else if (coup_same(name, "lost")) {
            player->influence--;
            coup__add_card(&player->revealed, coup_text(event, "role", ""));
        } else if (coup_same(name, "forfeit")) {
            const coup_cards roles = coup__cards(event, "roles");
            player->influence = 0;
            coup__add_cards(&player->revealed, &roles);
        }
    }
    coup__look_round();
    game->seen = "";
    game->drawn.count = game->cards.count = 0;
    if (!game->me || !game->me->alive) return;
    game->cards = coup__now->hand;
    for (int i = 1; i < game->cards.count; i++) /* into alphabetical order */
        for (int j = i; j > 0 && strcmp(game->cards.of[j - 1], game->cards.of[j]) > 0; j--) {
            const char *later = game->cards.of[j - 1];
            game->cards.of[j - 1] = game->cards.of[j];
            game->cards.of[j] = later;
        }
}

/* Counts the cards of a role that you see, or with NULL all of them. */
static int coup__sight(const coup_game *game, const char *role) {
    const coup_cards *own[] = {&game->cards, &game->drawn, &game->discards, &game->certain};
    int seen = 0;
    for (int i = 0; i < 4; i++) seen += role ? coup_copies(own[i], role) : own[i]->count;
    for (int seat = 0; seat < game->seats; seat++) {
        const coup_player *player = &game->players[seat];
        seen += role ? coup_copies(&player->revealed, role) : player->revealed.count;
        if (seat != game->seat) seen += role ? coup_copies(&player->known, role) : player->known.count;
    }
    return seen;
}

/* How many cards of a role you don't see. */
static double coup__hidden(const coup_game *game, const char *role) {
    return coup_number(coup_get(game->rules, "deck"), role, 0) - coup__sight(game, role);
}

double coup_odds(const coup_game *game, int seat, const char *role) {
    if (strncmp(role, "not_", 4) == 0) return 1 - coup_odds(game, seat, role + 4);
    if (seat < 0 || seat >= game->seats) return 0;
    if (seat == game->seat) return coup_holds(game, role);
    const coup_player *player = &game->players[seat];
    if (coup_copies(&player->known, role)) return 1;
    const coup_json *deck = coup_get(game->rules, "deck");
    double unseen = -coup__sight(game, NULL), copies = coup__hidden(game, role);
    for (const coup_json *each = deck ? deck->first : NULL; each; each = each->next)
        unseen += coup_number(deck, each->key, 0);
    int cards = player->influence - player->known.count;
    if (cards <= 0 || copies <= 0 || unseen < cards || coup_copies(&player->lacks, role)) return 0;
    int elsewhere = 0; /* hidden cards of others who lack the role */
    for (const coup_player *other = game->players; other < game->players + game->seats; other++)
        if (other->seat != game->seat && coup_copies(&other->lacks, role))
            elsewhere += other->influence - other->known.count;
    if (copies > unseen - elsewhere - cards) return 1; /* they have no place but this hand */
    if (!player->lacks.count) unseen -= elsewhere;
    for (int i = 0; i < player->lacks.count; i++) unseen -= coup__hidden(game, player->lacks.of[i]);
    double none = 1; /* C(unseen - copies, cards) / C(unseen, cards), a card at a time */
    for (int i = 0; i < cards; i++) none *= unseen - copies > i ? (unseen - copies - i) / (unseen - i) : 0;
    return 1 - none;
}

/* ---- Talking ---- */

static void coup__print_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        fprintf(file, (unsigned char)*text < ' ' ? "\\u%04x" : "%c", *text);
    }
    fputc('"', file);
}

static void coup__print(FILE *file, const coup_json *node) {
    static const char *const words[] = {"null", "false", "true"};
    if (node->type == COUP_STRING) {
        coup__print_text(file, node->text);
    } else if (node->type == COUP_NUMBER) {
        fwrite(node->text, 1, node->length, file);
    } else if (node->type <= COUP_TRUE) {
        fputs(words[node->type], file);
    } else {
        fputc(node->type == COUP_ARRAY ? '[' : '{', file);
        for (const coup_json *child = node->first; child; child = child->next) {
            if (child->key) {
                coup__print_text(file, child->key);
                fputc(':', file);
            }
            coup__print(file, child);
            if (child->next) fputc(',', file);
        }
        fputc(node->type == COUP_ARRAY ? ']' : '}', file);
    }
}

/* Says on standard error which function of the bot runs, and what it was asked. */
static void coup__say_where(void) {
    if (!coup__now) {
        fputs("coup_kit: that was outside the bot's functions\n", stderr);
        return;
    }
    const coup_game *game = &coup__now->game;
    const coup_json *legal = coup_get(game->request, "legal");
    fprintf(stderr, "coup_kit: %s failed at ", coup__now->method ? coup__now->method : "the kit");
    if (legal) {
        fprintf(stderr, "request %lld: %s, game %d, turn %d", coup__now->id, game->kind, game->number, game->turn);
        fputs(", legal ", stderr);
        coup__print(stderr, legal);
        fputc('\n', stderr);
    } else {
        fprintf(stderr, "%s, game %d\n", coup_text(game->request, "type", "the start"), game->number);
    }
}

/* Ends the bot, or, if it is careful, leaves the function of the bot that runs. */
static _Noreturn void coup__fail(void) {
    coup__say_where();
    if (!coup__now || !coup__now->bot->careful) exit(1);
    longjmp(coup__now->escape, 1);
}

_Noreturn void coup_fail(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: COUP_CHECK(%s) failed\n", file, line, condition);
    coup__fail();
}

/* Strictly, a handler may not print. But the program is lost anyway, and this tells where. */
static void coup__crashed(int number) {
    signal(number, SIG_DFL);
    fprintf(stderr, "the bot crashed with signal %d\n", number);
    coup__say_where();
    raise(number);
}

static void coup__notify(const char *method, coup_notice *notice) {
    coup__now->method = method;
    if (notice && setjmp(coup__now->escape) == 0) notice(&coup__now->game);
    coup__now->method = NULL;
}

/* The same for the two that get more than the game. */
static void coup__tell(const char *method, void (*hear)(coup_game *, const coup_json *), const coup_json *about) {
    coup__now->method = method;
    if (hear && setjmp(coup__now->escape) == 0) hear(&coup__now->game, about);
    coup__now->method = NULL;
}

static void coup__events(const coup_json *line) {
    const coup_json *events = coup_get(line, "events");
    for (const coup_json *event = events ? events->first : NULL; event; event = event->next) {
        coup__follow(event);
        coup__tell("event", coup__now->bot->event, event);
    }
}

/* Asks the bot; returns an index into legal. */
static int coup__choose(void) {
    const coup_bot *bot = coup__now->bot;
    const struct {
        const char *kind;
        coup_choose *method;
    } methods[] = {
        {"turn", bot->turn},
        {"challenge", bot->challenge},
        {"block", bot->block},
        {"prove", bot->prove},
        {"lose", bot->lose},
        {"exchange", bot->exchange},
        {"keep_shown", bot->keep_shown},
        {"examine_show", bot->examine_show},
        {"examine_decide", bot->examine_decide},
        {"draft", bot->draft},
        {"allegiance", bot->allegiance},
        {"other", bot->other},
    };
    const int last = sizeof methods / sizeof *methods - 1;
    int i = 0;
    while (i < last && !coup_same(coup__now->game.kind, methods[i].kind)) i++;
    coup__now->method = methods[i].kind;
    if (!methods[i].method || setjmp(coup__now->escape) != 0) return 0;
    int choice = methods[i].method(&coup__now->game);
    if (choice < -1 || choice >= coup__now->game.legal_count) {
        fprintf(stderr, "the bot chose %d, and legal has moves 0 to %d\n", choice, coup__now->game.legal_count - 1);
        coup__fail();
    }
    return choice == -1 ? 0 : choice;
}

/* Appends `,"key":"text"` to a line that has room for it: of the text at most 64 characters, as the protocol allows. */
static void coup__add_text(char *line, const char *key, const char *text) {
    if (!text) return;
    line += strlen(line);
    line += sprintf(line, ",\"%s\":\"", key);
    for (int left = 64; *text && left; left--, text++) {
        if (*text == '"' || *text == '\\') *line++ = '\\';
        *line++ = *text < ' ' || *text > '~' ? '?' : *text; /* so that half a character can't be left of a cut */
    }
    strcpy(line, "\"");
}

/* Appends text in quotes; the line has room for it. */
static void coup__add_quoted(char *line, const char *text) {
    line += strlen(line);
    *line++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') *line++ = '\\';
        *line++ = (unsigned char)*text < ' ' ? ' ' : *text; /* control characters can't be said */
    }
    strcpy(line, "\"");
}

void coup_say(const coup_game *game, const char *says, const char *what, int target) {
    coup_match *match = (coup_match *)(void *)(uintptr_t)game; /* it is the match's own, and nobody else makes one */
    char *said = match->said;
    size_t room = strlen(said) + 2 * (strlen(says) + (what ? strlen(what) : 0)) + 100;
    if (room > sizeof match->said || coup_same(coup_text(game->rules, "talk", "off"), "off")) return;
    strcat(said, *said ? ",{\"says\":" : "{\"says\":");
    coup__add_quoted(said, says);
    if (what) {
        strcat(said, coup_same(says, "text") ? ",\"text\":" : ",\"role\":");
        coup__add_quoted(said, what);
    }
    if (target != COUP_NOBODY) sprintf(said + strlen(said), ",\"target\":%d", target);
    strcat(said, "}");
}

static void coup__reseed(const char *seed) {
    uint64_t mixed = 0xCBF29CE484222325u; /* FNV-1a */
    for (; *seed; seed++) mixed = (mixed ^ (unsigned char)*seed) * 0x100000001B3u;
    coup__now->game.random = mixed;
}

static void coup__greet(void) {
    coup_game *game = &coup__now->game;
    game->rules = coup_get(game->hello, "ruleset");
    game->limits = coup_get(game->hello, "limits");
    game->match = coup_get(game->hello, "match");
    game->bot_seed = coup_text(game->hello, "bot_seed", "");
    coup__reseed(game->bot_seed);
    coup__notify("match_start", coup__now->bot->match_start);
    strcpy(coup__now->reply, "{\"type\":\"hello\"");
    coup__add_text(coup__now->reply, "name", coup__now->bot->name);
    coup__add_text(coup__now->reply, "version", coup__now->bot->version);
    strcat(coup__now->reply, "}");
}

/* Does what the document's line asks for; the answer, if it wants one, is then in coup__now->reply. */
static void coup__take(const coup_json *line) {
    coup_game *game = &coup__now->game;
    const char *type = coup_text(line, "type", "");
    coup__request(line);
    if (coup_same(type, "request")) {
        coup__state(line);
        coup__events(line);
        coup__now->hand = game->cards;
        coup__now->drawn = game->drawn;
        coup__drop_cards(&game->certain, &game->drawn);
        coup_player *looked_at = coup__player(coup_get(line, "pending"), "target");
        if (game->seen[0] && looked_at) coup__know(looked_at, game->seen); /* the events may tell of an earlier card */
        int choice = coup__choose();
        const char *say = *coup__now->said ? ",\"say\":[" : "", *end = *coup__now->said ? "]" : "";
        snprintf(coup__now->reply, sizeof coup__now->reply - 1, "{\"id\":%lld,\"choice\":%d%s%s%s}", coup__now->id,
                 choice, say, coup__now->said, end);
        coup__now->said[0] = '\0';
    } else if (coup_same(type, "game_start")) {
        snprintf(game->game_seed, sizeof game->game_seed, "%s", coup_text(line, "game_seed", ""));
        if (game->game_seed[0]) coup__reseed(game->game_seed);
        const coup_json *handles = coup_get(line, "players");
        coup__seat(handles ? handles->count : 0, handles);
        game->winner = coup__now->challenger = COUP_NOBODY;
        coup__state(line);
        coup__deal();
        coup__notify("game_start", coup__now->bot->game_start);
    } else if (coup_same(type, "game_over")) {
        game->winner = coup__small(line, "winner", COUP_NOBODY);
        coup__events(line);
        coup__finish(line);
        coup__notify("game_over", coup__now->bot->game_over);
    } else if (coup_same(type, "error")) {
        coup__tell("fault", coup__now->bot->fault, line);
    } else if (coup_same(type, "match_over")) {
        coup__notify("match_over", coup__now->bot->match_over);
        coup__now->over = true;
    } else if (coup_same(type, "hello")) {
        coup__document hello = coup__now->message; /* stays, while the next lines are read into the other */
        coup__now->message = coup__now->hello;
        coup__now->hello = hello;
        game->hello = line;
        coup__greet();
    }
    coup__now->method = NULL;
    coup__request(NULL); /* the next line goes where this one was */
}

/* Takes the line that lies in match->message; returns the answer, or NULL. */
static const char *coup__answer(coup_match *match) {
    coup_match *outer = coup__now; /* a bot's function may play another match */
    coup__now = match;
    const coup_json *line = coup__parse(&match->message);
    match->reply[0] = '\0';
    if (line) coup__take(line);
    else fputs("coup_kit: a line of the arena isn't JSON, and is ignored\n", stderr);
    coup__now = outer;
    return match->reply[0] ? match->reply : NULL;
}

coup_match *coup_begin(const coup_bot *bot) {
    coup_match *match = coup__resize(NULL, 1, sizeof *match);
    memset(match, 0, sizeof *match);
    match->bot = bot;
    match->doubted = "";
    match->game.memory = bot->memory;
    match->game.kind = match->game.seen = match->game.bot_seed = "";
    match->game.winner = match->game.seat = match->challenger = COUP_NOBODY;
    return match;
}

static void coup__add_byte(coup__document *document, char byte) {
    if (document->length == document->line_room) {
        document->line_room = document->line_room ? 2 * document->line_room : 4096;
        document->line = coup__resize(document->line, document->line_room, 1);
    }
    document->line[document->length++] = byte;
}

/* Reads a line of any length, without its newline; returns false at the end of the input. */
static bool coup__read(coup__document *document) {
    int byte;
    document->length = 0;
    while ((byte = getc(stdin)) != EOF && byte != '\n') coup__add_byte(document, (char)byte);
    coup__add_byte(document, '\0');
    document->length--;
    return byte != EOF || document->length > 0;
}

const char *coup_reply(coup_match *match, const char *line) {
    match->message.length = 0;
    while (*line) coup__add_byte(&match->message, *line++);
    coup__add_byte(&match->message, '\0');
    match->message.length--;
    return coup__answer(match);
}

int coup_run(const coup_bot *bot) {
    static const int signals[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], coup__crashed);
    if (isatty(STDIN_FILENO)) fputs("coup_kit: a bot is started by the arena: arena check FOLDER\n", stderr);
    fflush(stdout);
    int wire = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* for what the bot or a library prints */
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    coup_match *match = coup_begin(bot);
    while (!match->over && coup__read(&match->message)) {
        if (!coup__answer(match)) continue;
        size_t length = strlen(match->reply);
        match->reply[length] = '\n';
        if (write(wire, match->reply, length + 1) < 0) break; /* the arena has gone */
    }
    close(wire);
    coup_end(match);
    return 0;
}

#endif /* COUP_KIT_IMPLEMENTATION */
