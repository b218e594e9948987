// The Coup arena's kit for bots in Go 1.19 or newer, with the standard library alone. Copy this one file beside your bot
// (kit version 7):
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
// game.Legal[0], which is always a quiet move, and so does nil. Log writes to standard error, and once Run has begun so
// does fmt.Print: it can't break the conversation. A method that panics says at which request, and ends the program; with
// Base{Careful: true} the quiet move is played and the bot goes on.

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

// Nobody stands in place of a seat where there is none.
const Nobody = -1

// The methods of a bot that the kit calls, by the kind of the request, or ! and what is told. Write those you need.
var methods = map[string]string{
	"turn":           "Turn",          // (game *Game) *Move, as all kinds of requests: choose an action
	"challenge":      "Challenge",     // somebody claims a role (game.Claim): pass or challenge
	"block":          "Block",         // an action (game.Pending) can be blocked by you: pass, or block and claim a role
	"prove":          "Prove",         // game.Challenger doubts your claim: show the card, or decline
	"lose":           "Lose",          // lose one of your two cards; game.Reason says to what
	"exchange":       "Exchange",      // keep as many as you had of game.Cards and game.Drawn
	"keep_shown":     "KeepShown",     // a variant: keep the card that you have shown, or have it replaced
	"examine_show":   "ExamineShow",   // a variant: show one of your cards to an inquisitor
	"examine_decide": "ExamineDecide", // a variant: hand back the card that you look at (game.Seen), or force a swap
	"draft":          "Draft",         // a variant: pick the first of your two cards
	"allegiance":     "Allegiance",    // a variant: choose your side
	"other":          "Other",         // a kind of request that this kit doesn't know
	"!hello":         "MatchStart",    // (game *Game): game.Rules, game.Limits, game.Match are known
	"!game_start":    "GameStart",     // (game *Game): game.Seat, game.Cards, game.Players are known
	"!event":         "Event",         // (game *Game, event Object): something happened, event.Text("event") == "block"
	"!error":         "Fault",         // (game *Game, fault Object): the referee counted a fault, fault.Text("message")
	"!game_over":     "GameOver",      // (game *Game): game.Winner, game.Survivors
	"!match_over":    "MatchOver",     // (game *Game): leave; half a second is left
}

// Bot is a pointer to a struct of yours that embeds Base, which has the options.
type Bot interface{ base() *Base }
type Base struct {
	Name, Version string // in the match's log; may be left out
	Careful       bool   // where a method panics, the quiet move is played and the bot goes on
}

func (base *Base) base() *Base { return base }

// Log writes a line to standard error, which the arena keeps in the bot's log.
func Log(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }

// Move is a legal move.
type Move struct {
	Word   string   // its action, or else its key: tax, pass, challenge, block, show, keep ...
	Target int      // the seat at which an action is aimed, or Nobody
	Role   string   // the word beside the key: the role to block with, to show, to lose, to pick; a side; hand_back
	Keep   []string // the cards to keep, in an exchange
	Raw    Object   // as on the wire
}

// UnmarshalJSON reads a move of the wire.
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

// Player is a player at the table, as of the latest request.
type Player struct {
	Seat       int            `json:"-"`
	Handle     string         `json:"-"` // its name, which stays the same in all games of the match; seats don't
	Coins      int            // its coins
	Influence  int            // cards face down; 0: it is out of the game
	Revealed   []string       // lost cards, face up
	Allegiance string         // loyalist or reformist; empty where there are no sides, or not yet
	Blocks     map[string]int `json:"-"` // role -> how often it blocked with it in this game
	Known      []string       `json:"-"` // cards that it certainly holds, as you.known says
	Lacks      []string       `json:"-"` // roles that it certainly doesn't hold, as you.known says
}

// Alive tells whether the player is still in the game.
func (player *Player) Alive() bool { return player.Influence > 0 }

// State is the public state; its fields are the game's too.
type State struct {
	Turn, Actor   int       // the number of the turn, from 1, over all players together; the seat whose turn it is
	Deck, Reserve int       // cards in the court deck, coins in the treasury reserve
	Players       []*Player // by seat
}

// You is what you alone are sent; its fields are the game's too.
type You struct {
	Seat            int      // your seat in this game
	Cards           []string // your cards
	Drawn, Discards []string // what you drew, in Exchange; what you didn't keep of a draft
	Seen            string   // in ExamineDecide: the card of another that you look at
	Known           struct { // what is certain of players, and to lie in the court deck
		Players []Object // seat, has, lacks
		Deck    []string
	}
}

// Game is the game as your seat sees it, as of the latest request; in GameOver state and cards are those of the end.
type Game struct {
	State      `json:"state"`
	You        `json:"you"`
	Kind       string     // what is asked: turn, challenge, block ...; empty where nothing is
	Legal      []*Move    // every move that you may choose; the first is a quiet one
	Request    Object     `json:"-"` // the message as it came: a request, hello, game_start or game_over
	Events     []Object   // what has happened since the last line
	Number     int        `json:"game"` // the number of the game in the match, from 0
	Pending    Object     // the action that is being decided, in all kinds but turn: actor, action, target
	Claim      Object     // in Challenge and Prove: seat, role, and block, whether a block claims it
	Proven     bool       // in Block: whether the action's claim was challenged and proven this turn
	Challenger int        // in Prove: the seat that challenges you
	Reason     string     // in Lose: to what, coup, assassinate, challenge; in GameOver: why it ended
	Winner     int        // in GameOver: the seat that won; Nobody: a draw
	Survivors  []int      // in GameOver: the seats that won or share the draw
	Rules      Object     `json:"ruleset"` // of hello: game.Rules.Object("deck").Int("duke")
	Limits     Object     // of hello
	Match      Object     // of hello: games, seats, your_handle, handles
	Random     *rand.Rand `json:"-"` // seeded by each game's game_seed, before the first by bot_seed
	words      []Object   // to be said beside the next answer
}

