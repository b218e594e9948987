// coup_kit.hpp - a bot for the Coup arena in C++17, with nothing but the standard library (and of POSIX dup2).
//
// One header, kit version 5. A whole bot:
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
// Each kind of request has a method: turn, challenge, block, prove, lose, exchange, and those of rule variants. It gets
// the game, and returns a move of game.legal, a pointer to one, or its index. What you don't write plays game.legal[0],
// which is always a quiet move (income, pass, show the card), and so does nullptr, which is what find() gives where
// there is no such move. The arena's SPEC.md says what is sent; here it is in structs.
//
// coup::log(...) writes to standard error, and while run() runs so do std::cout and printf: they can't break the
// conversation. An exception that leaves a method is told on standard error with the request at which it came, and ends
// the program; with careful = true the bot plays legal[0] instead and goes on.

#ifndef COUP_KIT_HPP
#define COUP_KIT_HPP

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
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
#include <variant>
#include <vector>

namespace coup {

// Writes its arguments as a line to standard error: log("coins: ", game.me().coins).
template <class... Parts>
void log(const Parts&... parts) {
    (std::cerr << ... << parts) << std::endl;
}

// ---- JSON: for the fields that the structs below don't have, and those of rule variants to come ---------------------

// A value, which never changes. What isn't there is null, and asking it for a type it doesn't have gives the fallback:
// game.rules["deck"]["duke"].integer(3).
class Json {
public:
    struct Member;
    using Array = std::vector<Json>;
    using Object = std::vector<Member>;
    using Value = std::variant<std::nullptr_t, bool, long long, double, std::string, Array, Object>;

    Json() = default;
    explicit Json(Value value) : value_(std::move(value)) {}

    // Throws std::runtime_error if the text isn't one JSON value.
    static Json parse(std::string_view text);

    const Json& operator[](std::string_view key) const; // of an object
    const Json& operator[](std::size_t index) const;    // of an array
    bool has(std::string_view key) const { return !(*this)[key].is_null(); }
    bool is_null() const { return is<std::nullptr_t>(); }
    template <class T>
    bool is() const { return std::holds_alternative<T>(value_); }

    int integer(int otherwise = 0) const;
    double number(double otherwise = 0) const;
    bool boolean(bool otherwise = false) const { return get(otherwise); }
    std::string string(std::string otherwise = "") const { return get(std::move(otherwise)); }
    std::vector<std::string> strings() const; // those of an array
    const Array& elements() const;            // of an array; else none
    const Object& members() const;            // of an object, in their order; else none
    std::string dump() const;                 // as JSON

private:
    template <class T>
    T get(T otherwise) const {
        const T* value = std::get_if<T>(&value_);
        return value ? *value : otherwise;
    }

    Value value_ = nullptr;
};

struct Json::Member {
    std::string key;
    Json value;
};

// ---- The game -------------------------------------------------------------------------------------------------------

constexpr int nobody = -1; // in place of a seat: none, or not known

using Cards = std::vector<std::string>; // roles by name, in alphabetical order

// How often, for each role; what was never counted is 0: player.claims["duke"].
struct Counts {
    std::map<std::string, int, std::less<>> of;

    int operator[](std::string_view role) const {
        auto found = of.find(role);
        return found == of.end() ? 0 : found->second;
    }
};

// A legal move, whatever its shape on the wire.
struct Move {
    std::string word;   // the action ("steal"), else the key: "challenge", "pass", "block", "show", "keep" ...
    int target;         // the seat an action is aimed at, or nobody
    std::string value;  // what the key stands for: the role of {"block":"duke"}, "true" of {"pass":true}; else ""
    Cards cards;        // of {"keep":[...]}; else none
    Json raw;           // as it was sent
    int index;          // in game.legal
};

// What one player did in all games of the match so far. Players are told apart by their handles.
struct History {
    int claimed = 0;        // claims of a role, by actions and by blocks
    int challenged = 0;     // its claims that somebody challenged
    int proven = 0;         // those of them that it proved
    int caught = 0;         // those that it couldn't, or wouldn't, prove
    int challenges = 0;     // challenges that it made
    int won_challenges = 0; // those of them that caught somebody
    int blocks = 0;

