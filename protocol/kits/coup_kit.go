// A kit for Coup Arena bots: it handles the messages of the protocol, and calls a method of your bot for each move.
// Copy this file next to your bot. It requires only Go 1.19 or newer. This is kit version 9. A complete bot:
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
// Write a method for each kind of request that you want to answer. It gets the game and returns an element of
// game.Legal. For other requests, and for nil, the kit plays game.Legal[0], a safe move (income, pass, show the card
// ...). Log and, after the start of Run, fmt.Print write to standard error. If a method panics, the kit prints its
// request and ends the program. With Base{Careful: true} it plays the safe move instead, and the bot continues.

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
)

// Nobody means no seat, or an unknown one.
const Nobody = -1

// Actions and keys of the moves in all rules.
const allMoves = " income foreign_aid coup tax assassinate steal exchange examine convert embezzle " +
	"pass challenge block show decline lose keep keep_shown pick side reveal examined "

// The methods that the kit calls, by kind of request, or by ! and a notification. Write those that you need.
var methods = map[string]string{
	"turn":           "Turn",          // (game *Game) *Move, like all requests: choose the action of your turn
	"challenge":      "Challenge",     // challenge game.Claim, or pass (the default)
	"block":          "Block",         // block game.Pending by claiming a role, or pass (the default)
	"prove":          "Prove",         // show the card that you claimed (the default), or decline
	"lose":           "Lose",          // choose the card to lose; game.Reason is the reason
	"exchange":       "Exchange",      // choose the cards to keep from game.Cards and game.Drawn; by default your hand
	"keep_shown":     "KeepShown",     // a variant: keep the card that you showed, or replace it (the default)
	"examine_show":   "ExamineShow",   // a variant: choose the card to show to the inquisitor
	"examine_decide": "ExamineDecide", // a variant: hand back game.Seen (the default), or replace it
	"draft":          "Draft",         // a variant: choose your first card from a set of five
	"allegiance":     "Allegiance",    // a variant: choose your side
	"other":          "Other",         // answer a kind of request that this kit doesn't know
	"!hello":         "MatchStart",    // (game *Game): prepare for the match; the players aren't known yet
	"!game_start":    "GameStart",     // (game *Game): prepare for a game: your cards and the players are known
	"!event":         "Event",         // (game *Game, event Object): process an event; each comes once, in order
	"!error":         "Fault",         // (game *Game, fault Object): fault.Text("message") explains what to fix
	"!game_over":     "GameOver",      // (game *Game): learn from a finished game: game.Winner is known
	"!match_over":    "MatchOver",     // (game *Game): clean up after the match; half a second is left
}

// Bot is a pointer to your struct, which embeds Base. Base has the options.
type Bot interface{ base() *Base }
type Base struct {
	Name, Version string // for logs, at most 64 characters; optional
	Careful       bool   // true: if a method panics, the kit prints it, plays Legal[0] and continues
}

func (base *Base) base() *Base { return base }

// Log writes a line to standard error, which the arena stores in the bot's log.
func Log(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }

// Move is a legal move.
type Move struct {
	Word   string   // the action, or else the key: tax, pass, challenge, block, show, keep ...
	Target int      // the seat that the action targets, or Nobody
	Role   string   // the key's value: the role to block with, to show, to lose or to pick; a side; hand_back
	Keep   []string // in Exchange: the cards to keep
	Raw    Object   // as received
}

// UnmarshalJSON reads a move of a message.
func (move *Move) UnmarshalJSON(text []byte) error {
	err := json.Unmarshal(text, &move.Raw)
	move.Word, move.Target = move.Raw.Text("action"), move.Raw.Seat("target")
	for key, value := range move.Raw {
		if move.Raw["action"] == nil && (move.Word == "" || key < move.Word) { // a map has no order
			move.Word, move.Role, move.Keep = key, fmt.Sprint(value), move.Raw.Texts(key)
		}
	}
	return err
}

// Player is a player at the table, with its public state of the latest request.
type Player struct {
	Seat       int            `json:"-"`
	Handle     string         `json:"-"` // the same in all games of the match, unlike the seat
	Coins      int            // its coins
	Influence  int            // number of face-down cards; 0: it is out of the game, or in a draft
	Revealed   []string       // its lost cards, face up
	Allegiance string         // loyalist or reformist; empty without sides, or before they are chosen
	Blocks     map[string]int `json:"-"` // by role: its blocks in this game
	Known      []string       `json:"-"` // cards that it certainly holds, from you.known
	Lacks      []string       `json:"-"` // roles that it certainly lacks, but for those of which you see every card
}

