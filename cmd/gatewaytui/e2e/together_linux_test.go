package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/signature"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// togetherModel plays the model of all platforms. A message behind an interrupted turn comes with a note, so that no match has an end.
const togetherModel = `
[[rule]]
match = 'code-(\w+)'
reply = "**Done-$1**\n\n~~~go\nx := 1\n~~~"
[[rule]]
match = 'later-(\w+)'
delay = "5s"
reply = "held-$1"
[[rule]]
match = '^slow'
delay = "600s"
reply = "that was slow"
[[rule]]
match = '^sh:\s*(.+)'
call  = [{ tool = "terminal", arguments = { command = "$1" } }]
then  = [{ reply = "it ran" }]
[[rule]]
match = '^send (\S+)'
call  = [{ tool = "send_file", arguments = { path = "$1", caption = "here it is" } }]
then  = [{ reply = "sent" }]
[[rule]]
match = 'echo-(\w+)'
reply = "heard-$1"
`

// together is one gateway with a chat on each platform, and a webhook.
type together struct {
	*testing.T
	spots              []*spot
	home, config, work string
	g                  *gateway
}

const hookSecret = "c4narycanarycanarycanary"

func newTogether(t *testing.T) *together {
	t.Helper()
	w := &together{T: t, home: newHome(t), work: t.TempDir()}
	w.spots = allSpots(t)
	model := filepath.Join(w.work, "model.toml")
	if err := os.WriteFile(model, []byte(togetherModel), 0o600); err != nil {
		t.Fatal(err)
	}
	setenv(t, "HOOK_SECRET", hookSecret)
	var owners []string
	var parts strings.Builder
	for _, s := range w.spots {
		owners = append(owners, fmt.Sprintf("%q", s.name+":"+s.owner))
		parts.WriteString(s.config)
	}
	w.config = quick + fmt.Sprintf(`
[model]
script = %q
[agent]
environment = "local"
approvals = "fence"
[access]
owners = [%s]
[adapters.api]
listen = "127.0.0.1:0"
[adapters.webhook]
enabled = true
listen = "127.0.0.1:0"
[adapters.webhook.routes.raw]
secret_env = "HOOK_SECRET"
deliver = "telegram:dm:7"
`, model, strings.Join(owners, ", ")) + parts.String()
	return w
}

// run starts a life, in which every platform is connected.
func (w *together) run(args ...string) {
	w.Helper()
	w.g = start(w.T, w.home, w.config, args...)
	eventually.True(w, "every platform is connected", func() bool {
		rows := w.rows()
		return len(rows) >= len(w.spots)+2 && !slices.ContainsFunc(rows, func(a ops.Adapter) bool { return a.State != ops.AdapterConnected })
	})
}

func (w *together) rows() []ops.Adapter {
	var page ops.Page[ops.Adapter]
	w.g.socket(http.MethodGet, "/v1/adapters", nil, &page)
	return page.Items
}

// say has the owner of each chat say a text, in which NAME is the platform's.
func (w *together) say(text string) {
	for _, s := range w.spots {
		s.say(strings.ReplaceAll(text, "NAME", s.name))
	}
}

// each waits until a fact holds for each chat.
func (w *together) each(promise string, fact func(s *spot) bool) {
	w.Helper()
	for _, s := range w.spots {
		eventually.True(w, s.name+": "+promise, func() bool { return fact(s) })
	}
}

// asking runs f for each chat that is asked for an approval.
func (w *together) asking(f func(s *spot)) {
	for _, s := range w.spots {
		if !s.paced || soak.On() {
			f(s)
		}
	}
}

// has waits until each chat has a text, in which NAME is the platform's.
func (w *together) has(text string) {
	w.Helper()
	w.each("the chat has "+text, func(s *spot) bool { return s.count(strings.ReplaceAll(text, "NAME", s.name)) > 0 })
}

// turns waits until as many sessions of chats are in the state, with as many messages behind their turn.
func (w *together) turns(state ops.SessionState, queued int) {
	w.Helper()
	eventually.True(w, fmt.Sprintf("the turn of each chat is %s, with %d messages behind it", state, queued), func() bool {
		var page ops.Page[ops.Session]
		w.g.socket(http.MethodGet, "/v1/sessions?limit=500", nil, &page)
		n := 0
		for _, s := range page.Items {
			if s.State == state && s.Queued == queued {
				n++
			}
		}
		return n >= len(w.spots)
	})
}

// hook posts a body to the webhook, which delivers it to the chat on Telegram.
func (w *together) hook(body string) {
	w.Helper()
	rows := w.rows()
	at := slices.IndexFunc(rows, func(a ops.Adapter) bool { return a.Name == "webhook" })
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+rows[at].Listen+"/raw", strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	signature.Sign(r.Header, hookSecret, []byte(body), time.Now())
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		w.Errorf("the webhook answered %d", res.StatusCode)
	}
}

// stopped stops the gateway, which must take no longer than its plan, and returns how its adapters ended.
func (w *together) stopped() (adapters ops.Phase) {
	w.Helper()
	worst := plan(w.T, w.g)
	code, took := w.g.stop()
	if code != 0 || took > worst+5*time.Second { // a machine that is busy with other tests
		w.Errorf("the stop ended with %d after %v, and its plan has at most %v", code, took, worst)
	}
	text, err := os.ReadFile(filepath.Join(w.home, "dumps", "shutdown-"+w.g.life+".json"))
	var report ops.Shutdown
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(report.Phases, func(p ops.Phase) bool { return p.Name == "adapters" })
	w.Logf("the stop took %v, its adapters %d ms", took.Round(time.Millisecond), report.Phases[i].ElapsedMS)
	return report.Phases[i]
}