    // How many of its challenged claims were bluffs, 0 to 1; NaN before the first.
    double bluff_rate() const { return challenged ? double(caught) / challenged : std::nan(""); }
};

// A player at the table. What it has is that of the latest request; what it did is of this game.
struct Player {
    int seat = nobody;
    std::string handle; // stays the same in all games of the match; seats don't
    int coins = 0;
    int influence = 0; // cards face down; 0: it is out of the game
    Cards revealed;    // its lost cards, face up
    bool alive = false;
    std::string allegiance;     // "loyalist" or "reformist"; "" where there are no sides
    Counts claims;              // roles that it claimed with cards that it may still hold
    Counts caught;              // roles that it couldn't, or wouldn't, prove
    Counts shown;               // roles that it proved
    Counts blocks;              // roles that it blocked with
    Cards known;                // roles that it certainly holds, since you saw a card, and it kept it
    History* history = nullptr; // of the whole match

private:
    friend struct Game;

    Cards lacks_; // roles that it certainly doesn't hold
};

// The game as your seat sees it. One object for the whole match. In game_over your cards, and the coins, cards and
// sides of all, are those of the end.
struct Game {
    // Of the request; between requests there is nothing to decide, and no legal move.
    std::string kind;        // what is asked: "turn", "challenge", "block" ...
    std::vector<Move> legal; // every move that you may choose; the first is a quiet one
    struct {
        int actor = nobody;
        std::string action;
        int target = nobody;
    } pending; // the action that is being decided; at your turn nobody's
    struct {
        int seat = nobody;
        std::string role;
        bool block = false; // it is the claim of a block, not of the action
    } claim;                // in challenge, prove, keep_shown
    bool proven = false;    // in block: the action's claim was challenged and proven this turn
    int challenger = nobody; // in prove: who challenges you
    std::string reason;      // in lose: "coup", "assassinate", "challenge"; in game_over why it ended
    std::string seen;        // in examine_decide: the card of another that you look at
    Json request;            // the line as it came, also where it is game_start, game_over or error

    // Of the game.
    int number = 0; // of the game in the match, from 0
    int seat = nobody;
    int turn = 0, actor = nobody, deck = 0, reserve = 0;
    Cards cards;    // yours, face down
    Cards drawn;    // in exchange: what you drew
    Cards discards; // with a draft: what you discarded
    std::vector<Player> players; // by seat
    int winner = nobody;         // in game_over: the seat that won; nobody: a draw
    std::vector<int> survivors;  // in game_over: the seats that won or share the draw

    // Of the match.
    Json rules, limits, match; // hello.ruleset, hello.limits, hello.match
    std::string bot_seed;
    std::string game_seed;  // of this game; empty before the first, and where the arena is too old to send it
    std::mt19937_64 random; // seeded anew by each game_seed, before the first game by bot_seed: a game can be repeated

    const Json& state() const { return request["state"]; } // the public state as it came
    Player& me() { return players.at(std::size_t(seat)); }
    // The others who are still in the game, clockwise from you.
    std::vector<Player*> opponents();

    bool holds(std::string_view role) const { return std::count(cards.begin(), cards.end(), role) > 0; }
    // The first legal move of an action or key, or nullptr: find("tax"), find("steal", 2), find("block", "duke").
    const Move* find(std::string_view word) const;
    const Move* find(std::string_view word, int target) const;
    const Move* find(std::string_view word, std::string_view value) const;
    // All of them: moves("steal").
    std::vector<const Move*> moves(std::string_view word) const;

    // How likely a seat holds at least one card of a role, from the cards that you see: 1 - C(U-d, k) / C(U, k), where
    // of U unseen cards d are of the role and k are the seat's. It takes no account of what players claim. It is 0 or 1
    // where that is certain: of yourself, of a card that a player showed and kept, or you looked at, of a role that it
    // couldn't show where proving is automatic, and of cards that you know to lie in the deck. For the claim "not_duke"
    // it is how likely the seat has no duke. After a draft, where cards are chosen and half of them are away, it is a
    // guess where it is neither 0 nor 1.
    double odds(int seat, std::string_view role) const;

    // Says something beside your next answer; all hear it, and nobody is bound. say("hold", "duke"), say("lack", "duke"),
    // say("attack", 2), say("spare", 2), say("doubt", "duke", 2), and where the rules allow it, say("text", "Peace?").
    // At most 4, one of them a text, in UTF-8. Without talk it isn't sent. Others' words are events, "say".
    void say(std::string_view says, std::string_view what) { words(says, what, nobody); }
    void say(std::string_view says, int target) { words(says, {}, target); }
    void say(std::string_view says, std::string_view role, int target) { words(says, role, target); }

private:
    friend class Bot;

