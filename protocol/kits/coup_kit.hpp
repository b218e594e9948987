// A kit for Coup Arena bots: it handles the messages of the protocol, and calls a method of your bot for each move.
// Copy this file next to your bot. It requires only C++17 and POSIX. This is kit version 8. A complete bot:
//
//     #include "coup_kit.hpp"
//
//     struct MyBot : coup::Bot {
//         coup::Answer turn(coup::Game& game) override {
//             return game.holds("duke") ? game.find("tax") : nullptr;
//         }
//     };
//
//     int main() { return coup::run(MyBot{}); }
//
// Write a method for each kind of request that you want to answer. It gets the game and returns a move of game.legal, a
// pointer to it, or its index. For other requests, and for nullptr, the kit plays game.legal[0], a safe move (income,
// pass, show the card ...). find() returns nullptr if there is no such move. SPEC.md documents the messages.
//
// coup::log(...) writes to standard error, and while run() runs so do std::cout and printf: they can't disturb the
// protocol. If a method throws, the kit prints the error with its request to standard error and ends the program. With
// careful = true it plays legal[0] instead, and the bot continues.

#ifndef COUP_KIT_HPP
#define COUP_KIT_HPP

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace coup {

// Writes its arguments as a line to standard error: log("coins: ", game.me().coins).
template <class... Parts>
void log(const Parts&... parts) {
    (std::cerr << ... << parts) << std::endl;
}

// ---- JSON: for fields that the structs below don't have, and those of later variants --------------------------------

// An immutable JSON value. A missing value is null, and a value of another type reads as the fallback:
// game.rules["deck"]["duke"].integer(3).
class Json {
public:
    enum class Kind { null, boolean, number, string, array, object };

    // Throws std::runtime_error if the text isn't one JSON value.
    static Json parse(std::string_view text);

    Kind kind() const { return kind_; }
    const Json& operator[](std::string_view key) const { // of an object
        return (*this)[std::size_t(std::find(keys_.begin(), keys_.end(), key) - keys_.begin())];
    }
    const Json& operator[](std::size_t index) const { // of an array
        static const Json none;
        return index < items_.size() ? items_[index] : none;
    }
    bool has(std::string_view key) const { return !(*this)[key].is_null(); }
    bool is_null() const { return kind_ == Kind::null; }

    int integer(int otherwise = 0) const {
        const double value = number(otherwise);
        return std::abs(value) <= 2147483647 ? int(value) : otherwise;
    }
    double number(double otherwise = 0) const {
        return kind_ == Kind::number ? std::strtod(text_.c_str(), nullptr) : otherwise;
    }
    bool boolean(bool otherwise = false) const { return kind_ == Kind::boolean ? text_ == "true" : otherwise; }
    std::string string(std::string otherwise = "") const { return kind_ == Kind::string ? text_ : otherwise; }
    std::vector<std::string> strings() const { // the strings in an array
        std::vector<std::string> all;
        for (const Json& element : items_)
            if (element.kind_ == Kind::string) all.push_back(element.text_);
        return all;
    }
    const std::vector<Json>& elements() const { return items_; }   // of an array, or values of an object; else empty
    const std::vector<std::string>& keys() const { return keys_; } // of an object, in order; else empty
    std::string dump() const;                                      // as JSON

private:
    friend class Parser;

    Kind kind_ = Kind::null;
    std::string text_; // of a string; of a number or a boolean as it is written
    std::vector<Json> items_;
    std::vector<std::string> keys_;
};

// ---- The game -------------------------------------------------------------------------------------------------------

constexpr int nobody = -1; // no seat, or an unknown one

using Cards = std::vector<std::string>; // roles by name, in alphabetical order

// Counts by role; a role that was never counted reads as 0: player.blocks["duke"].
struct Counts {
    std::map<std::string, int, std::less<>> of;

    int operator[](std::string_view role) const {
        auto found = of.find(role);
        return found == of.end() ? 0 : found->second;
    }
};

// A legal move.
struct Move {
    std::string word;   // the action ("steal"), or else the key: "challenge", "pass", "block", "show", "keep" ...
    int target;         // the seat that the action targets, or nobody
    std::string value;  // the key's value: "duke" of {"block":"duke"}, "true" of {"pass":true}; else ""
    Cards cards;        // of {"keep":[...]}; else empty
    Json raw;           // as received
    int index;          // in game.legal
};

// A player at the table, with its public state of the latest request.
struct Player {
    int seat = nobody;
    std::string handle; // the same in all games of the match, unlike the seat
    int coins = 0;
    int influence = 0; // number of face-down cards; 0: it is out of the game, or in a draft
    Cards revealed;    // its lost cards, face up
    bool alive = false; // still in the game; in a draft all players are, without cards
    std::string allegiance; // "loyalist" or "reformist"; empty without sides, or before they are chosen
    Counts blocks;          // by role: its blocks in this game
    Cards known;            // cards that it certainly holds, from you.known of the request
    Cards lacks;            // roles that it certainly lacks, but for those of which you see every card
};

// The game as your seat sees it: one object for the whole match. In game_over, state and cards are final and nothing is
// known.
struct Game {
    // Of the request; between requests kind and legal are empty.
    std::string kind;        // the kind of request: "turn", "challenge", "block" ...
    std::vector<Move> legal; // all legal moves; the first is a safe move
    struct {
        int actor = nobody;
        std::string action;
        int target = nobody;
    } pending; // the undecided action; at your turn its actor is nobody
    struct {
        int seat = nobody;
        std::string role;
        bool block = false; // true: the claim of a block; false: of the action
    } claim;                // the undecided claim; without one its seat is nobody
    bool proven = false;    // in block: whether the actor proved the action's claim this turn
    int challenger = nobody; // in prove: the seat that challenges you
    std::string reason;      // in lose: why: "coup", "assassinate", "challenge"; in game_over: why it ended
    std::string seen;        // in examine_decide: the opponent's card that you see
    Json request;            // the message as received, also game_start, game_over and error

    // Of the game.
    int number = 0; // number of the game in the match, from 0
    int seat = nobody; // your seat in this game
    int turn = 0, actor = nobody, deck = 0, reserve = 0;
    Cards cards;    // your face-down cards
    Cards drawn;    // in exchange: the cards that you drew
    Cards discards; // with a draft: the cards that you discarded
    Cards in_deck;  // cards that are certainly in the court deck, from you.known
    std::vector<Player> players; // by seat
    int winner = nobody;         // in game_over: the seat that won; nobody: a draw
    std::vector<int> survivors;  // in game_over: the seats that won or share the draw

    // Of the match.
    Json rules, limits, match; // hello.ruleset, hello.limits, hello.match
    std::string bot_seed;
    std::string game_seed;  // of this game; empty before the first game
    std::mt19937_64 random; // each game seeds it with game_seed; before the first game its seed is bot_seed

    const Json& state() const { return request["state"]; } // the public state as received
    Player& me() { return players.at(std::size_t(seat)); } // your own player, as the others see it
    // Returns the other living players, clockwise from you.
    std::vector<Player*> opponents();

    bool holds(std::string_view role) const { return std::count(cards.begin(), cards.end(), role) > 0; }
    // Returns the first legal move with this action or key, or nullptr: find("tax"), find("steal", 2) (at seat 2).
    const Move* find(std::string_view word) const {
        return first(word, [](const Move&) { return true; });
    }
    const Move* find(std::string_view word, int target) const {
        return first(word, [&](const Move& move) { return move.target == target; });
    }
    const Move* find(std::string_view word, std::string_view value) const {
        return first(word, [&](const Move& move) { return move.value == value; });
    }
    // Returns all legal moves with this action or key: moves("steal"), moves("block"). Throws for a word of no rules.
    std::vector<const Move*> moves(std::string_view word) const;

    // Returns the probability, 0 to 1, that a seat holds at least one card of a role, from the cards that you see:
    // 1 - C(U-d, k) / C(U, k). Of U unseen cards d have the role, k are the seat's. Claims don't count; you.known does.
    // For "not_duke": the probability that the seat has no duke. After a draft, values other than 0 and 1 are guesses.
    double odds(int seat, std::string_view role) const;

    // Adds a statement to your next answer: say("hold", "duke"), say("lack", "duke"), say("attack", 2),
    // say("spare", 2), say("doubt", "duke", 2), and if the rules allow it, say("text", "Peace?") in UTF-8. At most 4,
    // one of them a text. Without talk nothing is sent. Statements of others are "say" events.
    void say(std::string_view says, std::string_view what) { words(says, what, nobody); }
    void say(std::string_view says, int target) { words(says, {}, target); }
    void say(std::string_view says, std::string_view role, int target) { words(says, role, target); }

private:
    friend class Bot;

    template <class Fits>
    const Move* first(std::string_view word, Fits fits) const {
        for (const Move* move : moves(word))
            if (fits(*move)) return move;
        return nullptr;
    }
    void words(std::string_view says, std::string_view what, int target);
    void take(Json message);
    void finish();
    Player* at(const Json& sent);

    std::string words_; // statements for the next answer
};

// ---- The bot --------------------------------------------------------------------------------------------------------

// The result of a request's method: a move of game.legal, its index, or nullptr, which plays the first legal move.
struct Answer {
    Answer(int choice) : index(choice) {}
    Answer(const Move& move) : index(move.index) {}
    Answer(const Move* move) : index(move ? move->index : 0) {}
    Answer(std::nullptr_t) : index(0) {}

    int index;
};

class Bot;

// Plays: reads the referee's messages from standard input and answers them until the match is over. Returns the exit
// code.
int run(Bot& bot);

// The base class of bots: inherit from it, and write the methods that you need.
class Bot {
public:
    std::string name, version; // for logs, in UTF-8, at most 64 characters; optional
    bool careful = false;      // true: if a method throws, print it, play legal[0], continue

    virtual ~Bot() = default;

    virtual Answer turn(Game&) { return 0; }      // choose the action of your turn; by default income
    virtual Answer challenge(Game&) { return 0; } // challenge game.claim, or pass (the default)
    virtual Answer block(Game&) { return 0; }     // block game.pending by claiming a role, or pass (the default)
    virtual Answer prove(Game&) { return 0; }     // show the card that you claimed (the default), or decline
    virtual Answer lose(Game&) { return 0; }      // choose the card to lose; game.reason is the reason
    virtual Answer exchange(Game&) { return 0; }  // choose the cards to keep from game.cards and game.drawn
    // Only in variants:
    virtual Answer keep_shown(Game&) { return 0; }     // keep the card that you showed, or replace it (the default)
    virtual Answer examine_show(Game&) { return 0; }   // choose the card to show to the inquisitor
    virtual Answer examine_decide(Game&) { return 0; } // hand back game.seen (the default), or replace it
    virtual Answer draft(Game&) { return 0; }          // choose your first card from a set of five
    virtual Answer allegiance(Game&) { return 0; }     // choose your side
    virtual Answer other(Game&) { return 0; }          // answer a kind of request that this kit doesn't know

    virtual void match_start(Game&) {} // prepare for the match: the rules are known, the players aren't yet
    virtual void game_start(Game&) {}  // prepare for a game: your seat, your cards and the players are known
    virtual void event(Game&, const Json& /* event */) {} // process an event; each comes once, in order
    virtual void game_over(Game&) {}                      // learn from a finished game: game.winner is known
    virtual void fault(Game&, const Json& /* error */) {} // process a fault: error["message"] explains what to fix
    virtual void match_over(Game&) {}                     // clean up after the match; half a second is left

    // Processes a message of the referee; returns the answer, if it needs one. Does no input or output.
    std::optional<std::string> reply(std::string_view line);

    bool over() const { return over_; } // whether the match is over

private:
    int choose();
    template <class Method>
    bool guarded(const char* method, Method call);
    std::string where() const;

    Game game_;
    bool over_ = false;
};

inline int run(Bot&& bot) { return run(bot); } // NOLINT: used here, not stored

// ==== The implementation =============================================================================================

// ---- JSON -----------------------------------------------------------------------------------------------------------

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Json document() {
        Json found = value(0);
        if (blanks() != text_.size()) fail();
        return found;
    }

private:
    static constexpr int max_depth = 200; // of brackets; the protocol promises at most 32

    [[noreturn]] void fail() const { throw std::runtime_error("invalid JSON at byte " + std::to_string(at_)); }

    std::size_t blanks() { return at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

    bool take(char wanted) {
        if (blanks() == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    void demand(char wanted) {
        if (!take(wanted)) fail();
    }

    Json value(int depth) {
        Json found;
        if (depth > max_depth) fail();
        if (take('"')) {
            found.kind_ = Json::Kind::string;
            found.text_ = string();
        } else if (take('[')) {
            found.kind_ = Json::Kind::array;
            if (take(']')) return found;
            do found.items_.push_back(value(depth + 1));
            while (take(','));
            demand(']');
        } else if (take('{')) {
            found.kind_ = Json::Kind::object;
            if (take('}')) return found;
            do {
                demand('"');
                found.keys_.push_back(string());
                demand(':');
                found.items_.push_back(value(depth + 1));
            } while (take(','));
            demand('}');
        } else {
            std::size_t end = text_.find_first_of(" \t\r\n,]}", at_);
            found.text_ = text_.substr(at_, end - at_); // to the end of the text if there is none
            char* rest = nullptr;
            if (found.text_ == "true" || found.text_ == "false") found.kind_ = Json::Kind::boolean;
            else if (found.text_ != "null") {
                found.kind_ = Json::Kind::number;
                if (found.text_.find_first_not_of("0123456789+-.eE") != found.text_.npos) fail();
                if (std::strtod(found.text_.c_str(), &rest); rest != found.text_.c_str() + found.text_.size()) fail();
            }
            at_ += found.text_.size();
        }
        return found;
    }

    // Reads the rest of a string, after its first quotation mark.
    std::string string() {
        std::string out;
        for (;;) {
            std::size_t end = std::min(text_.find_first_of("\"\\", at_), text_.size());
            out.append(text_, at_, end - at_);
            if ((at_ = end + 1) > text_.size()) fail();
            if (text_[end] == '"') return out;
            escape(out);
        }
    }

    // Reads an escape sequence after its backslash.
    void escape(std::string& out) {
        static constexpr std::string_view written = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        char letter = at_ < text_.size() ? text_[at_++] : '?';
        if (std::size_t which = written.find(letter); which != written.npos) {
            out += meant[which];
        } else if (letter == 'u') {
            std::uint32_t code = hex();
            if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
                at_ += 2;
                std::uint32_t low = hex();
                code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD;
            }
            utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code); // half of a surrogate pair isn't a character
        } else {
            fail();
        }
    }

    std::uint32_t hex() {
        std::uint32_t code = 0;
        const std::string_view four = text_.substr(std::min(at_, text_.size()), 4);
        if (four.size() < 4 || std::from_chars(four.data(), four.data() + 4, code, 16).ptr != four.data() + 4) fail();
        at_ += 4;
        return code;
    }

    static void utf8(std::string& out, std::uint32_t code) {
        if (code < 0x80) {
            out += static_cast<char>(code);
            return;
        }
        int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        out += static_cast<char>((0xFFu << (7 - more) & 0xFF) | code >> 6 * more);
        while (more--) out += static_cast<char>(0x80 | (code >> 6 * more & 0x3F));
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

namespace detail {

inline std::string quoted(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= ' ') out += c;
        else (out += "\\u00") += {digits[c >> 4 & 15], digits[c & 15]};
    }
    return out + '"';
}

inline int copies(const Cards& cards, std::string_view role) {
    return int(std::count(cards.begin(), cards.end(), role));
}

inline void add(Cards& cards, const Cards& more) { cards.insert(cards.end(), more.begin(), more.end()); }

} // namespace detail

inline Json Json::parse(std::string_view text) { return Parser(text).document(); }

inline std::string Json::dump() const {
    if (kind_ == Kind::string) return detail::quoted(text_);
    if (kind_ < Kind::string) return text_.empty() ? "null" : text_;
    std::string out;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        out += (i ? "," : "") + (keys_.empty() ? "" : detail::quoted(keys_[i]) + ':') + items_[i].dump();
    }
    return kind_ == Kind::array ? '[' + out + ']' : '{' + out + '}';
}