// PL5: one gateway talks on every platform at the same time. Each chat gets its own answers, with code in the format of its platform,
// an approval and a file. What was taken before a stop is answered after it. Then every peer is half-dead: the stop costs one bound,
// and after it nothing is lost, answered twice, or in another chat.
func TestPL5_EveryPlatformAtTheSameTimeOverRestartsAndHalfDeadPeers(t *testing.T) {
	t.Parallel() // it mostly waits
	w := newTogether(t)
	w.run()
	w.say("code-NAME")
	w.hook("hook-one")
	if reply, _ := w.g.chat("ann", "echo-api"); reply != "heard-api" {
		t.Errorf("the API answers %q", reply)
	}
	w.each("the answer has its code", func(s *spot) bool { return s.count("Done-"+s.name) == 1 && s.code() })

	victim := func(s *spot) string { return filepath.Join(w.work, "victim-"+s.name) }
	for _, s := range w.spots {
		if err := os.WriteFile(victim(s), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.asking(func(s *spot) { s.say("sh: rm " + victim(s)) })
	w.asking(func(s *spot) {
		eventually.True(t, s.name+": the chat reads the request", func() bool { return s.count(victim(s)) > 0 })
		if _, err := os.Stat(victim(s)); err != nil {
			t.Errorf("%s: the command ran before its answer: %v", s.name, err)
		}
		eventually.True(t, s.name+": the request is answered", func() bool { return s.approve(victim(s)) })
	})
	w.asking(func(s *spot) {
		eventually.True(t, s.name+": the command ran, and the chat reads so", func() bool {
			_, err := os.Stat(victim(s))
			return os.IsNotExist(err) && s.count("it ran") == 1
		})
	})

	for _, s := range w.spots {
		if s.file == nil {
			continue
		}
		name := "out-" + s.name + ".csv"
		if err := os.WriteFile(filepath.Join(w.home, "work", name), []byte("a,"+s.name), 0o600); err != nil {
			t.Fatal(err)
		}
		s.say("send " + name)
	}
	w.each("the file is there", func(s *spot) bool {
		return s.file == nil || slices.Contains(s.file(), "out-"+s.name+".csv: a,"+s.name)
	})
	w.turns(ops.SessionIdle, 0)

	w.say("slow")
	w.turns(ops.SessionRunning, 0)
	w.say("echo-NAME")
	w.turns(ops.SessionRunning, 1)
	w.stopped()
	for _, s := range w.spots {
		if s.count("heard-") > 0 {
			t.Errorf("%s: what waited was answered before the restart", s.name)
		}
	}

	w.run("--demo-platforms", "dock=hang-disconnect")
	w.has("heard-NAME")
	w.turns(ops.SessionIdle, 0)
	w.say("later-NAME")
	w.turns(ops.SessionRunning, 0)
	for _, s := range w.spots {
		s.freeze(true)
	}
	w.hook("hook-two")
	eventually.True(t, "each platform has a message that it does not take", func() bool {
		n := 0
		for _, a := range w.rows() {
			if a.Queue > 0 {
				n++
			}
		}
		return n >= len(w.spots)
	})
	frozen := w.stopped()
	if frozen.ElapsedMS > frozen.BudgetMS+2000 { // a machine that is busy with other tests
		t.Errorf("the phase adapters took %d ms of %d", frozen.ElapsedMS, frozen.BudgetMS)
	}
	var late []string
	for _, it := range frozen.Items {
		t.Logf("%s is %s after %d ms: %s", it.ID, it.State, it.ElapsedMS, it.Detail)
		if it.State != ops.StepDone {
			late = append(late, it.ID)
			if it.Detail == "" { // what a silent item waited for is known where the machine had time to look (TestA9_…)
				t.Errorf("the report does not say what %s waited for", it.ID)
			}
		}
	}
	if !slices.Contains(late, "dock") {
		t.Errorf("the report names %q as not ended, and not the dock", late)
	}

	for _, s := range w.spots {
		s.freeze(false)
	}
	w.run()
	w.has("held-NAME")
	w.say("echo-last")
	w.has("heard-last")
	eventually.True(t, "the second message of the webhook is delivered", func() bool { return w.spots[0].count("hook-two") > 0 })
	w.turns(ops.SessionIdle, 0)
	w.stopped()
	w.once()
}

// once checks that each chat has its own answers once, and nothing of another one. An answer whose arrival the gateway did not know
// may be there a second time, where it says so.
func (w *together) once() {
	w.Helper()
	for _, s := range w.spots {
		for _, text := range []string{"Done-" + s.name, "heard-" + s.name, "held-" + s.name, "heard-last"} {
			if n := s.count(text); n != 1 && (n != 2 || s.count("Sent again") != 1 || !strings.HasPrefix(text, "held-")) {
				w.Errorf("%s has %q %d times", s.name, text, n)
			}
		}
		if n := s.strays(); n != 0 {
			w.Errorf("%s has %d messages in other chats", s.name, n)
		}
		for _, other := range w.spots {
			if n := s.count("-" + other.name); other != s && n != 0 {
				w.Errorf("%s has %d messages of %s: %q", s.name, n, other.name, s.texts())
			}
		}
		if hooks := s.count("hook-one") + s.count("hook-two"); hooks != map[bool]int{true: 2}[s.name == "telegram"] {
			w.Errorf("%s has %d messages of the webhook: %q", s.name, hooks, s.texts())
		}
	}
}
