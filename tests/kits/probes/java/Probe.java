import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Writes what the kit reckons, or fails: by the word that it is given. ../README.md says what a probe does. */
public class Probe extends CoupKit.Bot {
    private static final List<String> ROLES =
            List.of("ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke");

    private final boolean reckons;
    private final boolean speaks;
    private final boolean rolls;

    private Probe(String word) {
        reckons = word.equals("odds");
        speaks = word.equals("say");
        rolls = word.equals("roll");
        careful = word.equals("careful");
    }

    public static void main(String[] words) {
        CoupKit.run(new Probe(words[0]));
    }

    /** Writes the odds of each seat, if it is to, and plays the default. */
    private Move tell(Game game) {
        if (reckons) {
            System.out.println(Arrays.stream(game.players).map(player -> ROLES.stream()
                    .map(role -> '"' + role + "\":" + game.odds(player.seat, role))
                    .collect(Collectors.joining(",", "{", ",\"opponent\":" + game.opponents().contains(player) + "}")))
                    .collect(Collectors.joining(",", "[", "]")));
        }
        return null;
    }

    /** Writes its cards, and who has how many. */
    @Override public void gameOver(Game game) {
        if (reckons) {
            System.out.println(game.cards.stream().map(card -> '"' + card + '"')
                    .collect(Collectors.joining(",", "{\"cards\":[", "],\"influence\":"))
                    + Arrays.toString(Arrays.stream(game.players).mapToInt(player -> player.influence).toArray()) + "}");
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
        if (!reckons) {
            return game.find("assasinate");
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
