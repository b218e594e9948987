// Imagines the hidden cards, plays each move to the end many times, and keeps the one that wins most often.
//
// It is the sample bot strategist in C++: the same idea, many times as fast. A decision takes these steps:
//
// Belief     A player that claims a role is likelier to hold it; a player that was caught, less likely. Cards are dealt
//            to the others by these weights.
// Playouts   `Table` plays an imagined deal to the end by simple habits, once for each promising move.
// Margin     It plays the honest move unless another wins `margin` more of the games. The habits are weaker than real
//            players, so small gains are mostly errors.
// Model      Over all games of the match it counts, by handle, bluffs and challenges. The habits use the counts.

#include "coup_kit.hpp"

#include <array>
#include <ctime>
#include <set>

using coup::Answer, coup::Game, coup::Json, coup::Move, coup::nobody, coup::Player, std::string, std::vector;

// ---- Roles, actions and hands as small numbers ----------------------------------------------------------------------

// In the order of their worth: of two cards, the first is lost. An inquisitor counts as an ambassador.
enum Role { contessa, ambassador, assassin, duke, captain, roles, no_role = -1 };
const string role_names[roles] = {"contessa", "ambassador", "assassin", "duke", "captain"};
constexpr double worth[roles] = {2.2, 2.6, 3.7, 4.2, 5.0}; // the value of keeping a card
constexpr double pair_cost = 1.9; // a second card of a role adds no new action, so its value is lower by this

enum Action { income, foreign_aid, coup_action, tax, steal, assassinate, exchange, examine, actions, no_action = -1 };
const string action_names[actions] = {
    "income", "foreign_aid", "coup", "tax", "steal", "assassinate", "exchange", "examine"};
constexpr Role claim_of[actions] = {no_role, no_role, no_role, duke, captain, assassin, ambassador, ambassador};

template <class Names>
static int place_of(const string& name, const Names& names) { // -1: it isn't there
    auto found = std::find(std::begin(names), std::end(names), name);
    return found == std::end(names) ? -1 : int(found - std::begin(names));
}

static Role role_of(const string& name) {
    return name == "inquisitor" ? ambassador : Role(place_of(name, role_names));
}
static Action action_of(const string& name) { return Action(place_of(name, action_names)); }

// Cards without an order: of a hand, or of the court deck.
struct Pile {
    std::array<signed char, roles> of{}; // copies by role
    int size = 0;
    bool has(Role role) const { return of[role] > 0; }
    void add(Role role) { ++of[role], ++size; }
    void remove(Role role) { --of[role], --size; }
    Pile operator+(const Pile& more) const { return plus(more, 1); }
    Pile operator-(const Pile& less) const { return plus(less, -1); }

    Role lowest() const {
        int role = 0;
        while (role < roles - 1 && !of[role]) ++role;
        return Role(role);
    }

    // Removes a random card; `chance` is from 0 to below 1.
    Role draw(double chance) {
        int place = int(chance * size), role = 0;
        while (role < roles - 1 && (place -= of[role]) >= 0) ++role;
        remove(Role(role));
        return Role(role);
    }

private:
    Pile plus(const Pile& other, int sign) const {
        Pile sum = *this;
        for (int role = 0; role < roles; ++role)
            sum.of[role] = static_cast<signed char>(of[role] + sign * other.of[role]);
        sum.size += sign * other.size;
        return sum;
    }
};

static Pile pile_of(const coup::Cards& names) {
    Pile pile;
    for (const string& name : names) pile.add(role_of(name));
    return pile;
}

// A fast generator of random numbers (SplitMix64), which gives the same numbers with every compiler.
struct Dice {
    std::uint64_t state;

    // Returns a number from 0 to below 1.
    double roll() {
        std::uint64_t mixed = state += 0x9E3779B97F4A7C15;
        mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
        return double((mixed ^ mixed >> 31) >> 11) * 0x1p-53;
    }
};

// ---- What it knows --------------------------------------------------------------------------------------------------

constexpr int max_deals = 120;       // imagined deals for a decision
constexpr int part_of_deals = 30;    // each time after this number, moves that are far from the margin are dropped
constexpr double margin = 0.1;       // part of a game by which another move must beat the honest one
constexpr double hand_margin = 0.03; // the same for cards to lose or keep, where the habits mislead less
constexpr double time_part = 0.5;    // part of a request's time after which no deal starts
constexpr int last_turn = 50;        // after this number of turns, an imagined game is shared by cards

