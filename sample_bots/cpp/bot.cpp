// A bot to start with: it never bluffs, and challenges only claims that are very unlikely.
//
// The starters in all languages make the same choices:
//
// turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
//             Attacks target the opponent with most cards, then most coins; steals the richest, with at least 1 coin.
//             Skip attacks on opponents that blocked them in this game, and foreign aid while its blocker lives.
// challenge   Challenge if the probability that the claimant holds the role is below doubt.
// block       Block with the first role of `legal` that we hold.
// lose        Lose the card with the lowest value.
// exchange    Keep the cards with the highest value; a second card of the same role adds less.
// others      Play the first legal move: show the card, have it replaced, hand back the examined card ...
//
// Ties go to the first move in `legal`.

#include "coup_kit.hpp"

#include <set>

using coup::Answer, coup::Cards, coup::Game, coup::Move, coup::Player;

class MyBot : public coup::Bot {
public:
    MyBot() { name = "starter-cpp"; }

    Answer turn(Game& game) override {
        auto coins = [&](const Move* move) { return game.players[move->target].coins; };
        auto strength = [&](const Move* move) { return 1000 * game.players[move->target].influence + coins(move); };

        if (const Move* coup = best(game.moves("coup"), strength)) return coup;
        if (const Move* murder = best(honest(game, "assassinate"), strength)) return murder;
        if (auto taxes = honest(game, "tax"); !taxes.empty()) return taxes[0];
        if (const Move* steal = best(honest(game, "steal"), coins); steal && coins(steal) > 0) return steal;
        if (auto exchanges = honest(game, "exchange"); !exchanges.empty()) return exchanges[0];
        if (auto aids = honest(game, "foreign_aid"); !aids.empty()) return aids[0];
        return game.legal[0];
    }

    Answer challenge(Game& game) override {
        bool doubtful = game.odds(game.claim.seat, game.claim.role) < doubt;
        return game.find(doubtful ? "challenge" : "pass");
    }

    Answer block(Game& game) override {
        for (const Move* move : game.moves("block"))
            if (game.holds(move->value)) return move;
        return game.find("pass");
    }

    Answer lose(Game& game) override {
        return *std::min_element(game.legal.begin(), game.legal.end(), [](const Move& a, const Move& b) {
            return value(a.value) < value(b.value);
        });
    }

    Answer exchange(Game& game) override {
        return *std::max_element(game.legal.begin(), game.legal.end(), [](const Move& a, const Move& b) {
            return worth(a.cards) < worth(b.cards);
        });
    }

private:
    using Moves = std::vector<const Move*>;

    static constexpr double doubt = 0.22;
    static constexpr int second_copy = 4; // a second card of a role is worth this much less

    static int value(const std::string& card) {
        static const std::map<std::string, int> values = {
            {"captain", 10}, {"duke", 9}, {"assassin", 8}, {"ambassador", 5}, {"inquisitor", 5}, {"contessa", 4}};
        auto found = values.find(card);
        return found == values.end() ? 4 : found->second;
    }

    // Returns the value of a hand.
    static int worth(const Cards& cards) {
        int sum = -second_copy * int(cards.size() - std::set<std::string>(cards.begin(), cards.end()).size());
        for (const std::string& card : cards) sum += value(card);
        return sum;
    }

    // Returns the move with the highest score, or nullptr; ties go to the first.
    template <class Score>
    static const Move* best(const Moves& moves, Score score) {
        auto top = std::max_element(moves.begin(), moves.end(), [&](auto a, auto b) { return score(a) < score(b); });
        return top == moves.end() ? nullptr : *top;
    }

    // Returns the legal moves of an action if we hold its role, without those that were blocked in this game.
    static Moves honest(Game& game, const std::string& action) {
        static std::map<std::string, Cards> roles = {{"assassinate", {"assassin"}},
                                                     {"tax", {"duke"}},
                                                     {"steal", {"captain"}},
                                                     {"exchange", {"ambassador", "inquisitor"}}};
        static std::map<std::string, Cards> blockers = {{"assassinate", {"contessa"}},
                                                        {"steal", {"captain", "ambassador", "inquisitor"}},
                                                        {"foreign_aid", {"duke"}}};
        auto holds = [&](const std::string& role) { return game.holds(role); };
        auto blocked = [&](const Player& player) {
            const Cards& by = blockers[action];
            return std::any_of(by.begin(), by.end(), [&](const std::string& role) { return player.blocks[role] > 0; });
        };

        const Cards& any = roles[action];
        if (!any.empty() && std::none_of(any.begin(), any.end(), holds)) return {};
        Moves moves;
        for (const Move* move : game.moves(action))
            if (move->target == coup::nobody || !blocked(game.players[move->target])) moves.push_back(move);
        if (action == "foreign_aid")
            for (const Player* player : game.opponents())
                if (blocked(*player)) return {};
        return moves;
    }
};

int main() { return coup::run(MyBot{}); }
