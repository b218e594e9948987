// Writes what the kit reckons, or fails: by the word that it is given. ../README.md says what a probe does.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

var roles = []string{"ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"}

// Reckoner writes the odds of each seat at each request, and at the end of a game its cards and who has how many.
type Reckoner struct{ Base }

func reckon(game *Game) *Move {
	var all []map[string]any
	for _, player := range game.Players {
		odds := map[string]any{"opponent": false}
		for _, opponent := range game.Opponents() {
			odds["opponent"] = odds["opponent"] == true || opponent == player
		}
		for _, role := range roles {
			odds[role] = game.Odds(player.Seat, role)
		}
		all = append(all, odds)
	}
	line, _ := json.Marshal(all)
	fmt.Println(string(line))
	return nil
}

func (*Reckoner) Turn(game *Game) *Move          { return reckon(game) }
func (*Reckoner) Challenge(game *Game) *Move     { return reckon(game) }
func (*Reckoner) Block(game *Game) *Move         { return reckon(game) }
func (*Reckoner) Prove(game *Game) *Move         { return reckon(game) }
func (*Reckoner) Lose(game *Game) *Move          { return reckon(game) }
func (*Reckoner) Exchange(game *Game) *Move      { return reckon(game) }
func (*Reckoner) KeepShown(game *Game) *Move     { return reckon(game) }
func (*Reckoner) ExamineShow(game *Game) *Move   { return reckon(game) }
func (*Reckoner) ExamineDecide(game *Game) *Move { return reckon(game) }
func (*Reckoner) Draft(game *Game) *Move         { return reckon(game) }
func (*Reckoner) Allegiance(game *Game) *Move    { return reckon(game) }
func (*Reckoner) Other(game *Game) *Move         { return reckon(game) }

// GameOver writes the cards.
func (*Reckoner) GameOver(game *Game) {
	influence := []int{}
	for _, player := range game.Players {
		influence = append(influence, player.Influence)
	}
	line, _ := json.Marshal(map[string]any{"cards": append([]string{}, game.Cards...), "influence": influence})
	fmt.Println(string(line))
}

// Speaker speaks at each turn, and listens.
type Speaker struct{ Base }

// Turn says something in each form.
func (*Speaker) Turn(game *Game) *Move {
	game.Say("hold", "duke")
	game.Say("spare", 1)
	game.Say("doubt", "duke", 1)
	game.Say("text", "Zo\u00eb says \"\\ \U0001f3b2\"")
	return nil
}

// Event writes what is said.
func (*Speaker) Event(game *Game, event Object) {
	if event.Text("event") == "say" {
		fmt.Println(event.Text("says"))
	}
}

// Roller rolls the kit's dice at each turn.
type Roller struct{ Base }

// Turn writes a number.
func (*Roller) Turn(game *Game) *Move {
	fmt.Println(game.Random.Float64())
	return nil
}

// Failing fails at each turn.
type Failing struct{ Base }

func (*Failing) Turn(game *Game) *Move { return game.Find("assasinate") }

func main() {
	switch os.Args[1] {
	case "odds":
		Run(&Reckoner{})
	case "say":
		Run(&Speaker{})
	case "roll":
		Run(&Roller{})
	default:
		Run(&Failing{Base{Careful: os.Args[1] == "careful"}})
	}
}