// It lies less often to block an attack, the likelier a challenge is, and above this risk only if playouts say so.
// Without this mix, challenging each block wins. A caught bluff costs one more card.
constexpr double steal_block_risk = 0.25, assassination_block_risk = 0.5;

constexpr double claim_weight = 4.3;  // how much likelier a claim makes a card
constexpr double max_weight = 20;     // for any number of claims
constexpr double caught_weight = 0.1; // it had no such card; it may have drawn one since
using Weights = std::array<double, roles>;
constexpr Weights equal = {1, 1, 1, 1, 1};
constexpr Weights exchanged = {0.9, 0.8, 1.1, 1.2, 1.1}; // a player that exchanged holds better cards

// How one player behaves in this match. Before the first game the numbers are those of average players.
struct Habits {
    int asked = 0; // claims that it could challenge
    int challenges = 0;
    int proven[2] = {0, 0}; // claims that turned out true: by actions, by blocks
    int caught[2] = {0, 0}; // that turned out false

    // Returns how often it challenges a claim.
    double doubt() const { return (challenges + 1.4) / (asked + 20); }
    // Returns its bluffs in relation to those of average players.
    double bluffs(bool block) const { return 3.0 * (caught[block] + 1) / (proven[block] + caught[block] + 3); }
    // Returns the weight of its claims in relation to those of average players.
    double trust(bool block) const { return (proven[block] + 3.0) / (caught[block] + 1) / 3; }
};

// What it knows of one opponent, or of itself, in this game.
struct Belief {
    Weights weights = equal;     // by role, the weight of holding a card
    std::map<Role, bool> claims; // roles that it claimed and may hold; true: by a block
    bool exiled = false;
};

// A seat at one request, as numbers that all imagined deals share.
struct Seat {
    int coins = 0;
    int hidden = 0;          // cards that aren't known
    Pile known;              // cards that it certainly holds; our own hand
    Weights weights = equal; // 0: it certainly lacks the role
    double doubt = 0, bluffs = 0, block_bluffs = 0; // its habits
};

// Our knowledge of the game at one request.
struct Sitting {
    int me = 0;
    int coup_cost = 7, assassinate_cost = 3, draws = 2; // draws: cards of an exchange
    vector<Seat> seats;
    vector<int> others; // living opponents
    Pile copies, gone, unseen; // of the game, face up, in an unknown place
    Pile deck;                 // cards that are certainly in the court deck

    int cost(Action action) const {
        return action == coup_action ? coup_cost : action == assassinate ? assassinate_cost : 0;
    }
};

// ---- Imagined games -------------------------------------------------------------------------------------------------

enum Stage { declare, challenge_claim, block_action, challenge_block }; // of an action, at a request to us

// The action with which an imagined game begins, and our answer to it.
struct Start {
    int actor;
    Action action;
    int target; // the actor, if the action has no target
    Stage stage = declare;
    bool doubts = false;  // whether we challenge the claim
    Role block = no_role; // the role with which we block, or with which `blocker` does
    int blocker = nobody; // the seat whose block we are asked about
};

// A game with all cards open.
struct Position {
    vector<Pile> hands; // by seat
    vector<int> coins;
    Pile deck;
    Pile gone; // face-up cards
    int alive = 0;
};

// Plays imagined games.
class Table : public Position {
public:
    Table(const Sitting& sitting, Dice& dice) : know(sitting), dice(dice) {}

    // Imagines the others' hands and the deck.
    void deal() {
        Pile left = know.unseen;
        const int seats = int(know.seats.size()), count = int(know.others.size());
        hands.assign(seats, {});
        coins.resize(seats);
        for (int seat = 0; seat < seats; ++seat) coins[seat] = know.seats[seat].coins;
        hands[know.me] = know.seats[know.me].known;
        const int first = int(roll() * count); // the first seat gets the cards that it claims, so vary it
        for (int step = 0; step < count; ++step) {
            const int seat = know.others[(first + step) % count];
            hands[seat] = know.seats[seat].known;
            for (int card = 0; card < know.seats[seat].hidden; ++card) {
                const Role role = pick(left, know.seats[seat].weights);
                if (role == no_role) break;
                left.remove(role);
                hands[seat].add(role);
            }
        }
        deck = know.deck + left;
        gone = know.gone;
        alive = 0;
        for (const Pile& hand : hands) alive += hand.size > 0;
    }

