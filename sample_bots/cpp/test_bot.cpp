// Tests of the bot's choices, without the arena: make test

#define main bot_main // bot.cpp has its own main
#include "bot.cpp"
#undef main

static int failures = 0;

using std::string;

// Starts a game of three players as seat 0, and compares the bot's choice. `lost`: a lost card of seat 2.
static void expect(int choice, const string& kind, const string& cards, const string& more, const string& lost = "") {
    MyBot bot;
    string now = R"("game":0, "you":{"seat":0,"cards":[)" + cards + R"(]}, "state":{"turn":1,"actor":0,"deck":9,
        "players":[{"coins":2,"influence":2,"revealed":[]}, {"coins":2,"influence":2,"revealed":[]},
        {"coins":5,"influence":)" + (lost.empty() ? "2" : "1") + R"(,"revealed":[)" + lost + "]}]}";
    bot.reply(R"({"type":"hello", "bot_seed":"5f1c", "ruleset":{"deck":
        {"ambassador":3,"assassin":3,"captain":3,"contessa":3,"duke":3}}})");
    bot.reply(R"({"type":"game_start", "seat":0, "players":["A","B","C"],)" + now + "}");
    string request = R"({"type":"request", "id":1, "events":[], "kind":")" + kind + "\"," + more + "," + now + "}";
    auto reply = bot.reply(request);
    string wanted = R"({"id":1,"choice":)" + std::to_string(choice) + "}";
    if (reply == wanted) return;
    coup::log(kind, " with ", cards, ": ", reply.value_or("nothing"), " instead of ", wanted);
    ++failures;
}

int main() {
    const string turn = R"("legal":[{"action":"income"},{"action":"tax"},
        {"action":"steal","target":1},{"action":"steal","target":2}])";
    const string claim = R"("claim":{"seat":1,"role":"duke","block":false},
        "legal":[{"pass":true},{"challenge":true}])";
    // It taxes with a duke, and not without.
    expect(1, "turn", R"("contessa","duke")", turn);
    expect(0, "turn", R"("contessa","contessa")", turn);
    // It steals from the richest.
    expect(3, "turn", R"("captain","contessa")", turn);
    // It challenges only what is very unlikely.
    expect(0, "challenge", R"("captain","contessa")", claim);
    expect(1, "challenge", R"("duke","duke")", claim, R"("duke")");
    std::cout << (failures ? "FAILED" : "OK") << std::endl;
    return failures != 0;
}
