package views

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"gatewaytui/core/ops"
)

func TestEveryViewHasTheSameLineOfState(t *testing.T) {
	for _, size := range [][2]int{{40, 6}, {80, 24}, {140, 40}, {200, 60}} {
		want := ""
		for _, v := range Views {
			s := screen(v, fiveRows())
			s.W, s.H, s.StopPage = size[0], size[1], StopLives
			line := strings.TrimRight(Draw(s)[0], " ")
			if want == "" {
				want = line
			}
			if line != want {
				t.Errorf("%s at %d columns begins with %q, not with %q", v, s.W, line, want)
			}
			for _, word := range []string{"RUNNING", "2/5", "inbox 2", "2 turn", "$3.20"} {
				if word == "2 turn" && s.W >= 80 {
					word = "turns 2"
				}
				if !strings.Contains(line, word) {
					t.Errorf("%s at %d columns does not say %q: %q", v, s.W, word, line)
				}
			}
		}
	}
}

func TestTheLineOfStateKeepsTheMostImportantAtAnyWidth(t *testing.T) {
	s := overviewStates()["stopping"]
	for w := 1; w <= 200; w++ {
		line := s.stateLine(w)
		if cellsOf(line) > max(w, cellsOf("STOPPING 0:31")) {
			t.Fatalf("%d cells for %d: %q", cellsOf(line), w, line)
		}
		if !strings.Contains(line, "STOPPING 0:31") || w >= 40 && !(strings.Contains(line, "KILL in 0:58") || strings.Contains(line, "KILL 0:58")) {
			t.Fatalf("%d cells do not say that it stops, and until when: %q", w, line)
		}
	}
}

func TestTheInboxesCountIsLitForAMomentWhenItGrows(t *testing.T) {
	s := screen(Sessions, fiveRows())
	s.W, s.H, s.Theme = 140, 40, NewTheme("dark", termenv.TrueColor)
	calm := Draw(s)[0]
	s.InboxGrew = true
	lit := Draw(s)[0]
	if want := s.Theme.begin(Alarm) + "inbox 2" + off; !strings.Contains(lit, want) || strings.Contains(calm, want) {
		t.Fatalf("%q, and before %q", lit, calm)
	}
	if strings.Contains(lit, "\x1b[5m") || ansi.Strip(lit) != ansi.Strip(calm) {
		t.Fatalf("the terminal blinks, or the text moves: %q", lit)
	}
}

func TestTheSpendOfTheBudgetThatIsNearestToItsLimitIsShown(t *testing.T) {
	s := screen(Overview, fiveRows())
	for _, c := range []struct {
		budgets []ops.BudgetToday
		want    string
		role    Role
	}{
		{nil, "", Plain},
		{[]ops.BudgetToday{{Currency: "USD"}}, "", Plain},
		{[]ops.BudgetToday{{Currency: "USD", Spent: 0.004}}, "today <$0.01", Plain},
		{[]ops.BudgetToday{{Currency: "EUR", Spent: 2.5, Limit: 10}, {Currency: "EUR", Spent: 1.7, Limit: 2}}, "today 1.70 EUR of 2.00 EUR", Slow},
		{[]ops.BudgetToday{{Currency: "USD", Spent: 2, Limit: 2}, {Currency: "USD", Spent: 90}}, "today $2.00 of $2.00", Bad},
	} {
		s.Snap.Budgets, s.Theme = c.budgets, nil
		line := s.stateLine(200)
		if c.want == "" && strings.Contains(line, "today") || !strings.Contains(line, c.want) {
			t.Errorf("%+v: %q, not %q", c.budgets, line, c.want)
		}
		if b := budgetShown(c.budgets); b != nil && s.spendPiece(b).role != c.role {
			t.Errorf("%+v has role %d, not %d", b, s.spendPiece(b).role, c.role)
		}
	}
}
