import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.StringJoiner;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does. */
public class Probe extends CoupKit.Bot {
    private static final List<String> ROLES =
            List.of("ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke");

    private final boolean tells;
    private final boolean knows;
    private final boolean speaks;
    private final boolean rolls;

    private Probe(String word) {
        tells = word.equals("tell");
        knows = word.equals("know");
        speaks = word.equals("say");
        rolls = word.equals("roll");
        careful = word.equals("careful");
    }

    public static void main(String[] words) {
        CoupKit.run(new Probe(words[0]));
    }

    /** Writes what it knows to standard error, and plays any move. */
    private Move tell(Game game) {
        if (knows) {
            know(game);
        }
        if (!tells) {
            return null;
        }
        int id = game.request.get("id").integer(0);
        StringBuilder out = new StringBuilder("{\"id\":" + id + ",\"opponents\":[");
        for (Player player : game.opponents()) {
            out.append(out.charAt(out.length() - 1) == '[' ? "" : ",").append(player.seat);
        }
        out.append("],\"players\":[");
        for (Player player : game.players) {
            StringBuilder odds = new StringBuilder();
            for (String role : ROLES) {
                odds.append(odds.length() == 0 ? "" : ",").append(game.odds(player.seat, role));
            }
            History h = player.history;
            out.append(player.seat == 0 ? "" : ",").append("{\"odds\":[").append(odds).append("],");
            out.append("\"claims\":").append(numbers(player.claims));
            out.append(",\"caught\":").append(numbers(player.caught));
            out.append(",\"shown\":").append(numbers(player.shown));
            out.append(",\"blocks\":").append(numbers(player.blocks));
            StringBuilder known = new StringBuilder();
            for (String role : ROLES) {
                known.append(known.length() == 0 ? "" : ",").append(Collections.frequency(player.known, role));
            }
            out.append(",\"known\":[").append(known).append("]");
            out.append(",\"history\":").append(List.of(h.claimed, h.challenged, h.proven, h.caught, h.challenges,
                    h.wonChallenges, h.blocks)).append("}");
        }
        System.out.println(out.append("]}"));
        return game.legal.get(id % game.legal.size());
    }

    /** Writes what cases.jsonl asks for. */
    private static void know(Game game) {
        System.out.println("{\"claims\":" + each(game, player -> counts(player.claims))
                + ",\"caught\":" + each(game, player -> counts(player.caught))
                + ",\"shown\":" + each(game, player -> counts(player.shown))
                + ",\"blocks\":" + each(game, player -> counts(player.blocks))
                + ",\"known\":" + each(game, player -> words(player.known))
                + ",\"alive\":" + each(game, player -> String.valueOf(player.alive()))
                + ",\"influence\":" + each(game, player -> String.valueOf(player.influence))
                + ",\"coins\":" + each(game, player -> String.valueOf(player.coins))
                + ",\"revealed\":" + each(game, player -> words(player.revealed))
                + ",\"odds\":" + each(game, player -> odds(game, player))
                + ",\"cards\":" + words(game.cards) + "}");
    }

    private static String each(Game game, Function<Player, String> what) {
        return Arrays.stream(game.players).map(what).collect(Collectors.joining(",", "[", "]"));
    }

    private static String words(List<String> words) {
        return words.stream().map(word -> '"' + word + '"').collect(Collectors.joining(",", "[", "]"));
    }

    private static String counts(Counts counts) {
        StringJoiner out = new StringJoiner(",", "{", "}");
        for (String role : counts.roles()) {
            out.add('"' + role + "\":" + counts.get(role));
        }
        return out.toString();
    }

    private static String odds(Game game, Player player) {
        StringJoiner out = new StringJoiner(",", "{", "}");
        for (String role : ROLES) {
            out.add('"' + role + "\":" + game.odds(player.seat, role));
        }
        return out.toString();
    }

    @Override public void gameOver(Game game) {
        if (knows) {
            know(game);
        }
    }

    private static String numbers(Counts counts) {
        StringBuilder out = new StringBuilder("[");
        for (String role : ROLES) {
            out.append(out.length() == 1 ? "" : ",").append(counts.get(role));
        }
        return out.append("]").toString();
    }

    @Override public void event(Game game, Json event) {
        if (speaks && event.get("event").string("").equals("say")) {
            System.out.println(event.get("says").string(""));
        }
    }

    @Override public Move turn(Game game) {
        if (speaks) {
            game.say("hold", "duke");
            game.say("spare", 1);
            game.say("doubt", "duke", 1);
            game.say("text", "Zo\u00eb says \"\\ \ud83c\udfb2\"");
            return null;
        }
        if (rolls) {
            System.out.println(game.random.nextDouble());
            return null;
        }
        if (!tells && !knows) {
            throw new IllegalStateException("on purpose");
        }
        return tell(game);
    }

    @Override public Move challenge(Game game) { return tell(game); }

    @Override public Move block(Game game) { return tell(game); }

    @Override public Move prove(Game game) { return tell(game); }

    @Override public Move lose(Game game) { return tell(game); }

    @Override public Move exchange(Game game) { return tell(game); }

    @Override public Move keepShown(Game game) { return tell(game); }

    @Override public Move examineShow(Game game) { return tell(game); }

    @Override public Move examineDecide(Game game) { return tell(game); }

    @Override public Move draft(Game game) { return tell(game); }

    @Override public Move allegiance(Game game) { return tell(game); }

    @Override public Move other(Game game) { return tell(game); }
}
