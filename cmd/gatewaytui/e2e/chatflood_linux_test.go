package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"gatewaytui/core/adapter/telegram/botapitest"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// PL5: while an owner floods one platform, the answers of another one, the API and a stop take about as long as without it.
func TestPL5_AFloodOnOnePlatformDelaysNoOtherAndNoStop(t *testing.T) {
	bot, other := botapitest.New(botToken), onDiscord(t)
	t.Cleanup(bot.Close)
	g := start(t, newHome(t), withBot(t, bot)+other.config)
	asked := 0
	// answers asks 30 times, and goes on until no more than some messages of the flood are left.
	answers := func(left int) (middle time.Duration) {
		t.Helper()
		var all []time.Duration
		for began := time.Now(); len(all) < 30 || bot.Unconfirmed() > left; {
			if asked++; time.Since(began) > 2*patience {
				t.Fatalf("%d messages of the flood are left, and do not become fewer", bot.Unconfirmed())
			}
			text, began := fmt.Sprintf("number-%d.", asked), time.Now()
			other.say("echo " + text)
			eventually.True(t, "the other platform is answered", func() bool { return other.count(text) == 1 })
			all = append(all, time.Since(began))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	calls := func() time.Duration {
		began := time.Now()
		if reply, status := g.chat("ann", "echo here"); status != http.StatusOK || reply != "here" {
			t.Errorf("the API answers %d %q", status, reply)
		}
		return time.Since(began)
	}
	eventually.True(t, "both are connected", func() bool {
		var page ops.Page[ops.Adapter]
		g.socket(http.MethodGet, "/v1/adapters", nil, &page)
		return len(page.Items) == 3 && !slices.ContainsFunc(page.Items, func(a ops.Adapter) bool { return a.State != ops.AdapterConnected })
	})
	answers(0) // the first ones make what all need
	calls()
	quiet, call := answers(0), calls()

	messages := soak.Count(t, 2000, 10_000)
	for n := range messages {
		bot.Inject(botapitest.Update{User: 7, Text: fmt.Sprint("/queue echo flood ", n)})
	}
	loud, loudCall := answers(messages-300), calls()
	t.Logf("an answer takes %v without and %v with the flood, a call of the API %v and %v; %d of %d messages of the flood are left",
		quiet, loud, call, loudCall, bot.Unconfirmed(), messages)
	for what, d := range map[string][2]time.Duration{"an answer": {quiet, loud}, "a call of the API": {call, loudCall}} {
		if d[1] > 50*d[0] && d[1] > time.Second {
			t.Errorf("%s takes %v with a flood on another platform, and %v without", what, d[1], d[0])
		}
	}
	worst := plan(t, g)
	code, took := g.stop()
	if t.Logf("the stop took %v of at most %v", took, worst); code != 0 || took > worst+5*time.Second { // a machine that is busy with other tests
		t.Errorf("the stop ended with %d after %v, and its plan has at most %v", code, took, worst)
	}
}