// Player returns the player in a seat; one without cards if there is no such seat.
func (game *Game) Player(seat int) *Player {
	if seat < 0 || seat >= len(game.Players) {
		return &Player{Seat: seat, Blocks: map[string]int{}}
	}
	return game.Players[seat]
}

// Opponents returns the others who are still in the game, clockwise from you.
func (game *Game) Opponents() (found []*Player) {
	for step := 1; step < len(game.Players); step++ {
		if player := game.Players[(game.Seat+step)%len(game.Players)]; player.Alive() {
			found = append(found, player)
		}
	}
	return found
}

// Me returns you, as the others see you; Holds tells whether you hold a role.
func (game *Game) Me() *Player            { return game.Player(game.Seat) }
func (game *Game) Holds(role string) bool { return count(game.Cards, role) > 0 }

// Moves returns the legal moves of an action or key: Moves("tax"), Moves("block"); with one more word those at that seat,
// or with that word beside the key: Moves("steal", 2), Moves("block", "duke").
func (game *Game) Moves(word string, what ...any) (found []*Move) {
	for _, move := range game.Legal {
		if move.Word == word && (len(what) == 0 || what[0] == move.Target || what[0] == move.Role) {
			found = append(found, move)
		}
	}
	return found
}

// Find returns the first of them, nil of none; FindAt and FindRole do so too.
func (game *Game) Find(word string, what ...any) *Move {
	return append(game.Moves(word, what...), nil)[0]
}
func (game *Game) FindAt(word string, target int) *Move { return game.Find(word, target) }
func (game *Game) FindRole(word, role string) *Move     { return game.Find(word, role) }

// Say says something beside your next answer: Say("hold", "duke"), Say("spare", 2), Say("doubt", "duke", 2), Say("text",
// "Peace?"). At most 4, one of them a text; what the rules don't let you say isn't sent. Others' words are events, "say".
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

// Odds tells how likely a seat holds a card of a role, 0 to 1, or for not_duke none, from the cards that you can see and
// you.known, not from claims: 1 - C(U-d, k) / C(U, k), where of U unseen cards d are of the role and k are the seat's.
func (game *Game) Odds(seat int, role string) float64 {
	if strings.HasPrefix(role, "not_") {
		return 1 - game.Odds(seat, role[len("not_"):])
	}
	player, sight, elsewhere := game.Player(seat), append([]string{}, game.Known.Deck...), 0
	sight = append(append(append(sight, game.Cards...), game.Drawn...), game.Discards...)
	for _, other := range game.Players {
		sight = append(append(sight, other.Revealed...), other.Known...)
		if count(other.Lacks, role) > 0 { // its hidden cards are no place for the role
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
	case copies > unseen-elsewhere-cards: // they have no place but this hand
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

// take reads a hello, game_start, request or game_over.
func (game *Game) take(message Object, line []byte) {
	you, before, handles := game.You, game.Players, message.Texts("players")
	game.State, game.You, game.Kind, game.Legal, game.Request, game.Winner = State{}, You{}, "", nil, message, Nobody
	game.Events, game.Pending, game.Claim, game.Challenger, game.Proven, game.Reason = nil, nil, nil, Nobody, false, ""
	_ = json.Unmarshal(line, game) // what has another form than this kit knows stays empty
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
	if message["type"] == "game_over" { // your cards are those of the latest event that says them
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

// Object is an object of JSON. What isn't there, or is of another type, is empty, zero or false.
type Object map[string]any

// Text returns a text, Int a whole number, Bool a truth, Seat a seat or Nobody, Object an object, List and Texts a list.
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

// String returns it as JSON.
func (object Object) String() string {
	text, _ := json.Marshal(object)
	return string(text)
}

func get[T any](value any) T {
	found, _ := value.(T)
	return found
}

// Run plays: it reads the arena's lines from standard input and answers them, until the match is over.
func Run(bot Bot) {
	wire, talk, input := os.Stdout, NewTalk(bot), bufio.NewReaderSize(os.Stdin, 1<<16)
	os.Stdout = os.Stderr // for what the bot or a library prints
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
			Log("coup_kit: the kit never calls %s.%s; it calls those that coup_kit.go lists, of the form that stands there",
				strings.TrimPrefix(fmt.Sprintf("%T", bot), "*main."), name)
		}
	}
	for line, gone := input.ReadBytes('\n'); gone == nil && !talk.Ended; line, gone = input.ReadBytes('\n') {
		if answer := talk.Reply(line); answer != "" {
			_, _ = io.WriteString(wire, answer+"\n")
		}
	}
}

// Talk is a conversation with the arena, line by line; Run carries it over the pipes, your tests need none.
type Talk struct {
	Bot   Bot
	Game  *Game
	Ended bool // after match_over
}

// NewTalk begins with the first line still to come.
func NewTalk(bot Bot) *Talk { return &Talk{Bot: bot, Game: &Game{}} }

// Reply takes in a line of the arena, and returns the answer, without a newline; empty where it wants none.
func (talk *Talk) Reply(line []byte) (answer string) {
	var message Object
	if problem := json.Unmarshal(line, &message); problem != nil {
		Log("coup_kit: a line of the arena can't be read: %v", problem)
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

// call calls the bot's method for a message, and returns the index of its move. It says where the method panicked.
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