    void words(std::string_view says, std::string_view what, int target);
    std::string said();
    void greet(const Json& hello);
    void reseed(const std::string& text);
    void begin(const Json& start);
    void take(Json message);
    void follow(const Json& event);
    void look();
    void finish();
    void exchange(const Json& event);
    void swap(const Player& player, const Cards& back, const Json& event, bool draw_first = false);
    void thin(int count);
    Player* at(const Json& sent);

    std::map<std::string, History> histories_; // by handle
    Player* doubter_ = nullptr;                // who challenged last in this game,
    std::string doubted_;                      // and which role
    Cards hand_;                               // your cards before the latest events
    Cards drawn_;                              // what you drew to exchange
    Cards certain_;                            // cards that certainly lie in the court deck
    std::string words_;                        // to be said beside the next answer
};

// ---- The bot --------------------------------------------------------------------------------------------------------

// What a method returns: a move of game.legal, or its index. nullptr, of find(), is the first move.
struct Answer {
    Answer(int choice) : index(choice) {}
    Answer(const Move& move) : index(move.index) {}
    Answer(const Move* move) : index(move ? move->index : 0) {}
    Answer(std::nullptr_t) : index(0) {}

    int index;
};

class Bot;

// Plays until the match is over, or the input ends. Returns what main should return.
int run(Bot& bot);

// Write a class of your own that inherits from this one, with the methods that you need.
class Bot {
public:
    std::string name, version; // for logs; may be left out
    bool careful = false;      // where a method throws: say so, play legal[0], go on

    virtual ~Bot() = default;

    virtual Answer turn(Game&) { return 0; }
    virtual Answer challenge(Game&) { return 0; }
    virtual Answer block(Game&) { return 0; }
    virtual Answer prove(Game&) { return 0; }
    virtual Answer lose(Game&) { return 0; }
    virtual Answer exchange(Game&) { return 0; }
    // Only in rule variants.
    virtual Answer keep_shown(Game&) { return 0; }
    virtual Answer examine_show(Game&) { return 0; }
    virtual Answer examine_decide(Game&) { return 0; }
    virtual Answer draft(Game&) { return 0; }
    virtual Answer allegiance(Game&) { return 0; }
    virtual Answer other(Game&) { return 0; } // a kind that this kit doesn't know

    virtual void match_start(Game&) {} // the rules are known, the players aren't yet
    virtual void game_start(Game&) {}
    virtual void event(Game&, const Json& /* event */) {} // each once, in order, after the game took it in
    virtual void game_over(Game&) {}                      // game.winner is known
    virtual void fault(Game&, const Json& /* error */) {} // error["message"] says what to repair
    virtual void match_over(Game&) {}

    // Takes one line, and returns the answer, if it wants one. No input, no output: for tests.
    std::optional<std::string> reply(std::string_view line);

    bool over() const { return over_; } // the match is

private:
    int choose();
    template <class Method>
    bool guarded(const char* method, Method call);
    std::string where() const;
    static std::string label(std::string text);
    static Bot*& running() {
        static Bot* bot = nullptr;
        return bot;
    }
    static void crashed(int signal);
    friend int run(Bot& bot);

    Game game_;
    bool over_ = false;
};

inline int run(Bot&& bot) { return run(bot); } // NOLINT: it is used here, not kept

// ==== The implementation =============================================================================================

// ---- JSON -----------------------------------------------------------------------------------------------------------

namespace detail {

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Json document() {
        Json value = this->value();
        blanks();
        if (at_ != text_.size()) fail();
        return value;
    }

private:
    static constexpr int max_depth = 200; // of brackets; the protocol promises at most 32