    // Plays to the end from the turn after `actor`'s; returns our part of the game.
    double finish(int actor) {
        const int seats = int(hands.size());
        for (int turn = 0; turn < last_turn; ++turn) {
            if (!hands[know.me].size) return 0;
            if (alive == 1) return 1;
            do actor = (actor + 1) % seats;
            while (!hands[actor].size);
            act(choose(actor));
        }
        double cards = 0;
        for (const Pile& hand : hands) cards += hand.size;
        return hands[know.me].size / cards;
    }

    // Plays an action from a stage on.
    void act(const Start& now) {
        const auto [actor, action, target, stage, doubts, block, asked_about] = now;
        const int me = know.me;
        if (stage == declare) coins[actor] -= know.cost(action);
        if (Role role = claim_of[action]; role != no_role && stage <= challenge_claim) {
            const bool asked = stage == challenge_claim;
            const int doubter = asked && doubts ? me : find_doubter(actor, role, asked ? me : actor, nobody);
            if (doubter != nobody && !proves(actor, role, doubter)) {
                coins[actor] += know.cost(action); // refunded
                return;
            }
        }
        int blocker = asked_about;
        Role block_role = block;
        if (stage < challenge_block) {
            if (block != no_role) blocker = me;
            else if (action == foreign_aid) blocker = find_aid_blocker(actor, stage == block_action), block_role = duke;
            else if (!(stage == block_action && me == target)) block_role = choose_block(action, target);
            if (blocker == nobody && block_role != no_role && action != foreign_aid) blocker = target;
        }
        if (blocker != nobody) {
            const bool asked = stage == challenge_block;
            const int silent = asked ? me : blocker;
            const int doubter = asked && doubts ? me : find_doubter(blocker, block_role, silent, actor);
            if (doubter == nobody || proves(blocker, block_role, doubter)) return;
        }
        take_effect(actor, action, target);
    }

    // Turns a card of a hand face up: the one with the lowest worth.
    void lose(int seat) { lose(seat, hands[seat].lowest()); }
    void lose(int seat, Role card) {
        hands[seat].remove(card);
        gone.add(card);
        alive -= !hands[seat].size;
    }

private:
    const Sitting& know;
    Dice& dice;

    double roll() { return dice.roll(); }

    // Returns a role, by the number of its cards and their weights; no_role if no card is left.
    Role pick(const Pile& left, const Weights& weights) {
        Weights odds{};
        double sum = 0;
        for (int role = 0; role < roles; ++role) sum += odds[role] = left.of[role] * weights[role];
        if (sum <= 0) // earlier seats took the cards that it may hold
            for (int role = 0; role < roles; ++role) sum += odds[role] = left.of[role];
        double place = roll() * sum;
        for (int role = 0; role < roles; ++role)
            if ((place -= odds[role]) < 0 && odds[role] > 0) return Role(role);
        return no_role;
    }

    // Chooses an action and its target by habit.
    Start choose(int actor) {
        const Pile& hand = hands[actor];
        const double bluffs = know.seats[actor].bluffs;
        if (coins[actor] >= know.coup_cost) return {actor, coup_action, strongest(actor)};
        if (coins[actor] >= know.assassinate_cost && (hand.has(assassin) || roll() < 0.08 * bluffs))
            return {actor, assassinate, strongest(actor)};
        if (hand.has(captain) || roll() < 0.1 * bluffs) {
            const int victim = richest(actor);
            if (coins[victim] >= (hand.has(duke) ? 5 : 2)) return {actor, steal, victim};
        }
        if (hand.has(duke) || roll() < 0.3 * bluffs) return {actor, tax, actor};
        if (hand.has(ambassador) && roll() < 0.5) return {actor, exchange, actor};
        return {actor, roll() < 0.6 ? foreign_aid : income, actor};
    }

    // Returns the opponent with most coins, where each card counts as much as this number of coins.
    int best_opponent(int actor, int card_coins) const {
        int best = nobody, most = -1;
        for (int seat = 0; seat < int(hands.size()); ++seat) {
            const int score = card_coins * hands[seat].size + coins[seat];
            if (hands[seat].size && seat != actor && score > most) best = seat, most = score;
        }
        return best;
    }
    int strongest(int actor) const { return best_opponent(actor, 100); }
    int richest(int actor) const { return best_opponent(actor, 0); }

