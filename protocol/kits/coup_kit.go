// The Coup arena's kit for bots in Go 1.19 or newer, with the standard library alone. Copy this one file beside your bot
// (kit version 6):
//
//	package main
//
//	type MyBot struct{ Base }
//
//	func (bot *MyBot) Turn(game *Game) *Move {
//		if game.Holds("duke") {
//			return game.Find("tax")
//		}
//		return game.Legal[0]
//	}
//
//	func main() { Run(&MyBot{}) }
//
// A method for each kind of request gets the game and returns an element of game.Legal. What you don't write plays
// game.Legal[0], which is always a quiet move, and so does nil. SPEC.md says what is sent.
//
// Log writes to standard error, and once Run has begun so does fmt.Print: it can't break the conversation. A method that
// panics says at which request, and ends the program; with Base{Careful: true} the quiet move is played and the bot goes on.

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	"os"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"
)

// Nobody stands in place of a seat where there is none.
const Nobody = -1

// --- the bot ---------------------------------------------------------------------------------------------------------

// Bot has a method for each kind of request, and notifications. Embed Base in yours: it has them all.
type Bot interface {
	Turn(game *Game) *Move          // your turn: choose an action
	Challenge(game *Game) *Move     // somebody claims a role (game.Claim): pass or challenge
	Block(game *Game) *Move         // an action (game.Pending) can be blocked by you: pass, or block and claim a role
	Prove(game *Game) *Move         // game.Challenger doubts your claim: show the card, or decline and lose an influence
	Lose(game *Game) *Move          // lose one of your two cards; game.Reason says to what
	Exchange(game *Game) *Move      // keep as many as you had of game.Cards and game.Drawn
	KeepShown(game *Game) *Move     // a variant: keep the card that you have shown, or have it replaced
	ExamineShow(game *Game) *Move   // a variant: show one of your cards to an inquisitor
	ExamineDecide(game *Game) *Move // a variant: hand back the card that you look at (game.Seen), or force a swap
	Draft(game *Game) *Move         // a variant: pick the first of your two cards
	Allegiance(game *Game) *Move    // a variant: choose your side
	Other(game *Game) *Move         // a kind of request that this kit doesn't know

	MatchStart(game *Game)          // game.Rules, game.Limits, game.Match are known; the players aren't yet
	GameStart(game *Game)           // game.Seat, game.Cards, game.Players are known
	Event(game *Game, event Object) // something happened, and game has taken it in: event.Text("event") == "block"
	GameOver(game *Game)            // game.Winner, game.Survivors
	Fault(game *Game, fault Object) // the referee counted a fault: fault.Text("message"); by default it is logged
	MatchOver(game *Game)           // leave: half a second is left

	base() *Base
}

// Base is what every bot embeds: the options, and defaults for all methods.
type Base struct {
	Name    string // in the match's log; without one it is the type's
	Version string
	Careful bool // where a method panics, the quiet move is played and the bot goes on
}

func (base *Base) Turn(game *Game) *Move          { return nil }
func (base *Base) Challenge(game *Game) *Move     { return nil }
func (base *Base) Block(game *Game) *Move         { return nil }
func (base *Base) Prove(game *Game) *Move         { return nil }
func (base *Base) Lose(game *Game) *Move          { return nil }
func (base *Base) Exchange(game *Game) *Move      { return nil }
func (base *Base) KeepShown(game *Game) *Move     { return nil }
func (base *Base) ExamineShow(game *Game) *Move   { return nil }
func (base *Base) ExamineDecide(game *Game) *Move { return nil }
func (base *Base) Draft(game *Game) *Move         { return nil }
func (base *Base) Allegiance(game *Game) *Move    { return nil }
func (base *Base) Other(game *Game) *Move         { return nil }

