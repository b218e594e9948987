import java.io.*;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A kit for Coup Arena bots: it handles the messages of the protocol, and calls a method of your bot for each move.
 * Copy this file next to your bot. It requires only Java 11 or newer. This is kit version 9. A complete bot:
 *
 * <pre>
 * public class MyBot extends CoupKit.Bot {
 *     &#64;Override public Move turn(Game game) {
 *         return game.cards.contains("duke") ? game.find("tax") : null;
 *     }
 *
 *     public static void main(String[] args) {
 *         CoupKit.run(new MyBot());
 *     }
 * }
 * </pre>
 *
 * Write a method for each kind of request that you want to answer. It gets the game and returns a move of game.legal.
 * For other requests, and for null, the kit plays the first of game.legal, a safe move (income, pass, show the card
 * ...). find() returns null if there is no such move. SPEC.md documents the messages.
 *
 * log(...) writes to standard error, and after the start of run() so does System.out: it can't disturb the protocol.
 * If a method throws, the kit prints the error with its request to standard error and ends the program. With
 * careful = true it plays the first legal move instead, and the bot continues.
 */
public class CoupKit {
    public static final int NOBODY = -1; // no seat, or an unknown one
    private static final String MOVES = // actions and keys of the moves in all rules
        " income foreign_aid coup tax assassinate steal exchange examine convert embezzle "
        + "pass challenge block show decline lose keep keep_shown pick side reveal examined ";

    /** Writes a line to standard error. */
    public static void log(Object line) { System.err.println(line); }

