import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/**
 * A bot to start with: it never bluffs, and challenges only claims that are very unlikely.
 *
 * <p>The starters in all languages make the same choices:
 *
 * <pre>
 * turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
 *             Attacks target the opponent with most cards, then most coins; steals the richest, with at least 1 coin.
 *             Skip attacks on opponents that blocked them in this game, and foreign aid while its blocker lives.
 * challenge   Challenge if the probability that the claimant holds the role is below DOUBT.
 * block       Block with the first role of game.legal that we hold.
 * lose        Lose the card with the lowest value.
 * exchange    Keep the cards with the highest value; a second card of the same role adds less.
 * others      Play the first legal move: show the card, have it replaced, hand back the examined card ...
 * </pre>
 *
 * <p>Ties go to the first move in game.legal.
 */
public class MyBot extends CoupKit.Bot {
    private static final double DOUBT = 0.22;
    private static final int SECOND_COPY = 4; // a second card of a role is worth this much less

    private static final Map<String, List<String>> ROLES = Map.of(
            "assassinate", List.of("assassin"),
            "tax", List.of("duke"),
            "steal", List.of("captain"),
            "exchange", List.of("ambassador", "inquisitor"));

    private static final Map<String, List<String>> BLOCKERS = Map.of(
            "assassinate", List.of("contessa"),
            "steal", List.of("captain", "ambassador", "inquisitor"),
            "foreign_aid", List.of("duke"));

    private static final Map<String, Integer> VALUE = Map.of(
            "captain", 10, "duke", 9, "assassin", 8, "ambassador", 5, "inquisitor", 5, "contessa", 4);

    public static void main(String[] args) {
        CoupKit.run(new MyBot());
    }

    @Override
    public Move turn(Game game) {
        Move move = strongest(game, game.moves("coup"));
        if (move == null) {
            move = strongest(game, honest(game, "assassinate"));
        }
        if (move == null) {
            move = first(honest(game, "tax"));
        }
        if (move == null) {
            move = richest(game, honest(game, "steal"));
        }
        if (move == null) {
            move = first(honest(game, "exchange"));
        }
        if (move == null) {
            move = first(honest(game, "foreign_aid"));
        }
        return move;
    }

    @Override
    public Move challenge(Game game) {
        boolean doubtful = game.odds(game.claim.seat, game.claim.role) < DOUBT;
        return game.find(doubtful ? "challenge" : "pass");
    }

    @Override
    public Move block(Game game) {
        for (Move move : game.moves("block")) {
            if (game.cards.contains(move.value)) {
                return move;
            }
        }
        return game.find("pass");
    }

    @Override
    public Move lose(Game game) {
        Move worst = game.legal.get(0);
        for (Move move : game.legal) {
            if (value(move.value) < value(worst.value)) {
                worst = move;
            }
        }
        return worst;
    }

    @Override
    public Move exchange(Game game) {
        Move best = game.legal.get(0);
        for (Move move : game.legal) {
            if (worth(move.cards) > worth(best.cards)) {
                best = move;
            }
        }
        return best;
    }

    private static int value(String card) {
        return VALUE.getOrDefault(card, 4);
    }

    /** Returns the value of a hand. */
    private static int worth(List<String> cards) {
        int sum = 0;
        for (String card : cards) {
            sum += value(card);
        }
        return sum - SECOND_COPY * (cards.size() - new HashSet<>(cards).size());
    }

    private static Move first(List<Move> moves) {
        return moves.isEmpty() ? null : moves.get(0);
    }

    /** Returns the move against the player with most cards, then most coins. */
    private static Move strongest(Game game, List<Move> moves) {
        Move best = null;
        int most = -1;
        for (Move move : moves) {
            Player target = game.players[move.target];
            int strength = 1000 * target.influence + target.coins;
            if (strength > most) {
                best = move;
                most = strength;
            }
        }
        return best;
    }

    /** Returns the move against the player with most coins, at least 1. */
    private static Move richest(Game game, List<Move> moves) {
        Move best = null;
        int most = 0;
        for (Move move : moves) {
            int coins = game.players[move.target].coins;
            if (coins > most) {
                best = move;
                most = coins;
            }
        }
        return best;
    }

    /** Returns the legal moves of an action if we hold its role, without those that were blocked in this game. */
    private static List<Move> honest(Game game, String action) {
        List<Move> moves = game.moves(action);
        if (ROLES.containsKey(action) && Collections.disjoint(ROLES.get(action), game.cards)) {
            moves.clear();
        }
        for (Player player : game.opponents()) {
            if (!hasBlocked(player, action)) {
                continue;
            }
            if (action.equals("foreign_aid")) {
                moves.clear();
            } else {
                moves.removeAll(Arrays.asList(game.find(action, player.seat)));
            }
        }
        return moves;
    }

    private static boolean hasBlocked(Player player, String action) {
        for (String role : BLOCKERS.getOrDefault(action, List.of())) {
            if (player.blocks.get(role) > 0) {
                return true;
            }
        }
        return false;
    }
}
