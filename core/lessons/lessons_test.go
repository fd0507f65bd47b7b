package lessons

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// task is one item of a made-up stop.
type task struct {
	phase, kind, id string
	takes           time.Duration // shutdown.Hangs: it never returns
	// ignores says that it is a kill of a process that ignores TERM: it takes the time until KILL and takes more.
	ignores bool
	// waits says that it is an agent that waits for the kill of its phase.
	waits bool
}

// length is how long k takes without what it waits for.
func (k task) length(b shutdown.Budgets) time.Duration {
	takes := k.takes
	if k.ignores {
		takes += b.KillGrace
	}
	if k.ignores && k.phase == shutdown.PhaseAgents { // the kill leaves the rest to the sweep
		takes = max(min(takes, b.Agent-150*time.Millisecond), 0)
	}
	return takes
}

// killOf is how long the longest kill of a phase takes.
func killOf(tasks []task, phase string, b shutdown.Budgets) (takes time.Duration) {
	for _, k := range tasks {
		if k.phase == phase && k.kind == "processes" {
			takes = max(takes, k.length(b))
		}
	}
	return takes
}

// tooClose reports whether an agent that does not wait for the kill of its phase ends with it, so that no report can tell.
func tooClose(tasks []task, b shutdown.Budgets) bool {
	kill := killOf(tasks, shutdown.PhaseAgents, b)
	return slices.ContainsFunc(tasks, func(k task) bool {
		return k.kind == "agent" && !k.waits && (k.takes-kill).Abs() <= 2*closing
	})
}

// stopWith runs a stop with the standard phases in virtual time, and returns its report.
func stopWith(t *testing.T, b shutdown.Budgets, limit time.Duration, tasks []task) (report ops.Shutdown) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer synctest.Wait()
		defer close(release)
		plan := shutdown.Standard(b)
		for i := range plan.Phases {
			p := &plan.Phases[i]
			p.List = func(context.Context, *shutdown.Run) (all []shutdown.Item) {
				for _, k := range tasks {
					if k.phase != p.Name {
						continue
					}
					takes := k.length(b)
					if k.waits {
						takes += killOf(tasks, p.Name, b)
					}
					all = append(all, shutdown.Item{Kind: k.kind, ID: k.id, Run: func(context.Context) error {
						var over <-chan time.Time
						if takes >= 0 {
							over = time.After(takes)
						}
						select {
						case <-over:
						case <-release:
						}
						return nil
					}})
				}
				return all
			}
		}
		r := shutdown.Start(plan, shutdown.Options{ID: "s", Life: "l", Limit: limit, Exit: func(code int) { t.Errorf("the watchdog ended the stop with %d", code) }})
		<-r.Done()
		report = r.Report()
	})
	return report
}

// set applies an advice to budgets.
func set(t *testing.T, b shutdown.Budgets, a Advice) shutdown.Budgets {
	t.Helper()
	d, err := time.ParseDuration(a.Value)
	if err != nil {
		t.Fatalf("%s: %v", a.Setting(), err)
	}
	field := map[string]*time.Duration{
		"shutdown.drain_timeout": &b.Drain, "shutdown.notify_timeout": &b.Notify, "shutdown.interrupt_grace": &b.InterruptGrace,
		"process.kill_grace": &b.KillGrace, "shutdown.agent_timeout": &b.Agent, "shutdown.adapter_timeout": &b.Adapter,
		"shutdown.background_timeout": &b.Background,
	}[a.Key]
	if field == nil {
		t.Fatalf("%s is not the budget of a stop", a.Key)
	}
	*field = d
	return b
}

