// Tells what the kit knows, or fails: by the word that it is given. ../README.md says what a probe does.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

var roles = []string{"ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"}

// Knower writes at each request and at the end of a game what cases.jsonl asks for.
type Knower struct{ Base }

func know(game *Game) *Move {
	told := map[string][]any{}
	for _, player := range game.Players {
		odds := map[string]float64{}
		for _, role := range roles {
			odds[role] = game.Odds(player.Seat, role)
		}
		for name, value := range map[string]any{
			"claims": player.Claims, "caught": player.Caught, "shown": player.Shown, "blocks": player.Blocks,
			"known": append([]string{}, player.Known...), "alive": player.Alive(), "influence": player.Influence,
			"coins": player.Coins, "revealed": append([]string{}, player.Revealed...), "odds": odds,
		} {
			told[name] = append(told[name], value)
		}
	}
	told["cards"] = []any{}
	for _, card := range game.Cards {
		told["cards"] = append(told["cards"], card)
	}
	line, _ := json.Marshal(told)
	fmt.Println(string(line))
	return nil
}

func (*Knower) Turn(game *Game) *Move          { return know(game) }
func (*Knower) Challenge(game *Game) *Move     { return know(game) }
func (*Knower) Block(game *Game) *Move         { return know(game) }
func (*Knower) Prove(game *Game) *Move         { return know(game) }
func (*Knower) Lose(game *Game) *Move          { return know(game) }
func (*Knower) Exchange(game *Game) *Move      { return know(game) }
func (*Knower) KeepShown(game *Game) *Move     { return know(game) }
func (*Knower) ExamineShow(game *Game) *Move   { return know(game) }
func (*Knower) ExamineDecide(game *Game) *Move { return know(game) }
func (*Knower) Draft(game *Game) *Move         { return know(game) }
func (*Knower) Allegiance(game *Game) *Move    { return know(game) }
func (*Knower) Other(game *Game) *Move         { return know(game) }
func (*Knower) GameOver(game *Game)            { know(game) }

// Speaker speaks at each turn, and listens.
type Speaker struct{ Base }

// Turn says something in each form.
func (*Speaker) Turn(game *Game) *Move {
	game.Say("hold", "duke")
	game.SayAt("spare", 1)
	game.SayOf("doubt", "duke", 1)
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

func (*Failing) Turn(*Game) *Move { panic("on purpose") }

func main() {
	switch os.Args[1] {
	case "know":
		Run(&Knower{})
	case "say":
		Run(&Speaker{})
	case "roll":
		Run(&Roller{})
	default:
		Run(&Failing{Base{Careful: os.Args[1] == "careful"}})
	}
}