    [[noreturn]] void fail() const { throw std::runtime_error("no JSON at byte " + std::to_string(at_)); }

    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool take(char wanted) {
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    void demand(char wanted) {
        if (!take(wanted)) fail();
    }

    void blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

    Json value() {
        blanks();
        switch (peek()) {
        case '{': return nested(&Parser::object);
        case '[': return nested(&Parser::array);
        case '"': return Json(string());
        case 't': return word("true", true);
        case 'f': return word("false", false);
        case 'n': return word("null", nullptr);
        default: return number();
        }
    }

    Json nested(Json (Parser::*read)()) {
        if (++depth_ > max_depth) fail();
        ++at_;
        Json value = (this->*read)();
        --depth_;
        return value;
    }

    Json object() {
        Json::Object members;
        blanks();
        if (take('}')) return Json(std::move(members));
        do {
            blanks();
            if (peek() != '"') fail();
            std::string key = string();
            blanks();
            demand(':');
            members.push_back({std::move(key), value()});
            blanks();
        } while (take(','));
        demand('}');
        return Json(std::move(members));
    }

    Json array() {
        Json::Array elements;
        blanks();
        if (take(']')) return Json(std::move(elements));
        do {
            elements.push_back(value());
            blanks();
        } while (take(','));
        demand(']');
        return Json(std::move(elements));
    }

    Json word(std::string_view word, Json::Value value) {
        if (text_.substr(at_, word.size()) != word) fail();
        at_ += word.size();
        return Json(std::move(value));
    }

    void digits() {
        std::size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
        if (end == at_) fail();
        at_ = end;
    }

    Json number() {
        std::size_t start = at_;
        bool whole = true;
        take('-');
        if (!take('0')) digits();
        if (take('.')) {
            whole = false;
            digits();
        }
        if (take('e') || take('E')) {
            whole = false;
            if (!take('+')) take('-');
            digits();
        }
        const std::string text(text_.substr(start, at_ - start));
        long long integer = 0; // also of numbers too large for it, which are read as a double then
        whole = whole && std::from_chars(text.data(), text.data() + text.size(), integer).ec == std::errc();
        return whole ? Json(integer) : Json(std::strtod(text.c_str(), nullptr));
    }

    std::string string() {
        std::string out;
        for (++at_;; ++at_) {
            std::size_t plain = at_;
            while (peek() != '"' && peek() != '\\' && static_cast<unsigned char>(peek()) >= ' ') ++at_;
            out.append(text_, plain, at_ - plain);
            if (take('"')) return out;
            demand('\\');
            escape(out);
        }
    }

    // Reads what stands behind a backslash, but for its last character.
    void escape(std::string& out) {
        static constexpr std::string_view written = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
        if (peek() == 'u') return unicode(out);
        std::size_t which = peek() ? written.find(peek()) : written.npos;
        if (which == written.npos) fail();
        out += meant[which];
    }

    // Likewise behind "\u". Half of a surrogate pair becomes U+FFFD.
    void unicode(std::string& out) {
        std::uint32_t code = hex(at_ + 1);
        at_ += 4;
        if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_ + 1, 2) == "\\u") {
            std::uint32_t low = hex(at_ + 3);
            if (low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at_ += 6;
            }
        }
        if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
        utf8(out, code);
    }

    std::uint32_t hex(std::size_t start) const {
        std::uint32_t code = 0;
        std::string_view four = start < text_.size() ? text_.substr(start, 4) : "";
        if (four.size() < 4 || std::from_chars(four.data(), four.data() + 4, code, 16).ptr != four.data() + 4) fail();
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
    int depth_ = 0;
};

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

// Takes cards away, as far as they are there.
inline void drop(Cards& cards, const Cards& gone) {
    for (const std::string& role : gone) {
        auto card = std::find(cards.begin(), cards.end(), role);
        if (card != cards.end()) cards.erase(card);
    }
}

} // namespace detail

inline Json Json::parse(std::string_view text) { return detail::Parser(text).document(); }

inline const Json::Array& Json::elements() const {
    static const Array none;
    const Array* array = std::get_if<Array>(&value_);
    return array ? *array : none;
}

inline const Json::Object& Json::members() const {
    static const Object none;
    const Object* object = std::get_if<Object>(&value_);
    return object ? *object : none;
}

inline const Json& Json::operator[](std::string_view key) const {
    static const Json none;
    for (const Member& member : members())
        if (member.key == key) return member.value;
    return none;
}

inline const Json& Json::operator[](std::size_t index) const {
    static const Json none;
    return index < elements().size() ? elements()[index] : none;
}

inline double Json::number(double otherwise) const {
    const long long* integer = std::get_if<long long>(&value_);
    return integer ? double(*integer) : get(otherwise);
}

