package main

import (
	"fmt"
	"testing"
)

const hello = `{"type":"hello","bot_seed":"5f1c","ruleset":{"deck":
	{"ambassador":3,"assassin":3,"captain":3,"contessa":3,"duke":3}}}`
const turn = `"kind":"turn","legal":[{"action":"income"},{"action":"tax"},
	{"action":"steal","target":1},{"action":"steal","target":2}]`
const claim = `"kind":"challenge","claim":{"seat":1,"role":"duke","block":false},
	"legal":[{"pass":true},{"challenge":true}]`

// expect starts a game of three players as seat 0, and compares the bot's choice. lost: a lost card of seat 2.
func expect(t *testing.T, choice int, request, cards, lost string) {
	t.Helper()
	influence := 2
	if lost != "" {
		influence = 1
	}
	now := fmt.Sprintf(`"game":0,"you":{"seat":0,"cards":[%s]},"state":{"turn":1,"actor":0,"deck":9,"players":[
		{"coins":2,"influence":2,"revealed":[]},{"coins":2,"influence":2,"revealed":[]},
		{"coins":5,"influence":%d,"revealed":[%s]}]}`, cards, influence, lost)
	talk := NewTalk(&MyBot{})
	talk.Reply([]byte(hello))
	talk.Reply([]byte(fmt.Sprintf(`{"type":"game_start","seat":0,"players":["A","B","C"],%s}`, now)))
	reply := talk.Reply([]byte(fmt.Sprintf(`{"type":"request","id":1,"events":[],%s,%s}`, request, now)))
	if wanted := fmt.Sprintf(`{"id":1,"choice":%d}`, choice); reply != wanted {
		t.Errorf("with %s: %s instead of %s", cards, reply, wanted)
	}
}

func TestItTaxesWithADukeAndNotWithout(t *testing.T) {
	expect(t, 1, turn, `"contessa","duke"`, "")
	expect(t, 0, turn, `"contessa","contessa"`, "")
}

func TestItStealsFromTheRichest(t *testing.T) {
	expect(t, 3, turn, `"captain","contessa"`, "")
}

func TestItChallengesOnlyWhatIsVeryUnlikely(t *testing.T) {
	expect(t, 0, claim, `"captain","contessa"`, "")
	expect(t, 1, claim, `"duke","duke"`, `"duke"`)
}