func (base *Base) MatchStart(game *Game)          {}
func (base *Base) GameStart(game *Game)           {}
func (base *Base) Event(game *Game, event Object) {}
func (base *Base) GameOver(game *Game)            {}
func (base *Base) MatchOver(game *Game)           {}
func (base *Base) Fault(game *Game, fault Object) {
	Log("coup_kit: fault %s: %s", fault.Text("code"), fault.Text("message"))
}

func (base *Base) base() *Base { return base }

// Log writes a line to standard error, which the arena keeps in the bot's log.
func Log(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
}

// --- the game --------------------------------------------------------------------------------------------------------

// Move is a legal move.
type Move struct {
	Word   string   // its action, or else its key: tax, pass, challenge, block, show, keep ...
	Target int      // the seat at which an action is aimed, or Nobody
	Role   string   // the word beside the key: the role to block with, to show, to lose, to pick; a side; hand_back
	Keep   []string // the cards to keep, in an exchange
	Raw    Object   // as on the wire
}

// History is what one player did in all games of the match so far. Players are told apart by their handles.
type History struct {
	Claimed       int // claims of a role, by actions and by blocks
	Challenged    int // those of them that somebody challenged
	Proven        int // those of these that it proved
	Caught        int // those of these that it couldn't, or wouldn't, prove
	Challenges    int // challenges that it made
	WonChallenges int // those of them that caught somebody
	Blocks        int
}

// BluffRate tells how many of its challenged claims were bluffs, 0 to 1; false before the first.
func (history *History) BluffRate() (float64, bool) {
	if history.Challenged == 0 {
		return 0, false
	}
	return float64(history.Caught) / float64(history.Challenged), true
}

// Player is a player at the table. What it has is that of the latest request; what it did is of this game.
type Player struct {
	Seat       int
	Handle     string // its name, which stays the same in all games of the match; seats don't
	Coins      int
	Influence  int            // cards face down; 0: it is out of the game
	Revealed   []string       // lost cards, face up
	Allegiance string         // loyalist or reformist; empty where there are no sides, or not yet
	Claims     map[string]int // role -> how often it claimed it, with cards that it may still hold
	Caught     map[string]int // role -> how often it couldn't, or wouldn't, prove it
	Shown      map[string]int // role -> how often it proved it
	Blocks     map[string]int // role -> how often it blocked with it
	Known      []string       // roles that it certainly holds, since it showed or you saw a card, and kept it
	History    *History       // what it did in the whole match

	lacks []string // roles that it certainly doesn't hold
}

// Alive tells whether the player is still in the game.
func (player *Player) Alive() bool { return player.Influence > 0 }

func (player *Player) knows(role string) {
	if !has(player.Known, role) {
		player.Known = append(player.Known, role)
	}
}

// forgets: one card of this role has gone; the other card is the same as before.
func (player *Player) forgets(role string) {
	delete(player.Claims, role)
	for place, known := range player.Known {
		if known == role {
			player.Known = append(player.Known[:place:place], player.Known[place+1:]...)
			return
		}
	}
}

// renewed: it may have other cards now.
func (player *Player) renewed() {
	player.Claims = map[string]int{}
	player.Known = nil
	player.lacks = nil
}

func (player *Player) claims(role string) {
	player.Claims[role]++
	player.History.Claimed++
}

// Pending is the action that is being decided; Action is empty where there is none.
type Pending struct {
	Actor  int
	Action string
	Target int
}

// Claim is the claim to challenge or to prove; Role is empty where there is none.
type Claim struct {
	Seat  int
	Role  string
	Block bool // a block of the pending action claims it; else the action itself does
}

