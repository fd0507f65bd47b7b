package gateway

import (
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestTheRatesOfAGatewayAreThoseOfItsTurns(t *testing.T) {
	l := start(t)
	l.ask("cli:local", "hello")
	l.ask("api:user:alice", "sh: true")
	var got ops.Rates
	l.wait("both turns are in the rates", func() bool {
		var err error
		if got, err = l.g.Rates(t.Context(), 5*time.Minute); err != nil {
			t.Fatal(err)
		}
		return len(got.Lately) == 2
	})
	var all ops.RateStep
	for _, s := range got.Steps {
		all.Turns, all.TokensIn, all.TokensOut = all.Turns+s.Turns, all.TokensIn+s.TokensIn, all.TokensOut+s.TokensOut
		all.Running, all.RSSBytes = max(all.Running, s.Running), max(all.RSSBytes, s.RSSBytes)
	}
	if all.Turns != 2 || all.TokensIn == 0 || all.TokensOut == 0 {
		t.Errorf("the rates have %d turns and %d and %d tokens", all.Turns, all.TokensIn, all.TokensOut)
	}
	if all.Running < 1 || all.RSSBytes < 1<<20 {
		t.Errorf("the peaks are %d running turns and %d resident bytes", all.Running, all.RSSBytes)
	}
	if got.TurnP95MS == 0 || got.FirstTokenP50MS == 0 {
		t.Errorf("turns took %d ms, first tokens %d ms; both are known", got.TurnP95MS, got.FirstTokenP50MS)
	}
	last := got.Lately[0]
	if last.Session != "api:user:alice" || last.Agent == "" || last.Turn == "" || last.State != "done" || last.Tokens == 0 || last.EndedAt.IsZero() {
		t.Errorf("the last turn is %+v", last)
	}
}