// ---- The game -------------------------------------------------------------------------------------------------------

inline std::vector<Player*> Game::opponents() {
    std::vector<Player*> living;
    for (std::size_t step = 1; step < players.size(); ++step) {
        Player& player = players[(std::size_t(seat) + step) % players.size()];
        if (player.alive) living.push_back(&player);
    }
    return living;
}

inline std::vector<const Move*> Game::moves(std::string_view word) const {
    std::vector<const Move*> found;
    for (const Move& move : legal)
        if (move.word == word) found.push_back(&move);
    static const std::string all = // actions and keys of the moves in all rules
        " income foreign_aid coup tax assassinate steal exchange examine convert embezzle "
        "pass challenge block show decline lose keep keep_shown pick side reveal examined ";
    std::string known(word);
    if (found.empty() && all.find(" " + known + " ") == all.npos)
        throw std::invalid_argument("no rules have a move \"" + known + "\", only" + all);
    return found;
}

inline double Game::odds(int whose, std::string_view role) const {
    if (role.substr(0, 4) == "not_") return 1 - odds(whose, role.substr(4));
    if (whose == seat) return holds(role);
    if (whose < 0 || whose >= int(players.size())) return 0;
    const Player& player = players[std::size_t(whose)];
    if (detail::copies(player.known, role)) return 1;
    Cards sight = in_deck; // all cards in a known place
    for (const Cards* own : {&cards, &drawn, &discards}) detail::add(sight, *own);
    int elsewhere = 0; // hidden cards of other players that lack the role
    for (const Player& other : players) {
        detail::add(sight, other.revealed);
        detail::add(sight, other.known);
        if (detail::copies(other.lacks, role)) elsewhere += other.influence - int(other.known.size());
    }
    auto hidden = [&](std::string_view of) { return rules["deck"][of].integer() - detail::copies(sight, of); };
    double unseen = -double(sight.size());
    for (const Json& number_of : rules["deck"].elements()) unseen += number_of.integer();
    const int copies = hidden(role);
    const int held = player.influence - int(player.known.size());
    if (held <= 0 || copies <= 0 || unseen < held || detail::copies(player.lacks, role)) return 0;
    if (copies > unseen - elsewhere - held) return 1; // only this hand has room for them
    if (player.lacks.empty()) unseen -= elsewhere;
    for (const std::string& other : player.lacks) unseen -= hidden(other);
    double none = 1; // C(unseen - copies, held) / C(unseen, held), a card at a time
    for (int card = 0; card < held; ++card) none *= std::max(0.0, (unseen - copies - card) / (unseen - card));
    return 1 - none;
}