// Game is the game as your seat sees it, one for the whole match. Between requests it stays as the latest one said.
type Game struct {
	Kind       string     // what is asked: turn, challenge, block ...; empty before the first request of a game
	Legal      []*Move    // every move that you may choose; the first is a quiet one
	Request    Object     // the request as it came, or game_start before the first one of a game
	State      Object     // the public state as on the wire
	Number     int        // the number of the game in the match, from 0
	Turn       int        // the number of the turn, from 1, over all players together
	Actor      int        // the seat whose turn it is
	Seat       int        // your seat in this game
	Cards      []string   // your cards
	Drawn      []string   // in Exchange: the cards that you drew
	Seen       string     // in ExamineDecide: the card of another that you look at
	Players    []*Player  // by seat
	Pending    Pending    // in all kinds but turn
	Claim      Claim      // in Challenge and Prove
	Proven     bool       // in Block: whether the action's claim was challenged and proven this turn
	Challenger int        // in Prove: the seat that challenges you
	Reason     string     // in Lose: to what, coup, assassinate, challenge
	Winner     int        // in GameOver: the seat that won; Nobody: a draw
	Survivors  []int      // in GameOver: the seats that won or share the draw
	Rules      Object     // the fields of hello.ruleset: game.Rules.Object("deck").Int("duke")
	Limits     Object     // those of hello.limits
	Match      Object     // those of hello.match: games, seats, your_handle, handles
	BotSeed    string     // 128 random bits
	GameSeed   string     // likewise, of this game; empty before the first, and where the arena is too old to send it
	Random     *rand.Rand // seeded anew by each GameSeed, before the first game by BotSeed: a game can be repeated

	histories map[string]*History
	doubter   int // who challenged last, and which role
	doubted   string
	hand      []string         // your cards before the latest events
	drawn     []string         // what you drew to exchange
	deck      []string         // cards that certainly lie in the court deck
	words     []map[string]any // to be said beside the next answer
}

// Me returns you, as the others see you.
func (game *Game) Me() *Player { return game.Player(game.Seat) }

// Player returns the player in a seat; one without cards if there is no such seat.
func (game *Game) Player(seat int) *Player {
	if seat < 0 || seat >= len(game.Players) {
		return &Player{Seat: seat, History: &History{}}
	}
	return game.Players[seat]
}

// Opponents returns the others who are still in the game, clockwise from you.
func (game *Game) Opponents() []*Player {
	var found []*Player
	for step := 1; step < len(game.Players); step++ {
		if player := game.Players[(game.Seat+step)%len(game.Players)]; player.Alive() {
			found = append(found, player)
		}
	}
	return found
}

// Holds tells whether you hold a role.
func (game *Game) Holds(role string) bool { return has(game.Cards, role) }

// Find returns the first legal move of an action or key, or nil: Find("tax"), Find("challenge"), Find("block").
func (game *Game) Find(word string) *Move { return first(game.Moves(word)) }

// FindAt returns the legal action against a seat, or nil: FindAt("steal", 2).
func (game *Game) FindAt(word string, target int) *Move {
	for _, move := range game.Moves(word) {
		if move.Target == target {
			return move
		}
	}
	return nil
}

// FindRole returns the legal move with a key and a word, or nil: FindRole("block", "duke").
func (game *Game) FindRole(word, role string) *Move {
	for _, move := range game.Moves(word) {
		if move.Role == role {
			return move
		}
	}
	return nil
}

// Moves returns all legal moves of an action or key.
func (game *Game) Moves(word string) []*Move {
	var found []*Move
	for _, move := range game.Legal {
		if _, key := move.Raw[word]; key || move.Word == word {
			found = append(found, move)
		}
	}
	return found
}

// Say says something beside your next answer: Say("hold", "duke"), Say("lack", "duke"), or, where the rules allow it,
// Say("text", "Peace?"). All hear it, and nobody is bound. At most 4, one of them a text. Without talk it isn't sent.
// Others' words are events, "say".
func (game *Game) Say(says, what string) {
	part := "role"
	if says == "text" {
		part = "text"
	}
	game.speak(map[string]any{"says": says, part: what})
}

// SayAt says the same of a seat: SayAt("attack", 2), SayAt("spare", 2).
func (game *Game) SayAt(says string, target int) {
	game.speak(map[string]any{"says": says, "target": target})
}

