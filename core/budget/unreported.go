package budget

import (
	"context"
	"fmt"
	"time"
)

// KindTurns is the window of the turns of a day whose program does not say what they used. It has no counter of its own: the lines
// with an estimate are its counter.
const KindTurns Kind = "turns"

// mostAgents bounds the agents of a day that are looked at.
const mostAgents = 10_000

// Unreported refuses the turn if its agent has worked today on most turns, or more, whose use is only estimated. 0 means no bound. Turns
// under way at the same time are not counted. The error is a *Refusal, or says that the counters cannot be read.
func (t *Turn) Unreported(ctx context.Context, most int) error {
	if t == nil || most == 0 {
		return nil
	}
	now := time.Now()
	all, err := t.l.store.UsageBy(ctx, "agent", t.l.day(now), mostAgents)
	if err != nil {
		return fmt.Errorf("read how many turns agent %s had today: %w", t.who.Agent, err)
	}
	for _, g := range all {
		if g.Name != t.who.Agent || g.Estimated < int64(most) {
			continue
		}
		key := "agents." + t.who.Agent + ".turns_per_day"
		n := Notice{Budget: t.who.Budget, Kind: KindTurns, Period: t.l.day(now), Percent: 100, Used: g.Estimated, Limit: int64(most), Renews: t.l.renews(KindDay, now), Who: t.who}
		n.Text = fmt.Sprintf("Agent %q has had %d of %d turns today of which its program does not say what they used (%s).%s", t.who.Agent, n.Used, n.Limit, key, t.l.renewal(n))
		return &Refusal{Notice: n, Hint: "The owner of the gateway can raise " + key + "; 0 means no bound."}
	}
	return nil
}
