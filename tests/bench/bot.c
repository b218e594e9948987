/* A bot that costs as little as a bot can: it picks a legal move by a linear congruential generator.
   Reads lines, answers the hello and every request; knows just enough JSON to find the id and to count `legal`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[1 << 20];
static unsigned state = 1;

static int count_legal(const char *legal) {
    int depth = 0, count = 0;
    for (; *legal; legal++) {
        if (*legal == '[') depth++;
        else if (*legal == ']' && --depth == 0) return count;
        else if (*legal == '{' && depth == 1) count++;
    }
    return count;
}

static void say(const char *text, int length) {
    if (write(1, text, length) != length) exit(1);
}

static void answer(const char *line) {
    if (strncmp(line, "{\"type\":\"request\"", 17) == 0) {
        char reply[64];
        int id = atoi(strstr(line, "\"id\":") + 5);
        int count = count_legal(strstr(line, "\"legal\":") + 8);
        state = state * 1103515245u + 12345u;
        say(reply, snprintf(reply, sizeof reply, "{\"id\":%d,\"choice\":%u}\n", id, (state >> 16) % count));
    } else if (strncmp(line, "{\"type\":\"hello\"", 15) == 0) {
        state = strtoul(strstr(line, "\"bot_seed\":\"") + 12 + 24, NULL, 16);
        say("{\"type\":\"hello\",\"name\":\"c\"}\n", 28);
    }
}

int main(void) {
    size_t have = 0;
    for (;;) {
        ssize_t got = read(0, buffer + have, sizeof buffer - have - 1);
        if (got <= 0) return 0;
        have += got;
        char *start = buffer, *end;
        while ((end = memchr(start, '\n', buffer + have - start))) {
            *end = 0;
            answer(start);
            start = end + 1;
        }
        have -= start - buffer;
        memmove(buffer, start, have);
    }
}