// SayOf says the same of a seat and a role: SayOf("doubt", "duke", 2).
func (game *Game) SayOf(says, role string, target int) {
	game.speak(map[string]any{"says": says, "role": role, "target": target})
}

func (game *Game) speak(statement map[string]any) {
	if talk := game.Rules.Text("talk"); talk != "" && talk != "off" {
		game.words = append(game.words, statement)
	}
}

// Odds tells how likely a seat holds at least one card of a role, 0 to 1, from the cards that you can see.
//
// It is 1 - C(U-d, k) / C(U, k): of U unseen cards d are of the role, and k are the seat's. It takes no account of what
// players claim. Of yourself you know, and of a card that a player showed and kept: there it is 0 or 1. For the claim
// not_duke it is how likely the seat has no duke. After a draft, where cards are chosen and half of them are away, it is a
// guess.
func (game *Game) Odds(seat int, role string) float64 {
	if strings.HasPrefix(role, "not_") {
		return 1 - game.Odds(seat, role[len("not_"):])
	}
	if seat == game.Seat {
		if game.Holds(role) {
			return 1
		}
		return 0
	}
	player := game.Player(seat)
	if has(player.Known, role) {
		return 1
	}
	if has(player.lacks, role) {
		return 0
	}
	sight := append(append([]string{}, game.Cards...), game.Drawn...)
	sight = append(append(sight, game.Request.Object("you").Texts("discards")...), game.deck...)
	elsewhere := 0 // hidden cards of others who lack the role
	for _, other := range game.Players {
		sight = append(sight, other.Revealed...)
		if other.Seat != game.Seat {
			sight = append(sight, other.Known...)
			if has(other.lacks, role) {
				elsewhere += other.Influence - len(other.Known)
			}
		}
	}
	deck := game.Rules.Object("deck")
	hidden := func(role string) int { return deck.Int(role) - count(sight, role) }
	unseen, copies, cards := -len(sight), hidden(role), player.Influence-len(player.Known)
	for each := range deck {
		unseen += deck.Int(each)
	}
	if cards <= 0 || copies <= 0 || unseen < cards {
		return 0
	}
	if copies > unseen-elsewhere-cards { // they have no place but this hand
		return 1
	}
	if len(player.lacks) == 0 {
		unseen -= elsewhere
	}
	for _, other := range player.lacks {
		unseen -= hidden(other)
	}
	none := 1.0
	for card := 0; card < cards; card++ {
		none *= float64(unseen-copies-card) / float64(unseen-card)
		if none <= 0 {
			return 1
		}
	}
	return 1 - none
}

// --- following the game ---

func newGame(hello Object) *Game {
	seed := hello.Text("bot_seed")
	return &Game{
		Rules:     hello.Object("ruleset"),
		Limits:    hello.Object("limits"),
		Match:     hello.Object("match"),
		BotSeed:   seed,
		Random:    rand.New(rand.NewSource(mixed(seed))),
		Winner:    Nobody,
		histories: map[string]*History{},
		doubter:   Nobody,
	}
}

func mixed(seed string) int64 {
	hash := fnv.New64a()
	hash.Write([]byte(seed))
	return int64(hash.Sum64())
}

func (game *Game) begin(message Object, handles []string) {
	game.GameSeed = message.Text("game_seed")
	if game.GameSeed != "" {
		game.Random.Seed(mixed(game.GameSeed))
	}
	game.hand, game.drawn, game.deck = message.Object("you").Texts("cards"), nil, nil
	game.Winner = Nobody
	game.Survivors = nil
	game.Players = nil
	for seat, handle := range handles {
		if game.histories[handle] == nil {
			game.histories[handle] = &History{}
		}
		game.Players = append(game.Players, &Player{
			Seat: seat, Handle: handle, History: game.histories[handle],
			Claims: map[string]int{}, Caught: map[string]int{}, Shown: map[string]int{}, Blocks: map[string]int{},
		})
	}
	game.take(message)
}