// The same stop with the advice takes what the advice promised.
func TestOP9_AnAdviceSavesWhatItPromises(t *testing.T) {
	advised := 0
	rapid.Check(t, func(rt *rapid.T) {
		// Budgets are multiples of 10 ms, and times are not: what ends in the moment of its deadline may do either.
		ms := func(name string, most int64) time.Duration {
			d := time.Duration(rapid.Int64Range(0, most/10).Draw(rt, name)) * 10 * time.Millisecond
			if name == "takes" {
				d += 3 * time.Millisecond
			}
			return d
		}
		b := shutdown.Budgets{
			Drain: ms("drain", 60_000), Notify: ms("notify", 5000), InterruptGrace: ms("interrupt", 6000), KillGrace: ms("kill", 4000),
			Agent: ms("agent", 6000), Adapter: 10*time.Millisecond + ms("adapter", 9000), Background: ms("background", 3000), Store: time.Second + ms("store", 3000),
		}
		var limit time.Duration
		if rapid.Bool().Draw(rt, "limited") {
			limit = 3*time.Second + ms("limit", 90_000)
		}
		var tasks []task
		for _, of := range []struct{ phase, kind string }{
			{"mark", "store"},
			{"notify", "notice"},
			{"drain", "turn"},
			{"interrupt", "turn"},
			{"reap", "processes"},
			{"agents", "agent"},
			{"agents", "processes"},
			{"adapters", "adapter"},
			{"background", "task"},
			{"sweep", "processes"},
			{"stores", "store"},
		} {
			for i := range rapid.IntRange(0, 3).Draw(rt, of.phase) {
				k := task{phase: of.phase, kind: of.kind, id: of.phase + string(rune('a'+i)), takes: ms("takes", 3000)}
				switch {
				case of.kind == "processes":
					k.ignores, k.takes = rapid.Bool().Draw(rt, "ignores"), min(k.takes, 503*time.Millisecond)
				case of.kind == "agent" && rapid.Bool().Draw(rt, "waits"):
					k.waits, k.takes = true, 3*time.Millisecond
				case rapid.IntRange(0, 3).Draw(rt, "hangs") == 0:
					k.takes = shutdown.Hangs
				}
				tasks = append(tasks, k)
			}
		}
		if tooClose(tasks, b) {
			return
		}
		report := stopWith(t, b, limit, tasks)
		for _, a := range Of(report).Advice {
			if a.Saves <= 0 || a.Cost == "" || a.Why == "" {
				rt.Errorf("the advice %+v has no saving, no reason or no cost", a)
			}
			advised++
			again := stopWith(t, set(t, b, a), limit, tasks)
			if off := (ops.Span(again.ElapsedMS) - a.Ends).Abs(); off > 10*time.Millisecond {
				rt.Errorf("%s\nthe stop took %dms, and %dms with the advice", a, report.ElapsedMS, again.ElapsedMS)
			}
		}
	})
	if advised == 0 {
		t.Error("no stop was slow enough for an advice")
	}
}

// Every key that can be advised is one of the config, and takes the advised value.
func TestOP9_AnAdviceNamesAKeyOfTheConfig(t *testing.T) {
	b := shutdown.Budgets{
		Drain: 60 * time.Second, Notify: 3 * time.Second, InterruptGrace: 4500 * time.Millisecond, KillGrace: 2 * time.Second, Agent: 3 * time.Second,
		Adapter: 5 * time.Second, Background: time.Second, Store: 3 * time.Second,
	}
	var tasks []task
	for _, phase := range []string{"notify", "drain", "interrupt", "agents", "adapters", "background"} {
		tasks = append(tasks, task{phase: phase, kind: "x", id: "x", takes: shutdown.Hangs})
	}
	tasks = append(tasks, task{phase: "reap", kind: "processes", id: "all trees", ignores: true})
	report := stopWith(t, b, 0, tasks)
	killed := report
	killed.Outcome, killed.EndedAt, killed.ElapsedMS = ops.ShutdownRunning, ops.Time{}, 20_500
	keys := map[string]bool{}
	for _, a := range append(Of(report).Advice, Of(killed).Advice...) {
		keys[a.Key] = true
		section, key, _ := strings.Cut(a.Key, ".")
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte("["+section+"]\n"+key+" = \""+a.Value+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Options{Path: path}); err != nil {
			t.Errorf("%s: %v", a.Setting(), err)
		}
	}
	if want := 8; len(keys) != want {
		t.Errorf("advised are %v, want %d keys", keys, want)
	}
}

