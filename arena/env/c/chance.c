/* Draws as arena.coup.keyed_rng: HMAC-SHA256(key, "purpose|deal|event"), and Fisher-Yates by the digest as one number. */
#include "game.h"

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
static const uint32_t START[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static inline uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }

/* One block of SHA-256 (FIPS 180-4, 6.2.2). */
static void compress(uint32_t state[8], const uint8_t block[64]) {
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (turned(x, 7) ^ turned(x, 18) ^ x >> 3) + w[i - 7] + (turned(y, 17) ^ turned(y, 19) ^ y >> 10);
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 64; i++) {
        uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i];
        uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void set_key(Game *g, const uint8_t key[32]) {
    uint8_t inner[64], outer[64];
    for (int i = 0; i < 64; i++) inner[i] = (i < 32 ? key[i] : 0) ^ 0x36, outer[i] = (i < 32 ? key[i] : 0) ^ 0x5c;
    memcpy(g->inner, START, sizeof START);
    memcpy(g->outer, START, sizeof START);
    compress(g->inner, inner);
    compress(g->outer, outer);
    g->number = -1;
}

/* Write a number that isn't negative, and return the place after it. */
static uint8_t *digits(uint8_t *to, int64_t number) {
    uint8_t reversed[20];
    int n = 0;
    do reversed[n++] = (uint8_t)('0' + number % 10);
    while (number /= 10);
    while (n) *to++ = reversed[--n];
    return to;
}

/* The digest of "purpose|deal|event", its highest word first. A purpose has at most 10 letters: a label fits one block. */
static void digest(const Game *g, const char *purpose, uint32_t out[8]) {
    uint8_t block[64] = {0}, *end = block;
    while (*purpose) *end++ = (uint8_t)*purpose++;
    *end++ = '|';
    end = digits(end, g->number);
    *end++ = '|';
    end = digits(end, g->events);
    *end = 0x80;
    unsigned bits = 8 * (unsigned)(64 + (end - block));
    block[62] = (uint8_t)(bits >> 8), block[63] = (uint8_t)bits;
    uint32_t inner[8];
    memcpy(inner, g->inner, sizeof inner);
    compress(inner, block);
    memset(block, 0, sizeof block);
    for (int i = 0; i < 32; i++) block[i] = (uint8_t)(inner[i / 4] >> (24 - 8 * (i % 4)));
    block[32] = 0x80, block[62] = 3;  /* 96 bytes, 768 bits */
    memcpy(out, g->outer, sizeof inner);
    compress(out, block);
}

/* Sort the deck and shuffle it. Divisors are taken together while their product fits 32 bits. */
void shuffle_deck(Game *g, const char *purpose) {
    uint32_t number[8];
    int counts[ROLES] = {0}, n = 0;
    for (int i = 0; i < g->ndeck; i++) counts[g->deck[i]]++;
    for (int role = 0; role < ROLES; role++)
        while (counts[role]--) g->deck[n++] = (int8_t)role;
    digest(g, purpose, number);
    for (int last = n - 1; last > 0;) {
        uint64_t product = 1, rest = 0;
        int after = last;
        while (after > 0 && product * (unsigned)(after + 1) <= UINT32_MAX) product *= (unsigned)(after-- + 1);
        for (int i = 0; i < 8; i++) {
            rest = rest << 32 | number[i];
            number[i] = (uint32_t)(rest / product);
            rest %= product;
        }
        for (; last > after; last--) {
            int with = (int)(rest % (unsigned)(last + 1));
            rest /= (unsigned)(last + 1);
            int8_t card = g->deck[last];
            g->deck[last] = g->deck[with];
            g->deck[with] = card;
        }
    }
}

void seed_dice(Game *g) {
    uint32_t number[8];
    digest(g, "dice", number);
    g->dice = (uint64_t)number[0] << 32 | number[1];
}

/* A number below a bound, by SplitMix64. */
uint32_t roll(Game *g, uint32_t below) {
    uint64_t z = g->dice += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)(((z ^ z >> 31) >> 32) * below >> 32);
}
