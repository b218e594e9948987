/* Tries the bot's choices, without an arena: make test */

#define main bot_main /* bot.c has a main of its own */
#include "bot.c"
#undef main

static coup_match *match;
static int failures;

/* Begins a game of three as seat 0, asks for one move, and compares its index. `lost`: a lost card of seat 2. */
static void expect(int choice, const char *cards, const char *lost, const char *kind, const char *more) {
    char line[2000], wanted[40], now[800];
    snprintf(now, sizeof now,
             "\"game\":0,\"you\":{\"seat\":0,\"cards\":[%s]},\"state\":{\"turn\":1,\"actor\":0,\"deck\":9,\"players\":["
             "{\"coins\":2,\"influence\":2,\"revealed\":[]},{\"coins\":2,\"influence\":2,\"revealed\":[]},"
             "{\"coins\":5,\"influence\":%d,\"revealed\":[%s]}]}",
             cards, *lost ? 1 : 2, lost);
    coup_reply(match, "{\"type\":\"hello\",\"bot_seed\":\"5f1c\",\"ruleset\":{\"deck\":"
                      "{\"ambassador\":3,\"assassin\":3,\"captain\":3,\"contessa\":3,\"duke\":3}}}");
    snprintf(line, sizeof line, "{\"type\":\"game_start\",\"seat\":0,\"players\":[\"A\",\"B\",\"C\"],%s}", now);
    coup_reply(match, line);
    snprintf(line, sizeof line, "{\"type\":\"request\",\"id\":1,\"kind\":\"%s\",\"events\":[],%s,%s}", kind, more, now);
    snprintf(wanted, sizeof wanted, "{\"id\":1,\"choice\":%d}", choice);
    const char *reply = coup_reply(match, line);
    if (coup_same(reply, wanted)) return;
    fprintf(stderr, "%s with %s: %s instead of %s\n", kind, cards, reply ? reply : "nothing", wanted);
    failures++;
}

static const char TURN[] = "\"legal\":[{\"action\":\"income\"},{\"action\":\"tax\"},"
                           "{\"action\":\"steal\",\"target\":1},{\"action\":\"steal\",\"target\":2}]";
static const char CLAIM[] = "\"claim\":{\"seat\":1,\"role\":\"duke\",\"block\":false},"
                            "\"legal\":[{\"pass\":true},{\"challenge\":true}]";

int main(void) {
    match = coup_begin(&MY_BOT);
    /* It taxes with a duke, and not without. */
    expect(1, "\"contessa\",\"duke\"", "", "turn", TURN);
    expect(0, "\"contessa\",\"contessa\"", "", "turn", TURN);
    /* It steals from the richest. */
    expect(3, "\"captain\",\"contessa\"", "", "turn", TURN);
    /* It challenges only what is very unlikely. */
    expect(0, "\"captain\",\"contessa\"", "", "challenge", CLAIM);
    expect(1, "\"duke\",\"duke\"", "\"duke\"", "challenge", CLAIM);
    coup_end(match);
    puts(failures ? "FAILED" : "OK");
    return failures != 0;
}