// Alive returns whether the player is still in the game. In a draft all players are, without cards.
func (player *Player) Alive() bool {
	return player.Influence > 0 || player.Handle != "" && len(player.Revealed) == 0
}

// State is the public state; its fields are also fields of Game.
type State struct {
	Turn, Actor   int       // number of the turn, from 1, counting all players' turns; the seat whose turn it is
	Deck, Reserve int       // cards in the court deck, coins in the treasury reserve
	Players       []*Player // by seat
}

// You is your private state; its fields are also fields of Game.
type You struct {
	Seat            int      // your seat in this game
	Cards           []string // your face-down cards
	Drawn, Discards []string // in Exchange: the cards that you drew; with a draft: the cards that you discarded
	Seen            string   // in ExamineDecide: the opponent's card that you see
	Known           struct { // what is certain about players and the court deck
		Players []Object // seat, has, lacks
		Deck    []string
	}
}

// Game is the game as your seat sees it, from the latest request. In GameOver, state and cards are final.
type Game struct {
	State      `json:"state"`
	You        `json:"you"`
	Kind       string     // the kind of request: turn, challenge, block ...; empty without a request
	Legal      []*Move    // all legal moves; the first is a safe move
	Request    Object     `json:"-"` // the message as received: a request, hello, game_start or game_over
	Events     []Object   // the events since the last message
	Number     int        `json:"game"` // number of the game in the match, from 0
	Pending    Object     // the undecided action: actor, action, and target if any; empty at your turn
	Claim      Object     // the undecided claim: seat, role, and block (true: the claim of a block)
	Proven     bool       // in Block: whether the actor proved the action's claim this turn
	Challenger int        // in Prove: the seat that challenges you
	Reason     string     // in Lose: why: coup, assassinate, challenge; in GameOver: why it ended
	Winner     int        // in GameOver: the seat that won; Nobody: a draw
	Survivors  []int      // in GameOver: the seats that won or share the draw
	Rules      Object     `json:"ruleset"` // hello.ruleset: game.Rules.Object("deck").Int("duke")
	Limits     Object     // hello.limits
	Match      Object     // hello.match: games, seats, your_handle, handles
	Random     *rand.Rand `json:"-"` // each game seeds it with game_seed; before the first game its seed is bot_seed
	words      []Object   // statements for the next answer
}

// Player returns the player in a seat; one without cards if there is no such seat.
func (game *Game) Player(seat int) *Player {
	if seat < 0 || seat >= len(game.Players) {
		return &Player{Seat: seat, Blocks: map[string]int{}}
	}
	return game.Players[seat]
}

// Opponents returns the other living players, clockwise from you.
func (game *Game) Opponents() (found []*Player) {
	for step := 1; step < len(game.Players); step++ {
		if player := game.Players[(game.Seat+step)%len(game.Players)]; player.Alive() {
			found = append(found, player)
		}
	}
	return found
}

// Me returns your own player, as the others see it; Holds returns whether you hold a role.
func (game *Game) Me() *Player            { return game.Player(game.Seat) }
func (game *Game) Holds(role string) bool { return count(game.Cards, role) > 0 }

// Moves returns all legal moves with this action or key: Moves("steal"), Moves("block"). A second argument selects the
// moves with that target or role: Moves("steal", 2), Moves("block", "duke"). It panics for a word of no rules.
func (game *Game) Moves(word string, what ...any) (found []*Move) {
	for _, move := range game.Legal {
		if move.Word == word && (len(what) == 0 || what[0] == move.Target || what[0] == move.Role) {
			found = append(found, move)
		}
	}
	if found == nil && !strings.Contains(allMoves, " "+word+" ") {
		panic(fmt.Sprintf("no rules have a move %q, only%s", word, allMoves))
	}
	return found
}

// Find, FindAt and FindRole return the first of them, or nil.
func (game *Game) Find(word string, what ...any) *Move {
	return append(game.Moves(word, what...), nil)[0]
}
func (game *Game) FindAt(word string, target int) *Move { return game.Find(word, target) }
func (game *Game) FindRole(word, role string) *Move     { return game.Find(word, role) }

// Say adds a statement to your next answer: Say("hold", "duke"), Say("spare", 2), Say("doubt", "duke", 2), Say("text",
// "Peace?"). At most 4, one of them a text. Without talk nothing is sent. Statements of others are "say" events.
func (game *Game) Say(says string, what ...any) {
	statement, part := Object{"says": says}, map[bool]string{false: "role", true: "text"}[says == "text"]
	for _, each := range what {
		if _, seat := each.(int); seat {
			statement["target"] = each
		} else {
			statement[part] = each
		}
	}
	if talk := game.Rules.Text("talk"); talk != "" && talk != "off" {
		game.words = append(game.words, statement)
	}
}
func (game *Game) SayAt(says string, target int)       { game.Say(says, target) }
func (game *Game) SayOf(says, role string, target int) { game.Say(says, role, target) }