inline void Game::words(std::string_view says, std::string_view what, int target) {
    if (rules["talk"].string("off") == "off") return;
    words_ += (words_.empty() ? "{\"says\":" : ",{\"says\":") + detail::quoted(says);
    if (target == nobody || !what.empty())
        words_ += (says == "text" ? ",\"text\":" : ",\"role\":") + detail::quoted(what);
    if (target != nobody) words_ += ",\"target\":" + std::to_string(target);
    words_ += '}';
}

inline Player* Game::at(const Json& sent) {
    const int which = sent.integer(nobody);
    return which >= 0 && which < int(players.size()) ? &players[std::size_t(which)] : nullptr;
}

// Stores the values of a message.
inline void Game::take(Json message) {
    request = std::move(message);
    const Json &line = request, &you = line["you"], &state = line["state"], &known = you["known"];
    for (auto [field, name] : {std::pair(&rules, "ruleset"), {&limits, "limits"}, {&match, "match"}})
        if (line.has(name)) *field = line[name];
    for (auto [seed, name] : {std::pair(&bot_seed, "bot_seed"), {&game_seed, "game_seed"}})
        if (line.has(name)) {
            *seed = line[name].string();
            std::seed_seq mixed(seed->begin(), seed->end());
            random.seed(mixed);
        }
    kind = line["kind"].string();
    pending = {line["pending"]["actor"].integer(nobody), line["pending"]["action"].string(),
               line["pending"]["target"].integer(nobody)};
    claim = {line["claim"]["seat"].integer(nobody), line["claim"]["role"].string(), line["claim"]["block"].boolean()};
    proven = line["proven"].boolean();
    challenger = line["challenger"].integer(nobody);
    reason = line["reason"].string();
    winner = line["winner"].integer(nobody);
    survivors.clear();
    for (const Json& survivor : line["survivors"].elements()) survivors.push_back(survivor.integer(nobody));
    legal.clear();
    for (const Json& raw : line["legal"].elements()) {
        Move move{raw["action"].string(), raw["target"].integer(nobody), "", {}, raw, int(legal.size())};
        if (move.word.empty() && !raw.keys().empty()) {
            const Json& value = raw.elements()[0];
            move.word = raw.keys()[0];
            move.value = value.kind() == Json::Kind::boolean ? value.dump() : value.string();
            move.cards = value.strings();
        }
        legal.push_back(std::move(move));
    }
    number = line["game"].integer(number);
    if (!you.is_null()) {
        seat = you["seat"].integer(seat);
        cards = you["cards"].strings();
        discards = you["discards"].strings();
    }
    drawn = you["drawn"].strings();
    seen = you["seen"].string();
    in_deck = known["deck"].strings();
    turn = state["turn"].integer(turn);
    actor = state["actor"].integer(actor);
    deck = state["deck"].integer(deck);
    reserve = state["reserve"].integer(reserve);
    if (line.has("players")) players.clear();
    for (const std::string& handle : line["players"].strings())
        players.push_back({int(players.size()), handle, 0, 0, {}, false, "", {}, {}, {}});
    for (Player& player : players) {
        const Json& now = state["players"][std::size_t(player.seat)];
        player.coins = now["coins"].integer(player.coins);
        player.influence = now["influence"].integer(player.influence);
        if (now.has("revealed")) player.revealed = now["revealed"].strings();
        player.alive = player.influence > 0 || player.revealed.empty();
        player.allegiance = now["allegiance"].string(player.allegiance);
        player.known.clear();
        player.lacks.clear();
    }
    for (const Json& certain : known["players"].elements())
        if (Player* player = at(certain["seat"])) {
            player->known = certain["has"].strings();
            player->lacks = certain["lacks"].strings();
        }
}