inline int Json::integer(int otherwise) const {
    double value = number(otherwise);
    return std::abs(value) <= 2147483647 ? int(value) : otherwise;
}

inline std::vector<std::string> Json::strings() const {
    std::vector<std::string> all;
    for (const Json& element : elements())
        if (element.is<std::string>()) all.push_back(element.string());
    return all;
}

inline std::string Json::dump() const {
    if (is<std::string>()) return detail::quoted(string());
    if (is<bool>()) return boolean() ? "true" : "false";
    if (is<long long>()) return std::to_string(std::get<long long>(value_));
    if (is_null()) return "null";
    std::string out;
    if (is<double>()) {
        char text[32];
        return std::snprintf(text, sizeof text, "%.17g", number()), text;
    }
    for (const Json& element : elements()) (out += out.empty() ? "" : ",") += element.dump();
    if (is<Array>()) return '[' + out + ']';
    for (const Member& member : members())
        (out += out.empty() ? "" : ",") += detail::quoted(member.key) + ':' + member.value.dump();
    return '{' + out + '}';
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
    return found;
}

inline const Move* Game::find(std::string_view word) const {
    auto found = std::find_if(legal.begin(), legal.end(), [&](const Move& move) { return move.word == word; });
    return found == legal.end() ? nullptr : &*found;
}

inline const Move* Game::find(std::string_view word, int target) const {
    for (const Move* move : moves(word))
        if (move->target == target) return move;
    return nullptr;
}

inline const Move* Game::find(std::string_view word, std::string_view value) const {
    for (const Move* move : moves(word))
        if (move->value == value) return move;
    return nullptr;
}

inline double Game::odds(int whose, std::string_view role) const {
    if (role.substr(0, 4) == "not_") return 1 - odds(whose, role.substr(4));
    if (whose == seat) return holds(role);
    if (whose < 0 || whose >= int(players.size())) return 0;
    const Player& player = players[std::size_t(whose)];
    if (detail::copies(player.known, role)) return 1;
    if (detail::copies(player.lacks_, role)) return 0;
    auto sight = [&](auto see) { // all cards whose place you know
        for (const Cards* own : {&cards, &drawn, &discards, &certain_}) see(*own);
        for (const Player& other : players) {
            see(other.revealed);
            if (other.seat != seat) see(other.known);
        }
    };
    auto hidden = [&](std::string_view of) {
        double copies = rules["deck"][of].number();
        sight([&](const Cards& visible) { copies -= detail::copies(visible, of); });
        return copies;
    };
    int elsewhere = 0; // hidden cards of others who lack the role
    for (const Player& other : players)
        if (other.seat != seat && detail::copies(other.lacks_, role))
            elsewhere += other.influence - int(other.known.size());
    double unseen = 0;
    for (const Json::Member& member : rules["deck"].members()) unseen += member.value.number();
    sight([&](const Cards& visible) { unseen -= double(visible.size()); });
    const double copies = hidden(role);
    const int held = player.influence - int(player.known.size());
    if (held <= 0 || copies <= 0 || unseen < held) return 0;
    if (copies > unseen - elsewhere - held) return 1; // they have no place but this hand
    if (player.lacks_.empty()) unseen -= elsewhere;
    for (const std::string& other : player.lacks_) unseen -= hidden(other);
    double none = 1; // C(unseen - copies, held) / C(unseen, held), a card at a time
    for (int card = 0; card < held; ++card) none *= std::max(0.0, (unseen - copies - card) / (unseen - card));
    return 1 - none;
}

inline Player* Game::at(const Json& sent) {
    const int which = sent.integer(nobody);
    return which >= 0 && which < int(players.size()) ? &players[std::size_t(which)] : nullptr;
}

inline void Game::words(std::string_view says, std::string_view what, int target) {
    if (rules["talk"].string("off") == "off") return;
    words_ += (words_.empty() ? "{\"says\":" : ",{\"says\":") + detail::quoted(says);
    if (target == nobody || !what.empty())
        words_ += (says == "text" ? ",\"text\":" : ",\"role\":") + detail::quoted(what);
    if (target != nobody) words_ += ",\"target\":" + std::to_string(target);
    words_ += '}';
}

inline std::string Game::said() {
    std::string say = words_.empty() ? "" : ",\"say\":[" + words_ + ']';
    words_.clear();
    return say;
}

