/* Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does. */

#define COUP_KIT_IMPLEMENTATION
#include "coup_kit.h"

static const char *const ROLES[] = {"ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"};
enum { ROLE_COUNT = sizeof ROLES / sizeof *ROLES };

static void tell_tally(const char *name, const coup_tally *tally) {
    printf("\"%s\":[", name);
    for (int i = 0; i < ROLE_COUNT; i++) printf("%s%d", i ? "," : "", coup_count(tally, ROLES[i]));
    printf("],");
}

/* Writes what it knows to standard error, and plays any move. */
static int tell(coup_game *game) {
    int id = (int)coup_int(game->request, "id", 0);
    printf("{\"id\":%d,\"opponents\":[", id);
    for (int i = 0; i < game->opponent_count; i++) printf("%s%d", i ? "," : "", game->opponents[i]->seat);
    printf("],\"players\":[");
    for (int seat = 0; seat < game->seats; seat++) {
        const coup_player *player = &game->players[seat];
        const coup_history *history = player->history;
        printf("%s{\"odds\":[", seat ? "," : "");
        for (int i = 0; i < ROLE_COUNT; i++) printf("%s%.12f", i ? "," : "", coup_odds(game, seat, ROLES[i]));
        printf("],");
        tell_tally("claims", &player->claims);
        tell_tally("caught", &player->caught);
        tell_tally("shown", &player->shown);
        tell_tally("blocks", &player->blocks);
        printf("\"known\":[");
        for (int i = 0; i < ROLE_COUNT; i++) printf("%s%d", i ? "," : "", coup_copies(&player->known, ROLES[i]));
        printf("],");
        printf("\"history\":[%d,%d,%d,%d,%d,%d,%d]}", history->claimed, history->challenged, history->proven,
               history->caught, history->challenges, history->won_challenges, history->blocks);
    }
    printf("]}\n");
    return id % game->legal_count;
}

static void know_tally(const char *name, const coup_player *player, const coup_tally *tally) {
    printf("%s{", player->seat ? "," : name);
    for (int i = 0; i < tally->count; i++) printf("%s\"%s\":%d", i ? "," : "", tally->of[i].role, tally->of[i].times);
    printf("}");
}

static void know_cards(const char *before, const coup_cards *cards) {
    printf("%s[", before);
    for (int i = 0; i < cards->count; i++) printf("%s\"%s\"", i ? "," : "", cards->of[i]);
    printf("]");
}

/* Writes to standard error what cases.jsonl asks for, each of it by seat. */
static void know_over(coup_game *game) {
    const coup_player *end = game->players + game->seats, *player;
    know_cards("{\"cards\":", &game->cards);
    for (player = game->players; player < end; player++) know_tally(",\"claims\":[", player, &player->claims);
    for (player = game->players; player < end; player++) know_tally("],\"caught\":[", player, &player->caught);
    for (player = game->players; player < end; player++) know_tally("],\"shown\":[", player, &player->shown);
    for (player = game->players; player < end; player++) know_tally("],\"blocks\":[", player, &player->blocks);
    for (player = game->players; player < end; player++)
        know_cards(player->seat ? "," : "],\"known\":[", &player->known);
    for (player = game->players; player < end; player++)
        know_cards(player->seat ? "," : "],\"revealed\":[", &player->revealed);
    for (player = game->players; player < end; player++)
        printf("%s%s", player->seat ? "," : "],\"alive\":[", player->alive ? "true" : "false");
    for (player = game->players; player < end; player++)
        printf("%s%d", player->seat ? "," : "],\"influence\":[", player->influence);
    for (player = game->players; player < end; player++)
        printf("%s%d", player->seat ? "," : "],\"coins\":[", player->coins);
    for (player = game->players; player < end; player++) {
        printf("%s{", player->seat ? "," : "],\"odds\":[");
        for (int i = 0; i < ROLE_COUNT; i++)
            printf("%s\"%s\":%.17g", i ? "," : "", ROLES[i], coup_odds(game, player->seat, ROLES[i]));
        printf("}");
    }
    printf("]}\n");
}

static int know(coup_game *game) {
    know_over(game);
    return 0;
}

/* Speaks at each turn, and listens. */
static int speak(coup_game *game) {
    coup_say(game, "hold", "duke", COUP_NOBODY);
    coup_say(game, "spare", NULL, 1);
    coup_say(game, "doubt", "duke", 1);
    coup_say(game, "text", "Zo\xc3\xab says \"\\ \xf0\x9f\x8e\xb2\"", COUP_NOBODY);
    return 0;
}

static void listen(coup_game *game, const coup_json *event) {
    (void)game;
    if (coup_same(coup_text(event, "event", ""), "say")) puts(coup_text(event, "says", ""));
}

/* Rolls the kit's dice at each turn. */
static int roll(coup_game *game) {
    printf("%.12f\n", coup_chance(game));
    return 0;
}

static int fail(coup_game *game) {
    COUP_CHECK(game->seat > 99);
    return 0;
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";
    coup_bot teller = {.turn = tell, .challenge = tell, .block = tell, .prove = tell, .lose = tell, .exchange = tell,
                       .keep_shown = tell, .examine_show = tell, .examine_decide = tell, .draft = tell,
                       .allegiance = tell, .other = tell};
    coup_bot knower = {.turn = know, .challenge = know, .block = know, .prove = know, .lose = know, .exchange = know,
                       .keep_shown = know, .examine_show = know, .examine_decide = know, .draft = know,
                       .allegiance = know, .other = know, .game_over = know_over};
    coup_bot failing = {.turn = fail, .careful = coup_same(word, "careful")};
    coup_bot speaker = {.turn = speak, .event = listen};
    coup_bot roller = {.turn = roll};
    return coup_run(coup_same(word, "tell")   ? &teller
                    : coup_same(word, "know") ? &knower
                    : coup_same(word, "say")  ? &speaker
                    : coup_same(word, "roll") ? &roller
                                              : &failing);
}