func TestOP9_AStopSaysWhereItsTimeWentAndWhatWouldHelp(t *testing.T) {
	b := shutdown.Budgets{Drain: time.Minute, KillGrace: 2 * time.Second, Agent: 3 * time.Second, Adapter: 5 * time.Second, Background: time.Second, Store: 3 * time.Second}
	hangs := []task{{phase: "adapters", kind: "adapter", id: "feishu", takes: shutdown.Hangs}, {phase: "adapters", kind: "adapter", id: "telegram", takes: 700 * time.Millisecond}, {phase: "drain", kind: "turn", id: "api:1", takes: 900 * time.Millisecond}}
	slow := stopWith(t, b, 90*time.Second, hangs)
	slow.LeftBehind = &ops.LeftBehind{}
	fine := stopWith(t, b, 90*time.Second, hangs[1:])
	l := Of(slow, slow, fine, slow, slow, slow, slow)
	if got, want := l.Went(9), "adapters 5.0s (feishu: did not return), drain 0.9s (turn api:1 took it), rest 0.0s"; !strings.HasPrefix(got, want[:len(want)-11]) {
		t.Errorf("the time went to\n%s, want\n%s", got, want)
	}
	if len(l.Advice) != 1 {
		t.Fatalf("the advice is %v, want one for the platform that hangs", l.Advice)
	}
	want := `shutdown.adapter_timeout = "1.5s" would have ended this stop in 2.4s instead of 5.9s; feishu was abandoned in 4 of the last 4 stops; ` +
		"but a platform that needs longer is cut off, and a reply under way there waits for the next life"
	if got := l.Advice[0].String(); got != want {
		t.Errorf("the advice is\n%s, want\n%s", got, want)
	}
	if want := "nothing: 0 processes, 0 interrupted turns, 0 unsent replies"; l.Left != want {
		t.Errorf("left is %q, want %q", l.Left, want)
	}
	if got := Of(stopWith(t, b, 0, nil)); len(got.Advice) != 0 || got.Note != "nothing: no phase took long" || !strings.HasPrefix(got.Left, "not counted") {
		t.Errorf("an instant stop teaches %+v", got)
	}
	b.Adapter = time.Second
	if got := Of(stopWith(t, b, 0, hangs)); len(got.Advice) != 0 || !strings.HasPrefix(got.Note, "nothing: feishu did not end") {
		t.Errorf("a stop that cannot be shortened teaches %+v", got)
	}
	waited := Of(stopWith(t, b, 0, []task{{phase: "drain", kind: "turn", id: "api:1", takes: 20 * time.Second}}))
	if len(waited.Advice) != 0 || !strings.Contains(waited.Note, "the drain waited for turns that ended") {
		t.Errorf("a drain that was needed teaches %+v", waited)
	}
}

// An agent waits for the kill before it closes its environment: the processes took the time, and their grace is what helps.
func TestOP9_AKillIsNotBlamedOnTheAgentThatWaitedForIt(t *testing.T) {
	b := shutdown.Budgets{KillGrace: 2 * time.Second, Agent: 3 * time.Second, Store: 3 * time.Second}
	l := Of(stopWith(t, b, 0, []task{
		{phase: "agents", kind: "agent", id: "cli:local", takes: 3 * time.Millisecond, waits: true},
		{phase: "agents", kind: "processes", id: "trees of all sessions", takes: 10 * time.Millisecond, ignores: true},
	}))
	if got, want := l.Went(9), "agents 2.0s (trees of all sessions took it)"; !strings.HasPrefix(got, want) {
		t.Errorf("the time went to\n%s, want\n%s", got, want)
	}
	if len(l.Advice) != 1 || l.Advice[0].Setting() != `process.kill_grace = "500ms"` {
		t.Errorf("the advice is %v and the note %q, want one for the grace", l.Advice, l.Note)
	}
}