inline void Game::greet(const Json& hello) {
    rules = hello["ruleset"];
    limits = hello["limits"];
    match = hello["match"];
    bot_seed = hello["bot_seed"].string();
    reseed(bot_seed);
}

inline void Game::reseed(const std::string& text) {
    std::seed_seq seed(text.begin(), text.end());
    random.seed(seed);
}

inline void Game::begin(const Json& start) {
    game_seed = start["game_seed"].string();
    if (!game_seed.empty()) reseed(game_seed);
    players.clear();
    for (const std::string& handle : start["players"].strings()) {
        Player& player = players.emplace_back();
        player.seat = int(players.size()) - 1;
        player.handle = handle;
        player.history = &histories_[handle]; // stays where it is: it is a map
    }
    winner = nobody;
    survivors.clear();
    doubter_ = nullptr;
    drawn_.clear();
    certain_.clear();
}

// Takes in what a line says of the request, of you and of the table.
inline void Game::take(Json message) {
    request = std::move(message);
    const Json& line = request;
    kind = line["kind"].string();
    pending = {line["pending"]["actor"].integer(nobody), line["pending"]["action"].string(),
               line["pending"]["target"].integer(nobody)};
    claim = {line["claim"]["seat"].integer(nobody), line["claim"]["role"].string(), line["claim"]["block"].boolean()};
    proven = line["proven"].boolean();
    challenger = line["challenger"].integer(nobody);
    reason = line["reason"].string();
    legal.clear();
    for (const Json& raw : line["legal"].elements()) {
        Move move{raw["action"].string(), raw["target"].integer(nobody), "", {}, raw, int(legal.size())};
        if (move.word.empty() && !raw.members().empty()) {
            const Json::Member& first = raw.members()[0];
            move.word = first.key;
            move.value = first.value.is<bool>() ? (first.value.boolean() ? "true" : "false") : first.value.string();
            move.cards = first.value.strings();
        }
        legal.push_back(std::move(move));
    }
    number = line["game"].integer(number);
    if (const Json& you = line["you"]; !you.is_null()) {
        seat = you["seat"].integer(seat);
        cards = you["cards"].strings();
        drawn = you["drawn"].strings();
        discards = you["discards"].strings();
        seen = you["seen"].string();
    }
    const Json& state = line["state"];
    turn = state["turn"].integer(turn);
    actor = state["actor"].integer(actor);
    deck = state["deck"].integer(deck);
    reserve = state["reserve"].integer(reserve);
    const Json::Array& table = state["players"].elements();
    for (std::size_t i = 0; i < std::min(table.size(), players.size()); ++i) {
        players[i].coins = table[i]["coins"].integer();
        players[i].influence = table[i]["influence"].integer();
        players[i].alive = players[i].influence > 0;
        players[i].revealed = table[i]["revealed"].strings();
        players[i].allegiance = table[i]["allegiance"].string();
    }
}

// Remembers your cards, and the card of another that you look at: after the events, which may tell of earlier cards.
inline void Game::look() {
    if (request["you"].is_null()) return;
    hand_ = cards;
    drawn_ = drawn;
    detail::drop(certain_, drawn);
    Player* target = at(request["pending"]["target"]);
    if (!seen.empty() && target && !detail::copies(target->known, seen)) target->known.push_back(seen);
}

// Somebody drew cards that you don't see: of each role as many fewer are certain to lie in the deck.
inline void Game::thin(int count) {
    Cards left;
    for (auto card = certain_.begin(); card != certain_.end(); ++card)
        if (std::count(certain_.begin(), card, *card) >= count) left.push_back(*card);
    certain_ = std::move(left);
}

// Cards of a player go to the deck, and as many come from it.
inline void Game::swap(const Player& player, const Cards& back, const Json& event, bool draw_first) {
    if (!draw_first) detail::add(certain_, back);
    if (player.seat == seat && event.has("cards")) {
        Cards came = event["cards"].strings();
        detail::drop(hand_, back);
        detail::drop(came, hand_);
        detail::drop(certain_, came);
        hand_ = event["cards"].strings();
    } else {
        thin(int(back.size()));
    }
    if (draw_first) detail::add(certain_, back);
}