// Stores your cards at the end of a game, from the latest event that contains them.
inline void Game::finish() {
    for (const Json& event : request["events"].elements()) {
        if (event.has("cards")) cards = event["cards"].strings();
        if (event["event"].string() != "lost" || event["seat"].integer(nobody) != seat) continue;
        auto lost = std::find(cards.begin(), cards.end(), event["role"].string());
        if (lost != cards.end()) cards.erase(lost);
    }
    if (seat < 0 || seat >= int(players.size()) || !me().alive) cards.clear();
}

// ---- The bot --------------------------------------------------------------------------------------------------------

// Describes the open request, or the latest message.
inline std::string Bot::where() const {
    const Json& line = game_.request;
    if (game_.kind.empty()) return line["type"].string() + ", game " + std::to_string(game_.number);
    return "request " + line["id"].dump() + ": " + game_.kind + ", game " + std::to_string(game_.number) + ", turn " +
           std::to_string(game_.turn) + ", legal " + line["legal"].dump();
}

// Calls a method. If it fails, prints where, then returns false, or throws the error again unless the bot is careful.
template <class Method>
bool Bot::guarded(const char* method, Method call) {
    try {
        call();
        return true;
    } catch (const std::exception& error) {
        log("coup_kit: ", method, " failed at ", where(), "\n  ", error.what());
        if (!careful) throw;
    } catch (...) {
        log("coup_kit: ", method, " failed at ", where(), "\n  the exception isn't a std::exception");
        if (!careful) throw;
    }
    return false;
}