// take takes in what a request, or game_start, says.
func (game *Game) take(message Object) {
	state, you := message.Object("state"), message.Object("you")
	pending, claim := message.Object("pending"), message.Object("claim")
	game.Request, game.State = message, state
	game.Kind = message.Text("kind")
	game.Number = message.Int("game")
	game.Turn = state.Int("turn")
	game.Actor = state.Int("actor")
	game.Seat = you.Int("seat")
	if game.Seat < 0 {
		game.Seat = 0
	}
	game.Cards = you.Texts("cards")
	game.Drawn = you.Texts("drawn")
	game.Seen = you.Text("seen")
	game.Legal = nil
	for _, raw := range message.List("legal") {
		game.Legal = append(game.Legal, newMove(object(raw)))
	}
	game.Pending = Pending{pending.Seat("actor"), pending.Text("action"), pending.Seat("target")}
	game.Claim = Claim{claim.Seat("seat"), claim.Text("role"), claim.Bool("block")}
	game.Proven = message.Bool("proven")
	game.Challenger = message.Seat("challenger")
	game.Reason = message.Text("reason")
	for seat, raw := range state.List("players") {
		if told := object(raw); seat < len(game.Players) {
			player := game.Players[seat]
			player.Coins = told.Int("coins")
			player.Influence = told.Int("influence")
			player.Revealed = told.Texts("revealed")
			player.Allegiance = told.Text("allegiance")
		}
	}
}

func newMove(raw Object) *Move {
	move := &Move{Word: raw.Text("action"), Target: raw.Seat("target"), Raw: raw}
	if move.Word != "" {
		return move
	}
	for key := range raw {
		if move.Word == "" || key < move.Word { // a map has no order
			move.Word = key
		}
	}
	move.Keep = raw.Texts(move.Word)
	switch value := raw[move.Word].(type) {
	case string:
		move.Role = value
	case bool:
		move.Role = fmt.Sprint(value)
	}
	return move
}

func (game *Game) follow(event Object) {
	player, role := game.Player(event.Seat("seat")), event.Text("role")
	if player.Claims == nil { // no such seat
		return
	}
	switch event.Text("event") {
	case "action":
		if claim := event.Text("claim"); claim != "" {
			player.claims(claim)
		}
	case "block":
		player.claims(role)
		player.Blocks[role]++
		player.History.Blocks++
	case "challenge":
		game.doubter, game.doubted = player.Seat, role
		player.History.Challenges++
		game.Player(event.Seat("claimant")).History.Challenged++
	case "shown":
		player.Shown[role]++
		player.History.Proven++
		if event["replaced"] == false {
			player.knows(role)
		} else {
			player.forgets(role)
			player.lacks = nil
			game.swap(player, []string{role}, event, false)
		}
	case "shown_hand":
		player.Shown[game.doubted]++
		player.History.Proven++
		player.renewed()
		game.swap(player, event.Texts("roles"), event, false)
	case "unproven":
		player.Caught[role]++
		delete(player.Claims, role)
		player.History.Caught++
		game.Player(game.doubter).History.WonChallenges++
		automatic := game.Rules.Text("prove") == "automatic"
		if strings.HasPrefix(role, "not_") {
			if automatic || game.Rules["embezzle_concede"] == false {
				player.knows(role[len("not_"):])
			}
		} else if automatic && !has(player.lacks, role) {
			player.lacks = append(player.lacks, role)
		}
	case "lost":
		player.forgets(role)
		if player.Seat == game.Seat {
			game.hand = without(game.hand, role)
		}
	case "drafted":
		if event["cards"] != nil {
			game.hand = event.Texts("cards")
		}
	case "exchanged":
		player.renewed()
		if kept := event.Texts("cards"); event["cards"] != nil && len(game.drawn) > 0 {
			back := without(append(append([]string{}, game.hand...), game.drawn...), kept...)
			game.deck = append(game.deck, back...)
			game.hand, game.drawn = kept, nil
		} else {
			game.thin(event.Int("count"))
		}
	case "forfeit":
		player.renewed()
	case "examined":
		switch target := game.Player(event.Seat("target")); {
		case event.Bool("replaced") && role != "": // you know which card went
			target.forgets(role)
			target.lacks = nil
			game.swap(target, []string{role}, event, game.Rules.Text("examine_replace") == "draw_first")
		case event.Bool("replaced"):
			target.renewed()
			game.thin(1)
		case role != "":
			target.knows(role)
		}
	}
}