    /** Plays: reads the referee's messages from standard input and answers them until the match is over. */
    public static void run(Bot bot) {
        OutputStream wire = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err); // for output of the bot and of libraries
        reportUncalled(bot);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            String line;
            while (!bot.over && (line = input.readLine()) != null) {
                String answer = bot.reply(line);
                if (answer != null) {
                    wire.write((answer + "\n").getBytes(StandardCharsets.UTF_8)); // one write, nothing to flush
                }
            }
        } catch (IOException gone) {
            return; // the arena has ended
        } catch (Throwable printed) {
            System.exit(1); // threads of the bot would keep the program running
        }
        System.exit(0);
    }

    /** Prints public methods with the parameters of a request's method that the kit never calls. */
    private static void reportUncalled(Bot bot) {
        for (Class<?> type = bot.getClass(); type != Bot.class; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                Class<?>[] given = method.getParameterTypes();
                boolean chooses = method.getReturnType() == Move.class || method.getReturnType() == void.class;
                boolean open = Modifier.isPublic(method.getModifiers()) && !Modifier.isStatic(method.getModifiers());
                if (!open || !chooses || given.length == 0 || given[0] != Game.class) {
                    continue;
                }
                try {
                    Bot.class.getDeclaredMethod(method.getName(), given);
                } catch (NoSuchMethodException unknown) {
                    log("coup_kit: the kit never calls " + type.getSimpleName() + "." + method.getName()
                            + "; write @Override above each method for the kit, and make helpers private");
                }
            }
        }
    }

    // ---- The bot ----------------------------------------------------------------------------------------------------

    /**
     * The base class of bots: inherit from it, and write the methods that you need. Your class also inherits the names
     * of the kit's classes: Game is CoupKit.Game.
     */
    public abstract static class Bot extends CoupKit {
        /** For logs, at most 64 characters; by default the class's name. */
        public String name = getClass().getSimpleName();
        public String version = "";
        public boolean careful = false; // if a method throws: print it, play legal.get(0), continue

        private final Game game = new Game();
        private boolean over = false;

        public Move turn(Game game) { return null; } // choose the action of your turn; by default income
        public Move challenge(Game game) { return null; } // challenge game.claim, or pass (the default)
        public Move block(Game game) { return null; } // block game.pending by claiming a role, or pass (the default)
        public Move prove(Game game) { return null; } // show the card that you claimed (the default), or decline
        public Move lose(Game game) { return null; } // choose the card to lose; game.reason is the reason
        public Move exchange(Game game) { return null; } // choose the cards to keep from game.cards and game.drawn
        /** Keep the card that you showed, or replace it (the default). Only in variants, like the next four. */
        public Move keepShown(Game game) { return null; }
        public Move examineShow(Game game) { return null; } // choose the card to show to the inquisitor
        public Move examineDecide(Game game) { return null; } // hand back game.seen (the default), or replace it
        public Move draft(Game game) { return null; } // choose your first card from a set of five
        public Move allegiance(Game game) { return null; } // choose your side
        public Move other(Game game) { return null; } // answer a kind of request that this kit doesn't know

        public void matchStart(Game game) {} // prepare for the match: the rules are known, the players aren't yet
        public void gameStart(Game game) {} // prepare for a game: your seat, your cards and the players are known
        /** Process an event. Each comes once, in order, before the next request's method. */
        public void event(Game game, Json event) {}
        public void gameOver(Game game) {} // learn from a finished game: game.winner and game.survivors are known
        /** Process a fault that the referee counted: error.get("message") explains what to fix. */
        public void fault(Game game, Json error) {}
        public void matchOver(Game game) {} // clean up after the match; half a second is left

        /** Processes a message of the referee; returns the answer, or null if it needs none. No input or output. */
        public final String reply(String text) {
            Json line;
            try {
                line = Json.parse(text);
            } catch (IllegalArgumentException problem) {
                log("coup_kit: ignored a line: " + problem.getMessage());
                return null;
            }
            String type = line.get("type").string("");
            game.take(line);
            for (Json event : line.get("events").list()) {
                Player player = game.at(event.get("seat"));
                if (event.get("event").string("").equals("block") && player != null) {
                    player.blocks.merge(event.get("role").string(""), 1, Integer::sum);
                }
                guarded("event", () -> event(game, event));
            }
            String answer = null;
            switch (type) {
                case "hello":
                    guarded("matchStart", () -> matchStart(game));
                    answer = "{\"type\":\"hello\",\"name\":" + Json.quoted(name);
                    answer += ",\"version\":" + Json.quoted(version) + "}";
                    break;
                case "game_start":
                    guarded("gameStart", () -> gameStart(game));
                    break;
                case "request":
                    answer = "{\"id\":" + line.get("id") + ",\"choice\":" + choose();
                    answer += game.words.isEmpty() ? "}" : ",\"say\":[" + String.join(",", game.words) + "]}";
                    game.words.clear();
                    break;
                case "game_over":
                    game.end();
                    guarded("gameOver", () -> gameOver(game));
                    break;
                case "error":
                    guarded("fault", () -> fault(game, line));
                    break;
                case "match_over":
                    over = true;
                    guarded("matchOver", () -> matchOver(game));
                    break;
                default: // needs no answer
            }
            game.kind = "";
            game.legal = List.of();
            return answer;
        }

        private int choose() {
            int[] choice = {0};
            guarded(game.kind, () -> {
                Move move = ask();
                int index = move == null ? 0 : game.legal.indexOf(move);
                if (index < 0) {
                    throw new IllegalArgumentException("the method returned " + move + ", which isn't in game.legal");
                }
                choice[0] = index;
            });
            return choice[0];
        }

        private Move ask() {
            switch (game.kind) {
                case "turn": return turn(game);
                case "challenge": return challenge(game);
                case "block": return block(game);
                case "prove": return prove(game);
                case "lose": return lose(game);
                case "exchange": return exchange(game);
                case "keep_shown": return keepShown(game);
                case "examine_show": return examineShow(game);
                case "examine_decide": return examineDecide(game);
                case "draft": return draft(game);
                case "allegiance": return allegiance(game);
                default: return other(game);
            }
        }

        /** Calls a method. If it fails, prints where, and throws the error again unless the bot is careful. */
        private void guarded(String method, Runnable call) {
            try {
                call.run();
            } catch (Throwable problem) {
                String where = game.request.get("type").string("") + ", game " + game.number;
                if (!game.kind.isEmpty()) {
                    where = "request " + game.request.get("id") + ": " + game.kind + ", game " + game.number + ", turn "
                            + game.turn + ", legal " + game.request.get("legal");
                }
                log("coup_kit: " + getClass().getName() + " failed in " + method + " at " + where);
                problem.printStackTrace();
                if (!careful || problem instanceof OutOfMemoryError) {
                    throw new IllegalStateException(problem);
                }
            }
        }
    }

    // ---- The game ---------------------------------------------------------------------------------------------------

    /**
     * The game as your seat sees it: one object for the whole match. Don't change it. In gameOver, state and cards are
     * final and nothing is known.
     */
    public static final class Game {
        // Of the request; between requests kind and legal are empty.
        public String kind = ""; // the kind of request: "turn", "challenge", "block" ...
        public List<Move> legal = List.of(); // all legal moves; the first is a safe move
        /** The undecided action; at your turn its actor is NOBODY. */
        public final Pending pending = new Pending();
        public final Claim claim = new Claim(); // the undecided claim; without one its seat is NOBODY
        public boolean proven; // in block: whether the actor proved the action's claim this turn
        public int challenger = NOBODY; // in prove: the seat that challenges you
        public String reason = ""; // in lose: why: "coup", "assassinate", "challenge"; in gameOver: why it ended
        public String seen = ""; // in examineDecide: the opponent's card that you see
        public Json request = Json.NULL; // the message as received, also game_start, game_over and error

        // Of the game.
        public int number; // number of the game in the match, from 0
        public int seat = NOBODY; // your seat in this game
        public int turn; // number of the turn, from 1, counting all players' turns
        public int actor = NOBODY; // the seat whose turn it is
        public int deck;
        public int reserve;
        public List<String> cards = List.of(); // your face-down cards
        public List<String> drawn = List.of(); // in exchange: the cards that you drew
        public List<String> discards = List.of(); // with a draft: the cards that you discarded
        /** Cards that are certainly in the court deck, from you.known of the request. */
        public List<String> inDeck = List.of();
        public Player[] players = {}; // by seat
        public int winner = NOBODY; // in gameOver: the seat that won; NOBODY: a draw
        public final List<Integer> survivors = new ArrayList<>(); // in gameOver: the seats that won or share the draw

        // Of the match.
        public Json rules = Json.NULL; // hello.ruleset: game.rules.get("coup_cost").integer(7)
        public Json limits = Json.NULL;
        public Json match = Json.NULL;
        public String botSeed = "";
        public String gameSeed = ""; // of this game; empty before the first game
        /** Each game seeds it with gameSeed, so that a game can be repeated; before the first game botSeed does. */
        public Random random = new Random(0);

        private final List<String> words = new ArrayList<>(); // statements for the next answer

        public Json state() { return request.get("state"); } // the public state as received
        public Player me() { return players[seat]; } // your own player, as the others see it

        /** The other living players, clockwise from you. */
        public List<Player> opponents() {
            List<Player> living = new ArrayList<>();
            for (int step = 1; step < players.length; step++) {
                Player player = players[(seat + step) % players.length];
                if (player.alive()) {
                    living.add(player);
                }
            }
            return living;
        }

        /** Returns all legal moves with this action or key: moves("steal"). Throws for a word of no rules. */
        public List<Move> moves(String word) {
            List<Move> found = new ArrayList<>(legal);
            found.removeIf(move -> !move.word.equals(word));
            if (found.isEmpty() && !MOVES.contains(" " + word + " ")) {
                throw new IllegalArgumentException("no rules have a move \"" + word + "\", only" + MOVES);
            }
            return found;
        }

        /** Returns the first of them, or null: find("tax"), find("steal", 2) (at seat 2), find("block", "duke"). */
        public Move find(String word) { return first(word, move -> true); }
        public Move find(String word, int target) { return first(word, move -> move.target == target); }
        public Move find(String word, String value) { return first(word, move -> move.value.equals(value)); }

        private Move first(String word, Predicate<Move> fits) {
            return moves(word).stream().filter(fits).findFirst().orElse(null);
        }

        /**
         * Adds a statement to your next answer: say("hold", "duke"), say("lack", "duke"), say("attack", 2),
         * say("spare", 2), say("doubt", "duke", 2), and if the rules allow it, say("text", "Peace?"). At most 4, one of
         * them a text. Without talk nothing is sent. Statements of others are "say" events.
         */
        public void say(String says, String what) {
            words(says, ",\"" + (says.equals("text") ? "text" : "role") + "\":" + Json.quoted(what));
        }
        public void say(String says, int target) { words(says, ",\"target\":" + target); }
        public void say(String says, String role, int target) {
            words(says, ",\"role\":" + Json.quoted(role) + ",\"target\":" + target);
        }

        private void words(String says, String parts) {
            if (!rules.get("talk").string("off").equals("off")) {
                words.add("{\"says\":" + Json.quoted(says) + parts + "}");
            }
        }

        /**
         * Returns the probability, 0 to 1, that a seat holds at least one card of a role, from the cards that you see:
         * 1 - C(U-d, k) / C(U, k). Of U unseen cards d have the role, and k are the seat's. Claims don't count, but
         * you.known does. For "not_duke" it is the probability that the seat has no duke. After a draft, values other
         * than 0 and 1 are guesses.
         */
        public double odds(int whose, String role) {
            if (role.startsWith("not_")) {
                return 1 - odds(whose, role.substring(4));
            }
            if (whose == seat || whose < 0 || whose >= players.length) {
                return whose == seat && cards.contains(role) ? 1 : 0;
            }
            Player player = players[whose];
            if (player.known.contains(role)) {
                return 1;
            }
            List<String> sight = new ArrayList<>(cards);
            sight.addAll(drawn);
            sight.addAll(discards);
            sight.addAll(inDeck);
            int elsewhere = 0; // hidden cards of other players that lack the role
            for (Player each : players) {
                sight.addAll(each.revealed);
                sight.addAll(each.known);
                elsewhere += each.lacks.contains(role) ? each.influence - each.known.size() : 0;
            }
            int unseen = -sight.size();
            for (Json number : rules.get("deck").list()) {
                unseen += number.integer(0);
            }
            int copies = hidden(role, sight);
            int held = player.influence - player.known.size();
            if (held <= 0 || copies <= 0 || unseen < held || player.lacks.contains(role)) {
                return 0;
            }
            if (copies > unseen - elsewhere - held) {
                return 1; // only this hand has room for them
            }
            if (player.lacks.isEmpty()) {
                unseen -= elsewhere;
            }
            for (String other : player.lacks) {
                unseen -= hidden(other, sight);
            }
            double none = 1; // C(unseen - copies, held) / C(unseen, held), a card at a time
            for (int card = 0; card < held && none > 0; card++) {
                none *= Math.max(0, (double) (unseen - copies - card) / (unseen - card));
            }
            return 1 - none;
        }

        private int hidden(String role, List<String> sight) {
            return rules.get("deck").get(role).integer(0) - Collections.frequency(sight, role);
        }

        /** Stores the values of a message. */
        private void take(Json line) {
            request = line;
            if (line.get("type").string("").equals("hello")) {
                rules = line.get("ruleset");
                limits = line.get("limits");
                match = line.get("match");
            } else if (line.get("type").string("").equals("game_start")) {
                List<String> handles = line.get("players").strings();
                players = new Player[handles.size()];
                Arrays.setAll(players, i -> new Player(i, handles.get(i)));
            }
            botSeed = line.get("bot_seed").string(botSeed);
            gameSeed = line.get("game_seed").string(gameSeed);
            if (line.has("bot_seed") || line.has("game_seed")) {
                String seed = line.has("bot_seed") ? botSeed : gameSeed;
                random.setSeed(seed.chars().asLongStream().reduce(0, (mixed, letter) -> mixed * 31 + letter));
            }
            kind = line.get("kind").string("");
            pending.actor = line.get("pending").get("actor").integer(NOBODY);
            pending.action = line.get("pending").get("action").string("");
            pending.target = line.get("pending").get("target").integer(NOBODY);
            claim.seat = line.get("claim").get("seat").integer(NOBODY);
            claim.role = line.get("claim").get("role").string("");
            claim.block = line.get("claim").get("block").bool(false);
            proven = line.get("proven").bool(false);
            challenger = line.get("challenger").integer(NOBODY);
            reason = line.get("reason").string("");
            winner = line.get("winner").integer(NOBODY);
            survivors.clear();
            for (Json survivor : line.get("survivors").list()) {
                survivors.add(survivor.integer(NOBODY));
            }
            legal = new ArrayList<>();
            for (Json raw : line.get("legal").list()) {
                legal.add(new Move(raw));
            }
            number = line.get("game").integer(number);
            Json you = line.get("you");
            if (!you.isNull()) {
                seat = you.get("seat").integer(seat);
                cards = you.get("cards").strings();
                discards = you.get("discards").strings();
            }
            drawn = you.get("drawn").strings();
            seen = you.get("seen").string("");
            inDeck = you.get("known").get("deck").strings();
            turn = state().get("turn").integer(turn);
            actor = state().get("actor").integer(actor);
            deck = state().get("deck").integer(deck);
            reserve = state().get("reserve").integer(reserve);
            List<Json> table = state().get("players").list();
            for (int i = 0; i < Math.min(table.size(), players.length); i++) {
                players[i].coins = table.get(i).get("coins").integer(0);
                players[i].influence = table.get(i).get("influence").integer(0);
                players[i].revealed = table.get(i).get("revealed").strings();
                players[i].allegiance = table.get(i).get("allegiance").string("");
                players[i].known = List.of();
                players[i].lacks = List.of();
            }
            for (Json certain : you.get("known").get("players").list()) {
                Player player = at(certain.get("seat"));
                if (player != null) {
                    player.known = certain.get("has").strings();
                    player.lacks = certain.get("lacks").strings();
                }
            }
        }

        private Player at(Json sent) {
            int which = sent.integer(NOBODY);
            return which >= 0 && which < players.length ? players[which] : null;
        }

        /** Stores your cards at the end of a game, from the latest event that contains them. */
        private void end() {
            List<String> left = new ArrayList<>(cards);
            for (Json event : request.get("events").list()) {
                if (!event.get("cards").isNull()) {
                    left = new ArrayList<>(event.get("cards").strings());
                } else if (event.get("event").string("").equals("lost") && event.get("seat").integer(NOBODY) == seat) {
                    left.remove(event.get("role").string(""));
                }
            }
            cards = seat >= 0 && seat < players.length && me().alive() ? Collections.unmodifiableList(left) : List.of();
        }
    }

    /** A legal move. */
    public static final class Move {
        /** The action ("steal"), or else the key: "challenge", "pass", "block", "show", "keep" ... */
        public final String word;
        public final int target; // the seat that the action targets, or NOBODY
        /** The key's value: "duke" of {"block":"duke"}, "true" of {"pass":true}; else "". */
        public final String value;
        public final List<String> cards; // of {"keep":[...]}; else empty
        public final Json raw; // as received

        private Move(Json raw) {
            this.raw = raw;
            target = raw.get("target").integer(NOBODY);
            boolean acts = !raw.get("action").isNull() || raw.keys().isEmpty();
            word = acts ? raw.get("action").string("") : raw.keys().get(0);
            Json first = acts ? Json.NULL : raw.get(word);
            value = first.is(Boolean.class) ? first.toString() : first.string("");
            cards = first.strings();
        }

        @Override
        public String toString() { return raw.toString(); }
    }

    /** The undecided action. */
    public static final class Pending {
        public int actor = NOBODY;
        public String action = "";
        public int target = NOBODY;
    }

    /** The undecided claim. */
    public static final class Claim {
        public int seat = NOBODY;
        public String role = "";
        public boolean block; // true: the claim of a block; false: of the action
    }

    /** A player at the table, with its public state of the latest request. */
    public static final class Player {
        public final int seat;
        public final String handle; // the same in all games of the match, unlike the seat
        public int coins;
        public int influence; // number of face-down cards; 0: it is out of the game, or in a draft
        public List<String> revealed = List.of(); // its lost cards, face up
        public String allegiance = ""; // "loyalist" or "reformist"; empty without sides, or before they are chosen
        public final Counts blocks = new Counts(); // by role: its blocks in this game
        public List<String> known = List.of(); // cards that it certainly holds, from you.known of the request
        public List<String> lacks = List.of(); // roles that it certainly lacks, but for those of which you see every card

        private Player(int seat, String handle) {
            this.seat = seat;
            this.handle = handle;
        }
        /** Whether it is still in the game. In a draft all players are, without cards. */
        public boolean alive() { return influence > 0 || revealed.isEmpty(); }
    }

    /** Counts by role; a role that was never counted reads as 0. */
    public static final class Counts extends HashMap<String, Integer> {
        private static final long serialVersionUID = 1;

        @Override
        public Integer get(Object role) { return getOrDefault(role, 0); }
    }

    // ---- JSON: for fields that the classes above don't have, and those of later variants ----------------------------

    /**
     * An immutable JSON value. A missing value is NULL, and a value of another type reads as the fallback:
     * game.rules.get("deck").get("duke").integer(3).
     */
    public static final class Json {
        public static final Json NULL = new Json(null);

        private final Object value; // null, Boolean, Number, String, List<Json>, Map<String, Json>

        private Json(Object value) { this.value = value; }

        /** Throws IllegalArgumentException if the text isn't one JSON value. */
        public static Json parse(String text) { return new Parser(text).document(); }

        @SuppressWarnings("unchecked") // the parser made the Map
        private Map<String, Json> members() { return value instanceof Map ? (Map<String, Json>) value : Map.of(); }

        public Json get(String key) { return members().getOrDefault(key, NULL); } // a member of an object, or NULL
        public List<String> keys() { return new ArrayList<>(members().keySet()); } // of an object, in order; else empty

        /** The elements of an array, or the values of an object; else empty. */
        @SuppressWarnings("unchecked") // the parser made the List
        public List<Json> list() {
            return value instanceof List ? (List<Json>) value : new ArrayList<>(members().values());
        }

        /** The strings in an array. */
        public List<String> strings() {
            return list().stream().filter(each -> each.is(String.class)).map(each -> (String) each.value)
                    .collect(Collectors.toUnmodifiableList());
        }

        public boolean has(String key) { return !get(key).isNull(); }
        public boolean isNull() { return value == null; }
        public boolean is(Class<?> type) { return type.isInstance(value); } // Boolean, Number, String, List or Map
        public String string(String otherwise) { return value instanceof String ? (String) value : otherwise; }
        public boolean bool(boolean otherwise) { return value instanceof Boolean ? (Boolean) value : otherwise; }
        public double number(double otherwise) {
            return value instanceof Number ? ((Number) value).doubleValue() : otherwise;
        }

        /** A number that fits an int, without its fraction. */
        public int integer(int otherwise) {
            double number = number(otherwise);
            return number >= Integer.MIN_VALUE && number <= Integer.MAX_VALUE ? (int) number : otherwise;
        }

        /** As JSON. */
        @Override
        public String toString() {
            List<String> parts = new ArrayList<>();
            if (value instanceof Map) {
                members().forEach((key, member) -> parts.add(quoted(key) + ":" + member));
                return "{" + String.join(",", parts) + "}";
            }
            if (value instanceof List) {
                list().forEach(element -> parts.add(element.toString()));
                return "[" + String.join(",", parts) + "]";
            }
            return value instanceof String ? quoted((String) value) : String.valueOf(value);
        }

        private static String quoted(String text) {
            StringBuilder out = new StringBuilder("\"");
            for (char c : text.toCharArray()) {
                boolean plain = c >= ' ' && c != '"' && c != '\\' && !Character.isSurrogate(c);
                out.append(plain ? String.valueOf(c) : String.format("\\u%04x", (int) c));
            }
            return out.append('"').toString();
        }
    }

    private static final class Parser {
        private static final int MAX_DEPTH = 200; // of brackets; the protocol promises at most 32
        private static final Pattern NUMBER = Pattern.compile("-?\\d+(\\.\\d+)?([eE][-+]?\\d+)?");

        private final String text;
        private int at = 0;

        Parser(String text) {
            this.text = text;
        }

        Json document() {
            Json value = value(0);
            require(peek() == '\0' && at == text.length());
            return value;
        }

        private void require(boolean good) {
            if (!good) {
                throw new IllegalArgumentException("invalid JSON at character " + at);
            }
        }

        /** The next character that isn't a blank; NUL at the end. */
        private char peek() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return at < text.length() ? text.charAt(at) : '\0';
        }

        private boolean take(char wanted) {
            boolean there = peek() == wanted && at < text.length();
            at += there ? 1 : 0;
            return there;
        }

        private Json value(int depth) {
            require(depth <= MAX_DEPTH);
            if (take('"')) {
                return new Json(string());
            }
            if (take('[')) {
                List<Json> elements = new ArrayList<>();
                for (boolean more = !take(']'); more; more = !take(']')) {
                    require(elements.isEmpty() || take(','));
                    elements.add(value(depth + 1));
                }
                return new Json(Collections.unmodifiableList(elements));
            }
            if (take('{')) {
                Map<String, Json> members = new LinkedHashMap<>();
                for (boolean more = !take('}'); more; more = !take('}')) {
                    require((members.isEmpty() || take(',')) && take('"'));
                    String key = string();
                    require(take(':'));
                    members.put(key, value(depth + 1));
                }
                return new Json(members);
            }
            int start = at;
            while (at < text.length() && " \t\r\n,]}".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(start, at);
            if (word.equals("true") || word.equals("false")) {
                return new Json(word.equals("true"));
            }
            require(word.equals("null") || NUMBER.matcher(word).matches());
            return word.equals("null") ? Json.NULL : new Json(new BigDecimal(word));
        }

        /** Reads the rest of a string, after its first quotation mark. */
        private String string() {
            StringBuilder out = new StringBuilder();
            for (;;) {
                require(at < text.length() && text.charAt(at) >= ' ');
                char c = text.charAt(at++);
                if (c == '"') {
                    return out.toString();
                }
                out.append(c == '\\' ? escaped() : c);
            }
        }

        private char escaped() {
            require(at < text.length());
            char c = text.charAt(at++);
            if (c == 'u') {
                require(at + 4 <= text.length() && text.substring(at, at + 4).matches("[0-9a-fA-F]{4}"));
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            int which = "\"\\/bfnrt".indexOf(c);
            require(which >= 0);
            return "\"\\/\b\f\n\r\t".charAt(which);
        }
    }
}