    // Returns the seat that challenges a claim, or nobody. `silent` isn't asked. `victim`: the actor, if it is a block.
    int find_doubter(int claimant, Role role, int silent, int victim) {
        const int copies = know.copies.of[role];
        for (int seat = 0; seat < int(hands.size()); ++seat) {
            if (!hands[seat].size || seat == claimant || seat == silent) continue;
            if (roll() < know.seats[seat].doubt * (seat == victim ? 2 : 1)) return seat;
            if (gone.of[role] + hands[seat].of[role] >= copies) return seat; // it sees all copies
        }
        return nobody;
    }

    // Resolves a challenge; returns whether the claim was true. A shown card is replaced.
    bool proves(int claimant, Role role, int doubter) {
        if (!hands[claimant].has(role)) {
            lose(claimant);
            return false;
        }
        lose(doubter);
        hands[claimant].remove(role);
        deck.add(role);
        hands[claimant].add(deck.draw(roll()));
        return true;
    }

    int find_aid_blocker(int actor, bool asked_me) {
        for (int seat = 0; seat < int(hands.size()); ++seat) {
            const bool asked = hands[seat].size && seat != actor && !(asked_me && seat == know.me);
            if (asked && (hands[seat].has(duke) || roll() < 0.08 * know.seats[seat].block_bluffs)) return seat;
        }
        return nobody;
    }

    // Returns the role with which the target blocks an attack, or no_role.
    Role choose_block(Action action, int target) {
        if (action != steal && action != assassinate) return no_role;
        const Pile& hand = hands[target];
        const double bluffs = know.seats[target].block_bluffs;
        if (!hand.size) return no_role;
        if (action == steal) {
            if (hand.has(captain)) return captain;
            return hand.has(ambassador) || roll() < 0.3 * bluffs ? ambassador : no_role;
        }
        if (hand.has(contessa) || (hand.size == 1 && roll() < 0.95)) return contessa;
        return roll() < 0.35 * bluffs ? contessa : no_role;
    }

    void take_effect(int actor, Action action, int target) {
        if (action == tax) coins[actor] += 3;
        else if (action == foreign_aid) coins[actor] += 2;
        else if (action == income) coins[actor] += 1;
        else if (action == exchange) swap_cards(actor);
        else if (action == steal) {
            const int loot = hands[target].size ? std::min(2, coins[target]) : 0;
            coins[target] -= loot;
            coins[actor] += loot;
        } else if (action != examine && hands[target].size) lose(target);
    }

    // Draws cards and keeps the best: of different roles, if possible.
    void swap_cards(int actor) {
        Pile& hand = hands[actor];
        const int keep = hand.size;
        for (int card = 0; card < know.draws && deck.size; ++card) hand.add(deck.draw(roll()));
        deck = deck + hand;
        Pile left = hand;
        hand = {};
        for (bool twice : {false, true})
            for (int role = roles - 1; role >= 0; --role)
                for (; hand.size < keep && left.of[role] && (twice || !hand.of[role]); left.remove(Role(role)))
                    hand.add(Role(role));
        deck = deck - hand;
    }
};

// ---- The bot --------------------------------------------------------------------------------------------------------

using Moves = vector<const Move*>;

class Strategist : public coup::Bot {
public:
    Strategist() { name = "strategist-cpp"; }

    void game_start(Game& game) override {
        latest = {};
        blocked.clear();
        caught.clear();
        beliefs.assign(game.players.size(), {});
        const Json& deck = game.rules["deck"];
        imagines = !deck.keys().empty() && !game.rules["reformation"].boolean();
        for (const string& role : deck.keys()) imagines = imagines && role_of(role) != no_role;
    }

    // ---- Events ----------------------------------------------------------------------------------------------------