// swap: cards go to the deck, and as many come from it.
func (game *Game) swap(player *Player, back []string, event Object, drawFirst bool) {
	if !drawFirst {
		game.deck = append(game.deck, back...)
	}
	if player.Seat == game.Seat && event["cards"] != nil {
		cards := event.Texts("cards")
		came := without(append([]string{}, cards...), without(game.hand, back...)...)
		game.deck = without(game.deck, came...)
		game.hand = cards
	} else {
		game.thin(len(back))
	}
	if drawFirst {
		game.deck = append(game.deck, back...)
	}
}

// thin: somebody drew cards that you don't see; of each role as many fewer are certain.
func (game *Game) thin(drawn int) {
	before := game.deck
	game.deck = nil
	for place, role := range before {
		if count(before[:place], role) >= drawn {
			game.deck = append(game.deck, role)
		}
	}
}

// end makes the table that the last events of a game leave.
func (game *Game) end(message Object) {
	for _, raw := range message.List("events") {
		event := object(raw)
		player := game.Player(event.Seat("seat"))
		switch event.Text("event") {
		case "coins":
			player.Coins += event.Int("delta")
		case "drafted":
			player.Influence = 2
		case "converted":
			game.Player(event.Seat("target")).Allegiance = event.Text("allegiance")
		case "allegiances":
			for seat, side := range event.Texts("sides") {
				game.Player(seat).Allegiance = side
			}
		case "lost":
			player.Influence--
			player.Revealed = append(player.Revealed, event.Text("role"))
		case "forfeit":
			player.Influence = 0
			player.Revealed = append(player.Revealed, event.Texts("roles")...)
		}
	}
	game.Kind, game.Legal, game.Drawn, game.Seen, game.Cards = "", nil, nil, "", nil
	if game.Me().Influence > 0 {
		game.Cards = append(game.Cards, game.hand...)
		sort.Strings(game.Cards)
	}
}

// without returns the cards that are left where some are taken, as far as they are there.
func without(cards []string, gone ...string) []string {
	left := append([]string{}, cards...)
	for _, role := range gone {
		for place, card := range left {
			if card == role {
				left = append(left[:place], left[place+1:]...)
				break
			}
		}
	}
	return left
}

func count(cards []string, role string) (found int) {
	for _, card := range cards {
		if card == role {
			found++
		}
	}
	return found
}

func first(moves []*Move) *Move {
	if len(moves) == 0 {
		return nil
	}
	return moves[0]
}

func has(words []string, word string) bool {
	for _, each := range words {
		if each == word {
			return true
		}
	}
	return false
}

// --- JSON ------------------------------------------------------------------------------------------------------------

// Object is an object of JSON. What isn't there, or is of another type, is empty, zero or false.
type Object map[string]any

// Text returns a text.
func (object Object) Text(key string) string {
	text, _ := object[key].(string)
	return text
}

// Int returns a whole number.
func (object Object) Int(key string) int { return whole(object[key]) }

// Seat returns a seat, Nobody where there is none.
func (object Object) Seat(key string) int {
	if _, there := object[key].(float64); !there {
		return Nobody
	}
	return object.Int(key)
}

// Bool tells whether it is true.
func (object Object) Bool(key string) bool {
	value, _ := object[key].(bool)
	return value
}

