import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does. */
public class Probe extends CoupKit.Bot {
    private static final List<String> ROLES =
            List.of("ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke");

    private final boolean knows;
    private final boolean speaks;
    private final boolean rolls;

    private Probe(String word) {
        knows = word.equals("know");
        speaks = word.equals("say");
        rolls = word.equals("roll");
        careful = word.equals("careful");
    }

    public static void main(String[] words) {
        CoupKit.run(new Probe(words[0]));
    }

    /** Tells if it is to, and plays the default. */
    private Move tell(Game game) {
        if (knows) {
            know(game);
        }
        return null;
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
        if (!knows) {
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