// Cards that a player drew, or had, go back to the deck.
inline void Game::exchange(const Json& event) {
    if (!event.has("cards") || drawn_.empty()) {
        thin(event["count"].integer(int(certain_.size())));
        return;
    }
    Cards kept = event["cards"].strings(), back = hand_;
    detail::add(back, drawn_);
    detail::drop(back, kept);
    detail::add(certain_, back);
    hand_ = std::move(kept);
    drawn_.clear();
}

// Makes the table that the last events of a game leave.
inline void Game::finish() {
    for (const Json& event : request["events"].elements()) {
        const std::string what = event["event"].string();
        Player *player = at(event["seat"]), *target = at(event["target"]);
        if (what == "allegiances") {
            for (Player& each : players) each.allegiance = event["sides"][std::size_t(each.seat)].string();
        } else if (what == "converted" && target) {
            target->allegiance = event["allegiance"].string();
        } else if (what == "coins" && player) {
            player->coins += event["delta"].integer();
        } else if (what == "drafted" && player) {
            player->influence = 2;
        } else if (what == "lost" && player) {
            --player->influence;
            player->revealed.push_back(event["role"].string());
        } else if (what == "forfeit" && player) {
            player->influence = 0;
            detail::add(player->revealed, event["roles"].strings());
        }
    }
    for (Player& player : players) player.alive = player.influence > 0;
    drawn.clear();
    seen.clear();
    cards.clear();
    const auto mine = std::size_t(seat);
    if (mine < players.size() && players[mine].alive) cards = hand_;
    std::sort(cards.begin(), cards.end());
}

// Takes in one event.
inline void Game::follow(const Json& event) {
    Player *player = at(event["seat"]), *target = at(event["target"]), *claimant = at(event["claimant"]);
    if (!player) return;
    const std::string what = event["event"].string(), role = event["role"].string();
    auto claims = [&](const std::string& claimed) {
        ++player->claims.of[claimed];
        ++player->history->claimed;
    };
    auto proves = [&](const std::string& proof) {
        ++player->shown.of[proof];
        ++player->history->proven;
    };
    auto knows = [](Player& whom, const std::string& card) {
        if (!detail::copies(whom.known, card)) whom.known.push_back(card);
    };
    auto forgets = [&](Player& whom) { // one card of this role has gone; its other card is the same as before
        whom.claims.of.erase(role);
        detail::drop(whom.known, {role});
    };
    auto swaps = [&](Player& whom, bool draw_first) { // it comes from the deck
        forgets(whom);
        whom.lacks_.clear();
        swap(whom, {role}, event, draw_first);
    };
    auto renewed = [](Player& whom) { // all its cards may be others now
        whom.claims.of.clear();
        whom.known.clear();
        whom.lacks_.clear();
    };
    if (what == "action") {
        if (event.has("claim")) claims(event["claim"].string());
    } else if (what == "block") {
        claims(role);
        ++player->blocks.of[role];
        ++player->history->blocks;
    } else if (what == "challenge") {
        doubter_ = player;
        doubted_ = role;
        ++player->history->challenges;
        if (claimant) ++claimant->history->challenged;
    } else if (what == "shown") {
        proves(role);
        event["replaced"].boolean(true) ? swaps(*player, false) : knows(*player, role);
    } else if (what == "shown_hand") {
        proves(doubted_);
        renewed(*player);
        swap(*player, event["roles"].strings(), event);
    } else if (what == "unproven") {
        ++player->caught.of[role];
        player->claims.of.erase(role);
        ++player->history->caught;
        if (doubter_) ++doubter_->history->won_challenges;
        const bool automatic = rules["prove"].string() == "automatic";
        if (role.substr(0, 4) == "not_") {
            if (automatic || !rules["embezzle_concede"].boolean(true)) knows(*player, role.substr(4));
        } else if (automatic && !detail::copies(player->lacks_, role)) {
            player->lacks_.push_back(role);
        }
    } else if (what == "lost") {
        forgets(*player);
        if (player->seat == seat) detail::drop(hand_, {role});
    } else if (what == "drafted") {
        if (event.has("cards")) hand_ = event["cards"].strings();
    } else if (what == "exchanged") {
        renewed(*player);
        exchange(event);
    } else if (what == "forfeit") {
        renewed(*player);
    } else if (what == "examined" && target) {
        const bool replaced = event["replaced"].boolean();
        if (replaced && !role.empty()) { // you know which card went
            swaps(*target, rules["examine_replace"].string() == "draw_first");
        } else if (replaced) {
            renewed(*target);
            thin(1);
        } else if (!role.empty()) {
            knows(*target, role);
        }
    }
}