// Object returns an object in it.
func (object Object) Object(key string) Object {
	found, _ := object[key].(map[string]any)
	return found
}

// List returns a list.
func (object Object) List(key string) []any {
	list, _ := object[key].([]any)
	return list
}

// Texts returns a list of texts.
func (object Object) Texts(key string) []string {
	var texts []string
	for _, each := range object.List(key) {
		text, _ := each.(string)
		texts = append(texts, text)
	}
	return texts
}

// String returns it as JSON.
func (object Object) String() string { return written(map[string]any(object)) }

func object(value any) Object {
	found, _ := value.(map[string]any)
	return found
}

func whole(value any) int {
	number, _ := value.(float64)
	return int(number)
}

func written(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return "null"
	}
	return strings.TrimSpace(text.String())
}

// --- the conversation ------------------------------------------------------------------------------------------------

// Run plays: it reads the arena's lines from standard input and answers them, until the match is over.
func Run(bot Bot) {
	wire := os.Stdout
	os.Stdout = os.Stderr // for what the bot or a library prints
	talk := NewTalk(bot)
	reportUncalled(talk)
	input := bufio.NewReaderSize(os.Stdin, 1<<16)
	for !talk.Ended {
		line, err := input.ReadBytes('\n')
		if answer := talk.Reply(line); answer != "" {
			if _, err := io.WriteString(wire, answer+"\n"); err != nil {
				return // the arena has gone
			}
		}
		if err != nil {
			break
		}
	}
	if talk.Failed {
		os.Exit(1)
	}
}

// reportUncalled names the exported methods that look like a request's, which the kit doesn't know.
func reportUncalled(talk *Talk) {
	bot := talk.Bot
	mine, known := reflect.TypeOf(bot), reflect.TypeOf((*Bot)(nil)).Elem()
	turn, _ := known.MethodByName("Turn")
	start, _ := known.MethodByName("GameStart")
	for index := 0; index < mine.NumMethod(); index++ {
		name, shape := mine.Method(index).Name, reflect.ValueOf(bot).Method(index).Type()
		if _, called := known.MethodByName(name); !called && (shape == turn.Type || shape == start.Type) {
			Log("coup_kit: the kit never calls %s.%s; it calls the methods of Bot (a helper of yours begins with a small letter)",
				talk.name(), name)
		}
	}
}

// Talk is a conversation with the arena, line by line; Run carries it over the pipes, your tests need none.
type Talk struct {
	Bot    Bot
	Game   *Game
	Ended  bool // after match_over, and after a panic
	Failed bool // after a panic
}

// NewTalk begins with the first line still to come.
func NewTalk(bot Bot) *Talk { return &Talk{Bot: bot, Game: newGame(nil)} }

// Reply takes in a line of the arena, and returns the answer, without a newline; empty where it wants none.
func (talk *Talk) Reply(line []byte) string {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return ""
	}
	var message Object
	if err := json.Unmarshal(line, &message); err != nil {
		Log("coup_kit: a line of the arena can't be read: %v", err)
		return ""
	}
	bot, game := talk.Bot, talk.Game
	switch message.Text("type") {
	case "hello":
		talk.Game = newGame(message)
		talk.notify("MatchStart", message, func() { bot.MatchStart(talk.Game) })
		if !talk.Ended {
			return talk.hello()
		}
	case "request":
		return talk.request(message)
	case "game_start":
		game.begin(message, message.Texts("players"))
		talk.notify("GameStart", message, func() { bot.GameStart(game) })
	case "game_over":
		talk.events(message)
		game.end(message)
		game.Winner = message.Seat("winner")
		for _, seat := range message.List("survivors") {
			game.Survivors = append(game.Survivors, whole(seat))
		}
		talk.notify("GameOver", message, func() { bot.GameOver(game) })
	case "error":
		talk.notify("Fault", message, func() { bot.Fault(game, message) })
	case "match_over":
		talk.notify("MatchOver", message, func() { bot.MatchOver(game) })
		talk.Ended = true
	}
	return ""
}

