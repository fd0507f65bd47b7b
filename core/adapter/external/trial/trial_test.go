package trial

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/process"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// TestMain lets the test binary be the program under test, its peer, and what the program starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "play" {
		switch what := os.Args[2]; what {
		case "peer":
			playPeer()
		case "sleeper":
			time.Sleep(time.Minute) // modelled: a process that does not end by itself
		default:
			playBot(strings.Join(os.Args[3:], " "))
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// options are those of a trial of the program with this fault, over a registry that is closed with the test.
func options(t *testing.T, bad string, peer bool) Options {
	t.Helper()
	soak.Long(t) // it starts processes
	life := fmt.Sprintf("trial-tests-%d-%d", os.Getpid(), time.Now().UnixNano())
	procs := process.New(process.Options{
		Life: life, HomeID: life, KillGrace: killGrace, Log: slog.New(slog.DiscardHandler),
		Pass: func(name, _ string) bool {
			return slices.Contains([]string{"PATH", "HOME", "GOCOVERDIR"}, name)
		},
	})
	if err := procs.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually.True(t, "a trial leaves no process", func() bool { return procs.Count() == 0 })
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := procs.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	o := Options{
		Name: "trial", Command: []string{os.Args[0], "play", "bot", bad}, Workdir: t.TempDir(),
		Spawn: func(ctx context.Context, spec process.Spec) (*process.Process, error) {
			spec.Env = append(spec.Env, "GORACE=atexit_sleep_ms=0") // with the race detector a process ends a second late otherwise
			return procs.Spawn(ctx, spec)
		},
		Settings: map[string]any{"strict": true}, Env: map[string]string{variable: token},
	}
	if peer {
		o.Peer = []string{os.Args[0], "play", "peer"}
	}
	return o
}

// patient allows for a busy machine. hasty waits less for what a program with a fault never does.
var (
	patient = pace{end: time.Minute, left: time.Minute, settle: 50 * time.Millisecond, lag: time.Minute, come: time.Minute}
	hasty   = pace{end: time.Second, left: time.Second, settle: time.Second, lag: 200 * time.Millisecond, come: 5 * time.Second}
)

// verdicts runs the suite and returns the rows of each verdict with their details. It waits patiently, but in the row wrong as it says. only,
// where it is not empty, are the rows that run.
func verdicts(t *testing.T, o Options, wrong string, says pace, only ...string) map[Verdict]map[string][]string {
	t.Helper()
	found := map[Verdict]map[string][]string{OK: {}, Fail: {}, NotShown: {}}
	o.Each = func(r Result) { found[r.Verdict][r.Row] = r.Details }
	tr := &trial{o: o}
	rows := slices.DeleteFunc(tr.rows(), func(r row) bool { return len(only) > 0 && !slices.Contains(only, r.name) })
	for i, r := range rows {
		rows[i].check = func(s *stage) string {
			if s.pace = patient; r.name == wrong {
				s.pace = says
			}
			return r.check(s)
		}
	}
	if err := tr.all(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPL4_AProgramThatDoesWhatTheProtocolSaysPassesWithoutAPeer(t *testing.T) {
	got := verdicts(t, options(t, "", false), "", patient)
	if len(got[Fail]) > 0 || len(got[OK]) != len(alone)+2 {
		t.Errorf("ok: %q\nfail: %q", slices.Sorted(maps.Keys(got[OK])), got[Fail])
	}
	for row, why := range got[NotShown] {
		if len(why) != 1 || !strings.Contains(why[0], "--peer") {
			t.Errorf("%s: not shown because %q", row, why)
		}
	}
}

// The rows about what all rows have shown.
const lines, secrets = "each of its lines is one of the protocol", "what it writes for people has no secret"

// The suite has a row for each fault of a program. make soak runs the others as well, which it passes.
func TestPL4_AProgramWithOneFaultFailsTheRowOfThatFault(t *testing.T) {
	runsOn, leaves := patient, patient
	runsOn.end, leaves.left = hasty.end, hasty.left
	for _, c := range []struct {
		bad, row string
		pace     pace
	}{
		{"of another version", alone[0].name, patient},
		{"never ready", alone[0].name, patient},
		{"in need of each field", alone[0].name, patient},
		{"breaks at an unknown type", "it ignores types and fields that it does not know", patient},
		{"breaks at an empty line", "it ignores an empty line", patient},
		{"takes every chat", "it refuses requests for a chat that there is not", patient},
		{"ignores a stop", "a stop ends it, and it writes nothing more", runsOn},
		{"writes after a stop", "a stop ends it, and it writes nothing more", patient},
		{"runs on without its input", "the end of its standard input ends it", runsOn},
		{"leaves a process", "no process of it is left when it has ended", leaves},
		{"vague about credentials", "it names a credential that is missing", patient},
		{"leaves a process after a failure", "many starts and ends leave nothing", leaves},
		{"writes no JSON", lines, patient},
		{"talks about its token", secrets, patient},
	} {
		t.Run(c.bad, func(t *testing.T) {
			only := []string{alone[0].name, c.row, lines, secrets}
			if soak.On() {
				only = nil // all
			}
			got := verdicts(t, options(t, c.bad, false), c.row, c.pace, only...)
			if failed := slices.Collect(maps.Keys(got[Fail])); len(failed) != 1 || failed[0] != c.row {
				t.Errorf("these rows failed: %q", got[Fail])
			}
		})
	}
}

// slow are rows of a peer that take seconds by what they check: the time of a rate limit, and a silence.
var slow = []string{"a rate limit is returned at once", "a half-dead peer is not taken for a live one"}

func TestPL4_AProgramThatDoesWhatTheProtocolSaysPassesTheWholeSuiteWithAPeer(t *testing.T) {
	o := options(t, "", true)
	var all []string
	for _, r := range (&trial{o: o}).rows() {
		if !slices.Contains(slow, r.name) || soak.On() {
			all = append(all, r.name)
		}
	}
	if got := verdicts(t, o, "", patient, all...); len(got[OK]) != len(all) {
		t.Errorf("fail: %q\nnot shown: %q", got[Fail], got[NotShown])
	}
}

// What only a peer shows has a row for each fault as well. A slow one runs under make soak.
func TestPL4_AProgramWithOneFaultFailsTheRowOfThatFaultWithAPeer(t *testing.T) {
	for _, c := range []struct {
		bad, row, says string
		slow           bool
	}{
		{"short-lived", "it connects and hears its peer", "the connection ended: the program ended with exit code 1", false},
		{"gives all again", "a message is received once, also by the next connection", "received 2 messages", false},
		{"sends twice", "a message is sent once, and its id is known", `["answer" "answer"]`, false},
		{"cuts texts", "a long text is split within the bound, and goes on where it stopped", "the messages together are not the text", false},
		{"edits nothing", "a message is edited and removed", `["draft"]`, false},
		{"types with a message", "it types", "typing left", false},
		{"loses files", "a file comes with its message, and a later connection fetches it", `fetched "another"`, false},
		{"loses names", "a file is sent once, with its text", `"file" "content" "look"`, false},
		{"never takes back", "a reaction is the only one of the bot", `["👍"], want []`, false},
		{"blind to strangers", "the press of a button is a message of who pressed", "2 messages were received, want one", false},
		{"deaf to its platform", "a connection that broke ends, and the next one works", "the connection did not end", true},
		{"deaf to rate limits", "a rate limit is returned at once", "want a rate limit", true},
		{"vague about refusals", "a chat that takes nothing is refused for ever", "want a refusal", false},
		{"vague about credentials", "a refused credential is named", "want an error that names the credential", false},
		{"vague about a conflict", "another consumer is a conflict", "want a conflict", false},
		{"never quiet", "a half-dead peer is not taken for a live one", "of silence it heard something", true},
		{"ready without its platform", "nothing is left after many failed connects", "connected to a peer that is gone", false},
	} {
		if c.slow && !soak.On() {
			continue
		}
		quick := hasty
		if c.bad != "short-lived" { // else the suite must see its end
			quick.settle = patient.settle
		}
		t.Run(c.bad, func(t *testing.T) {
			got := verdicts(t, options(t, c.bad, true), c.row, quick, c.row)
			if faults := strings.Join(got[Fail][c.row], "\n"); !strings.Contains(faults, c.says) {
				t.Errorf("the row %q has the faults %q, want %q", c.row, faults, c.says)
			}
		})
	}
}

func TestPL4_APeerThatDoesNotWorkIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ script, row, says string }{
		"no JSON":         {"echo hello", alone[0].name, "the peer: its first line: "},
		"not ready":       {`echo '{"ready":false}'`, alone[0].name, "the peer: its first line does not say ready"},
		"an end":          {"echo 'no port' >&2", alone[0].name, "the peer: its first line: it ended; its last line: no port"},
		"no such program": {"", alone[0].name, "the peer: start process: "},
		"an error": {
			`echo '{"ready":true}'; read -r line; echo '{"id":1,"error":"no\u001b[2J people"}'; read -r line`,
			"a message is received once, also by the next connection", `the peer, asked to do "say": no␛[2J people`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, "", false)
			if o.Peer = []string{"sh", "-c", c.script}; c.script == "" {
				o.Peer = []string{"no-such-peer"}
			}
			got := verdicts(t, o, "", patient, c.row)
			if faults := strings.Join(got[Fail][c.row], "\n"); !strings.HasPrefix(faults, c.says) {
				t.Errorf("the row has the faults %q, want %q", faults, c.says)
			}
		})
	}
}