// ---- The bot --------------------------------------------------------------------------------------------------------

// Says which request is open, or which line was the latest.
inline std::string Bot::where() const {
    const Json& line = game_.request;
    if (game_.kind.empty()) return line["type"].string() + ", game " + std::to_string(game_.number);
    return "request " + line["id"].dump() + ": " + game_.kind + ", game " + std::to_string(game_.number) + ", turn " +
           std::to_string(game_.turn) + ", legal " + line["legal"].dump();
}

// Strictly, a handler may not print. But the program is lost anyway, and this tells where.
inline void Bot::crashed(int number) {
    std::signal(number, SIG_DFL);
    log("coup_kit: the bot crashed with signal ", number, " at ", running()->where());
    std::raise(number);
}

// Calls a method; says where it failed, and returns false then, if the bot is careful.
template <class Method>
bool Bot::guarded(const char* method, Method call) {
    try {
        call();
        return true;
    } catch (const std::exception& error) {
        log("coup_kit: ", method, " failed at ", where(), "\n  ", error.what());
        if (!careful) throw;
    } catch (...) {
        log("coup_kit: ", method, " failed at ", where(), "\n  it threw what is no std::exception");
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
            throw std::out_of_range("it chose " + std::to_string(choice) + ", and legal has moves 0 to " +
                                    std::to_string(int(game_.legal.size()) - 1));
    });
    return good ? choice : 0;
}

// At most 64 characters, as the protocol allows; ASCII alone, so that no half of a character is left of a cut.
inline std::string Bot::label(std::string text) {
    text.resize(std::min<std::size_t>(text.size(), 64));
    std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return detail::quoted(text);
}

inline std::optional<std::string> Bot::reply(std::string_view text) {
    Json message;
    try {
        message = Json::parse(text);
    } catch (const std::runtime_error& error) {
        log("coup_kit: a line of the arena is ignored: ", error.what());
        return {};
    }
    const std::string type = message["type"].string();
    if (type == "game_start") game_.begin(message);
    game_.take(std::move(message));
    const Json& line = game_.request;
    for (const Json& event : line["events"].elements()) {
        game_.follow(event);
        guarded("event", [&] { this->event(game_, event); });
    }
    game_.look();
    std::optional<std::string> answer;
    if (type == "request") {
        answer = "{\"id\":" + line["id"].dump() + ",\"choice\":" + std::to_string(choose());
        *answer += game_.said() + '}';
    } else if (type == "game_start") {
        guarded("game_start", [&] { game_start(game_); });
    } else if (type == "game_over") {
        game_.finish();
        game_.winner = line["winner"].integer(nobody);
        for (const Json& survivor : line["survivors"].elements()) game_.survivors.push_back(survivor.integer(nobody));
        guarded("game_over", [&] { game_over(game_); });
    } else if (type == "error") {
        guarded("fault", [&] { fault(game_, line); });
    } else if (type == "match_over") {
        guarded("match_over", [&] { match_over(game_); });
        over_ = true;
    } else if (type == "hello") {
        game_.greet(line);
        guarded("match_start", [&] { match_start(game_); });
        answer = "{\"type\":\"hello\"";
        if (!name.empty()) *answer += ",\"name\":" + label(name);
        if (!version.empty()) *answer += ",\"version\":" + label(version);
        *answer += '}';
    }
    game_.kind.clear();
    game_.legal.clear();
    return answer;
}

inline int run(Bot& bot) {
    if (isatty(STDIN_FILENO)) log("coup_kit: a bot is started by the arena: arena check FOLDER");
    std::cout.flush();
    const int wire = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO); // for what the bot or a library prints
    Bot::running() = &bot;
    for (int number : {SIGSEGV, SIGFPE, SIGILL, SIGABRT}) std::signal(number, Bot::crashed);
    try {
        for (std::string line; !bot.over() && std::getline(std::cin, line);) {
            std::optional<std::string> answer = bot.reply(line);
            if (!answer) continue;
            *answer += '\n';
            if (write(wire, answer->data(), answer->size()) < 0) break; // the arena has gone
        }
    } catch (...) {
        return 1; // told already
    }
    close(wire);
    return 0;
}

} // namespace coup

#endif // COUP_KIT_HPP
