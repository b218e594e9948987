// Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does.

#include "coup_kit.hpp"

#include <iomanip>

using coup::Answer, coup::Game;

// Writes a list of as many numbers as there are elements.
template <class Elements, class Number>
void tell(const char* before, const Elements& elements, Number number) {
    std::cout << before << '[';
    const char* comma = "";
    for (const auto& element : elements) {
        std::cout << comma << number(element);
        comma = ",";
    }
    std::cout << ']';
}

// Writes to standard error what cases.jsonl asks for, and plays the first move.
struct Knower : coup::Bot {
    const std::vector<std::string> roles = {"ambassador", "assassin", "captain", "contessa",
                                            "duke",       "inquisitor", "not_duke"};

    Answer turn(Game& game) override {
        auto quoted = [](const std::string& card) { return '"' + card + '"'; };
        auto counts = [&](const char* before, coup::Counts coup::Player::*counted) {
            tell(before, game.players, [&](const coup::Player& player) {
                std::string told;
                for (const auto& [role, times] : (player.*counted).of)
                    told += (told.empty() ? "\"" : ",\"") + role + "\":" + std::to_string(times);
                return '{' + told + '}';
            });
        };
        auto numbers = [&](const char* before, auto coup::Player::*number) {
            tell(before, game.players, [&](const coup::Player& player) { return player.*number; });
        };
        auto hands = [&](const char* before, coup::Cards coup::Player::*hand) {
            tell(before, game.players, [&](const coup::Player& player) {
                std::string told;
                for (const std::string& card : player.*hand) told += (told.empty() ? "" : ",") + quoted(card);
                return '[' + told + ']';
            });
        };
        std::cout << std::boolalpha << std::setprecision(17);
        tell("{\"cards\":", game.cards, quoted);
        counts(",\"claims\":", &coup::Player::claims);
        counts(",\"caught\":", &coup::Player::caught);
        counts(",\"shown\":", &coup::Player::shown);
        counts(",\"blocks\":", &coup::Player::blocks);
        hands(",\"known\":", &coup::Player::known);
        hands(",\"revealed\":", &coup::Player::revealed);
        numbers(",\"alive\":", &coup::Player::alive);
        numbers(",\"influence\":", &coup::Player::influence);
        numbers(",\"coins\":", &coup::Player::coins);
        for (const coup::Player& player : game.players) {
            std::cout << (player.seat ? "," : ",\"odds\":[");
            const char* before = "{";
            for (const std::string& role : roles) {
                std::cout << before << quoted(role) << ':' << game.odds(player.seat, role);
                before = ",";
            }
            std::cout << '}';
        }
        std::cout << "]}" << std::endl;
        return nullptr;
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
    void game_over(Game& game) override { turn(game); }
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
    Answer turn(Game&) override { throw std::runtime_error("on purpose"); }
};

int main(int count, char** words) {
    const std::string word = count > 1 ? words[1] : "";
    if (word == "know") return coup::run(Knower{});
    if (word == "say") return coup::run(Speaker{});
    if (word == "roll") return coup::run(Roller{});
    Failing bot;
    bot.careful = word == "careful";
    return coup::run(bot);
}