    void event(Game& game, const Json& event) override {
        const string kind = event["event"].string();
        const int seat = event["seat"].integer(nobody);
        if (seat < 0 || seat >= int(beliefs.size())) return;
        const bool block = kind == "block";
        if (kind == "action") latest = {event["action"].string(), event["target"].integer(nobody)};
        else if (block) blocked[latest] = seat;
        else if (kind == "lost" || kind == "shown" || kind == "exchanged") // this seat may have other cards now
            for (auto entry = blocked.begin(); entry != blocked.end();)
                entry = entry->second == seat ? blocked.erase(entry) : std::next(entry);
        if (!imagines) return;
        Habits& habit = habits[game.players[seat].handle];
        Weights& weights = beliefs[seat].weights;
        std::map<Role, bool>& claims = beliefs[seat].claims;
        const Role role = role_of(event[event.has("role") ? "role" : "claim"].string());
        auto settle = [&](bool true_claim) { // counts a claim of the role, which isn't open any more
            const bool by_block = claims.count(role) && claims[role];
            ++(true_claim ? habit.proven : habit.caught)[by_block];
            claims.erase(role);
        };
        if (kind == "action" || block) {
            if (role == no_role) return;
            weights[role] = std::min(max_weight, weights[role] * std::max(1.0, claim_weight * habit.trust(block)));
            claims.emplace(role, block);
            for (const Player& player : game.players)
                if (player.seat != seat && !beliefs[player.seat].exiled) ++habits[player.handle].asked;
        } else if (kind == "challenge") ++habit.challenges;
        else if (kind == "shown" && role != no_role) {
            settle(true);
            claims.clear(); // we can no longer know whether its other claims were true
            weights[role] = 1;
        } else if (kind == "unproven" && role != no_role) {
            settle(false);
            weights[role] = caught_weight;
            if (seat == game.seat) caught.insert(role);
        } else if (kind == "lost" && role != no_role) {
            if (claims.count(role)) settle(true);
            weights[role] = std::min(weights[role], 1.0);
        } else if (kind == "exiled") {
            beliefs[seat].exiled = true;
            for (auto [claimed, by_block] : claims) ++habit.caught[by_block]; // neither of its cards was of these roles
            claims.clear();
        } else if (kind == "exchanged") {
            claims.clear();
            weights = ::exchanged;
        } else if (kind == "examined" && event["replaced"].boolean()) {
            Belief& target = beliefs.at(event["target"].integer());
            target.claims.clear();
            target.weights = equal;
        } else if (kind == "forfeit") claims.clear();
    }

    // ---- Decisions -------------------------------------------------------------------------------------------------

    Answer turn(Game& game) override {
        const Move* honest = honest_turn(game);
        if (!imagines || action_of(honest->word) == no_action) return honest;
        auto coins = [&](const Move* move) { return game.players[move->target].coins; };
        Moves moves = {honest};
        for (const string& action : action_names) {
            if (action == "income") continue;
            Moves options;
            for (const Move* move : game.moves(action))
                if (move != honest && (action != "steal" || coins(move) > 0)) options.push_back(move);
            sort_by(options, [&](const Move* move) {
                return move->target == nobody ? 0 : action == "steal" ? coins(move) : strength(game, move);
            });
            moves.insert(moves.end(), options.begin(), options.begin() + std::min<std::size_t>(2, options.size()));
        }
        vector<Start> starts;
        for (const Move* move : moves)
            starts.push_back({game.seat, action_of(move->word), move->target == nobody ? game.seat : move->target});
        return best(sit(game), game, moves, margin, starts);
    }

    Answer challenge(Game& game) override {
        const Role role = role_of(game.claim.role);
        if (!imagines || !game.rules["deck"].has(game.claim.role)) return nullptr;
        const Sitting sitting = sit(game);
        const Seat& claimant = sitting.seats[game.claim.seat];
        if (claimant.known.has(role)) return nullptr;
        if (!sitting.unseen.has(role) || claimant.weights[role] == 0) return game.find("challenge");
        Start start = under_way(game);
        start.stage = game.claim.block ? challenge_block : challenge_claim;
        if (game.claim.block) start.blocker = game.claim.seat, start.block = role;
        vector<Start> starts;
        for (const Move& move : game.legal) {
            start.doubts = move.word == "challenge";
            starts.push_back(start);
        }
        return best(sitting, game, pointers(game), margin, starts);
    }

