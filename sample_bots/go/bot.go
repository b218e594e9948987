// A bot to start with: it never bluffs, and challenges only claims that are very unlikely.
//
// The starters in all languages make the same choices:
//
//	turn        The first of these that is legal and true: coup, assassinate, tax, steal, exchange, foreign aid, income.
//	            Attacks target the opponent with most cards, then most coins; steals the richest, with at least 1 coin.
//	            Skip attacks on opponents that blocked them in this game, and foreign aid while its blocker lives.
//	challenge   Challenge if the probability that the claimant holds the role is below doubt.
//	block       Block with the first role of legal that we hold.
//	lose        Lose the card with the lowest value.
//	exchange    Keep the cards with the highest value; a second card of the same role adds less.
//	others      Play the first legal move: show the card, have it replaced, hand back the examined card ...
//
// Ties go to the first move in legal.
package main

const (
	doubt      = 0.22
	secondCopy = 4 // a second card of a role is worth this much less
)

var roles = map[string][]string{
	"assassinate": {"assassin"}, "tax": {"duke"}, "steal": {"captain"}, "exchange": {"ambassador", "inquisitor"},
}

var blockers = map[string][]string{
	"assassinate": {"contessa"}, "steal": {"captain", "ambassador", "inquisitor"}, "foreign_aid": {"duke"},
}

var values = map[string]int{
	"captain": 10, "duke": 9, "assassin": 8, "ambassador": 5, "inquisitor": 5, "contessa": 4,
}

type MyBot struct{ Base }

func (bot *MyBot) Turn(game *Game) *Move {
	coins := func(move *Move) int { return game.Player(move.Target).Coins }
	strength := func(move *Move) int { return 1000*game.Player(move.Target).Influence + coins(move) }

	attacks := game.Moves("coup")
	if len(attacks) == 0 {
		attacks = honest(game, "assassinate")
	}
	if len(attacks) > 0 {
		return best(attacks, strength)
	}
	if taxes := honest(game, "tax"); len(taxes) > 0 {
		return taxes[0]
	}
	if steal := best(honest(game, "steal"), coins); steal != nil && coins(steal) > 0 {
		return steal
	}
	for _, action := range []string{"exchange", "foreign_aid"} {
		if quiet := honest(game, action); len(quiet) > 0 {
			return quiet[0]
		}
	}
	return game.Legal[0]
}

func (bot *MyBot) Challenge(game *Game) *Move {
	if game.Odds(game.Claim.Int("seat"), game.Claim.Text("role")) < doubt {
		return game.Find("challenge")
	}
	return game.Find("pass")
}

func (bot *MyBot) Block(game *Game) *Move {
	for _, move := range game.Moves("block") {
		if game.Holds(move.Role) {
			return move
		}
	}
	return game.Find("pass")
}

func (bot *MyBot) Lose(game *Game) *Move {
	return best(game.Legal, func(move *Move) int { return -value(move.Role) })
}

func (bot *MyBot) Exchange(game *Game) *Move {
	return best(game.Legal, func(move *Move) int { return worth(move.Keep) })
}

// honest returns the legal moves of an action if we hold its role, without those that were blocked in this game.
func honest(game *Game, action string) []*Move {
	holds := len(roles[action]) == 0
	for _, role := range roles[action] {
		holds = holds || game.Holds(role)
	}
	if !holds {
		return nil
	}
	blocked := func(seat int) bool {
		for _, role := range blockers[action] {
			if game.Player(seat).Blocks[role] > 0 {
				return true
			}
		}
		return false
	}
	if action == "foreign_aid" {
		for _, player := range game.Opponents() {
			if blocked(player.Seat) {
				return nil
			}
		}
	}
	var found []*Move
	for _, move := range game.Moves(action) {
		if !blocked(move.Target) {
			found = append(found, move)
		}
	}
	return found
}

// best returns the move with the highest key, or nil; ties go to the first.
func best(moves []*Move, key func(*Move) int) *Move {
	var found *Move
	for _, move := range moves {
		if found == nil || key(move) > key(found) {
			found = move
		}
	}
	return found
}

func value(card string) int {
	if known, there := values[card]; there {
		return known
	}
	return 4
}

// worth returns the value of a hand.
func worth(cards []string) int {
	sum, seen := 0, map[string]bool{}
	for _, card := range cards {
		sum += value(card)
		if seen[card] {
			sum -= secondCopy
		}
		seen[card] = true
	}
	return sum
}

func main() { Run(&MyBot{}) }
