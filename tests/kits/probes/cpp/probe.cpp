// Writes what the kit reckons, or fails: by the word that it is given. ../README.md says what a probe does.

#include "coup_kit.hpp"

#include <iomanip>

using coup::Answer, coup::Game;

// Writes the odds of each seat at each request, and at the end of a game its cards and who has how many.
struct Reckoner : coup::Bot {
    Answer turn(Game& game) override {
        const char* before = "[";
        std::cout << std::setprecision(17);
        for (const coup::Player& player : game.players) {
            std::cout << before;
            before = "{";
            for (const char* role :
                 {"ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"}) {
                std::cout << before << '"' << role << "\":" << game.odds(player.seat, role);
                before = ",";
            }
            const auto opponents = game.opponents();
            const bool is_opponent = std::count(opponents.begin(), opponents.end(), &player) > 0;
            std::cout << ",\"opponent\":" << (is_opponent ? "true}" : "false}");
        }
        std::cout << ']' << std::endl;
        return nullptr;
    }

    void game_over(Game& game) override {
        const char* before = "{\"cards\":[";
        if (game.cards.empty()) std::cout << before;
        for (const std::string& card : game.cards) {
            std::cout << before << '"' << card << '"';
            before = ",";
        }
        before = "],\"influence\":[";
        for (const coup::Player& player : game.players) {
            std::cout << before << player.influence;
            before = ",";
        }
        std::cout << "]}" << std::endl;
    }

    Answer challenge(Game& game) override { return turn(game); }
    Answer block(Game& game) override { return turn(game); }
    Answer prove(Game& game) override { return turn(game); }
    Answer lose(Game& game) override { return turn(game); }
    Answer exchange(Game& game) override { return turn(game); }
    Answer keep_shown(Game& game) override { return turn(game); }
    Answer examine_show(Game& game) override { return turn(game); }
    Answer examine_decide(Game& game) override { return turn(game); }
    Answer draft(Game& game) override { return turn(game); }
    Answer allegiance(Game& game) override { return turn(game); }
    Answer other(Game& game) override { return turn(game); }
};

// Speaks at each turn, and listens.
struct Speaker : coup::Bot {
    Answer turn(Game& game) override {
        game.say("hold", "duke");
        game.say("spare", 1);
        game.say("doubt", "duke", 1);
        game.say("text", "Zo\xc3\xab says \"\\ \xf0\x9f\x8e\xb2\"");
        return 0;
    }

    void event(Game&, const coup::Json& event) override {
        if (event["event"].string() == "say") std::cout << event["says"].string() << std::endl;
    }
};

// Rolls the kit's dice at each turn.
struct Roller : coup::Bot {
    Answer turn(Game& game) override {
        std::cout << std::uniform_real_distribution<>()(game.random) << std::endl;
        return nullptr;
    }
};

struct Failing : coup::Bot {
    Answer turn(Game& game) override { return game.find("assasinate"); }
};

int main(int count, char** words) {
    const std::string word = count > 1 ? words[1] : "";
    if (word == "odds") return coup::run(Reckoner{});
    if (word == "say") return coup::run(Speaker{});
    if (word == "roll") return coup::run(Roller{});
    Failing bot;
    bot.careful = word == "careful";
    return coup::run(bot);
}