    Answer block(Game& game) override {
        const Moves blocks = game.moves("block");
        auto holds = [&](const Move* move) { return game.holds(move->value); };
        auto held = std::find_if(blocks.begin(), blocks.end(), holds);
        const Move* first = held == blocks.end() ? &game.legal[0] : *held;
        if (!imagines) return first;
        const Sitting sitting = sit(game);
        Start start = under_way(game);
        start.stage = block_action;
        const double most_risk = start.action == steal ? steal_block_risk : assassination_block_risk;
        const double bearable = most_risk * Dice{game.random()}.roll();
        if (held == blocks.end() && start.target == game.seat && risk(sitting) < bearable) {
            int most = 0;
            for (const Move* move : blocks) { // the most believable lie
                const Role role = role_of(move->value);
                const int open = caught.count(role) ? 0 : sitting.unseen.of[role] + sitting.deck.of[role];
                if (open > most) first = move, most = open;
            }
        }
        Moves moves = {first};
        for (const Move& move : game.legal)
            if (&move != first) moves.push_back(&move);
        vector<Start> starts;
        for (const Move* move : moves) {
            start.block = move->word == "block" ? role_of(move->value) : no_role;
            starts.push_back(start);
        }
        return best(sitting, game, moves, margin, starts);
    }

    Answer lose(Game& game) override {
        Moves moves = pointers(game);
        sort_by(moves, [](const Move* move) { return -value(role_of(move->value)); });
        if (!imagines) return moves[0];
        vector<Role> cards;
        for (const Move* move : moves) cards.push_back(role_of(move->value));
        return best(sit(game), game, moves, hand_margin,
                    [&](Table& table, std::size_t number) { table.lose(game.seat, cards[number]); });
    }

    Answer exchange(Game& game) override {
        Moves moves = pointers(game);
        sort_by(moves, [](const Move* move) {
            std::set<string> different(move->cards.begin(), move->cards.end());
            double sum = -pair_cost * double(move->cards.size() - different.size());
            for (const string& card : move->cards) sum += value(role_of(card));
            return sum;
        });
        if (!imagines) return moves[0];
        const Pile all = pile_of(game.cards) + pile_of(game.drawn);
        vector<Pile> kept;
        for (const Move* move : moves) kept.push_back(pile_of(move->cards));
        return best(sit(game), game, moves, hand_margin, [&](Table& table, std::size_t number) {
            table.hands[game.seat] = kept[number];
            table.deck = table.deck + all - kept[number];
        });
    }

private:
    std::map<string, Habits> habits;               // by handle, for the whole match
    std::pair<string, int> latest;                 // the latest action and its target
    std::map<std::pair<string, int>, int> blocked; // blocked action and target -> the seat that blocked
    std::set<Role> caught;                         // our claims of this game that we couldn't prove
    vector<Belief> beliefs;                        // by seat
    bool imagines = false;                         // whether the playouts know these rules

    // Returns the first move, or another that wins at least `by` more of the imagined games. `begin` plays a move.
    template <class Begin>
    const Move* best(const Sitting& sitting, Game& game, const Moves& moves, double by, Begin begin) {
        if (moves.size() == 1) return moves[0];
        const double free_ms = game.request["clock"]["limit_ms"].number(500) * time_part;
        const std::clock_t began = std::clock();
        vector<double> wins(moves.size());
        vector<std::size_t> tried(moves.size());
        for (std::size_t number = 0; number < moves.size(); ++number) tried[number] = number;
        Dice dice{game.random()};
        Table deal(sitting, dice), table = deal;
        int done = 0;
        for (; done < max_deals; ++done) {
            if (double(std::clock() - began) * 1000 / CLOCKS_PER_SEC >= free_ms) break;
            if (done > 0 && done % part_of_deals == 0) {
                const double least = by * (done - part_of_deals);
                auto worse = [&](std::size_t number) { return number > 0 && wins[number] - wins[0] <= least; };
                tried.erase(std::remove_if(tried.begin(), tried.end(), worse), tried.end());
                if (tried.size() == 1) break;
            }
            deal.deal();
            for (std::size_t number : tried) {
                static_cast<Position&>(table) = deal;
                begin(table, number);
                wins[number] += table.finish(game.actor);
            }
        }
        auto more = [&](std::size_t a, std::size_t b) { return wins[a] < wins[b]; };
        const std::size_t winner = *std::max_element(tried.begin(), tried.end(), more);
        return moves[wins[winner] - wins[0] > by * done ? winner : 0];
    }