inline int Bot::choose() {
    static const std::map<std::string, Answer (Bot::*)(Game&)> methods = {
        {"turn", &Bot::turn},
        {"challenge", &Bot::challenge},
        {"block", &Bot::block},
        {"prove", &Bot::prove},
        {"lose", &Bot::lose},
        {"exchange", &Bot::exchange},
        {"keep_shown", &Bot::keep_shown},
        {"examine_show", &Bot::examine_show},
        {"examine_decide", &Bot::examine_decide},
        {"draft", &Bot::draft},
        {"allegiance", &Bot::allegiance},
    };
    auto found = methods.find(game_.kind);
    auto method = found == methods.end() ? &Bot::other : found->second;
    int choice = 0;
    bool good = guarded(found == methods.end() ? "other" : game_.kind.c_str(), [&] {
        choice = (this->*method)(game_).index;
        if (choice < 0 || choice >= int(game_.legal.size()))
            throw std::out_of_range("the method returned " + std::to_string(choice) + "; game.legal has 0 to " +
                                    std::to_string(int(game_.legal.size()) - 1));
    });
    return good ? choice : 0;
}

inline std::optional<std::string> Bot::reply(std::string_view text) {
    Json message;
    try {
        message = Json::parse(text);
    } catch (const std::runtime_error& error) {
        log("coup_kit: ignored a line: ", error.what());
        return {};
    }
    const std::string type = message["type"].string();
    game_.take(std::move(message));
    const Json& line = game_.request;
    for (const Json& event : line["events"].elements()) {
        Player* blocker = event["event"].string() == "block" ? game_.at(event["seat"]) : nullptr;
        if (blocker) ++blocker->blocks.of[event["role"].string()];
        guarded("event", [&] { this->event(game_, event); });
    }
    std::optional<std::string> answer;
    if (type == "request") {
        answer = "{\"id\":" + line["id"].dump() + ",\"choice\":" + std::to_string(choose());
        *answer += (game_.words_.empty() ? "" : ",\"say\":[" + game_.words_ + ']') + '}';
        game_.words_.clear();
    } else if (type == "game_start") {
        guarded("game_start", [&] { game_start(game_); });
    } else if (type == "game_over") {
        game_.finish();
        guarded("game_over", [&] { game_over(game_); });
    } else if (type == "error") {
        guarded("fault", [&] { fault(game_, line); });
    } else if (type == "match_over") {
        guarded("match_over", [&] { match_over(game_); });
        over_ = true;
    } else if (type == "hello") {
        guarded("match_start", [&] { match_start(game_); });
        answer = "{\"type\":\"hello\"";
        if (!name.empty()) *answer += ",\"name\":" + detail::quoted(name);
        if (!version.empty()) *answer += ",\"version\":" + detail::quoted(version);
        *answer += '}';
    }
    game_.kind.clear();
    game_.legal.clear();
    return answer;
}

inline int run(Bot& bot) {
    std::cout.flush();
    const int wire = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO); // for output of the bot and of libraries
    try {
        for (std::string line; !bot.over() && std::getline(std::cin, line);) {
            std::optional<std::string> answer = bot.reply(line);
            if (!answer) continue;
            *answer += '\n';
            if (write(wire, answer->data(), answer->size()) < 0) break; // the arena has ended
        }
    } catch (...) {
        return 1; // already printed
    }
    close(wire);
    return 0;
}

} // namespace coup

#endif // COUP_KIT_HPP
