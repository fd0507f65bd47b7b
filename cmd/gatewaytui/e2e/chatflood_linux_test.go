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
	// took are the middle times of an answer on the other platform and of a call of the API. It asks ten times, and goes on until no more
	// than some messages of the flood are left.
	took := func(left int) (answer, call time.Duration) {
		t.Helper()
		var answers, calls []time.Duration
		for began := time.Now(); len(answers) < 10 || bot.Unconfirmed() > left; {
			if asked++; time.Since(began) > 2*patience {
				t.Fatalf("%d messages of the flood are left, and do not become fewer", bot.Unconfirmed())
			}
			text, said := fmt.Sprintf("number-%d.", asked), time.Now()
			other.say("echo " + text)
			eventually.True(t, "the other platform is answered", func() bool { return other.count(text) == 1 })
			answers, said = append(answers, time.Since(said)), time.Now()
			if reply, status := g.chat("ann", "echo here"); status != http.StatusOK || reply != "here" {
				t.Fatalf("the API answers %d %q", status, reply)
			}
			calls = append(calls, time.Since(said))
		}
		slices.Sort(answers)
		slices.Sort(calls)
		return answers[len(answers)/2], calls[len(calls)/2]
	}
	eventually.True(t, "both are connected", func() bool {
		var page ops.Page[ops.Adapter]
		g.socket(http.MethodGet, "/v1/adapters", nil, &page)
		return len(page.Items) == 3 && !slices.ContainsFunc(page.Items, func(a ops.Adapter) bool { return a.State != ops.AdapterConnected })
	})
	took(0) // the first ones make what all need
	quiet, quietCall := took(0)

	messages := soak.Count(t, 2000, 10_000)
	for n := range messages {
		bot.Inject(botapitest.Update{User: 7, Text: fmt.Sprint("/queue echo flood ", n)})
	}
	loud, loudCall := took(messages - 200)
	t.Logf("an answer takes %v without and %v with the flood, a call of the API %v and %v; %d of %d messages of the flood are left",
		quiet, loud, quietCall, loudCall, bot.Unconfirmed(), messages)
	for what, d := range map[string][2]time.Duration{"an answer": {quiet, loud}, "a call of the API": {quietCall, loudCall}} {
		if d[1] > 50*d[0] && d[1] > time.Second {
			t.Errorf("%s takes %v with a flood on another platform, and %v without", what, d[1], d[0])
		}
	}
	worst := plan(t, g)
	code, stop := g.stop()
	t.Logf("the stop took %v of at most %v", stop, worst)
	if code != 0 || stop > worst+5*time.Second { // a machine that is busy with other tests
		t.Errorf("the stop ended with %d after %v, and its plan has at most %v", code, stop, worst)
	}
}