// Odds returns the probability, 0 to 1, that a seat holds at least one card of a role (not_duke: no duke), from the
// cards that you see and you.known: 1 - C(U-d, k) / C(U, k). Of U unseen cards d have the role, and k are the seat's.
func (game *Game) Odds(seat int, role string) float64 {
	if strings.HasPrefix(role, "not_") {
		return 1 - game.Odds(seat, role[len("not_"):])
	}
	player, sight, elsewhere := game.Player(seat), append([]string{}, game.Known.Deck...), 0
	sight = append(append(append(sight, game.Cards...), game.Drawn...), game.Discards...)
	for _, other := range game.Players {
		sight = append(append(sight, other.Revealed...), other.Known...)
		if count(other.Lacks, role) > 0 { // hidden cards of other players that lack the role
			elsewhere += other.Influence - len(other.Known)
		}
	}
	deck := game.Rules.Object("deck")
	hidden := func(role string) int { return deck.Int(role) - count(sight, role) }
	unseen, copies, cards := -len(sight), hidden(role), player.Influence-len(player.Known)
	for each := range deck {
		unseen += deck.Int(each)
	}
	switch {
	case seat == game.Seat && game.Holds(role), count(player.Known, role) > 0:
		return 1
	case seat == game.Seat || cards <= 0 || copies <= 0 || unseen < cards || count(player.Lacks, role) > 0:
		return 0
	case copies > unseen-elsewhere-cards: // only this hand has room for them
		return 1
	case len(player.Lacks) == 0:
		unseen -= elsewhere
	}
	for _, other := range player.Lacks {
		unseen -= hidden(other)
	}
	none := 1.0 // C(unseen - copies, cards) / C(unseen, cards), a card at a time
	for card := 0; card < cards && none > 0; card++ {
		none *= float64(unseen-copies-card) / float64(unseen-card)
	}
	return 1 - none
}

func count(cards []string, role string) int {
	return strings.Count(" "+strings.Join(cards, "  ")+" ", " "+role+" ")
}

// take stores the values of a hello, game_start, request or game_over.
func (game *Game) take(message Object, line []byte) {
	you, before, handles := game.You, game.Players, message.Texts("players")
	game.State, game.You, game.Kind, game.Legal, game.Request, game.Winner = State{}, You{}, "", nil, message, Nobody
	game.Events, game.Pending, game.Claim, game.Challenger, game.Proven, game.Reason = nil, nil, nil, Nobody, false, ""
	_ = json.Unmarshal(line, game) // fields of a type that this kit doesn't know stay empty
	if seed := message.Text("game_seed") + message.Text("bot_seed"); seed != "" {
		hash := fnv.New64a()
		hash.Write([]byte(seed))
		game.Random = rand.New(rand.NewSource(int64(hash.Sum64())))
	}
	for seat, player := range game.Players {
		player.Seat, player.Blocks = seat, map[string]int{}
		if seat < len(handles) {
			player.Handle = handles[seat]
		} else if seat < len(before) {
			player.Handle, player.Blocks = before[seat].Handle, before[seat].Blocks
		}
	}
	for _, known := range game.Known.Players {
		player := game.Player(known.Seat("seat"))
		player.Known, player.Lacks = known.Texts("has"), known.Texts("lacks")
	}
	if message["type"] == "game_over" { // your cards are those of the latest event that contains them
		game.Seat, game.Discards = you.Seat, you.Discards
		cards := strings.Join(you.Cards, " ")
		for _, event := range game.Events {
			if event["cards"] != nil {
				cards = strings.Join(event.Texts("cards"), " ")
			} else if event["event"] == "lost" && event.Seat("seat") == you.Seat {
				cards = strings.Replace(cards, event.Text("role"), "", 1)
			}
		}
		if game.Me().Alive() {
			game.Cards = strings.Fields(cards)
		}
	}
}

// Object is a JSON object. A value that is missing or has another type reads as empty, zero or false.
type Object map[string]any

// Text returns a string, Int an integer, Bool a boolean, Seat a seat or Nobody, Object an object, List and Texts lists.
func (object Object) Text(key string) string   { return get[string](object[key]) }
func (object Object) Int(key string) int       { return int(get[float64](object[key])) }
func (object Object) Bool(key string) bool     { return get[bool](object[key]) }
func (object Object) Object(key string) Object { return get[map[string]any](object[key]) }
func (object Object) List(key string) []any    { return get[[]any](object[key]) }
func (object Object) Seat(key string) int {
	if object[key] == nil {
		return Nobody
	}
	return object.Int(key)
}