func (talk *Talk) hello() string {
	base := talk.Bot.base()
	answer := map[string]any{"type": "hello", "name": talk.name()}
	if base.Name != "" {
		answer["name"] = short(base.Name)
	}
	if base.Version != "" {
		answer["version"] = short(base.Version)
	}
	return written(answer)
}

func (talk *Talk) name() string {
	name := fmt.Sprintf("%T", talk.Bot)
	return short(name[strings.LastIndex(name, ".")+1:])
}

func short(text string) string {
	if letters := []rune(text); len(letters) > 64 {
		return string(letters[:64])
	}
	return text
}

func (talk *Talk) request(message Object) string {
	bot, game := talk.Bot, talk.Game
	if seats := len(message.Object("state").List("players")); len(game.Players) != seats { // no game_start came
		handles := make([]string, seats)
		for seat := range handles {
			handles[seat] = fmt.Sprint(seat)
		}
		game.begin(message, handles)
	} else {
		game.take(message)
	}
	talk.events(message)
	game.hand, game.drawn = game.Cards, game.Drawn
	game.deck = without(game.deck, game.drawn...)
	if game.Seen != "" {
		game.Player(game.Pending.Target).knows(game.Seen) // after the events, which may tell of an earlier card
	}
	if talk.Ended {
		return ""
	}
	method, ask := "Other", bot.Other
	switch game.Kind {
	case "turn":
		method, ask = "Turn", bot.Turn
	case "challenge":
		method, ask = "Challenge", bot.Challenge
	case "block":
		method, ask = "Block", bot.Block
	case "prove":
		method, ask = "Prove", bot.Prove
	case "lose":
		method, ask = "Lose", bot.Lose
	case "exchange":
		method, ask = "Exchange", bot.Exchange
	case "keep_shown":
		method, ask = "KeepShown", bot.KeepShown
	case "examine_show":
		method, ask = "ExamineShow", bot.ExamineShow
	case "examine_decide":
		method, ask = "ExamineDecide", bot.ExamineDecide
	case "draft":
		method, ask = "Draft", bot.Draft
	case "allegiance":
		method, ask = "Allegiance", bot.Allegiance
	}
	legal, choice := game.Legal, 0
	talk.notify(method, message, func() {
		move := ask(game)
		if move == nil {
			return
		}
		for index, each := range legal {
			if each == move {
				choice = index
				return
			}
		}
		panic(fmt.Sprintf("%s returned %v, which isn't in game.Legal", method, *move))
	})
	if talk.Ended {
		return ""
	}
	say := ""
	if len(game.words) > 0 {
		words, _ := json.Marshal(game.words) // it has texts and numbers alone
		say = `,"say":` + string(words)
		game.words = nil
	}
	return fmt.Sprintf(`{"id":%d,"choice":%d%s}`, message.Int("id"), choice, say)
}

func (talk *Talk) events(message Object) {
	for _, raw := range message.List("events") {
		event := object(raw)
		talk.Game.follow(event)
		talk.notify("Event", message, func() { talk.Bot.Event(talk.Game, event) })
	}
}

// notify calls a method of the bot, and says where it panicked if it does.
func (talk *Talk) notify(method string, message Object, call func()) {
	if talk.Ended {
		return
	}
	defer func() {
		if problem := recover(); problem != nil {
			Log("panic: %v\n\n%s", problem, debug.Stack())
			place := message.Text("type")
			if place == "request" {
				place += fmt.Sprintf(" %d: %s, game %d, turn %d, legal %s", message.Int("id"), message.Text("kind"),
					message.Int("game"), message.Object("state").Int("turn"), written(message["legal"]))
			}
			Log("coup_kit: %s.%s failed at %s", talk.name(), method, place)
			if !talk.Bot.base().Careful {
				talk.Ended, talk.Failed = true, true
			}
		}
	}()
	call()
}