    const Move* best(const Sitting& sitting, Game& game, const Moves& moves, double by, const vector<Start>& starts) {
        return best(sitting, game, moves, by, [&](Table& table, std::size_t number) { table.act(starts[number]); });
    }

    // Returns our knowledge as numbers.
    Sitting sit(Game& game) {
        Sitting now;
        now.me = game.seat;
        now.coup_cost = game.rules["coup_cost"].integer(7);
        now.assassinate_cost = game.rules["assassinate_cost"].integer(3);
        now.draws = game.rules["exchange_draw"].integer(2);
        const Json& copies = game.rules["deck"];
        for (const string& role : copies.keys())
            for (int card = 0; card < copies[role].integer(); ++card) now.copies.add(role_of(role));
        now.deck = pile_of(game.in_deck);
        Pile seen = now.deck + pile_of(game.drawn) + pile_of(game.discards);
        for (const Player& player : game.players) {
            Seat seat;
            const Habits& habit = habits[player.handle];
            seat.coins = player.coins;
            seat.known = pile_of(player.seat == game.seat ? game.cards : player.known);
            seat.hidden = player.influence - seat.known.size;
            seat.weights = beliefs[player.seat].weights;
            for (const string& role : player.lacks) seat.weights[role_of(role)] = 0;
            seat.doubt = habit.doubt();
            seat.bluffs = habit.bluffs(false);
            seat.block_bluffs = habit.bluffs(true);
            seen = seen + seat.known;
            now.gone = now.gone + pile_of(player.revealed);
            now.seats.push_back(seat);
        }
        for (const Player* player : game.opponents()) now.others.push_back(player->seat);
        now.unseen = now.copies - now.gone - seen;
        return now;
    }

    // Returns the action about which we are asked.
    static Start under_way(const Game& game) {
        const auto& [actor, action, target] = game.pending;
        return {actor, action_of(action), target == nobody ? actor : target};
    }

    // Returns the probability that a player challenges us.
    static double risk(const Sitting& sitting) {
        double safe = 1;
        for (int seat : sitting.others) safe *= 1 - sitting.seats[seat].doubt;
        return 1 - safe;
    }

    static double value(Role role) { return role == no_role ? 2 : worth[role]; }

    static Moves pointers(const Game& game) {
        Moves moves;
        for (const Move& move : game.legal) moves.push_back(&move);
        return moves;
    }

    // Sorts moves, the highest score first.
    template <class Score>
    static void sort_by(Moves& moves, Score score) {
        std::stable_sort(moves.begin(), moves.end(), [&](const Move* a, const Move* b) { return score(a) > score(b); });
    }

    // ---- The honest moves ------------------------------------------------------------------------------------------

    // Returns the strength of a move's target.
    static int strength(const Game& game, const Move* move) {
        const Player& target = game.players[move->target];
        return 100 * target.influence + target.coins;
    }

    // Chooses as the sample bot honest does: the best action that is legal, true, and wasn't just blocked.
    const Move* honest_turn(const Game& game) const {
        auto coins = [&](const Move* move) { return game.players[move->target].coins; };
        for (const char* action : {"coup", "assassinate"}) {
            Moves attacks = true_moves(game, action);
            sort_by(attacks, [&](const Move* move) { return strength(game, move); });
            if (!attacks.empty()) return attacks[0];
        }
        Moves steals = true_moves(game, "steal");
        sort_by(steals, coins);
        const bool taxes = !true_moves(game, "tax").empty();
        if (!steals.empty() && coins(steals[0]) >= (taxes ? 5 : 2)) return steals[0];
        for (const char* action : {"tax", "exchange", "foreign_aid", "income"})
            if (Moves moves = true_moves(game, action); !moves.empty()) return moves[0];
        return &game.legal[0];
    }

    // Returns the legal moves of an action that weren't blocked, if we hold the role that it claims.
    Moves true_moves(const Game& game, const string& action) const {
        const Role claim = claim_of[action_of(action)];
        auto holds = [&](const string& card) { return role_of(card) == claim; };
        if (claim != no_role && std::none_of(game.cards.begin(), game.cards.end(), holds)) return {};
        Moves moves;
        for (const Move* move : game.moves(action))
            if (!blocked.count({action, move->target})) moves.push_back(move);
        return moves;
    }
};

int main() { return coup::run(Strategist{}); }