func (object Object) Texts(key string) (found []string) {
	for _, each := range object.List(key) {
		found = append(found, get[string](each))
	}
	return found
}

// String returns the object as JSON.
func (object Object) String() string {
	text, _ := json.Marshal(object)
	return string(text)
}

func get[T any](value any) T {
	found, _ := value.(T)
	return found
}

// Run plays: it reads the referee's messages from standard input and answers them until the match is over.
func Run(bot Bot) {
	wire, talk, input := os.Stdout, NewTalk(bot), bufio.NewReaderSize(os.Stdin, 1<<16)
	os.Stdout = os.Stderr // for output of the bot and of libraries
	called := ""
	for _, name := range methods {
		called += " " + name
	}
	for index, mine := 0, reflect.ValueOf(bot); index < mine.NumMethod(); index++ {
		name, fits := mine.Type().Method(index).Name, false
		switch mine.Method(index).Interface().(type) {
		case func(*Game) *Move, func(*Game), func(*Game, Object):
			fits = true
		}
		if fits != strings.Contains(called+" ", " "+name+" ") {
			Log("coup_kit: the kit never calls %s.%s; it calls the methods and signatures listed in coup_kit.go",
				strings.TrimPrefix(fmt.Sprintf("%T", bot), "*main."), name)
		}
	}
	for line, gone := input.ReadBytes('\n'); gone == nil && !talk.Ended; line, gone = input.ReadBytes('\n') {
		if answer := talk.Reply(line); answer != "" {
			_, _ = io.WriteString(wire, answer+"\n")
		}
	}
}

// Talk exchanges messages with the referee. Run connects it to standard input and output; tests use it directly.
type Talk struct {
	Bot   Bot
	Game  *Game
	Ended bool // after match_over
}

// NewTalk creates a talk that has received no message.
func NewTalk(bot Bot) *Talk { return &Talk{Bot: bot, Game: &Game{}} }

// Reply processes a message of the referee; it returns the answer without a newline, or "" if it needs none.
func (talk *Talk) Reply(line []byte) (answer string) {
	var message Object
	if problem := json.Unmarshal(line, &message); problem != nil {
		Log("coup_kit: ignored a line: %v", problem)
	}
	kind, base := message.Text("type"), talk.Bot.base()
	if kind == "hello" {
		talk.Game, answer = &Game{}, Object{"type": kind, "name": base.Name, "version": base.Version}.String()
	}
	if kind == "hello" || message["state"] != nil {
		talk.Game.take(message, line)
		for _, event := range talk.Game.Events {
			if event["event"] == "block" {
				talk.Game.Player(event.Seat("seat")).Blocks[event.Text("role")]++
			}
			talk.call("!event", event)
		}
	}
	if kind != "request" {
		talk.call("!"+kind, message)
		talk.Ended = kind == "match_over"
		return answer
	}
	choice, say := talk.call(talk.Game.Kind, message), ""
	if words, _ := json.Marshal(talk.Game.words); talk.Game.words != nil {
		talk.Game.words, say = nil, `,"say":`+string(words)
	}
	return fmt.Sprintf(`{"id":%d,"choice":%d%s}`, message.Int("id"), choice, say)
}

// call calls the bot's method for a message and returns the index of its move. It prints where a method panicked.
func (talk *Talk) call(kind string, about Object) (choice int) {
	game, name := talk.Game, methods[kind]
	if name == "" && kind == game.Kind {
		name = "Other"
	}
	method := reflect.ValueOf(talk.Bot).MethodByName(name)
	if !method.IsValid() {
		return 0
	}
	defer func() {
		if problem := recover(); problem != nil {
			Log("coup_kit: %T.%s failed at %s %v: %s, game %d, turn %d, %s\n%v\n%s", talk.Bot, name, game.Request["type"],
				game.Request["id"], game.Kind, game.Number, game.Turn, Object{"legal": game.Request["legal"]}, problem, debug.Stack())
			if !talk.Bot.base().Careful {
				panic(problem)
			}
			choice = 0
		}
	}()
	switch called := method.Interface().(type) {
	case func(*Game):
		called(game)
	case func(*Game, Object):
		called(game, about)
	case func(*Game) *Move:
		move := called(game)
		for index, each := range game.Legal {
			if move == each || move == nil {
				return index
			}
		}
		panic(fmt.Sprintf("%s returned %v, which isn't in game.Legal", name, move))
	}
	return 0
}
