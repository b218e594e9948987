/* What a chess tournament's runner does for a move, without knowing chess: it keeps the moves so far, formats the
   position and both clocks as a line, writes it to the engine whose turn it is, polls until its deadline, reads up to
   the end of the line, takes the answer out of it and charges the clock. Games are of 80 plies; two engines.
   The lines are such that the benchmark's own bot understands them.

   runner PROGRAM REQUESTS: prints requests, CPU us of this process (without starts), CPU us of the engines, and bytes
   of all requests. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLIES 80
#define LIMIT_MS 5000

extern char **environ;

struct engine { pid_t pid; int in, out; long left_us; size_t have; char buffer[1 << 16]; };

static struct engine engines[2];
static long long sent;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void start(struct engine *engine, char *program) {
    int in[2], out[2];
    char *argv[] = {program, NULL};
    posix_spawn_file_actions_t actions;
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) fail("pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    if (posix_spawn(&engine->pid, program, &actions, NULL, argv, environ)) fail(program);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    engine->in = in[1];
    engine->out = out[0];
}

static void say(struct engine *engine, const char *line, int length) {
    if (write(engine->in, line, length) != length) fail("write");
    sent += length;
}

static long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

/* Wait for a line, and leave it in the buffer; returns what it took. */
static long await(struct engine *engine) {
    long began = now_us(), spent = 0;
    char *end;
    while (!(end = memchr(engine->buffer, '\n', engine->have))) {
        struct pollfd one = {engine->out, POLLIN, 0};
        if (poll(&one, 1, LIMIT_MS - spent / 1000) <= 0) exit(2);
        ssize_t got = read(engine->out, engine->buffer + engine->have, sizeof engine->buffer - 1 - engine->have);
        spent = now_us() - began;
        if (got <= 0) exit(3);
        engine->have += got;
    }
    *end = 0;
    engine->have = 0; /* an engine says one line a move */
    return spent;
}

static long long cpu_us(int who) {
    struct rusage used;
    getrusage(who, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

int main(int count, char **argv) {
    if (count != 3) return 1;
    long requests = atol(argv[2]);
    char line[4096], moves[PLIES * 5 + 1];
    size_t length = 0;
    for (int i = 0; i < 2; i++) {
        start(&engines[i], argv[1]);
        say(&engines[i], line, sprintf(line, "{\"type\":\"hello\",\"bot_seed\":\"%032x\"}\n", i));
        await(&engines[i]);
        engines[i].left_us = 60000000;
    }
    sent = 0;
    long long own = cpu_us(RUSAGE_SELF);
    for (long id = 1; id <= requests; id++) {
        struct engine *engine = &engines[id % 2];
        if (id % PLIES == 1) length = 0;
        moves[length] = 0;
        say(engine, line, sprintf(line,
            "{\"type\":\"request\",\"id\":%ld,\"position\":\"startpos moves%s\",\"legal\":[{},{},{},{},{},{},{},{}],"
            "\"clock\":{\"wtime\":%ld,\"btime\":%ld,\"winc\":100,\"binc\":100}}\n",
            id, moves, engines[0].left_us / 1000, engines[1].left_us / 1000));
        engine->left_us += 100000 - await(engine);
        char *answered = strstr(engine->buffer, "\"id\":"), *choice = strstr(engine->buffer, "\"choice\":");
        if (!answered || !choice || atol(answered + 5) != id) return 4;
        length += sprintf(moves + length, " %c2e%d", 'a' + atoi(choice + 9) % 8, (int)(id % 8) + 1);
    }
    own = cpu_us(RUSAGE_SELF) - own;
    for (int i = 0; i < 2; i++) {
        close(engines[i].in);
        close(engines[i].out);
        waitpid(engines[i].pid, NULL, 0);
    }
    printf("%ld %lld %lld %lld\n", requests, own, cpu_us(RUSAGE_CHILDREN), sent);
    return 0;
}
